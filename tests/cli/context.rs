//! What a person sees of the window: `/context`, compactions and the way back, `debug layout`.

use expect_test::expect;
use serde_json::{Value, json};
use testkit::model_server::{Gate, Reply};

use crate::{
    program::{Program, Run},
    tty::{CTRL_C, CTRL_D, Tty},
};

const SUMMARY: &str = "<summary>\n1. Request and Intent\nA\n2. Key Concepts\nB\n3. Files and Code\nC\n4. Errors and Fixes\nD\n\
                       5. Problem Solving\nE\n6. All User Messages\nF\n7. Pending Tasks\nG\n8. Current Work\nH\n9. Next Step\nI\n\
                       </summary>";

/// Long enough that a summary is shorter.
fn story() -> String {
    "Once upon a time there was a parser. ".repeat(100).trim_end().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fills_the_window_is_shown_on_stdout() {
    let program = Program::scripted("").await;
    // What is learnt from the first turn would or would not be among the costs by then.
    let quiet = r#"{"reverie": {"features": {"extraction": false}}}"#;
    std::fs::create_dir_all(program.fixture.config_home()).unwrap();
    std::fs::write(program.fixture.config_home().join("settings.json"), quiet).unwrap();
    program.model().reply(Reply::text(story()));
    program.model().reply_to("compact", Reply::text(SUMMARY));
    let input = b"tell me a story\n/compact keep the schema\n/context\n/context 1\n/context 2\n";
    let run = program.run_with(&["chat"], input).await;
    expect![[r#"
        (the story)
        The conversation was compacted (full): # tokens before, # after. /uncompact takes it back until the next prompt; the transcript has everything.
        Context: # of # tokens, # %, normal
          ▒
          # % left until compaction at #; next: nothing for now
              #  system
              #  tools
                 #  instructions
                #  summaries
            #  free

        Changed in what is sent
          #. #-#-# #:# full: a summary stands in for # messages: # tokens before, # after; # of # sections
             # tokens freed, cache broken, original: /context #

        Compactions: # tokens saved, #.# to # on average
          - full, as you asked: # messages, # → # tokens, #.# to # #/# sections
          /uncompact takes the last one back, until the next prompt

        Cost: $#.#
          compact  # in (# % from the cache), # out, $#.#
          main     # in (# % from the cache), # out, $#.#
        # Before the compaction

        *#-#-#*

        ## User

        tell me a story

        ## Assistant

        (the story)
        --- stderr
        ◦ context, full: a summary stands in for # messages: # tokens before, # after; # of # sections; cache broken
        from <home>/…
        ! there is no change #; /context lists them
        --- exit code #
    "#]].assert_eq(&seen(&run));
    let asked = program.model().requests_of("compact");
    assert!(asked[0].last_message_text().contains("keep the schema"));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_is_taken_back_in_the_chat() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text(story()));
    program.model().reply_to("compact", Reply::text(SUMMARY));
    program.model().reply(Reply::text("The end."));
    let input = b"tell me a story\n/compact\n/uncompact\n/uncompact\ngo on\n";
    let run = program.run_with(&["chat"], input).await;
    expect![[r#"
        (the story)
        The conversation was compacted (full): # tokens before, # after. /uncompact takes it back until the next prompt; the transcript has everything.
        The conversation is as it was before the compaction.
        there is no compaction to take back: it can be done until the next request. The whole conversation is in the transcript; rewind to an earlier message to go on from there
        The end.
        --- stderr
        ◦ context, full: a summary stands in for # messages: # tokens before, # after; # of # sections; cache broken
        ◦ context, uncompact: the last compaction was taken back; cache kept
        --- exit code #
    "#]].assert_eq(&seen(&run));
    let requests = program.model().main_requests();
    let body = requests[1].body.to_string();
    assert!(body.contains("tell me a story") && !body.contains("Key Concepts"));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_shows_that_it_runs_and_ctrl_c_leaves_everything_as_it_was() {
    let program = Program::scripted("").await;
    let gate = Gate::closed();
    program.model().reply(Reply::text("First."));
    program.model().reply_to("compact", Reply::text("never").behind(&gate));
    let mut tty = Tty::plain(&program, r#""$REVERIE" chat"#);
    tty.see("› ").await;
    tty.type_in("one\n").await;
    tty.see("First.").await;
    tty.see("› ").await;
    tty.type_in("/compact\n").await;
    gate.reached().await;
    tty.see("… compacting the conversation").await;
    tty.type_in(CTRL_C).await;
    tty.see("! stopped").await;
    tty.see("› ").await;
    program.model().reply(Reply::text("Second."));
    tty.type_in("two\n").await;
    tty.see("Second.").await;
    tty.see("› ").await;
    tty.type_in(CTRL_D).await;
    assert_eq!(tty.end().await.1, Some(0));
    let requests = program.model().main_requests();
    let (first, second) = (&requests[0].body, &requests[1].body);
    assert_eq!(second["messages"][0]["content"][1]["text"], first["messages"][0]["content"][1]["text"]);
    assert_eq!(second["messages"][1]["content"][0]["text"], "First.");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_of_its_own_accord_is_told_in_two_lines() {
    let mut program = Program::scripted("").await;
    program.environment.insert("CLAUDE_CODE_AUTO_COMPACT_WINDOW".to_owned(), "14000".to_owned());
    for _ in 0..5 {
        program.model().reply(Reply::text(story()));
    }
    program.model().reply_to("compact", Reply::text(SUMMARY));
    program.model().reply(Reply::text("The end."));
    let run = program.run_with(&["chat"], b"1\n2\n3\n4\n5\nend it\n").await;
    expect![[r#"
        · the conversation is being compacted
        ◦ context, full: a summary stands in for # messages: # tokens before, # after; # of # sections; # message stays as it is; cache broken
    "#]].assert_eq(&without_numbers(&run.stderr));
    assert!(run.stdout.ends_with("The end.\n"));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_stops_a_compaction_in_the_middle_of_a_turn_too() {
    let mut program = Program::scripted("").await;
    for _ in 0..5 {
        program.model().reply(Reply::text(story()));
    }
    program.run_with(&["chat"], b"1\n2\n3\n4\n5\n").await;
    program.environment.insert("CLAUDE_CODE_AUTO_COMPACT_WINDOW".to_owned(), "10000".to_owned());
    let gate = Gate::closed();
    program.model().reply_to("compact", Reply::text("never").behind(&gate));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask -c "end it""#);
    tty.see("· the conversation is being compacted").await;
    gate.reached().await;
    tty.see("│ the conversation is being").await;
    tty.type_in(CTRL_C).await;
    tty.see("! stopped").await;
    assert_eq!(tty.end().await.1, Some(130));
    let run = program.run_with(&["chat", "-c"], b"/context\n").await;
    assert!(!run.stdout.contains("Changed in what is sent"), "{}", run.stdout);
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_told_when_little_room_is_left() {
    let mut program = Program::scripted("").await;
    program.environment.insert("CLAUDE_CODE_AUTO_COMPACT_WINDOW".to_owned(), "5000".to_owned());
    program.model().reply(Reply::text("Hello."));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask "hello""#);
    tty.see("0 % of the room left: compaction before the next request").await;
    assert_eq!(tty.end().await.1, Some(0));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_lines_have_changes_of_the_context_as_they_are() {
    let program = Program::offline("//- a.txt\nx\n");
    program.run(&["ask", "read a.txt"]).await;
    let run = program.run(&["ask", "--continue", "--json", "/compact"]).await;
    let updates = run.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut updates = updates.map(|line| line["params"]["update"].clone());
    let change = updates.find(|update| update["kind"] == "context").unwrap();
    assert_eq!((&change["layer"], &change["cache"]), (&json!("full"), &json!("broken")));
    assert_eq!(run.code, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_request_is_printed_line_by_line() {
    let program = Program::offline("//- a.txt\nx\n");
    program.run(&["ask", "read a.txt"]).await;
    let sessions = program.command(&["sessions"]).output().await.unwrap().stdout;
    let id = String::from_utf8(sessions).unwrap().split_whitespace().next().unwrap().to_owned();
    let run = program.run(&["debug", "layout", "--session", &id]).await;
    // Without what it quotes and the ids, in which chance plays a part.
    let facts = |line: &str| {
        let facts = line.split(" \"").next().unwrap_or_default().split(' ');
        facts.filter(|word| !word.starts_with("toolu_")).collect::<Vec<_>>().join(" ") + "\n"
    };
    let lines = run.stdout.lines().filter(|line| !line.starts_with("tool "));
    expect![[r#"
        system # · # B · # t ◆
        system # · # B · # t ◆
        user #.# text · # B · # t
        user #.# text · # B · # t
        assistant #.# tool_use Read · # B · # t
        user #.# tool_result · # B · # t ◆
        assistant #.# text · # B · # t ◆
    "#]]
    .assert_eq(&without_numbers(&lines.map(facts).collect::<String>()));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_finds_nothing_wrong_with_a_compaction() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text(story()));
    program.model().reply_to("compact", Reply::text(SUMMARY));
    program.run_with(&["chat"], b"tell me a story\n/compact\n").await;
    let run = program.run(&["doctor"]).await;
    for check in ["message chain", "token totals", "state"] {
        let line = run.stdout.lines().find(|line| line.contains(check)).unwrap();
        assert!(line.starts_with("ok"), "{line}");
    }
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_fails_for_another_reason_compacts_nothing() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text(story()));
    program.model().reply(Reply::status(401));
    let run = program.run_with(&["chat"], b"tell me a story\ngo on\n").await;
    assert!(!run.stderr.contains("compact"), "{}", run.stderr);
    assert_eq!(program.model().requests_of("compact").len(), 0);
    program.finish();
}

/// Sizes and times follow the prompts and the clock.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for c in text.replace(['█', '░'], "▒").chars() {
        let is_number = c.is_ascii_digit() || (c == ',' && shown.ends_with('#'));
        match c {
            _ if is_number && shown.ends_with('#') => {}
            _ if is_number => shown.push('#'),
            '▒' if shown.ends_with('▒') => {}
            c => shown.push(c),
        }
    }
    shown
}

fn seen(run: &Run) -> String {
    let transcript = run.transcript().replace(&story(), "(the story)");
    let stable = |line: &str| match line.starts_with("from <home>/") {
        true => "from <home>/…\n".to_owned(),
        false => format!("{line}\n"),
    };
    without_numbers(&transcript.lines().map(stable).collect::<String>())
}
