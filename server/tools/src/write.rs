//! `Write`: a whole file at once, new or in place of what was read.

use futures_util::future::BoxFuture;
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    change::{self, Shows},
    diff, schema,
    tool::{Preview, Tool, ToolContext, ToolFailure, ToolOutput, blocking},
};

/// Writes a whole file. A new file is created, with the folders it needs; an existing one is replaced, and must
/// have been read before. To change a part of a file use Edit.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Absolute, or relative to the working folder.
    file_path: String,
    /// All that the file shall hold.
    content: String,
}

pub struct Write;

const NAME: &str = "Write";

impl Tool for Write {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> String {
        schema::description::<Input>()
    }

    fn input_schema(&self) -> Value {
        schema::input_schema::<Input>()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, ToolFailure> {
        let input: Input = schema::parse(NAME, input)?;
        Ok(Access::Write { path: context.resolve("file_path", &input.file_path)? })
    }

    fn preview(&self, input: &Value, context: &ToolContext) -> Option<Preview> {
        let input: Input = schema::parse(NAME, input).ok()?;
        let path = context.resolve("file_path", &input.file_path).ok()?;
        let old = change::current(&path, context).ok()?.map(|file| file.text).unwrap_or_default();
        Some(Preview::Diff(diff::unified(&context.shown(&path), &old, &input.content)))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move { write(schema::parse(NAME, &input)?, context).await })
    }
}

async fn write(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
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
            return Ok(ToolOutput::text(format!("{name} already holds exactly this; nothing was written")));
        }
        Some(file) => {
            let (added, removed) = diff::counts(&file.text, &input.content);
            format!("Wrote {name}: {} added, {removed} removed.", change::lines(added))
        }
        None => format!("Created {name} with {}.", change::lines(input.content.lines().count())),
    };
    change::write(&path, &context, old, &input.content, &said, Shows::Nothing).await
}

#[cfg(test)]
mod tests;
