//! The programs that change nothing, and the options with which that is so. One row each; what is not here is refused.
//!
//! Left out on purpose: whatever writes (`sort -o`, `tree -o`, `tree -R`, `file -C`, `file -p`), runs other programs
//! (`rg --pre`, `rg -z`, `file -z`, `diff -l`, `sort --compress-program`), never ends (`tail -f`), sets something
//! (`date -s`) or reads the names of its operands from a file (`wc --files0-from`).

use super::operand::Use;
use Value::{File, Format, Number, OneOf, Pair, PairFile, Pattern, Text, Time, Width};

#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Letters without a value.
    pub(super) flags: &'static str,
    /// Letters with one.
    pub(super) valued: &'static [(Value, &'static str)],
    /// Whether `-20` is a count.
    pub(super) numbers: bool,
    /// Whole words that are options, where neither letters nor long names fit.
    pub(super) exact: &'static [&'static str],
    /// Names without a value, with blanks between.
    pub(super) long: &'static str,
    /// Names with one.
    pub(super) long_valued: &'static [(Value, &'static str)],
    /// With a value behind `=`, or none.
    pub(super) long_optional: &'static [(Value, &'static str)],
    /// How a value may be written.
    pub(super) values: Values,
    /// Whether `--help` and `--version` print and end.
    pub(super) tells_of_itself: bool,
    /// Whether `--` ends the options.
    pub(super) words_after_dashes: bool,
    pub(super) operands: Operands,
    pub(super) operand_use: Use,
    /// Whether a file that is called like an option may become one, whichever it is.
    pub(super) options_are_harmless: bool,
    /// Whether `+5` is an option of old: `tail +5f` never ends.
    pub(super) plus_is_option: bool,
    /// Whether operands that are no files are formats.
    pub(super) formats: bool,
    pub(super) walk: Walk,
    /// Options with which it follows the links that it comes across.
    pub(super) through_links: &'static [&'static str],
    /// Words put before all others.
    pub(super) forced: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text,
    /// A pattern for names of files, which may be unquoted behind a `=`.
    Pattern,
    Number,
    /// A number that is as many blanks.
    Width,
    /// A format of printf or strftime.
    Format,
    /// A format of `git log`.
    GitFormat,
    /// Lines of a file as `git log` takes them: `1,5:file`, `:function:file`.
    Lines,
    /// A date as people write it.
    Time,
    /// A file that is read.
    File,
    OneOf(&'static [&'static str]),
    /// Two words: a name and a value.
    Pair,
    /// Two words: a name and a file that is read.
    PairFile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// Any number; without one, what [`Without`] says.
    Files(Without),
    /// At most one: a second would be written.
    OneFile,
    TwoFiles,
    /// A pattern, unless one of these options gave it, then files.
    PatternThenFiles(&'static [&'static str], Without),
    /// A filter of jq, then files.
    FilterThenFiles,
    /// Words that are no files, so many at most, and what each must begin with; whether stdin is read.
    Words(usize, &'static str, Stdin),
    /// Words that are printed, but for options without any effect on others.
    Printed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// In the option's word or the next.
    Getopt,
    /// In the next word only: further letters in the same word are options of their own.
    NextWord,
    /// In the option's word; in the next only if that is harmless as an operand, too. For programs whose options do
    /// not all read alike.
    Wary,
}

/// What is read when no file is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Without {
    Stdin,
    Folder,
    /// The folder on a walk, else stdin.
    FolderOnWalk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stdin {
    Read,
    Ignored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    Never,
    /// Over names, with these options.
    Names(&'static [&'static str]),
    /// Over names, always.
    AlwaysNames,
    /// Over the text of files, with these options.
    Text(&'static [&'static str]),
    AlwaysText,
}

pub(super) const PLAIN: Program = Program {
    name: "",
    flags: "",
    valued: &[],
    numbers: false,
    exact: &[],
    long: "",
    long_valued: &[],
    long_optional: &[],
    values: Values::Getopt,
    tells_of_itself: true,
    words_after_dashes: true,
    operands: Operands::Files(Without::Stdin),
    operand_use: Use::Opened,
    options_are_harmless: false,
    plus_is_option: false,
    formats: false,
    walk: Walk::Never,
    through_links: &[],
    forced: &[],
};

pub(super) fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// `find` and `git` have grammars of their own.
const PROGRAMS: &[Program] = &[
    Program {
        name: "ls",
        flags: "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1",
        valued: &[(Pattern, "I"), (Width, "Tw")],
        long: "all almost-all author escape ignore-backups directory dired group-directories-first \
            no-group human-readable si dereference-command-line \
            dereference-command-line-symlink-to-dir inode kibibytes numeric-uid-gid literal hide-control-chars \
            show-control-chars quote-name reverse recursive size dereference context zero full-time \
            file-type",
        long_valued: &[
            (Text, "block-size indicator-style quoting-style sort time format"),
            (Format, "time-style"),
            (Pattern, "ignore hide"),
            (Width, "tabsize width"),
        ],
        long_optional: &[(Text, "classify color hyperlink")],
        operands: Operands::Files(Without::Folder),
        operand_use: Use::Named,
        walk: Walk::Names(&["R", "recursive"]),
        through_links: &["L", "dereference"],
        ..PLAIN
    },
    Program {
        name: "cat",
        flags: "AbeEnstTuv",
        long: "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting",
        options_are_harmless: true,
        ..PLAIN
    },
    Program {
        name: "head",
        flags: "qvz",
        valued: &[(Number, "nc")],
        numbers: true,
        long: "quiet silent verbose zero-terminated",
        long_valued: &[(Number, "lines bytes")],
        ..PLAIN
    },
    Program {
        name: "tail",
        flags: "qvz",
        valued: &[(Number, "nc")],
        numbers: true,
        long: "quiet silent verbose zero-terminated",
        long_valued: &[(Number, "lines bytes")],
        plus_is_option: true,
        ..PLAIN
    },
    Program {
        name: "wc",
        flags: "cmlLw",
        long: "bytes chars lines max-line-length words",
        long_valued: &[(OneOf(&["auto", "always", "only", "never"]), "total")],
        ..PLAIN
    },
    Program {
        name: "stat",
        flags: "fLt",
        valued: &[(Format, "c")],
        long: "file-system dereference terse",
        long_valued: &[(Format, "format printf")],
        // Without an operand it says so and ends.
        operands: Operands::Files(Without::Folder),
        operand_use: Use::Named,
        ..PLAIN
    },
    Program {
        name: "grep",
        flags: "EFGPiyvwxcLloqsbHhnTUzaIrRZ",
        valued: &[
            (Number, "ABCm"),
            (Text, "e"),
            (File, "f"),
            (OneOf(&["read", "skip"]), "d"),
            (OneOf(&["skip"]), "D"),
        ],
        numbers: true,
        long: "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case \
            invert-match word-regexp line-regexp count files-without-match files-with-matches \
            only-matching quiet silent no-messages byte-offset with-filename no-filename \
            line-number initial-tab null text recursive dereference-recursive line-buffered null-data \
            binary no-group-separator",
        long_valued: &[
            (Text, "regexp label group-separator"),
            (File, "file exclude-from"),
            (Number, "max-count after-context before-context context"),
            (OneOf(&["binary", "text", "without-match"]), "binary-files"),
            (OneOf(&["read", "skip"]), "directories"),
            (OneOf(&["skip"]), "devices"),
            (Pattern, "include exclude exclude-dir"),
        ],
        long_optional: &[(Text, "color colour")],
        operands: Operands::PatternThenFiles(&["e", "regexp", "f", "file"], Without::FolderOnWalk),
        walk: Walk::Text(&["r", "recursive", "R", "dereference-recursive"]),
        through_links: &["R", "dereference-recursive"],
        ..PLAIN
    },
    Program {
        name: "rg",
        flags: ".0abcFHIiLlNnoPpqSsUuvwx",
        valued: &[(Number, "ABCjMmd"), (Text, "eErtT"), (File, "f"), (Pattern, "g")],
        long: "text byte-offset block-buffered line-buffered binary case-sensitive ignore-case \
            smart-case column no-column count count-matches crlf files files-with-matches \
            files-without-match fixed-strings follow no-follow glob-case-insensitive heading \
            no-heading hidden no-hidden include-zero invert-match json line-number no-line-number \
            line-regexp max-columns-preview mmap no-mmap multiline multiline-dotall no-config \
            no-filename with-filename no-ignore no-ignore-dot no-ignore-exclude no-ignore-files \
            no-ignore-global no-ignore-parent no-ignore-vcs no-messages no-ignore-messages null \
            null-data one-file-system only-matching passthru pcre2 pretty quiet stats trim \
            type-list no-unicode unrestricted vimgrep word-regexp",
        long_valued: &[
            (
                Number,
                "after-context before-context context max-columns max-count max-depth maxdepth \
                threads",
            ),
            (
                Text,
                "color colors encoding engine regexp max-filesize replace sort sortr type \
                type-not type-add type-clear context-separator path-separator",
            ),
            (File, "file ignore-file"),
            (Pattern, "glob iglob"),
        ],
        operands: Operands::PatternThenFiles(
            &["e", "regexp", "f", "file", "files", "type-list"],
            Without::Folder,
        ),
        walk: Walk::AlwaysText,
        through_links: &["L", "follow"],
        // A file that the environment names could add `--pre`.
        forced: &["--no-config"],
        ..PLAIN
    },
    Program {
        name: "sort",
        flags: "bdfghiMnRrVcCmsuz",
        valued: &[(Text, "kt")],
        long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort \
            ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse \
            version-sort merge stable unique zero-terminated debug",
        long_valued: &[(Text, "key field-separator sort")],
        long_optional: &[(Text, "check")],
        plus_is_option: true,
        ..PLAIN
    },
    Program {
        name: "uniq",
        flags: "cdDiuz",
        valued: &[(Number, "fsw")],
        long: "count repeated ignore-case unique zero-terminated",
        long_valued: &[(Number, "skip-fields skip-chars check-chars")],
        long_optional: &[(Text, "all-repeated group")],
        operands: Operands::OneFile,
        plus_is_option: true,
        ..PLAIN
    },
    Program {
        name: "cut",
        flags: "nsz",
        valued: &[(Text, "bcdf")],
        long: "complement only-delimited zero-terminated",
        long_valued: &[(Text, "bytes characters delimiter fields output-delimiter")],
        ..PLAIN
    },
    Program {
        name: "tr",
        flags: "cCdst",
        long: "complement delete squeeze-repeats truncate-set1",
        operands: Operands::Words(2, "", Stdin::Read),
        ..PLAIN
    },
    Program {
        name: "diff",
        flags: "abBcdeEiNnPpqrstTuwyZ",
        valued: &[(Number, "UC"), (Width, "W"), (Text, "IFSL"), (Pattern, "x"), (File, "X")],
        long: "normal brief report-identical-files ed rcs side-by-side left-column \
            suppress-common-lines show-c-function expand-tabs initial-tab suppress-blank-empty recursive \
            no-dereference new-file unidirectional-new-file ignore-file-name-case \
            no-ignore-file-name-case ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change \
            ignore-all-space ignore-blank-lines text strip-trailing-cr minimal speed-large-files",
        long_valued: &[
            (Number, "horizon-lines"),
            (Width, "width tabsize"),
            (Text, "show-function-line label starting-file ignore-matching-lines"),
            (Pattern, "exclude"),
            (File, "exclude-from"),
        ],
        long_optional: &[(Number, "context unified"), (Text, "color")],
        operands: Operands::TwoFiles,
        walk: Walk::Text(&["r", "recursive"]),
        through_links: &["r", "recursive"],
        ..PLAIN
    },
    Program {
        name: "file",
        flags: "bhikLNnr0E",
        valued: &[(Text, "Fe")],
        long: "brief mime mime-type mime-encoding keep-going dereference no-dereference no-buffer \
            no-pad print0 raw extension apple",
        long_valued: &[(Text, "separator exclude")],
        operands: Operands::Files(Without::Folder),
        ..PLAIN
    },
    Program {
        name: "du",
        flags: "0abcDHhklLmPsSx",
        valued: &[(Number, "dt"), (Text, "B"), (File, "X")],
        long: "null all apparent-size bytes total dereference-args human-readable si count-links \
            dereference no-dereference separate-dirs summarize one-file-system inodes",
        long_valued: &[
            (Number, "max-depth threshold"),
            (Text, "block-size"),
            (Format, "time-style"),
            (Pattern, "exclude"),
            (File, "exclude-from"),
        ],
        long_optional: &[(Text, "time")],
        operands: Operands::Files(Without::Folder),
        operand_use: Use::Named,
        walk: Walk::AlwaysNames,
        through_links: &["L", "dereference"],
        ..PLAIN
    },
    Program {
        name: "pwd",
        flags: "LP",
        long: "logical physical",
        // A folder that was reached by a link keeps its name.
        forced: &["-L"],
        operands: Operands::Words(0, "", Stdin::Ignored),
        ..PLAIN
    },
    Program { name: "echo", operands: Operands::Printed, ..PLAIN },
    Program {
        name: "date",
        flags: "uR",
        valued: &[(Time, "d"), (File, "r")],
        // Whatever follows the letter in the same word is its value.
        exact: &["-I", "-Idate", "-Ihours", "-Iminutes", "-Iseconds", "-Ins"],
        long: "utc universal rfc-email debug",
        long_valued: &[(Time, "date"), (File, "reference"), (OneOf(&["date", "seconds", "ns"]), "rfc-3339")],
        long_optional: &[(OneOf(&["date", "hours", "minutes", "seconds", "ns"]), "iso-8601")],
        // Anything else sets the clock.
        operands: Operands::Words(1, "+", Stdin::Ignored),
        formats: true,
        ..PLAIN
    },
    Program {
        name: "tree",
        flags: "adfilQNpugshDFqrtcUvSnACXJx",
        valued: &[(Number, "L"), (Pattern, "PI")],
        long: "dirsfirst filesfirst prune noreport nolinks inodes device du si matchdirs \
            ignore-case gitignore",
        long_valued: &[(Text, "charset sort"), (Format, "timefmt"), (Number, "filelimit")],
        values: Values::NextWord,
        operands: Operands::Files(Without::Folder),
        operand_use: Use::Named,
        walk: Walk::AlwaysNames,
        through_links: &["l"],
        ..PLAIN
    },
    Program {
        name: "jq",
        flags: "ncCMaSrjesR",
        long: "null-input compact-output color-output monochrome-output ascii-output sort-keys \
            raw-output join-output exit-status slurp raw-input tab seq stream unbuffered",
        long_valued: &[(Number, "indent"), (Pair, "arg argjson"), (PairFile, "slurpfile rawfile")],
        // Versions differ in what `--` means.
        words_after_dashes: false,
        operands: Operands::FilterThenFiles,
        ..PLAIN
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_option_is_listed_twice() {
        for program in PROGRAMS {
            let letters = program.valued.iter().map(|(_, letters)| *letters).chain([program.flags]);
            let letters = letters.flat_map(str::chars).map(String::from);
            let valued = program.long_valued.iter().chain(program.long_optional).map(|(_, names)| *names);
            let names =
                valued.chain([program.long]).flat_map(str::split_whitespace).map(|name| format!("--{name}"));
            let mut seen = HashSet::new();
            for option in letters.chain(names) {
                assert!(!option.ends_with('-') || option.len() == 1, "{} {option}", program.name);
                assert!(seen.insert(option.clone()), "{} {option}", program.name);
            }
        }
    }
}
