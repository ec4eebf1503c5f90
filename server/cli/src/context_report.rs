//! `/context` in the terminal: what fills the window, what was changed in what is sent, what it cost.

use protocol::{
    CacheEffect, CompactTrigger, ContextChange, ContextLevel, ContextReportResult, PastCompaction,
};

use crate::sessions::local_time;

/// Cells of the bar that shows how near the next compaction is.
const BAR: u64 = 40;

/// So many of the newest changes are shown, unless all are wanted.
const CHANGES: usize = 10;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    Newest,
    All,
}

/// Lines without an indentation are headings.
pub fn text(report: &ContextReportResult, changes: Changes) -> String {
    let sections =
        [window(report), ledger(&report.ledger, changes), compactions(report), notes(report), costs(report)];
    let mut text =
        sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n\n");
    text.push('\n');
    text
}

/// The change with this number, as the list has it.
pub fn change(report: &ContextReportResult, number: usize) -> Option<&ContextChange> {
    report.ledger.get(number.checked_sub(1)?)
}

fn window(report: &ContextReportResult) -> String {
    let ContextReportResult { used, window, threshold, percent_left, next_step, .. } = report;
    let level = match report.level {
        ContextLevel::Normal => "normal",
        ContextLevel::Warning => "filling up",
        ContextLevel::Error => "nearly full",
        ContextLevel::Critical => "full",
    };
    let share = used.saturating_mul(100) / (*window).max(1);
    let cells = used.saturating_mul(BAR).div_ceil((*threshold).max(1)).min(BAR) as usize;
    let bar = "█".repeat(cells) + &"░".repeat(BAR as usize - cells);
    let mut lines = vec![
        format!("Context: {} of {} tokens, {share} %, {level}", grouped(*used), grouped(*window)),
        format!("  {bar}"),
        format!("  {percent_left} % left until compaction at {}; next: {next_step}", grouped(*threshold)),
    ];
    let parts = report.parts.iter().filter(|part| part.tokens > 0);
    lines.extend(parts.map(|part| format!("  {:>9}  {}", grouped(part.tokens), part.name)));
    lines.join("\n")
}

fn ledger(ledger: &[ContextChange], changes: Changes) -> String {
    if ledger.is_empty() {
        return String::new();
    }
    let hidden = if changes == Changes::All { 0 } else { ledger.len().saturating_sub(CHANGES) };
    let mut lines = vec!["Changed in what is sent".to_owned()];
    if hidden > 0 {
        lines.push(format!("  {hidden} older: /context all"));
    }
    for (at, change) in ledger.iter().enumerate().skip(hidden) {
        let number = at + 1;
        lines.push(format!("  {number}. {} {}: {}", local_time(&change.at), change.layer, change.detail));
        let mut facts = Vec::new();
        if change.tokens_freed > 0 {
            facts.push(format!("{} tokens freed", grouped(change.tokens_freed)));
        }
        facts.push(cache(change.cache).to_owned());
        facts.extend(change.original.as_deref().map(|original| match original.starts_with('/') {
            true => format!("original in {original}"),
            false => format!("original: /context {number}"),
        }));
        let indent = number.to_string().len() + 4;
        lines.push(format!("{:indent$}{}", "", facts.join(", ")));
    }
    lines.join("\n")
}

fn compactions(report: &ContextReportResult) -> String {
    let Some(average) = report.compactions.average_ratio else { return String::new() };
    let saved = grouped(report.compactions.tokens_saved);
    let mut lines = vec![format!("Compactions: {saved} tokens saved, {average:.1} to 1 on average")];
    lines.extend(report.compactions.list.iter().map(past));
    if report.can_uncompact {
        lines.push("  /uncompact takes the last one back, until the next prompt".to_owned());
    }
    lines.join("\n")
}

fn notes(report: &ContextReportResult) -> String {
    let Some(notes) = &report.notes else { return String::new() };
    format!("Notes of the session, {}\n  {}", local_time(&notes.updated_at), notes.path)
}

fn past(compaction: &PastCompaction) -> String {
    let PastCompaction { layer, trigger, messages, tokens_before, tokens_after, ratio, score } = compaction;
    let why = match trigger {
        CompactTrigger::Auto => "by itself",
        CompactTrigger::Manual => "as you asked",
        CompactTrigger::Reactive => "a request was too long",
    };
    let (before, after) = (grouped(*tokens_before), grouped(*tokens_after));
    let score = score.map(|score| format!(", {:.0}/9 sections", score * 9.0)).unwrap_or_default();
    format!("  - {layer}, {why}: {messages} messages, {before} → {after} tokens, {ratio:.1} to 1{score}")
}

fn costs(report: &ContextReportResult) -> String {
    if report.sources.is_empty() {
        return String::new();
    }
    let all: f64 = report.sources.iter().map(|source| source.cost_usd).sum();
    let mut lines = vec![if all > 0.0 { format!("Cost: ${all:.4}") } else { "Cost: none".to_owned() }];
    let names = report.sources.iter().map(|source| source.source.len()).max().unwrap_or_default();
    for source in &report.sources {
        let usage = source.usage;
        let input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
        let mut line = format!(
            "  {:<names$}  {} in ({:.0} % from the cache), {} out",
            source.source,
            grouped(input),
            source.cache_hit_rate * 100.0,
            grouped(usage.output_tokens),
        );
        if source.cost_usd > 0.0 {
            line.push_str(&format!(", ${:.4}", source.cost_usd));
        }
        lines.push(line);
    }
    lines.join("\n")
}

pub fn cache(effect: CacheEffect) -> &'static str {
    match effect {
        CacheEffect::Kept => "cache kept",
        CacheEffect::Broken => "cache broken",
    }
}

/// With a comma between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn report(ledger: usize) -> ContextReportResult {
        let change = |number: usize| {
            json!({
                "at": "no clock", "layer": "microcompact", "detail": "3 old results emptied", "messages": 3,
                "tokensFreed": 9_000 * number, "cache": "broken", "original": "0197-4c39",
            })
        };
        serde_json::from_value(json!({
            "window": 200_000, "used": 15_211, "level": "normal",
            "parts": [{"name": "tools", "tokens": 15_211}, {"name": "memories", "tokens": 0},
                {"name": "free", "tokens": 184_789}],
            "ledger": (1..=ledger).map(change).collect::<Vec<_>>(),
            "threshold": 167_000, "percentLeft": 91, "nextStep": "nothing for now",
            "compactions": {
                "list": [{"layer": "full", "trigger": "auto", "messages": 212, "tokensBefore": 168_211,
                    "tokensAfter": 12_011, "ratio": 14.0, "score": 1.0}],
                "tokensSaved": 156_200, "averageRatio": 14.0,
            },
            "canUncompact": true,
            "notes": {"path": "/p/s/session-memory/summary.md", "updatedAt": "no clock"},
            "sources": [{"source": "compact", "cacheHitRate": 0.97, "costUsd": 0.2,
                "usage": {"inputTokens": 1_000, "outputTokens": 900, "cacheReadTokens": 160_000,
                    "cacheWriteTokens": 0}},
                {"source": "main", "cacheHitRate": 0.84, "costUsd": 1.01,
                "usage": {"inputTokens": 120, "outputTokens": 5_012, "cacheReadTokens": 912_000,
                    "cacheWriteTokens": 9}}],
        }))
        .unwrap()
    }

    #[test]
    fn everything_that_is_known_is_shown_and_nothing_that_is_not_there() {
        expect![[r#"
            Context: 15,211 of 200,000 tokens, 7 %, normal
              ████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
              91 % left until compaction at 167,000; next: nothing for now
                 15,211  tools
                184,789  free

            Changed in what is sent
              1. no clock microcompact: 3 old results emptied
                 9,000 tokens freed, cache broken, original: /context 1

            Compactions: 156,200 tokens saved, 14.0 to 1 on average
              - full, by itself: 212 messages, 168,211 → 12,011 tokens, 14.0 to 1, 9/9 sections
              /uncompact takes the last one back, until the next prompt

            Notes of the session, no clock
              /p/s/session-memory/summary.md

            Cost: $1.2100
              compact  161,000 in (97 % from the cache), 900 out, $0.2000
              main     912,129 in (84 % from the cache), 5,012 out, $1.0100
        "#]]
        .assert_eq(&text(&report(1), Changes::Newest));
        let empty = ContextReportResult {
            sources: Vec::new(),
            notes: None,
            compactions: protocol::Compactions::default(),
            ..report(0)
        };
        expect![[r#"
            Context: 15,211 of 200,000 tokens, 7 %, normal
              ████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
              91 % left until compaction at 167,000; next: nothing for now
                 15,211  tools
                184,789  free
        "#]]
        .assert_eq(&text(&empty, Changes::Newest));
    }

    #[test]
    fn old_changes_are_counted_and_keep_their_numbers() {
        let shown = text(&report(12), Changes::Newest);
        assert!(shown.contains("  2 older: /context all\n  3. no clock"), "{shown}");
        assert!(shown.contains("original: /context 12"), "{shown}");
        assert!(text(&report(12), Changes::All).contains("\n  1. no clock"));
        let report = report(2);
        assert_eq!(change(&report, 2).map(|change| change.tokens_freed), Some(18_000));
        assert!(change(&report, 0).is_none() && change(&report, 3).is_none());
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
