//! Lines like those that are accepted, but for a little: seeded, so that every run sees the same.

pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit.max(1)
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Accepted lines of the programs that the corpus does not know, and of what it does not try.
pub const MORE_LINES: &[&str] = &[
    "sort -rn -k2,2 README.md | uniq -c | head -3",
    "cut -d: -f1 README.md",
    "cat README.md | tr a-z A-Z",
    "diff -u README.md notes.md",
    "file README.md topics/a.md",
    "echo hello [A-Za-z]*.md 'x y'",
    "echo */ ./*/ */../n*.md topics/[!a]* src/*.rs topics/*",
    "pwd; wc -l [A-Z]*.md ?.md n*",
    "sort -- *.md; ls -- *",
    "date -u '+%Y-%m-%d %H'",
    "tree -a -L 2 -I target src",
    "jq -r '.a | .b[]' README.md",
    "rg -n 'fn main' -g '*.rs' src",
    "rg --type rust -A3 foo",
    "git log --oneline -5 -- src",
    "git show HEAD@{1} --stat",
    "git diff HEAD~2 -- README.md",
    "git status -s; git rev-parse HEAD",
    "git blame -L 1,5 src/main.rs",
    "git log -S foo --format='%h %s'",
    "du -sh src topics/*.md",
    "ls -la\ncat README.md\n\nwc -l notes.md",
    "ls -la && cat missing || wc -l notes.md; stat src",
    "cat topics/?.md topics/[ab].md ./*.md",
    "grep -n \"a\\\"b\\$c\\\\d\" README.md 2>/dev/null",
    "head -n 2 < README.md >/dev/null 2>&1",
    "grep -c 'it'\"'\"'s' a\\'b.md",
    "/usr/bin/head -n 1 README.md",
    "echo --- \"--- files ---\" -x -n -- '----'",
    "jq '.compilerOptions, .include' README.md; jq '.items[0].env // empty' README.md",
    "grep \"foo$\\|bar$\" README.md; grep \"a$\\\"b\" README.md",
    "cat README.md | tr [a-c] [A-C]",
    "git ls-files topics/*.md -- *.md src/*.rs",
    "git log -L1,5:README.md -q --no-walk -- '*.rs'",
    "date -I; date -Iseconds -u",
];

const SNIPPETS: &[&str] = &[
    " ",
    "  ",
    "\t",
    "\n",
    "\\\n",
    "\\",
    "'",
    "\"",
    "''",
    "\"\"",
    "\\ ",
    "$",
    "*",
    "?",
    "[",
    "]",
    "[ab]",
    "[a-z]",
    "[!x]",
    "{",
    "}",
    "{a,b}",
    "{1..3}",
    ",",
    "..",
    ";",
    " ; ",
    "|",
    " | ",
    "&",
    " && ",
    " || ",
    "<",
    ">",
    "(",
    ")",
    "#",
    " #x",
    "!",
    " ! ",
    "~",
    " ~",
    "=",
    ":",
    "@",
    "@{1}",
    "^",
    "%",
    "+",
    "-",
    "--",
    " -- ",
    " - ",
    "-n",
    " -n 1",
    " -rn",
    "$HOME",
    "\"$HOME\"",
    " \"$HOME\"",
    " 2>&1",
    " >/dev/null",
    " 2>/dev/null",
    " &>/dev/null",
    " < README.md",
    "2>&1",
    "1>&2",
    ">&2",
    ">>/dev/null",
    "*.md",
    " *.md",
    " ./*",
    " topics/*",
    " 'a b'",
    " \"a b\"",
    "a\\ b",
    "$'a'",
    "$\"a\"",
    "$(ls)",
    "`ls`",
    "é",
    "こ",
    "\u{a0}",
    "\u{200b}",
    "\r",
    "a=b",
    " A=b ",
    " -exec",
    "-delete",
    " 12",
    "2",
    "0",
    "\\n",
    "\\'",
    "\\\"",
    "\"'\"",
    "'\"'",
    "\\$",
    "\\\\",
    "\"$\"",
    "\"a$ b\"",
    "\"a$\\|b$\"",
    "\"$\\\\\"",
    "---",
    "'$x'",
    "'*'",
    "\"*\"",
    "\\*",
    "\\?",
    "\\[",
    "ls",
    " cat ",
    "README.md",
    " src/main.rs",
];

pub fn mutant(lines: &[&str], random: &mut Random) -> String {
    let mut line = random.pick(lines).to_owned();
    for _ in 0..=random.below(3) {
        let place = boundary(&line, random);
        match random.below(12) {
            0..=4 => line.insert_str(place, random.pick(SNIPPETS)),
            5 => {
                let end = ceil(&line, place + 1 + random.below(6));
                line.replace_range(place..end, "");
            }
            6 => {
                let other = random.pick(lines);
                let from = boundary(other, random);
                line.truncate(place);
                line.push_str(&other[from..]);
            }
            7 => {
                let joint = random.pick(&["; ", " | ", " && ", " || ", "\n", ";", "|", "&&", "\n\n"]);
                line = format!("{line}{joint}{}", random.pick(lines));
            }
            8 => line = requote(&line, random),
            9 => {
                let blank = random.pick(&["  ", "\t", " \\\n", "\\\n ", " \t "]);
                line = line.replacen(' ', blank, 1 + random.below(3));
            }
            10 => {
                let word = random.pick(SNIPPETS);
                line = format!("{line} {word}");
            }
            _ => {
                let copied: String = line.chars().skip(random.below(8)).take(random.below(8)).collect();
                line.insert_str(place, &copied);
            }
        }
    }
    line
}

/// One word in other quotes, or its letters escaped.
fn requote(line: &str, random: &mut Random) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let index = random.below(words.len());
    let word = words[index].clone();
    words[index] = match random.below(5) {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => word.chars().flat_map(|letter| ['\\', letter]).collect(),
        3 => {
            let place = boundary(&word, random);
            format!("{}''{}", &word[..place], &word[place..])
        }
        _ => {
            let place = boundary(&word, random);
            format!("{}\"{}\"", &word[..place], &word[place..])
        }
    };
    words.join(" ")
}

fn boundary(line: &str, random: &mut Random) -> usize {
    ceil(line, random.below(line.len() + 1))
}

fn ceil(line: &str, mut place: usize) -> usize {
    while !line.is_char_boundary(place.min(line.len())) {
        place += 1;
    }
    place.min(line.len())
}
