//! What the model is told about memory: one fixed text per directory and way of keeping, never the user's data.

use std::path::Path;

use crate::daily;

/// How what is worth it is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// A file per topic, and an index.
    Topics,
    /// A line in the log of the day, for a dream to distil.
    DailyLog,
}

/// The section of the system prompt. `transcripts`: where past sessions lie, if the model may search them. `guidelines`:
/// what an embedding product adds.
pub fn section(
    directory: &Path,
    keeping: Keeping,
    transcripts: Option<&Path>,
    guidelines: Option<&str>,
) -> String {
    let mut more = String::new();
    if let Some(transcripts) = transcripts {
        more.push_str(&format!(
            "\n## Looking further back\nWhat is not before you may still be there: first Grep the memory directory (`*.md`), \
             then, as a last resort, the transcripts in {} (`*.jsonl`; large, so with narrow words: an error message, a \
             file, a function).\n",
            transcripts.display()
        ));
    }
    if let Some(guidelines) = guidelines.map(str::trim).filter(|text| !text.is_empty()) {
        more.push_str(&format!("\n## Further rules\n{guidelines}\n"));
    }
    let texts = Texts::of(keeping);
    include_str!("prompts/rules.md")
        .replace("{log}", texts.log)
        .replace("{forgetting}", texts.forgetting)
        .replace("{reasons}", texts.reasons)
        .replace("{saving}", texts.saving.trim_end())
        .replace("{lead}", daily::LEAD)
        .replace("{pattern}", daily::PATTERN)
        .replace("{directory}", &directory.display().to_string())
        .replace("{more}", &more)
        .trim_end()
        .to_owned()
}

/// In what the ways of keeping differ.
struct Texts {
    log: &'static str,
    forgetting: &'static str,
    reasons: &'static str,
    saving: &'static str,
}

impl Texts {
    fn of(keeping: Keeping) -> Self {
        match keeping {
            Keeping::Topics => Self {
                log: "",
                forgetting: "When they ask you to forget something, find the file and its line in the index and remove \
                             both.",
                reasons: "The body of a feedback or project memory: the rule or the fact, then **Why:** and **How to \
                          apply:**, a line each.",
                saving: include_str!("prompts/saving_topics.md"),
            },
            Keeping::DailyLog => Self {
                log: "{lead} {directory}/{pattern}\n",
                forgetting: "When they ask you to forget something, remove its lines from the logs, and its file and the \
                             line in the index where there are any.",
                reasons: "With feedback and project belongs the why, in half a sentence.",
                saving: include_str!("prompts/saving_log.md"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    fn text(keeping: Keeping) -> String {
        section(
            Path::new("/home/ada/.claude/projects/-home-ada-engine/memory"),
            keeping,
            Some(Path::new("/home/ada/.claude/projects/-home-ada-engine")),
            Some("Never save names of customers."),
        )
    }

    #[test]
    fn the_rules_are_what_was_agreed_on() {
        expect_file!["prompts/rules.snapshot.txt"].assert_eq(&text(Keeping::Topics));
    }

    #[test]
    fn in_daily_log_mode_lines_are_kept_instead_of_files() {
        expect_file!["prompts/rules_daily.snapshot.txt"].assert_eq(&text(Keeping::DailyLog));
    }

    #[test]
    fn a_directory_has_one_text() {
        let directory = Path::new("/m");
        for keeping in [Keeping::Topics, Keeping::DailyLog] {
            let plain = section(directory, keeping, None, None);
            assert_eq!(plain, section(directory, keeping, None, Some(" ")));
            assert!(plain.contains("Memory directory: /m\n") && !plain.contains('{'), "{plain}");
            assert!(plain.len() < 7_000);
        }
    }
}
