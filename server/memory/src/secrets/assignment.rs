//! From a name to its value: `NAME = value`, `"name": "value"`, `| name | value |`, "the name is `value`".

use std::ops::Range;

/// How far behind a name its value may begin.
const REACH: usize = 80;
/// How short and how long a value may be.
const SHORTEST: usize = 6;
const LONGEST: usize = 1400;
/// How many words may stand between.
const MOST_WORDS: usize = 5;
/// Words that say what a service's name alone does not.
const CREDENTIAL_WORDS: &[&str] = &[
    "api",
    "apikey",
    "secret",
    "token",
    "password",
    "passwd",
    "credential",
    "credentials",
    "access",
    "auth",
    "pat",
    "login",
    "bearer",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// `=`, `:`, `|`, `>`, a comma.
    Sign,
    /// "is", a quote, or nothing.
    Word,
}

pub(super) struct Assigned<'a> {
    /// Without its quotes.
    pub value: &'a [u8],
    pub at: usize,
    pub link: Link,
    /// The name, all of it, and what stands between it and the value.
    pub context: &'a [u8],
    /// A call, a path or an index follows: the value is an expression, not a literal.
    pub is_code: bool,
    /// Words between name and value.
    words: usize,
}

/// Reads values from the front of a text to its back.
pub(super) struct Reader<'a> {
    text: &'a [u8],
    /// The last run of bytes that may be a bare value. Every name in it would lead to the same end: it is
    /// looked for once, and after some names the rest of them is left alone, or a long line of nothing but
    /// names takes quadratic time.
    bare: Range<usize>,
    names_in_bare: usize,
}

/// How many names within one run of bytes get their values read.
const MOST_NAMES: usize = 12;

impl<'a> Reader<'a> {
    pub fn new(text: &'a [u8]) -> Reader<'a> {
        Reader { text, bare: 0..0, names_in_bare: 0 }
    }

    /// The value that belongs to the name around `key`, on the same line.
    pub fn assigned(&mut self, key: Range<usize>) -> Option<Assigned<'a>> {
        let text = self.text;
        let name_end = key.end + run(text, key.end, |byte| is_name(byte) && byte != b'.', 40);
        // An address, or a part of a path.
        if let Some(b'@' | b'/') = text.get(name_end) {
            return None;
        }
        let limit = (name_end + REACH).min(text.len());
        let (mut at, mut words, mut link, mut quote) = (name_end, 0, None, None);
        while at < limit {
            let byte = *text.get(at)?;
            let is_opened = quote.is_some_and(|quote: usize| quote + 1 == at);
            match byte {
                b'\n' | b'\r' | b';' => return None,
                // A template: `${{ … }}`, `${…}`, `{{ … }}`.
                b'$' | b'{' if text.get(at + 1) == Some(&b'{') => return None,
                b':' if is_path_or_url(text, at) => return None,
                // The next argument or field: what belonged to the name was no value.
                b',' if link.is_some() && words > 0 => return None,
                // Of two arguments the second may be the value of the first, if it is a literal.
                b',' if !is_before_quote(text, at + 1) => at += 1,
                b'=' | b':' | b'|' | b'>' | b',' if !(is_opened && link.is_some()) => {
                    link = Some(Link::Sign);
                    quote = None;
                    at += 1;
                }
                b'"' | b'\'' | b'`' => {
                    quote = Some(at);
                    at += 1;
                }
                b'-' | b'.' if !text.get(at + 1).copied().is_some_and(is_value) => at += 1,
                _ if is_value(byte) || is_opened && byte == b'=' => {
                    let length = run(text, at, is_value, REACH).max(1);
                    if is_scheme(text.get(at..at + length)?) {
                        at += length;
                        continue;
                    }
                    let opened = quote.filter(|_| is_opened).and_then(|quote| text.get(quote)).copied();
                    let alone = opened.is_some_and(|quote| text.get(at + length) == Some(&quote));
                    let link_here = link.or_else(|| (alone || length >= 16).then_some(Link::Word));
                    if let Some(link) = link_here.filter(|_| !alone || length >= SHORTEST) {
                        let value = self.read(at, opened)?;
                        // Prose goes on behind a colon or a comma: only what is no plain word ends the
                        // search.
                        if value.len() >= SHORTEST && (opened.is_some() || !is_plain_word(value)) {
                            let context = text.get(name_start(text, key.start)..at)?;
                            let is_code = opened.is_none() && is_expression(text, at + value.len());
                            return Some(Assigned { value, at, link, context, is_code, words });
                        }
                    }
                    words += 1;
                    if words > MOST_WORDS {
                        return None;
                    }
                    at += length;
                }
                _ => at += 1,
            }
        }
        None
    }

    /// With its quotes known, a value may hold anything but white space; without, it ends where prose or
    /// code goes on. None if it is too long for one or has been read too often.
    fn read(&mut self, at: usize, quote: Option<u8>) -> Option<&'a [u8]> {
        let text = self.text;
        if !self.bare.contains(&at) {
            self.bare = at..at + run(text, at, is_bare, LONGEST);
            self.names_in_bare = 0;
        }
        self.names_in_bare += 1;
        if self.bare.len() >= LONGEST || self.names_in_bare > MOST_NAMES {
            return None;
        }
        let rest = text.get(at..(at + LONGEST).min(text.len()))?;
        if let Some(quote) = quote
            && let Some(end) = rest.iter().position(|byte| *byte == quote || byte.is_ascii_whitespace())
            && rest.get(end) == Some(&quote)
        {
            let value = rest.get(..end)?;
            return Some(value.strip_suffix(b"\\").unwrap_or(value));
        }
        let mut value = text.get(at..self.bare.end)?;
        while let [shorter @ .., b'.' | b':' | b'!' | b'?' | b'*'] = value {
            value = shorter;
        }
        Some(value)
    }
}

impl Assigned<'_> {
    /// Nothing but a sign, or a word and a sign, between name and value.
    pub fn is_close(&self) -> bool {
        match self.link {
            Link::Sign => self.words <= 1,
            Link::Word => {
                self.words <= 1 && self.context.iter().rev().take(12).any(|byte| b"\"'`".contains(byte))
            }
        }
    }

    pub fn says_credential(&self) -> bool {
        let lower = self.context.to_ascii_lowercase();
        let mut words = lower.split(|byte| !byte.is_ascii_alphabetic());
        words.any(|word| {
            CREDENTIAL_WORDS.iter().any(|known| known.as_bytes() == word)
                || word.ends_with(b"apikey")
                || word.ends_with(b"token")
                || word.ends_with(b"secret")
                || word.ends_with(b"password")
                || word.ends_with(b"accesskey")
        })
    }
}

/// `Token::Str("…")` and `https://…`: what follows is no value of the name.
fn is_path_or_url(text: &[u8], colon: usize) -> bool {
    let rest = text.get(colon..).unwrap_or_default();
    rest.starts_with(b"://") || rest.starts_with(b"::") && !rest.starts_with(b"::=")
}

fn is_before_quote(text: &[u8], from: usize) -> bool {
    let rest = text.get(from..).unwrap_or_default();
    let next = rest.iter().take(4).find(|byte| **byte != b' ' && **byte != b'\\');
    next.is_some_and(|byte| b"\"'`".contains(byte))
}

fn is_expression(text: &[u8], end: usize) -> bool {
    let rest = text.get(end..).unwrap_or_default();
    rest.starts_with(b"(") || rest.starts_with(b"[") || rest.starts_with(b"::") || rest.starts_with(b"{")
}

/// A word as prose has it, with no digit and no capital inside.
fn is_plain_word(value: &[u8]) -> bool {
    value.len() < 16 && value.iter().skip(1).all(|byte| byte.is_ascii_lowercase() || b"-'_".contains(byte))
}

/// `Authorization: Bearer value`.
fn is_scheme(word: &[u8]) -> bool {
    let schemes: &[&str] = match word.len() {
        5 => &["basic", "token"],
        6 => &["bearer", "apikey"],
        _ => &[],
    };
    schemes.iter().any(|scheme| word.eq_ignore_ascii_case(scheme.as_bytes()))
}

/// The start of the name and of the word before it: what makes a key a public key may stand apart.
fn name_start(text: &[u8], key_start: usize) -> usize {
    let before = text.get(key_start.saturating_sub(40)..key_start).unwrap_or_default();
    let name = before.iter().rev().take_while(|byte| is_name(**byte)).count();
    let rest = before.get(..before.len() - name).unwrap_or_default();
    let word = match rest {
        [word @ .., b' '] => 1 + word.iter().rev().take_while(|byte| is_name(**byte)).count(),
        _ => 0,
    };
    key_start - name - word
}

fn run(text: &[u8], from: usize, belongs: impl Fn(u8) -> bool, most: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.iter().take(most).take_while(|byte| belongs(**byte)).count()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// What a value is made of where nothing quotes it, without what also links.
fn is_value(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/.~%$!@#^?".contains(&byte)
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'`,;|<>(){}[]\\&".contains(&byte)
}
