//! CLAUDE.md, rules, skills and settings files over the wire.

use super::*;

const TREE: &str = "//- docs/style guide.md\nx\n//- docs/a.md\nx\n//- CLAUDE.md\n# Über 😀\n😀 See @docs/a.md, @docs/gone.md, [it][a].\n## Rules\nask @ada\n\n[a]: docs/a.md\n//- .claude/rules/rust.md\n---\npaths: src/**\n---\n@../../docs/a.md\n//- .claude/skills/ship/SKILL.md\n---\nname: ship\n---\n# Ship\n";

#[tokio::test]
async fn instructions_are_served() {
    let mut desk = Desk::new(TREE).await;
    desk.check("textDocument/hover", "CLAUDE.md", at(0, 2), expect![[r#"{"contents":{"kind":"markdown","value":"Instructions: the agent reads them with every session of a folder below. `@path` includes a file."},"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":9}}}"#]]).await;
    desk.check("textDocument/hover", "CLAUDE.md", at(1, 10), expect![[r#"{"contents":{"kind":"markdown","value":"`W:/docs/a.md`: 2 bytes"},"range":{"start":{"line":1,"character":7},"end":{"line":1,"character":17}}}"#]]).await;
    desk.check("textDocument/hover", "CLAUDE.md", at(1, 25), expect![[r#"{"contents":{"kind":"markdown","value":"`docs/gone.md` is not there (`W:/docs/gone.md`)"},"range":{"start":{"line":1,"character":19},"end":{"line":1,"character":32}}}"#]]).await;
    desk.check("textDocument/definition", "CLAUDE.md", at(1, 10), expect![[r#"{"uri":"W:/docs/a.md","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}"#]]).await;
    desk.check("textDocument/definition", "CLAUDE.md", at(1, 25), expect!["null"]).await;
    desk.check("textDocument/documentLink", "CLAUDE.md", json!({}), expect![[r#"[{"range":{"start":{"line":1,"character":7},"end":{"line":1,"character":17}},"target":"W:/docs/a.md"},{"range":{"start":{"line":1,"character":34},"end":{"line":1,"character":41}},"target":"W:/docs/a.md"},{"range":{"start":{"line":5,"character":0},"end":{"line":5,"character":14}},"target":"W:/docs/a.md"}]"#]]).await;
    desk.check("textDocument/diagnostic", "CLAUDE.md", json!({}), expect![[r#"{"kind":"full","resultId":"c0f020acfb578f86","items":[{"range":{"start":{"line":1,"character":19},"end":{"line":1,"character":32}},"severity":2,"code":"dead-link","source":"reverie","message":"there is no docs/gone.md, which this would include"}]}"#]]).await;
    desk.check("textDocument/documentSymbol", "CLAUDE.md", json!({}), expect![[r#"[{"name":"Über 😀","kind":15,"range":{"start":{"line":0,"character":0},"end":{"line":6,"character":0}},"selectionRange":{"start":{"line":0,"character":0},"end":{"line":0,"character":9}},"children":[{"name":"Rules","kind":15,"range":{"start":{"line":2,"character":0},"end":{"line":6,"character":0}},"selectionRange":{"start":{"line":2,"character":0},"end":{"line":2,"character":8}}}]}]"#]]).await;
    desk.check(
        "textDocument/foldingRange",
        "CLAUDE.md",
        json!({}),
        expect![[r#"[{"startLine":0,"endLine":5},{"startLine":2,"endLine":5}]"#]],
    )
    .await;
    let everywhere =
        json!({ "position": { "line": 1, "character": 10 }, "context": { "includeDeclaration": true } });
    desk.check("textDocument/references", "CLAUDE.md", everywhere, expect![[r#"[{"uri":"W:/.claude/rules/rust.md","range":{"start":{"line":3,"character":0},"end":{"line":3,"character":16}}},{"uri":"W:/CLAUDE.md","range":{"start":{"line":1,"character":7},"end":{"line":1,"character":17}}},{"uri":"W:/CLAUDE.md","range":{"start":{"line":1,"character":34},"end":{"line":1,"character":41}}},{"uri":"W:/CLAUDE.md","range":{"start":{"line":5,"character":0},"end":{"line":5,"character":14}}}]"#]]).await;
    // Nothing of it is a memory's name.
    desk.check("textDocument/prepareRename", "CLAUDE.md", at(1, 10), expect!["null"]).await;
}

#[tokio::test]
async fn an_include_is_completed_as_it_is_typed() {
    let mut desk = Desk::new(TREE).await;
    desk.open("CLAUDE.md", "😀 @docs/\r\n@do").await;
    desk.check("textDocument/completion", "CLAUDE.md", at(0, 9), expect![[r#"[{"label":"a.md","kind":17,"sortText":"0000","filterText":"a.md","textEdit":{"range":{"start":{"line":0,"character":9},"end":{"line":0,"character":9}},"newText":"a.md"}},{"label":"style guide.md","kind":17,"sortText":"0001","filterText":"style\\ guide.md","textEdit":{"range":{"start":{"line":0,"character":9},"end":{"line":0,"character":9}},"newText":"style\\ guide.md"}}]"#]]).await;
    desk.check("textDocument/completion", "CLAUDE.md", at(1, 3), expect![[r#"[{"label":"docs","kind":17,"sortText":"0000","filterText":"docs/","textEdit":{"range":{"start":{"line":1,"character":1},"end":{"line":1,"character":3}},"newText":"docs/"}}]"#]]).await;
    // What is typed counts, not what is on disk.
    desk.check(
        "textDocument/diagnostic",
        "CLAUDE.md",
        json!({}),
        expect![[r#"{"kind":"full","resultId":"d1fba762150c532c","items":[]}"#]],
    )
    .await;
}

#[tokio::test]
async fn a_missing_include_is_told_until_it_is_there() {
    let mut desk = Desk::new(TREE).await;
    let before = desk.ask("textDocument/diagnostic", "CLAUDE.md", json!({})).await;
    assert_eq!(before["items"].as_array().unwrap().len(), 1, "{before}");
    desk.write("docs/gone.md", "x\n");
    let after = desk
        .ask("textDocument/diagnostic", "CLAUDE.md", json!({ "previousResultId": before["resultId"] }))
        .await;
    assert_eq!((&after["kind"], &after["items"]), (&json!("full"), &json!([])), "{after}");
}

#[tokio::test]
async fn rules_and_skills_are_served() {
    let mut desk = Desk::new(TREE).await;
    desk.check("textDocument/hover", ".claude/rules/rust.md", at(1, 2), expect![[r#"{"contents":{"kind":"markdown","value":"Globs: the rule is in force once the agent touches a file that matches."},"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":5}}}"#]]).await;
    desk.check("textDocument/definition", ".claude/rules/rust.md", at(3, 4), expect![[r#"{"uri":"W:/docs/a.md","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}"#]]).await;
    desk.check("textDocument/documentSymbol", ".claude/skills/ship/SKILL.md", json!({}), expect![[r#"[{"name":"name","detail":"ship","kind":7,"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":10}},"selectionRange":{"start":{"line":1,"character":0},"end":{"line":1,"character":4}}},{"name":"Ship","kind":15,"range":{"start":{"line":3,"character":0},"end":{"line":4,"character":0}},"selectionRange":{"start":{"line":3,"character":0},"end":{"line":3,"character":6}}}]"#]]).await;
    desk.check("textDocument/diagnostic", ".claude/skills/ship/SKILL.md", json!({}), expect![[r#"{"kind":"full","resultId":"779f31b45f96b264","items":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":3}},"severity":2,"code":"no-description","source":"reverie","message":"there is no description: it tells the model when to use the skill"}]}"#]]).await;
    desk.open(".claude/skills/ship/SKILL.md", "---\nna").await;
    desk.check("textDocument/completion", ".claude/skills/ship/SKILL.md", at(1, 2), expect![[r#"[{"label":"name","kind":10,"documentation":{"kind":"markdown","value":"What the skill is called; `/name` starts it. The folder's name, if absent."},"sortText":"0000","filterText":"name: ","textEdit":{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":2}},"newText":"name: "}},{"label":"description","kind":10,"documentation":{"kind":"markdown","value":"When to use it: the model chooses by this line."},"sortText":"0001","filterText":"description: ","textEdit":{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":2}},"newText":"description: "}},{"label":"argument-hint","kind":10,"documentation":{"kind":"markdown","value":"What may follow the name, shown while it is typed."},"sortText":"0002","filterText":"argument-hint: ","textEdit":{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":2}},"newText":"argument-hint: "}},{"label":"disable-model-invocation","kind":10,"documentation":{"kind":"markdown","value":"`true`: only you may start it."},"sortText":"0003","filterText":"disable-model-invocation: ","textEdit":{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":2}},"newText":"disable-model-invocation: "}},{"label":"allowed-tools","kind":10,"documentation":{"kind":"markdown","value":"The tools that it needs. Permissions are asked for as ever."},"sortText":"0004","filterText":"allowed-tools: ","textEdit":{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":2}},"newText":"allowed-tools: "}}]"#]]).await;
}

#[tokio::test]
async fn a_settings_file_says_what_is_in_force_and_from_where() {
    let mut desk = Desk::new("//- .claude/settings.json\n{ \"inline\": { \"lens\": false } }\n").await;
    desk.check("textDocument/hover", ".claude/settings.json", at(0, 16), expect![[r#"{"contents":{"kind":"markdown","value":"Lines above the place that a memory speaks of.\n\nDefault: `true`\n\nIn force:\n\n- `inline.lens` = `false` (W:/.claude/settings.json)"},"range":{"start":{"line":0,"character":15},"end":{"line":0,"character":19}}}"#]]).await;
    // A value is no key.
    desk.check("textDocument/hover", ".claude/settings.json", at(0, 25), expect!["null"]).await;
}

#[tokio::test]
async fn a_settings_file_is_completed_as_it_is_typed() {
    let mut desk = Desk::new("").await;
    desk.open(".claude/settings.json", "{\r\n  \"ü😀\": 1, \"inline\": { \"le\r\n").await;
    desk.check("textDocument/completion", ".claude/settings.json", at(1, 27), expect![[r#"[{"label":"lens","kind":10,"documentation":{"kind":"markdown","value":"Lines above the place that a memory speaks of."},"sortText":"0000","filterText":"lens","textEdit":{"range":{"start":{"line":1,"character":25},"end":{"line":1,"character":27}},"newText":"lens"}},{"label":"hints","kind":10,"documentation":{"kind":"markdown","value":"Words beside the place that a memory speaks of."},"sortText":"0001","filterText":"hints","textEdit":{"range":{"start":{"line":1,"character":25},"end":{"line":1,"character":27}},"newText":"hints"}},{"label":"hover","kind":10,"documentation":{"kind":"markdown","value":"The memory itself, under the pointer at that place."},"sortText":"0002","filterText":"hover","textEdit":{"range":{"start":{"line":1,"character":25},"end":{"line":1,"character":27}},"newText":"hover"}},{"label":"diagnostics","kind":10,"documentation":{"kind":"markdown","value":"What is wrong in memory files, shown in them."},"sortText":"0003","filterText":"diagnostics","textEdit":{"range":{"start":{"line":1,"character":25},"end":{"line":1,"character":27}},"newText":"diagnostics"}},{"label":"completion","kind":10,"documentation":{"kind":"markdown","value":"What may come next in files that are written for the agent: keys, links, includes."},"sortText":"0004","filterText":"completion","textEdit":{"range":{"start":{"line":1,"character":25},"end":{"line":1,"character":27}},"newText":"completion"}},{"label":"navigation","kind":10,"documentation":{"kind":"markdown","value":"Links, definitions, references, symbols and folding in files that are written for the agent."},"sortText":"0005","filterText":"navigation","textEdit":{"range":{"start":{"line":1,"character":25},"end":{"line":1,"character":27}},"newText":"navigation"}},{"label":"actions","kind":10,"documentation":{"kind":"markdown","value":"What can be done about a memory or a place: quick fixes, renaming, formatting, “Remember something about this”."},"sortText":"0006","filterText":"actions","textEdit":{"range":{"start":{"line":1,"character":25},"end":{"line":1,"character":27}},"newText":"actions"}},{"label":"notifications","kind":10,"documentation":{"kind":"markdown","value":"What has just happened to a memory, for a moment at the place that it speaks of."},"sortText":"0007","filterText":"notifications","textEdit":{"range":{"start":{"line":1,"character":25},"end":{"line":1,"character":27}},"newText":"notifications"}}]"#]]).await;
    desk.open(".claude/settings.json", "{ \"inline\": { \"lens\":  } }").await;
    desk.check("textDocument/completion", ".claude/settings.json", at(0, 22), expect![[r#"[{"label":"true","kind":12,"sortText":"0000","filterText":"true","textEdit":{"range":{"start":{"line":0,"character":22},"end":{"line":0,"character":22}},"newText":"true"}},{"label":"false","kind":12,"sortText":"0001","filterText":"false","textEdit":{"range":{"start":{"line":0,"character":22},"end":{"line":0,"character":22}},"newText":"false"}}]"#]]).await;
}
