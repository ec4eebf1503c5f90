//! What Write, Edit and MultiEdit would make of a file, for whoever writes it in another way: a background agent, whose
//! changes are looked at before they are made.

use std::path::PathBuf;

use serde_json::Value;

use crate::{
    change, diff,
    edit::EditCall,
    tool::{ToolContext, ToolFailure},
    typed::{self, Typed},
    write::Write,
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
    if let Some(call) = EditCall::of(tool, input) {
        let call = call?;
        let path = context.resolve("file_path", &call.file_path)?;
        let old = change::current(&path, context)?.map(|file| file.text);
        if old.as_ref().is_some_and(|text| !text.is_empty()) {
            change::require_read(&path, context)?;
        }
        let text = call.made_of(old.clone(), &context.shown(&path))?;
        return Ok(Proposed { path, text, old });
    }
    if tool != Write::NAME {
        return Err(ToolFailure(format!("{tool} changes no file")));
    }
    let input = typed::parse::<Write>(input)?;
    let path = context.resolve("file_path", &input.file_path)?;
    let old = change::current(&path, context)?.map(|file| file.text);
    if old.is_some() {
        change::require_whole(&path, context)?;
    }
    Ok(Proposed { path, text: input.content, old })
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
