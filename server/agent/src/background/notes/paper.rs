//! The file that a session's notes are in, and the one thing that a fork may do: edit it. The forms that the
//! user has for it besides.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use context::{measure::Tokens, notes};
use conversation::ResultContent;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use settings::directories;
use tools::{EditCall, ToolFailure};
use workspace::{Beneath, BeneathError};

use crate::{fork::ForkTools, session::Session, tool_round::Call, types::SessionNotes, window::Window};

/// Largest file of notes that is read or written, in bytes.
const MOST_NOTES: u64 = 1024 * 1024;
/// Of a template or a prompt of the user's.
const MOST_FORM: u64 = 64 * 1024;

/// Where the notes of a session are.
pub(crate) fn path(session: &Session) -> PathBuf {
    session.project_dir().join(session.id.as_str()).join("session-memory").join("summary.md")
}

/// Whatever lies there, nobody waits for it.
pub(crate) async fn read(session: &Session, path: &Path) -> Result<String, String> {
    let (folder, notes) = (session.project_dir(), path.to_owned());
    let reading = tokio::task::spawn_blocking(move || {
        let folder = folder.canonicalize().map_err(|error| error.to_string())?;
        markdown::file::read_below(&notes, &folder, MOST_NOTES)
    });
    let read = reading.await.unwrap_or_else(|error| Err(error.to_string()));
    read.map_err(|why| format!("there are no notes of this session ({}: {why})", path.display()))
}

/// Where the notes are and what they cover; `None` where there are none. Looks at the disk.
pub(crate) fn written(session: &Session, window: &Window) -> Option<SessionNotes> {
    let path = path(session);
    let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let updated_at = Timestamp::try_from(metadata.modified().ok()?).ok()?;
    Some(SessionNotes { path, upto: window.projection.notes_upto(), updated_at })
}

/// The notes while they are brought up to date.
pub(super) struct Paper {
    sheet: Arc<Sheet>,
    prompt: Option<String>,
    /// What they were at the beginning.
    text: String,
    /// What the last edit made of them.
    written: Mutex<Option<String>>,
    /// A call was refused since the last round: the fork may mend it.
    refused: AtomicBool,
}

struct Sheet {
    /// Below which they are.
    folder: PathBuf,
    path: PathBuf,
    template: String,
}

impl Paper {
    pub async fn of(session: &Session) -> Result<Self, String> {
        let (folder, path) = (session.project_dir(), path(session));
        let home = directories::config_home(&session.shared.environment);
        let opening = tokio::task::spawn_blocking(move || {
            let template = form(&home, "template.md").unwrap_or_else(|| notes::TEMPLATE.to_owned());
            let prompt = form(&home, "prompt.md");
            let sheet = Arc::new(Sheet { folder, path, template });
            let text = sheet.text()?;
            Ok(Self { sheet, prompt, text, written: Mutex::default(), refused: AtomicBool::new(false) })
        });
        opening.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// What the fork is asked.
    pub fn directive(&self, tokens: Tokens<'_>) -> String {
        let Sheet { path, template, .. } = &*self.sheet;
        notes::directive(template, self.prompt.as_deref(), &self.text, path, tokens)
    }

    /// The notes after the last edit, if there was one.
    pub fn written(&self) -> Option<String> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn edit(&self, call: &Call) -> Result<ResultContent, String> {
        let (edit, sheet) = (self.allowed(call)?, Arc::clone(&self.sheet));
        let editing = tokio::task::spawn_blocking(move || sheet.edit(&edit));
        let text = editing.await.unwrap_or_else(|error| Err(error.to_string()))?;
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        Ok(ResultContent::Text("The notes were changed.".to_owned()))
    }

    /// The one call that is allowed, or why this one is not.
    fn allowed(&self, call: &Call) -> Result<EditCall, String> {
        let input = call.input.as_ref().map_err(Clone::clone)?;
        let path = self.sheet.path.display();
        let Some(parsed) = EditCall::of(&call.name, input) else {
            let name = &call.name;
            return Err(format!("{name} cannot be called here; all that is allowed is Edit of {path}"));
        };
        let edit = parsed.map_err(|ToolFailure(words)| words)?;
        match Path::new(&edit.file_path) == self.sheet.path {
            true => Ok(edit),
            false => Err(format!("{} cannot be edited here, only {path}", edit.file_path)),
        }
    }
}

impl ForkTools for Paper {
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<ResultContent, String>> {
        Box::pin(async move {
            let edited = self.edit(call).await;
            self.refused.fetch_or(edited.is_err(), Ordering::Relaxed);
            edited
        })
    }

    fn is_done(&self) -> bool {
        !self.refused.swap(false, Ordering::Relaxed) && self.written().is_some()
    }
}

impl Sheet {
    /// The notes as they are on the disk now: the user may have them open. The template where there are none.
    fn text(&self) -> Result<String, String> {
        let failed = |why: String| format!("{} cannot be read: {why}", self.path.display());
        let beneath = Beneath::open(&self.folder).map_err(|error| failed(error.to_string()))?;
        let relative = beneath.check(&self.path).map_err(|refusal| failed(refusal.to_string()))?;
        let text = match beneath.read(&relative) {
            Ok(bytes) if bytes.len() as u64 > MOST_NOTES => Err(failed("it is too large".to_owned())),
            Ok(bytes) => String::from_utf8(bytes).map_err(|error| failed(error.to_string())),
            Err(BeneathError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(failed(error.to_string())),
        }?;
        Ok(if text.trim().is_empty() { self.template.clone() } else { text })
    }

    fn edit(&self, edit: &EditCall) -> Result<String, String> {
        let before = self.text()?;
        let name = self.path.display().to_string();
        let after = edit.apply(&before, &name).map_err(|ToolFailure(words)| words)?;
        notes::check(&self.template, &before, &after)?;
        if after.len() as u64 > MOST_NOTES {
            return Err("the edit was refused: the notes would become too large; write less".to_owned());
        }
        let failed = |why: String| format!("the notes could not be written: {why}");
        let beneath = Beneath::open(&self.folder).map_err(|error| failed(error.to_string()))?;
        let relative = beneath.check(&self.path).map_err(|refusal| failed(refusal.to_string()))?;
        beneath.write(&relative, after.as_bytes()).map_err(|error| failed(error.to_string()))?;
        Ok(after)
    }
}

/// A form of the user's own; `None` where there is none that can be used.
fn form(home: &Path, name: &str) -> Option<String> {
    let path = home.join("session-memory").join("config").join(name);
    let root = fs::canonicalize(home).ok()?;
    if fs::symlink_metadata(&path).is_err() {
        return None;
    }
    match markdown::file::read_below(&path, &root, MOST_FORM) {
        Ok(text) => Some(text).filter(|text| !text.trim().is_empty()),
        Err(why) => {
            tracing::warn!(path = %path.display(), why, "our own form of the notes is used instead");
            None
        }
    }
}
