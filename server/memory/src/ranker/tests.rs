//! What a caller of the ranker relies on.

use super::*;

const DAY: i64 = 86_400;
const NOW: i64 = 1_750_000_000;

fn document(id: &str, name: &str, description: &str, body: &str) -> Document {
    Document {
        id: id.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        body: body.to_owned(),
        modified: NOW - 400 * DAY,
        ..Document::default()
    }
}

fn store() -> Vec<Document> {
    vec![
        document(
            "tests.md",
            "Running tests",
            "Run the tests with nextest, never with cargo test",
            "**Why:** speed",
        ),
        document(
            "db.md",
            "Database",
            "Integration tests use a real Postgres",
            "Mocks hid a broken migration.",
        ),
        document(
            "deploy.md",
            "Deploy freeze",
            "No deploys after Thursday",
            "Mobile cuts its release branch then.",
        ),
        document("style.md", "maxWidth", "Lines are at most 110 wide", "rustfmt.toml sets max_width"),
        document("ja.md", "設定", "データベースの設定はここにある", "接続文字列を確認する"),
        document("user.md", "", "Knows Go well, new to React", "Explain frontend in terms of backends."),
    ]
}

fn query(text: &str) -> Query<'_> {
    Query { text, limit: 5, now: NOW, not_after: None, without: &|_| false }
}

fn first(ranker: &Ranker, text: &str) -> Option<String> {
    ranker.rank(&query(text)).hits.first().map(|hit| hit.id.clone())
}

/// Everything that can be seen of a ranking.
fn shown(ranker: &Ranker, text: &str) -> String {
    format!("{:?}", ranker.rank(&Query { limit: 50, ..query(text) }))
}

#[test]
fn the_fitting_memory_comes_first() {
    let ranker = Ranker::build(store());
    assert_eq!(first(&ranker, "how do I run a test here?").as_deref(), Some("tests.md"));
    assert_eq!(first(&ranker, "the migration of the database failed").as_deref(), Some("db.md"));
    assert_eq!(first(&ranker, "can we deploy on friday").as_deref(), Some("deploy.md"));
}

#[test]
fn identifiers_meet_however_they_are_joined() {
    let ranker = Ranker::build(store());
    for text in ["what is max_width?", "MAX-WIDTH", "maxwidth", "the max width of it"] {
        assert_eq!(first(&ranker, text).as_deref(), Some("style.md"), "{text}");
    }
}

#[test]
fn scripts_without_spaces_are_searched() {
    let ranker = Ranker::build(store());
    assert_eq!(first(&ranker, "設定を変えたい").as_deref(), Some("ja.md"));
    assert_eq!(first(&ranker, "データベース").as_deref(), Some("ja.md"));
}

#[test]
fn misspelt_words_and_words_of_like_meaning_are_found() {
    let ranker = Ranker::build(store());
    assert_eq!(first(&ranker, "migratoin").as_deref(), Some("db.md"));
    let hits = ranker.rank(&query("shipping")).hits;
    assert_eq!(hits.first().map(|hit| hit.id.as_str()), Some("deploy.md"));
    assert!(hits.iter().all(|hit| hit.parts.matched.is_empty() && hit.parts.expansion > 0.0));
}

#[test]
fn the_file_name_stands_in_for_a_missing_name() {
    let ranker = Ranker::build(vec![document("team/coffee-machine.md", " ", "", "")]);
    assert_eq!(first(&ranker, "where is the coffee?").as_deref(), Some("team/coffee-machine.md"));
}

#[test]
fn a_name_of_stop_words_is_found_when_nothing_else_is_asked() {
    let ranker = Ranker::build(vec![document("who.md", "who", "Display logged in users", "")]);
    assert_eq!(first(&ranker, "who").as_deref(), Some("who.md"));
    assert_eq!(first(&ranker, "who wrote it"), None);
}

#[test]
fn what_matches_nothing_is_not_returned() {
    let ranker = Ranker::build(store());
    let ranking = ranker.rank(&query("zyzzyva quux"));
    assert!(ranking.hits.is_empty());
    assert_eq!(ranking.confidence, 0.0);
    assert!(ranker.rank(&Query { limit: 0, ..query("tests") }).hits.is_empty());
    assert!(ranker.rank(&query("")).hits.is_empty());
    assert!(Ranker::build(Vec::new()).rank(&query("tests")).hits.is_empty());
}

#[test]
fn newer_and_excluded_memories_are_left_out() {
    let mut documents = store();
    documents[0].modified = NOW;
    let ranker = Ranker::build(documents);
    let ids = |query: &Query<'_>| -> Vec<String> {
        let mut ids: Vec<_> = ranker.rank(query).hits.into_iter().map(|hit| hit.id).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&query("tests")), ["db.md", "tests.md"]);
    assert_eq!(ids(&Query { not_after: Some(NOW - 1), ..query("tests") }), ["db.md"]);
    assert_eq!(ids(&Query { without: &|id| id == "db.md", ..query("tests") }), ["tests.md"]);
}

#[test]
fn an_exclusion_of_the_best_hundreds_leaves_the_rest() {
    let documents = (0..1000).map(|number| document(&format!("{number:04}.md"), "alpha", "same words", ""));
    let ranker = Ranker::build(documents.collect());
    let hits = ranker.rank(&Query { without: &|id| id < "0900", ..query("alpha") }).hits;
    assert_eq!(
        hits.iter().map(|hit| hit.id.as_str()).collect::<Vec<_>>(),
        ["0900.md", "0901.md", "0902.md", "0903.md", "0904.md"]
    );
}

#[test]
fn priors_break_ties_and_no_more() {
    let like = |id: &str| document(id, "release", "how a release is made", "tag, build, publish");
    let recent = Document { modified: NOW, ..like("z-recent.md") };
    let cited = Document { recalled: 9, cited: 9, ..like("y-cited.md") };
    let ignored = Document { recalled: 99, ..like("a-ignored.md") };
    let feedback = Document { kind: Some(Kind::Feedback), ..like("x-feedback.md") };
    let better = Document { description: "how a release is made by hand".to_owned(), ..like("better.md") };
    let ranker = Ranker::build(vec![like("plain.md"), recent, cited, ignored, feedback, better]);
    let order = |text: &str| -> Vec<String> {
        ranker.rank(&Query { limit: 9, ..query(text) }).hits.into_iter().map(|hit| hit.id).collect()
    };
    assert_eq!(order("release by hand")[0], "better.md");
    let order = order("release");
    let place = |id: &str| order.iter().position(|other| other == id);
    assert_eq!(place("z-recent.md"), Some(0));
    assert!(place("y-cited.md") < place("x-feedback.md") && place("x-feedback.md") < place("plain.md"));
    assert!(place("plain.md") < place("a-ignored.md"));
}

#[test]
fn a_time_in_the_future_counts_as_now() {
    let ranker = Ranker::build(vec![
        Document { modified: i64::MAX, ..document("future.md", "alpha", "", "") },
        Document { modified: NOW, ..document("now.md", "alpha", "", "") },
        Document { modified: i64::MIN, ..document("past.md", "alpha", "", "") },
    ]);
    let hits = ranker.rank(&query("alpha")).hits;
    assert_eq!(hits[0].score, hits[1].score);
    assert!(hits[2].score < hits[1].score && hits[2].score > 0.8 * hits[1].score);
}

#[test]
fn the_parts_add_up_to_the_score() {
    let mut documents = store();
    for document in &mut documents {
        (document.recalled, document.cited, document.kind) = (7, 2, Some(Kind::Project));
    }
    let ranker = Ranker::build(documents);
    let hits = ranker.rank(&query("run integration tests with a real database before deploys")).hits;
    assert!(hits.len() > 2);
    for hit in hits {
        let parts = &hit.parts;
        let words = parts.name + parts.description + parts.body + parts.expansion;
        let sum = words + parts.proximity + parts.coverage + parts.recency + parts.kind + parts.usage;
        assert!((sum - hit.score).abs() < 1e-4 * hit.score, "{hit:?}");
        assert!((0.0..=1.0).contains(&hit.confidence));
    }
}

#[test]
fn matched_words_are_those_of_the_message() {
    let ranker = Ranker::build(store());
    let hits = ranker.rank(&query("Should the tests run with Postgres or with the zyzzyva?")).hits;
    let matched = |id: &str| hits.iter().find(|hit| hit.id == id).map(|hit| hit.parts.matched.join(" "));
    assert_eq!(matched("tests.md").as_deref(), Some("tests run"));
    assert_eq!(matched("db.md").as_deref(), Some("tests postgres"));
}

#[test]
fn a_message_about_something_else_has_less_confidence() {
    let ranker = Ranker::build(store());
    let sure = ranker.rank(&query("do integration tests use a real postgres?")).confidence;
    let unsure =
        ranker.rank(&query("which movie about a real dragon should my nephew watch tonight?")).confidence;
    assert!(sure > 0.5 && unsure < 0.2, "{sure} {unsure}");
}

#[test]
fn changes_one_by_one_equal_a_new_build() {
    let mut grown = Ranker::build(Vec::new());
    for (document, number) in store().into_iter().zip(0..) {
        grown.update(Document { body: format!("to be replaced {number}"), ..document.clone() });
        grown.update(document);
    }
    // Enough changes that gaps are closed on the way.
    for number in 0..2000 {
        grown.update(document(
            "changing.md",
            "changing",
            &format!("version{number} of postgres tests"),
            "deploy",
        ));
    }
    grown.remove("changing.md");
    grown.remove("never-there.md");
    let built = Ranker::build(store());
    assert_eq!(grown.len(), built.len());
    for text in [
        "integration tests with postgres",
        "max width",
        "deploying on thursday",
        "設定",
        "databse",
        "version1999",
    ] {
        assert_eq!(shown(&grown, text), shown(&built, text), "{text}");
    }
}

#[test]
fn the_order_of_documents_and_the_number_of_threads_do_not_matter() {
    let many: Vec<Document> = (0..1500)
        .map(|number| {
            let topic = ["postgres", "deploy", "nextest", "review"][number % 4];
            document(
                &format!("{number}.md"),
                topic,
                &format!("{topic} number {}", number % 7),
                "the same for all",
            )
        })
        .collect();
    let forward = Ranker::build(many.clone());
    let backward = Ranker::build(many.into_iter().rev().collect());
    for text in ["postgres number 3", "review of the deploy", "postgras"] {
        assert_eq!(shown(&forward, text), shown(&backward, text));
        assert_eq!(shown(&forward, text), shown(&forward, text));
    }
}

#[test]
fn the_last_of_documents_with_one_id_counts() {
    let ranker = Ranker::build(vec![document("a.md", "old", "", ""), document("a.md", "new", "", "fresh")]);
    assert_eq!(ranker.len(), 1);
    assert_eq!(first(&ranker, "old"), None);
    assert_eq!(first(&ranker, "fresh").as_deref(), Some("a.md"));
}

#[test]
fn hostile_input_is_survived() {
    let long_line = "x".repeat(10 << 20);
    let words = "alpha beta gamma ".repeat(600_000);
    let pairs = "数据库".repeat(300_000);
    let noise: String = (0..0x11_0000).step_by(7).filter_map(char::from_u32).collect();
    let controls = "\0\u{1}\u{7f}\u{202e}\u{feff}alpha\u{0}beta\r\n\u{2028}".repeat(1000);
    let joiners = "a-_.'’".repeat(100_000);
    let texts = [&long_line, &words, &pairs, &noise, &controls, &joiners];
    let documents =
        texts.iter().enumerate().map(|(number, text)| document(&number.to_string(), text, text, text));
    let mut ranker = Ranker::build(documents.collect());
    for text in texts {
        for hit in ranker.rank(&query(text)).hits {
            assert!(hit.score.is_finite() && hit.confidence.is_finite());
        }
        ranker.update(document("0", text, text, text));
    }
    assert!(first(&ranker, "alpha beta").is_some());
}
