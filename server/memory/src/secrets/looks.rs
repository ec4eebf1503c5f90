//! What a value looks like: random, a word, a placeholder. All of it is linear in the value's length.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::words::{Count, is_camel, is_identifier, is_like_words, is_mingled, usual_pairs};

/// What documentation writes where a credential would stand.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "xxxxx",
    "****",
    "your_",
    "your-",
    "yourkey",
    "yourtoken",
    "yoursecret",
    "yourpass",
    "yourapi",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "redacted",
    "dummy",
    "insert",
    "replace",
    "password",
    "passw0rd",
    "notasecret",
    "not-a-secret",
    "${",
    "{{",
    "}}",
    "$(",
    "....",
    "\u{2026}",
    "deadbeef",
    "qwerty",
    "hunter2",
    "foobar",
    "foo_bar",
    "lorem",
    "A-Za-z",
    "a-zA-Z",
    "0-9A-Z",
];

/// Passwords of logins that are no secrets.
const WEAK: &[&str] = &[
    "pass",
    "pwd",
    "pw",
    "secret",
    "s3cret",
    "test",
    "user",
    "admin",
    "root",
    "guest",
    "token",
    "key",
    "foo",
    "bar",
    "baz",
    "abc",
    "abc123",
    "123",
    "1234",
    "12345",
    "123456",
    "x",
    "p",
    "postgres",
    "mysql",
    "mongo",
    "redis",
    "rabbitmq",
    "username",
    "hello",
    "x-oauth-basic",
    "passwd",
    "mypass",
    "pass123",
    "123abc",
    "letmein",
];

/// `12345678` and `abcdefgh` are typed, not drawn.
const LONGEST_SEQUENCE: usize = 8;

/// Shannon entropy, in bits a byte.
pub(super) fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let length = value.len() as f64;
    let part = |count: &u32| f64::from(*count) / length;
    counts.iter().filter(|count| **count > 0).map(|count| -part(count) * part(count).log2()).sum()
}

pub(super) fn is_placeholder(value: &[u8]) -> bool {
    if value.is_empty() {
        return false;
    }
    let variable = value
        .strip_prefix(b"$")
        .or(value.strip_prefix(b"%"))
        .is_some_and(|name| name.iter().all(|byte| byte.is_ascii_alphabetic() || b"_{}()%".contains(byte)));
    if variable || [b'{', b'[', b'<', b'('].iter().any(|opening| value.first() == Some(opening)) {
        return true;
    }
    // In one case or capitalised: in every mixture of cases, short ones turn up in long random tokens.
    static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let forms = PLACEHOLDERS.iter().flat_map(|word| {
            let capitalised = word.get(..1).map(str::to_ascii_uppercase).zip(word.get(1..));
            let capitalised = capitalised.map(|(first, rest)| first + rest);
            [Some((*word).to_owned()), Some(word.to_ascii_uppercase()), capitalised]
        });
        AhoCorasick::new(forms.flatten()).ok()
    });
    value.len() >= 6 && longest_run(value, 0) * 2 >= value.len()
        || longest_run(value, 1) >= LONGEST_SEQUENCE
        || WORDS.as_ref().is_some_and(|words| words.is_match(value))
}

/// Letters and digits with no order in them. What is only hexadecimal is left to `looks_random_hex`.
pub(super) fn looks_random(value: &[u8]) -> bool {
    let count = Count::of(value);
    if value.len() < 10 || is_hexadecimal(value) || count.other > 0 || contains(value, b"://") {
        return false;
    }
    if count.digits == 0 && value.len() < 12 {
        return false;
    }
    if count.upper + count.lower < 4 || contains(value, b"::") {
        return false;
    }
    let length = value.len() as f64;
    entropy(value) >= (0.68 * length.log2()).min(3.4) && (is_mingled(value) || !is_like_words(value, &count))
}

/// Hexadecimal as keys are: long, and a UUID too.
pub(super) fn looks_random_hex(value: &[u8]) -> bool {
    value.len() >= 20
        && is_hexadecimal(value)
        && value.iter().any(u8::is_ascii_alphabetic)
        && entropy(value) >= 2.6
}

/// Of three kinds of characters, or of two and no word.
pub(super) fn looks_like_password(value: &[u8]) -> bool {
    let count = Count::of(value);
    if value.len() < 8 || value.starts_with(b"/") || value.starts_with(b"~") || value.starts_with(b".") {
        return false;
    }
    if contains(value, b"://") || contains(value, b"::") || contains(value, b"(") {
        return false;
    }
    let kinds =
        [count.lower, count.upper, count.digits, count.other].iter().filter(|kind| **kind > 0).count();
    // Capitals in places where no word has them.
    let only_letters = count.lower + count.upper == value.len();
    let odd = only_letters
        && value.len() >= 12
        && count.upper >= 3
        && count.lower >= 2
        && !is_camel(value, &count)
        && !usual_pairs(value).is_more_than(65);
    let more_than_words = count.digits + count.strong > 0;
    let drawn = looks_random(value) && !is_identifier(value) || looks_random_hex(value);
    kinds >= 3 && more_than_words || drawn || odd
}

/// `user:password` of a command line, or `user:password@host` of a URL.
pub(super) fn looks_like_login(value: &[u8]) -> bool {
    let mut parts = value.splitn(2, |byte| *byte == b':');
    let (Some(user), Some(rest)) = (parts.next(), parts.next()) else { return false };
    let mut parts = rest.splitn(2, |byte| *byte == b'@');
    let (password, host) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if password.len() < 3
        || user.eq_ignore_ascii_case(password)
        || is_placeholder(password)
        || is_placeholder(user)
    {
        return false;
    }
    // A port, as in `host:8080@`.
    if password.len() < 6 && password.iter().all(u8::is_ascii_digit) {
        return false;
    }
    // Nobody's host: documentation, unless the password has been drawn.
    let nobody = ["example", "localhost", "127.0.0.1", "host", "test"];
    if nobody.iter().any(|name| contains(host, name.as_bytes())) {
        return looks_like_password(password);
    }
    !WEAK.iter().any(|weak| password.eq_ignore_ascii_case(weak.as_bytes()))
}

fn is_hexadecimal(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}

/// The longest stretch in which each byte is the one before it plus `step`.
fn longest_run(value: &[u8], step: u8) -> usize {
    let (mut longest, mut current) = (1, 1);
    for (first, second) in value.iter().zip(value.iter().skip(1)) {
        current = if first.wrapping_add(step) == *second { current + 1 } else { 1 };
        longest = longest.max(current);
    }
    longest
}

fn contains(value: &[u8], part: &[u8]) -> bool {
    value.windows(part.len()).any(|window| window == part)
}
