use agent::{AgentEvent, NoticeLevel};
use expect_test::{Expect, expect};
use tokio::io::DuplexStream;
use tower_lsp::jsonrpc::{Error, Id};
use workspace::{Encoding, Position, Range};

use super::*;
use crate::framing::{Frame, FrameReader};

/// A frontend whose messages arrive in `frames`.
struct Bench {
    frontend: Arc<EditorFrontend>,
    frames: FrameReader<DuplexStream>,
}

impl Bench {
    fn new(rich: bool) -> Self {
        let outbound = Outbound::default();
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        tokio::spawn(outbound.clone().write_to(theirs));
        let client = Client {
            reverie: protocol::ClientCapabilities {
                version: 1,
                permission_ask: rich,
                user_ask: rich,
                plan_ask: rich,
                document_save: rich,
                editor_diagnostics: rich,
                editor_symbols: rich,
                trust_view: false,
                memory_view: false,
                inline_memory: false,
            },
            knows_reverie: rich,
            shows_documents: true,
            encoding: Encoding::Utf8,
            applies_edits: true,
            versioned_edits: rich,
            work_done_progress: false,
            configuration: false,
            registers_configuration: false,
            shows_diagnostics: rich,
            language: crate::language::Offered::default(),
        };
        let client = Arc::new(OnceLock::from(client));
        let frontend = Arc::new(EditorFrontend {
            outbound,
            client,
            documents: Arc::default(),
            news: News::default(),
            language: OnceLock::new(),
        });
        Self { frontend, frames: FrameReader::new(ours) }
    }

    async fn receive(&mut self) -> Value {
        let Frame::Body(body) = self.frames.next().await else { panic!("the link ended") };
        serde_json::from_slice(&body).unwrap()
    }

    /// Reads the next message, which must be a request, checks its params and answers it.
    async fn answer(&mut self, outcome: Result<Value, Error>, expected: Expect) {
        let message = self.receive().await;
        expected.assert_eq(&format!("{} {}", message["method"].as_str().unwrap(), message["params"]));
        let id = Id::Number(message["id"].as_i64().unwrap());
        match outcome {
            Ok(value) => {
                let raw = serde_json::value::to_raw_value(&value).unwrap();
                self.frontend.outbound.answered(&id, Ok(&raw));
            }
            Err(error) => self.frontend.outbound.answered(&id, Err(error)),
        }
    }

    fn ask_permission(&self) -> tokio::task::JoinHandle<PermissionAnswer> {
        let frontend = Arc::clone(&self.frontend);
        tokio::spawn(async move { frontend.ask_permission(question()).await })
    }

    fn apply_edit(&self) -> tokio::task::JoinHandle<Result<(), EditRefused>> {
        let frontend = Arc::clone(&self.frontend);
        tokio::spawn(async move {
            let range =
                Range { start: Position { line: 1, character: 2 }, end: Position { line: 1, character: 4 } };
            let edits = vec![TextEdit { range, new_text: "x".to_owned() }];
            frontend.apply_edit(Path::new("/a b"), 3, edits, "Edit a").await
        })
    }
}

fn session() -> SessionId {
    SessionId::parse("7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51").unwrap()
}

fn question() -> PermissionQuestion {
    PermissionQuestion {
        session: session(),
        tool_use_id: "t1".to_owned(),
        tool: "Bash".to_owned(),
        input: json!({ "command": "ls" }),
        reason: "No rule allows it.".to_owned(),
        preview: Some(agent::Preview::Command("ls".to_owned())),
        rule: "Bash(ls)".to_owned(),
    }
}

#[tokio::test]
async fn a_rich_client_is_asked_in_full() {
    let mut bench = Bench::new(true);
    let asked = bench.ask_permission();
    bench
        .answer(
            Ok(json!({ "option": "deny", "message": "use ls -l" })),
            expect![[r#"reverie/permission/ask {"sessionId":"7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51","toolUseId":"t1","tool":"Bash","input":{"command":"ls"},"reason":"No rule allows it.","preview":{"kind":"command","text":"ls"},"options":[{"id":"allowOnce","label":"Allow once"},{"id":"allowSession","label":"Allow for this session","rule":"Bash(ls)"},{"id":"allowAlways","label":"Always allow Bash(ls)","rule":"Bash(ls)"},{"id":"deny","label":"Deny"}]}"#]],
        )
        .await;
    let answer = asked.await.unwrap();
    assert_eq!(
        answer,
        PermissionAnswer { option: PermissionOption::Deny, message: Some("use ls -l".to_owned()) }
    );
}

#[tokio::test]
async fn a_plain_client_is_shown_a_message_with_the_options() {
    let mut bench = Bench::new(false);
    let asked = bench.ask_permission();
    let expected = expect![[r#"
        window/showMessageRequest {"type":3,"message":"Allow Bash? No rule allows it.\n\nls","actions":[{"title":"Allow once"},{"title":"Allow for this session"},{"title":"Always allow Bash(ls)"},{"title":"Deny"}]}"#]];
    bench.answer(Ok(json!({ "title": "Always allow Bash(ls)" })), expected).await;
    assert_eq!(asked.await.unwrap().option, PermissionOption::AllowAlways);
}

#[tokio::test]
async fn no_answer_is_a_denial() {
    for (rich, outcome) in [
        (true, Err(Error::method_not_found())),
        (true, Ok(json!({ "option": "perhaps" }))),
        (true, Ok(Value::Null)),
        (false, Ok(Value::Null)),
        (false, Err(Error::method_not_found())),
        (false, Ok(json!({ "title": "Something else" }))),
    ] {
        let mut bench = Bench::new(rich);
        let asked = bench.ask_permission();
        let id = Id::Number(bench.receive().await["id"].as_i64().unwrap());
        let raw = outcome.map(|value| serde_json::value::to_raw_value(&value).unwrap());
        bench.frontend.outbound.answered(&id, raw.as_deref().map_err(Clone::clone));
        assert_eq!(asked.await.unwrap().option, PermissionOption::Deny);
    }
}

#[tokio::test]
async fn a_question_of_the_agent_reaches_whoever_can_answer() {
    let options = || vec!["A".to_owned(), "B".to_owned()];
    let mut bench = Bench::new(true);
    let frontend = Arc::clone(&bench.frontend);
    let asked =
        tokio::spawn(async move { frontend.ask_user(session(), "Which?".to_owned(), options()).await });
    let expected = expect![[
        r#"reverie/user/ask {"sessionId":"7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51","question":"Which?","options":["A","B"]}"#
    ]];
    bench.answer(Ok(json!({ "answer": "neither" })), expected).await;
    assert_eq!(asked.await.unwrap().as_deref(), Some("neither"));

    let mut bench = Bench::new(false);
    let frontend = Arc::clone(&bench.frontend);
    let asked =
        tokio::spawn(async move { frontend.ask_user(session(), "Which?".to_owned(), options()).await });
    let expected = expect![[
        r#"window/showMessageRequest {"type":3,"message":"Which?","actions":[{"title":"A"},{"title":"B"}]}"#
    ]];
    bench.answer(Ok(json!({ "title": "B" })), expected).await;
    assert_eq!(asked.await.unwrap().as_deref(), Some("B"));
    assert_eq!(bench.frontend.ask_user(session(), "Open?".to_owned(), Vec::new()).await, None);
}

#[tokio::test]
async fn an_edit_carries_its_version_where_the_client_takes_one() {
    let mut bench = Bench::new(true);
    let asked = bench.apply_edit();
    let expected = expect![[
        r#"workspace/applyEdit {"label":"Edit a","edit":{"documentChanges":[{"textDocument":{"uri":"file:///a%20b","version":3},"edits":[{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":4}},"newText":"x"}]}]}}"#
    ]];
    bench.answer(Ok(json!({ "applied": true })), expected).await;
    assert_eq!(asked.await.unwrap(), Ok(()));

    let mut bench = Bench::new(false);
    let asked = bench.apply_edit();
    let expected = expect![[
        r#"workspace/applyEdit {"label":"Edit a","edit":{"changes":{"file:///a%20b":[{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":4}},"newText":"x"}]}}}"#
    ]];
    bench.answer(Err(Error::method_not_found()), expected).await;
    assert_eq!(asked.await.unwrap(), Err(EditRefused::Refused("Method not found".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn how_long_an_edit_or_a_save_may_take_is_not_decided_here() {
    let mut bench = Bench::new(true);
    let frontend = Arc::clone(&bench.frontend);
    let edit = bench.apply_edit();
    let save = tokio::spawn(async move { frontend.save(Path::new("/a")).await });
    let ids = [bench.receive().await, bench.receive().await].map(|message| message["id"].as_i64().unwrap());
    tokio::time::sleep(std::time::Duration::from_secs(3_600)).await;
    let raw = serde_json::value::to_raw_value(&json!({ "applied": true, "saved": true })).unwrap();
    for id in ids {
        bench.frontend.outbound.answered(&Id::Number(id), Ok(&raw));
    }
    assert_eq!((edit.await.unwrap(), save.await.unwrap()), (Ok(()), Ok(true)));
}

#[tokio::test]
async fn a_refused_edit_of_a_document_that_moved_on_is_stale() {
    let mut bench = Bench::new(true);
    let asked = bench.apply_edit();
    let id = Id::Number(bench.receive().await["id"].as_i64().unwrap());
    let raw = serde_json::value::to_raw_value(&json!({ "applied": false })).unwrap();
    bench.frontend.outbound.answered(&id, Ok(&raw));
    assert_eq!(asked.await.unwrap(), Err(EditRefused::Stale));
}

#[tokio::test]
async fn only_a_client_that_can_save_is_asked_to() {
    assert_eq!(Bench::new(false).frontend.save(Path::new("/a")).await, Ok(false));
    let mut bench = Bench::new(true);
    let frontend = Arc::clone(&bench.frontend);
    let asked = tokio::spawn(async move { frontend.save(Path::new("/a")).await });
    let expected = expect![[r#"reverie/document/save {"uri":"file:///a"}"#]];
    bench.answer(Ok(json!({ "saved": true })), expected).await;
    assert_eq!(asked.await.unwrap(), Ok(true));
}

#[tokio::test]
async fn a_dropped_question_is_not_sent_and_its_answer_ignored() {
    let mut bench = Bench::new(true);
    drop(bench.frontend.ask_permission(question()));
    let notice = AgentEvent::Notice { level: NoticeLevel::Info, text: "after".to_owned() };
    bench.frontend.event(SessionEvent { session: session(), turn: None, event: notice });
    assert_eq!(bench.receive().await["method"], "reverie/session/update");
    let raw = serde_json::value::to_raw_value(&json!({ "option": "allowOnce" })).unwrap();
    bench.frontend.outbound.answered(&Id::Number(1), Ok(&raw));
}
