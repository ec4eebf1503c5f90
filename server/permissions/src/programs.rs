//! Programs that run other programs.
//!
//! A rule that allows one "with any arguments" allows everything, and a command hides behind one from a rule that
//! denies it: what is suggested and what is restricted read the same list.

/// By name without a version, in the order of the alphabet.
const RUNNERS: &[&str] = &[
    "R",
    "Rscript",
    "ash",
    "at",
    "awk",
    "bash",
    "batch",
    "builtin",
    "bunx",
    "busybox",
    "bwrap",
    "chroot",
    "chrt",
    "command",
    "crontab",
    "csh",
    "dash",
    "doas",
    "ed",
    "emacs",
    "emacsclient",
    "entr",
    "env",
    "eval",
    "ex",
    "exec",
    "expect",
    "fd",
    "fdfind",
    "find",
    "firejail",
    "fish",
    "flock",
    "gawk",
    "gdb",
    "gsed",
    "guile",
    "ionice",
    "ipython",
    "irb",
    "julia",
    "ksh",
    "lldb",
    "ltrace",
    "lua",
    "luajit",
    "mawk",
    "nawk",
    "nice",
    "nix-shell",
    "node",
    "nodejs",
    "nohup",
    "nsenter",
    "nvim",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pipx",
    "pkexec",
    "powershell",
    "pwsh",
    "pypy",
    "python",
    "ruby",
    "runuser",
    "screen",
    "script",
    "sed",
    "setarch",
    "setsid",
    "sh",
    "source",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "tar",
    "taskset",
    "tclsh",
    "tcsh",
    "time",
    "timeout",
    "tmux",
    "toybox",
    "ts-node",
    "tsx",
    "unshare",
    "uvx",
    "valgrind",
    "vi",
    "view",
    "vim",
    "watch",
    "xargs",
    "zsh",
];

/// Programs of many uses, and the subcommands with which they run what they are given or told to fetch. The tasks
/// that a project defines (`npm run`, `make`) are not meant: users want to allow those.
const RUNNING_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("bun", &["x"]),
    ("bundle", &["exec"]),
    ("cargo", &["watch"]),
    ("deno", &["eval", "run"]),
    ("docker", &["compose", "exec", "run"]),
    ("gh", &["alias", "extension"]),
    ("git", &["bisect", "config", "difftool", "filter-branch", "mergetool", "rebase", "submodule"]),
    ("go", &["generate", "run"]),
    ("kubectl", &["debug", "exec", "run"]),
    ("nix", &["develop", "run", "shell"]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["dlx", "exec"]),
    ("podman", &["compose", "exec", "run"]),
    ("poetry", &["run"]),
    ("rails", &["runner"]),
    ("uv", &["run"]),
    ("yarn", &["dlx", "exec", "node"]),
];

/// Whether the program runs whatever its arguments say.
pub(crate) fn is_runner(program: &str) -> bool {
    let name = file_name(program);
    // `python3.12` and `vim.tiny` are python and vim.
    let without_version =
        name.trim_end_matches(|character: char| character.is_ascii_digit() || ".-".contains(character));
    let before_dot = name.split_once('.').map_or(name, |(before, _)| before);
    [name, without_version, before_dot].iter().any(|name| RUNNERS.contains(name))
}

/// Likewise, with what follows the program's name.
pub(crate) fn runs_others(program: &str, subcommand: Option<&str>) -> bool {
    let runs_with = |subcommand| {
        let known = RUNNING_SUBCOMMANDS.iter().find(|(name, _)| *name == file_name(program));
        known.is_some_and(|(_, subcommands)| subcommands.contains(&subcommand))
    };
    is_runner(program) || subcommand.is_some_and(runs_with)
}

pub(crate) fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_folders_hide_no_runner() {
        for program in
            ["python", "python3", "python3.12", "python-3.12", "/usr/bin/lua5.4", "vim.tiny", "perl5.36.0"]
        {
            assert!(is_runner(program), "{program}");
        }
        for program in ["cargo", "make", "pytest", "npm", "3", "", "finder", "python_app", "shfmt"] {
            assert!(!is_runner(program), "{program}");
        }
    }

    #[test]
    fn some_subcommands_run_others() {
        assert!(runs_others("kubectl", Some("exec")));
        assert!(runs_others("/usr/bin/git", Some("bisect")));
        assert!(!runs_others("kubectl", Some("get")));
        assert!(!runs_others("npm", Some("run")));
        assert!(!runs_others("kubectl", None));
    }
}
