//! What the Neovim plugin costs: at start-up, and while an answer is streamed. Measured inside of Neovim, by
//! `tests/nvim/measure.lua`.

use std::{fs, path::Path, time::Duration};

use anyhow::Context;
use serde_json::Value;

use super::{Figure, Verdict};
use crate::{
    nvim,
    processes::{cargo, checked},
    rigs::neovim,
};

pub fn measure(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    neovim::install()?;
    cargo(&["build", "--quiet", "--release", "--package", "testkit", "--bin", "scripted-model"])?;
    let build = binary.parent().context("a program is in a folder")?;
    let figures = crate::root().join("target/tmp/nvim-figures.jsonl");
    fs::create_dir_all(figures.parent().context("a file is in a folder")?)?;
    fs::write(&figures, "")?;
    let mut command = nvim::run(neovim::USUAL, "measure.lua");
    checked(command.env("REVERIE_BUILD", build).env("REVERIE_FIGURES", &figures))?;
    let text = fs::read_to_string(figures)?;
    let told = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let of = |what: &str| {
        told.iter()
            .find(|figures| figures["what"] == what)
            .with_context(|| format!("nothing was told of {what}"))
    };
    let start = of("start")?;
    let number = |figures: &Value, name: &str| figures[name].as_f64().unwrap_or(f64::NAN);
    let started = format!(
        "without {:.1} ms; `plugin/reverie.lua` itself {:.2} ms",
        number(start, "without"),
        number(start, "ours")
    );
    let more = number(start, "more");
    let mut figures = vec![
        Figure::new(
            "Neovim: start with the plugin, more than without",
            format!("{more:.2} ms"),
            "≤ 1 ms".to_owned(),
            Verdict::from(more <= 1.0),
        )
        .beside(started),
    ];
    let ways = [
        (of("stream")?, "Neovim: 10,000 chunks in 500 parts, most work at a time", "… resident"),
        (of("burst")?, "Neovim: 10,000 chunks at once, most work at a time", "… resident"),
    ];
    for (chunks, most_work, memory) in ways {
        let streamed = format!(
            "{} times over 16 ms; longest gap {:.0} ms, idle {:.0} ms; all of it in {:.1} s",
            chunks["late"],
            number(chunks, "gap"),
            number(chunks, "idle_gap"),
            number(chunks, "seconds")
        );
        let work = Duration::from_secs_f64(number(chunks, "work") / 1_000.0);
        let kept = format!(
            "Lua heap {:.1} MB, of {:.0} KB of text",
            number(chunks, "heap") / 1_024.0,
            number(chunks, "text")
        );
        figures.push(Figure::milliseconds(most_work, work, 16.0).beside(streamed));
        figures.push(Figure::megabytes(memory, number(chunks, "memory").max(0.0) as u64, 16.0).beside(kept));
    }
    Ok(figures)
}
