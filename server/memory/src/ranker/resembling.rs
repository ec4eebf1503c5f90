//! Words of the store that look like words it does not have: other forms, compounds, slips of the keyboard.

use super::{index::Index, vocabulary::Term};

/// Each costs a look at all words of the store.
const MOST_UNKNOWN: usize = 8;
const MOST_FOR_EACH: usize = 4;
const SHORTEST: usize = 5;
/// Which share of the longer word must be the common beginning.
const LEAST_SHARED: f32 = 0.6;
/// Long enough that two slips still leave a word that can be told from others.
const LONG: usize = 9;

/// For words with their weights, the terms that resemble them, how much from 0 to 1, and the weight.
pub(super) fn resembling(words: &[(&str, f32)], index: &Index) -> Vec<(Term, f32, f32)> {
    let mut found = Vec::new();
    let words = words.iter().filter(|(word, _)| word.len() >= SHORTEST && word.is_ascii()).take(MOST_UNKNOWN);
    for (word, weight) in words {
        let mut matches: Vec<(f32, &str, Term)> = Vec::new();
        for (stem, number) in index.vocabulary.stems().zip(0..) {
            // The first two letters are seldom wrong, and this spares the rest of the work for nearly all.
            if stem.as_bytes().first_chunk::<2>() != word.as_bytes().first_chunk::<2>() {
                continue;
            }
            let likeness = likeness(word.as_bytes(), stem.as_bytes());
            if likeness > 0.0 && !index.postings(Term(number)).is_empty() {
                matches.push((likeness, stem, Term(number)));
            }
        }
        matches.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1)));
        found.extend(
            matches.iter().take(MOST_FOR_EACH).map(|(likeness, _, term)| (*term, *likeness, *weight)),
        );
    }
    found
}

fn likeness(word: &[u8], stem: &[u8]) -> f32 {
    let longer = word.len().max(stem.len());
    let shared = word.iter().zip(stem).take_while(|(one, other)| one == other).count();
    let by_beginning = shared as f32 / longer as f32;
    if shared >= SHORTEST && by_beginning >= LEAST_SHARED {
        return by_beginning;
    }
    let slips = if longer >= LONG { 2 } else { 1 };
    if stem.len() < SHORTEST || word.len().abs_diff(stem.len()) > slips {
        return 0.0;
    }
    match distance(word, stem) {
        distance if distance <= slips => 1.0 - distance as f32 / longer as f32,
        _ => 0.0,
    }
}

/// How many letters are missing, too many, wrong or swapped with their neighbour.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut before: Vec<usize> = vec![0; other.len() + 1];
    let mut last: Vec<usize> = (0..=other.len()).collect();
    let mut previous = 0;
    for (row, letter) in one.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut previous_other = 0;
        for (column, other_letter) in other.iter().enumerate() {
            let at = |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX / 2);
            let wrong = at(&last, column) + usize::from(letter != other_letter);
            let mut least = wrong.min(at(&last, column + 1) + 1).min(at(&current, column) + 1);
            if row > 0 && column > 0 && *letter == previous_other && previous == *other_letter {
                least = least.min(at(&before, column - 1) + 1);
            }
            current.push(least);
            previous_other = *other_letter;
        }
        previous = *letter;
        before = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        assert_eq!(distance(b"kubernetes", b"kuberentes"), 1);
        assert_eq!(distance(b"config", b"confgi"), 1);
        assert_eq!(distance(b"deploy", b"deply"), 1);
        assert_eq!(distance(b"", b"abc"), 3);
        assert_eq!(distance(b"kitten", b"sitting"), 3);
    }

    #[test]
    fn only_close_words_resemble() {
        assert!(likeness(b"databse", b"databas") > 0.7);
        assert!(likeness(b"authenticat", b"authent") > 0.6);
        assert!(likeness(b"house", b"horse") > 0.0);
        assert_eq!(likeness(b"house", b"mouse-trap"), 0.0);
        assert_eq!(likeness(b"interface", b"international"), 0.0);
    }
}
