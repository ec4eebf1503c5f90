use expect_test::expect;

use super::*;
use crate::{Decision, Rule, decide, testing::tree};

#[test]
fn suggestions_fit_the_call_and_little_else() {
    let tree = tree();
    let calls = [
        "Bash cargo test -p tools",
        "Bash cargo",
        "Bash cargo +nightly fmt",
        "Bash npm run build",
        "Bash ./run.sh --fast",
        "Bash pytest -q",
        "Bash rm -rf target",
        "Bash sudo make install",
        "Bash cd x && make",
        "Bash ls *.rs | wc -l",
        "Bash FOO=1 make",
        "Bash make -j4",
        "Bash make test",
        "Bash watch ls",
        "Bash python3.12 -m pytest",
        "Bash /usr/bin/perl5.36 x.pl",
        "Bash find . -name x",
        "Bash tar xf a.tar",
        "Bash docker ps",
        "Bash kubectl exec pod -- ls",
        "Bash kubectl get pods",
        "Bash npx tsx x.ts",
        "Bash npx eslint src",
        "Bash uv run pytest",
        "Bash git bisect run x",
        "Bash git log --oneline",
        "Edit @W/~/notes.txt",
        "Edit @W/~/deep/notes.txt",
        "Edit @W/src/main.rs",
        "Write @W/src/deep/new.rs",
        "Edit @W/Cargo.toml",
        "Edit @W/we[i]rd/x.rs",
        "Edit @W/.git/config",
        "Edit @W/.vscode/tasks.json",
        "Edit @W/out/list.txt",
        "Edit @O/data/list.txt",
        "Read @O/data/list.txt",
        "Grep @O/data",
        "Read @H/.ssh/id_rsa",
        "TodoWrite",
        "Fetch docs.rs",
        "Search rust",
        "McpCall mcp__tickets__close",
        "Look git log --oneline",
    ];
    let mut lines = String::new();
    for call in calls {
        let (tool, access) = tree.access(call);
        let rule = suggest_rule(tool, &access, &tree.policy);
        let mut policy = tree.policy.clone();
        policy.session_rules = vec![Rule::parse(&rule).unwrap()];
        let decision = decide(tool, &access, &policy);
        assert!(matches!(decision, Decision::Allow { .. }), "{rule} does not allow {call}: {decision:?}");
        lines.push_str(&format!("{call:?} → {}\n", tree.shorten(&rule)));
    }
    expect![[r#"
        "Bash cargo test -p tools" → Bash(cargo test:*)
        "Bash cargo" → Bash(cargo)
        "Bash cargo +nightly fmt" → Bash(cargo +nightly fmt)
        "Bash npm run build" → Bash(npm run:*)
        "Bash ./run.sh --fast" → Bash(./run.sh:*)
        "Bash pytest -q" → Bash(pytest:*)
        "Bash rm -rf target" → Bash(rm -rf target)
        "Bash sudo make install" → Bash(sudo make install)
        "Bash cd x && make" → Bash(cd x && make)
        "Bash ls *.rs | wc -l" → Bash(ls \*.rs | wc -l)
        "Bash FOO=1 make" → Bash(FOO=1 make)
        "Bash make -j4" → Bash(make -j4)
        "Bash make test" → Bash(make test:*)
        "Bash watch ls" → Bash(watch ls)
        "Bash python3.12 -m pytest" → Bash(python3.12 -m pytest)
        "Bash /usr/bin/perl5.36 x.pl" → Bash(/usr/bin/perl5.36 x.pl)
        "Bash find . -name x" → Bash(find . -name x)
        "Bash tar xf a.tar" → Bash(tar xf a.tar)
        "Bash docker ps" → Bash(docker ps)
        "Bash kubectl exec pod -- ls" → Bash(kubectl exec pod -- ls)
        "Bash kubectl get pods" → Bash(kubectl get:*)
        "Bash npx tsx x.ts" → Bash(npx tsx x.ts)
        "Bash npx eslint src" → Bash(npx eslint:*)
        "Bash uv run pytest" → Bash(uv run pytest)
        "Bash git bisect run x" → Bash(git bisect run x)
        "Bash git log --oneline" → Bash(git log:*)
        "Edit @W/~/notes.txt" → Edit(/~/**)
        "Edit @W/~/deep/notes.txt" → Edit(/~/deep/**)
        "Edit @W/src/main.rs" → Edit(src/**)
        "Write @W/src/deep/new.rs" → Edit(src/deep/**)
        "Edit @W/Cargo.toml" → Edit(/Cargo.toml)
        "Edit @W/we[i]rd/x.rs" → Edit(we\[i\]rd/**)
        "Edit @W/.git/config" → Edit(/.git/config)
        "Edit @W/.vscode/tasks.json" → Edit(/.vscode/tasks.json)
        "Edit @W/out/list.txt" → Edit(/@O/data/**)
        "Edit @O/data/list.txt" → Edit(/@O/data/**)
        "Read @O/data/list.txt" → Read(/@O/data/**)
        "Grep @O/data" → Read(/@O/data/**)
        "Read @H/.ssh/id_rsa" → Read(/@H/.ssh/id_rsa)
        "TodoWrite" → TodoWrite
        "Fetch docs.rs" → WebFetch(domain:docs.rs)
        "Search rust" → WebSearch
        "McpCall mcp__tickets__close" → mcp__tickets__close
        "Look git log --oneline" → Bash(git log:*)
    "#]]
    .assert_eq(&lines);
}
