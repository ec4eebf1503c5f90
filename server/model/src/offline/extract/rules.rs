//! Which sentences are worth keeping, and as what. Rules of the table are tried in their order; what never goes in was
//! refused before.

use memory::{Kind, compose::has_secret};

use super::super::terms::{is_file_name, take_quoted};

/// What somebody told, worth keeping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Told {
    pub(in super::super) statement: String,
    /// As the words say, if no rule knows better.
    pub(in super::super) kind: Option<Kind>,
}

/// A sentence and what its words say without looking at its quotations.
struct Said<'a> {
    text: &'a str,
    lower: String,
    /// It sets right what was said or done before.
    is_correction: bool,
    /// The user wants it kept, in so many words.
    is_asked_for: bool,
}

type Rule = (fn(&Said<'_>) -> bool, Option<Kind>);

const RULES: [Rule; 7] = [
    (is_reference, Some(Kind::Reference)),
    (is_deadline, Some(Kind::Project)),
    (is_decision, Some(Kind::Project)),
    (is_person, Some(Kind::User)),
    (is_standing, Some(Kind::Feedback)),
    (is_taste, Some(Kind::User)),
    (|said| said.is_asked_for, None),
];

pub(in super::super) fn told(sentence: &str) -> Option<Told> {
    let said = Said::of(sentence);
    if said.never_goes_in() {
        return None;
    }
    let (_, kind) = RULES.iter().find(|(applies, _)| applies(&said))?;
    let statement = said.text.trim_end_matches(['.', '!', ' ']);
    Some(Told { statement: turned(statement), kind: *kind })
}

/// Whether it says that what was just done is right, and that more than politely.
pub(super) fn is_confirmation(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    let plain: String = lower.chars().filter(|c| !matches!(c, ',' | '.' | '!' | '—' | '–')).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    const CONFIRM: [&str; 22] = [
        "yes exactly",
        "exactly right",
        "exactly like that",
        "exactly what i wanted",
        "exactly how i",
        "exactly the way",
        "keep doing that",
        "keep doing this",
        "keep doing it",
        "keep it that way",
        "keep working like",
        "was the right call",
        "is the right call",
        "was the right choice",
        "is the right choice",
        "was the right decision",
        "was the right move",
        "good call",
        "great call",
        "i like how you",
        "i like that you",
        "i love how you",
    ];
    let denied = ["not exactly", "wasn't", "was not", "isn't", "is not", "n't the right", "but "];
    !lower.contains('?')
        && CONFIRM.iter().any(|words| plain.contains(words))
        && !denied.iter().any(|words| plain.contains(words))
}

/// Whether a sentence gives the reason for the one before it.
pub(super) fn reason(sentence: &str) -> Option<String> {
    let lower = sentence.to_lowercase();
    let text = sentence.trim_end_matches(['.', '!', ' ']);
    if lower.starts_with("because ") {
        return text.get("because ".len()..).map(str::to_owned);
    }
    let tells =
        ["otherwise ", "last time ", "we got burned", "we were burned", "the reason is ", "that's because "];
    let lead = tells.iter().find(|lead| lower.starts_with(**lead))?;
    let is_because = lead.contains("reason") || lead.contains("because");
    let told = if is_because { text.get(lead.len()..)? } else { text };
    let told = told.strip_prefix("that ").unwrap_or(told);
    let mut letters = told.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect())
}

impl<'a> Said<'a> {
    fn of(sentence: &'a str) -> Self {
        const FILLERS: [&str; 44] = [
            "one more thing",
            "just so you know",
            "keep in mind that",
            "for the record",
            "remember that",
            "by the way",
            "as a reminder",
            "to be clear",
            "in general",
            "generally",
            "remember",
            "reminder",
            "important",
            "thank you",
            "note that",
            "actually",
            "perfect",
            "thanks",
            "please",
            "great",
            "sorry",
            "okay",
            "right",
            "wrong",
            "yeah",
            "nope",
            "also",
            "well",
            "then",
            "note",
            "hmm",
            "hey",
            "fyi",
            "btw",
            "yes",
            "and",
            "but",
            "oh",
            "ok",
            "so",
            "no",
            "nah",
            "hi",
            "ah",
        ];
        let mut said =
            Self { text: sentence.trim(), lower: String::new(), is_correction: false, is_asked_for: false };
        loop {
            let lower = said.text.to_ascii_lowercase();
            let ends = |filler: &&&str| {
                lower
                    .strip_prefix(**filler)
                    .is_some_and(|rest| rest.starts_with([' ', ',', ':', '.', '!', '-']))
            };
            let Some(filler) = FILLERS.iter().find(ends) else { break };
            said.is_correction |= ["actually", "no", "nope", "nah", "wrong"].contains(filler);
            said.is_asked_for |= filler.starts_with("remember") || filler.starts_with("keep in mind");
            let rest = said.text.get(filler.len()..).unwrap_or_default();
            said.text = rest.trim_start_matches([' ', ',', ':', '.', '!', '-', '–', '—']);
        }
        let (_, unquoted) = take_quoted(said.text);
        let lower =
            unquoted.to_lowercase().replace('’', "'").replace("do not", "don't").replace("dont ", "don't ");
        said.lower = lower.split_whitespace().collect::<Vec<_>>().join(" ");
        said
    }

    fn starts(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.lower.starts_with(word))
    }

    fn has(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.lower.contains(word))
    }

    /// What is behind one of the beginnings.
    fn after(&self, beginnings: &[&str]) -> Option<&str> {
        beginnings.iter().find_map(|beginning| self.lower.strip_prefix(beginning))
    }

    fn words(&self) -> usize {
        self.text.split_whitespace().count()
    }

    fn never_goes_in(&self) -> bool {
        let is_question = self.text.ends_with('?')
            || self.starts(&[
                "what ",
                "where ",
                "why ",
                "how ",
                "who ",
                "which ",
                "can you",
                "could you",
                "would you",
                "do you",
                "does ",
                "did ",
                "is there",
                "is it",
                "are there",
                "should ",
                "shall ",
                "let's see",
                "i wonder",
                "maybe ",
                "perhaps ",
            ]);
        let is_passing = self.has(&[
            "this time",
            "for now",
            "right now",
            "just once",
            "this once",
            "at the moment",
            "currently",
            "temporarily",
            "not yet",
            " yet",
            "in this pr",
            "in this commit",
            "for this task",
            "today only",
            "never mind",
            "nevermind",
        ]);
        let is_state = self.has(&[
            "halfway",
            "half way",
            "i'm done",
            "i am done",
            "still need to",
            "next step",
            "in progress",
            "i'm working on",
            "i am working on",
            "i'm stuck",
            "almost done",
            "tests pass",
            "tests fail",
            "is failing",
            "in the middle of",
        ]);
        let is_history = self.has(&[
            "in commit",
            "last commit",
            "was merged",
            "got merged",
            "git log",
            "git blame",
            "was reverted",
            "i pushed",
            "i committed",
            "i merged",
            "i rebased",
        ]);
        let is_recipe = self.has(&[
            "the bug was",
            "the bug is",
            "the fix was",
            "the fix is",
            "the problem was",
            "the issue was",
            "was caused by",
            "root cause",
            "fixed by",
            "turned out",
        ]);
        let is_structure = self.has(&[
            " is in ",
            " are in ",
            " lives in ",
            " live in ",
            " defined in ",
            " located in ",
            " implemented in ",
            " documented in ",
            " moved to ",
            " stored in ",
        ]) && !self.has(&["://"])
            && self.text.split_whitespace().any(|word| {
                is_file_name(word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '/'))
            });
        let is_short = self.words() < 3 && self.text.is_ascii();
        is_question
            || is_passing
            || is_state
            || is_history
            || is_recipe
            || is_structure
            || is_short
            || has_secret(self.text)
    }

    /// Means something only beside what was just talked about.
    fn is_bound(&self) -> bool {
        const BOUND: [&str; 9] = ["this", "that", "these", "those", "it", "here", "there", "them", "other"];
        let lasting =
            ["this project", "this repo", "this code", "this team", "this workspace", "in it", "that's"];
        !self.has(&lasting)
            && self.lower.split(|c: char| !c.is_alphanumeric() && c != '\'').any(|word| BOUND.contains(&word))
    }
}

fn is_reference(said: &Said<'_>) -> bool {
    let asks = [
        "look ", "see ", "open ", "fetch ", "read ", "check ", "go ", "visit ", "use ", "try ", "summar",
        "get ",
    ];
    if said.starts(&asks) || said.starts(&["i ", "it ", "there "]) {
        return false;
    }
    let tells = [
        " is at ",
        " are at ",
        " is on ",
        " are on ",
        " is here",
        " lives at ",
        " live at ",
        " is under ",
        " is ",
    ];
    let has_address = said.has(&["https://", "http://"]) && said.has(&tells);
    let is_kept = said.has(&[
        "tracked in ",
        "tracked on ",
        "tracked at ",
        "documented in ",
        "documented at ",
        "dashboard is ",
        "dashboards are ",
        "dashboard lives ",
        "runbook is ",
        "runbooks are ",
        "wiki is at ",
        "channel is #",
        "channel is ",
        "backlog is in ",
        "board is at ",
        "are reported in ",
        "are filed in ",
    ]);
    has_address || is_kept && !said.has(&[" broken", " down", " slow", " empty", " wrong"])
}

fn is_deadline(said: &Said<'_>) -> bool {
    let about = said.has(&[
        "deadline",
        " is due",
        " are due",
        " due on",
        " due by",
        " ship by",
        " ships by",
        " ships on",
        " ship on",
        " ship before",
        "ships next",
        " goes live",
        " go live",
        "code freeze",
        "merge freeze",
        " freeze starts",
        " freeze begins",
        "release is",
        "release date",
        "launch is",
        "launches on",
        "demo is",
        "must be done by",
        "must be ready by",
        " has to be ready",
        "needs to be ready",
        " is out until",
        " on vacation",
        " on leave",
    ]);
    about && has_date(&said.lower)
}

fn has_date(lower: &str) -> bool {
    const DAYS: [&str; 14] = [
        "today",
        "tonight",
        "tomorrow",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "week",
        "month",
        "quarter",
        "day",
    ];
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| {
        let stem = word.strip_suffix('s').unwrap_or(word);
        DAYS.contains(&stem) || MONTHS.contains(&word) || memory::dates::find_date(lower).is_some()
    })
}

fn is_decision(said: &Said<'_>) -> bool {
    let decided = [
        "we decided",
        "we've decided",
        "we have decided",
        "we agreed",
        "we've agreed",
        "we have agreed",
        "the team decided",
        "the team agreed",
        "it was decided",
        "the decision is",
        "we chose ",
        "we're going with",
        "we are going with",
        "we settled on",
        "we switched ",
        "we moved from ",
        "we moved to ",
        "we're moving ",
        "we are moving ",
        "we're migrating ",
        "we are migrating ",
        "we now use ",
        "we no longer ",
        "we stopped using ",
        "we don't use ",
        "our policy is",
        "the policy is",
        "legal requires",
        "legal flagged",
        "legal asked",
        "compliance requires",
        "security requires",
        "management wants",
        "the customer wants",
        "the client wants",
    ];
    let uses = said
        .after(&["we use ", "we're using "])
        .is_some_and(|what| !["this", "that", "it", "the "].iter().any(|bound| what.starts_with(bound)));
    said.starts(&decided) || uses
}

fn is_person(said: &Said<'_>) -> bool {
    let role = said.after(&["i am ", "i'm "]).is_some_and(|what| {
        let begins = |words: &[&str]| words.iter().any(|word| what.starts_with(word));
        let is_role = begins(&[
            "a ",
            "an ",
            "the ",
            "new to ",
            "responsible for ",
            "based in ",
            "used to ",
            "in charge of ",
        ]) || begins(&[
            "on the ",
            "not a ",
            "not an ",
            "colour-blind",
            "color-blind",
            "colour blind",
            "color blind",
        ]);
        is_role
            && !begins(&[
                "a bit",
                "a little",
                "a few",
                "the one who",
                "a fan of this",
                "an idiot",
                "on the fence",
            ])
    });
    let is_bound = said.has(&[" this ", " these "]);
    let does = [
        "i work ",
        "i lead ",
        "i maintain ",
        "i come from ",
        "my name is ",
        "call me ",
        "my role is ",
        "my job is ",
    ];
    let knows = ["i've been ", "i have been "];
    let years = said.starts(&knows) && said.has(&[" years", " months"]);
    role || years
        || said.starts(&[
            "my background is ",
            "i don't know much about ",
            "my timezone is ",
            "my pronouns are ",
        ])
        || said.starts(&does) && !is_bound
        || said.after(&["i have "]).is_some_and(|what| what.contains(" years of "))
        || said
            .after(&["i use "])
            .is_some_and(|what| !["this", "that", "it ", "the "].iter().any(|it| what.starts_with(it)))
}

fn is_standing(said: &Said<'_>) -> bool {
    if said.starts(&["from now on", "going forward", "in future", "henceforth"])
        || said.has(&[", from now on", " from now on", " going forward", "in the future,"])
    {
        return !said.is_bound() || said.words() > 6;
    }
    let tells =
        said.starts(&["you should always ", "you should never ", "you must ", "i want you to always "])
            || said.starts(&[
                "i want you to never ",
                "make sure you always ",
                "make sure to always ",
                "be sure to always ",
            ])
            || said.starts(&[
                "whenever you ",
                "every time you ",
                "keep your ",
                "you don't have to ask",
                "you don't need to ask",
            ]);
    // "We always get a 500" tells of a bug.
    let happens =
        ["get ", "got ", "see ", "hit ", "fail", "have ", "had ", "know", "knew", "seem", "end up", "reach"];
    let habit = said
        .after(&["we always ", "we never "])
        .is_some_and(|what| !happens.iter().any(|verb| what.starts_with(verb)));
    let is_clause = said.starts(&["when ", "if ", "before ", "after ", "for ", "in ", "on ", "unless "]);
    let ruled = is_clause && said.has(&[", always ", ", never ", ", don't "]);
    let plain = said.starts(&["always ", "never "]) && !said.is_bound();
    plain || tells || habit || ruled || is_prohibition(said) || is_replacement(said)
}

/// "Don't mock the database", "stop adding comments": for good, not for the thing at hand.
fn is_prohibition(said: &Said<'_>) -> bool {
    let passing = [
        "worry",
        "bother",
        "forget",
        "know",
        "think",
        "touch",
        "understand",
        "see",
        "mind",
        "care",
        "need",
        "have",
        "want",
        "get ",
        "believe",
        "remember",
        "start ",
        "stop ",
        "wait",
    ];
    let dont = said.after(&["don't ", "don't ever ", "you don't ", "avoid "]);
    let forbids = dont.is_some_and(|what| !passing.iter().any(|verb| what.starts_with(verb)));
    let stops = said.after(&["stop "]).is_some_and(|what| {
        what.split(' ').next().is_some_and(|verb| verb.ends_with("ing") && verb.len() > 5)
    });
    (forbids && !said.starts(&["you don't "]) || stops) && !said.is_bound()
}

/// "Use pnpm, not npm".
fn is_replacement(said: &Said<'_>) -> bool {
    let replaces = said.has(&[", not ", " instead of ", " rather than "]);
    let begins = said.starts(&["use ", "prefer ", "write ", "call ", "name ", "we use "]);
    let turned = said.starts(&["not "]) && said.has(&[", use ", " use ", " but "]);
    let corrects =
        said.is_correction && (turned || begins || said.has(&[" instead"]) && said.starts(&["do ", "put "]));
    (begins && replaces || corrects) && !said.is_bound() && !said.has(&["the other", "line "])
}

fn is_taste(said: &Said<'_>) -> bool {
    let tastes = [
        "i prefer ",
        "i'd prefer ",
        "i would prefer ",
        "i'd rather ",
        "i would rather ",
        "i hate ",
        "i dislike ",
        "i don't like ",
        "i like ",
        "i love ",
        "i really like ",
        "we prefer ",
        "the user prefers ",
        "user prefers ",
        "the user likes ",
        "the user wants ",
    ];
    let vague = ["this", "that", "it", "the idea", "your ", "to see", "how it", "what you", "where this"];
    said.after(&tastes).is_some_and(|what| {
        let is_vague = vague.iter().any(|begin| what.starts_with(begin)) && !what.starts_with("it when ");
        !is_vague && what.split_whitespace().count() >= 2
    })
}

/// "Not npm, use pnpm" begins with what is right.
fn turned(statement: &str) -> String {
    let turned = || {
        let rest =
            statement.get(..4).filter(|start| start.eq_ignore_ascii_case("not ")).and(statement.get(4..))?;
        let at = rest.to_ascii_lowercase().find(", use ")?;
        Some(format!("Use {}, not {}", rest.get(at + ", use ".len()..)?, rest.get(..at)?))
    };
    turned().unwrap_or_else(|| statement.to_owned())
}
