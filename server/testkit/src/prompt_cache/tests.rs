use expect_test::{Expect, expect};

use super::*;

const NOW: Duration = Duration::ZERO;

/// A text block that counts exactly `tokens` tokens; `seed` tells blocks of one size apart.
fn text(seed: usize, tokens: usize) -> Value {
    let wrapper = json!({ "type": "text", "text": "" }).to_string().len();
    let name = format!("{seed:04}");
    let body = format!("{name}{}", "x".repeat(tokens * 4 - wrapper - name.len()));
    json!({ "type": "text", "text": body })
}

fn marked(mut block: Value, ttl: &str) -> Value {
    block["cache_control"] = json!({ "type": "ephemeral", "ttl": ttl });
    block
}

fn request(system: Vec<Value>, user: Vec<Value>) -> Value {
    json!({ "model": "m", "system": system, "messages": [{ "role": "user", "content": user }] })
}

fn check(requests: &[(Duration, Value)], expected: Expect) {
    let mut cache = PromptCache::new();
    let mut report = String::new();
    for (now, body) in requests {
        match cache.bill(body, *now) {
            Ok(usage) => {
                let CacheUsage { input, read, written_5m, written_1h } = usage;
                report.push_str(&format!("in {input} read {read} 5m {written_5m} 1h {written_1h}\n"));
            }
            Err(error) => report.push_str(&format!("400 {error}\n")),
        }
    }
    report.push_str(&format!(
        "cost {:.1} cheapest {:.1} ratio {:.3}\n",
        cache.totals().cost(),
        cache.cheapest_possible().cost(),
        cache.cost_ratio()
    ));
    expected.assert_eq(&report);
}

#[test]
fn a_second_request_reads_what_the_first_wrote_and_pays_only_for_the_new_tail() {
    let first = request(vec![text(0, 1000)], vec![marked(text(1, 100), "5m")]);
    let second = request(vec![text(0, 1000)], vec![text(1, 100), marked(text(2, 50), "5m")]);
    // 1100 × 1.25 = 1375; then 1100 × 0.1 + 50 × 1.25 = 172.5
    check(
        &[(NOW, first), (NOW, second)],
        expect![[r#"
            in 0 read 0 5m 1100 1h 0
            in 0 read 1100 5m 50 1h 0
            cost 1547.5 cheapest 1547.5 ratio 1.000
        "#]],
    );
}

#[test]
fn without_a_breakpoint_everything_is_plain_input_every_time() {
    let body = request(vec![text(0, 2000)], vec![text(1, 100)]);
    check(
        &[(NOW, body.clone()), (NOW, body)],
        expect![[r#"
            in 2100 read 0 5m 0 1h 0
            in 2100 read 0 5m 0 1h 0
            cost 4200.0 cheapest 2835.0 ratio 1.481
        "#]],
    );
}

#[test]
fn a_prefix_under_the_minimum_is_never_cached() {
    let small = request(vec![marked(text(0, 1023), "5m")], vec![]);
    let enough = request(vec![marked(text(0, 1024), "5m")], vec![]);
    check(
        &[(NOW, small.clone()), (NOW, small), (NOW, enough.clone()), (NOW, enough)],
        expect![[r#"
            in 1023 read 0 5m 0 1h 0
            in 1023 read 0 5m 0 1h 0
            in 0 read 0 5m 1024 1h 0
            in 0 read 1024 5m 0 1h 0
            cost 3428.4 cheapest 3428.4 ratio 1.000
        "#]],
    );
}

#[test]
fn a_breakpoint_sees_nineteen_blocks_behind_itself_and_no_more() {
    let start = || vec![text(0, 2000)];
    let tail = |count: usize| {
        let mut user: Vec<Value> = (1..count).map(|seed| text(seed, 10)).collect();
        user.push(marked(text(count, 10), "5m"));
        user
    };
    let first = || (NOW, request(vec![marked(text(0, 2000), "5m")], vec![text(9000, 10)]));
    check(
        &[first(), (NOW, request(start(), tail(19)))],
        expect![[r#"
            in 10 read 0 5m 2000 1h 0
            in 0 read 2000 5m 190 1h 0
            cost 2947.5 cheapest 2950.0 ratio 0.999
        "#]],
    );
    check(
        &[first(), (NOW, request(start(), tail(20)))],
        expect![[r#"
            in 10 read 0 5m 2000 1h 0
            in 0 read 0 5m 2200 1h 0
            cost 5260.0 cheapest 2962.5 ratio 1.776
        "#]],
    );
}

#[test]
fn a_breakpoint_in_between_keeps_the_entry_in_sight() {
    let mut user: Vec<Value> = (1..=30).map(|seed| text(seed, 10)).collect();
    user[14] = marked(user[14].clone(), "5m");
    user[29] = marked(user[29].clone(), "5m");
    check(
        &[
            (NOW, request(vec![marked(text(0, 2000), "5m")], vec![])),
            (NOW, request(vec![text(0, 2000)], user)),
        ],
        expect![[r#"
            in 0 read 0 5m 2000 1h 0
            in 0 read 2000 5m 300 1h 0
            cost 3075.0 cheapest 3075.0 ratio 1.000
        "#]],
    );
}

#[test]
fn a_change_early_in_the_prompt_costs_everything_behind_it() {
    let body = |seed| {
        let mut body = request(vec![marked(text(1, 1500), "5m")], vec![marked(text(2, 100), "5m")]);
        body["tools"] = json!([text(seed, 100)]);
        body
    };
    check(
        &[(NOW, body(7)), (NOW, body(8))],
        expect![[r#"
            in 0 read 0 5m 1700 1h 0
            in 0 read 0 5m 1700 1h 0
            cost 4250.0 cheapest 4250.0 ratio 1.000
        "#]],
    );
}

#[test]
fn entries_expire_after_their_time_and_reads_refresh_them() {
    let body = |ttl: &str| request(vec![marked(text(0, 2000), ttl)], vec![]);
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    check(
        &[
            (minutes(0), body("5m")),
            (minutes(4), body("5m")),
            (minutes(9), body("5m")),
            (minutes(15), body("5m")),
        ],
        expect![[r#"
            in 0 read 0 5m 2000 1h 0
            in 0 read 2000 5m 0 1h 0
            in 0 read 2000 5m 0 1h 0
            in 0 read 0 5m 2000 1h 0
            cost 5400.0 cheapest 5400.0 ratio 1.000
        "#]],
    );
    check(
        &[(minutes(0), body("1h")), (minutes(59), body("1h")), (minutes(120), body("1h"))],
        expect![[r#"
            in 0 read 0 5m 0 1h 2000
            in 0 read 2000 5m 0 1h 0
            in 0 read 0 5m 0 1h 2000
            cost 8200.0 cheapest 7500.0 ratio 1.093
        "#]],
    );
}

#[test]
fn mixed_lifetimes_are_billed_by_segment_and_must_be_in_order() {
    let good = request(vec![marked(text(0, 2000), "1h")], vec![marked(text(1, 100), "5m")]);
    let bad = request(vec![marked(text(0, 2000), "5m")], vec![marked(text(1, 100), "1h")]);
    check(
        &[(NOW, good), (NOW, bad)],
        expect![[r#"
            in 0 read 0 5m 100 1h 2000
            400 a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.
            cost 4125.0 cheapest 2625.0 ratio 1.571
        "#]],
    );
}

#[test]
fn five_breakpoints_are_refused() {
    let user = (0..5).map(|seed| marked(text(seed, 500), "5m")).collect();
    check(
        &[(NOW, request(vec![], user))],
        expect![[r#"
            400 A maximum of 4 blocks with cache_control may be provided. Found 5.
            cost 0.0 cheapest 0.0 ratio 1.000
        "#]],
    );
}

#[test]
fn moving_a_breakpoint_does_not_change_the_prefix_but_another_model_or_role_does() {
    let plain = |role: &str, model: &str, mark_first: bool| {
        let first = if mark_first { marked(text(1, 1500), "5m") } else { text(1, 1500) };
        json!({ "model": model, "messages": [{ "role": role, "content": [first, marked(text(2, 20), "5m")] }] })
    };
    check(
        &[
            (NOW, plain("user", "m", true)),
            (NOW, plain("user", "m", false)),
            (NOW, plain("assistant", "m", true)),
            (NOW, plain("user", "n", true)),
        ],
        expect![[r#"
            in 0 read 0 5m 1520 1h 0
            in 0 read 1520 5m 0 1h 0
            in 0 read 0 5m 1520 1h 0
            in 0 read 0 5m 1520 1h 0
            cost 5852.0 cheapest 5852.0 ratio 1.000
        "#]],
    );
}

#[test]
fn a_deleted_result_counts_nothing_and_leaves_the_prefix_as_it_was() {
    let result = |marked: bool, reference: bool| {
        let mut block = json!({ "type": "tool_result", "tool_use_id": "t", "content": "x".repeat(8_000) });
        if reference {
            block["cache_reference"] = json!("t");
        }
        if marked {
            block["cache_control"] = json!({ "type": "ephemeral" });
        }
        block
    };
    let edits = || json!({ "type": "cache_edits", "edits": [{ "type": "delete", "cache_reference": "t" }] });
    let system = || vec![text(0, 2000)];
    check(
        &[
            (NOW, request(system(), vec![result(true, false)])),
            (NOW, request(system(), vec![result(true, true), marked(text(1, 100), "5m"), edits()])),
            (
                NOW,
                request(
                    system(),
                    vec![result(false, true), marked(text(1, 100), "5m"), text(2, 10), edits()],
                ),
            ),
        ],
        expect![[r#"
            in 0 read 0 5m 4014 1h 0
            in 0 read 2000 5m 100 1h 0
            in 10 read 2100 5m 0 1h 0
            cost 5562.5 cheapest 5565.0 ratio 1.000
        "#]],
    );
}

#[test]
fn usage_speaks_the_words_of_the_wire() {
    let usage = CacheUsage { input: 1, read: 2, written_5m: 3, written_1h: 4 };
    expect![[r#"{"input_tokens":1,"cache_creation_input_tokens":7,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},"output_tokens":5,"service_tier":"standard"}"#]]
        .assert_eq(&usage.to_json(5).to_string());
}
