//! `KillShell`: ends a background job with all its processes.

use std::time::Duration;

use futures_util::future::BoxFuture;
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    bash_output::report,
    schema,
    tool::{Tool, ToolContext, ToolFailure, ToolOutput},
};

/// A process in the hands of the kernel may not even be killed; nobody should wait for it.
const PATIENCE: Duration = Duration::from_secs(3);

pub struct KillShell;

/// Stops a background job of Bash with all its processes, and returns the last of its output.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The id that Bash returned.
    shell_id: String,
}

impl Tool for KillShell {
    fn name(&self) -> &'static str {
        "KillShell"
    }

    fn description(&self) -> String {
        schema::description::<Input>()
    }

    fn input_schema(&self) -> Value {
        schema::input_schema::<Input>()
    }

    fn access(&self, input: &Value, _context: &ToolContext) -> Result<Access, ToolFailure> {
        schema::parse::<Input>("KillShell", input)?;
        Ok(Access::Session)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let input: Input = schema::parse("KillShell", &input)?;
            let job = context.shell.job(&input.shell_id)?;
            job.stop();
            if tokio::time::timeout(PATIENCE, job.ended()).await.is_err() {
                return Err(ToolFailure(format!(
                    "{} was told to stop but has not ended yet; BashOutput tells when it has",
                    input.shell_id
                )));
            }
            Ok(report(&job))
        })
    }
}
