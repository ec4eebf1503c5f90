use conversation::{Block, RequestMessage, Role};
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::ContextEdits;

fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({"type": "object"}),
    }
}

fn system(text: &str) -> SystemBlock {
    SystemBlock { text: text.to_owned(), ends_static_part: false }
}

fn message(role: Role, text: &str) -> RequestMessage {
    RequestMessage { role, content: vec![Block::text(text)] }
}

fn turns(count: usize) -> Vec<RequestMessage> {
    let turn = |number: usize| {
        [message(Role::User, &format!("question {number}")), message(Role::Assistant, "answer")]
    };
    (0..count).flat_map(turn).take(count * 2 - 1).collect()
}

fn request(messages: Vec<RequestMessage>) -> Request {
    Request {
        model: "m".to_owned(),
        system: [system("You are an agent."), system("# Rules\nBe brief."), system("Git: clean")].into(),
        tools: [tool("Read", "reads\na file"), tool("Grep", "finds"), tool("Bash", "runs")].into(),
        messages,
        max_tokens: 1,
        output_schema: None,
        source: QuerySource::Main,
        shared: None,
        context_edits: ContextEdits::default(),
    }
}

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_second(minutes * 60).unwrap()
}

fn usage(read: u64, written: u64) -> Usage {
    Usage { cache_read_input_tokens: read, cache_creation_input_tokens: written, ..Usage::default() }
}

/// A conversation that has left 80,000 tokens in the cache.
fn watching() -> CacheWatch {
    let mut watch = CacheWatch::default();
    watch.before(&request(turns(9)), at(0));
    assert_eq!(watch.after(&usage(0, 80_000), at(1)), None);
    watch
}

fn resumed(watch: &CacheWatch) -> CacheWatch {
    CacheWatch::restore(serde_json::from_str(&watch.kept().to_string()).unwrap())
}

/// The next request, changed, of which the cache had next to nothing: before and after a resume.
fn check(change: impl Fn(&mut Request), expected: Expect) {
    let mut next = request(turns(10));
    change(&mut next);
    let mut out = String::new();
    for (when, mut watch) in [("", watching()), ("resumed: ", resumed(&watching()))] {
        watch.before(&next, at(2));
        let found = watch.after(&usage(1_000, 79_500), at(3)).unwrap();
        out.push_str(&format!("{when}{found}\n"));
        if let Some(diff) = found.diff() {
            out.push_str(&format!("{diff}\n"));
        }
    }
    expected.assert_eq(&out);
}

fn replace<T: Clone>(list: &mut Arc<[T]>, change: impl FnOnce(&mut Vec<T>)) {
    let mut changed = list.to_vec();
    change(&mut changed);
    *list = changed.into();
}

#[test]
fn a_changed_tool_is_named() {
    check(
        |request| replace(&mut request.tools, |tools| tools[0].description = "reads\na folder".to_owned()),
        expect![[r#"
            1000 of 80000 tokens were read from the prompt cache: the tool Read changed
            - a file
            + a folder
            resumed: 1000 of 80000 tokens were read from the prompt cache: the tool Read changed
        "#]],
    );
    check(
        |request| replace(&mut request.tools, |tools| tools[2].input_schema = json!({"type": "array"})),
        expect![[r#"
            1000 of 80000 tokens were read from the prompt cache: the tool Bash changed
            -   "type": "object"
            +   "type": "array"
            resumed: 1000 of 80000 tokens were read from the prompt cache: the tool Bash changed
        "#]],
    );
}

#[test]
fn other_tools_and_another_order_are_named() {
    check(
        |request| replace(&mut request.tools, |tools| tools.insert(1, tool("Glob", "g"))),
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: tools were added: Glob
        resumed: 1000 of 80000 tokens were read from the prompt cache: tools were added: Glob
    "#]],
    );
    check(
        |request| replace(&mut request.tools, |tools| tools.push(tool("Glob", "g"))),
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: tools were added: Glob
        resumed: 1000 of 80000 tokens were read from the prompt cache: tools were added: Glob
    "#]],
    );
    check(
        |request| replace(&mut request.tools, |tools| drop(tools.remove(1))),
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: tools were removed: Grep
        resumed: 1000 of 80000 tokens were read from the prompt cache: tools were removed: Grep
    "#]],
    );
    check(
        |request| replace(&mut request.tools, |tools| tools.swap(0, 2)),
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: the tools are in another order
        resumed: 1000 of 80000 tokens were read from the prompt cache: the tools are in another order
    "#]],
    );
}

#[test]
fn a_changed_section_of_the_system_prompt_is_named() {
    check(
        |request| replace(&mut request.system, |system| system[1].text = "# Rules\nBe kind.".to_owned()),
        expect![[r##"
            1000 of 80000 tokens were read from the prompt cache: block 2 of the system prompt changed ("# Rules\nBe kind.")
            - Be brief.
            + Be kind.
            resumed: 1000 of 80000 tokens were read from the prompt cache: block 2 of the system prompt changed ("# Rules\nBe kind.")
        "##]],
    );
    check(
        |request| replace(&mut request.system, |system| drop(system.pop())),
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: block 3 of the system prompt changed ("Git: clean")
        - Git: clean
        resumed: 1000 of 80000 tokens were read from the prompt cache: block 3 of the system prompt changed
    "#]],
    );
    // What is not sent changes nothing.
    check(
        |request| replace(&mut request.system, |blocks| blocks.insert(0, system(" \n"))),
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: the request begins as before; the provider no longer had it
        resumed: 1000 of 80000 tokens were read from the prompt cache: the request begins as before; the provider no longer had it
    "#]],
    );
}

#[test]
fn a_changed_message_is_named() {
    check(
        |request| request.messages[2].content = vec![Block::text("question one")],
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: message 3 (user) changed ("question one")
        - question 1
        + question one
        resumed: 1000 of 80000 tokens were read from the prompt cache: message 3 changed
    "#]],
    );
    check(
        |request| request.messages[13].content = vec![Block::text("another answer")],
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: message 14 (assistant) changed ("another answer")
        - answer
        + another answer
        resumed: 1000 of 80000 tokens were read from the prompt cache: one of the messages 14 to 15 changed
    "#]],
    );
    check(
        |request| request.messages.truncate(7),
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: the conversation was cut before message 8
        resumed: 1000 of 80000 tokens were read from the prompt cache: the conversation was cut before message 8
    "#]],
    );
    check(
        |request| request.messages[4].role = Role::Assistant,
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: message 5 (assistant) changed ("question 2")
        (it differs behind what was kept of it)
        resumed: 1000 of 80000 tokens were read from the prompt cache: message 5 changed
    "#]],
    );
}

#[test]
fn a_long_text_is_shown_where_it_differs() {
    let long = |end: &str| format!("{}{end}", "ä".repeat(400));
    let mut watch = CacheWatch::default();
    let mut one = request(turns(1));
    replace(&mut one.system, |blocks| blocks[0] = system(&long("one")));
    watch.before(&one, at(0));
    watch.after(&usage(0, 80_000), at(0));
    replace(&mut one.system, |blocks| blocks[0] = system(&long("two\nthree")));
    watch.before(&one, at(1));
    let found = watch.after(&usage(0, 80_000), at(1)).unwrap();
    expect![[r#"
        - …äääääääääääääääääääääääääone
        + …ääääääääääääääääääääääääätwo
        + three"#]]
    .assert_eq(found.diff().unwrap());
}

#[test]
fn another_model_has_another_cache() {
    check(
        |request| request.model = "n".to_owned(),
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: the model changed from m to n
        resumed: 1000 of 80000 tokens were read from the prompt cache: the model changed from m to n
    "#]],
    );
}

#[test]
fn the_same_beginning_is_the_providers_loss() {
    check(
        |_| {},
        expect![[r#"
        1000 of 80000 tokens were read from the prompt cache: the request begins as before; the provider no longer had it
        resumed: 1000 of 80000 tokens were read from the prompt cache: the request begins as before; the provider no longer had it
    "#]],
    );
}

#[test]
fn an_announced_break_is_none_and_the_next_one_is() {
    for resume in [false, true] {
        let mut watch = watching();
        watch.announce();
        if resume {
            watch = resumed(&watch);
        }
        let mut changed = request(turns(10));
        changed.messages.remove(0);
        watch.before(&changed, at(2));
        assert_eq!(watch.after(&usage(0, 60_000), at(2)), None);
        changed.messages.remove(0);
        watch.before(&changed, at(3));
        let found = watch.after(&usage(0, 60_000), at(3)).unwrap();
        assert!(matches!(found.cause, Cause::Message { index: 0, role: Role::User, .. }), "{found}");
        assert_eq!((found.expected, found.read), (60_000, 0));
    }
}

#[test]
fn after_a_pause_the_cache_has_expired_whatever_changed() {
    for (minutes, expired) in [(5, false), (6, true), (60, true)] {
        for mut watch in [watching(), resumed(&watching())] {
            let mut next = request(turns(10));
            next.messages.remove(0);
            watch.before(&next, at(minutes));
            let found = watch.after(&usage(0, 80_000), at(minutes)).unwrap();
            assert_eq!(matches!(found.cause, Cause::Expired { .. }), expired, "{found}");
            assert!(!expired || found.diff().is_none());
        }
    }
    let words = Cause::Expired { idle: Duration::from_secs(60 * 60) }.to_string();
    expect!["nothing was sent for 60 minutes, and what was cached expired"].assert_eq(&words);
}

#[test]
fn after_more_than_an_hour_nothing_is_expected() {
    for mut watch in [watching(), resumed(&watching())] {
        watch.before(&request(turns(10)), at(61));
        assert_eq!(watch.after(&usage(0, 80_000), at(61)), None);
        // From here on it is watched again.
        watch.before(&request(turns(9)), at(62));
        assert!(watch.after(&usage(0, 80_000), at(62)).is_some());
    }
}

#[test]
fn a_small_loss_is_none() {
    let lost = |expected: u64, read: u64| {
        let mut watch = CacheWatch::default();
        for read in [(0, expected), (read, 100)] {
            watch.before(&request(turns(1)), at(0));
            if watch.after(&usage(read.0, read.1), at(0)).is_some() {
                return true;
            }
        }
        false
    };
    assert!(!lost(80_000, 80_000) && !lost(80_000, 90_000));
    // 5 % of 80,000 are 4,000; of 20,000 they are 1,000, but it takes 2,000.
    assert!(!lost(80_000, 76_000) && lost(80_000, 75_999));
    assert!(!lost(20_000, 18_000) && lost(20_000, 17_999));
}

#[test]
fn a_provider_that_does_not_count_never_breaks_the_cache() {
    let mut watch = CacheWatch::default();
    for turn in 0..5 {
        let mut next = request(turns(9 - turn));
        next.model = format!("model {}", turn / 2);
        watch.before(&next, at(0));
        assert_eq!(watch.after(&Usage::default(), at(0)), None);
    }
    // Nor does one that comes after another that did.
    let mut watch = watching();
    watch.before(&Request { model: "local".to_owned(), ..request(turns(10)) }, at(1));
    assert_eq!(watch.after(&Usage::default(), at(1)), None);
}

#[test]
fn other_requests_pass_unseen() {
    let mut watch = watching();
    for source in [QuerySource::Recall, QuerySource::Compact, QuerySource::Extraction] {
        watch.before(&Request { source, ..request(turns(1)) }, at(1));
        assert_eq!(watch.after(&usage(0, 0), at(1)), None);
    }
    watch.before(&request(turns(10)), at(2));
    assert_eq!(watch.after(&usage(80_000, 500), at(2)), None);
}

#[test]
fn a_request_that_failed_is_compared_with_the_last_that_was_answered() {
    let mut watch = watching();
    let mut changed = request(turns(10));
    changed.messages.remove(0);
    watch.before(&changed, at(1));
    watch.before(&changed, at(2));
    assert!(watch.after(&usage(0, 80_000), at(2)).is_some());
}

#[test]
fn what_is_kept_is_small_and_unreadable_things_are_a_fresh_start() {
    let mut long = request(turns(3_000));
    let names: Vec<String> = (0..20).map(|number| format!("SomeTool{number}")).collect();
    long.tools = names.iter().map(|name| tool(name, "does something")).collect();
    long.system = (0..10).map(|number| system(&format!("section {number}"))).collect();
    let mut watch = CacheWatch::default();
    assert_eq!(watch.kept(), Value::Null);
    watch.before(&long, at(0));
    watch.after(&usage(0, 80_000), at(0));
    let kept = watch.kept().to_string();
    assert!(kept.len() < 1_100, "{} bytes: {kept}", kept.len());
    // Taken again without a request in between, it is the same.
    assert_eq!(resumed(&watch).kept().to_string(), kept);
    for unreadable in [Value::Null, json!({}), json!({"at": 1}), json!([1])] {
        assert_eq!(CacheWatch::restore(unreadable).kept(), Value::Null);
    }
}

#[test]
fn hundreds_of_tools_are_watched_too() {
    let tools = |changed: usize| -> Arc<[ToolDefinition]> {
        let description = |number| if number == changed { "changed" } else { "does something" };
        (0..300).map(|number| tool(&format!("Tool{number}"), description(number))).collect()
    };
    let mut watch = CacheWatch::default();
    watch.before(&Request { tools: tools(1_000), ..request(turns(1)) }, at(0));
    watch.after(&usage(0, 80_000), at(0));
    for (changed, name) in [(7, "Tool7"), (200, "(one of those behind Tool23)")] {
        let mut watch = resumed(&watch);
        watch.before(&Request { tools: tools(changed), ..request(turns(2)) }, at(1));
        let found = watch.after(&usage(0, 80_000), at(1)).unwrap();
        assert_eq!(found.cause, Cause::Tool { name: name.to_owned() });
    }
}
