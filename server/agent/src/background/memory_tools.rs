//! What an agent without a user beside it may call: it looks around in the workspace and in the project's own files, and
//! changes memories, nothing else. Whatever else it tries is denied, in words it can act on.
//!
//! Checked twice. Here: by what each call would touch, with the user's own denials in force and nobody to ask; changes
//! lie on a desk ([`memory::desk`]) until they are made through a handle of the memory directory. And by walls around
//! the process of every command, so that a mistake here does not matter.

mod surroundings;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use conversation::{Block, ResultContent};
use memory::{
    daily,
    desk::{Committed, Desk},
    history::Author,
    index::is_index,
    secrets, topic,
};
use permissions::{Access, Decision, Policy, shell};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tools::{ToolContext, ToolFailure, Toolbox, propose};
use workspace::Workspace;

use self::surroundings::{PROGRAMS, context, policy, seen_by};
use crate::{memories::Memories, session::Session, tool_round::Call};

/// A memory is a page, not a book.
const LARGEST_MEMORY: usize = 64 * 1024;
/// How many of them are told.
const SHOWN_REFUSALS: usize = 5;
/// What one result brings back, in characters.
const LONGEST_RESULT: usize = 50_000;

const ALLOWED: &str = "allowed are Read, Grep and Glob in the workspace and the project's own files, Bash for commands that \
                       change nothing, Write and Edit of `.md` files in the memory directory, and `rm` of such files";

/// Where a new memory comes from, for its frontmatter.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub created: jiff::civil::Date,
    pub source: Option<String>,
}

pub(super) struct MemoryTools {
    toolbox: Toolbox,
    policy: Policy,
    context: ToolContext,
    memories: Arc<Memories>,
    /// The editor's documents, which the user may be at.
    editor: Workspace,
    desk: Mutex<Desk>,
    /// Why changes were not made, each once.
    refusals: Mutex<Vec<String>>,
    origin: Origin,
}

impl MemoryTools {
    /// Creates the memory directory. Not on the runtime's own threads.
    pub fn new(
        session: &Arc<Session>,
        memories: Arc<Memories>,
        toolbox: &Toolbox,
        cancel: CancellationToken,
        origin: Origin,
    ) -> std::io::Result<Self> {
        crate::files::create_private_dir(memories.directory())?;
        let policy = policy(session, memories.directory())?;
        let editor = session.shared.workspace.clone();
        Ok(Self {
            toolbox: toolbox.clone(),
            context: context(session, &policy, seen_by(&editor), cancel),
            policy,
            desk: Mutex::new(Desk::open(memories.directory())?),
            refusals: Mutex::default(),
            memories,
            editor,
            origin,
        })
    }

    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why changes were not made, as the agent was told; the first few.
    pub fn refusals(&self) -> Vec<String> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn noted(&self, changed: Result<ResultContent, String>) -> Result<ResultContent, String> {
        if let Err(why) = &changed {
            let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
            if refusals.len() < SHOWN_REFUSALS && !refusals.contains(why) {
                refusals.push(why.clone());
            }
        }
        changed
    }

    /// The memories that would change, by their absolute paths.
    pub fn touched(&self) -> Vec<PathBuf> {
        self.desk().drafts().map(|(path, _)| self.memories.directory().join(path)).collect()
    }

    /// Makes the changes on the desk. Not on the runtime's own threads.
    pub fn commit(
        &self,
        author: impl Fn(&str) -> Author,
        fence: impl Fn() -> std::io::Result<()>,
    ) -> Committed {
        let _alone = self.memories.edit();
        self.desk().commit(author, || self.context.cancel.is_cancelled(), fence)
    }

    async fn look(&self, name: &str, input: &Value) -> Result<ResultContent, String> {
        let Some(tool) = self.toolbox.find(name) else { return Err(format!("there is no tool {name}")) };
        let mut context = self.context.clone();
        let access = tool.access(input, &context).map_err(|ToolFailure(words)| words)?;
        if let Access::Command { command, judged: None } = &access {
            return Err(format!("not allowed here: {}; {ALLOWED}", self.objection(command)));
        }
        if let Access::Read { path } = &access
            && self.is_gone(path)
        {
            return Err(format!("{} was removed by you", path.display()));
        }
        context.binds_to(&access);
        match permissions::decide(name, &access, &self.policy) {
            Decision::Allow { .. } => {}
            Decision::Deny { why } => return Err(format!("not allowed: {why}")),
            Decision::Ask { why } => {
                return Err(format!("not allowed: {why}, and there is nobody to ask; {ALLOWED}"));
            }
        }
        let output = tool.run(input.clone(), context).await.map_err(|ToolFailure(words)| words)?;
        Ok(shortened(output.content))
    }

    /// Why the command is not one that changes nothing.
    fn objection(&self, command: &str) -> String {
        let cwd = &self.context.cwd;
        let surroundings =
            shell::Surroundings { cwd, home: None, programs: PROGRAMS, trusted: shell::Trusted::Installed };
        let objection = shell::judge_in(command, &surroundings).err();
        objection.unwrap_or_else(|| "nothing runs in the background here".to_owned())
    }

    /// Lays a change on the desk.
    fn change(&self, name: &str, input: &Value) -> Result<ResultContent, String> {
        // Before anything is looked at: what a refusal says must not depend on files elsewhere.
        let named = input.get("file_path").and_then(Value::as_str).unwrap_or_default();
        let (_, place) = self.place("file_path", named)?;
        let proposed = propose(name, input, &self.context).map_err(|ToolFailure(words)| words)?;
        if proposed.text.len() > LARGEST_MEMORY {
            return Err(format!(
                "{} bytes are too many for a memory; keep what matters, or split it by topic",
                proposed.text.len()
            ));
        }
        let mut desk = self.desk();
        let before = desk.current(&place).map_err(|error| error.to_string())?;
        let had = String::from_utf8_lossy(before.as_deref().unwrap_or_default());
        if adds_a_secret(&had, &proposed.text) {
            return Err(
                "not allowed: it holds what looks like a secret; note where it is kept instead, never the \
                        secret itself"
                    .to_owned(),
            );
        }
        let source = self.origin.source.as_deref();
        let text = match &before {
            _ if is_index(&place) => proposed.text.clone(),
            None => topic::with_origin(&proposed.text, self.origin.created, source),
            Some(before) => topic::with_origin_of(&proposed.text, &String::from_utf8_lossy(before), source),
        };
        desk.put(&place, Some(like(before.as_deref(), &text))).map_err(|error| error.to_string())?;
        drop(desk);
        self.show(&proposed.path, Some(&text));
        Ok(ResultContent::Text(proposed.accepted(&self.context)))
    }

    fn remove(&self, line: &str, names: &[String]) -> Result<ResultContent, String> {
        let access = Access::Command { command: line.to_owned(), judged: None };
        if let Decision::Deny { why } = permissions::decide("Bash", &access, &self.policy) {
            return Err(format!("not allowed: {why}"));
        }
        let mut places = Vec::new();
        for name in names {
            let (path, place) = self.place("path", name)?;
            if is_index(&place) {
                return Err(format!("not allowed: {} is the index; change it instead", path.display()));
            }
            match self.desk().current(&place) {
                Ok(Some(_)) => places.push((path, place)),
                Ok(None) => return Err(format!("there is no {}", path.display())),
                Err(error) => return Err(error.to_string()),
            }
        }
        for (path, place) in &places {
            self.desk().put(place, None).map_err(|error| error.to_string())?;
            self.show(path, None);
        }
        Ok(ResultContent::Text(format!("Removed {}.", names.join(", "))))
    }

    /// The path that a call names, and where it is in the memory directory, if it may be changed there.
    fn place(&self, field: &str, named: &str) -> Result<(PathBuf, String), String> {
        let path = self.context.resolve(field, named).map_err(|ToolFailure(words)| words)?;
        // As it is written: `..` behind a link leads elsewhere than it seems.
        let place = self.desk().place(&self.context.cwd.join(named));
        let place = place.map_err(|why| format!("not allowed: {why}; {ALLOWED}"))?;
        if daily::is_log(&place) {
            return Err(format!(
                "not allowed: {named} is the log of a day and stays as it is; write topic files"
            ));
        }
        if let Some(twin) = self.desk().twin(&place) {
            return Err(format!("not allowed: on other systems {place} would be the same as {twin}"));
        }
        let access = Access::write(path.clone());
        match permissions::decide("Write", &access, &self.policy) {
            Decision::Allow { .. } => {}
            Decision::Deny { why } | Decision::Ask { why } => return Err(format!("not allowed: {why}")),
        }
        // The editor may know the folder by another name.
        let is_it = |open: &Path| self.desk().place(open).is_ok_and(|other| other == place);
        let is_at_it = self.editor.documents().into_iter().any(|open| open.dirty && is_it(&open.path));
        if is_at_it {
            let name = path.display();
            return Err(format!("{name} is open in the editor with unsaved changes: leave it to the user"));
        }
        Ok((path, place))
    }

    /// Lets later reads and searches see what lies on the desk.
    fn show(&self, path: &Path, text: Option<&str>) {
        let seen = &self.context.workspace;
        if seen.document_text(path).is_some() {
            seen.close_document(path);
        }
        if let Some(text) = text {
            seen.open_document(path, "markdown", 0, text);
        }
    }

    fn is_gone(&self, path: &Path) -> bool {
        let below = path.strip_prefix(self.memories.directory()).ok().and_then(Path::to_str);
        let desk = self.desk();
        below.is_some_and(|below| desk.drafts().any(|(place, draft)| place == below && draft.after.is_none()))
    }

    pub async fn answer(&self, call: &Call) -> Result<ResultContent, String> {
        let input = call.input.clone()?;
        match call.name.as_str() {
            "Read" | "Grep" | "Glob" => self.look(&call.name, &input).await,
            // Its files are read and compared, but they are few and small.
            "Write" | "Edit" | "MultiEdit" => self.noted(self.change(&call.name, &input)),
            "Bash" => {
                let line = input.get("command").and_then(Value::as_str).unwrap_or_default();
                match shell::removals(line) {
                    Some(names) => self.noted(self.remove(line, &names)),
                    None => self.look("Bash", &input).await,
                }
            }
            other => Err(format!("not allowed: {other} cannot be called here; {ALLOWED}")),
        }
    }
}

/// With the line ends and the byte order mark that the file had.
fn like(before: Option<&[u8]>, text: &str) -> Vec<u8> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let before = before.unwrap_or_default();
    let has_mark = before.starts_with(MARK);
    let crlf = before.windows(2).any(|pair| pair == b"\r\n");
    let text = if crlf { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text.to_owned() };
    let mark = if has_mark && !text.starts_with('\u{feff}') { MARK } else { &[] };
    [mark, text.as_bytes()].concat()
}

/// Whether a line with what looks like a secret is none of those that were there.
fn adds_a_secret(before: &str, after: &str) -> bool {
    let known: HashSet<&str> = before.lines().collect();
    let lines: Vec<&str> = after.lines().collect();
    let is_new = |line: usize| lines.get(line.saturating_sub(1)).is_none_or(|line| !known.contains(line));
    secrets::scan(after).iter().any(|finding| is_new(finding.line))
}

fn shortened(content: ResultContent) -> ResultContent {
    let cut = |text: String| match text.char_indices().nth(LONGEST_RESULT) {
        Some((end, _)) => format!("{}\n[cut here; look more narrowly]", text.get(..end).unwrap_or_default()),
        None => text,
    };
    match content {
        ResultContent::Text(text) => ResultContent::Text(cut(text)),
        ResultContent::Blocks(blocks) => {
            let blocks = blocks.into_iter().map(|block| match block {
                Block::Text { text } => Block::Text { text: cut(text) },
                other => other,
            });
            ResultContent::Blocks(blocks.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_was_there_may_stay_and_none_takes_its_place() {
        let [old, new] = ["J9dK2mQx7RvT4nWz8LbY6cFh3PsA5gE1uXoN", "Q2wE4rT6yU8iO0pA1sD3fG5hJ7kL9zX2cV4b"]
            .map(|token| format!("The token is ghp_{token}\n"));
        assert!(adds_a_secret("", &old));
        assert!(!adds_a_secret(&old, &format!("More.\n{old}")));
        assert!(!adds_a_secret(&old.replace('\n', "\r\n"), &old));
        assert!(adds_a_secret(&old, &new));
        assert!(!adds_a_secret(&old, "The token is in the vault.\n"));
    }

    #[test]
    fn a_file_keeps_its_line_ends_and_its_mark() {
        assert_eq!(like(Some(b"\xef\xbb\xbfa\r\nb\r\n"), "a\nc\n"), b"\xef\xbb\xbfa\r\nc\r\n");
        assert_eq!(like(Some(b"a\n"), "a\nc\n"), b"a\nc\n");
        assert_eq!(like(None, "a\n"), b"a\n");
    }

    #[test]
    fn what_is_brought_back_has_an_end() {
        let long = "é".repeat(LONGEST_RESULT + 1);
        let ResultContent::Text(text) = shortened(ResultContent::Text(long)) else { panic!("it is a text") };
        assert!(text.starts_with('é') && text.ends_with("[cut here; look more narrowly]"));
        assert_eq!(text.chars().filter(|c| *c == 'é').count(), LONGEST_RESULT);
    }
}
