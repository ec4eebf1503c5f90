//! Forks of a conversation, at each of the moments when one can branch off.

use super::*;

const SYSTEM_BLOCKS: usize = 4;
const ONE_SHOT: [QuerySource; 2] = [QuerySource::Compact, QuerySource::Collapse];
const SEVERAL_ROUNDS: [QuerySource; 3] =
    [QuerySource::Extraction, QuerySource::SessionMemory, QuerySource::Dream];

/// `parent` is what the conversation would send now, `sent` the last request that it did send.
fn fork(source: QuerySource, parent: &Request, sent: &Request, directive: &str) -> Request {
    let mut messages = parent.messages.clone();
    match messages.last_mut() {
        Some(last) if last.role == Role::User => last.content.push(text(directive)),
        _ => messages.push(user(vec![text(directive)])),
    }
    Request { messages, source, shared: Some(sent.blocks()), ..parent.clone() }
}

/// A conversation of some rounds: what its last request was, and the cache that it left.
fn conversation(width: usize) -> (Request, Cache) {
    let mut cache = Cache::default();
    let mut messages = vec![user(vec![reminder(), text("prompt")])];
    cache.send(&request(messages.clone()));
    for round in 0..3 {
        let ids = || round * width..(round + 1) * width;
        messages.push(assistant([vec![thinking()], ids().map(call).collect()].concat()));
        messages.push(user(ids().map(result).collect()));
        cache.send(&request(messages.clone()));
    }
    (request(messages), cache)
}

fn with(parent: &Request, more: Vec<RequestMessage>) -> Request {
    request([parent.messages.clone(), more].concat())
}

/// The moments: after an answer, before results are sent, and when the last request failed after it was sent.
fn moments(sent: &Request, width: usize) -> Vec<(&'static str, Request)> {
    let ids = || 1_000..1_000 + width;
    let answered = with(sent, vec![assistant(vec![thinking(), text("done")])]);
    let calls = assistant(ids().map(call).collect());
    let unsent = with(sent, vec![calls, user(ids().map(result).collect())]);
    vec![("answered", answered), ("unsent", unsent), ("sent", sent.clone())]
}

#[test]
fn a_one_shot_fork_reads_all_that_was_sent_and_writes_nothing() {
    for width in [1, 5, 30] {
        let (sent, cache) = conversation(width);
        let shared = SYSTEM_BLOCKS + sent.blocks();
        for (moment, parent) in moments(&sent, width) {
            for source in ONE_SHOT {
                let mut cache = cache.clone();
                let before = cache.0.clone();
                let fork = fork(source, &parent, &sent, "directive");
                let new = SYSTEM_BLOCKS + fork.blocks() - shared;
                let bill = cache.bill(&fork);
                assert_eq!(bill, Bill { read: shared, written: 0, plain: new }, "{moment}, {width}");
                assert_eq!(cache.0, before, "{moment}, {width}");
            }
        }
    }
}

#[test]
fn the_parent_goes_on_as_if_there_had_been_no_fork() {
    for width in [1, 5, 30] {
        let (sent, cache) = conversation(width);
        for (moment, parent) in moments(&sent, width) {
            let next = match parent.messages.last().map(|message| message.role) {
                Some(Role::Assistant) => with(&parent, vec![user(vec![text("next prompt")])]),
                _ => parent.clone(),
            };
            let undisturbed = cache.clone().bill(&next);
            for source in ONE_SHOT {
                let mut cache = cache.clone();
                cache.send(&fork(source, &parent, &sent, "directive"));
                assert_eq!(cache.bill(&next), undisturbed, "{moment}, {width}");
            }
            // What such a fork wrote for itself may serve the parent.
            for source in SEVERAL_ROUNDS {
                let mut cache = cache.clone();
                cache.send(&fork(source, &parent, &sent, "directive"));
                assert!(cache.bill(&next).read >= undisturbed.read, "{moment}, {width}");
            }
        }
    }
}

#[test]
fn parallel_forks_share_the_prefix() {
    let (sent, mut cache) = conversation(30);
    let shared = SYSTEM_BLOCKS + sent.blocks();
    for (_, parent) in moments(&sent, 30) {
        for directive in ["one", "two"] {
            let fork = fork(QuerySource::Collapse, &parent, &sent, directive);
            assert_eq!(cache.bill(&fork).read, shared);
        }
    }
}

#[test]
fn a_fork_of_several_rounds_pays_only_for_what_is_new() {
    for (moment, parent) in moments(&conversation(5).0, 5) {
        let (sent, mut cache) = conversation(5);
        let first = fork(QuerySource::Extraction, &parent, &sent, "directive");
        assert_eq!(cache.bill(&first).read, SYSTEM_BLOCKS + sent.blocks(), "{moment}");
        let more = vec![assistant(vec![call(9_000)]), user(vec![result(9_000)])];
        let messages = [first.messages.clone(), more].concat();
        let second = Request { messages, ..first.clone() };
        let read = SYSTEM_BLOCKS + first.blocks();
        assert_eq!(cache.bill(&second), Bill { read, written: 2, plain: 0 }, "{moment}");
    }
}

#[test]
fn a_fork_that_does_not_know_its_parents_end_reads_up_to_the_last_answer() {
    let (sent, mut cache) = conversation(5);
    let answered = with(&sent, vec![assistant(vec![text("done")])]);
    let fork = Request { shared: None, ..fork(QuerySource::Compact, &answered, &sent, "directive") };
    let read = SYSTEM_BLOCKS + sent.blocks();
    assert_eq!(cache.bill(&fork), Bill { read, written: 0, plain: 2 });
}

#[test]
fn blocks_that_are_not_sent_count_as_shared_too() {
    let messages = vec![user(vec![text("prompt"), text("")]), assistant(vec![text("answer")])];
    let sent = request(messages.get(..1).unwrap().to_vec());
    let fork = fork(QuerySource::Compact, &request(messages), &sent, "directive");
    assert_eq!(Breakpoints::of(&fork).messages, [(0, 0)]);
}
