//! A memory saved at once, without a model: what the user types behind `#`.

use std::sync::Arc;

use context::fragment;
use memory::{
    compose::{Draft, has_secret, index_line},
    daily, dates,
    history::{Author, By, Change, History},
    index,
};
use workspace::Beneath;

use super::Memories;
use crate::{
    event::TurnId,
    session::Session,
    types::{Prompt, PromptPart},
};

/// The kind of the reminder that tells the model.
const KIND: &str = "memory-saved";

/// What the user wants kept: a single line that begins with `#`. A longer text that begins so is Markdown.
pub(crate) fn note(prompt: &Prompt) -> Option<String> {
    let [PromptPart::Text(text)] = prompt.parts.as_slice() else { return None };
    let statement = text.trim().strip_prefix('#')?.trim();
    (!statement.is_empty() && !statement.starts_with('#') && !statement.contains('\n'))
        .then(|| statement.to_owned())
}

/// Writes the note down, and says what became of it. `turn` is what it is told under.
pub(crate) fn save(session: &Arc<Session>, turn: &TurnId, statement: &str) -> String {
    let Some(memories) = session.memories() else {
        return "Memory is switched off in this session, so the note is not kept.".to_owned();
    };
    if has_secret(statement) {
        return "That looks like a secret, and memories are plain files: it is not kept. Note where it is stored instead."
            .to_owned();
    }
    let shared = &session.shared;
    let keeps_log = shared.settings(&session.cwd).settings.features(&shared.environment).daily_log;
    let saved = match keeps_log {
        true => memories.log(session, turn, statement),
        false => memories.save(session, turn, statement),
    };
    match saved {
        Ok(saved) => saved,
        Err(error) => format!("The note could not be saved: {error}"),
    }
}

impl Memories {
    fn save(&self, session: &Arc<Session>, turn: &TurnId, statement: &str) -> std::io::Result<String> {
        crate::files::create_private_dir(self.directory())?;
        let _alone = self.edit();
        let today = session.shared.faults.clock().today();
        let draft = Draft::of(&dates::absolute(statement, Some(today)));
        let topic_before = self.text(&draft.file_name)?;
        if topic_before.as_deref().is_some_and(|text| text.contains(&draft.statement)) {
            return Ok(format!("Known already: {}", self.directory().join(&draft.file_name).display()));
        }
        let origin = format!("created: {today}\nsource: {}/{turn}\n", session.id);
        let topic_after = draft.content(topic_before.as_deref(), &origin);
        let index_before = self.text(index::NAME)?;
        let listed = index_before.as_deref().unwrap_or_default();
        let is_listed =
            index::entries(listed).iter().any(|entry| index::same_target(entry.target, &draft.file_name));

        let names = [&*draft.file_name].into_iter().chain((!is_listed).then_some(index::NAME));
        self.refuse_unsaved(&session.shared.workspace, names).map_err(std::io::Error::other)?;
        let mut writing = Writing::begin(self, session, turn, statement)?;
        // The topic first: an index line without a file is worse than a file without a line, which lint adds.
        writing.put(&draft.file_name, topic_before.as_deref(), &topic_after)?;
        if !is_listed {
            let index_after = index::with_entry(listed, &index_line(&draft));
            writing.put(index::NAME, index_before.as_deref(), &index_after)?;
        }
        let path = writing.end(session, turn, &draft.file_name, &draft.statement);
        Ok(format!("Remembered as a {} memory: {}\n\n`{path}`", draft.kind.as_str(), draft.statement))
    }

    /// A line in the log of the day.
    fn log(&self, session: &Arc<Session>, turn: &TurnId, statement: &str) -> std::io::Result<String> {
        crate::files::create_private_dir(self.directory())?;
        let _alone = self.edit();
        let now = session.shared.faults.clock().now();
        let draft = Draft::of(&dates::absolute(statement, Some(now.date())));
        let name = daily::path(now.date());
        let before = self.text(&name)?;
        let after =
            daily::appended(before.as_deref().unwrap_or_default(), &daily::line(Some(now.time()), &draft));
        self.refuse_unsaved(&session.shared.workspace, [&*name]).map_err(std::io::Error::other)?;
        let mut writing = Writing::begin(self, session, turn, statement)?;
        writing.put(&name, before.as_deref(), &after)?;
        let path = writing.end(session, turn, &name, &draft.statement);
        Ok(format!("Noted in the log of the day: {}\n\n`{path}`", draft.statement))
    }
}

/// The files of one note.
struct Writing<'a> {
    memories: &'a Memories,
    beneath: Beneath,
    history: History,
    author: Author,
    changes: Vec<Change>,
}

impl<'a> Writing<'a> {
    fn begin(
        memories: &'a Memories,
        session: &Session,
        turn: &TurnId,
        statement: &str,
    ) -> std::io::Result<Self> {
        let author = Author {
            by: By::User,
            why: format!("you noted it: “{}”", super::head(statement)),
            session: Some(session.id.to_string()),
            message: None,
            group: Some(turn.clone()),
        };
        let (beneath, history) = (Beneath::open(memories.directory())?, History::open(memories.directory())?);
        Ok(Self { memories, beneath, history, author, changes: Vec::new() })
    }

    fn put(&mut self, path: &str, before: Option<&str>, after: &str) -> std::io::Result<()> {
        let place =
            self.beneath.check(&self.memories.directory().join(path)).map_err(std::io::Error::other)?;
        self.beneath.write(&place, after.as_bytes()).map_err(std::io::Error::other)?;
        self.changes.extend(self.history.record(
            path,
            before.map(str::as_bytes),
            Some(after.as_bytes()),
            &self.author,
        )?);
        Ok(())
    }

    /// Tells the user, and the model with its next request. Returns where it is.
    fn end(self, session: &Arc<Session>, turn: &TurnId, path: &str, statement: &str) -> String {
        self.memories.tell(&*session.shared.frontend, Some((session, turn)), Ok(self.changes));
        let path = self.memories.directory().join(path).display().to_string();
        let told = format!("The user has just saved a memory: {statement} ({path})");
        session.state().reminders.push((KIND, fragment::reminder(&markdown::hidden::shown(&told), 4_000)));
        path
    }
}
