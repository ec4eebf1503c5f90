//! `MultiEdit`: several exact replacements in one file, all or none.

use futures_util::future::BoxFuture;
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    edit::{self, Replacement},
    schema,
    tool::{Preview, Tool, ToolContext, ToolFailure, ToolOutput},
};

/// Makes several replacements in one file at once, each by Edit's rules, one after another on the text as the
/// one before left it. If one fails, none is applied.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Absolute, or relative to the working folder.
    file_path: String,
    /// The replacements, in order.
    edits: Vec<Replacement>,
}

pub struct MultiEdit;

const NAME: &str = "MultiEdit";

impl Tool for MultiEdit {
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
        let input = parse(input)?;
        Ok(Access::Write { path: context.resolve("file_path", &input.file_path)? })
    }

    fn preview(&self, input: &Value, context: &ToolContext) -> Option<Preview> {
        let input = parse(input).ok()?;
        edit::preview(&input.file_path, &input.edits, context)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let input = parse(&input)?;
            edit::run(&input.file_path, input.edits, context).await
        })
    }
}

fn parse(input: &Value) -> Result<Input, ToolFailure> {
    let input: Input = schema::parse(NAME, input)?;
    if input.edits.is_empty() {
        return Err(ToolFailure("edits is empty; give at least one replacement".to_owned()));
    }
    Ok(input)
}
