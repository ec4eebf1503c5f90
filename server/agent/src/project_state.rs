//! What the project's next session has to know if this one's transcript is lost: kept beside the transcripts at the end
//! of each turn, and read by the minimal resume.

use conversation::{Progress, ProjectState};

use crate::{background::notes, git, session::Session};

/// Reads and writes a small file; not on a turn's path.
pub(crate) fn keep(session: &Session) {
    let (thread, title) = {
        let state = session.state();
        (state.thread.clone(), state.title.clone())
    };
    // Nothing is on disk before the first prompt, and nothing is known after a `/clear`.
    let Some(directory) = session.transcript.path().parent().filter(|_| !thread.is_empty()) else { return };
    let branch = git::branch(&session.cwd);
    let notes = notes::path(session);
    let progress = Progress {
        session: Some(&session.id),
        title: title.as_deref(),
        cwd: Some(&session.cwd),
        git_branch: branch.as_deref(),
        thread: &thread,
        notes: Some(notes.as_path()).filter(|path| path.is_file()),
    };
    if let Err(error) = ProjectState::update(directory, |state| state.learn(progress)) {
        tracing::warn!(session = %session.id, %error, "the project's state could not be written down");
    }
}
