use std::collections::VecDeque;
use std::fs;
use std::sync::Mutex;

use futures_util::future::BoxFuture;

use super::*;
use crate::buffers::ContentChange;
use crate::editor::{NoEditor, TextEdit};
use crate::testing::{Random, folder};

mod links;

/// What a client does when it is asked to apply an edit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// Checks the version, applies, answers; the change arrives before the answer.
    Honest,
    /// The change arrives only after the answer.
    Late,
    /// The user types right after the edit, before anyone can look.
    TypedAfter,
    /// Says yes and does nothing.
    Lying,
    /// The user types below first; the edit is applied to the changed text all the same.
    Careless,
    /// The user types first, and the client notices.
    Racing,
    /// Never answers.
    Silent,
    Refusing,
    /// Closes the document instead.
    Closing,
    /// Has its own mind about final newlines: the text never ends with one.
    NoFinalNewline,
}

/// A client with its own copy of the document, as an editor has it.
struct Client {
    workspace: Workspace,
    path: PathBuf,
    manner: Manner,
    can_save: bool,
    buffer: Mutex<Buffer>,
}

struct Buffer {
    text: Rope,
    version: i32,
    /// Notifications that the server has not got yet.
    undelivered: VecDeque<(i32, Vec<ContentChange>)>,
    saves: usize,
}

impl Client {
    fn open(
        workspace: &Workspace,
        path: &Path,
        text: &str,
        manner: Manner,
        can_save: bool,
        encoding: Encoding,
    ) -> Arc<Self> {
        workspace.open_document(path, "text", 1, text);
        let buffer =
            Buffer { text: Rope::from_str(text), version: 1, undelivered: VecDeque::new(), saves: 0 };
        let client = Arc::new(Self {
            workspace: workspace.clone(),
            path: path.to_owned(),
            manner,
            can_save,
            buffer: Mutex::new(buffer),
        });
        workspace.attach_editor(Arc::clone(&client) as Arc<dyn Editor>, encoding);
        client
    }

    fn text(&self) -> String {
        self.buffer.lock().unwrap().text.to_string()
    }

    /// Edits refer to the text before them, changes to the text so far: so from the last to the first.
    fn edit(&self, edits: &[TextEdit]) {
        let changes = edits
            .iter()
            .rev()
            .map(|edit| ContentChange { range: Some(edit.range), text: edit.new_text.clone() });
        self.change(changes.collect());
    }

    fn change(&self, changes: Vec<ContentChange>) {
        let mut buffer = self.buffer.lock().unwrap();
        for change in &changes {
            let range = change.range.unwrap();
            let chars = crate::position::char_range(&buffer.text, range, self.workspace.encoding());
            buffer.text.remove(chars.clone());
            buffer.text.insert(chars.start, &change.text);
        }
        buffer.version += 1;
        let version = buffer.version;
        buffer.undelivered.push_back((version, changes));
    }

    /// The user types at the beginning of a line.
    fn type_at(&self, line: u32, text: &str) {
        let start = crate::editor::Position { line, character: 0 };
        let range = crate::editor::Range { start, end: start };
        self.edit(&[TextEdit { range, new_text: text.to_owned() }]);
    }

    fn deliver(&self) {
        loop {
            let next = self.buffer.lock().unwrap().undelivered.pop_front();
            let Some((version, changes)) = next else { return };
            self.workspace.change_document(&self.path, version, &changes).unwrap();
        }
    }
}

impl Editor for Client {
    fn apply_edit(
        &self,
        path: &Path,
        version: i32,
        edits: Vec<TextEdit>,
        _label: &str,
    ) -> BoxFuture<'_, Result<(), EditRefused>> {
        assert_eq!(path, self.path);
        Box::pin(async move {
            tokio::task::yield_now().await;
            match self.manner {
                Manner::Racing => self.type_at(0, "user "),
                Manner::Careless => self.type_at(1, "user"),
                Manner::Lying => return Ok(()),
                Manner::Silent => std::future::pending().await,
                Manner::Refusing => return Err(EditRefused::Refused("read-only buffer".to_owned())),
                Manner::Closing => {
                    self.workspace.close_document(&self.path);
                    return Ok(());
                }
                Manner::Honest | Manner::Late | Manner::TypedAfter | Manner::NoFinalNewline => {}
            }
            if self.manner != Manner::Careless && self.buffer.lock().unwrap().version != version {
                self.deliver();
                return Err(EditRefused::Stale);
            }
            self.edit(&edits);
            match self.manner {
                Manner::TypedAfter => self.type_at(0, "x"),
                Manner::NoFinalNewline => {
                    let mut buffer = self.buffer.lock().unwrap();
                    let trimmed = buffer.text.to_string().trim_end_matches('\n').to_owned();
                    buffer.text = Rope::from_str(&trimmed);
                    let version = buffer.version;
                    buffer.undelivered =
                        [(version, vec![ContentChange { range: None, text: trimmed }])].into();
                }
                Manner::Late => {
                    // After the answer, as another task: the server reads on while the write waits.
                    let buffer = std::mem::take(&mut self.buffer.lock().unwrap().undelivered);
                    let (workspace, path) = (self.workspace.clone(), self.path.clone());
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_millis(150)).await;
                        for (version, changes) in buffer {
                            workspace.change_document(&path, version, &changes).unwrap();
                        }
                    });
                    return Ok(());
                }
                _ => {}
            }
            self.deliver();
            Ok(())
        })
    }

    fn save(&self, path: &Path) -> BoxFuture<'_, Result<bool, EditRefused>> {
        assert_eq!(path, self.path);
        Box::pin(async move {
            if self.can_save {
                fs::write(&self.path, self.text()).unwrap();
                self.buffer.lock().unwrap().saves += 1;
                self.workspace.save_document(&self.path, None);
            }
            Ok(self.can_save)
        })
    }
}

struct Fixture {
    _folder: tempfile::TempDir,
    path: PathBuf,
    workspace: Workspace,
    client: Arc<Client>,
}

/// A file with `text`, open in a client of that manner.
fn opened(text: &str, manner: Manner) -> Fixture {
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, text).unwrap();
    let workspace = Workspace::new(Vec::new());
    let client = Client::open(&workspace, &path, text, manner, true, Encoding::Utf16);
    Fixture { _folder: folder, path, workspace, client }
}

impl Fixture {
    async fn write(&self, text: &str) -> Result<Written, WriteError> {
        let seen = self.workspace.read(&self.path).unwrap().fingerprint;
        self.workspace.write(&self.path, text, Basis::Unchanged(seen), "edit").await
    }

    fn on_disk(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    fn server_text(&self) -> String {
        self.workspace.document_text(&self.path).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_clean_document_is_edited_by_the_editor_and_saved() {
    for manner in [Manner::Honest, Manner::Late] {
        let fixture = opened("one\r\ntwo\r\n", manner);
        let written = fixture.write("one\nzwei\n").await.unwrap();
        assert_eq!(
            written,
            Written { route: Route::EditorSaved, fingerprint: Fingerprint::of_buffer("one\nzwei\n") }
        );
        assert_eq!(fixture.client.text(), "one\r\nzwei\r\n");
        assert_eq!(fixture.server_text(), fixture.client.text());
        assert_eq!(fixture.on_disk(), fixture.client.text());
        assert!(!fixture.workspace.documents()[0].dirty);
    }
}

#[tokio::test(start_paused = true)]
async fn unsaved_changes_of_the_user_stay_unsaved() {
    let fixture = opened("one\n", Manner::Honest);
    fixture.client.type_at(0, "user ");
    fixture.client.deliver();
    let written = fixture.write("user two\n").await.unwrap();
    assert_eq!(written.route, Route::EditorUnsaved);
    assert_eq!((fixture.client.text().as_str(), fixture.on_disk().as_str()), ("user two\n", "one\n"));
}

#[tokio::test(start_paused = true)]
async fn a_document_restored_with_unsaved_changes_counts_as_unsaved() {
    let fixture = opened("one\n", Manner::Honest);
    fs::write(&fixture.path, "what was saved\n").unwrap();
    assert_eq!(fixture.write("two\n").await.unwrap().route, Route::EditorUnsaved);
    assert_eq!(fixture.on_disk(), "what was saved\n");
}

#[tokio::test(start_paused = true)]
async fn a_document_restored_in_a_character_set_that_only_the_editor_reads_counts_as_unsaved_too() {
    for (restored, route) in [("раз\n", Route::EditorSaved), ("раз\ntyped\n", Route::EditorUnsaved)] {
        let fixture = opened(restored, Manner::Honest);
        // "раз" in Windows-1251.
        fs::write(&fixture.path, b"\xf0\xe0\xe7\n").unwrap();
        assert_eq!(fixture.write("два\n").await.unwrap().route, route, "{restored:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_cannot_save_leaves_it_unsaved() {
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, "one\n").unwrap();
    let workspace = Workspace::new(Vec::new());
    let client = Client::open(&workspace, &path, "one\n", Manner::Honest, false, Encoding::Utf8);
    let seen = workspace.read(&path).unwrap().fingerprint;
    let written = workspace.write(&path, "zwei 😀\n", Basis::Unchanged(seen), "edit").await.unwrap();
    assert_eq!((written.route, client.text().as_str()), (Route::EditorUnsaved, "zwei 😀\n"));
}

#[tokio::test(start_paused = true)]
async fn what_the_user_types_after_the_edit_neither_hides_it_nor_gets_saved() {
    let fixture = opened("one\n", Manner::TypedAfter);
    let written = fixture.write("two\n").await.unwrap();
    assert_eq!(
        written,
        Written { route: Route::EditorUnsaved, fingerprint: Fingerprint::of_buffer("two\n") }
    );
    assert_eq!((fixture.client.text().as_str(), fixture.on_disk().as_str()), ("xtwo\n", "one\n"));
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_does_not_arrive_is_not_believed() {
    for (manner, text) in
        [(Manner::Lying, "one\n"), (Manner::Racing, "user one\n"), (Manner::Careless, "two\nuser")]
    {
        let fixture = opened("one\n", manner);
        let expected = match manner {
            Manner::Lying => {
                WriteError::Refused("the editor said that it applied the edit, but did not".to_owned())
            }
            _ => WriteError::Changed,
        };
        assert_eq!(fixture.write("two\n").await, Err(expected), "{manner:?}");
        assert_eq!(fixture.client.text(), text, "{manner:?}");
        assert_eq!(fixture.server_text(), text, "{manner:?}");
        assert_eq!(fixture.on_disk(), "one\n", "{manner:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_silence_and_closing_end_the_write() {
    let error = |manner| async move { opened("one\n", manner).write("two\n").await.unwrap_err().to_string() };
    assert_eq!(error(Manner::Refusing).await, "the editor refused the edit: read-only buffer");
    assert!(error(Manner::Silent).await.contains("did not answer in time"));
    assert_eq!(error(Manner::Closing).await, WriteError::Changed.to_string());
}

#[tokio::test(start_paused = true)]
async fn a_change_since_the_read_is_refused_before_the_editor_is_asked() {
    let fixture = opened("one\n", Manner::Honest);
    let seen = fixture.workspace.read(&fixture.path).unwrap().fingerprint;
    fixture.client.type_at(0, "user ");
    fixture.client.deliver();
    let result = fixture.workspace.write(&fixture.path, "two\n", Basis::Unchanged(seen), "edit").await;
    assert_eq!(result, Err(WriteError::Changed));
    assert_eq!(fixture.client.text(), "user one\n");
}

#[tokio::test(start_paused = true)]
async fn an_editor_may_have_its_own_mind_about_the_final_newline() {
    let fixture = opened("one", Manner::NoFinalNewline);
    let written = fixture.write("two\n").await.unwrap();
    assert_eq!(written.fingerprint, Fingerprint::of_buffer("two"));
    let fixture = opened("one", Manner::Lying);
    let error = fixture.write("one\n").await.unwrap_err();
    assert_eq!(error.to_string(), "the editor keeps the final newline as it is");
}

#[tokio::test(start_paused = true)]
async fn a_new_file_goes_through_an_empty_buffer_only() {
    let folder = folder();
    let path = folder.path().join("file");
    let workspace = Workspace::new(Vec::new());
    let client = Client::open(&workspace, &path, "", Manner::Honest, true, Encoding::Utf16);
    let written = workspace.write(&path, "new\n", Basis::NewFile, "create").await.unwrap();
    assert_eq!((written.route, client.text().as_str()), (Route::EditorSaved, "new\n"));
    assert_eq!(workspace.write(&path, "again\n", Basis::NewFile, "create").await, Err(WriteError::Exists));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_of_the_editor_where_nothing_changes() {
    let fixture = opened("one\r\n", Manner::Silent);
    assert_eq!(fixture.write("one\n").await.unwrap().route, Route::EditorSaved);
}

#[tokio::test(start_paused = true)]
async fn an_open_document_is_written_by_its_own_path() {
    let fixture = opened("one\n", Manner::Honest);
    let link = fixture.path.with_file_name("link");
    std::os::unix::fs::symlink(&fixture.path, &link).unwrap();
    let seen = fixture.workspace.read(&link).unwrap().fingerprint;
    let written = fixture.workspace.write(&link, "two\n", Basis::Unchanged(seen), "edit").await.unwrap();
    assert_eq!((written.route, fixture.client.text().as_str()), (Route::EditorSaved, "two\n"));
}

#[tokio::test]
async fn a_closed_file_is_written_to_disk() {
    let folder = folder();
    let path = folder.path().join("deep/file");
    let workspace = Workspace::new(Vec::new());
    workspace.attach_editor(Arc::new(NoEditor), Encoding::Utf8);
    let created = workspace.write(&path, "one\n", Basis::NewFile, "create").await.unwrap();
    assert_eq!(created.route, Route::Disk);
    assert_eq!(created.fingerprint, workspace.read(&path).unwrap().fingerprint);
    let written =
        workspace.write(&path, "two\n", Basis::Unchanged(created.fingerprint.clone()), "edit").await.unwrap();
    assert_eq!(workspace.read(&path).unwrap().text, "two\n");
    let stale = workspace.write(&path, "three\n", Basis::Unchanged(created.fingerprint), "edit").await;
    assert_eq!(stale, Err(WriteError::Changed));
    assert!(workspace.unchanged_since(&path, &written.fingerprint).unwrap());
}

#[tokio::test(start_paused = true)]
async fn any_interleaving_of_user_and_agent_loses_nothing() {
    for (seed, encoding) in [(1, Encoding::Utf16), (2, Encoding::Utf8)] {
        let mut random = Random::new(seed);
        let folder = folder();
        let path = folder.path().join("file");
        let workspace = Workspace::new(Vec::new());
        let client = Client::open(&workspace, &path, "start 😀\r\n", Manner::Honest, false, encoding);
        let mut seen = workspace.read(&path).unwrap();
        let (mut done, mut refused) = (0, 0);
        for round in 0..3_000 {
            match random.below(6) {
                0 => client.type_at(0, &random.text(5)),
                1 => client.deliver(),
                2 => seen = workspace.read(&path).unwrap(),
                _ => {
                    let before = client.text();
                    let fresh = format::view_of_buffer(&before) == seen.text;
                    let new = match random.below(4) {
                        0 => format::view(&random.text(8)).into_owned(),
                        _ => format!("{}{}", seen.text, format::view(&random.text(3))),
                    };
                    if new == seen.text {
                        continue;
                    }
                    let basis = Basis::Unchanged(seen.fingerprint.clone());
                    match workspace.write(&path, &new, basis, "edit").await {
                        Ok(written) => {
                            assert!(fresh, "round {round}: the user's text was overwritten");
                            assert_eq!(format::view_of_buffer(&client.text()), new, "round {round}");
                            seen.fingerprint = written.fingerprint;
                            seen.text = new;
                            done += 1;
                        }
                        Err(error) => {
                            assert_eq!(error, WriteError::Changed, "round {round}");
                            assert_eq!(client.text(), before, "round {round}");
                            refused += 1;
                            client.deliver();
                            seen = workspace.read(&path).unwrap();
                        }
                    }
                }
            }
        }
        client.deliver();
        assert_eq!(workspace.document_text(&path).unwrap(), client.text());
        assert!(done > 300 && refused > 100, "{done} {refused}");
    }
}
