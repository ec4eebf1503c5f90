//! `git`: seven subcommands that look, run so that what the repository says can run nothing.
//!
//! A repository's configuration may name programs: filters, monitors, drivers, pagers, transports. Keys that have one
//! name are overridden; those with any name (`filter.x.clean`, `diff.x.textconv`) cannot be, so a repository whose own
//! configuration holds more than the usual is not judged at all. The user's own configuration is the user's.

mod config;
mod pathspec;

use std::path::{Component, Path, PathBuf};

use super::{
    Effects, Forced,
    operand::{self, Dashes, Use},
    options::{self, Given},
    table::{
        PLAIN, Program,
        Value::{Format, GitFormat, Lines, Number, OneOf, Pattern, Text},
        Values,
    },
    word::{Word, quote},
};
use crate::{
    access::Reach,
    paths::{clean, follow},
};

/// Before the subcommand. Each is the last word on its key, whatever a file says.
pub(super) const GLOBAL: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.pager=cat",
    "-c",
    "core.sshCommand=false",
    "-c",
    "core.gitProxy=",
    "-c",
    "protocol.allow=never",
    "-c",
    "credential.helper=",
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "diff.autoRefreshIndex=false",
    "-c",
    "diff.submodule=short",
    "-c",
    "log.showSignature=false",
    "-c",
    "log.diffMerges=separate",
    "-c",
    "gpg.program=false",
    "-c",
    "gpg.openpgp.program=false",
    "-c",
    "gpg.ssh.program=false",
    "-c",
    "gpg.x509.program=false",
    "-c",
    "status.submoduleSummary=false",
    "-c",
    "format.pretty=medium",
];

pub(super) const ENVIRONMENT: &str =
    "GIT_OPTIONAL_LOCKS=0 GIT_NO_LAZY_FETCH=1 GIT_ALLOW_PROTOCOL=none GIT_TERMINAL_PROMPT=0 GIT_PAGER=cat ";

/// Behind the subcommand.
const NO_DRIVERS: &[&str] = &["--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];

/// Options before the subcommand that change nothing.
const HARMLESS: &[&str] = &["--no-pager", "-P", "--no-optional-locks"];

pub(super) fn judge(words: &[Word], cwd: &Path, effects: &mut Effects) -> Result<(), String> {
    let literal = |word: &Word| word.literal().unwrap_or_default().to_owned();
    let before = words.iter().take_while(|word| HARMLESS.contains(&literal(word).as_str())).count();
    let Some(subcommand) = words.get(before).map(literal) else {
        return Err("`git` alone is not on the list".to_owned());
    };
    let Some(command) =
        COMMANDS.iter().find(|command| command.program.name.strip_prefix("git ") == Some(&*subcommand))
    else {
        return Err(format!("`git {subcommand}` is not on the list"));
    };
    let given = options::read(&command.program, words.get(before + 1..).unwrap_or_default())?;
    for word in &given.patterns {
        operand::option(word, cwd)?;
    }
    operands(&given, cwd, effects)?;
    // Git goes by the real folder, whatever it is called here.
    let real = cwd.canonicalize().map_err(|_| format!("{} cannot be read", cwd.display()))?;
    let repository = config::check(&real)?;
    if command.program.name == DIFF.name {
        stays_inside(&given, &real, repository.as_deref())?;
    }
    let root = repository.unwrap_or(real);
    let shows_text = command.shows_text || given.has(SHOWING_TEXT) || given.has(&["S", "G", "L"]);
    effects.reach = effects.reach.max(if shows_text { Reach::Below } else { Reach::Named });
    effects.reads.push(cwd.to_owned());
    effects.forced =
        Forced { environment: environment(&root)?, words: vec![(0, GLOBAL), (before + 1, command.forced)] };
    Ok(())
}

/// Git looks for a repository up to this folder and no further: one above it was not looked at here. Naming the
/// repository itself would keep git from asking whose it is.
pub(super) fn environment(root: &Path) -> Result<String, String> {
    let mut environment = ENVIRONMENT.to_owned();
    let Some(above) = root.parent() else { return Ok(environment) };
    // A colon begins another folder.
    let Some(above) = above.to_str().filter(|above| !above.contains(':')) else {
        return Err(format!("{} cannot be named to git", above.display()));
    };
    environment.push_str("GIT_CEILING_DIRECTORIES=");
    quote(above, &mut environment);
    environment.push(' ');
    Ok(environment)
}

/// Revisions and paths cannot be told apart here: whatever may be a path is checked as one.
fn operands(given: &Given<'_>, cwd: &Path, effects: &mut Effects) -> Result<(), String> {
    for (index, word) in given.operands.iter().enumerate() {
        if word.is_home {
            return Err("it has an operand whose value is not known here".to_owned());
        }
        if word.is_pattern() {
            let dashes = if given.is_plain(index) { Dashes::Harmless } else { Dashes::Refused };
            effects.reads.extend(operand::files(word, cwd, Use::Opened, dashes)?);
        }
        for text in word.texts() {
            let path = operand(text, cwd)?;
            let goes_up = Path::new(text).components().any(|part| part == Component::ParentDir);
            if path.exists() || goes_up || text.starts_with('/') {
                effects.reads.push(path);
            }
        }
    }
    given.lines.iter().try_for_each(|text| operand(text, cwd).map(|_| ()))
}

/// As a path, and with the paths that may be part of it: `HEAD:path`, `HEAD:a..HEAD:b`, `:(exclude)path`, `1,5:path`.
fn operand(text: &str, cwd: &Path) -> Result<PathBuf, String> {
    for part in text.split([':', ')']).skip(1) {
        let before_dots = part.split("..").next().filter(|start| !start.is_empty());
        for path in [Some(part), before_dots].into_iter().flatten() {
            operand::file(path, cwd, Use::Opened)?;
        }
    }
    pathspec::check(text)?;
    operand::file(text, cwd, Use::Opened)
}

/// `git diff` of two paths of which one is outside is a walk through both, whatever lies there.
fn stays_inside(given: &Given<'_>, cwd: &Path, repository: Option<&Path>) -> Result<(), String> {
    let Some(root) = repository else {
        return Err("`git diff` outside of a repository compares whatever it is given".to_owned());
    };
    for text in given.operands.iter().flat_map(|word| word.texts()) {
        let written = cwd.join(text);
        let is_inside = |path: &Path| path.starts_with(root);
        if !is_inside(&clean(&written)) || !follow(&written).is_none_or(|real| is_inside(&real)) {
            return Err(format!("`git diff` with `{text}`, outside of the repository, is not on the list"));
        }
    }
    Ok(())
}

struct Command {
    program: Program,
    /// Whether it shows the text of files without being asked to.
    shows_text: bool,
    forced: &'static [&'static str],
}

const COMMANDS: &[Command] = &[
    Command { program: LOG, shows_text: false, forced: NO_DRIVERS },
    Command { program: Program { name: "git show", ..LOG }, shows_text: true, forced: NO_DRIVERS },
    Command { program: DIFF, shows_text: true, forced: NO_DRIVERS },
    Command { program: STATUS, shows_text: false, forced: &["--ignore-submodules=dirty"] },
    Command { program: BLAME, shows_text: true, forced: &["--no-textconv"] },
    Command { program: REV_PARSE, shows_text: false, forced: &[] },
    Command { program: LS_FILES, shows_text: false, forced: &[] },
];

/// `--help` would run `man`.
const GIT: Program = Program { values: Values::Wary, tells_of_itself: false, ..PLAIN };

/// Options of `git log` that show the text of files.
const SHOWING_TEXT: &[&str] =
    &["p", "u", "c", "U", "W", "patch", "unified", "cc", "patch-with-stat", "word-diff", "function-context"];

const LOG: Program = Program {
    name: "git log",
    flags: "pqusmcziEFPwbaRrtMCWg",
    valued: &[(Number, "nUl"), (Text, "SG"), (Lines, "L")],
    numbers: true,
    long: "oneline graph all no-decorate shortstat numstat name-only name-status summary patch \
        no-patch raw patch-with-stat reverse merges no-merges first-parent follow no-color \
        abbrev-commit no-abbrev-commit full-history simplify-merges ancestry-path topo-order date-order \
        author-date-order relative-date parents children left-right cherry-pick cherry-mark \
        cherry left-only right-only walk-reflogs boundary source show-pulls full-diff minimal \
        patience histogram ignore-space-change ignore-all-space ignore-space-at-eol \
        ignore-blank-lines ignore-cr-at-eol function-context no-renames no-notes dense sparse \
        simplify-by-decoration not invert-grep all-match regexp-ignore-case extended-regexp fixed-strings \
        perl-regexp basic-regexp text full-index exit-code quiet no-prefix compact-summary cc \
        combined-all-paths no-mailmap use-mailmap pickaxe-regex pickaxe-all no-ext-diff \
        no-textconv no-expand-tabs",
    long_valued: &[
        (Number, "max-count skip inter-hunk-context max-parents min-parents stat-width"),
        (
            Text,
            "since until after before author committer grep diff-filter \
            diff-algorithm decorate-refs decorate-refs-exclude word-diff-regex glob exclude \
            ws-error-highlight color-moved encoding",
        ),
        (Format, "date"),
        (GitFormat, "format"),
        (OneOf(DIFF_MERGES), "diff-merges"),
    ],
    long_optional: &[
        (
            Text,
            "decorate stat branches tags remotes find-renames find-copies word-diff color \
            dirstat color-words relative notes show-notes",
        ),
        (OneOf(&["sorted", "unsorted"]), "no-walk"),
        (GitFormat, "pretty"),
        (Number, "abbrev unified"),
    ],
    ..GIT
};

/// All but `remerge`, which merges anew and writes what comes of it.
const DIFF_MERGES: &[&str] =
    &["off", "none", "on", "m", "first-parent", "1", "separate", "combined", "c", "dense-combined", "cc"];

const DIFF: Program = Program {
    name: "git diff",
    flags: "puszwbaRMCW",
    valued: &[(Number, "Ul"), (Text, "SG")],
    long: "cached staged merge-base shortstat numstat name-only name-status summary patch no-patch \
        raw patch-with-stat no-color minimal patience histogram ignore-space-change \
        ignore-all-space ignore-space-at-eol ignore-blank-lines ignore-cr-at-eol function-context \
        no-renames text full-index exit-code quiet no-prefix compact-summary check pickaxe-regex \
        pickaxe-all base ours theirs no-ext-diff no-textconv",
    long_valued: &[
        (
            Text,
            "diff-filter diff-algorithm word-diff-regex src-prefix dst-prefix line-prefix \
            ws-error-highlight color-moved",
        ),
        (Number, "inter-hunk-context"),
    ],
    long_optional: &[
        (Text, "stat find-renames find-copies word-diff color dirstat color-words relative"),
        (Number, "abbrev unified"),
    ],
    ..GIT
};

const STATUS: Program = Program {
    name: "git status",
    flags: "sbzu",
    exact: &["-uno", "-unormal", "-uall"],
    long: "short branch show-stash long null ahead-behind no-ahead-behind no-renames no-column",
    long_optional: &[
        (OneOf(&["v1", "v2"]), "porcelain"),
        (OneOf(&["no", "normal", "all"]), "untracked-files"),
        (OneOf(&["no", "traditional", "matching"]), "ignored"),
        (Text, "find-renames"),
    ],
    ..GIT
};

const BLAME: Program = Program {
    name: "git blame",
    flags: "bcefltnspwMC",
    valued: &[(Lines, "L")],
    long: "root show-stats porcelain line-porcelain incremental show-email show-name show-number \
        color-lines color-by-age first-parent no-progress no-textconv no-ext-diff",
    long_valued: &[(Text, "since ignore-rev"), (Format, "date"), (Number, "abbrev")],
    ..GIT
};

const REV_PARSE: Program = Program {
    name: "git rev-parse",
    flags: "q",
    long: "verify quiet symbolic symbolic-full-name all is-inside-work-tree is-inside-git-dir \
        is-bare-repository is-shallow-repository show-toplevel show-prefix show-cdup git-dir \
        absolute-git-dir git-common-dir show-superproject-working-tree",
    long_optional: &[
        (OneOf(&["strict", "loose"]), "abbrev-ref"),
        (Number, "short"),
        (Text, "branches tags remotes show-object-format"),
    ],
    ..GIT
};

const LS_FILES: Program = Program {
    name: "git ls-files",
    flags: "cdmoiskutvzf",
    valued: &[(Pattern, "x")],
    long: "cached deleted modified others ignored stage unmerged killed directory \
        no-empty-directory eol full-name error-unmatch exclude-standard debug deduplicate",
    long_valued: &[(Pattern, "exclude")],
    long_optional: &[(Number, "abbrev")],
    ..GIT
};
