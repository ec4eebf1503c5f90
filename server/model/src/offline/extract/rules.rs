//! Which sentences are worth keeping, and as what.

use memory::{Kind, dates::find_date};

use super::said::{Phrases, Said, begins};

/// What somebody told, worth keeping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Told {
    pub(in super::super) statement: String,
    /// As the words say, if no rule knows better.
    pub(in super::super) kind: Option<Kind>,
}

type Rule = (fn(&Said<'_>) -> bool, Option<Kind>);

/// The first one that fits.
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
    const CONFIRMS: Phrases = "yes exactly|exactly right|exactly like that|exactly what i wanted|exactly how i\
        |exactly the way|keep doing that|keep doing this|keep doing it|keep it that way|keep working like\
        |was the right call|is the right call|was the right choice|is the right choice|was the right decision\
        |was the right move|good call|great call|i like how you|i like that you|i love how you";
    const DENIES: Phrases = "not exactly|wasn't|was not|isn't|is not|but ";
    let lower = sentence.to_lowercase().replace('’', "'");
    let plain: String = lower.chars().filter(|c| !matches!(c, ',' | '.' | '!' | '—' | '–')).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let has = |phrases: Phrases| phrases.split('|').any(|phrase| plain.contains(phrase));
    !plain.contains('?') && has(CONFIRMS) && !has(DENIES)
}

/// What a sentence says was right, if it says so itself: "the single PR was the right call".
pub(super) fn praised(sentence: &str) -> Option<&str> {
    const JUDGES: Phrases = " was the right | is the right ";
    const POINTS: Phrases = "that |this |it |these |those |which |what ";
    let text = Said::of(sentence).text;
    let lead = text.get(..7).filter(|lead| lead.eq_ignore_ascii_case("exactly"));
    let text =
        text.get(lead.map_or(0, str::len)..)?.trim_start_matches([' ', ',', ':', '.', '!', '-', '–', '—']);
    let lower = text.to_ascii_lowercase();
    let subject = JUDGES.split('|').find_map(|verdict| lower.split_once(verdict))?.0;
    let is_named = subject.split_whitespace().count() >= 2 && !begins(subject, POINTS);
    is_named.then(|| text.trim_end_matches(['.', '!', ' ']))
}

/// What a sentence gives as the reason for the one before it.
pub(super) fn reason(sentence: &str) -> Option<String> {
    const LEADS: [&str; 3] = ["because ", "the reason is that ", "that's because "];
    const TELLS: Phrases = "otherwise |last time |we got burned|we were burned";
    let lower = sentence.to_ascii_lowercase();
    let text = sentence.trim_end_matches(['.', '!', ' ']);
    if let Some(lead) = LEADS.iter().find(|lead| lower.starts_with(**lead)) {
        return text.get(lead.len()..).map(str::to_owned);
    }
    let mut letters = text.chars();
    let first = letters.next().filter(|_| begins(&lower, TELLS))?;
    Some(first.to_lowercase().chain(letters).collect())
}

fn is_reference(said: &Said<'_>) -> bool {
    const REQUESTS: Phrases =
        "look |see |open |fetch |read |check |go |visit |use |try |summar|get |i |it |there ";
    const PLACES: Phrases = "tracked in |tracked on |tracked at |documented in |documented at |dashboard is \
        |dashboards are |dashboard lives |runbook is |runbooks are |wiki is at |channel is |backlog is in \
        |board is at |are reported in |are filed in | is what oncall | is what on-call ";
    const TRACKS: Phrases = "that's where we track |is where we track |that is where we track ";
    // Of a program that runs, or does not.
    const STATE: Phrases = "localhost| not | broken| down| slow| empty| wrong| failing";
    let has_address = said.has("https://|http://") && said.has(" is | are | lives | live ");
    let is_kept = has_address || said.has(PLACES);
    said.has(TRACKS) || !said.starts(REQUESTS) && is_kept && !said.has(STATE)
}

fn is_deadline(said: &Said<'_>) -> bool {
    const PLANS: Phrases = "deadline| is due| are due| due on| due by| ship by| ships by| ships on| ship on\
        | ship before|ships next| goes live| go live|code freeze|merge freeze|freezing all| freeze starts\
        | freeze begins\
        |release is|release date|launch is|launches on|demo is|must be done by|must be ready by| has to be ready\
        |needs to be ready| is out until| on vacation| on leave";
    const TIMES: &str = "today tonight tomorrow monday tuesday wednesday thursday friday saturday sunday week weeks month \
        months quarter day days january february march april may june july august september october november december";
    let is_time = |word: &str| TIMES.split_whitespace().any(|time| time == word);
    let is_at_hand = said.starts("this |that |it ");
    !is_at_hand && said.has(PLANS) && (said.lower_words().any(is_time) || find_date(said.text).is_some())
}

fn is_decision(said: &Said<'_>) -> bool {
    const DECIDES: Phrases = "we decided|we've decided|we have decided|we agreed|we've agreed|we have agreed\
        |the team decided|the team agreed|it was decided|the decision is|we chose |we're going with|we are going with\
        |we settled on|we switched |we moved from |we moved to |we're moving |we are moving |we're migrating \
        |we are migrating |we now use |we no longer |we stopped using |we don't use |our policy is|the policy is\
        |legal requires|legal flagged|legal asked|compliance requires|security requires|management wants\
        |the customer wants|the client wants|the reason we're |the reason we are ";
    let uses = said.after("we use |we're using ");
    said.starts(DECIDES) || uses.is_some_and(|what| !begins(what, "this|that|it|the ") && !said.is_bound())
}

fn is_person(said: &Said<'_>) -> bool {
    const ROLES: Phrases = "a |an |the |new to |responsible for |based in |used to |in charge of |not a \
        |not an |colour-blind|color-blind|colour blind|color blind";
    // "I am a bit lost" tells how the user is now, not who they are.
    const MOODS: Phrases = "a bit|a little|a few|the one who|on the fence|the only one";
    const DOES: Phrases = "i work |i lead |i maintain |i come from |my name is |call me |my role is |my job is \
        |my background is |my timezone is |my pronouns are |i don't know much about ";
    let is_role = |roles: Phrases, clause: &str| {
        let what = ["i am ", "i'm "].iter().find_map(|lead| clause.strip_prefix(lead));
        what.is_some_and(|what| begins(what, roles) && !begins(what, MOODS))
    };
    let introduces = said.starts("i am |i'm |my name is ");
    let role = said.clauses().take(1).any(|clause| is_role(ROLES, clause))
        || introduces && said.clauses().any(|clause| is_role("a |an |new to ", clause));
    let is_used = said.after("i use ").is_some_and(|what| !begins(what, "this|that|it |the "));
    let years = said.starts("i've been |i have been |i have ") && said.has(" years| months");
    let is_member = said.starts("i'm on the |i am on the ") && said.has(" team");
    role || is_member || years || is_used || said.starts(DOES) && !said.has(" this | these ")
}

fn is_standing(said: &Said<'_>) -> bool {
    if said.starts("in future|henceforth") || said.has("from now on|going forward|in the future,") {
        return !said.is_bound() || said.count() > 6;
    }
    const TELLS: Phrases = "you should always |you should never |you must |i want you to always |i want you to never \
        |let's always |let's never |ask me before \
        |make sure you always |make sure to always |be sure to always |whenever you \
        |every time you |keep your \
        |you don't have to ask|you don't need to ask";
    // "We always get a 500" tells of a bug.
    const HAPPENS: Phrases = "get |got |see |hit |fail|have |had |know|knew|seem|end up|reach";
    let habit = said.after("we always |we never ").is_some_and(|what| !begins(what, HAPPENS));
    let is_clause = said.starts("when |if |before |after |for |in |on |unless ");
    let ruled = is_clause && said.has(", always |, never |, don't ");
    let plain = said.starts("always |never ") && !said.is_bound();
    plain || said.starts(TELLS) || habit || ruled || is_prohibition(said) || is_replacement(said)
}

/// "Don't mock the database", "stop adding comments": for good, not for the thing at hand.
fn is_prohibition(said: &Said<'_>) -> bool {
    const PASSING: Phrases = "worry|bother|forget|know|think|touch|understand|see|mind|care|need|have|want|get \
        |believe|remember|start |stop |wait|change the |delete the |remove the |rename the |edit the |run the \
        |commit the \
        |push the ";
    let forbids = said.after("don't ever |don't |avoid ").is_some_and(|what| !begins(what, PASSING));
    let ends = |verb: &str| verb.ends_with("ing") && verb.len() > 5;
    let stops = said.after("stop ").and_then(|what| what.split(' ').next()).is_some_and(ends);
    (forbids || stops) && said.is_for_good() && !said.names_code()
}

/// "Use pnpm, not npm".
fn is_replacement(said: &Said<'_>) -> bool {
    let directs = said.starts("use |prefer |write |call |name ");
    let replaces = directs && said.has(", not | instead of | rather than ");
    let turns = said.starts("not ") && said.has(" use | but ");
    let sets_right = turns || directs || said.starts("do |put ") && said.has(" instead");
    // With a file it is something to do, not a rule.
    (replaces || said.is_correction && sets_right)
        && said.is_for_good()
        && !said.has("line ")
        && !said.names_code()
}

fn is_taste(said: &Said<'_>) -> bool {
    const TASTES: Phrases = "i prefer |i'd prefer |i would prefer |i'd rather |i would rather |i hate |i dislike \
        |i don't like |i like |i love |i really like |we prefer |the user prefers |user prefers |the user likes \
        |the user wants ";
    const VAGUE: Phrases = "this|that|it|the idea|your |to see|how it|what you|where this|if you|option\
        |the first|the second|the third|the last|the other";
    // "I like the new layout" praises.
    let praises = said.starts("i like the |i love the |i really like the ");
    !praises
        && said.after(TASTES).is_some_and(|what| {
            let is_vague = begins(what, VAGUE) && !what.starts_with("it when ");
            !is_vague && what.split_whitespace().count() >= 2
        })
}

/// "Not npm, use pnpm" begins with what is right.
fn turned(statement: &str) -> String {
    let turned = || {
        let is_not = statement.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("not "));
        let rest = statement.get(4..).filter(|_| is_not)?;
        let at = rest.to_ascii_lowercase().find(", use ")?;
        Some(format!("Use {}, not {}", rest.get(at + ", use ".len()..)?, rest.get(..at)?))
    };
    turned().unwrap_or_else(|| statement.to_owned())
}
