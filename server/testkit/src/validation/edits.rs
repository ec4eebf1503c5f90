//! The shapes of `context_management` and of `cache_edits`.

use std::collections::HashSet;

use serde_json::Value;

pub(super) fn check(body: &Value, findings: &mut Vec<String>) {
    check_management(body, findings);
    check_cache_edits(body, findings);
}

fn check_management(body: &Value, findings: &mut Vec<String>) {
    let management = &body["context_management"];
    if management.is_null() {
        return;
    }
    let Some(edits) = management["edits"].as_array().filter(|edits| !edits.is_empty()) else {
        findings.push("context_management.edits: must be a list that is not empty".to_owned());
        return;
    };
    for (index, edit) in edits.iter().enumerate() {
        let place = format!("context_management.edits.{index}");
        let good = match edit["type"].as_str() {
            Some("clear_tool_uses_20250919") => ["trigger", "clear_at_least"]
                .iter()
                .all(|field| edit[*field].is_null() || counts(&edit[*field], "input_tokens")),
            Some("clear_thinking_20251015") if index > 0 => {
                findings.push(format!("{place}: `clear_thinking_20251015` must come first"));
                true
            }
            Some("clear_thinking_20251015") => {
                edit["keep"] == "all" || counts(&edit["keep"], "thinking_turns")
            }
            _ => false,
        };
        if !good {
            findings.push(format!("{place}: not an edit: {edit}"));
        }
    }
}

fn counts(value: &Value, kind: &str) -> bool {
    value["type"] == kind && value["value"].as_u64().is_some_and(|value| value > 0)
}

/// Every deletion refers to a result that names itself, and only one block speaks of deletions.
fn check_cache_edits(body: &Value, findings: &mut Vec<String>) {
    let messages = body["messages"].as_array().into_iter().flatten();
    let blocks: Vec<&Value> =
        messages.filter_map(|message| message["content"].as_array()).flatten().collect();
    let references: HashSet<&str> =
        blocks.iter().filter_map(|block| block["cache_reference"].as_str()).collect();
    let edits: Vec<&&Value> = blocks.iter().filter(|block| block["type"] == "cache_edits").collect();
    if edits.len() > 1 {
        findings.push(format!("cache_edits: {} blocks instead of one", edits.len()));
    }
    for edit in edits.iter().filter_map(|block| block["edits"].as_array()).flatten() {
        let reference = edit["cache_reference"].as_str().unwrap_or_default();
        if edit["type"] != "delete" || !references.contains(reference) {
            findings.push(format!("cache_edits: not a deletion of a result that is there: {edit}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(body: Value, expected: Expect) {
        let mut findings = Vec::new();
        super::check(&body, &mut findings);
        expected.assert_eq(&findings.join("\n"));
    }

    #[test]
    fn edits_of_the_context_have_their_shapes() {
        let tool_uses =
            json!({ "type": "clear_tool_uses_20250919", "trigger": { "type": "input_tokens", "value": 1 } });
        let thinking = json!({ "type": "clear_thinking_20251015", "keep": "all" });
        let body = |edits: &[&Value]| json!({ "context_management": { "edits": edits } });
        check(body(&[&thinking, &tool_uses]), expect![[""]]);
        check(
            body(&[&tool_uses, &thinking]),
            expect!["context_management.edits.1: `clear_thinking_20251015` must come first"],
        );
        check(body(&[]), expect!["context_management.edits: must be a list that is not empty"]);
        check(
            body(&[&json!({ "type": "clear_thinking_20251015", "keep": 1 }), &json!({})]),
            expect![[r#"
            context_management.edits.0: not an edit: {"type":"clear_thinking_20251015","keep":1}
            context_management.edits.1: not an edit: {}"#]],
        );
    }

    #[test]
    fn deletions_refer_to_results_that_are_there() {
        let body = |reference: &str| {
            json!({ "messages": [{ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "t", "cache_reference": "t" },
                { "type": "cache_edits", "edits": [{ "type": "delete", "cache_reference": reference }] },
            ] }] })
        };
        check(body("t"), expect![[""]]);
        check(
            body("u"),
            expect![[
                r#"cache_edits: not a deletion of a result that is there: {"type":"delete","cache_reference":"u"}"#
            ]],
        );
    }
}
