//! What the model is told about memory: one fixed text per directory, never the user's data.

use std::path::Path;

/// The section of the system prompt. `transcripts`: where past sessions lie, if the model may search them. `guidelines`:
/// what an embedding product adds.
pub fn section(directory: &Path, transcripts: Option<&Path>, guidelines: Option<&str>) -> String {
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
    include_str!("prompts/rules.md")
        .replace("{directory}", &directory.display().to_string())
        .replace("{more}", &more)
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    #[test]
    fn the_rules_are_what_was_agreed_on() {
        let text = section(
            Path::new("/home/ada/.claude/projects/-home-ada-engine/memory"),
            Some(Path::new("/home/ada/.claude/projects/-home-ada-engine")),
            Some("Never save names of customers."),
        );
        expect_file!["prompts/rules.snapshot.txt"].assert_eq(&text);
    }

    #[test]
    fn a_directory_has_one_text() {
        let directory = Path::new("/m");
        assert_eq!(section(directory, None, None), section(directory, None, Some(" ")));
        assert!(section(directory, None, None).contains("Memory directory: /m\n"));
        assert!(section(directory, None, None).len() < 7_000);
    }
}
