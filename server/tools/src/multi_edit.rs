//! `MultiEdit`: several exact replacements in one file, all or none.

use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    edit::{self, Replacement},
    tool::{Preview, ToolContext, ToolFailure, ToolOutput},
    typed::Typed,
};

/// Makes several replacements in one file at once, each by Edit's rules, one after another on the text as the
/// one before left it. If one fails, none is applied.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Absolute, or relative to the working folder.
    pub(crate) file_path: String,
    /// The replacements, in order.
    pub(crate) edits: Vec<Replacement>,
}

pub struct MultiEdit;

impl Typed for MultiEdit {
    const NAME: &'static str = "MultiEdit";
    type Input = Input;

    fn check(input: &Input) -> Result<(), ToolFailure> {
        if input.edits.is_empty() {
            return Err(ToolFailure("edits is empty; give at least one replacement".to_owned()));
        }
        Ok(())
    }

    fn access(input: &Input, context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::write(context.resolve("file_path", &input.file_path)?))
    }

    fn preview(input: &Input, context: &ToolContext) -> Option<Preview> {
        edit::preview(&input.file_path, &input.edits, context)
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        edit::run(&input.file_path, input.edits, context).await
    }
}
