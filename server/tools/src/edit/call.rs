//! What a call of `Edit` or `MultiEdit` asks for, for whoever carries it out elsewhere than in the workspace.

use serde_json::Value;

use super::{Edit, Input, Replacement, replaced};
use crate::{
    multi_edit::{self, MultiEdit},
    tool::ToolFailure,
    typed::{self, Typed},
};

pub struct EditCall {
    pub file_path: String,
    replacements: Vec<Replacement>,
}

impl EditCall {
    /// `None`: it is a call of another tool.
    pub fn of(tool: &str, input: &Value) -> Option<Result<Self, ToolFailure>> {
        match tool {
            Edit::NAME => {
                Some(typed::parse::<Edit>(input).map(|Input { file_path, replacement }| Self {
                    file_path,
                    replacements: vec![replacement],
                }))
            }
            MultiEdit::NAME => {
                let parsed = typed::parse::<MultiEdit>(input);
                Some(
                    parsed.map(|multi_edit::Input { file_path, edits }| Self {
                        file_path,
                        replacements: edits,
                    }),
                )
            }
            _ => None,
        }
    }

    /// The text with all the replacements made; `name` is what failures call it.
    pub fn apply(&self, text: &str, name: &str) -> Result<String, ToolFailure> {
        self.made_of(Some(text.to_owned()), name)
    }

    /// Likewise of a file that may not exist.
    pub(crate) fn made_of(&self, text: Option<String>, name: &str) -> Result<String, ToolFailure> {
        replaced(text, &self.replacements, name).map(|(text, _)| text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(tool: &str, input: Value) -> Result<String, String> {
        let call = EditCall::of(tool, &input).expect("a call that edits");
        call.and_then(|call| call.apply("one\ntwo\n", "the list")).map_err(|ToolFailure(words)| words)
    }

    #[test]
    fn both_tools_edit_a_text_by_the_same_rules() {
        let edit = json!({ "file_path": "/a", "old_string": "two", "new_string": "2" });
        assert_eq!(applied("Edit", edit), Ok("one\n2\n".to_owned()));
        let edits =
            json!([{ "old_string": "one", "new_string": "1" }, { "old_string": "1", "new_string": "I" }]);
        assert_eq!(
            applied("MultiEdit", json!({ "file_path": "/a", "edits": edits })),
            Ok("I\ntwo\n".to_owned())
        );
        let twice = json!({ "file_path": "/a", "old_string": "o", "new_string": "0" });
        assert!(
            applied("Edit", twice).unwrap_err().starts_with("the list was not changed: old_string occurs")
        );
        assert!(applied("Edit", json!({ "file_path": "/a" })).is_err());
        assert!(EditCall::of("Write", &json!({})).is_none());
    }
}
