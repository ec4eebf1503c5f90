//! Tables of rules, calls and decisions.

use expect_test::expect;

use crate::{Mode, Rules, testing::tree};

#[test]
fn an_allowed_prefix_covers_one_plain_command_only() {
    tree()
        .rules(
            &["Bash(git status:*)", "Bash(npm run *)", "Bash(make && make test)", "Bash(ls *.rs)"],
            &[],
            &[],
        )
        .check(
            &[
                "Bash git status",
                "Bash git status --short",
                "Bash   git status  ",
                "Bash git statusx",
                "Bash git  status",
                "Bash git status\u{a0}x",
                "Bash git status $\\\n(rm x)",
                "Bash git status && rm -rf /",
                "Bash git status; rm -rf /",
                "Bash git status | sh",
                "Bash git status & rm x",
                "Bash git status\nrm -rf /",
                "Bash git status\rrm",
                "Bash git status `rm x`",
                "Bash git status $(rm x)",
                "Bash git status ${x:-$(rm x)}",
                "Bash git status > ~/.bashrc",
                "Bash git status < /etc/passwd",
                "Bash git status <(rm x)",
                "Bash FOO=1 git status",
                "Bash (git status)",
                "Bash npm run build",
                "Bash npm run",
                "Bash npm running",
                "Bash make && make test",
                "Bash make && make tests",
                "Bash ls a.rs b.rs",
                "Bash ls a.txt",
            ],
            expect![[r#"
                allow "Bash git status": the rule `Bash(git status:*)` allows it
                allow "Bash git status --short": the rule `Bash(git status:*)` allows it
                allow "Bash   git status  ": the rule `Bash(git status:*)` allows it
                ASK   "Bash git statusx": the command may change something
                ASK   "Bash git  status": the command may change something
                ASK   "Bash git status\u{a0}x": the command may change something
                ASK   "Bash git status $\\\n(rm x)": the command may change something
                ASK   "Bash git status && rm -rf /": the command may change something
                ASK   "Bash git status; rm -rf /": the command may change something
                ASK   "Bash git status | sh": the command may change something
                ASK   "Bash git status & rm x": the command may change something
                ASK   "Bash git status\nrm -rf /": the command may change something
                ASK   "Bash git status\rrm": the command may change something
                ASK   "Bash git status `rm x`": the command may change something
                ASK   "Bash git status $(rm x)": the command may change something
                ASK   "Bash git status ${x:-$(rm x)}": the command may change something
                ASK   "Bash git status > ~/.bashrc": the command may change something
                ASK   "Bash git status < /etc/passwd": the command may change something
                ASK   "Bash git status <(rm x)": the command may change something
                ASK   "Bash FOO=1 git status": the command may change something
                ASK   "Bash (git status)": the command may change something
                allow "Bash npm run build": the rule `Bash(npm run *)` allows it
                allow "Bash npm run": the rule `Bash(npm run *)` allows it
                ASK   "Bash npm running": the command may change something
                allow "Bash make && make test": the rule `Bash(make && make test)` allows it
                ASK   "Bash make && make tests": the command may change something
                allow "Bash ls a.rs b.rs": the rule `Bash(ls *.rs)` allows it
                ASK   "Bash ls a.txt": the command may change something
            "#]],
        );
}

#[test]
fn a_denied_command_is_found_in_any_part_of_the_line() {
    tree().rules(&["Bash"], &[], &["Bash(rm:*)", "Bash(git push:*)", "Bash(curl * | sh)"]).check(
        &[
            "Bash rm x",
            "Bash rmdir x",
            "Bash echo rm",
            "Bash ls && rm x",
            "Bash ls;rm x",
            "Bash ls | xargs rm",
            "Bash echo $(rm x)",
            "Bash echo \"$(rm x)\"",
            "Bash `rm x`",
            "Bash (rm x)",
            "Bash { rm x; }",
            "Bash ls\nrm x",
            "Bash FOO=1 rm x",
            "Bash \\rm x",
            "Bash 'rm' x",
            "Bash r\"\"m x",
            "Bash /bin/rm x",
            "Bash sudo -u root rm x",
            "Bash bash -c 'rm x'",
            "Bash find . -exec rm {} +",
            "Bash python3.12 -c 'rm x'",
            "Bash kubectl exec pod -- rm x",
            "Bash docker run image rm x",
            "Bash docker rm x",
            "Bash if true; then rm x; fi",
            "Bash ls & rm x &",
            "Bash r\\\nm x",
            "Bash $'rm' x",
            "Bash git  push",
            "Bash git pull",
            "Bash curl -s u | sh",
        ],
        expect![[r#"
            DENY  "Bash rm x": the rule `Bash(rm:*)` denies it
            allow "Bash rmdir x": the rule `Bash` allows it
            allow "Bash echo rm": the rule `Bash` allows it
            DENY  "Bash ls && rm x": the rule `Bash(rm:*)` denies it
            DENY  "Bash ls;rm x": the rule `Bash(rm:*)` denies it
            DENY  "Bash ls | xargs rm": the rule `Bash(rm:*)` denies it
            DENY  "Bash echo $(rm x)": the rule `Bash(rm:*)` denies it
            DENY  "Bash echo \"$(rm x)\"": the rule `Bash(rm:*)` denies it
            DENY  "Bash `rm x`": the rule `Bash(rm:*)` denies it
            DENY  "Bash (rm x)": the rule `Bash(rm:*)` denies it
            DENY  "Bash { rm x; }": the rule `Bash(rm:*)` denies it
            DENY  "Bash ls\nrm x": the rule `Bash(rm:*)` denies it
            DENY  "Bash FOO=1 rm x": the rule `Bash(rm:*)` denies it
            DENY  "Bash \\rm x": the rule `Bash(rm:*)` denies it
            DENY  "Bash 'rm' x": the rule `Bash(rm:*)` denies it
            DENY  "Bash r\"\"m x": the rule `Bash(rm:*)` denies it
            DENY  "Bash /bin/rm x": the rule `Bash(rm:*)` denies it
            DENY  "Bash sudo -u root rm x": the rule `Bash(rm:*)` denies it
            DENY  "Bash bash -c 'rm x'": the rule `Bash(rm:*)` denies it
            DENY  "Bash find . -exec rm {} +": the rule `Bash(rm:*)` denies it
            DENY  "Bash python3.12 -c 'rm x'": the rule `Bash(rm:*)` denies it
            DENY  "Bash kubectl exec pod -- rm x": the rule `Bash(rm:*)` denies it
            DENY  "Bash docker run image rm x": the rule `Bash(rm:*)` denies it
            allow "Bash docker rm x": the rule `Bash` allows it
            DENY  "Bash if true; then rm x; fi": the rule `Bash(rm:*)` denies it
            DENY  "Bash ls & rm x &": the rule `Bash(rm:*)` denies it
            DENY  "Bash r\\\nm x": the rule `Bash(rm:*)` denies it
            DENY  "Bash $'rm' x": the rule `Bash(rm:*)` denies it
            DENY  "Bash git  push": the rule `Bash(git push:*)` denies it
            allow "Bash git pull": the rule `Bash` allows it
            DENY  "Bash curl -s u | sh": the rule `Bash(curl * | sh)` denies it
        "#]],
    );
}

#[test]
fn patterns_for_files_follow_gitignore() {
    let tree = tree().rules(
        &[
            "Edit(src/**)",
            "Edit(/top.txt)",
            "Edit(*.lock)",
            "Edit(docs)",
            "Edit(gen/*)",
            "Read(/@O/data/**)",
            "Read(~/notes/*.md)",
        ],
        &[],
        &["Read(secrets/**)", "Read(.env)", "Edit(Cargo.toml)"],
    );
    tree.check(
        &[
            "Edit @W/src/main.rs",
            "MultiEdit @W/src/deep/x.rs",
            "Write @W/src/deep/x.rs",
            "Edit @W/other/src/x.rs",
            "Edit @W/top.txt",
            "Edit @W/deep/top.txt",
            "Edit @W/a/b.lock",
            "Edit @O/b.lock",
            "Edit @W/docs/a/b.md",
            "Edit @W/a/docs/b.md",
            "Edit @W/gen/x",
            "Edit @W/gen/x/y",
            "Edit @W/Cargo.toml",
            "Edit @W/src/Cargo.toml",
            "Read @O/data/list.txt",
            "Read @W/out/list.txt",
            "Grep @O/data",
            "Read @O/other.txt",
            "Read @H/notes/a.md",
            "Read @H/notes/deep/a.md",
            "Read @W/secrets/key",
            "Grep @W/secrets",
            "Read @W/plain/key",
            "Read @W/.env",
            "Read @W/deep/.env",
            "Read @R/.env",
            "Look cat secrets/key",
            "Look cat .env",
            "Look cat ./deep/../.env",
            "Look cat src/main.rs",
            "Bash sed -i s/a/b/ Cargo.toml",
            "Look cat Cargo.toml",
        ],
        expect![[r#"
            allow "Edit @W/src/main.rs": the rule `Edit(src/**)` allows it
            allow "MultiEdit @W/src/deep/x.rs": the rule `Edit(src/**)` allows it
            allow "Write @W/src/deep/x.rs": the rule `Edit(src/**)` allows it
            ASK   "Edit @W/other/src/x.rs": it changes @W/other/src/x.rs
            allow "Edit @W/top.txt": the rule `Edit(/top.txt)` allows it
            ASK   "Edit @W/deep/top.txt": it changes @W/deep/top.txt
            allow "Edit @W/a/b.lock": the rule `Edit(*.lock)` allows it
            ASK   "Edit @O/b.lock": @O/b.lock is outside the workspace
            allow "Edit @W/docs/a/b.md": the rule `Edit(docs)` allows it
            allow "Edit @W/a/docs/b.md": the rule `Edit(docs)` allows it
            allow "Edit @W/gen/x": the rule `Edit(gen/*)` allows it
            ASK   "Edit @W/gen/x/y": it changes @W/gen/x/y
            DENY  "Edit @W/Cargo.toml": the rule `Edit(Cargo.toml)` denies it
            DENY  "Edit @W/src/Cargo.toml": the rule `Edit(Cargo.toml)` denies it
            allow "Read @O/data/list.txt": the rule `Read(/@O/data/**)` allows it
            allow "Read @W/out/list.txt": the rule `Read(/@O/data/**)` allows it
            allow "Grep @O/data": the rule `Read(/@O/data/**)` allows it
            ASK   "Read @O/other.txt": @O/other.txt is outside the workspace
            allow "Read @H/notes/a.md": the rule `Read(~/notes/*.md)` allows it
            ASK   "Read @H/notes/deep/a.md": @H/notes/deep/a.md is outside the workspace
            DENY  "Read @W/secrets/key": the rule `Read(secrets/**)` denies it
            DENY  "Grep @W/secrets": the rule `Read(secrets/**)` denies it
            DENY  "Read @W/plain/key": the rule `Read(secrets/**)` denies it
            DENY  "Read @W/.env": the rule `Read(.env)` denies it
            DENY  "Read @W/deep/.env": the rule `Read(.env)` denies it
            DENY  "Read @R/.env": the rule `Read(.env)` denies it
            DENY  "Look cat secrets/key": the rule `Read(secrets/**)` denies it
            DENY  "Look cat .env": the rule `Read(.env)` denies it
            DENY  "Look cat ./deep/../.env": the rule `Read(.env)` denies it
            allow "Look cat src/main.rs": the command changes nothing
            DENY  "Bash sed -i s/a/b/ Cargo.toml": the rule `Edit(Cargo.toml)` denies it
            allow "Look cat Cargo.toml": the command changes nothing
        "#]],
    );
}

#[test]
fn an_allowed_folder_does_not_reach_through_links_or_to_protected_files() {
    tree().rules(&["Edit(out/**)", "Edit(/**)", "Edit(.vscode/**)", "Read"], &[], &[]).check(
        &[
            "Edit @W/out/list.txt",
            "Edit @W/src/main.rs",
            "Edit @W/.git/config",
            "Edit @W/.vscode/tasks.json",
            "Read @O/data/list.txt",
            "Read @H/.ssh/id_rsa",
        ],
        expect![[r#"
            ASK   "Edit @W/out/list.txt": @W/out/list.txt is a link out of the workspace, to @O/data/list.txt
            allow "Edit @W/src/main.rs": the rule `Edit(/**)` allows it
            ASK   "Edit @W/.git/config": @W/.git/config is protected: what `.git` says may be run later
            allow "Edit @W/.vscode/tasks.json": the rule `Edit(.vscode/**)` allows it
            allow "Read @O/data/list.txt": the rule `Read` allows it
            ASK   "Read @H/.ssh/id_rsa": @H/.ssh/id_rsa may hold credentials (`.ssh`)
        "#]],
    );
}

#[test]
fn tools_without_files_are_matched_by_name() {
    tree().rules(&["mcp__tickets"], &[], &["TodoWrite"]).check(
        &["McpCall mcp__tickets__close", "TodoWrite"],
        expect![[r#"
        allow "McpCall mcp__tickets__close": the rule `mcp__tickets` allows it
        DENY  "TodoWrite": the rule `TodoWrite` denies it
    "#]],
    );
    tree().rules(&[], &["mcp__tickets__close"], &[]).check(
        &["McpCall mcp__tickets__close"],
        expect![[r#"
        ASK   "McpCall mcp__tickets__close": the rule `mcp__tickets__close` asks for it
    "#]],
    );
    tree().rules(&[], &[], &["mcp__tick"]).check(
        &["McpCall mcp__tickets__close"],
        expect![[r#"
            ASK   "McpCall mcp__tickets__close": `mcp__tickets__close` is a tool of another program
        "#]],
    );
}

#[test]
fn rules_that_cannot_be_read_are_reported_and_left_out() {
    let (rules, errors) = Rules::parse(
        vec![
            "Bash(ls:*)",
            "Bash(ls",
            "(x)",
            "",
            "Read([)",
            "Edit(../x)",
            "WebFetch(domain:example.com)",
            "WebFetch(example.com)",
            "WebFetch(domain:exa mple)",
            "mcp__tickets__*",
            "Read()",
        ],
        vec![],
        vec![],
    );
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let rules: Vec<String> = rules.allow.iter().map(ToString::to_string).collect();
    expect![[r#"
        Bash(ls:*)
        WebFetch(domain:example.com)
        mcp__tickets__*
        Read()

        the rule `Bash(ls` is not understood: the closing parenthesis is missing
        the rule `(x)` is not understood: it must begin with the name of a tool, as in `Bash(cargo test:*)`
        the rule `` is not understood: it must begin with the name of a tool, as in `Bash(cargo test:*)`
        the rule `Read([)` is not understood: unclosed character class; missing ']'
        the rule `Edit(../x)` is not understood: `..` is not allowed in a pattern
        the rule `WebFetch(example.com)` is not understood: it must name a domain, as in `WebFetch(domain:example.com)`
        the rule `WebFetch(domain:exa mple)` is not understood: a domain is a name such as `example.com` or `*.example.com`"#]]
    .assert_eq(&format!("{}\n\n{}", rules.join("\n"), errors.join("\n")));
}

#[test]
fn pages_are_allowed_by_domain_searches_and_servers_by_name() {
    let calls = [
        "Fetch example.com",
        "Fetch EXAMPLE.com.",
        "Fetch www.example.com",
        "Fetch notexample.com",
        "Fetch docs.rs",
        "Fetch a.docs.rs",
        "Search rust",
        "McpRead mcp__tickets__list",
        "McpCall mcp__tickets__close",
        "McpCall mcp__ticketsmith__close",
        "McpCall mcp__files__write",
    ];
    tree().check(
        &calls,
        expect![[r#"
        ASK   "Fetch example.com": it fetches a page from example.com
        ASK   "Fetch EXAMPLE.com.": it fetches a page from EXAMPLE.com.
        ASK   "Fetch www.example.com": it fetches a page from www.example.com
        ASK   "Fetch notexample.com": it fetches a page from notexample.com
        ASK   "Fetch docs.rs": it fetches a page from docs.rs
        ASK   "Fetch a.docs.rs": it fetches a page from a.docs.rs
        ASK   "Search rust": it searches the web
        ASK   "McpRead mcp__tickets__list": `mcp__tickets__list` is a tool of another program
        ASK   "McpCall mcp__tickets__close": `mcp__tickets__close` is a tool of another program
        ASK   "McpCall mcp__ticketsmith__close": `mcp__ticketsmith__close` is a tool of another program
        ASK   "McpCall mcp__files__write": `mcp__files__write` is a tool of another program
    "#]],
    );
    let allowed =
        ["WebFetch(domain:example.com)", "WebFetch(domain:*.docs.rs)", "WebSearch", "mcp__tickets__*"];
    tree().rules(&allowed, &[], &[]).check(
        &calls,
        expect![[r#"
        allow "Fetch example.com": the rule `WebFetch(domain:example.com)` allows it
        allow "Fetch EXAMPLE.com.": the rule `WebFetch(domain:example.com)` allows it
        ASK   "Fetch www.example.com": it fetches a page from www.example.com
        ASK   "Fetch notexample.com": it fetches a page from notexample.com
        ASK   "Fetch docs.rs": it fetches a page from docs.rs
        allow "Fetch a.docs.rs": the rule `WebFetch(domain:*.docs.rs)` allows it
        allow "Search rust": the rule `WebSearch` allows it
        allow "McpRead mcp__tickets__list": the rule `mcp__tickets__*` allows it
        allow "McpCall mcp__tickets__close": the rule `mcp__tickets__*` allows it
        ASK   "McpCall mcp__ticketsmith__close": `mcp__ticketsmith__close` is a tool of another program
        ASK   "McpCall mcp__files__write": `mcp__files__write` is a tool of another program
    "#]],
    );
    tree().rules(&["WebFetch"], &["mcp__files__write"], &["WebFetch(domain:example.com)"]).check(
        &calls,
        expect![[r#"
            DENY  "Fetch example.com": the rule `WebFetch(domain:example.com)` denies it
            DENY  "Fetch EXAMPLE.com.": the rule `WebFetch(domain:example.com)` denies it
            DENY  "Fetch www.example.com": the rule `WebFetch(domain:example.com)` denies it
            allow "Fetch notexample.com": the rule `WebFetch` allows it
            allow "Fetch docs.rs": the rule `WebFetch` allows it
            allow "Fetch a.docs.rs": the rule `WebFetch` allows it
            ASK   "Search rust": it searches the web
            ASK   "McpRead mcp__tickets__list": `mcp__tickets__list` is a tool of another program
            ASK   "McpCall mcp__tickets__close": `mcp__tickets__close` is a tool of another program
            ASK   "McpCall mcp__ticketsmith__close": `mcp__ticketsmith__close` is a tool of another program
            ASK   "McpCall mcp__files__write": the rule `mcp__files__write` asks for it
        "#]],
    );
    tree().mode(Mode::Plan).rules(&allowed, &[], &[]).check(&calls, expect![[r#"
        allow "Fetch example.com": the rule `WebFetch(domain:example.com)` allows it
        allow "Fetch EXAMPLE.com.": the rule `WebFetch(domain:example.com)` allows it
        ASK   "Fetch www.example.com": it fetches a page from www.example.com
        ASK   "Fetch notexample.com": it fetches a page from notexample.com
        ASK   "Fetch docs.rs": it fetches a page from docs.rs
        allow "Fetch a.docs.rs": the rule `WebFetch(domain:*.docs.rs)` allows it
        allow "Search rust": the rule `WebSearch` allows it
        allow "McpRead mcp__tickets__list": the rule `mcp__tickets__*` allows it
        DENY  "McpCall mcp__tickets__close": plan mode: only tools that say they change nothing run until the user approves the plan
        DENY  "McpCall mcp__ticketsmith__close": plan mode: only tools that say they change nothing run until the user approves the plan
        DENY  "McpCall mcp__files__write": plan mode: only tools that say they change nothing run until the user approves the plan
    "#]]);
}
