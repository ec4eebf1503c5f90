//! Whatever the input is, the judgement ends soon and does not fall over.

use std::time::{Duration, Instant};

use permissions::shell::Programs;

use crate::{
    fixture::{corpus, fixture},
    mutants::Random,
};

const LINES: usize = 100_000;

const SHELL: &[u8] = b"lscatfindgrep -/.*?[]{}()<>|&;'\"\\$`#!~=@%^,:\n\t\r0129aeiou";

#[test]
fn noise_is_judged_quickly_and_without_a_panic() {
    let fixture = fixture();
    let mut random = Random::seeded(11);
    let start = Instant::now();
    for _ in 0..LINES {
        let length = random.below(120);
        let shell_like = random.below(3) > 0;
        let bytes: Vec<u8> = (0..length)
            .map(|_| if shell_like { SHELL[random.below(SHELL.len())] } else { random.below(256) as u8 })
            .collect();
        let judged = fixture.judge(&String::from_utf8_lossy(&bytes), Programs::All);
        drop(judged);
    }
    let each = start.elapsed() / LINES as u32;
    println!("noise: {each:?} a line");
    assert!(each < Duration::from_millis(10), "{each:?} a line");
}

#[test]
fn hostile_shapes_end_soon() {
    let fixture = fixture();
    let long = 8_000;
    for shape in [
        "(", "$(", "`", "\"", "'", "{", "[", "a|", "a&&", "<<x\n", "$((", "${a:-", "\\\n", "*", "a=", "!",
        "((", "\"$(",
    ] {
        for line in [shape.repeat(long / shape.len()), format!("ls {}", shape.repeat(long / shape.len() - 2))]
        {
            let start = Instant::now();
            drop(fixture.judge(&line, Programs::All));
            assert!(start.elapsed() < Duration::from_secs(2), "{shape:?} took {:?}", start.elapsed());
        }
    }
}

#[test]
fn a_judgement_takes_microseconds() {
    let fixture = fixture();
    let rows = corpus();
    let start = Instant::now();
    for row in &rows {
        drop(fixture.judge(&row.command, Programs::All));
    }
    let each = start.elapsed() / rows.len() as u32;
    println!("corpus: {each:?} a line");
    assert!(each < Duration::from_millis(10), "{each:?} a line");
}
