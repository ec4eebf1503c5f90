//! What was not as it should be, in sentences for the user: "never blank, never silent".

use super::Loaded;
use crate::{record::FORMAT_VERSION, scan::Damage, thread::Walk};

#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) duplicates: u64,
    pub(super) unreadable: u64,
    pub(super) broken_text: u64,
    /// Attachments of Claude Code whose text was not kept.
    pub(super) silent_attachments: u64,
    pub(super) interrupted: u64,
    pub(super) orphaned_results: u64,
    pub(super) left_on_disk: u64,
    pub(super) elsewhere: u64,
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

    /// Worst first.
    pub(super) fn sentences(&self, damage: &Damage, bytes: u64, loaded: &Loaded) -> Vec<String> {
        let mut sentences = Vec::new();
        let mut say = |number: u64, sentence: String| {
            if number > 0 {
                sentences.push(sentence);
            }
        };
        let nothing = u64::from(bytes > 0 && loaded.thread.is_empty());
        say(nothing, format!("The transcript holds {bytes} bytes but no message that could be read."));
        let torn = u64::from(damage.torn_tail);
        say(torn, "The last record was cut off in the middle and was left out.".to_owned());
        let first = damage.first_bad_line.unwrap_or_default();
        let bad = count(damage.bad_lines, "damaged line was", "damaged lines were");
        say(damage.bad_lines, format!("{bad} skipped (the first is line {first})."));
        let recovered = count(damage.recovered, "record was", "records were");
        say(damage.recovered, format!("{recovered} recovered from damaged lines."));
        let long = count(damage.oversized_lines, "line was", "lines were");
        say(damage.oversized_lines, format!("{long} too long to be read and skipped."));
        let nul = count(damage.nul_runs, "run of NUL bytes was", "runs of NUL bytes were");
        say(damage.nul_runs, format!("{nul} skipped."));
        let glued = count(damage.glued_lines, "line held", "lines held");
        say(damage.glued_lines, format!("{glued} several records; all of them were read."));
        let unreadable = count(self.unreadable, "message was", "messages were");
        say(self.unreadable, format!("{unreadable} unreadable and left out."));
        let broken = count(self.broken_text, "message contained", "messages contained");
        say(self.broken_text, format!("{broken} invalid characters, which were replaced."));
        let nameless = count(damage.without_uuid, "message had", "messages had");
        say(damage.without_uuid, format!("{nameless} no id and got one."));
        let twice = count(self.duplicates, "record was", "records were");
        say(self.duplicates, format!("{twice} there twice; the first copy counts."));
        let dangling = count(
            self.dangling,
            "message followed one that is missing; it now follows",
            "messages followed ones that are missing; they now follow",
        );
        say(self.dangling, format!("{dangling} the nearest earlier message."));
        let loops = count(self.loops, "loop", "loops");
        say(self.loops, format!("{loops} in the order of the messages were opened."));
        let stitched = count(
            self.stitched,
            "piece of the history had lost its beginning and was",
            "pieces of the history had lost their beginning and were",
        );
        say(self.stitched, format!("{stitched} tied to what came before."));
        let before = count(self.before, "earlier message belongs", "earlier messages belong");
        say(self.before, format!("{before} to a conversation that was begun anew; it stays in the file."));
        let elsewhere = count(
            self.elsewhere,
            "message lies on another branch and stays",
            "messages lie on other branches and stay",
        );
        say(self.elsewhere, format!("{elsewhere} in the file."));
        let older = count(self.left_on_disk, "oldest message stays", "oldest messages stay");
        say(self.left_on_disk, format!("The history is very long: the {older} in the file only."));
        let interrupted = count(
            self.interrupted,
            "tool call had no result and counts",
            "tool calls had no result and count",
        );
        say(self.interrupted, format!("{interrupted} as interrupted."));
        let orphans = count(
            self.orphaned_results,
            "tool result answered no call and was",
            "tool results answered no call and were",
        );
        say(self.orphaned_results, format!("{orphans} left out."));
        let silent = count(
            self.silent_attachments,
            "attachment of another program was",
            "attachments of another program were",
        );
        say(
            self.silent_attachments,
            format!("{silent} kept without the text that was sent; the model will not see them again."),
        );
        let newer = count(damage.newer_records, "record is", "records are");
        let format = damage.newest_format;
        say(
            damage.newer_records,
            format!(
                "{newer} of a newer format ({format}; this version knows {FORMAT_VERSION}) and was read as far as known."
            ),
        );
        let unknown: u64 = damage.unknown_kinds.values().sum();
        let kinds: Vec<&str> =
            damage.unknown_kinds.keys().map(|kind| if kind.is_empty() { "none" } else { kind }).collect();
        let number = count(unknown, "record is", "records are");
        say(
            unknown,
            format!(
                "{number} of a kind this version does not know ({}) and was left as it is.",
                kinds.join(", ")
            ),
        );
        sentences
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    }
}
