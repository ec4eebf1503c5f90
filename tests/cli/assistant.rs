//! `--assistant`: a log for each day, put in order by a dream.

use crate::program::Program;

/// The only log there is.
fn log(program: &Program) -> String {
    let mut folder = program.fixture.project_dir().join("memory/logs");
    loop {
        let mut entries = std::fs::read_dir(&folder).expect("a folder").flatten();
        let entry = entries.next().expect("something in it").path();
        assert!(entries.next().is_none(), "{} is alone", entry.display());
        if entry.is_file() {
            return std::fs::read_to_string(entry).expect("a text");
        }
        folder = entry;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assistant_keeps_a_log_and_a_dream_makes_memories_of_it() {
    let program = Program::offline("");
    let run = program.run(&["ask", "--assistant", "remember that we deploy on Fridays only"]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(log(&program), "- project: We deploy on Fridays only\n");
    let run = program.run_with(&["chat", "--assistant"], b"always write tests first\n").await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let both = "- project: We deploy on Fridays only\n- feedback: Always write tests first\n";
    assert_eq!(log(&program), both);
    let memory = program.fixture.project_dir().join("memory");
    assert!(!memory.join("MEMORY.md").exists());

    let run = program.run(&["dream"]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let index = std::fs::read_to_string(memory.join("MEMORY.md")).expect("an index");
    assert_eq!(index.lines().count(), 2, "{index}");
    assert_eq!(log(&program), both);
    // Without it a memory is a file, as ever.
    let run = program.run(&["ask", "remember that the tea is in the cupboard"]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(log(&program), both);
    let index = std::fs::read_to_string(memory.join("MEMORY.md")).expect("an index");
    assert_eq!(index.lines().count(), 3, "{index}");
}
