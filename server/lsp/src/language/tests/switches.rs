//! Switched off and on again while the server runs: what is off is gone at once, what is not stays.

use super::*;

const ALL: &str = "//- src/auth.rs\npub fn login() {}\n//- memory/MEMORY.md\n* [Auth](auth.md)\n- [Gone](gone.md)\n//- memory/auth.md\n---\nname: Auth\ndescription: d\ntype: project\n---\nCall `login()` of `src/auth.rs`.\n//- CLAUDE.md\n# Rules\n@docs/gone.md\n//- .claude/settings.json\n{ \"inline\": {} }\n";

async fn switch(desk: &mut Desk, settings: Value) {
    let settings = json!({ "settings": { "reverie": settings } });
    desk.client.notify("workspace/didChangeConfiguration", settings).await;
}

/// Which features have something to say.
async fn said(desk: &mut Desk) -> Vec<String> {
    let whole = json!({ "range": over(0, 0, 99) });
    let actions = json!({ "range": over(0, 8, 8), "context": { "diagnostics": [] } });
    let mut references = at(0, 0);
    references["context"] = json!({ "includeDeclaration": false });
    let mut said = Vec::new();
    for (method, path, params) in [
        ("hover", "memory/MEMORY.md", at(0, 10)),
        ("definition", "memory/MEMORY.md", at(0, 10)),
        ("diagnostic", "memory/MEMORY.md", json!({})),
        ("codeLens", "memory/auth.md", json!({})),
        ("inlayHint", "src/auth.rs", whole),
        ("hover", "src/auth.rs", at(0, 8)),
        ("codeAction", "src/auth.rs", actions),
        ("hover", "CLAUDE.md", at(0, 3)),
        ("documentSymbol", "CLAUDE.md", json!({})),
        ("diagnostic", "CLAUDE.md", json!({})),
        ("hover", ".claude/settings.json", at(0, 5)),
        ("completion", "memory/MEMORY.md", at(1, 9)),
        ("prepareRename", "memory/MEMORY.md", at(0, 10)),
        ("foldingRange", "memory/auth.md", json!({})),
        ("documentLink", "memory/MEMORY.md", json!({})),
        ("references", "memory/auth.md", references),
        ("formatting", "memory/MEMORY.md", json!({ "options": { "tabSize": 2, "insertSpaces": true } })),
    ] {
        let answer = desk.ask(&format!("textDocument/{method}"), path, params).await;
        let has_items = answer["items"].as_array().is_none_or(|items| !items.is_empty());
        if !answer.is_null() && answer != json!([]) && has_items {
            said.push(format!("{method} {path}"));
        }
    }
    said
}

const EVERYTHING: [&str; 17] = [
    "hover memory/MEMORY.md",
    "definition memory/MEMORY.md",
    "diagnostic memory/MEMORY.md",
    "codeLens memory/auth.md",
    "inlayHint src/auth.rs",
    "hover src/auth.rs",
    "codeAction src/auth.rs",
    "hover CLAUDE.md",
    "documentSymbol CLAUDE.md",
    "diagnostic CLAUDE.md",
    "hover .claude/settings.json",
    "completion memory/MEMORY.md",
    "prepareRename memory/MEMORY.md",
    "foldingRange memory/auth.md",
    "documentLink memory/MEMORY.md",
    "references memory/auth.md",
    "formatting memory/MEMORY.md",
];

#[tokio::test]
async fn without_memory_the_features_of_instructions_and_settings_stay() {
    let mut desk = Desk::new(ALL).await;
    assert_eq!(said(&mut desk).await, EVERYTHING);
    switch(&mut desk, json!({ "autoMemoryEnabled": false })).await;
    let of_no_memory =
        EVERYTHING.into_iter().filter(|it| it.contains("CLAUDE.md") || it.contains("settings"));
    assert_eq!(said(&mut desk).await, of_no_memory.collect::<Vec<_>>());
    switch(&mut desk, json!({ "autoMemoryEnabled": true })).await;
    assert_eq!(said(&mut desk).await, EVERYTHING);
}

#[tokio::test]
async fn a_memory_that_was_written_while_memory_was_off_is_known_when_it_is_on() {
    let mut desk = Desk::new(ALL).await;
    said(&mut desk).await;
    switch(&mut desk, json!({ "autoMemoryEnabled": false })).await;
    said(&mut desk).await;
    desk.write("memory/gone.md", "---\nname: Not gone\n---\nx\n");
    switch(&mut desk, json!({})).await;
    let hover = desk.ask("textDocument/hover", "memory/MEMORY.md", at(1, 10)).await;
    assert!(hover.to_string().contains("Not gone"), "{hover}");
}

#[tokio::test]
async fn each_switch_takes_its_own_feature_away() {
    let mut desk = Desk::new(ALL).await;
    said(&mut desk).await;
    for (switched, gone) in [
        ("lens", &["codeLens memory/auth.md"][..]),
        ("hints", &["inlayHint src/auth.rs"]),
        ("diagnostics", &["diagnostic memory/MEMORY.md", "diagnostic CLAUDE.md"]),
        (
            "hover",
            &[
                "hover memory/MEMORY.md",
                "hover src/auth.rs",
                "hover CLAUDE.md",
                "hover .claude/settings.json",
            ],
        ),
        ("completion", &["completion memory/MEMORY.md"]),
        (
            "navigation",
            &[
                "definition memory/MEMORY.md",
                "documentSymbol CLAUDE.md",
                "foldingRange memory/auth.md",
                "documentLink memory/MEMORY.md",
                "references memory/auth.md",
            ],
        ),
        (
            "actions",
            &["codeAction src/auth.rs", "prepareRename memory/MEMORY.md", "formatting memory/MEMORY.md"],
        ),
    ] {
        switch(&mut desk, json!({ "inline": { switched: false } })).await;
        let stays = EVERYTHING.into_iter().filter(|it| !gone.contains(it));
        assert_eq!(said(&mut desk).await, stays.collect::<Vec<_>>(), "without {switched}");
        switch(&mut desk, json!({})).await;
        assert_eq!(said(&mut desk).await, EVERYTHING);
    }
}

#[tokio::test]
async fn what_happened_is_told_at_its_place_only_where_that_is_wanted() {
    let mut desk = Desk::new(ALL).await;
    desk.open("src/auth.rs", "pub fn login() {}\n").await;
    said(&mut desk).await;
    switch(&mut desk, json!({ "inline": { "notifications": false } })).await;
    keeping::asked(&mut desk, "workspace/codeLens/refresh").await;
    let here = |desk: &Desk, text: &str| json!({ "uri": desk.uri("src/auth.rs"), "range": over(0, 8, 8), "text": text });
    let first = here(&desk, "Never call it twice");
    desk.client.request("reverie/memory/remember", first).await;
    // What was kept back would come before.
    keeping::asked(&mut desk, "workspace/codeLens/refresh").await;
    switch(&mut desk, json!({})).await;
    keeping::asked(&mut desk, "workspace/codeLens/refresh").await;
    let second = here(&desk, "Always call it once");
    desk.client.request("reverie/memory/remember", second).await;
    let shown = desk.client.receive_where(|told| told["method"] == "reverie/memory/inline").await;
    assert_eq!(shown["params"]["places"][0]["text"], "◆ Remembered: Always call it once", "{shown}");
}
