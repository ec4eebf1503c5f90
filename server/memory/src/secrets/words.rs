//! Words and names against random characters, by how letters, capitals and digits follow each other.

/// For each letter, those that often follow it in English words and in identifiers: together they make up
/// seven pairs in eight there, and three in ten of random letters.
const FOLLOWERS: [&str; 26] = [
    "abcdgiklmnprstuvy",
    "aeilorsu",
    "acehiklortu",
    "aeiosu",
    "acdefglmnprstvx",
    "aefiou",
    "aehiru",
    "aeior",
    "abcdefglmnoprstvz",
    "",
    "ei",
    "adeilostuy",
    "aeiopu",
    "acdefginost",
    "cdglmnoprstuvw",
    "aeiloprstu",
    "u",
    "acdeimnorstuy",
    "acehilopstu",
    "acehilorstuy",
    "abceilmnprst",
    "aei",
    "aei",
    "",
    "",
    "e",
];

#[derive(Default)]
pub(super) struct Count {
    pub lower: usize,
    pub upper: usize,
    pub digits: usize,
    /// What keys are made of besides.
    symbols: usize,
    /// Symbols that no identifier, path or version has.
    pub strong: usize,
    pub other: usize,
}

impl Count {
    pub fn of(value: &[u8]) -> Count {
        let mut count = Count::default();
        for byte in value {
            match byte {
                b'a'..=b'z' => count.lower += 1,
                b'A'..=b'Z' => count.upper += 1,
                b'0'..=b'9' => count.digits += 1,
                b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'~' | b':' => count.symbols += 1,
                b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' => count.strong += 1,
                _ => count.other += 1,
            }
        }
        count.other += count.strong;
        count
    }
}

/// `HMAC_SHA256`, `avx512_token`, `uddiv3ServiceKey`: parts of one case, or words in camel case, with
/// digits at their ends.
pub(super) fn is_identifier(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| b"_-./:=+".contains(byte)).filter(|part| !part.is_empty());
    parts.all(|part| {
        let count = Count::of(part);
        let camel = is_camel(part, &count);
        let one_case = (count.lower == 0 || count.upper == 0)
            && (part.len() <= 12 || count.digits == 0 && part.len() <= 24);
        let few_turns = turns(part) <= if camel { 4 } else { 2 };
        (camel || one_case) && few_turns && (part.len() < 8 || usual_pairs(part).is_more_than(38))
    })
}

/// Whether three letters in four are in lower-case stretches of two and more, or the capitals before them.
pub(super) fn is_camel(part: &[u8], count: &Count) -> bool {
    let (mut letters, mut stretch, mut capital) = (0, 0, false);
    for byte in part.iter().chain(b" ") {
        if byte.is_ascii_lowercase() {
            stretch += 1;
            continue;
        }
        letters += if stretch >= 2 { stretch + usize::from(capital) } else { 0 };
        (stretch, capital) = (0, byte.is_ascii_uppercase());
    }
    letters * 4 >= (count.lower + count.upper) * 3
}

/// Letters and digits take turns: names have digits at the ends of words, and few.
pub(super) fn is_mingled(value: &[u8]) -> bool {
    turns(value) >= (value.len() / 5).max(4)
}

fn turns(value: &[u8]) -> usize {
    let neighbours = value.iter().zip(value.iter().skip(1));
    neighbours
        .filter(|(first, second)| {
            first.is_ascii_alphabetic() && second.is_ascii_digit()
                || first.is_ascii_digit() && second.is_ascii_alphabetic()
        })
        .count()
}

/// Whether neighbouring letters are mostly usual neighbours. Few pairs prove little, and a value without a
/// digit must be stranger to be taken for random.
pub(super) fn is_like_words(value: &[u8], count: &Count) -> bool {
    let usual = usual_pairs(value);
    let percent = match (count.digits, count.lower.min(count.upper), usual.of) {
        (0, 0, _) => 38,
        (0, _, _) => 50,
        (_, _, ..10) => 75,
        _ => 62,
    };
    usual.of >= 4 && usual.is_more_than(percent)
}

/// How many of all pairs of letters are usual.
pub(super) struct Share {
    pairs: usize,
    of: usize,
}

impl Share {
    pub fn is_more_than(&self, percent: usize) -> bool {
        self.pairs * 100 > self.of * percent
    }
}

pub(super) fn usual_pairs(value: &[u8]) -> Share {
    let mut share = Share { pairs: 0, of: 0 };
    for (first, second) in value.iter().zip(value.iter().skip(1)) {
        if !first.is_ascii_alphabetic() || !second.is_ascii_alphabetic() {
            continue;
        }
        let row = usize::from(first.to_ascii_lowercase() - b'a');
        let usual =
            FOLLOWERS.get(row).is_some_and(|row| row.as_bytes().contains(&second.to_ascii_lowercase()));
        share.pairs += usize::from(usual);
        share.of += 1;
    }
    share
}
