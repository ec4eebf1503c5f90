//! The directive of a dream: four phases, and what there is to go by.

use std::path::{Path, PathBuf};

use jiff::civil::Date;

use super::{DREAM, FINDINGS, LOGS, SESSIONS, list, manifest};
use crate::{Memory, index, lint::Finding};

const MOST_SESSIONS: usize = 50;
const MOST_FINDINGS: usize = 100;
const MOST_LOGS: usize = 60;

pub struct Dream<'a> {
    pub directory: &'a Path,
    /// The folders in which the transcripts lie.
    pub transcripts: &'a [PathBuf],
    pub today: Date,
    /// The sessions since the last dream, by id.
    pub sessions: &'a [String],
    /// All there are; the newest are listed.
    pub memories: &'a [Memory],
    pub findings: &'a [Finding],
    /// The daily logs, relative to the directory, newest last.
    pub logs: &'a [String],
    pub has_team: bool,
}

impl Dream<'_> {
    pub fn text(&self) -> String {
        let folders = |folder: &PathBuf| format!("Transcripts: {}\n", folder.display());
        let transcripts: String = self.transcripts.iter().map(folders).collect();
        let team = if self.has_team {
            "`team/` is shared with others and has its own MEMORY.md: change there only what is plainly wrong or said twice \
             in it, delete nothing that somebody else may still need, and never move or copy a private memory into it.\n"
        } else {
            ""
        };
        include_str!("../prompts/dream.md")
            .replace("{tag}", DREAM)
            .replace("{today}", &self.today.to_string())
            .replace("{lines}", &index::LINES.to_string())
            .replace("{bytes}", &index::BYTES.to_string())
            .replace("{line}", &index::LINE_CHARS.to_string())
            .replace("{long}", &index::LONG_LINE.to_string())
            .replace("{team}", team)
            .replace("{directory}", &self.directory.display().to_string())
            .replace("{transcripts}", &transcripts)
            // Last: nothing in it is replaced.
            .replace("{sections}", &self.sections())
            .trim_end()
            .to_owned()
    }

    fn sections(&self) -> String {
        let findings: Vec<String> = self.findings.iter().map(|finding| self.finding(finding)).collect();
        // The newest are the ones to distil.
        let newest = self.logs.len().saturating_sub(MOST_LOGS);
        let logs: Vec<String> = self.logs.iter().skip(newest).map(|log| format!("- {log}")).collect();
        let sessions: Vec<String> = self.sessions.iter().map(|id| format!("- {id}")).collect();
        let titled = |title: &str, list: String| match list.is_empty() {
            true => String::new(),
            false => format!("\n{title}:{list}"),
        };
        [
            titled("Memories, newest first", manifest(self.memories)),
            titled("Daily logs, newest last", list(LOGS, &logs, MOST_LOGS)),
            titled("Sessions since the last dream", list(SESSIONS, &sessions, MOST_SESSIONS)),
            titled("What a check of the directory found (hints)", list(FINDINGS, &findings, MOST_FINDINGS)),
        ]
        .concat()
    }

    fn finding(&self, finding: &Finding) -> String {
        let path = finding.path.strip_prefix(self.directory).unwrap_or(&finding.path);
        format!("- {}:{} {}: {}", path.display(), finding.line, finding.code, finding.message)
    }
}
