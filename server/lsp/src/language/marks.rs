//! In source files: a quiet word at the places of which memories speak, as an inlay hint or, where the editor has none
//! or they are switched off, as a code lens; and the lenses of memories themselves.
//!
//! Symbols are looked for in the text. An editor that tells outlines (`reverie/editor/symbols`) is asked once for each
//! version that is opened or saved, beside the request; if its outline says otherwise, the editor is asked to look again.

use std::{path::Path, sync::Arc};

use agent::Frontend as _;
use language::{LeadsTo, Mark, Outline, Role};
use ls_types::{
    CodeLens, CodeLensParams, InlayHint, InlayHintLabel, InlayHintLabelPart, InlayHintLabelPartTooltip,
    InlayHintParams,
};
use serde_json::{Value, json};
use settings::Inline;
use tower_lsp::jsonrpc;

use super::{For, Language, Opened, View, convert};
use crate::convert::path_text;

/// What the editor said a document consists of.
pub(super) struct Outlined {
    /// What the document was when it was asked for.
    version: i32,
    /// `None` while nobody has answered.
    symbols: Option<Vec<Outline>>,
}

impl Language {
    pub(crate) async fn inlay_hint(
        self: &Arc<Self>,
        params: InlayHintParams,
    ) -> jsonrpc::Result<Option<Vec<InlayHint>>> {
        let wanted = params.range;
        let this = Arc::clone(self);
        self.answer(
            "textDocument/inlayHint",
            params.text_document.uri.as_str(),
            For::Source,
            |inline| inline.hints,
            move |_, view, opened| {
                let marks = this.marks(view, opened);
                let hints = marks.iter().filter_map(|mark| {
                    let line = opened.page_line_end(mark.range.start);
                    let position = convert::position(opened.measured.position(line));
                    let is_wanted = wanted.start.line <= position.line && position.line <= wanted.end.line;
                    is_wanted.then(|| hint(view, mark, position))
                });
                Some(hints.collect())
            },
        )
        .await
    }

    pub(crate) async fn code_lens(
        self: &Arc<Self>,
        params: CodeLensParams,
    ) -> jsonrpc::Result<Option<Vec<CodeLens>>> {
        let this = Arc::clone(self);
        self.answer(
            "textDocument/codeLens",
            params.text_document.uri.as_str(),
            For::Both,
            |inline| inline.lens,
            move |language, view, opened| {
                if opened.role != Role::Source {
                    return Some(lenses_of_memory(view, opened));
                }
                if language.shows_hints(&language.agent.inline()) {
                    return None;
                }
                let marks = this.marks(view, opened);
                let lenses = marks.iter().map(|mark| CodeLens {
                    range: convert::range(&opened.measured, &mark.range),
                    command: Some(convert::command(words(mark), "reverie.memory.open", paths(mark))),
                    data: None,
                });
                Some(lenses.collect())
            },
        )
        .await
    }

    /// The memories at a place of a source file, or of the name under the pointer.
    pub(super) fn hover_in_source(
        &self,
        view: &View,
        opened: &Opened,
        offset: usize,
    ) -> Option<(std::ops::Range<usize>, String)> {
        let outline = self.outline(opened);
        let facts = view.facts();
        let marks = language::marks(&opened.page(), &facts, outline.as_deref());
        let mark = marks.into_iter().find(|mark| mark.range.start <= offset && offset <= mark.range.end)?;
        Some((mark.range.clone(), language::described(&mark, &facts)))
    }

    /// Whether hints say what lenses would.
    pub(super) fn shows_hints(&self, inline: &Inline) -> bool {
        inline.hints && self.offered().inlay_hint
    }

    pub(super) fn marks(self: &Arc<Self>, view: &View, opened: &Opened) -> Vec<Mark> {
        self.want_outline(view, opened);
        let outline = self.outline(opened);
        language::marks(&opened.page(), &view.facts(), outline.as_deref())
    }

    /// The outline of the very text that is asked about.
    pub(super) fn outline(&self, opened: &Opened) -> Option<Vec<Outline>> {
        let version = opened.version?;
        let state = self.state();
        let outlined = state.outlines.get(&opened.path).filter(|outlined| outlined.version == version)?;
        outlined.symbols.clone()
    }

    /// What was saved or closed may be outlined anew.
    pub(super) fn forget_outline(&self, path: &Path) {
        self.state().outlines.remove(path);
    }

    fn want_outline(self: &Arc<Self>, view: &View, opened: &Opened) {
        let Some(version) = opened.version else { return };
        if !self.frontend.offers().symbols || !view.knowledge.speaks_of_a_name_in(&opened.text) {
            return;
        }
        {
            let mut state = self.state();
            if state.outlines.contains_key(&opened.path) {
                return;
            }
            state.outlines.insert(opened.path.clone(), Outlined { version, symbols: None });
        }
        let (language, path) = (Arc::downgrade(self), opened.path.clone());
        let frontend = Arc::clone(&self.frontend);
        tokio::spawn(async move {
            let symbols = frontend.outline(&path).await;
            let (Some(symbols), Some(language)) = (symbols, language.upgrade()) else { return };
            // Of a text that has moved on nobody knows which one the answer is about.
            let Some((measured, _)) = language.workspace.measured(&path).filter(|(_, now)| *now == version)
            else {
                return;
            };
            let text = measured.text();
            let offset = |at: protocol::Position| {
                measured.offset(workspace::Position { line: at.line, character: at.character })
            };
            let symbols = symbols.into_iter().filter_map(|symbol| {
                let range = symbol.selection_range.unwrap_or(symbol.range);
                let start = offset(range.start);
                Outline::of(&text, &symbol.name, start..offset(range.end).max(start))
            });
            let symbols: Vec<Outline> = symbols.collect();
            if let Some(outlined) =
                language.state().outlines.get_mut(&path).filter(|outlined| outlined.version == version)
            {
                outlined.symbols = Some(symbols);
            }
            language.refresh();
        });
    }
}

impl Language {
    /// A place in words that a memory can name it by: the symbol, which outlives lines, or the line.
    pub(crate) fn about(&self, path: &Path, range: Option<protocol::Range>) -> String {
        let places = self.places();
        let shown = places.workspace_path(path).map_or_else(|| path_text(path), str::to_owned);
        let Some(range) = range else { return format!("`{shown}`") };
        let at = workspace::Position { line: range.start.line, character: range.start.character };
        let symbol = self.measured(path).and_then(|measured| {
            let offset = measured.offset(at);
            language::symbol_at(&measured.text(), offset).map(str::to_owned)
        });
        match symbol {
            Some(symbol) => format!("`{symbol}()` in `{shown}`"),
            None => format!("`{shown}:{}`", range.start.line.saturating_add(1)),
        }
    }
}

impl Opened {
    fn page_line_end(&self, offset: usize) -> usize {
        let line = self.measured.position(offset).line;
        self.measured.offset(workspace::Position { line, character: u32::MAX })
    }
}

fn hint(view: &View, mark: &Mark, position: ls_types::Position) -> InlayHint {
    let tooltip = language::summarized(mark, &view.facts());
    let part = InlayHintLabelPart {
        value: words(mark),
        tooltip: Some(InlayHintLabelPartTooltip::MarkupContent(convert::markdown(tooltip))),
        location: None,
        command: Some(convert::command(words(mark), "reverie.memory.open", paths(mark))),
    };
    InlayHint {
        position,
        label: InlayHintLabel::LabelParts(vec![part]),
        kind: None,
        text_edits: None,
        tooltip: None,
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}

fn words(mark: &Mark) -> String {
    match mark.memories.len() {
        1 => "◆ 1 memory".to_owned(),
        count => format!("◆ {count} memories"),
    }
}

fn paths(mark: &Mark) -> Value {
    let paths: Vec<String> =
        mark.memories.iter().map(|marked| path_text(&marked.known.document.path)).collect();
    json!({ "paths": paths })
}

fn lenses_of_memory(view: &View, opened: &Opened) -> Vec<CodeLens> {
    let lenses = language::lenses(&opened.page(), &view.facts()).into_iter().map(|lens| CodeLens {
        range: convert::range(&opened.measured, &lens.range),
        command: Some(match lens.leads_to {
            LeadsTo::Nothing => convert::words(lens.title),
            LeadsTo::History(path) => {
                convert::command(lens.title, "reverie.memory.history", json!({ "path": path_text(&path) }))
            }
            LeadsTo::Undo(change) => {
                convert::command(lens.title, "reverie.memory.undo", json!({ "changeId": change }))
            }
        }),
        data: None,
    });
    lenses.collect()
}
