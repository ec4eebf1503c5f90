//! What Write, Edit and MultiEdit would make of a file, for whoever writes it in another way: a background agent, whose
//! changes are looked at before they are made.

use std::path::PathBuf;

use serde_json::Value;

use crate::{
    change, diff, edit, multi_edit, schema,
    tool::{ToolContext, ToolFailure},
    typed::Typed,
    write,
};

/// A change that was not made yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    pub path: PathBuf,
    /// Everything that the file shall hold, with `\n` line ends.
    pub text: String,
    old: Option<String>,
}

/// By the tools' own rules: what was not read is not changed. Reads the file; not on the runtime's own threads.
pub fn propose(tool: &str, input: &Value, context: &ToolContext) -> Result<Proposed, ToolFailure> {
    match tool {
        write::Write::NAME => {
            let input: write::Input = schema::parse(tool, input)?;
            let path = context.resolve("file_path", &input.file_path)?;
            let old = change::current(&path, context)?;
            if old.is_some() {
                change::require_whole(&path, context)?;
            }
            Ok(Proposed { path, text: input.content, old: old.map(|file| file.text) })
        }
        edit::Edit::NAME => {
            let input: edit::Input = schema::parse(tool, input)?;
            edited(&input.file_path, std::slice::from_ref(&input.replacement), context)
        }
        multi_edit::MultiEdit::NAME => {
            let input: multi_edit::Input = schema::parse(tool, input)?;
            edited(&input.file_path, &input.edits, context)
        }
        other => Err(ToolFailure(format!("{other} changes no file"))),
    }
}

fn edited(
    file_path: &str,
    replacements: &[edit::Replacement],
    context: &ToolContext,
) -> Result<Proposed, ToolFailure> {
    let path = context.resolve("file_path", file_path)?;
    let old = change::current(&path, context)?;
    if old.as_ref().is_some_and(|file| !file.text.is_empty()) {
        change::require_read(&path, context)?;
    }
    let made = edit::edit(old, replacements, &context.shown(&path))?;
    Ok(Proposed { path, text: made.new_text, old: made.old.map(|file| file.text) })
}

impl Proposed {
    /// The change is made, and `context.workspace` knows it: the model need not read the file again. Returns what it is
    /// told.
    pub fn accepted(&self, context: &ToolContext) -> String {
        let name = context.shown(&self.path);
        let lines = self.text.lines().count();
        if let Ok(fingerprint) = context.workspace.fingerprint(&self.path) {
            match &self.old {
                Some(old) => {
                    context.reads.edited(&self.path, fingerprint, (old.lines().count(), lines));
                }
                None => context.reads.wrote(&self.path, fingerprint, lines),
            }
        }
        match &self.old {
            Some(old) => {
                let (added, removed) = diff::counts(old, &self.text);
                format!("Changed {name}: {} added, {removed} removed.", change::lines(added))
            }
            None => format!("Created {name} with {}.", change::lines(lines)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Bench;

    #[test]
    fn a_change_is_proposed_by_the_rules_of_the_tool_and_not_made() {
        let bench = Bench::new();
        bench.put("a.txt", "one\ntwo\n");
        let context = &bench.context;
        let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "1"});
        assert!(propose("Edit", &edit, context).unwrap_err().0.contains("has not been read"));
        let created = propose("Write", &json!({"file_path": "b.txt", "content": "b\n"}), context).unwrap();
        assert_eq!((created.text.as_str(), bench.path("b.txt").exists()), ("b\n", false));
        assert!(propose("Bash", &json!({}), context).is_err());
        assert!(propose("Write", &json!({"file_path": 5}), context).is_err());
    }
}
