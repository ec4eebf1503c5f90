//! What comes back right after a compaction, because the work would stumble without it: the files read last, skills that
//! were invoked, the plan, the list of things to do.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use context::{compact, fragment};
use conversation::{Attachment, Block, Body, Message};
use permissions::{Mode, ReadFilter};
use tools::TodoStatus;

use super::{Job, Part, Plan};
use crate::{attachments, meter, session::Session, turn};

/// The kinds of the attachments.
const PLAN: &str = "approved-plan";
const TODO: &str = "todo";

/// "The 5 files read last."
const FILES: usize = 5;

/// Files that are looked at to find so many that can be shown.
const LOOKED_AT: usize = 20;

pub(super) async fn attachments(job: &Job<'_>, thread: &[Arc<Message>], plan: &Plan) -> Vec<Attachment> {
    let mut restored = Vec::new();
    // The notes name the files that matter, and the newest rounds are there.
    if plan.part != Part::Noted {
        restored.extend(files(job, thread.get(plan.kept.clone()).unwrap_or_default()).await);
    }
    let tokens = meter::of_message(job.session, &job.opening.spec);
    let skills = job.session.state().window.projection.skills().to_vec();
    let skills = skills.into_iter().map(|skill| (skill.name, skill.text)).collect();
    restored.extend(compact::restored_skills(skills, &tokens));
    let gone = thread.get(plan.summarised.clone()).unwrap_or_default();
    if let Some(words) = last_plan(gone) {
        restored.push(attachment(PLAN, &format!("The plan that the user approved:\n\n{words}")));
    }
    if job.session.mode() == Mode::Plan {
        restored.push(attachments::plan_reminder());
    }
    if let Some(words) = todo(job.session) {
        restored.push(attachment(TODO, &words));
    }
    restored
}

/// One file less, the one that was read longest ago. `false`: there is none.
pub(super) fn leave_out_file(restored: &mut Vec<Attachment>) -> bool {
    let oldest = restored.iter().rposition(|attachment| attachment.kind == compact::RESTORED_FILE);
    oldest.map(|at| restored.remove(at)).is_some()
}

fn attachment(kind: &str, body: &str) -> Attachment {
    Attachment { kind: kind.to_owned(), text: fragment::reminder(body, body.len() * 2) }
}

/// The files that were read last, as they are now. Those that are still in sight are not shown twice.
async fn files(job: &Job<'_>, kept: &[Arc<Message>]) -> Vec<Attachment> {
    let (session, seen) = (Arc::clone(job.session), in_sight(kept));
    let tokens = meter::of_message(job.session, &job.opening.spec);
    let read = tokio::task::spawn_blocking(move || {
        let policy = turn::current_policy(&session);
        let filter = ReadFilter::new(policy);
        let mut files: Vec<(PathBuf, String)> = Vec::new();
        for path in session.reads.newest(LOOKED_AT) {
            if seen.contains(&path) || !filter.may_read(&path) || is_in_opening(&session, &path) {
                continue;
            }
            if let Ok(file) = session.shared.workspace.read(&path) {
                files.push((path, file.text.to_string()));
            }
            if files.len() == FILES {
                break;
            }
        }
        files
    });
    let files = read.await.unwrap_or_default();
    compact::restored(files, &tokens)
}

/// Instructions and the index of memories are there in any case.
fn is_in_opening(session: &Session, path: &std::path::Path) -> bool {
    session.instructions().files().iter().any(|file| file.path == path)
        || session.memory_dir.as_deref().is_some_and(|dir| path == dir.join(memory::index::NAME))
}

/// The files that messages which stay have read.
fn in_sight(kept: &[Arc<Message>]) -> HashSet<PathBuf> {
    let calls = kept.iter().filter_map(|message| match &message.body {
        Body::Assistant { content, .. } => Some(content),
        _ => None,
    });
    let path = |block: &Block| match block {
        Block::ToolUse { name, input, .. } if name == "Read" => {
            input.get("file_path")?.as_str().map(PathBuf::from)
        }
        _ => None,
    };
    calls.flatten().filter_map(path).collect()
}

fn last_plan(thread: &[Arc<Message>]) -> Option<String> {
    let calls = thread.iter().rev().filter_map(|message| match &message.body {
        Body::Assistant { content, .. } => Some(content.iter().rev()),
        _ => None,
    });
    calls.flatten().find_map(|block| match block {
        Block::ToolUse { name, input, .. } if name == "ExitPlanMode" => {
            input.get("plan")?.as_str().map(str::to_owned)
        }
        _ => None,
    })
}

fn todo(session: &Session) -> Option<String> {
    let todos = session.todos.get();
    if todos.is_empty() {
        return None;
    }
    let mut words = "The todo list as it stands:".to_owned();
    for todo in todos {
        let mark = match todo.status {
            TodoStatus::Pending => " ",
            TodoStatus::InProgress => ">",
            TodoStatus::Completed => "x",
        };
        words.push_str(&format!("\n- [{mark}] {}", todo.content));
    }
    Some(words)
}
