//! What is known of English before any store is read: words that say nothing, words that say little, words of
//! one meaning. Three lists beside this file, written by hand.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::stem::stem;

static STOP: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("stop.txt").split_whitespace().collect());

static COMMON: LazyLock<HashSet<String>> =
    LazyLock::new(|| include_str!("common.txt").split_whitespace().map(stemmed).collect());

/// By stem: the stems of like meaning, in the order of the list.
static ALIKE: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut alike: HashMap<String, Vec<String>> = HashMap::new();
    for line in include_str!("thesaurus.txt").lines().filter(|line| !line.starts_with('#')) {
        let stems: Vec<String> = line.split_whitespace().map(stemmed).collect();
        for stem in &stems {
            let others = alike.entry(stem.clone()).or_default();
            for other in &stems {
                if other != stem && !others.contains(other) {
                    others.push(other.clone());
                }
            }
        }
    }
    alike
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// Says what a text is about.
    Telling,
    /// So common that meeting in it is hardly a meeting.
    Common,
    /// Stands in every text.
    Stop,
}

/// Stop words are known by how they are written, others by their stem.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(word)
}

pub(super) fn is_common(stem: &str) -> bool {
    // Pairs of Hiragana are endings and particles for the most part.
    COMMON.contains(stem) || stem.chars().all(|letter| ('\u{3041}'..='\u{3096}').contains(&letter))
}

pub(super) fn alike(stem: &str) -> &'static [String] {
    ALIKE.get(stem).map_or(&[], Vec::as_slice)
}

fn stemmed(word: &str) -> String {
    let mut word = word.to_owned();
    stem(&mut word);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_goes_both_ways_and_over_all_forms() {
        assert!(alike("delet").contains(&"remov".to_owned()));
        assert!(alike("remov").contains(&"delet".to_owned()));
        assert!(alike("zyzzyva").is_empty());
    }

    #[test]
    fn words_of_requests_are_worth_less() {
        assert!(is_stop("please"));
        assert!(is_common("recommend"));
        assert!(!is_common("compil"));
        assert!(is_common("です") && !is_common("設定"));
    }
}
