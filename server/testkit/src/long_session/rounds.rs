//! What the model does in each round, and the workspace it does it in. Everything follows from the number of the round.

use std::{fmt::Write, fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{fixture::Fixture, model_server::Reply};

const FILES: usize = 40;
const FUNCTIONS: usize = 24;

/// What a summary has to have.
pub const SUMMARY: &str = "<analysis>\nThe parts are read one by one.\n</analysis>\n<summary>\n\
    ## 1. Request and Intent\nEvery part of the machine gets a new revision.\n\
    ## 2. Key Concepts\nParts, their functions, and the revision in the first line.\n\
    ## 3. Files and Code\nsrc/part_00.rs to src/part_39.rs; logs/build_0.log and those behind it.\n\
    ## 4. Errors and Fixes\nNone so far.\n\
    ## 5. Problem Solving\nOne part after the other, compared with its neighbours.\n\
    ## 6. All User Messages\nThe user asks for the next group of parts, time and again.\n\
    ## 7. Pending Tasks\nThe parts that still have an old revision.\n\
    ## 8. Current Work\nReading and editing a part.\n\
    ## 9. Next Step\n\"Go on with the next group of parts.\"\n\
    </summary>";

pub struct Rounds {
    next: usize,
    per_turn: usize,
    floods: Vec<usize>,
    workspace: PathBuf,
    /// Read, and not edited since.
    read: Option<PathBuf>,
}

impl Rounds {
    pub fn new(fixture: &Fixture, per_turn: usize, floods: Vec<usize>) -> Self {
        Self { next: 0, per_turn, floods, workspace: fixture.workspace.clone(), read: None }
    }

    pub fn next(&mut self) -> Reply {
        let round = self.next;
        self.next += 1;
        if round % self.per_turn == self.per_turn - 1 {
            let found =
                "The parts of this group have their new revision; nothing else had to change. ".repeat(6);
            return Reply::text(found);
        }
        let said = format!("Round {round}: this part depends on its neighbours, so I look at those as well.");
        let mut reply = Reply::text(said);
        for (tool, input) in self.calls(round) {
            reply = reply.and_tool(tool, input);
        }
        reply
    }

    fn calls(&mut self, round: usize) -> Vec<(&'static str, Value)> {
        if self.floods.contains(&round) {
            let whole = |file: usize| ("Read", json!({ "file_path": self.file(file) }));
            return (0..30).map(whole).collect();
        }
        if round % 16 == 7 {
            // More than a breakpoint looks back over.
            let width = 10 + round * 7 % 21;
            return (0..width).map(|call| self.read(round + call, 8 + call % 12)).collect();
        }
        if round % 25 == 12 {
            let path = format!("logs/build_{}.log", round / 25 % LOGS);
            return vec![("Bash", json!({ "command": format!("cat {path}") }))];
        }
        match round % 5 {
            0 => vec![self.read(round, 25 + round * 13 % 130)],
            1 => {
                let pattern = format!("fn part_{:02}_", round % FILES);
                vec![(
                    "Grep",
                    json!({ "pattern": pattern, "path": "src", "output_mode": "content", "-C": round % 4 }),
                )]
            }
            2 => {
                let (file, from) = (round % FILES, 1 + round * 11 % 60);
                let lines = format!("{from},{}p", from + 30 + round * 17 % 90);
                vec![("Bash", json!({ "command": format!("sed -n {lines} src/part_{file:02}.rs") }))]
            }
            3 => {
                let call = self.read(round, 20);
                self.read = call.1["file_path"].as_str().map(PathBuf::from);
                // The line with the revision has to be seen.
                let (tool, mut input) = call;
                input["offset"] = json!(1);
                vec![(tool, input)]
            }
            _ => vec![self.edit().unwrap_or_else(|| self.read(round, 60))],
        }
    }

    fn read(&self, round: usize, lines: usize) -> (&'static str, Value) {
        let path = self.file(round * 3 % FILES);
        ("Read", json!({ "file_path": path, "offset": 1 + round * 7 % 70, "limit": lines }))
    }

    fn file(&self, number: usize) -> PathBuf {
        self.workspace.join(format!("src/part_{number:02}.rs"))
    }

    fn edit(&mut self) -> Option<(&'static str, Value)> {
        let path = self.read.take()?;
        let text = fs::read_to_string(&path).ok()?;
        let old = text.lines().next()?;
        let revision: usize = old.rsplit(' ').next()?.parse().ok()?;
        let new = format!("// revision {}", revision + 1);
        Some(("Edit", json!({ "file_path": path, "old_string": old, "new_string": new })))
    }
}

/// What the user says at the beginning of a turn.
pub fn prompt(turn: usize) -> String {
    format!(
        "Go on with the next group of parts, number {turn}: read them, compare them with their neighbours, and give \
             each a new revision. Say in the end what you have changed, and what is left."
    )
}

const LOGS: usize = 8;

pub fn write_files(fixture: &Fixture) {
    for file in 0..FILES {
        let mut text = "// revision 1\n".to_owned();
        for function in 0..FUNCTIONS {
            let _infallible = write!(
                text,
                "\n/// Turns the wheel {function} of part {file} by what its neighbour says.\n\
                 pub fn part_{file:02}_{function}(input: &[u32]) -> Option<u32> {{\n    \
                 let first = input.get({function})?.wrapping_mul({});\n    \
                 let second = input.iter().skip({file}).sum::<u32>();\n    \
                 Some(first ^ second.rotate_left({}))\n}}\n",
                file * 7_919 + function * 104_729,
                function % 32,
            );
        }
        fixture.write(&format!("src/part_{file:02}.rs"), &text);
    }
    for log in 0..LOGS {
        let mut text = String::new();
        for line in 0..900 {
            let _infallible = writeln!(
                text,
                "[{line:05}] build {log}: compiling part_{:02} took {} ms, {} warnings, all of them known",
                line % FILES,
                line * 37 % 911,
                line % 7
            );
        }
        fixture.write(&format!("logs/build_{log}.log"), &text);
    }
}
