//! Every kind is found wherever it stands; ordinary text is left alone; time is linear.

mod samples;

use std::collections::{BTreeMap, BTreeSet};

use samples::{AROUND_TOKENS, AROUND_VALUES, Dice, samples};

use super::{
    Finding, rules, scan,
    table::{parse, table},
};

const SAMPLES_OF_A_TEMPLATE: usize = 120;

#[test]
fn the_table_is_whole() {
    let parsed = parse(include_str!("rules.txt"));
    assert_eq!(parsed.strange, Vec::<&str>::new());
    let ids: BTreeSet<&str> = parsed.rules.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), parsed.rules.len(), "two rules have one id");
    assert!(ids.len() >= 40);
    for rule in &parsed.rules {
        assert!(rule.regex().is_some(), "{} does not compile", rule.id);
        assert_eq!(rule.skip().is_some(), rule.skip.is_some(), "{}", rule.id);
        assert_eq!(rule.unless().is_some(), rule.unless.is_some(), "{}", rule.id);
        assert!(!rule.keys.is_empty() && rule.keys.iter().all(|key| key.len() > 1), "{}", rule.id);
        assert!(!rule.description.is_empty());
    }
    assert!(table().is_some());
    assert_eq!(rules().count(), ids.len());
}

#[test]
fn every_rule_has_samples() {
    let sampled: BTreeSet<&str> = samples().iter().map(|sample| sample.rule).collect();
    let known: BTreeSet<&str> = rules().map(|(id, _)| id).collect();
    assert_eq!(sampled, known);
}

#[test]
fn every_kind_is_found_wherever_it_stands() {
    let mut dice = Dice(8);
    let mut tally: BTreeMap<&str, Tally> = BTreeMap::new();
    for sample in samples() {
        let contexts = if sample.name.is_some() { AROUND_VALUES } else { AROUND_TOKENS };
        for round in 0..SAMPLES_OF_A_TEMPLATE {
            let secret = dice.fill(sample.template);
            let context = contexts[round % contexts.len()];
            // Quoting a credential that has quotes itself is the business of who writes the file.
            let context = if secret.contains(['"', '\'']) { "SECRET" } else { context };
            let line = context.replace("NAME", sample.name.unwrap_or_default()).replace("SECRET", &secret);
            let lines_before = dice.below(4);
            let text =
                format!("{}{line}\nThe rest of the note.\n", "An ordinary line.\n".repeat(lines_before));
            tally.entry(sample.rule).or_default().count(sample.rule, &text, lines_before + 1);
        }
    }
    let mut report = String::new();
    for (rule, tally) in &tally {
        report += &format!("{:>7.2} % of {:>4} {rule}", tally.share() * 100.0, tally.all);
        report += &format!("  also {:?}\n", tally.others);
    }
    println!("{report}");
    let poor: Vec<String> = tally
        .iter()
        .filter(|(_, tally)| tally.share() < 0.99)
        .map(|(rule, tally)| format!("{rule}: {} of {}, not {:?}", tally.found, tally.all, tally.missed))
        .collect();
    assert!(poor.is_empty(), "{poor:#?}");
}

#[derive(Default)]
struct Tally {
    all: usize,
    found: usize,
    /// Other rules that claimed the same line.
    others: BTreeMap<&'static str, usize>,
    missed: Vec<String>,
}

impl Tally {
    fn count(&mut self, rule: &str, text: &str, line: usize) {
        let here: Vec<Finding> = scan(text).into_iter().filter(|finding| finding.line == line).collect();
        self.all += 1;
        if !here.is_empty() {
            self.found += 1;
        } else if self.missed.len() < 8 {
            self.missed.extend(text.lines().nth(line - 1).map(str::to_owned));
        }
        for finding in here.iter().filter(|finding| finding.rule != rule) {
            *self.others.entry(finding.rule).or_default() += 1;
        }
    }

    fn share(&self) -> f64 {
        self.found as f64 / self.all as f64
    }
}

/// Prefixes that everybody knows, in every context: none may be missed.
#[test]
fn well_known_prefixes_are_always_found() {
    const KNOWN: &[&str] = &[
        "AKIA{B16}",
        "ASIA{B16}",
        "AIza{w35}",
        "ghp_{A36}",
        "gho_{A36}",
        "ghu_{A36}",
        "ghs_{A36}",
        "ghr_{A36}",
        "github_pat_{A22}_{A59}",
        "glpat-{w20}",
        "sk-ant-api03-{w93}AA",
        "sk-proj-{w74}T3BlbkFJ{w74}",
        "hf_{L34}",
        "gsk_{A52}",
        "r8_{A37}",
        "xoxb-{d12}-{d12}-{A24}",
        "xoxp-{d12}-{d12}-{d12}-{x32}",
        "https://hooks.slack.com/services/T{U8}/B{U8}/{A24}",
        "sk_live_{A24}",
        "rk_live_{A24}",
        "SG.{w22}.{w43}",
        "npm_{A36}",
        "pypi-AgEIcHlwaS5vcmc{w90}",
        "dop_v1_{x64}",
        "shpat_{x32}",
        "dckr_pat_{w27}",
        "AGE-SECRET-KEY-1{U58}",
        "hvs.{w95}",
        "eyJhbGciOiJIUzI1NiJ9.eyJ{A40}.{w43}",
        "-----BEGIN RSA PRIVATE KEY-----\\nMII{b61}",
    ];
    let mut dice = Dice(25);
    for template in KNOWN {
        for context in AROUND_TOKENS.iter().cycle().take(240) {
            let text = context.replace("SECRET", &dice.fill(template));
            assert!(!scan(&text).is_empty(), "{text}");
        }
    }
}

#[test]
fn a_private_key_is_found_where_it_begins() {
    let text = "Notes\n\n```\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbm\n```\n";
    assert_eq!(scan(text), [Finding { rule: "private-key", line: 4 }]);
}

#[test]
fn a_service_is_named_rather_than_a_generic_rule() {
    let text = "api_key = \"ghp_9rT2mQ7xW4bK8nL3vJ6hD1sF5gP0zYcAuEiO\"\n";
    assert_eq!(scan(text), [Finding { rule: "github-pat", line: 1 }]);
}

#[test]
fn keys_in_sentences_are_found() {
    for text in [
        "The Datadog API key is 4f8a1c9e7b3d5062f1e8a9c4b7d6e5f0, ask Tom.",
        "Use the token `q8Zx2LmP7vRt4WnK9sJd` for staging.",
        "Password for staging: Tr0ub4dor&3x",
        "their heroku api key `4c1e7a90-83d2-4b5f-9a6e-0d7f3b2c1e58` works",
        "the client secret was Xk29dLq8ZpR4vTn7WmB3 until May",
    ] {
        assert_eq!(scan(text).len(), 1, "{text}");
    }
}

#[test]
fn clean_text_has_no_findings() {
    for (name, text) in [
        ("memory.md", include_str!("tests/clean/memory.md")),
        ("code.txt", include_str!("tests/clean/code.txt")),
    ] {
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<_> =
            scan(text).into_iter().map(|finding| (finding.rule, lines[finding.line - 1])).collect();
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

#[test]
fn strange_text_is_scanned() {
    for text in
        ["", "\n", "\0", "key", "key=", "key=\"", "://", "é".repeat(500).as_str(), "token: \u{202e}abc"]
    {
        assert_eq!(scan(text), []);
    }
}

/// Each of these is quadratic if a rule looks ahead without a bound. The size is small enough for a debug
/// build and the limit far above what linear time takes.
#[test]
fn hostile_text_takes_linear_time() {
    let pieces = [
        "a",
        "key",
        "key=",
        "password:",
        "github_pat_",
        ".ey",
        "-----BEGIN PRIVATE KEY-----",
        "://a:",
        "Q~",
        ":A",
    ];
    for piece in pieces {
        let started = std::time::Instant::now();
        scan(&piece.repeat(1_000_000 / piece.len()));
        assert!(started.elapsed().as_secs() < 5, "{piece}");
    }
}
