//! What the fork may do to the notes, and the forms they can have.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_an_edit_of_the_notes_is_denied_and_what_breaks_them_is_refused() {
    let harness = start("//- a.txt\none\n").await;
    harness.client.allow_everything();
    let session = harness.client.new_session().await;
    let notes = path(&harness, &session);
    let violating = json!({ "file_path": notes, "old_string": "# Workflow", "new_string": "# Way" });
    let elsewhere =
        json!({ "file_path": harness.text_path("a.txt"), "old_string": "one", "new_string": "two" });
    let missing = json!({ "file_path": notes, "old_string": "no such words", "new_string": "x" });
    harness.model.reply_to(
        NOTES,
        Reply::tools([
            ("Edit", violating),
            ("Edit", elsewhere),
            ("Edit", missing),
            ("Write", json!({ "file_path": notes, "content": "all mine" })),
            ("Read", json!({ "file_path": notes })),
            ("Bash", json!({ "command": format!("echo x > {}", harness.text_path("b.txt")) })),
        ]),
    );
    harness.model.reply_to(NOTES, Reply::text("then not"));
    say(&harness, &session, 11_000).await;
    assert_eq!(updates(&harness).await, ["failed"]);
    assert!(!notes.exists() && !harness.path("b.txt").exists());
    assert_eq!(harness.fixture.read("a.txt"), "one\n");
    assert_eq!((upto(&harness, &session).await, title(&harness).await.as_str()), (None, "Go on."));
    let answered = harness.model.requests_of(NOTES)[1].last_message_text();
    for words in [
        "the heading \"# Workflow\" with the line",
        &format!("{} cannot be edited here, only {}", harness.text_path("a.txt"), notes.display()),
        "was not changed: old_string was not found",
        "Write cannot be called here",
        "Read cannot be called here",
        "Bash cannot be called here",
    ] {
        assert!(answered.contains(words), "{words}: {answered}");
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_and_words_of_the_users_own_take_the_place_of_ours() {
    let form = "# Goal\n*why*\n\n# Open\n";
    let prompt = "Edit {{notesPath}}, {{unknown}}:\n{{currentNotes}}\nNow.";
    let config = "~/.claude/session-memory/config";
    let harness = start(&format!("//- {config}/template.md\n{form}//- {config}/prompt.md\n{prompt}\n")).await;
    let session = harness.client.new_session().await;
    let notes = path(&harness, &session);
    let change =
        |old: &str, new: &str| ("Edit", json!({ "file_path": notes, "old_string": old, "new_string": new }));
    let edits = [change("*why*\n", "*why*\nTo see {{notesPath}}\n"), change("*why*", "*what for*")];
    harness.model.reply_to(NOTES, Reply::tools(edits));
    harness.model.reply_to(NOTES, Reply::text("done"));
    say(&harness, &session, 11_000).await;
    assert_eq!(updates(&harness).await, ["completed"]);
    assert_eq!(read(&harness, &session), "# Goal\n*why*\nTo see {{notesPath}}\n\n# Open\n");
    let asked = harness.model.requests_of(NOTES)[0].last_message_text();
    let directive = asked.split_once(">\n").expect("a line that marks it").1;
    assert_eq!(directive, format!("Edit {}, {{{{unknown}}}}:\n{}\nNow.", notes.display(), form.trim_end()));
    assert_eq!(title(&harness).await, "To see {{notesPath}}");
    harness.finish().await;
}
