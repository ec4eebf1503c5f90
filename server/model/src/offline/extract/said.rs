//! A sentence as the rules look at it, and what never becomes a memory whatever else it says.

use memory::compose::has_secret;

use super::super::terms::{is_file_name, take_quoted};

/// Phrases with a bar between them; blanks belong to them.
pub(super) type Phrases = &'static str;

pub(super) struct Said<'a> {
    /// Without the words by which people begin.
    pub(super) text: &'a str,
    /// Lower case, without its quotations.
    lower: String,
    /// It sets right what was said or done before.
    pub(super) is_correction: bool,
    /// The user wants it kept, in so many words.
    pub(super) is_asked_for: bool,
}

/// Longer ones before those that they begin with.
const FILLERS: Phrases = "that was wrong|that is wrong|that's wrong|not quite|in this project|in this repo\
    |before i forget it|before i forget|one more thing|one thing|just so you know|keep in mind that\
    |for the record|remember that|by the way\
    |as a reminder|to be clear|in general|generally|remember|reminder|important|thank you|note that|actually|perfect\
    |thanks|please|great|sorry|okay|right|wrong|yeah|nope|also|well|then|note|hmm|hey|fyi|btw|yes|and|but|oh|ok|so|no\
    |nah|hi|ah";

const CORRECTIONS: Phrases = "actually|no|nope|nah|wrong|that was wrong|that is wrong|that's wrong|not quite";

const QUESTIONS: Phrases = "what |where |why |how |who |which |can you|could you|would you|do you|does |did |is there\
    |is it|are there|should |shall |let's see|i wonder|maybe |perhaps ";

const PASSING: Phrases = "this time|for now|right now|just once|this once|at the moment|currently|temporarily| yet\
    |in this pr|in this commit|for this task|today only|never mind|nevermind";

const TASK_STATE: Phrases = "halfway|half way|i'm done|i am done|still need to|next step|in progress|i'm working on\
    |i am working on|i'm stuck|almost done|tests pass|tests fail|is failing|in the middle of";

const GIT_HISTORY: Phrases = "in commit|last commit|was merged|got merged|git log|git blame|was reverted|i pushed\
    |i committed|i merged|i rebased";

const RECIPES: Phrases = "the bug was|the bug is|the fix was|the fix is|the problem was|the issue was|was caused by\
    |root cause|fixed by|turned out";

/// Together with the name of a file.
const CODE_STRUCTURE: Phrases = " is in | are in | lives in | live in | defined in | located in | implemented in \
    | documented in | tracked in | moved to | stored in ";

impl<'a> Said<'a> {
    pub(super) fn of(sentence: &'a str) -> Self {
        let mut said =
            Self { text: sentence.trim(), lower: String::new(), is_correction: false, is_asked_for: false };
        loop {
            let lower = said.text.to_ascii_lowercase();
            let begins = |filler: &&str| {
                let rest = lower.strip_prefix(*filler);
                rest.is_some_and(|rest| rest.starts_with([' ', ',', ':', '.', '!', '-']))
            };
            let Some(filler) = FILLERS.split('|').find(begins) else { break };
            said.is_correction |= CORRECTIONS.split('|').any(|known| known == filler);
            said.is_asked_for |= filler.starts_with("remember") || filler.starts_with("keep in mind");
            let rest = said.text.get(filler.len()..).unwrap_or_default();
            said.text = rest.trim_start_matches([' ', ',', ':', '.', '!', '-', '–', '—']);
        }
        let (_, unquoted) = take_quoted(said.text);
        let lower = unquoted.to_lowercase().replace('’', "'");
        let lower = lower.replace("do not", "don't").replace("dont ", "don't ");
        said.lower = lower.split_whitespace().collect::<Vec<_>>().join(" ");
        said
    }

    pub(super) fn starts(&self, phrases: Phrases) -> bool {
        begins(&self.lower, phrases)
    }

    pub(super) fn has(&self, phrases: Phrases) -> bool {
        phrases.split('|').any(|phrase| self.lower.contains(phrase))
    }

    /// What is behind one of the beginnings.
    pub(super) fn after(&self, beginnings: Phrases) -> Option<&str> {
        beginnings.split('|').find_map(|beginning| self.lower.strip_prefix(beginning))
    }

    pub(super) fn lower_words(&self) -> impl Iterator<Item = &str> {
        words(&self.lower)
    }

    /// Its parts between commas.
    pub(super) fn clauses(&self) -> impl Iterator<Item = &str> {
        self.lower.split(',').map(str::trim)
    }

    pub(super) fn count(&self) -> usize {
        self.text.split_whitespace().count()
    }

    pub(super) fn never_goes_in(&self) -> bool {
        let is_question = self.text.ends_with('?') || self.starts(QUESTIONS);
        // One word more is needed for a rule; a script without spaces has no words to count.
        let is_short = self.count() < 3 && self.text.is_ascii();
        is_question
            || is_short
            || [PASSING, TASK_STATE, GIT_HISTORY, RECIPES].into_iter().any(|phrases| self.has(phrases))
            || self.tells_of_code()
            || has_secret(self.text)
    }

    /// Means something only beside what was just talked about. Its reason may speak of what it likes.
    pub(super) fn is_bound(&self) -> bool {
        const BOUND: [&str; 9] = ["this", "that", "these", "those", "it", "here", "there", "them", "other"];
        let claim = self.lower.split(" because ").next().unwrap_or_default();
        !self.has("this project|this repo|this code|this team|this workspace")
            && words(claim).any(|word| BOUND.contains(&word))
    }

    /// Not only for the thing at hand: whoever corrects and says why wants it so the next time as well.
    pub(super) fn is_for_good(&self) -> bool {
        !self.is_bound() || self.is_correction && self.has(" because ")
    }

    /// A file or a function.
    pub(super) fn names_code(&self) -> bool {
        let bare = |word: &'a str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '/');
        self.text.split_whitespace().any(|word| is_file_name(bare(word)) || word.contains("()"))
    }

    fn tells_of_code(&self) -> bool {
        self.has(CODE_STRUCTURE) && !self.text.contains("://") && self.names_code()
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
}

pub(super) fn begins(text: &str, phrases: Phrases) -> bool {
    phrases.split('|').any(|phrase| text.starts_with(phrase))
}
