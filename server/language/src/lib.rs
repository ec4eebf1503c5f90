//! A language server's knowledge of what the agent knows: texts and facts in, features out.
//!
//! All places are ranges of bytes of a text, on the boundaries of characters; whoever speaks to an editor turns them into
//! its positions. Knows no editor, changes no file, and asks the disk only whether a file that is named is there. What
//! people have half typed is their right: nothing here fails on a text.

mod actions;
mod ages;
mod completion;
mod findings;
mod format;
mod hover;
mod knowledge;
mod lens;
mod links;
mod outline;
mod page;
mod references;
mod rename;
mod role;
mod settings_file;
mod source;
#[cfg(test)]
mod testing;

pub use actions::{Action, Deed, actions};
pub use ages::ago;
pub use completion::{Item, ItemKind, complete};
pub use findings::{Diagnostic, Severity, diagnostics};
pub use format::format;
pub use hover::{Hover, hover};
pub use knowledge::{Knowledge, Known};
pub use lens::{LeadsTo, Lens, lenses};
pub use links::{Link, definition, links};
pub use memory::{
    Memory,
    history::{By, Change},
    index::PATHS as INDEX_PATHS,
    lint::Edit,
    mentions::Files,
};
pub use outline::{Fold, Symbol, SymbolKind, folds, symbols};
pub use page::{Facts, Page, Spot};
pub use references::references;
pub use rename::{Renaming, Rewritten, followed, moved, prepare, rename};
pub use role::{Places, Role};
pub use settings_file::setting_at;
pub use source::{Mark, Marked, Outline, described, marks, missing, source_actions, summarized, symbol_at};
