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
    if files.roots().is_empty() {
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
        let words = missing_file(dir, memory, mention, files);
        stale.extend(words.map(|words| (mention.range.clone(), words)));
    }
    stale.extend(missing_symbols(memory, &found, files, context));
    for (range, words) in stale {
        findings.push(memory.finding_at(range, code::STALE_REFERENCE, words));
    }
}

fn missing_file(dir: &Path, memory: &Document, mention: &Mention, files: &Files) -> Option<String> {
    let path = mention.file(files)?.path;
    // A memory may name another, from where it is or from the top.
    let beside: [PathBuf; 2] = [dir.join(memory.folder()).join(path), dir.join(path)];
    if beside.iter().any(|path| path.symlink_metadata().is_ok()) || !files.is_gone(path, mention.place) {
        return None;
    }
    // What was never seen may be planned.
    let any_more = if files.last_found(path).is_some() { " any more" } else { "" };
    Some(format!("there is no {path} in the workspace{any_more}: check it, or say when it was"))
}

/// Only those that are said to be in a file which is there: the whole workspace is not searched.
fn missing_symbols(
    memory: &Document,
    found: &[Mention],
    files: &Files,
    context: &LintContext<'_>,
) -> Vec<(Range<usize>, String)> {
    let open = |path: &Path| context.buffer.and_then(|buffer| buffer(path));
    let said = mentions::said(&memory.text, found, files).into_iter().filter(|said| {
        let named = said.others.iter().chain([&said.file]).map(String::as_str);
        files.find(&said.file).is_some() && said.is_in_none(named, files, &open)
    });
    said.map(|said| {
        let words = format!("there is no {} in {}: check it, or say when it was", said.symbol, said.file);
        (said.range, words)
    })
    .collect()
}
