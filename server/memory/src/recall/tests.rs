use expect_test::expect;

use super::*;
use crate::{ranker::Parts, store::Counts, topic::Kind};

fn memory(path: &str, day: i64) -> Memory {
    Memory {
        path: path.to_owned(),
        name: path.to_owned(),
        description: format!("about {path}"),
        kind: Some(Kind::Project),
        modified: jiff::Timestamp::from_second(day * 86_400).unwrap(),
        bytes: 10,
        source: None,
        counts: Counts::default(),
    }
}

fn hit(path: &str, confidence: f32) -> Hit {
    let parts = Parts { matched: vec!["word".to_owned()], ..Parts::default() };
    Hit { id: path.to_owned(), score: confidence, confidence, parts }
}

fn ranked(hits: &[(&str, f32)], memories: Vec<Memory>) -> Ranked {
    let hits = hits.iter().map(|(path, confidence)| hit(path, *confidence)).collect();
    Ranked { hits, confidence: 1.0, memories }
}

fn paths(candidates: &[Candidate], places: &[usize]) -> Vec<String> {
    places.iter().map(|place| candidates[*place].memory.path.clone()).collect()
}

#[test]
fn one_word_is_not_worth_it_and_three_characters_of_chinese_are() {
    for (message, worth_it) in [
        ("", false),
        ("continue", false),
        ("ok !", false),
        ("go on", true),
        ("修复", false),
        ("修复它", true),
        ("什么时候部署", true),
        ("ทดสอบ", true),
        ("/cost", false),
    ] {
        assert_eq!(is_worth_it(message), worth_it, "{message}");
    }
}

#[test]
fn at_most_two_are_sure_and_five_likely() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let memories = names.iter().map(|name| memory(name, 1)).collect();
    let hits: Vec<(&str, f32)> = names.iter().map(|name| (*name, 0.9)).collect();
    let candidates = candidates(ranked(&hits, memories), |path| path == "a");
    assert_eq!(candidates[0].decision, Decision::Filtered);
    assert_eq!(paths(&candidates, &sure(&candidates)), ["b", "c"]);
    assert_eq!(paths(&candidates, &likely(&candidates)), ["b", "c", "d", "e", "f"]);
}

#[test]
fn what_the_ranker_doubts_is_not_shown() {
    let candidates =
        candidates(ranked(&[("a", 0.3), ("b", 0.1)], vec![memory("a", 1), memory("b", 1)]), |_| false);
    assert_eq!(sure(&candidates), [0_usize; 0]);
    assert_eq!(paths(&candidates, &likely(&candidates)), ["a"]);
}

#[test]
fn beyond_two_hundred_the_ranker_chooses_instead_of_the_clock() {
    let memories = |count: i64| (0..count).map(|day| memory(&format!("m{day:03}"), day)).collect();
    let hits = [("m000", 0.9)];
    let all = candidates(ranked(&hits, memories(200)), |_| false);
    assert_eq!((all.len(), all[0].memory.path.as_str()), (200, "m000"));
    let beyond = candidates(ranked(&hits, memories(201)), |_| false);
    assert_eq!((beyond.len(), beyond[0].memory.path.as_str()), (200, "m000"));
    // The oldest that nothing speaks for is the one that is left out.
    assert!(!beyond.iter().any(|candidate| candidate.memory.path == "m001"));
}

#[test]
fn the_question_names_files_kinds_dates_and_tools() {
    let mut other = memory("sub/b.md", 20_000);
    other.kind = None;
    other.description = String::new();
    let candidates = candidates(ranked(&[("a.md", 0.9)], vec![memory("a.md", 20_001), other]), |_| false);
    let selection = selection("when do we ship?", &candidates, &[], &["Bash".to_owned()]).unwrap();
    expect![[r#"
        Message:
        when do we ship?

        Memories:
        - [project] a.md (2024-10-05): about a.md
        - sub/b.md (2024-10-04): sub/b.md

        Tools in use just now: Bash
    "#]]
    .assert_eq(&selection.message);
    let left = super::selection("x y", &candidates, &[0], &[]).unwrap();
    assert!(!left.message.contains("a.md (") && left.message.contains("sub/b.md"));
    assert!(super::selection("x y", &candidates, &[0, 1], &[]).is_none());
}

#[test]
fn an_answer_names_what_was_offered() {
    let candidates = candidates(ranked(&[], vec![memory("a.md", 1), memory("b.md", 2)]), |_| false);
    let named = |answer: &str| selected(answer, &candidates).map(|places| paths(&candidates, &places));
    assert_eq!(named(r#"{"selected": ["a.md", "b.md", "a.md", "/etc/passwd"]}"#).unwrap(), ["a.md", "b.md"]);
    assert_eq!(named("```json\n{\"selected\": []}\n```").unwrap(), [""; 0]);
    assert_eq!(named("I would choose a.md"), None);
    assert_eq!(named("{\"selected\": \"a.md\"}"), None);
}
