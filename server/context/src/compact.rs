//! Full compaction: what the model is asked for, how its answer is read, and what stands for the conversation
//! afterwards. Asking is the caller's.

mod request;
mod restored;
mod summary;

use std::path::Path;

use conversation::Message;

pub use request::{without_media, without_oldest};
pub use restored::{RESTORED_FILE, restored, restored_path, restored_skills};
pub use summary::{NoSummary, Section, Summary};

use crate::{fork, fragment, measure::excerpt};

/// Which part of the conversation is summarised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scope<'a> {
    Whole,
    /// This message and what follows it; what is before it stays, and is in the request as well.
    From(&'a Message),
    /// What precedes a message; the message and what follows it stay.
    UpTo,
}

/// How the session goes on behind the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// The turn that was running goes on.
    AtOnce,
    /// The user speaks next.
    OnPrompt,
}

/// What a fork of the conversation is asked. `custom` are the user's own wishes about the summary.
pub fn directive(custom: Option<&str>, scope: Scope<'_>) -> String {
    let scope = match scope {
        Scope::Whole => {
            "The conversation above is about to be replaced by a summary, to make room.".to_owned()
        }
        Scope::From(first) => format!(
            "The last part of the conversation above is about to be replaced by a summary, to make room: all from \
             {} on. What comes before it stays and need not be repeated.",
            excerpt(first)
                .map_or_else(|| "the last request".to_owned(), |words| format!("the message {words}"))
        ),
        Scope::UpTo => {
            "The conversation above is about to be replaced by a summary, to make room. Newer messages, \
             which you are not shown, follow behind it: section 9 says what this part was leading to."
                .to_owned()
        }
    };
    let text = include_str!("compact/directive.md")
        .replace("{{marker}}", fork::COMPACT)
        .replace("{{scope}}", &scope);
    let custom = custom.map(str::trim).filter(|custom| !custom.is_empty());
    match custom {
        None => text.trim_end().to_owned(),
        Some(custom) => format!("{}\n\nThe user wants this of the summary:\n{custom}", text.trim_end()),
    }
}

/// What it is asked when sections are missing.
pub fn retry_directive(missing: &[Section]) -> String {
    let titles: Vec<String> =
        missing.iter().map(|section| format!("{}. {}", section.number(), section.title())).collect();
    format!(
        "{}\nThe summary lacks these sections, or they are empty:\n{}\n\nWrite the whole summary again, in \
         <summary> tags, with all nine sections, each with its number and title as a line of its own. Answer with \
         text only and call no tools.",
        fork::COMPACT,
        titles.join("\n")
    )
}

/// The user message that stands for what was removed.
pub fn summary_text(summary: &Summary, transcript: &Path, then: Continue, scope: Scope<'_>) -> String {
    let what = match scope {
        Scope::Whole => {
            "The conversation so far was replaced by this summary, because it did not fit any more."
        }
        Scope::From(_) => "The messages that followed here were replaced by this summary, to make room.",
        Scope::UpTo => {
            "The earlier part of this conversation was replaced by this summary, to make room. What follows it is \
             the conversation itself."
        }
    };
    framed(what, summary.text(), transcript, then)
}

/// A summary between what it is and where the rest can be found.
pub(crate) fn framed(what: &str, summary: &str, transcript: &Path, then: Continue) -> String {
    let then = match then {
        Continue::AtOnce => {
            "\n\nGo on with the work from where it stopped, as if there had been no break: do not greet, do not \
             repeat the summary, do not ask whether to go on."
        }
        Continue::OnPrompt => "",
    };
    format!(
        "<conversation-summary>\n{what}\n\n{}\n\nWhere a detail is missing (code, an error, what was said), the whole conversation is in \
         this file, a JSON object on each line:\n{}{then}\n</conversation-summary>",
        neutralised(summary.trim()),
        transcript.display()
    )
}

/// A summary repeats what tools and files said: it must not end its frame, nor speak as a reminder.
fn neutralised(summary: &str) -> String {
    fragment::neutralised(summary).replace("</conversation-summary", "&lt;/conversation-summary")
}

#[cfg(test)]
mod tests;
