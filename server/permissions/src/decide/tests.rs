//! Tables of calls and decisions.

use expect_test::expect;

use crate::{Mode, Rule, testing::tree};

#[test]
fn without_rules_reads_inside_are_free_and_the_rest_is_asked() {
    tree().check(
        &[
            "Read @W/src/main.rs",
            "Read @W/.env",
            "Read @W/new/../src/main.rs",
            "Read @W/../O/data/list.txt",
            "Read @O/data/list.txt",
            "Read @W2/file",
            "Grep @W",
            "Grep @O",
            "Read @W/alias/main.rs",
            "Read @W/out/list.txt",
            "Read @W/dangling",
            "Read @O/back/src/main.rs",
            "Read @R/notes.txt",
            "Read @R/.env",
            "Read @H/.ssh/id_rsa",
            "Read @M/topic.md",
            "Write @W/src/main.rs",
            "Write @W/out/list.txt",
            "Write @W/dangling",
            "Write @O/new.txt",
            "Write @W/.git/config",
            "TodoWrite",
            "Bash cargo build",
        ],
        expect![[r#"
            allow "Read @W/src/main.rs": it reads inside the workspace
            allow "Read @W/.env": it reads inside the workspace
            allow "Read @W/new/../src/main.rs": it reads inside the workspace
            ASK   "Read @W/../O/data/list.txt": @W/../O/data/list.txt is outside the workspace
            ASK   "Read @O/data/list.txt": @O/data/list.txt is outside the workspace
            ASK   "Read @W2/file": @W2/file is outside the workspace
            allow "Grep @W": it reads inside the workspace
            ASK   "Grep @O": @O is outside the workspace
            allow "Read @W/alias/main.rs": it reads inside the workspace
            ASK   "Read @W/out/list.txt": @W/out/list.txt is a link out of the workspace, to @O/data/list.txt
            ASK   "Read @W/dangling": @W/dangling goes through a link that leads nowhere
            allow "Read @O/back/src/main.rs": it reads inside the workspace
            allow "Read @R/notes.txt": it reads in a folder that may be read
            ASK   "Read @R/.env": @R/.env may hold credentials (`.env`)
            ASK   "Read @H/.ssh/id_rsa": @H/.ssh/id_rsa may hold credentials (`.ssh`)
            allow "Read @M/topic.md": it reads in a folder that may be read
            ASK   "Write @W/src/main.rs": it changes @W/src/main.rs
            ASK   "Write @W/out/list.txt": @W/out/list.txt is a link out of the workspace, to @O/data/list.txt
            ASK   "Write @W/dangling": @W/dangling goes through a link that leads nowhere
            ASK   "Write @O/new.txt": @O/new.txt is outside the workspace
            ASK   "Write @W/.git/config": @W/.git/config is protected: what `.git` says may be run later
            allow "TodoWrite": it touches only the session
            ASK   "Bash cargo build": the command may change something
        "#]],
    );
}

#[test]
fn the_memory_folder_is_free_but_for_what_the_server_keeps_there() {
    let calls = [
        "Write @M/topic.md",
        "Write @M/deep/topic.md",
        "Write @M/.history/1",
        "Write @M/.History/1",
        "Write @M/sub/../.history/1",
        "Write @M/.consolidate-lock",
        "Write @M2/topic.md",
    ];
    tree().check(&calls, expect![[r#"
        allow "Write @M/topic.md": it writes in a folder that may be written
        allow "Write @M/deep/topic.md": it writes in a folder that may be written
        DENY  "Write @M/.history/1": `.history` in the memory folder is written by the server alone
        DENY  "Write @M/.History/1": `.history` in the memory folder is written by the server alone
        DENY  "Write @M/sub/../.history/1": `.history` in the memory folder is written by the server alone
        DENY  "Write @M/.consolidate-lock": `.consolidate-lock` in the memory folder is written by the server alone
        ASK   "Write @M2/topic.md": @M2/topic.md is outside the workspace
    "#]]);
    tree().mode(Mode::Bypass).check(
        &["Write @M/.history/1", "Write @M/topic.md"],
        expect![[r#"
        DENY  "Write @M/.history/1": `.history` in the memory folder is written by the server alone
        allow "Write @M/topic.md": permissions are bypassed in this session
    "#]],
    );
}

#[test]
fn accepting_edits_stops_at_protected_files_and_at_the_workspace() {
    tree().mode(Mode::AcceptEdits).check(
        &[
            "Edit @W/src/main.rs",
            "Write @W/new/deep/file.rs",
            "MultiEdit @W/alias/main.rs",
            "Edit @W/.git/hooks/pre-commit",
            "Edit @W/.GIT/config",
            "Edit @W/.g\u{200c}it/config",
            "Edit @W/innocent/config",
            "Edit @W/vendor/lib/.git",
            "Edit @W/.bashrc",
            "Edit @W/.vscode/tasks.json",
            "Edit @W/.idea/workspace.xml",
            "Edit @W/.claude/settings.json",
            "Edit @W/.claude/settings.local.json",
            "Edit @W/.claude/commands/x.md",
            "Edit @W/.claude/notes.md",
            "Edit @W/.claude/worktrees/one/.claude/settings.json",
            "Edit @W/.mcp.json",
            "Edit @W/.claude/projects/-x/reverie-allowed.json",
            "Edit @W/.gitignore",
            "Edit @W/CLAUDE.md",
            "Edit @W/out/list.txt",
            "Edit @W/dangling/file",
            "Edit @O/x",
            "Bash mkdir new",
        ],
        expect![[r#"
            allow "Edit @W/src/main.rs": edits inside the workspace are accepted in this session
            allow "Write @W/new/deep/file.rs": edits inside the workspace are accepted in this session
            allow "MultiEdit @W/alias/main.rs": edits inside the workspace are accepted in this session
            ASK   "Edit @W/.git/hooks/pre-commit": @W/.git/hooks/pre-commit is protected: what `.git` says may be run later
            ASK   "Edit @W/.GIT/config": @W/.GIT/config is protected: what `.git` says may be run later
            ASK   "Edit @W/.g\u{200c}it/config": @W/.g\u{200c}it/config is protected: what `.git` says may be run later
            ASK   "Edit @W/innocent/config": @W/innocent/config is protected: what `.git` says may be run later
            ASK   "Edit @W/vendor/lib/.git": @W/vendor/lib/.git is protected: what `.git` says may be run later
            ASK   "Edit @W/.bashrc": @W/.bashrc is protected: what `.bashrc` says may be run later
            ASK   "Edit @W/.vscode/tasks.json": @W/.vscode/tasks.json is protected: what `.vscode` says may be run later
            ASK   "Edit @W/.idea/workspace.xml": @W/.idea/workspace.xml is protected: what `.idea` says may be run later
            ASK   "Edit @W/.claude/settings.json": @W/.claude/settings.json is protected: what `.claude` says may be run later
            ASK   "Edit @W/.claude/settings.local.json": @W/.claude/settings.local.json is protected: what `.claude` says may be run later
            ASK   "Edit @W/.claude/commands/x.md": @W/.claude/commands/x.md is protected: what `.claude` says may be run later
            allow "Edit @W/.claude/notes.md": edits inside the workspace are accepted in this session
            ASK   "Edit @W/.claude/worktrees/one/.claude/settings.json": @W/.claude/worktrees/one/.claude/settings.json is protected: what `.claude` says may be run later
            ASK   "Edit @W/.mcp.json": @W/.mcp.json is protected: what `.mcp.json` says may be run later
            ASK   "Edit @W/.claude/projects/-x/reverie-allowed.json": @W/.claude/projects/-x/reverie-allowed.json is protected: what `reverie-allowed.json` says may be run later
            allow "Edit @W/.gitignore": edits inside the workspace are accepted in this session
            allow "Edit @W/CLAUDE.md": edits inside the workspace are accepted in this session
            ASK   "Edit @W/out/list.txt": @W/out/list.txt is a link out of the workspace, to @O/data/list.txt
            ASK   "Edit @W/dangling/file": @W/dangling/file goes through a link that leads nowhere
            ASK   "Edit @O/x": @O/x is outside the workspace
            ASK   "Bash mkdir new": the command may change something
        "#]],
    );
}

#[test]
fn plan_mode_changes_nothing() {
    tree().mode(Mode::Plan).rules(&["Edit", "Bash(cargo test:*)"], &[], &[]).check(
        &[
            "Read @W/src/main.rs",
            "Edit @W/src/main.rs",
            "Write @M/topic.md",
            "Bash cargo test",
            "Look git status",
            "TodoWrite",
            "Read @O/data/list.txt",
        ],
        expect![[r#"
            allow "Read @W/src/main.rs": it reads inside the workspace
            DENY  "Edit @W/src/main.rs": plan mode: nothing is changed until the user approves the plan
            DENY  "Write @M/topic.md": plan mode: nothing is changed until the user approves the plan
            DENY  "Bash cargo test": plan mode: only commands that change nothing run until the user approves the plan
            allow "Look git status": the command changes nothing
            allow "TodoWrite": it touches only the session
            ASK   "Read @O/data/list.txt": @O/data/list.txt is outside the workspace
        "#]],
    );
}

#[test]
fn bypass_asks_only_what_rules_ask() {
    tree().mode(Mode::Bypass).rules(&[], &["Bash(git push:*)"], &["Bash(rm:*)"]).check(
        &["Bash make", "Write @O/x", "Edit @W/.git/config", "Bash git push", "Bash ls; rm -rf /"],
        expect![[r#"
            allow "Bash make": permissions are bypassed in this session
            allow "Write @O/x": permissions are bypassed in this session
            allow "Edit @W/.git/config": permissions are bypassed in this session
            ASK   "Bash git push": the rule `Bash(git push:*)` asks for it
            DENY  "Bash ls; rm -rf /": the rule `Bash(rm:*)` denies it
        "#]],
    );
}

#[test]
fn deny_beats_ask_beats_allow() {
    tree().rules(&["Bash", "Read", "Edit"], &["Bash(git:*)"], &["Bash(git push:*)"]).check(
        &["Bash cargo test", "Bash git log", "Bash git push origin main", "Read @O/x", "Edit @O/x"],
        expect![[r#"
            allow "Bash cargo test": the rule `Bash` allows it
            ASK   "Bash git log": the rule `Bash(git:*)` asks for it
            DENY  "Bash git push origin main": the rule `Bash(git push:*)` denies it
            allow "Read @O/x": the rule `Read` allows it
            allow "Edit @O/x": the rule `Edit` allows it
        "#]],
    );
}

#[test]
fn session_rules_allow_as_the_settings_do() {
    let mut tree = tree();
    tree.policy.session_rules = vec![Rule::parse("Bash(cargo test:*)").unwrap()];
    tree.check(
        &["Bash cargo test -q", "Bash cargo build"],
        expect![[r#"
        allow "Bash cargo test -q": `Bash(cargo test:*)` was allowed for this session
        ASK   "Bash cargo build": the command may change something
    "#]],
    );
}

#[test]
fn reading_commands_are_free_inside_the_workspace() {
    tree().check(
        &[
            "Look ls",
            "Look cat src/main.rs",
            "Look grep -rn foo src 2>/dev/null",
            "Look cat @W/src/main.rs",
            "Look cat @O/data/list.txt",
            "Look cat out/list.txt",
            "Look cat ../O/data/list.txt",
            "Look cat ~/.ssh/id_rsa",
            "Look cat $HOME/.ssh/id_rsa",
            "Look grep --file=@O/data/list.txt x",
            "Look cat @O/*/list.txt",
            "Look cat ~root/x",
            "Look find / -name x",
            "Look awk '{print $1}' src/main.rs",
            "Look cat @R/notes.txt",
        ],
        expect![[r#"
            allow "Look ls": the command changes nothing
            allow "Look cat src/main.rs": the command changes nothing
            allow "Look grep -rn foo src 2>/dev/null": the command changes nothing
            allow "Look cat @W/src/main.rs": the command changes nothing
            ASK   "Look cat @O/data/list.txt": the command only reads, but `@O/data/list.txt` may be outside the workspace
            ASK   "Look cat out/list.txt": the command only reads, but `@W/out/list.txt` may be outside the workspace
            ASK   "Look cat ../O/data/list.txt": the command only reads, but `@W/../O/data/list.txt` may be outside the workspace
            ASK   "Look cat ~/.ssh/id_rsa": the command only reads, but `@H/.ssh/id_rsa` may be outside the workspace
            ASK   "Look cat $HOME/.ssh/id_rsa": the command only reads, but `$` may be outside the workspace
            ASK   "Look grep --file=@O/data/list.txt x": the command only reads, but `@O/data/list.txt` may be outside the workspace
            ASK   "Look cat @O/*/list.txt": the command only reads, but `@O/*/list.txt` may be outside the workspace
            ASK   "Look cat ~root/x": the command only reads, but `~root/x` may be outside the workspace
            ASK   "Look find / -name x": the command only reads, but `/` may be outside the workspace
            allow "Look awk '{print $1}' src/main.rs": the command changes nothing
            allow "Look cat @R/notes.txt": the command changes nothing
        "#]],
    );
}
