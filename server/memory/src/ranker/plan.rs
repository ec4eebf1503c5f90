//! What of a message is looked for: its telling words, each with what finding it is worth, words of like
//! meaning or look, and which words stand side by side.

use std::collections::{BTreeMap, HashMap};

use super::{
    index::{Index, rarity},
    lexicon::{alike, is_common, is_stop},
    resembling::resembling,
    stem::stem,
    vocabulary::Term,
    words::{Role, each_word},
};

/// Of a long message, its beginning and its end are read: what is wanted stands before or after a paste.
const MOST_BEGINNING_BYTES: usize = 12 * 1024;
const MOST_END_BYTES: usize = 4 * 1024;
/// Of a long message, only the words that are worth most are looked for.
const MOST_WORDS: usize = 48;
/// What a common word is worth beside a telling one of the same rarity.
const COMMON_WORTH: f32 = 0.5;
/// What the whole of an identifier is worth beside its parts, which count too.
const WHOLE_WORTH: f32 = 0.6;
const ALIKE_WORTH: f32 = 0.25;
const RESEMBLING_WORTH: f32 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Word { telling: bool },
    Whole,
    Expansion,
}

pub(super) struct Wanted {
    /// As the message has it, or the stem of an expansion.
    pub(super) word: String,
    pub(super) term: Term,
    pub(super) weight: f32,
    pub(super) origin: Origin,
}

#[derive(Default)]
pub(super) struct Plan {
    pub(super) wanted: Vec<Wanted>,
    /// Places in `wanted` of words that follow each other in the message.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Which share of the message's words the store knows.
    pub(super) known_share: f32,
    /// How rare the message's words are in the store, from 0 to 1; unknown ones are as rare as can be.
    pub(super) mean_rarity: f32,
}

impl Plan {
    pub(super) fn of(text: &str, index: &Index) -> Self {
        let mut said = Said::default();
        let (beginning, end) = ends(text);
        said.read(beginning, Stops::AreLeftOut);
        said.read(end, Stops::AreLeftOut);
        if said.words.is_empty() {
            // Nothing but stop words: they may be a name.
            said.read(beginning, Stops::AreWords);
        }
        said.plan(index)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stops {
    AreLeftOut,
    AreWords,
}

/// The message's words, each once.
#[derive(Default)]
struct Said {
    words: Vec<Spoken>,
    /// By stem: the place in `words`.
    places: HashMap<String, usize>,
    /// Places of words that follow each other, once each.
    pairs: BTreeMap<(usize, usize), ()>,
}

struct Spoken {
    word: String,
    stem: String,
    role: Role,
    count: f32,
}

impl Said {
    fn read(&mut self, text: &str, stops: Stops) {
        let mut last = None;
        let mut stemmed = String::new();
        each_word(text, |word, role| {
            stemmed.clear();
            stemmed.push_str(word);
            if !is_stop(word) {
                stem(&mut stemmed);
            } else if stops == Stops::AreLeftOut {
                return;
            }
            let place = match self.places.get(&stemmed) {
                Some(place) => *place,
                None => {
                    self.places.insert(stemmed.clone(), self.words.len());
                    self.words.push(Spoken {
                        word: word.to_owned(),
                        stem: stemmed.clone(),
                        role,
                        count: 0.0,
                    });
                    self.words.len() - 1
                }
            };
            if let Some(spoken) = self.words.get_mut(place) {
                spoken.count += 1.0;
            }
            if role == Role::Word {
                if let Some(last) = last.filter(|last| *last != place) {
                    self.pairs.insert((last, place), ());
                }
                last = Some(place);
            }
        });
    }

    fn plan(self, index: &Index) -> Plan {
        let mut plan = Plan::default();
        let rarest = rarity(index.len(), 0);
        let (mut words, mut known) = (0.0, 0.0);
        let mut unknown = Vec::new();
        // The place in `words` of each that is wanted.
        let mut wanted: Vec<(usize, Wanted)> = Vec::new();
        for (place, spoken) in self.words.iter().enumerate() {
            let term = index.vocabulary.find(&spoken.stem).filter(|term| !index.postings(*term).is_empty());
            let common = is_common(&spoken.stem);
            let rarity = term.map_or(rarest, |term| index.rarity(term));
            let worth = match spoken.role {
                Role::Whole => WHOLE_WORTH,
                Role::Word if common => COMMON_WORTH,
                Role::Word => 1.0,
            };
            let weight = rarity * worth * spoken.count.sqrt();
            if spoken.role == Role::Word {
                words += 1.0;
                known += if term.is_some() { 1.0 } else { 0.0 };
                plan.mean_rarity += rarity / rarest;
            }
            let origin = match spoken.role {
                Role::Whole => Origin::Whole,
                Role::Word => Origin::Word { telling: !common },
            };
            match term {
                Some(term) => {
                    wanted.push((place, Wanted { word: spoken.word.clone(), term, weight, origin }));
                }
                None if spoken.role == Role::Word => unknown.push((spoken.stem.as_str(), weight)),
                None => {}
            }
        }
        if words > 0.0 {
            plan.known_share = known / words;
            plan.mean_rarity /= words;
        }
        // A stable sort: of equal ones, what was said first stays.
        wanted.sort_by(|(_, one), (_, other)| other.weight.total_cmp(&one.weight));
        wanted.truncate(MOST_WORDS);
        wanted.sort_by_key(|(place, _)| *place);
        let at = |place: usize| wanted.binary_search_by_key(&place, |(place, _)| *place).ok();
        plan.pairs = self.pairs.keys().filter_map(|(one, other)| Some((at(*one)?, at(*other)?))).collect();
        let expansions = self.expansions(index, &wanted, &mut unknown);
        plan.wanted = wanted.into_iter().map(|(_, wanted)| wanted).chain(expansions).collect();
        plan
    }

    /// Words of like meaning for all, and words of like look for those the store does not know.
    fn expansions(
        &self,
        index: &Index,
        wanted: &[(usize, Wanted)],
        unknown: &mut Vec<(&str, f32)>,
    ) -> Vec<Wanted> {
        let mut found: Vec<Wanted> = Vec::new();
        let mut places: HashMap<Term, usize> = HashMap::new();
        let mut add = |term: Term, worth: f32, most: f32| {
            if index.postings(term).is_empty() || wanted.iter().any(|(_, wanted)| wanted.term == term) {
                return;
            }
            let common = if is_common(index.vocabulary.stem(term)) { COMMON_WORTH } else { 1.0 };
            let weight = worth * most.min(index.rarity(term) * common);
            let place = *places.entry(term).or_insert_with(|| {
                let word = index.vocabulary.stem(term).to_owned();
                found.push(Wanted { word, term, weight, origin: Origin::Expansion });
                found.len() - 1
            });
            if let Some(known) = found.get_mut(place) {
                known.weight = known.weight.max(weight);
            }
        };
        unknown.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        unknown.truncate(MOST_WORDS);
        let said = wanted.iter().filter_map(|(place, wanted)| Some((self.words.get(*place)?, wanted.weight)));
        let stems =
            said.map(|(spoken, weight)| (spoken.stem.as_str(), weight)).chain(unknown.iter().copied());
        for (stem, weight) in stems {
            for other in alike(stem) {
                if let Some(term) = index.vocabulary.find(other) {
                    add(term, ALIKE_WORTH, weight);
                }
            }
        }
        for (term, likeness, weight) in resembling(unknown, index) {
            add(term, RESEMBLING_WORTH * likeness, weight);
        }
        found
    }
}

fn ends(text: &str) -> (&str, &str) {
    if text.len() <= MOST_BEGINNING_BYTES + MOST_END_BYTES {
        return (text, "");
    }
    let (beginning, rest) = text.split_at(text.floor_char_boundary(MOST_BEGINNING_BYTES));
    let end = rest.get(rest.ceil_char_boundary(rest.len() - MOST_END_BYTES)..).unwrap_or_default();
    (beginning, end)
}
