//! `Write`: a whole file at once, new or in place of what was read.

use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    change::{self, Shows},
    diff,
    tool::{Preview, ToolContext, ToolFailure, ToolOutput, blocking},
    typed::Typed,
};

/// Writes a whole file. A new file is created, with the folders it needs; an existing one is replaced, and must
/// have been read before. To change a part of a file use Edit.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Absolute, or relative to the working folder.
    pub(crate) file_path: String,
    /// All that the file shall hold.
    pub(crate) content: String,
}

pub struct Write;

impl Typed for Write {
    const NAME: &'static str = "Write";
    type Input = Input;

    fn access(input: &Input, context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::write(context.resolve("file_path", &input.file_path)?))
    }

    fn preview(input: &Input, context: &ToolContext) -> Option<Preview> {
        let path = context.resolve("file_path", &input.file_path).ok()?;
        let old = change::current(&path, context).ok()?.map(|file| file.text).unwrap_or_default();
        Some(Preview::Diff(diff::unified(&context.shown(&path), &old, &input.content)))
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let path = context.resolve("file_path", &input.file_path)?;
        let name = context.shown(&path);
        let old = blocking({
            let (path, context) = (path.clone(), context.clone());
            move || {
                let old = change::current(&path, &context)?;
                if old.is_some() {
                    change::require_whole(&path, &context)?;
                }
                Ok(old)
            }
        })
        .await?;
        let said = match &old {
            Some(file) if file.text == input.content => {
                return Ok(ToolOutput::text(format!(
                    "{name} already holds exactly this; nothing was written"
                )));
            }
            Some(file) => {
                let (added, removed) = diff::counts(&file.text, &input.content);
                format!("Wrote {name}: {} added, {removed} removed.", change::lines(added))
            }
            None => format!("Created {name} with {}.", change::lines(input.content.lines().count())),
        };
        change::write(&path, &context, old, &input.content, &said, Shows::Nothing).await
    }
}

#[cfg(test)]
mod tests;
