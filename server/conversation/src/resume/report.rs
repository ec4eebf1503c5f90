//! What was not as it should be, in sentences for the user: "never blank, never silent".

use super::Loaded;
use crate::{excerpt::one_line, record::FORMAT_VERSION, scan::Damage, thread::Walk};

/// So many prompts that never ran are quoted, the others only counted.
const QUOTED_PROMPTS: usize = 10;
const PROMPT_CHARS: usize = 80;

#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(super) duplicates: u64,
    pub(super) unreadable: u64,
    pub(super) broken_text: u64,
    /// Attachments of Claude Code whose text was not kept.
    pub(super) silent_attachments: u64,
    pub(super) interrupted: u64,
    pub(super) orphaned_results: u64,
    pub(super) left_on_disk: u64,
    pub(super) elsewhere: u64,
    /// The session was rewound to a message that is missing.
    pub(super) lost_head: u64,
    /// There is no message in the file, and the session was not rewound to before its first one.
    pub(super) empty: bool,
    dangling: u64,
    loops: u64,
    stitched: u64,
    before: u64,
}

impl Report {
    pub(super) fn take(&mut self, walk: &Walk) {
        self.dangling = walk.dangling;
        self.loops = walk.loops;
        self.stitched = walk.stitched;
        self.elsewhere = walk.elsewhere;
        self.before = walk.before;
    }

    pub(super) fn sentences(&self, damage: &Damage, bytes: u64, loaded: &Loaded) -> Vec<String> {
        let mut sentences = unsent_prompts(&loaded.queued);
        let lost = "The message that the session was rewound to is missing; it goes on from the newest one.";
        sentences.extend(told(self.lost_head, lost, ""));
        sentences.extend(self.chain(damage, bytes));
        sentences
    }

    pub(crate) fn has_lost_head(&self) -> bool {
        self.lost_head > 0
    }

    /// Messages of the thread that name a parent that is not there.
    pub(crate) fn dangling(&self) -> u64 {
        self.dangling
    }

    /// Worst first.
    pub(crate) fn chain(&self, damage: &Damage, bytes: u64) -> Vec<String> {
        let empty = u64::from(bytes > 0 && self.empty);
        let torn = u64::from(damage.torn_tail);
        let first_bad = damage.first_bad_line.unwrap_or_default();
        let format = damage.newest_format;
        let unknown = damage.unknown_kinds.values().sum();
        let kinds: Vec<&str> =
            damage.unknown_kinds.keys().map(|kind| if kind.is_empty() { "none" } else { kind }).collect();
        let kinds = kinds.join(", ");
        let told = [
            told(
                empty,
                &format!("The transcript holds {bytes} bytes but no message that could be read."),
                "",
            ),
            told(torn, "The last record was cut off in the middle and was left out.", ""),
            told(
                damage.bad_lines,
                &format!("1 damaged line was skipped (line {first_bad})."),
                &format!("# damaged lines were skipped (the first is line {first_bad})."),
            ),
            told(
                damage.recovered,
                "1 record was recovered from a damaged line.",
                "# records were recovered from damaged lines.",
            ),
            told(
                damage.oversized_lines,
                "1 line was too long to be read and was skipped.",
                "# lines were too long to be read and were skipped.",
            ),
            told(damage.nul_runs, "1 run of NUL bytes was skipped.", "# runs of NUL bytes were skipped."),
            told(
                damage.glued_lines,
                "1 line held several records; all of them were read.",
                "# lines held several records; all of them were read.",
            ),
            told(
                self.unreadable,
                "1 message was unreadable and was left out.",
                "# messages were unreadable and were left out.",
            ),
            told(
                self.broken_text,
                "1 message contained invalid characters, which were replaced.",
                "# messages contained invalid characters, which were replaced.",
            ),
            told(
                damage.without_uuid,
                "1 message had no id and got one.",
                "# messages had no id and got one.",
            ),
            told(
                self.duplicates,
                "1 record was there twice; the first copy counts.",
                "# records were there twice; the first copies count.",
            ),
            told(
                self.dangling,
                "1 message followed one that is missing; it now follows the nearest earlier one.",
                "# messages followed ones that are missing; they now follow the nearest earlier ones.",
            ),
            told(
                self.loops,
                "1 loop in the order of the messages was opened.",
                "# loops in the order of the messages were opened.",
            ),
            told(
                self.stitched,
                "1 piece of the history had lost its beginning and was tied to what came before.",
                "# pieces of the history had lost their beginning and were tied to what came before.",
            ),
            told(
                self.before,
                "1 earlier message belongs to a conversation that was begun anew; it stays in the file.",
                "# earlier messages belong to a conversation that was begun anew; they stay in the file.",
            ),
            told(
                self.elsewhere,
                "1 message lies on another branch and stays in the file.",
                "# messages lie on other branches and stay in the file.",
            ),
            told(
                self.left_on_disk,
                "The history is very long: its oldest message stays in the file only.",
                "The history is very long: its # oldest messages stay in the file only.",
            ),
            told(
                self.interrupted,
                "1 tool call had no result and counts as interrupted.",
                "# tool calls had no result and count as interrupted.",
            ),
            told(
                self.orphaned_results,
                "1 tool result answered no call and was left out.",
                "# tool results answered no call and were left out.",
            ),
            told(
                self.silent_attachments,
                "1 attachment of another program has no text that could be sent again.",
                "# attachments of another program have no text that could be sent again.",
            ),
            told(
                damage.newer_records,
                &format!(
                    "1 record has a newer format ({format}, not {FORMAT_VERSION}) and was read as far as it is known."
                ),
                &format!(
                    "# records have a newer format (up to {format}, not {FORMAT_VERSION}) and were read as far as it is known."
                ),
            ),
            told(
                unknown,
                &format!("1 record is of a kind this version does not know ({kinds}) and was left as it is."),
                &format!(
                    "# records are of kinds this version does not know ({kinds}) and were left as they are."
                ),
            ),
        ];
        told.into_iter().flatten().collect()
    }
}

pub(crate) fn unsent_prompts(queued: &[String]) -> Vec<String> {
    let quoted = queued.iter().take(QUOTED_PROMPTS).map(|prompt| {
        let prompt = one_line(prompt, PROMPT_CHARS);
        format!("A prompt that was waiting when the session ended was not run: \"{prompt}\".")
    });
    let others = told(
        queued.len().saturating_sub(QUOTED_PROMPTS) as u64,
        "1 more prompt that was waiting was not run.",
        "# more prompts that were waiting were not run.",
    );
    quoted.chain(others).collect()
}

/// `#` stands for the number.
fn told(number: u64, one: &str, many: &str) -> Option<String> {
    match number {
        0 => None,
        1 => Some(one.to_owned()),
        _ => Some(many.replacen('#', &number.to_string(), 1)),
    }
}
