//! The bytes that are sent, billed by the simulation of the provider's cache: what forks cost, and what the watch makes
//! of the bills.

use std::time::Duration;

use conversation::{ResultContent, Usage};
use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::{
    prompt_cache::{CacheUsage, PromptCache},
    validation::validate_request,
};

use super::*;
use crate::{CacheWatch, Cause, SystemBlock, ToolDefinition};

/// A conversation with its provider.
#[derive(Default)]
struct Provider {
    cache: PromptCache,
    watch: CacheWatch,
    now: Duration,
}

impl Provider {
    fn bill(&mut self, request: &Request) -> CacheUsage {
        let body: Value = serde_json::from_slice(&wire::body(request).unwrap()).unwrap();
        assert_eq!(validate_request(&body), [""; 0]);
        self.cache.bill(&body, self.now).unwrap()
    }

    fn send(&mut self, request: &Request) -> Option<Cause> {
        let now = Timestamp::from_second(self.now.as_secs() as i64).unwrap();
        self.watch.before(request, now);
        let bill = self.bill(request);
        let usage = Usage {
            input_tokens: bill.input,
            output_tokens: 1,
            cache_read_input_tokens: bill.read,
            cache_creation_input_tokens: bill.written_5m,
        };
        self.watch.after(&usage, now).map(|found| found.cause)
    }

    fn resume(&mut self) {
        self.watch = CacheWatch::restore(self.watch.kept());
    }
}

fn long(text: &str, tokens: usize) -> String {
    format!("{text} {}", "word".repeat(tokens))
}

/// So many rounds of calls; the last results are not answered.
fn conversation(rounds: usize) -> Request {
    let block = |text: &str, ends_static_part| SystemBlock { text: long(text, 2_000), ends_static_part };
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: long(name, 500),
        input_schema: json!({"type": "object"}),
    };
    let user = |content| RequestMessage { role: Role::User, content };
    let mut messages = vec![user(vec![Block::text(long("prompt", 1_000))])];
    for round in 0..rounds {
        let id = format!("t{round}");
        let call = Block::ToolUse { id: id.clone(), name: "Read".to_owned(), input: json!({"n": round}) };
        let content = ResultContent::Text(long("result", 3_000));
        messages.push(RequestMessage { role: Role::Assistant, content: vec![call] });
        messages.push(user(vec![Block::ToolResult { tool_use_id: id, content, is_error: false }]));
    }
    Request {
        system: [block("rules", true), block("here", false)].into(),
        tools: [tool("Read"), tool("Bash")].into(),
        messages,
        ..request("m")
    }
}

fn fork(source: QuerySource, parent: &Request, shared: usize, directive: &str) -> Request {
    let mut messages = parent.messages.clone();
    messages.last_mut().unwrap().content.push(Block::text(directive));
    Request { messages, source, shared: Some(shared), ..parent.clone() }
}

#[test]
fn forks_of_one_request_write_nothing_and_leave_no_trace() {
    for (rounds, sent_rounds) in [(4, 4), (4, 3)] {
        let (parent, sent) = (conversation(rounds), conversation(sent_rounds));
        let history = |provider: &mut Provider| {
            (0..=sent_rounds).for_each(|rounds| assert_eq!(provider.send(&conversation(rounds)), None));
        };
        let mut undisturbed = Provider::default();
        history(&mut undisturbed);
        let mut provider = Provider::default();
        history(&mut provider);
        let prefix = provider.cache.history().last().unwrap().total();
        for (source, directive) in [(QuerySource::Compact, "summarise"), (QuerySource::Collapse, "one part")]
        {
            let bill = provider.bill(&fork(source, &parent, sent.blocks(), directive));
            assert_eq!((bill.read, bill.written_5m), (prefix, 0));
        }
        assert_eq!(provider.bill(&conversation(5)), undisturbed.bill(&conversation(5)));
    }
}

#[test]
fn a_conversation_that_only_grows_never_breaks_its_cache() {
    let mut provider = Provider::default();
    for rounds in 0..12 {
        assert_eq!(provider.send(&conversation(rounds)), None);
        if rounds % 3 == 0 {
            provider.resume();
        }
        let parent = conversation(rounds);
        provider.bill(&fork(QuerySource::Extraction, &parent, parent.blocks(), "what to remember?"));
        provider.now += Duration::from_secs(200);
    }
}

#[test]
fn a_change_in_front_is_named() {
    let change_tool: fn(&mut Request) = |request| {
        let mut tools = request.tools.to_vec();
        tools[1].description.push('!');
        request.tools = tools.into();
    };
    let change_system: fn(&mut Request) = |request| {
        let mut system = request.system.to_vec();
        system[1].text = long("elsewhere", 2_000);
        request.system = system.into();
    };
    let change_message: fn(&mut Request) =
        |request| request.messages[0].content = vec![Block::text("another")];
    let changes = [
        (change_tool, "the tool Bash changed"),
        (change_system, "block 2 of the system prompt changed"),
        (change_message, "message 1"),
    ];
    for (change, words) in changes {
        for (resumed, announced) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut provider = Provider::default();
            (0..4).for_each(|rounds| assert_eq!(provider.send(&conversation(rounds)), None));
            if announced {
                provider.watch.announce();
            }
            if resumed {
                provider.resume();
            }
            let mut changed = conversation(4);
            change(&mut changed);
            match provider.send(&changed) {
                Some(cause) => assert!(!announced && cause.to_string().starts_with(words), "{cause}"),
                None => assert!(announced, "{words}"),
            }
            // From then on all is well again.
            let mut next = conversation(5);
            change(&mut next);
            assert_eq!(provider.send(&next), None);
        }
    }
}

#[test]
fn a_pause_lets_the_cache_expire() {
    let mut provider = Provider::default();
    provider.send(&conversation(3));
    provider.now += Duration::from_secs(7 * 60);
    assert_eq!(provider.send(&conversation(4)), Some(Cause::Expired { idle: Duration::from_secs(7 * 60) }));
}

#[test]
fn deletions_in_the_cache_keep_the_prefix() {
    let deleting = |rounds: usize, ids: &[&str]| {
        let cache_deletions = ids.iter().map(|id| (*id).to_owned()).collect();
        let context_edits = ContextEdits { cache_deletions, ..ContextEdits::default() };
        Request { context_edits, ..conversation(rounds) }
    };
    let mut provider = Provider::default();
    for rounds in 0..6 {
        provider.send(&conversation(rounds));
    }
    let whole = provider.cache.history().last().unwrap().total();
    provider.watch.announce();
    assert_eq!(provider.send(&deleting(6, &["t0", "t1"])), None);
    assert_eq!(provider.send(&deleting(7, &["t0", "t1"])), None);
    let history = provider.cache.history();
    let [.., first, second] = history else { panic!("{history:?}") };
    assert!(first.read < whole - 6_000 && first.read > whole - 7_000, "{first:?} of {whole}");
    assert_eq!(second.read, first.total());
}
