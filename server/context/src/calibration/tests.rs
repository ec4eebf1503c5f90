use std::fmt::Write as _;

use expect_test::expect;
use serde_json::json;

use super::*;
use crate::tokenizer;

const MODEL: &str = "anthropic/claude";
const ROUNDS: usize = 10;
const FEW: usize = 5;

const CODE: &str = include_str!("fixtures/code.txt");
const PROSE: &str = include_str!("fixtures/prose.txt");
const JSON: &str = include_str!("fixtures/json.txt");
const CHINESE: &str = include_str!("fixtures/chinese.txt");

/// The text in as many pieces as there are rounds, in whole lines or sentences.
fn rounds(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut done = 0;
    for line in text.split_inclusive(['\n', '。']) {
        if done >= text.len() * pieces.len() / ROUNDS {
            pieces.push(String::new());
        }
        pieces.last_mut().unwrap().push_str(line);
        done += line.len();
    }
    pieces
}

/// Every round another share of each.
fn mixture() -> Vec<String> {
    let kinds = [CODE, PROSE, JSON, CHINESE].map(rounds);
    let pieces = |round: usize| {
        let some = kinds.iter().enumerate().filter(move |(kind, _)| !(round + kind).is_multiple_of(3));
        some.filter_map(move |(_, pieces)| pieces.get(round)).cloned().collect::<String>()
    };
    (0..ROUNDS).map(pieces).collect()
}

fn by_escaped_bytes(text: &str) -> u64 {
    (json!(text).to_string().len() as u64).div_ceil(4)
}

fn by_characters(text: &str) -> u64 {
    let wide = text.chars().filter(|char| char.len_utf8() == 3).count();
    (wide + (text.len() - wide * 3) / 4) as u64
}

type Count = fn(&str) -> u64;

/// The errors of the meter in percent, in a session in which every round adds a piece.
fn session(pieces: &[String], count: Count, calibration: &mut Calibration) -> Vec<f64> {
    let mut reported = 0;
    let mut errors = Vec::new();
    for piece in pieces {
        let composition = Composition::of_text(piece);
        let metered = reported + calibration.tokens(MODEL, &composition);
        let added = count(piece);
        reported += added;
        errors.push((metered as f64 - reported as f64) * 100.0 / reported as f64);
        calibration.learn(MODEL, &composition, added);
    }
    errors
}

fn largest(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error.abs()).fold(0.0, f64::max)
}

#[test]
fn the_meter_is_right_within_three_percent_after_five_rounds() {
    let kinds = [("code", CODE), ("prose", PROSE), ("json", JSON), ("chinese", CHINESE)];
    let kinds = kinds.map(|(kind, text)| (kind, rounds(text)));
    let tokenizers: [(&str, Count); 3] =
        [("o200k", tokenizer::count), ("escaped", by_escaped_bytes), ("characters", by_characters)];
    let mut table = String::new();
    let mut worst: f64 = 0.0;
    for (tokenizer, count) in tokenizers {
        for (kind, pieces) in kinds.iter().chain(&[("mixture", mixture())]) {
            let errors = session(pieces, count, &mut Calibration::default());
            assert_eq!(errors.len(), ROUNDS);
            write!(table, "{tokenizer:<10} {kind:<7}").unwrap();
            errors.iter().for_each(|error| write!(table, "{error:>6.1}").unwrap());
            table.push('\n');
            worst = worst.max(largest(&errors[FEW..]));
        }
    }
    assert!(worst <= 3.0, "{worst} %\n{table}");
    expect![[r#"
        o200k      code     -0.6   0.9  -0.7   0.9  -0.4  -0.2   0.7   0.5   0.1  -0.2
        o200k      prose    -1.4  -0.4   0.1   1.9  -0.8   0.5   1.1   1.2  -0.2  -1.8
        o200k      json     96.1   0.9   0.5  -0.6   2.1   1.9   0.6  -1.2  -1.0  -1.2
        o200k      chinese   6.0   7.9   0.0   1.1   0.3   0.7  -0.6   0.7   0.0  -0.6
        o200k      mixture  13.9  -3.1   3.8   9.4  -1.1   0.8   1.2   0.7  -0.5  -1.4
        escaped    code     -3.3   0.2  -0.3  -0.1  -0.2   0.1  -0.0   0.0  -0.3   0.1
        escaped    prose    -2.4  -0.2   0.5   0.2   0.0   0.0   0.1   0.1  -0.1  -0.2
        escaped    json     78.2   0.7   0.6  -0.1  -0.1   0.0   0.2   0.0  -0.0  -0.0
        escaped    chinese  -1.1  -0.5  -0.4   0.0   0.0  -0.2   0.0   0.0   0.0   0.0
        escaped    mixture   7.6  -3.4   3.6   9.9  -0.7  -0.8   0.5   0.1   0.1   0.0
        characters code      0.0   0.2   0.0   0.0   0.0  -0.1   0.0   0.0   0.0   0.0
        characters prose     0.0   0.0  -0.1  -0.1   0.1   0.0   0.0   0.0   0.0   0.0
        characters json    100.3   0.9   0.3   0.2   0.1   0.1   0.0   0.1   0.0   0.0
        characters chinese -24.8  -6.1  -1.3  -1.4  -0.6  -0.5  -0.4  -0.2  -0.2  -0.1
        characters mixture  16.0  -7.2   4.4   7.3  -0.8  -0.4   0.3  -0.2  -0.2   0.1
    "#]]
    .assert_eq(&table);
}

fn prose(tokens: f64) -> Composition {
    Composition { prose: tokens, ..Composition::default() }
}

/// What 1,000 estimated tokens of prose are taken for, after observations of (estimated, reported).
fn learnt(observations: &[(f64, u64)]) -> u64 {
    let mut calibration = Calibration::default();
    for (estimated, reported) in observations {
        calibration.learn(MODEL, &prose(*estimated), *reported);
    }
    calibration.tokens(MODEL, &prose(1_000.0))
}

#[test]
fn what_nobody_can_have_learnt_is_not_believed() {
    for absurd in ["1e308", "-1e308", "0", "-1"] {
        let factor = format!(r#"{{ "value": {absurd}, "variance": {absurd} }}"#);
        let kept = format!(r#"{{ "m": {{ "prose": {factor} }} }}"#);
        let mut calibration: Calibration = serde_json::from_str(&kept).unwrap();
        let tokens = calibration.tokens("m", &prose(1_000.0));
        assert!((50..=20_000).contains(&tokens), "{absurd}: {tokens}");
        for _ in 0..50 {
            calibration.learn("m", &prose(1_000.0), 1_000);
        }
        assert!(calibration.tokens("m", &prose(1_000.0)).abs_diff(1_000) < 100, "{absurd}");
    }
}

#[test]
fn nothing_learnt_is_the_estimate() {
    let composition = Composition { code: 1.0, prose: 2.0, json: 3.0, cjk: 4.4, fixed: 2_000 };
    assert_eq!(Calibration::default().tokens(MODEL, &composition), 2_010);
}

#[test]
fn one_wild_observation_changes_nothing_wherever_it_comes() {
    let usual = (1_000.0, 1_200);
    for wild in [0, 1, 100, 12_000, 9_000_000] {
        for at in 0..=5 {
            let mut observations = vec![usual; 5];
            observations.insert(at, (1_000.0, wild));
            assert_eq!(learnt(&observations), learnt(&[usual; 5]), "{wild} at {at}");
        }
    }
    assert!((1_170..=1_200).contains(&learnt(&[usual; 5])));
}

#[test]
fn wild_observations_among_usual_ones_do_not_confirm_each_other() {
    let (usual, wild) = ((1_000.0, 1_200), (1_000.0, 9_000));
    assert_eq!(learnt(&[usual, usual, wild, usual, wild, usual, wild]), learnt(&[usual; 4]));
}

#[test]
fn a_wild_observation_that_was_believed_is_forgotten() {
    let tokens = learnt(&[(1_000.0, 2_000), (1_000.0, 1_000), (1_000.0, 1_000), (1_000.0, 1_000)]);
    assert!((970..=1_060).contains(&tokens), "{tokens}");
}

#[test]
fn a_provider_that_counts_otherwise_is_believed_the_second_time() {
    assert_eq!(learnt(&[(1_000.0, 10_000)]), 1_000);
    let twice = learnt(&[(1_000.0, 10_000); 2]);
    assert!((8_000..=10_000).contains(&twice), "{twice}");
    let often = learnt(&[(1_000.0, 10_000); 5]);
    assert!((9_700..=10_000).contains(&often), "{often}");
}

#[test]
fn small_observations_weigh_little() {
    assert_eq!(learnt(&[(20.0, 40); 50]), 1_000);
    let small = learnt(&[(60.0, 78)]);
    let large = learnt(&[(6_000.0, 7_800)]);
    assert!(small < 1_150 && large > 1_250, "{small} {large}");
}

#[test]
fn images_are_no_lesson_about_texts() {
    let mut calibration = Calibration::default();
    calibration.learn(MODEL, &Composition { fixed: 2_000, ..prose(500.0) }, 900);
    calibration.learn(MODEL, &Composition { fixed: 2_000, ..prose(500.0) }, 2_800);
    calibration.learn(MODEL, &Composition { fixed: 2_000, ..Composition::default() }, 1_500);
    let tokens = calibration.tokens(MODEL, &prose(1_000.0));
    assert!((1_000..=1_030).contains(&tokens), "{tokens}");
}

#[test]
fn a_mixture_teaches_most_about_what_is_most_of_it_and_least_known() {
    let mut calibration = Calibration::default();
    calibration.learn(MODEL, &Composition { code: 900.0, prose: 100.0, ..Composition::default() }, 1_300);
    let one = |calibration: &Calibration, composition| calibration.tokens(MODEL, &composition);
    let code = Composition { code: 1_000.0, ..Composition::default() };
    let json = Composition { json: 1_000.0, ..Composition::default() };
    let factors = [one(&calibration, code), one(&calibration, prose(1_000.0)), one(&calibration, json)];
    assert!(factors[0] > 1_200 && factors[1] < 1_100 && factors[2] == 1_000, "{factors:?}");

    let known = one(&calibration, code);
    for _ in 0..3 {
        calibration.learn(MODEL, &Composition { code: 500.0, json: 500.0, ..Composition::default() }, 920);
    }
    assert!(
        one(&calibration, json) < 700 && one(&calibration, code).abs_diff(known) < 120,
        "{calibration:?}"
    );
}

#[test]
fn models_do_not_teach_each_other() {
    let mut calibration = Calibration::default();
    calibration.learn("one", &prose(1_000.0), 1_400);
    assert_eq!(calibration.tokens("two", &prose(1_000.0)), 1_000);
}

#[test]
fn what_was_learnt_outlives_the_process() {
    let mut calibration = Calibration::default();
    calibration.learn(MODEL, &prose(1_000.0), 1_400);
    calibration.learn(MODEL, &prose(1_000.0), 9_000);
    let written = serde_json::to_string(&calibration).unwrap();
    assert_eq!(serde_json::from_str::<Calibration>(&written).unwrap(), calibration);
}

#[test]
fn what_json_gets_wrong_is_not_blamed_on_the_words_beside_it() {
    // The beginning of every session: tools, whose JSON is estimated at twice its size, and a prompt of words.
    let mut calibration = Calibration::default();
    let seen = Composition { json: 6_000.0, prose: 2_000.0, ..Composition::default() };
    calibration.learn("m", &seen, 5_000);
    let words = calibration.tokens("m", &Composition { prose: 10_000.0, ..Composition::default() });
    assert!((9_000..=10_500).contains(&words), "{words}");
}
