//! CLAUDE.md files and rules in a session: loaded with its opening, more as files are touched, anew when the user says so.
//!
//! What was sent stays as it was. A file that changes on disk is told to the user, not to the model; reading it anew is a
//! break of the prompt cache, and is announced as one.

mod approved;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use context::fragment;
use conversation::Body;
use memory::instructions::{self, Instructions, Loaded, Piece, Reason, Source, Sources, Stamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    event::{NoticeLevel, TurnId},
    session::Session,
    types::InstructionFile,
};

/// The kind of what is attached when a file is touched.
const KIND: &str = "instructions";

/// Of one touch; a file that is longer is cut, with a word about it.
const ATTACHED_BYTES: usize = 100_000;

/// Notices about files; the rest is in the log.
const MOST_NOTICES: usize = 10;

/// What a session goes by, kept with its opening.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sheet {
    loaded: Loaded,
    files: Vec<(PathBuf, Stamp)>,
    shown: Vec<Shown>,
    /// How many of these the opening has; the others are in the thread.
    at_start: usize,
    /// What the user was told has changed.
    #[serde(skip)]
    told: Vec<PathBuf>,
    #[serde(skip)]
    looked_into: HashSet<PathBuf>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Shown {
    path: PathBuf,
    source: Source,
    reason: String,
    /// Of its text.
    #[serde(default)]
    digest: u64,
}

impl Sheet {
    pub fn of(value: &Value) -> Self {
        serde_json::from_value(value.clone()).unwrap_or_default()
    }

    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    pub fn files(&self) -> Vec<InstructionFile> {
        let file = |shown: &Shown| InstructionFile {
            path: shown.path.clone(),
            source: name(shown.source).to_owned(),
            reason: shown.reason.clone(),
        };
        self.shown.iter().map(file).collect()
    }

    fn take(&mut self, news: &Instructions) {
        self.files.retain(|(known, _)| !news.files.iter().any(|(path, _)| path == known));
        self.files.extend(news.files.iter().cloned());
        self.shown.extend(news.pieces.iter().map(|piece| Shown {
            path: piece.path.clone(),
            source: piece.source,
            reason: piece.reason.as_str().to_owned(),
            digest: digest(&piece.text),
        }));
    }
}

/// Everything that is in force from the start. Reads files.
pub(crate) fn load(session: &Arc<Session>, reason: Reason) -> Vec<Piece> {
    let mut sheet = Sheet::default();
    let news = with_sources(session, |sources| instructions::load(sources, reason, &mut sheet.loaded));
    sheet.take(&news);
    sheet.at_start = sheet.shown.len();
    *session.instructions() = sheet;
    tell(session, &news);
    news.pieces
}

/// Whether touching this file may bring something into force: it lies in a folder that was not looked into yet, or a rule
/// waits for it.
fn is_news(session: &Session, path: &Path) -> bool {
    let path = &instructions::place_of(&session.cwd.join(path));
    let mut sheet = session.instructions();
    let waited_for = sheet.loaded.waiting().iter().any(|rule| rule.matches(path));
    let folder = path.parent().filter(|folder| *folder != session.cwd).map(Path::to_path_buf);
    let new_folder = folder.is_some_and(|folder| sheet.looked_into.insert(folder));
    waited_for || new_folder
}

/// A file was read or changed: what comes into force thereby is told with the next request.
pub(crate) async fn touched(session: &Arc<Session>, path: &Path) {
    if !is_news(session, path) {
        return;
    }
    let (session, path) = (Arc::clone(session), path.to_owned());
    if let Err(error) = tokio::task::spawn_blocking(move || touch(&session, &path)).await {
        tracing::error!(%error, "looking for instructions panicked");
    }
}

/// Reads files.
fn touch(session: &Arc<Session>, path: &Path) {
    // Of calls that run side by side, one after another: what the first brings is no news to the second.
    let _alone = session.touching.lock().unwrap_or_else(PoisonError::into_inner);
    let mut sheet = session.instructions().clone();
    let news = with_sources(session, |sources| instructions::touched(sources, path, &mut sheet.loaded));
    sheet.take(&news);
    *session.instructions() = sheet;
    tell(session, &news);
    if news.pieces.is_empty() {
        return;
    }
    let mut body = "These instructions apply to files that you have just touched.".to_owned();
    for piece in &news.pieces {
        body.push_str("\n\n");
        body.push_str(&render(piece));
    }
    session.state().reminders.push((KIND, fragment::reminder(&body, ATTACHED_BYTES)));
    session.keep_opening();
}

/// What the thread has lost, by going back in it or with the server that was to tell it, comes into force again when it
/// is touched again.
pub(crate) fn settle(session: &Session) {
    let told: Vec<String> = {
        let state = session.state();
        let sent = state.thread.iter().filter_map(|message| match &message.body {
            Body::Attachment(attachment) if attachment.kind == KIND => Some(&attachment.text),
            _ => None,
        });
        let waiting = state.reminders.iter().filter(|(kind, _)| *kind == KIND).map(|(_, text)| text);
        sent.chain(waiting).cloned().collect()
    };
    let mut sheet = session.instructions();
    let at_start = sheet.at_start.min(sheet.shown.len());
    let later = sheet.shown.split_off(at_start);
    for shown in later {
        let heading = heading(&instructions::label(&shown.path, shown.source));
        if told.iter().any(|text| text.contains(&heading)) {
            sheet.shown.push(shown);
        } else {
            sheet.loaded.forget(&shown.path);
            sheet.files.retain(|(path, _)| *path != shown.path);
        }
    }
    sheet.looked_into.clear();
}

/// Says once which of the files that were read are not what they were.
pub(crate) fn look_for_changes(session: &Arc<Session>, turn: &TurnId) {
    let changed = {
        let mut sheet = session.instructions();
        let mut changed = instructions::changed(&sheet.files);
        changed.retain(|path| !sheet.told.contains(path));
        sheet.told.extend(changed.iter().cloned());
        changed
    };
    if changed.is_empty() {
        return;
    }
    // A file that was written anew and says the same is none; a checkout does that to many.
    let now = with_sources(session, |sources| {
        instructions::load(sources, Reason::SessionStart, &mut Loaded::default())
    });
    let says_the_same = |path: &PathBuf| {
        let piece = now.pieces.iter().find(|piece| piece.path == *path);
        let sheet = session.instructions();
        let shown = sheet.shown.iter().find(|shown| shown.path == *path);
        piece.zip(shown).is_some_and(|(piece, shown)| digest(&piece.text) == shown.digest)
    };
    let changed: Vec<PathBuf> = changed.into_iter().filter(|path| !says_the_same(path)).collect();
    if changed.is_empty() {
        return;
    }
    let names: Vec<String> =
        changed.iter().take(MOST_NOTICES).map(|path| path.display().to_string()).collect();
    let text = format!(
        "{} changed on disk; this session goes on with what it has read. /memory reload takes the new text (the next \
         request is then not served from the prompt cache)",
        names.join(", ")
    );
    session.notice(Some(turn), NoticeLevel::Info, text);
}

/// FNV-1a: stable across releases, which std's hasher does not promise.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// One file's instructions as the model reads them.
pub(crate) fn render(piece: &Piece) -> String {
    format!("{}\n\n{}\n", heading(&piece.label()), piece.text.trim())
}

fn heading(label: &str) -> String {
    format!("File {label}:")
}

fn with_sources(session: &Arc<Session>, work: impl FnOnce(&Sources<'_>) -> Instructions) -> Instructions {
    let environment = &session.shared.environment;
    // "Untrusted → … includes only inside."
    let approved = match session.shared.is_trusted(&session.cwd) {
        true => approved::of(environment, &session.cwd),
        false => Vec::new(),
    };
    let may_leave = |path: &Path| approved.iter().any(|allowed| path.starts_with(allowed));
    work(&Sources { environment, folder: &session.cwd, may_leave: &may_leave })
}

/// What the user should know: what is wrong with files, and what is not read unless they allow it.
fn tell(session: &Arc<Session>, news: &Instructions) {
    for piece in &news.pieces {
        tracing::info!(target: "instructions", session = %session.id, path = %piece.path.display(),
            memory_type = name(piece.source), load_reason = piece.reason.as_str(), "loaded");
    }
    for problem in news.problems.iter().take(MOST_NOTICES) {
        let line = problem.line.map(|line| format!(":{}", line + 1)).unwrap_or_default();
        let text = format!("{}{line} {}", problem.path.display(), problem.words);
        if session.state().told.insert(text.clone()) {
            session.notice(None, NoticeLevel::Warning, text);
        }
    }
    if !session.shared.is_trusted(&session.cwd) {
        return;
    }
    for path in &news.outside {
        approved::ask(session, path.clone());
    }
}

fn name(source: Source) -> &'static str {
    source.words().split(' ').next().unwrap_or_default()
}
