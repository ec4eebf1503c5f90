//! What to look for: names, quoted text and content words of a question.

/// Something worth searching for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// As it was written.
    pub(super) text: String,
    /// Lower case, without endings: what a line must contain to match.
    pub(super) stem: String,
    pub(super) kind: TermKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TermKind {
    Quoted,
    Identifier,
    File,
    Word,
}

impl Term {
    pub(super) fn weight(&self) -> i64 {
        match self.kind {
            TermKind::Quoted => 6,
            TermKind::Identifier | TermKind::File => 5,
            TermKind::Word => 2 + i64::from(self.stem.chars().count() >= 6),
        }
    }

    pub(super) fn matches(&self, lower_case: &str) -> bool {
        lower_case.contains(&self.stem)
    }
}

const MOST: usize = 6;

/// In the order of the question, names before words, each once, at most six.
pub(super) fn terms(question: &str) -> Vec<Term> {
    let (quoted, rest) = take_quoted(beginning(question));
    let mut terms: Vec<Term> = Vec::new();
    let mut add = |text: &str, stem: String, kind: TermKind| {
        if !stem.is_empty() && !terms.iter().any(|term| term.stem == stem) {
            terms.push(Term { text: text.to_owned(), stem, kind });
        }
    };
    for text in quoted {
        let kind = if is_file_name(&text) { TermKind::File } else { TermKind::Quoted };
        add(&text, text.to_lowercase(), kind);
    }
    for word in
        rest.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '?' | '!' | '(' | ')' | '[' | ']'))
    {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let word = word.strip_suffix("'s").unwrap_or(word);
        if is_file_name(word) {
            add(word, word.to_lowercase(), TermKind::File);
        } else if is_identifier(word) {
            add(word, word.to_lowercase(), TermKind::Identifier);
        } else {
            // A hyphen joins two words as often as it names one thing.
            for part in word.split(['-', '/', '.', ':', '\'']) {
                let lower = part.to_lowercase();
                if part.chars().count() >= shortest(part) && !is_stop_word(&lower) {
                    add(part, stem(part), TermKind::Word);
                }
            }
        }
    }
    terms.sort_by_key(|term| term.kind);
    terms.truncate(MOST);
    terms
}

/// Pasted logs can be long; what is asked about them comes first.
fn beginning(text: &str) -> &str {
    const BYTES: usize = 2_000;
    text.get(..text.floor_char_boundary(BYTES)).unwrap_or(text)
}

/// The word in lower case without the endings that inflect it: "retries" and "retry" share `retr`.
pub(super) fn stem(word: &str) -> String {
    let lower = word.to_lowercase();
    let cut = ["ations", "ation", "ings", "ing", "ies", "ied", "ers", "ed", "es", "s", "er", "y", "e"]
        .iter()
        .find_map(|ending| lower.strip_suffix(ending).filter(|rest| rest.chars().count() >= 4));
    cut.map(str::to_owned).unwrap_or(lower)
}

pub(super) fn is_file_name(word: &str) -> bool {
    if word.contains("::") || word.contains("://") || word.contains(char::is_whitespace) {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    if ["README", "LICENSE", "Makefile", "Dockerfile", "CHANGELOG"].contains(&name) {
        return true;
    }
    let Some((before, extension)) = name.rsplit_once('.') else {
        return word.contains('/') && word.chars().any(char::is_alphanumeric) && !word.ends_with('/');
    };
    let known = (1..=5).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.chars().any(|c| c.is_ascii_alphabetic());
    // "e.g", "i.e" and sentences without a space after the full stop are not files.
    known && (before.chars().count() > 1 || (!before.is_empty() && extension.len() > 1) || word.contains('/'))
}

/// Text for a regular expression that means itself.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if "\\.+*?()|[]{}^$".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

fn is_identifier(word: &str) -> bool {
    let inner_capital = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    let joined = word.contains('_') || word.contains("::");
    (inner_capital || joined) && word.chars().any(char::is_alphabetic)
}

/// Two characters of a script without spaces can be a word; two Latin letters rarely are.
fn shortest(word: &str) -> usize {
    if word.chars().any(|c| c as u32 > 0x2e80) { 1 } else { 3 }
}

/// Quoted pieces, and the text without them.
pub(super) fn take_quoted(text: &str) -> (Vec<String>, String) {
    const PAIRS: [(char, char); 4] = [('"', '"'), ('`', '`'), ('“', '”'), ('\'', '\'')];
    let mut quoted = Vec::new();
    let mut rest = String::new();
    let mut remaining = text;
    let mut previous = ' ';
    while let Some(character) = remaining.chars().next() {
        let after = remaining.get(character.len_utf8()..).unwrap_or_default();
        let close = PAIRS.iter().find(|(open, _)| *open == character).map(|(_, close)| *close);
        // An apostrophe inside a word opens nothing.
        let opens = close.filter(|_| character != '\'' || !previous.is_alphanumeric());
        match opens.and_then(|close| after.split_once(close)) {
            Some((inside, tail)) if !inside.trim().is_empty() && !inside.contains('\n') => {
                quoted.push(inside.to_owned());
                rest.push(' ');
                remaining = tail;
                previous = ' ';
            }
            _ => {
                rest.push(character);
                previous = character;
                remaining = after;
            }
        }
    }
    (quoted, rest)
}

/// Words of any question, and of any question about code.
const STOP_WORDS: &str = "\
    about actually again all also and any anything are ask because been being belong belongs but can \
    code codebase come comes could defined describe did does doing don done each exactly exist explain \
    file files find folder for from function functions get give goes going grep had handle handled \
    handles happen happens has have her here him his how implemented inside into its just kept know let \
    like list live lives located look looking made make makes many may mean means might more most much \
    must need not now off one only open our out please project quote really remember repo repository \
    see search shall she should show some something stuff such tell than thanks that the their them \
    then there these they thing things this those too use used uses using very want was way well were \
    what when where which who whom whose why will with work works workspace would you your";

fn is_stop_word(lower_case: &str) -> bool {
    STOP_WORDS.split_whitespace().any(|word| word == lower_case)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(question: &str, expected: &[&str]) {
        let found: Vec<String> =
            terms(question).into_iter().map(|term| format!("{:?} {}", term.kind, term.stem)).collect();
        assert_eq!(found, expected, "{question}");
    }

    #[test]
    fn questions_become_terms() {
        check("Where is the retry policy implemented?", &["Word retr", "Word polic"]);
        check(
            "what does `fn main` in server/cli/src/main.rs call, and who uses SessionId?",
            &["Quoted fn main", "Identifier sessionid", "File server/cli/src/main.rs", "Word call"],
        );
        check(
            "How many tokens are kept free? Don't guess, e.g. look",
            &["Word token", "Word free", "Word gues"],
        );
        check("what is this?", &[]);
        check("MAX_ROUNDS vs max_rounds", &["Identifier max_rounds"]);
        check("这个项目", &["Word 这个项目"]);
    }

    #[test]
    fn endings_do_not_matter() {
        for (one, other) in [("retry", "retries"), ("cache", "caching"), ("permission", "permissions")] {
            assert_eq!(stem(one), stem(other));
        }
        assert_eq!(stem("uses"), "uses");
    }

    #[test]
    fn patterns_mean_themselves() {
        assert_eq!(escaped("a.b(c)[d]-e"), "a\\.b\\(c\\)\\[d\\]-e");
    }
}
