//! Files and symbols that memories name and the workspace no longer has.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{Document, Finding, LintContext, code};
use crate::mentions::{self, Files, Mention, Place};

/// In one memory.
const MOST: usize = 50;

pub(super) fn lint(
    dir: &Path,
    memory: &Document,
    files: &Files,
    context: &LintContext<'_>,
    findings: &mut Vec<Finding>,
) {
    if files.roots().is_empty() && context.symbol_exists.is_none() {
        return;
    }
    let mut seen: HashSet<&str> = HashSet::new();
    let mut stale: Vec<(Range<usize>, String)> = Vec::new();
    let found = mentions::find(&memory.text);
    for mention in &found {
        if stale.len() >= MOST {
            break;
        }
        if mention.place == Place::Code && !seen.insert(&mention.name) || mention.is_by_reference() {
            continue;
        }
        let words = missing_file(dir, memory, mention, files).or_else(|| missing_symbol(mention, context));
        stale.extend(words.map(|words| (mention.range.clone(), words)));
    }
    for (range, words) in stale {
        findings.push(memory.finding_at(range, code::STALE_REFERENCE, words));
    }
}

fn missing_file(dir: &Path, memory: &Document, mention: &Mention, files: &Files) -> Option<String> {
    let path = mention.file(files)?.path;
    // A memory may name another, from where it is or from the top.
    let beside: [PathBuf; 2] = [dir.join(memory.folder()).join(path), dir.join(path)];
    if beside.iter().any(|path| path.symlink_metadata().is_ok()) || files.may_have(path) {
        return None;
    }
    Some(format!("there is no {path} in the workspace any more: check it, or say when it was"))
}

fn missing_symbol(mention: &Mention, context: &LintContext<'_>) -> Option<String> {
    let exists = context.symbol_exists?;
    let symbol = mention.symbol()?;
    (exists(symbol) == Some(false))
        .then(|| format!("there is no {symbol} in the workspace any more: check it, or say when it was"))
}
