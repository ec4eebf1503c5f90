//! Memories that were moved: what still links to where they were follows, through the editor where it is open, else on
//! disk. An editor that asked before it moved them has the edits already.

use std::{path::PathBuf, sync::Arc};

use agent::MemoryEdit;

use super::Language;

/// A move that was asked for and never made is forgotten in the end.
const MOST_FORETOLD: usize = 100;

impl Language {
    /// The editor has the edits of these moves.
    pub(super) fn foretell(&self, moves: &[(PathBuf, PathBuf)]) {
        let mut state = self.state();
        state.foretold.extend_from_slice(moves);
        let surplus = state.foretold.len().saturating_sub(MOST_FORETOLD);
        state.foretold.drain(..surplus);
    }

    /// After the editor has moved these.
    pub(super) fn follow(self: &Arc<Self>, moves: Vec<(PathBuf, PathBuf)>) {
        let places = self.places();
        let is_memory = |path: &PathBuf| places.memory_path(path).is_some();
        let moves: Vec<_> = moves.into_iter().filter(|(old, new)| is_memory(old) && is_memory(new)).collect();
        if moves.is_empty() {
            return;
        }
        let language = Arc::clone(self);
        tokio::spawn(async move {
            for (old, new) in moves {
                let this = Arc::clone(&language);
                let open = match tokio::task::spawn_blocking(move || this.rewrite_links(old, new)).await {
                    Ok(open) => open,
                    Err(panic) => {
                        tracing::error!(%panic, "following a moved memory panicked");
                        continue;
                    }
                };
                for edit in open {
                    if let Err(error) =
                        language.agent.memory_edit_open(&edit, "Follow a renamed memory").await
                    {
                        tracing::warn!(%error, "an open document does not follow a renamed memory");
                    }
                }
            }
        });
    }

    /// On disk; what is left for the editor.
    fn rewrite_links(&self, old: PathBuf, new: PathBuf) -> Vec<MemoryEdit> {
        let was_foretold = {
            let mut state = self.state();
            let known = state.foretold.len();
            state.foretold.retain(|(from, to)| *from != old || *to != new);
            known > state.foretold.len()
        };
        // It was moved back meanwhile, or copied.
        let has_moved = old.symlink_metadata().is_err() && new.symlink_metadata().is_ok();
        if !has_moved || !self.agent.inline().actions {
            return Vec::new();
        }
        let view = self.view_anew(self.places());
        let mut edits = language::followed(&view.facts(), &old, &new);
        // What moved may have its own links mended already, and they would be read as from where it was.
        edits.retain(|edit| !was_foretold || !edit.path.starts_with(&new));
        let edits =
            edits.into_iter().map(|it| MemoryEdit { path: it.path, before: it.before, after: it.after });
        let name = |path: &PathBuf| view.places.memory_path(path).unwrap_or_default();
        let why = format!("you renamed {} to {}", name(&old), name(&new));
        self.agent.memory_rewrite(&why, edits.collect()).unwrap_or_else(|error| {
            tracing::warn!(%error, "links do not follow a renamed memory");
            Vec::new()
        })
    }
}
