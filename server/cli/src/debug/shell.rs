//! `reverie debug shell`: would this line be run without a question, because it changes nothing?
//!
//! Judged as for a background agent, which nobody sits beside: few programs. `"programs": "all"` judges as in a
//! conversation. A program that is not installed here is judged as if it were.

use std::path::{Path, PathBuf};

use permissions::shell::{Programs, Surroundings, Trusted, judge_in};
use serde::Deserialize;
use serde_json::{Value, json};

use super::each_line;

#[derive(Deserialize)]
struct Input {
    cmd: String,
    cwd: Option<PathBuf>,
    #[serde(default)]
    programs: Wanted,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Wanted {
    #[default]
    Few,
    All,
}

pub fn shell() -> anyhow::Result<u8> {
    let here = std::env::current_dir()?;
    let home = std::env::home_dir();
    each_line(|line| match serde_json::from_slice::<Input>(line) {
        Ok(input) => answer(&input, &here, home.as_deref()),
        Err(error) => refusal(&format!("expected {{\"cmd\": …, \"cwd\"?: …}}: {error}")),
    })
}

fn answer(input: &Input, here: &Path, home: Option<&Path>) -> Value {
    let programs = match input.programs {
        Wanted::Few => Programs::Few,
        Wanted::All => Programs::All,
    };
    let cwd = here.join(input.cwd.as_deref().unwrap_or(Path::new("")));
    match judge_in(&input.cmd, &Surroundings { cwd: &cwd, home, programs, trusted: Trusted::Assumed }) {
        Ok(judged) => json!({"allow": true, "reason": "it changes nothing", "script": judged.script}),
        Err(reason) => refusal(&reason),
    }
}

fn refusal(reason: &str) -> Value {
    json!({"allow": false, "reason": reason})
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn lines_are_judged_where_they_would_run() {
        let lines = [
            r#"{"cmd": "cat README.md | head -3"}"#,
            r#"{"cmd": "cat README.md", "cwd": "/usr/share"}"#,
            r#"{"cmd": "ls \"$HOME\""}"#,
            r#"{"cmd": "git log"}"#,
            r#"{"cmd": "uniq a", "programs": "all"}"#,
            r#"{"cmd": "rm -rf ."}"#,
        ];
        let answers: Vec<String> = lines
            .iter()
            .map(|line| {
                let input = serde_json::from_str(line).unwrap();
                let mut answer = answer(&input, Path::new("/nowhere"), Some(Path::new("/home/u")));
                // Where the programs are differs from system to system.
                if let Some(answer) = answer.as_object_mut() {
                    answer.remove("script");
                }
                format!("{line} {answer}\n")
            })
            .collect();
        expect![[r#"
            {"cmd": "cat README.md | head -3"} {"allow":true,"reason":"it changes nothing"}
            {"cmd": "cat README.md", "cwd": "/usr/share"} {"allow":true,"reason":"it changes nothing"}
            {"cmd": "ls \"$HOME\""} {"allow":true,"reason":"it changes nothing"}
            {"cmd": "git log"} {"allow":false,"reason":"`git` is on the list for conversations only"}
            {"cmd": "uniq a", "programs": "all"} {"allow":true,"reason":"it changes nothing"}
            {"cmd": "rm -rf ."} {"allow":false,"reason":"`rm` is not on the list of programs that change nothing"}
        "#]].assert_eq(&answers.concat());
    }
}
