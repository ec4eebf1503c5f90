//! One rule: its expression, compiled when first needed, and what a match must pass besides.

use std::{ops::Range, sync::OnceLock};

use regex::bytes::{Match, Regex, RegexBuilder};

use super::{
    assignment::{Assigned, Link},
    looks::{entropy, is_placeholder, looks_like_login, looks_like_password, looks_random, looks_random_hex},
    words::is_identifier,
};

/// How a rule's expression is laid onto the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// From the start of a key.
    Token,
    /// The same, and no letter or digit follows.
    Whole,
    /// Anywhere around a key.
    Search { before: usize, after: usize },
    /// All of the value that is assigned to a name with a key in it.
    Value,
}

/// What may not stand before a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    None,
    /// A letter or digit: the key is the tail of a word.
    Word,
    /// What base64 and dotted names are made of, too: the key is a piece of a blob.
    Blob,
    /// A letter or digit, unless the key begins with a capital and so a part of a name, as in `apiKey`.
    Part,
}

/// What a match must look like besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    Any,
    Random,
    /// Random, or too short to tell: any digit will do.
    Drawn,
    Password,
    /// `user:password`, where the password is no placeholder.
    Login,
    /// The name says only "key" or "token": value, name and what links them are weighed together.
    Named,
}

pub(super) struct Rule {
    pub id: &'static str,
    pub description: &'static str,
    pub keys: Vec<&'static str>,
    pub shape: Shape,
    pub edge: Edge,
    pub entropy: f64,
    pub check: Check,
    pub skip: Option<&'static str>,
    pub unless: Option<&'static str>,
    pattern: &'static str,
    compiled: OnceLock<Option<Regex>>,
    compiled_skip: OnceLock<Option<Regex>>,
    compiled_unless: OnceLock<Option<Regex>>,
}

impl Rule {
    pub fn new(id: &'static str, description: &'static str) -> Rule {
        Rule {
            id,
            description,
            keys: Vec::new(),
            shape: Shape::Token,
            edge: Edge::Word,
            entropy: 2.5,
            check: Check::Any,
            skip: None,
            unless: None,
            pattern: "",
            compiled: OnceLock::new(),
            compiled_skip: OnceLock::new(),
            compiled_unless: OnceLock::new(),
        }
    }

    pub fn find(&mut self, shape: Shape, pattern: &'static str) {
        self.shape = shape;
        self.pattern = pattern;
    }

    /// None only if our own file has an expression that does not compile, which a test rules out.
    pub fn regex(&self) -> Option<&Regex> {
        let pattern = self.pattern;
        let compiled = self.compiled.get_or_init(|| match self.shape {
            Shape::Token => compile(&format!(r"\A(?:{pattern})")),
            Shape::Whole => compile(&format!(r"\A({pattern})(?:[^0-9A-Za-z]|\z)")),
            Shape::Search { .. } => compile(pattern),
            Shape::Value => compile(&format!(r"\A(?:{pattern})\z")),
        });
        compiled.as_ref()
    }

    pub fn matches_at(&self, text: &[u8], at: usize) -> bool {
        if !self.edge.is_free(text, at) {
            return false;
        }
        let (Some(regex), Some(rest)) = (self.regex(), text.get(at..)) else { return false };
        // Most keys lead to nothing, and whether they do is cheaper to know than the groups.
        regex.is_match(rest)
            && regex.captures(rest).is_some_and(|groups| self.accepts(groups.get(1), groups.get(0)))
    }

    /// Where matches begin that lie within the window.
    pub fn matches_within<'a>(
        &'a self,
        text: &'a [u8],
        window: Range<usize>,
    ) -> impl Iterator<Item = usize> + 'a {
        let start = window.start;
        let slice = text.get(window).unwrap_or_default();
        self.regex().into_iter().flat_map(move |regex| regex.captures_iter(slice)).filter_map(move |groups| {
            let found = groups.get(1).or(groups.get(0))?;
            self.accepts(groups.get(1), groups.get(0)).then_some(start + found.start())
        })
    }

    pub fn matches_value(&self, assigned: &Assigned<'_>) -> bool {
        if !self.regex().is_some_and(|regex| regex.is_match(assigned.value)) {
            return false;
        }
        let by_name = match self.check {
            Check::Named => is_named(assigned),
            Check::Password => assigned.link == Link::Sign && looks_like_password(assigned.value),
            Check::Any | Check::Random | Check::Drawn | Check::Login => {
                assigned.is_close() || assigned.says_credential()
            }
        };
        by_name
            && self.accepts_bytes(assigned.value)
            && !self.unless().is_some_and(|unless| unless.is_match(assigned.context))
    }

    fn accepts(&self, group: Option<Match<'_>>, whole: Option<Match<'_>>) -> bool {
        group.or(whole).is_some_and(|found| self.accepts_bytes(found.as_bytes()))
    }

    fn accepts_bytes(&self, found: &[u8]) -> bool {
        let looks = match self.check {
            Check::Random => looks_random(found) || looks_random_hex(found),
            Check::Drawn => found.iter().any(u8::is_ascii_digit) || looks_random(found),
            Check::Login => looks_like_login(found),
            // Weighed with the name already.
            Check::Any | Check::Password | Check::Named => true,
        };
        looks
            && (self.check == Check::Login || (entropy(found) >= self.entropy && !is_placeholder(found)))
            && !self.skip().is_some_and(|skip| skip.is_match(found))
    }

    pub fn skip(&self) -> Option<&Regex> {
        self.skip.and_then(|pattern| self.compiled_skip.get_or_init(|| compile(pattern)).as_ref())
    }

    pub fn unless(&self) -> Option<&Regex> {
        self.unless.and_then(|pattern| self.compiled_unless.get_or_init(|| compile(pattern)).as_ref())
    }
}

impl Edge {
    pub fn is_free(self, text: &[u8], at: usize) -> bool {
        let before = text.get(..at).unwrap_or_default();
        let begins = text.get(at).is_some_and(u8::is_ascii_uppercase);
        let stands_alone = match (self, before.last()) {
            (Edge::None, _) | (_, None) => true,
            (Edge::Word, Some(byte)) => !byte.is_ascii_alphanumeric(),
            (Edge::Part, Some(byte)) => !byte.is_ascii_alphanumeric() || !byte.is_ascii_uppercase() && begins,
            (Edge::Blob, Some(byte)) => !byte.is_ascii_alphanumeric() && !b"+/_-.".contains(byte),
        };
        stands_alone || ends_in_escape(before)
    }
}

/// In `\nAKIA…` and `%3DAKIA…` the letter before the token belongs to what stands before it.
fn ends_in_escape(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        _ => false,
    }
}

/// Checksums, ids and hashes are random too and have names as plain as "key": the vaguer the name and its
/// link to the value, the less may the value look like one of those.
fn is_named(assigned: &Assigned<'_>) -> bool {
    let least = match assigned.link {
        Link::Sign => 12,
        Link::Word => 20,
    };
    if assigned.is_code || assigned.value.len() < least {
        return false;
    }
    if looks_random(assigned.value) && !is_identifier(assigned.value) {
        return assigned.value.len() >= 16 && assigned.is_close() || assigned.says_credential();
    }
    looks_random_hex(assigned.value) && assigned.says_credential()
}

/// Without Unicode classes a rule compiles in microseconds; credentials are ASCII.
fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}
