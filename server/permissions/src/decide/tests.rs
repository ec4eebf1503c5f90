//! Tables of calls and decisions.

use std::fs;

use expect_test::expect;

use crate::{Access, Decision, Mode, Policy, Rule, decide, testing::tree};

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
fn accepting_edits_knows_protected_files_by_other_spellings() {
    tree().mode(Mode::AcceptEdits).check(
        &[
            "Edit @W/.git.",
            "Edit @W/.git /config",
            "Edit @W/.Git./hooks/pre-commit",
            "Edit @W/GIT~1/config",
            "Edit @W/.git::$INDEX_ALLOCATION/config",
            "Edit @W/x/../.git/config",
            "Edit @W/.git/../src/main.rs",
            "Edit @O/back/.git/config",
            "Edit @W/.CLAUDE/Settings.JSON",
            "Edit @W/.claude/settings.json.",
            "Edit @W/.claude/SETTIN~1.JSO",
            "Edit @W/.claude./Commands/x.md",
            "Edit @W/.MCP.json",
            "Edit @W/.mcp.json.",
            "Edit @W/.VSCode/tasks.json",
            "Edit @W/.vſcode/tasks.json",
            "Edit @W/.BashRC",
            "Edit @W/.bashrc/..namedfork/data",
        ],
        expect![[r#"
            ASK   "Edit @W/.git.": @W/.git. is protected: what `.git` says may be run later
            ASK   "Edit @W/.git /config": @W/.git /config is protected: what `.git` says may be run later
            ASK   "Edit @W/.Git./hooks/pre-commit": @W/.Git./hooks/pre-commit is protected: what `.git` says may be run later
            ASK   "Edit @W/GIT~1/config": @W/GIT~1/config is protected: what `.git` says may be run later
            ASK   "Edit @W/.git::$INDEX_ALLOCATION/config": @W/.git::$INDEX_ALLOCATION/config is protected: what `.git` says may be run later
            ASK   "Edit @W/x/../.git/config": @W/x/../.git/config is protected: what `.git` says may be run later
            allow "Edit @W/.git/../src/main.rs": edits inside the workspace are accepted in this session
            ASK   "Edit @O/back/.git/config": @O/back/.git/config is protected: what `.git` says may be run later
            ASK   "Edit @W/.CLAUDE/Settings.JSON": @W/.CLAUDE/Settings.JSON is protected: what `.claude` says may be run later
            ASK   "Edit @W/.claude/settings.json.": @W/.claude/settings.json. is protected: what `.claude` says may be run later
            ASK   "Edit @W/.claude/SETTIN~1.JSO": @W/.claude/SETTIN~1.JSO is protected: what `.claude` says may be run later
            ASK   "Edit @W/.claude./Commands/x.md": @W/.claude./Commands/x.md is protected: what `.claude` says may be run later
            ASK   "Edit @W/.MCP.json": @W/.MCP.json is protected: what `.mcp.json` says may be run later
            ASK   "Edit @W/.mcp.json.": @W/.mcp.json. is protected: what `.mcp.json` says may be run later
            ASK   "Edit @W/.VSCode/tasks.json": @W/.VSCode/tasks.json is protected: what `.vscode` says may be run later
            ASK   "Edit @W/.vſcode/tasks.json": @W/.vſcode/tasks.json is protected: what `.vscode` says may be run later
            ASK   "Edit @W/.BashRC": @W/.BashRC is protected: what `.bashrc` says may be run later
            ASK   "Edit @W/.bashrc/..namedfork/data": @W/.bashrc/..namedfork/data is protected: what `.bashrc` says may be run later
        "#]],
    );
}

#[test]
fn accepting_edits_stops_at_whatever_another_program_obeys() {
    tree().mode(Mode::AcceptEdits).check(
        &[
            "Write @W/.githooks/pre-commit",
            "Write @W/.pre-commit-config.yaml",
            "Write @W/.bash_aliases",
            "Write @W/.inputrc",
            "Write @W/.config/fish/config.fish",
            "Write @W/.config/nvim/init.lua",
            "Write @W/.vimrc",
            "Write @W/.dir-locals.el",
            "Write @W/.zed/tasks.json",
            "Write @W/team.code-workspace",
            "Write @W/.devcontainer.json",
            "Write @W/.claude.json",
            "Write @W/.claude/plugins/x.json",
            "Write @W/.claude/reverie-trust.json",
            "Write @W/.claude/reverie-includes.json",
            "Write @W/new/HEAD",
            "Write @W/.config/nextest.toml",
            "Write @W/.github/workflows/test.yml",
            "Write @W/package.json",
            "Write @W/.gitattributes",
            "Write @W/src/header.rs",
            "Write @W/hooks/use.ts",
            "Write @W/config",
        ],
        expect![[r#"
            ASK   "Write @W/.githooks/pre-commit": @W/.githooks/pre-commit is protected: what `.githooks` says may be run later
            ASK   "Write @W/.pre-commit-config.yaml": @W/.pre-commit-config.yaml is protected: what `.pre-commit-config.yaml` says may be run later
            ASK   "Write @W/.bash_aliases": @W/.bash_aliases is protected: what `.bash_aliases` says may be run later
            ASK   "Write @W/.inputrc": @W/.inputrc is protected: what `.inputrc` says may be run later
            ASK   "Write @W/.config/fish/config.fish": @W/.config/fish/config.fish is protected: what `.config/fish` says may be run later
            ASK   "Write @W/.config/nvim/init.lua": @W/.config/nvim/init.lua is protected: what `.config/nvim` says may be run later
            ASK   "Write @W/.vimrc": @W/.vimrc is protected: what `.vimrc` says may be run later
            ASK   "Write @W/.dir-locals.el": @W/.dir-locals.el is protected: what `.dir-locals.el` says may be run later
            ASK   "Write @W/.zed/tasks.json": @W/.zed/tasks.json is protected: what `.zed` says may be run later
            ASK   "Write @W/team.code-workspace": @W/team.code-workspace is protected: what `.code-workspace` says may be run later
            ASK   "Write @W/.devcontainer.json": @W/.devcontainer.json is protected: what `.devcontainer.json` says may be run later
            ASK   "Write @W/.claude.json": @W/.claude.json is protected: what `.claude.json` says may be run later
            ASK   "Write @W/.claude/plugins/x.json": @W/.claude/plugins/x.json is protected: what `.claude` says may be run later
            ASK   "Write @W/.claude/reverie-trust.json": @W/.claude/reverie-trust.json is protected: what `reverie-trust.json` says may be run later
            ASK   "Write @W/.claude/reverie-includes.json": @W/.claude/reverie-includes.json is protected: what `reverie-includes.json` says may be run later
            ASK   "Write @W/new/HEAD": @W/new/HEAD is protected: what `head` says may be run later
            allow "Write @W/.config/nextest.toml": edits inside the workspace are accepted in this session
            allow "Write @W/.github/workflows/test.yml": edits inside the workspace are accepted in this session
            allow "Write @W/package.json": edits inside the workspace are accepted in this session
            allow "Write @W/.gitattributes": edits inside the workspace are accepted in this session
            allow "Write @W/src/header.rs": edits inside the workspace are accepted in this session
            allow "Write @W/hooks/use.ts": edits inside the workspace are accepted in this session
            allow "Write @W/config": edits inside the workspace are accepted in this session
        "#]],
    );
}

/// A `.git` file may lead to a repository of any name, in the workspace too.
#[test]
fn a_repository_is_protected_whatever_its_name() {
    let tree = tree().mode(Mode::AcceptEdits);
    for part in ["bare/objects", "bare/refs", "bare/hooks", "linked/commondir"] {
        fs::create_dir_all(tree.expand(&format!("@W/{part}"))).unwrap();
    }
    for head in ["bare/HEAD", "linked/HEAD"] {
        fs::write(tree.expand(&format!("@W/{head}")), "ref: refs/heads/main").unwrap();
    }
    std::os::unix::fs::symlink("bare/hooks", tree.expand("@W/scripts")).unwrap();
    tree.check(
        &[
            "Edit @W/bare/config",
            "Edit @W/bare/hooks/pre-commit",
            "Edit @W/scripts/pre-commit",
            "Edit @W/linked/config.worktree",
            "Edit @W/bare/checkout/src/config",
            "Edit @W/bare.md",
        ],
        expect![[r#"
            ASK   "Edit @W/bare/config": @W/bare/config is protected: what `.git` says may be run later
            ASK   "Edit @W/bare/hooks/pre-commit": @W/bare/hooks/pre-commit is protected: what `.git` says may be run later
            ASK   "Edit @W/scripts/pre-commit": @W/scripts/pre-commit is protected: what `.git` says may be run later
            ASK   "Edit @W/linked/config.worktree": @W/linked/config.worktree is protected: what `.git` says may be run later
            allow "Edit @W/bare/checkout/src/config": edits inside the workspace are accepted in this session
            allow "Edit @W/bare.md": edits inside the workspace are accepted in this session
        "#]],
    );
}

#[test]
fn the_memory_folder_is_no_place_for_what_another_program_obeys() {
    tree().check(
        &["Write @M/.git/config", "Write @M/.envrc", "Write @M/.history./1", "Write @M/notes.md"],
        expect![[r#"
            ASK   "Write @M/.git/config": @M/.git/config is protected: what `.git` says may be run later
            ASK   "Write @M/.envrc": @M/.envrc is protected: what `.envrc` says may be run later
            DENY  "Write @M/.history./1": `.history` in the memory folder is written by the server alone
            allow "Write @M/notes.md": it writes in a folder that may be written
        "#]],
    );
}

#[test]
fn only_a_rule_that_names_a_protected_file_permits_it() {
    tree().rules(&["Edit(.github/**)", "Edit(.git/hooks/**)", "Edit(src/**)"], &[], &[]).check(
        &[
            "Edit @W/.github/test.yml",
            "Edit @W/.github/.git/config",
            "Edit @W/.git/hooks/pre-commit",
            "Edit @W/.git/config",
            "Edit @W/src/.vscode/tasks.json",
        ],
        expect![[r#"
            allow "Edit @W/.github/test.yml": the rule `Edit(.github/**)` allows it
            ASK   "Edit @W/.github/.git/config": @W/.github/.git/config is protected: what `.git` says may be run later
            allow "Edit @W/.git/hooks/pre-commit": the rule `Edit(.git/hooks/**)` allows it
            ASK   "Edit @W/.git/config": @W/.git/config is protected: what `.git` says may be run later
            ASK   "Edit @W/src/.vscode/tasks.json": @W/src/.vscode/tasks.json is protected: what `.vscode` says may be run later
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
            DENY  "Look git status": plan mode: only commands that change nothing run until the user approves the plan
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
            "Look cat alias/../../O/data/list.txt",
            "Look cat out/../data/list.txt",
            "Look cat < @O/data/list.txt",
            "Look ls && cat @O/data/list.txt",
            "Look find . -newer @O/data/list.txt",
            "Look cat *.rs src/*.rs",
            "Look cat o*/list.txt",
            "Look grep -e @O/data src/main.rs",
            "Look head -n 1 dangling",
        ],
        expect![[r#"
            allow "Look ls": the command changes nothing
            allow "Look cat src/main.rs": the command changes nothing
            allow "Look grep -rn foo src 2>/dev/null": the command changes nothing
            allow "Look cat @W/src/main.rs": the command changes nothing
            ASK   "Look cat @O/data/list.txt": the command only reads, but @O/data/list.txt is outside the workspace
            ASK   "Look cat out/list.txt": the command only reads, but @W/out/list.txt is a link out of the workspace, to @O/data/list.txt
            ASK   "Look cat ../O/data/list.txt": the command only reads, but @O/data/list.txt is outside the workspace
            ASK   "Look cat ~/.ssh/id_rsa": the command may change something
            ASK   "Look cat $HOME/.ssh/id_rsa": the command may change something
            ASK   "Look grep --file=@O/data/list.txt x": the command only reads, but @O/data/list.txt is outside the workspace
            ASK   "Look cat @O/*/list.txt": the command only reads, but @O/data/list.txt is outside the workspace
            ASK   "Look cat ~root/x": the command may change something
            ASK   "Look find / -name x": the command may change something
            ASK   "Look awk '{print $1}' src/main.rs": the command may change something
            allow "Look cat @R/notes.txt": the command changes nothing
            ASK   "Look cat alias/../../O/data/list.txt": the command only reads, but @O/data/list.txt is outside the workspace
            ASK   "Look cat out/../data/list.txt": the command only reads, but @O/data/list.txt is outside the workspace
            ASK   "Look cat < @O/data/list.txt": the command only reads, but @O/data/list.txt is outside the workspace
            ASK   "Look ls && cat @O/data/list.txt": the command only reads, but @O/data/list.txt is outside the workspace
            ASK   "Look find . -newer @O/data/list.txt": the command only reads, but @O/data/list.txt is outside the workspace
            allow "Look cat *.rs src/*.rs": the command changes nothing
            ASK   "Look cat o*/list.txt": the command only reads, but @W/out/list.txt is a link out of the workspace, to @O/data/list.txt
            allow "Look grep -e @O/data src/main.rs": the command changes nothing
            ASK   "Look head -n 1 dangling": the command only reads, but @W/dangling goes through a link that leads nowhere
        "#]],
    );
}

#[test]
fn in_an_untrusted_folder_every_command_is_asked_about_but_what_was_allowed_in_this_session() {
    tree().untrusted().rules(&["Bash(cargo test:*)"], &[], &[]).check(
        &["Look ls", "Look cat src/main.rs", "Bash cargo test", "Bash cargo build", "Read @W/src/main.rs"],
        expect![[r#"
            ASK   "Look ls": this folder is not trusted yet: every command is asked about
            ASK   "Look cat src/main.rs": this folder is not trusted yet: every command is asked about
            ASK   "Bash cargo test": the command may change something
            ASK   "Bash cargo build": the command may change something
            allow "Read @W/src/main.rs": it reads inside the workspace
        "#]],
    );
    let mut tree = tree().untrusted();
    tree.policy.session_rules = vec![Rule::parse("Bash(cargo test:*)").unwrap()];
    tree.check(
        &["Bash cargo test"],
        expect![[r#"
            allow "Bash cargo test": `Bash(cargo test:*)` was allowed for this session
        "#]],
    );
}

#[test]
fn where_nobody_can_be_asked_credentials_of_the_workspace_are_not_read_either() {
    tree().unattended().check(
        &["Read @W/.env", "Grep @W/.git/config", "Read @W/src/main.rs", "Read @M/a.md", "Look cat .env"],
        expect![[r#"
            ASK   "Read @W/.env": @W/.env may hold credentials (`.env`)
            ASK   "Grep @W/.git/config": @W/.git/config may hold credentials (`.git/config`)
            allow "Read @W/src/main.rs": it reads inside the workspace
            allow "Read @M/a.md": it reads in a folder that may be read
            ASK   "Look cat .env": the command may change something
        "#]],
    );
}

#[test]
fn walks_are_asked_about_where_something_below_is_not_to_be_read() {
    let calls = ["Look grep -rn foo src", "Look grep -Rn foo src", "Look ls src", "Look find . -name x"];
    tree().check(&calls, expect![[r#"
        allow "Look grep -rn foo src": the command changes nothing
        ASK   "Look grep -Rn foo src": the command only reads, but follows links, which may lead out of the workspace
        allow "Look ls src": the command changes nothing
        allow "Look find . -name x": the command changes nothing
    "#]]);
    tree().rules(&[], &[], &["Read(.env)"]).check(&calls, expect![[r#"
        ASK   "Look grep -rn foo src": the command only reads, but below @W/src may be files that the rule `Read(.env)` is about
        ASK   "Look grep -Rn foo src": the command only reads, but follows links, which may lead out of the workspace
        allow "Look ls src": the command changes nothing
        allow "Look find . -name x": the command changes nothing
    "#]]);
    tree().rules(&[], &[], &["Edit(.env)"]).check(&calls, expect![[r#"
        allow "Look grep -rn foo src": the command changes nothing
        ASK   "Look grep -Rn foo src": the command only reads, but follows links, which may lead out of the workspace
        allow "Look ls src": the command changes nothing
        allow "Look find . -name x": the command changes nothing
    "#]]);
    let mut tree = tree();
    tree.policy.roots = vec![tree.policy.home.clone()];
    tree.check(
        &["Look grep -rn foo .", "Look grep -rn foo src", "Look cat .ssh/id_rsa"],
        expect![[r#"
        ASK   "Look grep -rn foo .": the command only reads, but credentials may lie below @H
        allow "Look grep -rn foo src": the command changes nothing
        ASK   "Look cat .ssh/id_rsa": the command may change something
    "#]],
    );
}

/// What is judged is what will be written, wherever the path leads by now.
#[test]
fn a_write_is_judged_by_where_it_led_when_it_was_announced() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (root, link) = (base.join("root"), base.join("root/link"));
    fs::create_dir_all(base.join("outside")).unwrap();
    fs::create_dir_all(&root).unwrap();
    std::os::unix::fs::symlink(base.join("outside"), &link).unwrap();
    let policy = Policy { mode: Mode::AcceptEdits, roots: vec![root], ..Policy::default() };
    let led_outside = Access::write(link.join("file"));
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    assert!(matches!(decide("Write", &led_outside, &policy), Decision::Ask { .. }));
    let leads_inside = Access::write(link.join("file"));
    assert!(matches!(decide("Write", &leads_inside, &policy), Decision::Allow { .. }));
}

/// `/proc/self/cwd` is our own folder here, and the command's when it runs.
#[test]
#[cfg(target_os = "linux")]
fn a_link_that_every_process_sees_differently_is_asked_about() {
    let tree = tree();
    std::os::unix::fs::symlink("/proc/self", tree.expand("@W/p")).unwrap();
    std::os::unix::fs::symlink("/dev/fd", tree.expand("@W/fd")).unwrap();
    tree.check(
        &[
            "Read @W/p/cwd/src/main.rs",
            "Read @W/p/root/etc/passwd",
            "Read @W/fd/0",
            "Grep @W/p/cwd",
            "Write @W/p/cwd/new",
            "Look cat p/cwd/src/main.rs",
            "Look ls p/cwd",
            "Look cat < fd/0",
        ],
        expect![[r#"
            ASK   "Read @W/p/cwd/src/main.rs": @W/p/cwd/src/main.rs goes through a link that leads nowhere
            ASK   "Read @W/p/root/etc/passwd": @W/p/root/etc/passwd goes through a link that leads nowhere
            ASK   "Read @W/fd/0": @W/fd/0 goes through a link that leads nowhere
            ASK   "Grep @W/p/cwd": @W/p/cwd goes through a link that leads nowhere
            ASK   "Write @W/p/cwd/new": @W/p/cwd/new goes through a link that leads nowhere
            ASK   "Look cat p/cwd/src/main.rs": the command may change something
            ASK   "Look ls p/cwd": the command may change something
            ASK   "Look cat < fd/0": the command may change something
        "#]],
    );
    // For a tool it is what it is for us: a rule that denies that holds.
    let here = std::env::current_dir().unwrap().canonicalize().unwrap();
    let mut tree = tree.rules(&[], &[], &[&format!("Read(/{}/**)", here.display())]).mode(Mode::Bypass);
    tree.policy.roots.clear();
    let read = |path: &str| decide("Read", &Access::Read { path: tree.expand(path).into() }, &tree.policy);
    assert!(matches!(read("@W/p/cwd/Cargo.toml"), Decision::Deny { .. }));
    assert!(matches!(read("@W/p/cwd/missing/file"), Decision::Deny { .. }));
    assert!(matches!(read("@W/p/root/x"), Decision::Allow { .. }));
}
