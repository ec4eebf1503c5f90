//! Includes that leave the workspace: asked about once, and remembered by folder in the config home.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use settings::{Environment, directories};

use crate::{event::NoticeLevel, files, session::Session};

const NAME: &str = "reverie-includes.json";

/// What the user has said about the includes of one folder.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Answers {
    allowed: Vec<PathBuf>,
    refused: Vec<PathBuf>,
}

pub(super) fn of(environment: &Environment, folder: &Path) -> Vec<PathBuf> {
    read(environment).remove(&key(folder)).unwrap_or_default().allowed
}

/// Asks whether the file may be read, unless that was answered before; a yes holds from the next load on.
pub(super) fn ask(session: &Arc<Session>, path: PathBuf) {
    let answers = read(&session.shared.environment).remove(&key(&session.cwd)).unwrap_or_default();
    if answers.refused.contains(&path) {
        return;
    }
    let question = format!(
        "The instructions of {} include {}, which is outside the workspace. May it be read?",
        session.cwd.display(),
        path.display()
    );
    if !session.shared.ask_once(&question) {
        return;
    }
    let session = Arc::clone(session);
    tokio::spawn(async move {
        // The harmless answer first: whoever answers without reading allows nothing.
        let options = ["No", "Yes, always for this folder"].map(str::to_owned).to_vec();
        let yes = options.last().cloned();
        let answer = session.shared.frontend.ask_user(session.id.clone(), question, options).await;
        // Whoever does not answer is asked by the next server.
        let Some(answer) = answer else { return };
        let is_allowed = Some(answer) == yes;
        let text = match is_allowed {
            true => "it is read from the next session on, or now with /memory reload".to_owned(),
            false => {
                let place = directories::config_home(&session.shared.environment).join(NAME);
                format!("it stays left out; to be asked again, take it out of {}", place.display())
            }
        };
        let (environment, folder) = (session.shared.environment.clone(), session.cwd.clone());
        let added = tokio::task::spawn_blocking(move || add(&environment, &folder, path, is_allowed)).await;
        let (level, text) = match added {
            Ok(Ok(())) => (NoticeLevel::Info, text),
            Ok(Err(error)) => (NoticeLevel::Error, format!("the answer could not be written down: {error}")),
            Err(error) => (NoticeLevel::Error, error.to_string()),
        };
        session.notice(None, level, text);
    });
}

fn add(environment: &Environment, folder: &Path, path: PathBuf, is_allowed: bool) -> io::Result<()> {
    let home = directories::config_home(environment);
    files::create_private_dir(&home)?;
    let place = home.join(format!("{NAME}.lock"));
    let lock = File::options().create(true).truncate(false).write(true).mode(0o600).open(place)?;
    lock.lock()?;
    let mut folders = read(environment);
    let answers = folders.entry(key(folder)).or_default();
    let paths = if is_allowed { &mut answers.allowed } else { &mut answers.refused };
    if !paths.contains(&path) {
        paths.push(path);
    }
    let mut new = tempfile::NamedTempFile::new_in(&home)?;
    serde_json::to_writer_pretty(&mut new, &folders)?;
    new.as_file().sync_all()?;
    new.persist(home.join(NAME))?;
    Ok(())
}

/// By folder.
fn read(environment: &Environment) -> BTreeMap<String, Answers> {
    let text = std::fs::read_to_string(directories::config_home(environment).join(NAME)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn key(folder: &Path) -> String {
    directories::canonical(folder).to_string_lossy().into_owned()
}
