//! A memory made from one sentence of the user's: its kind, its name, its frontmatter, its body, its line in the index.

use crate::{secrets, topic::Kind};

/// A memory that is about to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub statement: String,
    pub kind: Kind,
    pub title: String,
    pub file_name: String,
}

/// What a sentence is about, by its words.
fn kind_of(statement: &str) -> Kind {
    let lower = statement.to_lowercase();
    let starts = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
    let contains = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if contains(&["http://", "https://", "dashboard", "wiki", "is tracked in", "is documented"]) {
        Kind::Reference
    } else if starts(&["i am ", "i'm ", "i prefer ", "i like ", "i work ", "i use ", "my ", "call me "]) {
        Kind::User
    } else if starts(&["we ", "the team", "our "]) && !starts(&["we always ", "we never "]) {
        Kind::Project
    } else if contains(&["always", "never", "don't", "do not", "prefer", "instead of", "from now on", "must"])
        || starts(&["use ", "run ", "write ", "keep ", "avoid ", "stop "])
    {
        Kind::Feedback
    } else {
        Kind::Project
    }
}

impl Draft {
    pub fn of(statement: &str) -> Self {
        let statement = sentence(&statement.split_whitespace().collect::<Vec<_>>().join(" "));
        // The topic is what is said, not why: a new reason or date must find the same file.
        let topic = ["because ", "since ", "so that "].iter().filter_map(|word| statement.find(word)).min();
        let topic = topic.and_then(|end| statement.get(..end)).filter(|topic| !topic.trim().is_empty());
        let topic = topic.unwrap_or(&statement).trim_end_matches([' ', ',', '.', ';', ':', '!']);
        let ascii = |word: &String| word.chars().all(|c| c.is_ascii_alphanumeric());
        let slug = content_words(topic).into_iter().filter(ascii).take(5).collect::<Vec<_>>().join("-");
        let slug = if slug.is_empty() { format!("note-{:08x}", checksum(&statement)) } else { slug };
        let slug: String = slug.chars().take(60).collect();
        let title = shortened(topic, 50);
        Self { kind: kind_of(&statement), file_name: format!("{slug}.md"), title, statement }
    }

    /// The file's text; what was there before stays. `origin`: further lines of the frontmatter, such as where it was
    /// learnt.
    pub fn content(&self, before: Option<&str>, origin: &str) -> String {
        if let Some(before) = before.filter(|text| !text.trim().is_empty()) {
            return format!("{}\n\n{}", before.trim_end(), self.body());
        }
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        format!(
            "---\nname: {}\ndescription: {}\ntype: {}\n{origin}---\n\n{}",
            quoted(&self.title),
            quoted(&shortened(&self.statement, 140)),
            self.kind.as_str(),
            self.body()
        )
    }

    fn body(&self) -> String {
        match self.kind {
            Kind::User | Kind::Reference => format!("{}\n", self.statement),
            Kind::Feedback => format!(
                "{}\n\n**Why:** {}\n**How to apply:** whenever work touches this.\n",
                self.statement,
                self.reason().unwrap_or("the user asked for it in these words; no reason was given.")
            ),
            Kind::Project => format!(
                "{}\n\n**Why:** {}\n**How to apply:** take it into account in suggestions and plans; check that it still holds.\n",
                self.statement,
                self.reason().unwrap_or("the user stated it; no reason was given.")
            ),
        }
    }

    /// What the user gave as the reason.
    fn reason(&self) -> Option<&str> {
        ["because ", "since ", "so that "].iter().find_map(|word| {
            let at = self.statement.find(word)?;
            self.statement.get(at..)
        })
    }
}

/// `- [Title](file.md) — hook`, one line of at most about 150 characters.
pub fn index_line(memory: &Draft) -> String {
    let title: String = memory.title.chars().filter(|c| !matches!(c, '[' | ']')).collect();
    let room = 140_usize.saturating_sub(title.chars().count() + memory.file_name.len());
    format!("- [{title}]({}) — {}", memory.file_name, shortened(&memory.statement, room.max(30)))
}

/// Whether a sentence seems to tell a secret: then it is not kept, since memories are plain files.
pub fn has_secret(statement: &str) -> bool {
    let lower = statement.to_lowercase();
    let names =
        ["password is", "password:", "api key is", "api key:", "token is", "secret is", "passphrase is"];
    let shapes = ["sk-", "ghp_", "github_pat_", "AKIA", "xoxb-", "-----BEGIN"];
    let shaped = |word: &str| shapes.iter().any(|shape| word.starts_with(shape)) && word.len() >= 16;
    !secrets::scan(statement).is_empty()
        || names.iter().any(|name| lower.contains(name))
        || statement.split_whitespace().any(shaped)
}

/// The words that carry the meaning, in their order; numbers and dates do not.
fn content_words(text: &str) -> Vec<String> {
    const STOP_WORDS: &str = "\
        a an the and or but if then else so because since that this these those there here it its is am are was were be been \
        being do does did done have has had having will would shall should can could may might must of in on at by to for \
        from with without about into over under between as than not no nor only just very too also i me my mine you your \
        yours he him his she her we us our ours they them their what which who whom whose when where why how please \
        remember note use using im ive id ill youre weve";
    text.replace(['\'', '’'], "")
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().any(char::is_alphabetic) && word.chars().count() >= 2)
        .map(str::to_lowercase)
        .filter(|word| !STOP_WORDS.split_whitespace().any(|stop| stop == word))
        .take(40)
        .collect()
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most).collect();
    let cut = head.rfind(' ').and_then(|at| head.get(..at)).unwrap_or(&head);
    format!("{cut}…")
}

fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn kinds_follow_the_words() {
        for (statement, kind) in [
            ("I am a data scientist", "user"),
            ("Always run clippy before committing", "feedback"),
            ("tests never sleep", "feedback"),
            ("we decided to use jiff", "project"),
            ("the staging host is blue", "project"),
            ("bugs live at https://tracker.example/x", "reference"),
        ] {
            assert_eq!(kind_of(statement).as_str(), kind, "{statement}");
        }
    }

    #[test]
    fn a_memory_is_a_file_and_a_line() {
        let memory = Draft::of("always use \"jiff\" for time,\nbecause chrono surprised us");
        expect![[r#"
            always-jiff-time.md
            ---
            name: "Always use \"jiff\" for time"
            description: "Always use \"jiff\" for time, because chrono surprised us"
            type: feedback
            ---

            Always use "jiff" for time, because chrono surprised us

            **Why:** because chrono surprised us
            **How to apply:** whenever work touches this.

            - [Always use "jiff" for time](always-jiff-time.md) — Always use "jiff" for time, because chrono surprised us"#]].assert_eq(&format!("{}\n{}\n{}", memory.file_name, memory.content(None, ""), index_line(&memory)));
    }

    #[test]
    fn any_script_gets_a_file_name() {
        assert!(Draft::of("总是使用制表符").file_name.starts_with("note-"));
        assert!(Draft::of("???").file_name.starts_with("note-"));
    }
}
