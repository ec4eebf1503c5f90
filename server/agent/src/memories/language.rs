//! What an editor's language features need of memory: all of it at once, what is counted of one, and changes that touch
//! several files: merging two, moving one, noting something about a place in the code.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use memory::{
    Memory, Topic,
    compose::{Draft, has_secret, index_line},
    dates,
    history::{Change, History},
    index,
    lint::{self, Document, LintContext},
};
use settings::Inline;
use workspace::Basis;

use super::{
    LARGEST, Memories,
    deed::{Deed, Remembered},
    requests::{in_the_way, unavailable},
    too_large,
};
use crate::{agent::Agent, files, types::AgentError};

/// Everything that is remembered, as it is now; open buffers first.
pub struct MemoryReading {
    pub directory: PathBuf,
    pub documents: Vec<Document>,
    /// Newest first.
    pub changes: Vec<Change>,
}

/// A memory, or an index, as it is and as it should be.
#[derive(Clone, Debug)]
pub struct MemoryEdit {
    pub path: PathBuf,
    pub before: String,
    pub after: String,
}

/// See [`Agent::memory_lookup`].
pub type MemoryLookup = dyn Fn(&str) -> Option<Memory> + Send + Sync;

/// Changes that are looked at for the last one of each file.
const MOST_CHANGES: usize = 2_000;

/// Of the name of a file, which has its limit.
const LONGEST_SLUG: usize = 80;

impl Agent {
    /// What editors may show within files.
    pub fn inline(&self) -> Inline {
        self.shared.settings(&self.default_folder()).settings.inline
    }

    /// Where memories of the first workspace folder are; `None` where memory is off.
    pub fn memory_directory(&self) -> Option<PathBuf> {
        Some(self.memories().ok()?.directory().to_owned())
    }

    /// Reads the whole directory, and sees from now on what changes in it.
    pub fn memory_reading(&self) -> Result<MemoryReading, AgentError> {
        let memories = self.memories()?;
        let directory = memories.directory().to_owned();
        if !directory.is_dir() {
            return Ok(MemoryReading { directory, documents: Vec::new(), changes: Vec::new() });
        }
        memories.keep_watching(&self.shared.frontend);
        let workspace = self.shared.workspace.clone();
        let buffer = move |path: &Path| workspace.document_text(path);
        let context = LintContext { buffer: Some(&buffer), ..LintContext::default() };
        let documents = lint::read(&directory, &context).map_err(unavailable)?;
        let changes = History::open(&directory).and_then(|history| history.changes(None, MOST_CHANGES));
        Ok(MemoryReading { directory, documents, changes: changes.unwrap_or_default() })
    }

    /// What is counted of each memory, by its path below the directory. Looked at now, for as many as are asked for.
    pub fn memory_lookup(&self) -> Box<MemoryLookup> {
        let Ok(memories) = self.memories() else { return Box::new(|_| None) };
        memories.store.refresh();
        Box::new(move |relative| memories.store.memory(relative))
    }

    /// What the first says and the second does not is added to the second; then the first goes, and its entries with it.
    pub fn memory_merge(&self, path: &str, into: &str) -> Result<Remembered, AgentError> {
        let memories = self.memories()?;
        let (_, from) = memories.place(path)?;
        let (_, into) = memories.place(into)?;
        if from == into || index::is_index(&from) || index::is_index(&into) {
            return Err(AgentError::Invalid("path: two different memories are needed".to_owned()));
        }
        let _alone = memories.edit();
        let read = |relative: &str| {
            let text = memories.text(relative).map_err(in_the_way)?;
            text.ok_or_else(|| AgentError::Invalid(format!("path: there is no memory {relative}")))
        };
        // All of it is thought through before anything is written.
        let merged = merged(&read(&from)?, &read(&into)?);
        if merged.len() as u64 > LARGEST {
            return Err(in_the_way(too_large(&format!("what {from} and {into} say together"))));
        }
        let indexes = memories.indexes_without(&from)?;
        let names = indexes.iter().map(|(name, _)| *name).chain([&*from, &*into]);
        memories.refuse_unsaved(&self.shared.workspace, names)?;
        let mut deed = Deed::begin(&memories, format!("you merged {from} into {into}"))?;
        deed.put(&into, Some(&merged))?;
        deed.put(&from, None)?;
        for (name, text) in indexes {
            deed.put(name, Some(&text))?;
        }
        Ok(Remembered { path: memories.directory().join(into), change: deed.end(self) })
    }

    /// Writes several memories that are not open anew, as one thing the user did. Returns those that are open: their texts
    /// are the editor's to change, by [`Self::memory_edit_open`].
    pub fn memory_rewrite(&self, why: &str, edits: Vec<MemoryEdit>) -> Result<Vec<MemoryEdit>, AgentError> {
        let memories = self.memories()?;
        let _alone = memories.edit();
        let is_open = |edit: &MemoryEdit| self.shared.workspace.document_text(&edit.path).is_some();
        let (open, closed): (Vec<_>, Vec<_>) = edits.into_iter().partition(is_open);
        let mut deed = Deed::begin(&memories, why.to_owned())?;
        for MemoryEdit { path, before, after } in closed {
            let Some(name) = memories.relative(path) else { continue };
            // Who wrote it meanwhile knows better.
            if memories.text(&name).map_err(in_the_way)?.as_ref() == Some(&before) {
                deed.put(&name, Some(&after))?;
            }
        }
        deed.end(self);
        Ok(open)
    }

    /// Through the editor that has it open; what was not saved before stays so.
    pub async fn memory_edit_open(&self, edit: &MemoryEdit, label: &str) -> Result<(), AgentError> {
        let workspace = &self.shared.workspace;
        let unavailable = |words: String| AgentError::Unavailable(words);
        if workspace.document_text(&edit.path).as_ref() != Some(&edit.before) {
            return Err(unavailable(format!("{} was changed meanwhile", edit.path.display())));
        }
        let now = workspace.read(&edit.path).map_err(|error| unavailable(error.to_string()))?;
        let after = edit.after.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let written = workspace.write(&edit.path, &after, Basis::Unchanged(now.fingerprint), label).await;
        written.map(drop).map_err(|error| unavailable(error.to_string()))
    }

    /// Notes something about a place: a memory that names it, with its entry. Without words, one that waits for them. The
    /// entry is left to [`Self::memory_edit_open`] where somebody is writing in the index.
    pub fn memory_remember(
        &self,
        about: &str,
        words: Option<&str>,
    ) -> Result<(Remembered, Option<MemoryEdit>), AgentError> {
        // The name of a file may have anything in it, and goes into YAML and an index of lines.
        let is_odd = |it: char| it.is_control() || matches!(it, '"' | '\\');
        let about = &*about.replace(is_odd, " ");
        let memories = self.memories()?;
        files::create_private_dir(memories.directory()).map_err(unavailable)?;
        let _alone = memories.edit();
        let today = self.shared.faults.clock().today();
        let noted = match words.map(str::trim).filter(|words| !words.is_empty()) {
            Some(words) if has_secret(words) => {
                return Err(AgentError::Invalid(
                    "text: that looks like a secret, and memories are plain files: note where it is stored instead"
                        .to_owned(),
                ));
            }
            Some(words) => noted(about, words, today),
            None => draft(about, today),
        };
        let index_path = memories.directory().join(index::NAME);
        let is_unsaved = memories.unsaved(&self.shared.workspace).contains(index::NAME);
        let typed = self.shared.workspace.document_text(&index_path).filter(|_| is_unsaved);
        if is_unsaved && typed.is_none() {
            // By another name of the folder, by which nobody could edit it.
            memories.refuse_unsaved(&self.shared.workspace, [index::NAME])?;
        }
        // Read before anything is written: what cannot be read stops it.
        let listed = match typed {
            Some(_) => None,
            None => Some(memories.text(index::NAME).map_err(in_the_way)?.unwrap_or_default()),
        };
        let mut deed = Deed::begin(&memories, format!("you noted something about {about}"))?;
        let name = memories.free_name(&noted.file_name);
        deed.put(&name, Some(&noted.text))?;
        let entry = noted.entry.replace(&noted.file_name, &name);
        if let Some(listed) = listed {
            deed.put(index::NAME, Some(&index::with_entry(&listed, &entry)))?;
        }
        let left = typed.map(|before| {
            let after = index::with_entry(&before, &entry);
            MemoryEdit { path: index_path, before, after }
        });
        Ok((Remembered { path: memories.directory().join(name), change: deed.end(self) }, left))
    }
}

impl Memories {
    /// The name, or one like it that no file has.
    fn free_name(&self, name: &str) -> String {
        let stem = name.strip_suffix(".md").unwrap_or(name);
        let names = std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{stem}-{number}.md")));
        let mut free = names.filter(|name| self.directory().join(name).symlink_metadata().is_err());
        free.next().unwrap_or_else(|| name.to_owned())
    }
}

struct Noted {
    file_name: String,
    text: String,
    entry: String,
}

fn noted(about: &str, words: &str, today: Date) -> Noted {
    let draft = Draft::of(&dates::absolute(words, Some(today)));
    let content = draft.content(None, &format!("created: {today}\n"));
    let text = format!("{}\n\nAbout {about}.\n", content.trim_end());
    Noted { entry: index_line(&draft), file_name: draft.file_name, text }
}

fn draft(about: &str, today: Date) -> Noted {
    let slug: String = about.chars().filter(|it| !matches!(it, '`' | '(' | ')')).collect();
    let slug = slug.split(|it: char| !it.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let slug: String = slug.collect::<Vec<_>>().join("-").to_lowercase().chars().take(LONGEST_SLUG).collect();
    let file_name = format!("about-{slug}.md");
    let title = format!("About {}", about.replace('`', ""));
    let text = format!(
        "---\nname: \"{title}\"\ndescription: \"What to know about {}\"\ntype: project\ncreated: {today}\n---\n\n{about}: \n",
        about.replace('`', "")
    );
    let entry = format!("- [{title}]({file_name}) — what to know about {}", about.replace('`', ""));
    Noted { file_name, text, entry }
}

/// The second text with the lines of the first's body that it does not have.
fn merged(one: &str, other: &str) -> String {
    let known: HashSet<&str> = other.lines().map(str::trim).collect();
    let is_new = |line: &&str| !line.trim().is_empty() && !known.contains(line.trim());
    let new: Vec<&str> = Topic::parse(one).body.lines().filter(is_new).collect();
    if new.is_empty() {
        return other.to_owned();
    }
    let newline = if other.contains("\r\n") { "\r\n" } else { "\n" };
    format!("{}{newline}{newline}{}{newline}", other.trim_end(), new.join(newline))
}
