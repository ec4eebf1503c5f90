//! `Bash`: runs a command line and waits for it, or leaves it running as a job.
//!
//! How a command is started, watched and ended is `shell.rs`.

use std::{path::Path, time::Duration};

use conversation::ResultContent;
use futures_util::future::BoxFuture;
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    schema,
    shell::{Cause, Ending, Manner, ShellEnd, Started},
    tool::{Display, Preview, Tool, ToolContext, ToolFailure, ToolOutput},
};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// What is shown of a command's output.
pub(crate) const MAX_SHOWN_CHARS: usize = 30_000;

/// What is returned of it: all that is kept. Whoever puts it into a conversation knows what fits there.
pub(crate) const MAX_OUTPUT_CHARS: usize = 256 * 1024;

pub struct Bash;

/// Runs a command line with bash and returns its output (stdout and stderr together) and its exit code if that
/// is not 0.
///
/// - The working directory carries over from one command to the next; variables, functions and options do not.
/// - There is no terminal and no input: programs that ask must be told not to (-y, --no-edit, -m "message").
/// - Processes that still run when the command ends are stopped. Start servers and watchers with
///   run_in_background and read them with BashOutput.
/// - An output of more than 30,000 characters goes to a file: its beginning and its end are shown.
/// - To find, read or change files, Grep, Glob, Read and Edit are faster and also see unsaved editor buffers.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The command line. Quote paths with spaces; join steps that depend on each other with &&.
    command: String,
    /// Milliseconds after which the command is stopped; 120000 if not given, 600000 at most.
    timeout: Option<u64>,
    /// What the command does, in five to ten words, for the user.
    #[expect(dead_code, reason = "shown by the editor from the call's input")]
    description: Option<String>,
    /// Returns at once with an id for BashOutput and KillShell; no timeout applies.
    run_in_background: Option<bool>,
}

impl Tool for Bash {
    fn name(&self) -> &'static str {
        "Bash"
    }

    fn description(&self) -> String {
        schema::description::<Input>()
    }

    fn input_schema(&self) -> Value {
        schema::input_schema::<Input>()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, ToolFailure> {
        let input = parse(input)?;
        // A job in the background is the session's to keep, so it never is mere reading.
        let judged = if input.in_background() { None } else { context.shell.judge(&input.command) };
        Ok(Access::Command { command: input.command, judged })
    }

    fn preview(&self, input: &Value, _context: &ToolContext) -> Option<Preview> {
        parse(input).ok().map(|input| Preview::Command(input.command))
    }

    fn stays(&self, input: &Value) -> bool {
        parse(input).is_ok_and(|input| input.in_background())
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let input = parse(&input)?;
            if input.in_background() {
                return start_in_background(&input.command, &context).await;
            }
            run_and_wait(&input, &context).await
        })
    }
}

impl Input {
    fn in_background(&self) -> bool {
        self.run_in_background == Some(true)
    }
}

fn parse(input: &Value) -> Result<Input, ToolFailure> {
    let input: Input = schema::parse("Bash", input)?;
    if input.command.trim().is_empty() {
        return Err(ToolFailure("the command is empty".to_owned()));
    }
    if input.command.contains('\0') {
        return Err(ToolFailure("the command contains a NUL character, which no command can".to_owned()));
    }
    Ok(input)
}

async fn start_in_background(command: &str, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
    let (id, started) = context.shell.start_in_background(command).await?;
    let mut text = format!("Started in the background with the id {id}. Read its output with BashOutput.");
    if let Some(lost) = &started.lost_folder {
        text.push_str(&format!("\n{}", lost_folder_note(lost, context)));
    }
    Ok(ToolOutput {
        content: ResultContent::Text(text.clone()),
        display: Display::Terminal { command: command.to_owned(), output: text, exit_code: None },
    })
}

async fn run_and_wait(input: &Input, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
    let limit = match input.timeout {
        None | Some(0) => DEFAULT_TIMEOUT,
        Some(milliseconds) => Duration::from_millis(milliseconds).min(MAX_TIMEOUT),
    };
    let manner = Manner::Foreground { limit, progress: context.progress.clone() };
    let Started { job, lost_folder } = match &context.judged {
        Some(judged) => context.shell.start_judged(&input.command, judged, manner)?,
        None => context.shell.start(&input.command, manner)?,
    };
    let guard = job.stop_on_drop();
    let ending = tokio::select! {
        biased;
        ending = job.ended() => ending,
        () = context.cancel.cancelled() => {
            job.stop();
            job.ended().await
        }
    };
    guard.disarm();
    if let Some(refusal) = job.refusal() {
        return Err(refusal);
    }

    let mut notes: Vec<String> = Vec::new();
    notes.extend(lost_folder.map(|lost| lost_folder_note(&lost, context)));
    notes.extend(ending_note(&ending, limit));
    notes.extend(leftovers_note(ending.leftovers));
    // What was judged cannot move, and may run beside others.
    let moved = ending.folder.as_deref().filter(|_| context.judged.is_none());
    notes.extend(move_to(moved, context));
    let exit_code = ending.exit_code();
    Ok(ToolOutput {
        content: ResultContent::Text(with_notes(&job.text(MAX_OUTPUT_CHARS), &notes)),
        display: Display::Terminal {
            command: input.command.clone(),
            output: job.text(MAX_SHOWN_CHARS),
            exit_code,
        },
    })
}

/// The output, then what else there is to say, each in brackets on a line of its own.
pub(crate) fn with_notes(output: &str, notes: &[String]) -> String {
    let mut text = output.trim_end().to_owned();
    if text.is_empty() {
        text.push_str("(no output)");
    }
    for note in notes {
        text.push_str(&format!("\n[{note}]"));
    }
    text
}

fn ending_note(ending: &Ending, limit: Duration) -> Option<String> {
    match (ending.cause, ending.shell) {
        (Cause::TimedOut, _) => {
            Some(format!("stopped after the timeout of {} s; this is the output so far", limit.as_secs_f64()))
        }
        (Cause::Stopped, _) => Some("stopped because the call was cancelled".to_owned()),
        (Cause::Swarmed, _) => Some("stopped because it had started thousands of processes".to_owned()),
        (Cause::Ended, Some(ShellEnd::Exited(0))) => None,
        (Cause::Ended, Some(ShellEnd::Exited(code))) => Some(format!("exit code {code}")),
        (Cause::Ended, Some(ShellEnd::Signalled(signal))) => Some(format!("killed by signal {signal}")),
        (Cause::Ended | Cause::NeverRan, _) => Some("exit code unknown".to_owned()),
    }
}

fn leftovers_note(leftovers: usize) -> Option<String> {
    match leftovers {
        0 => None,
        1 => Some("1 process was still running and was stopped; run_in_background keeps it".to_owned()),
        count => Some(format!(
            "{count} processes were still running and were stopped; run_in_background keeps them"
        )),
    }
}

fn lost_folder_note(lost: &Path, context: &ToolContext) -> String {
    let here = context.shell.cwd();
    format!("the working directory {} is gone; this ran in {}", lost.display(), here.display())
}

/// Takes the folder a command ended in as the next one's, and says so if it is another.
fn move_to(folder: Option<&Path>, context: &ToolContext) -> Option<String> {
    let folder = folder.filter(|folder| *folder != context.shell.cwd())?;
    context.shell.set_cwd(folder);
    let mut roots = context.workspace.roots();
    roots.push(context.cwd.clone());
    let outside = if is_inside(folder, &roots) { "" } else { ", outside the workspace" };
    Some(format!("the working directory is now {}{outside}", folder.display()))
}

fn is_inside(folder: &Path, roots: &[std::path::PathBuf]) -> bool {
    let real = folder.canonicalize();
    roots.iter().any(|root| {
        folder.starts_with(root)
            || matches!((&real, root.canonicalize()), (Ok(real), Ok(root)) if real.starts_with(&root))
    })
}
