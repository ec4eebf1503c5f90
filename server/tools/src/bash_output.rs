//! `BashOutput`: what a background job wrote since it was last asked, and how it is.

use conversation::ResultContent;
use futures_util::future::BoxFuture;
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    bash::{MAX_OUTPUT_CHARS, with_notes},
    schema,
    shell::{self, Job, JobStatus},
    tool::{Display, Tool, ToolContext, ToolFailure, ToolOutput},
};

pub struct BashOutput;

/// Returns what a background job of Bash has written since the last call, and whether it still runs.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The id that Bash returned.
    bash_id: String,
}

impl Tool for BashOutput {
    fn name(&self) -> &'static str {
        "BashOutput"
    }

    fn description(&self) -> String {
        schema::description::<Input>()
    }

    fn input_schema(&self) -> Value {
        schema::input_schema::<Input>()
    }

    fn access(&self, input: &Value, _context: &ToolContext) -> Result<Access, ToolFailure> {
        schema::parse::<Input>("BashOutput", input)?;
        Ok(Access::Session)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let input: Input = schema::parse("BashOutput", &input)?;
            Ok(report(&*context.shell.job(&input.bash_id)?))
        })
    }
}

/// The status is asked before the output, so that an ended job's output is whole.
pub(crate) fn report(job: &Job) -> ToolOutput {
    let status = shell::status(job);
    let output = job.new_text(MAX_OUTPUT_CHARS);
    let (note, exit_code) = match status {
        JobStatus::Running => ("still running".to_owned(), None),
        JobStatus::Exited { code } => (format!("ended with exit code {code}"), Some(code)),
        JobStatus::Signalled { signal } => (format!("ended by signal {signal}"), Some(128 + signal)),
        JobStatus::Killed => match job.refusal() {
            Some(ToolFailure(words)) => (words, None),
            None => ("was stopped".to_owned(), None),
        },
    };
    let nothing = if output.trim().is_empty() { "(no new output)" } else { &output };
    ToolOutput {
        content: ResultContent::Text(with_notes(nothing, &[note])),
        display: Display::Terminal { command: job.command.clone(), output, exit_code },
    }
}
