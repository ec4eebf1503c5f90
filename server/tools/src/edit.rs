//! `Edit`: one exact replacement in a file. Also the replacing itself, which `MultiEdit` repeats.
//!
//! "Exact and unique match, else an error that says how many matches and where": nothing is ever guessed.

mod call;
mod near;

use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use workspace::FileText;

pub use call::EditCall;

use crate::{
    change::{self, Shows},
    diff,
    tool::{Preview, ToolContext, ToolFailure, ToolOutput, blocking},
    typed::Typed,
};

/// Replaces exact text in a file that you have read. `old_string` must be in the file exactly, spaces and
/// indentation included (but without Read's line numbers), and only once: add lines around it until it is
/// unique, or set `replace_all`. An empty `old_string` creates a new file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Absolute, or relative to the working folder.
    file_path: String,
    #[serde(flatten)]
    replacement: Replacement,
}

/// One exact replacement.
#[derive(Clone, Deserialize, JsonSchema)]
pub(crate) struct Replacement {
    /// The text to replace.
    pub(crate) old_string: String,
    /// The text to put in its place.
    pub(crate) new_string: String,
    /// Replace every occurrence.
    pub(crate) replace_all: Option<bool>,
}

/// A file's text before and after all its replacements.
struct Edited {
    old: Option<FileText>,
    new_text: String,
    /// How many places were replaced.
    count: usize,
}

pub struct Edit;

impl Typed for Edit {
    const NAME: &'static str = "Edit";
    type Input = Input;

    fn access(input: &Input, context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::write(context.resolve("file_path", &input.file_path)?))
    }

    fn preview(input: &Input, context: &ToolContext) -> Option<Preview> {
        preview(&input.file_path, std::slice::from_ref(&input.replacement), context)
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        run(&input.file_path, vec![input.replacement], context).await
    }
}

pub(crate) fn preview(
    file_path: &str,
    replacements: &[Replacement],
    context: &ToolContext,
) -> Option<Preview> {
    let path = context.resolve("file_path", file_path).ok()?;
    let edited = edit(change::current(&path, context).ok()?, replacements, &context.shown(&path)).ok()?;
    let old = edited.old.map(|file| file.text).unwrap_or_default();
    Some(Preview::Diff(diff::unified(&context.shown(&path), &old, &edited.new_text)))
}

pub(crate) async fn run(
    file_path: &str,
    replacements: Vec<Replacement>,
    context: ToolContext,
) -> Result<ToolOutput, ToolFailure> {
    let path = context.resolve("file_path", file_path)?;
    let edited = blocking({
        let (path, context) = (path.clone(), context.clone());
        move || {
            let old = change::current(&path, &context)?;
            // A file that is to be created, or holds nothing, needs no reading.
            if old.as_ref().is_some_and(|file| !file.text.is_empty()) {
                change::require_read(&path, &context)?;
            }
            edit(old, &replacements, &context.shown(&path))
        }
    })
    .await?;
    let name = context.shown(&path);
    let (said, shows) = match (&edited.old, edited.count) {
        (None, _) => {
            let lines = change::lines(edited.new_text.lines().count());
            (format!("Created {name} with {lines}."), Shows::Nothing)
        }
        (Some(_), 1) => (format!("Edited {name}."), Shows::ChangedLines),
        (Some(_), count) => (format!("Edited {name} in {count} places."), Shows::ChangedLines),
    };
    change::write(&path, &context, edited.old, &edited.new_text, &said, shows).await
}

/// Makes the replacements one after another on the text; all or none.
fn edit(old: Option<FileText>, replacements: &[Replacement], name: &str) -> Result<Edited, ToolFailure> {
    let (new_text, count) = replaced(old.as_ref().map(|file| file.text.clone()), replacements, name)?;
    Ok(Edited { old, new_text, count })
}

/// The text after all replacements, and how many places they changed.
fn replaced(
    mut text: Option<String>,
    replacements: &[Replacement],
    name: &str,
) -> Result<(String, usize), ToolFailure> {
    let mut count = 0;
    for (index, replacement) in replacements.iter().enumerate() {
        let (new_text, replaced) = replace(text.as_deref(), replacement).map_err(|problem| {
            ToolFailure(match replacements.len() {
                1 => format!("{name} was not changed: {problem}"),
                all => format!(
                    "{name} was not changed, no edit was applied; edit {} of {all}: {problem}",
                    index + 1
                ),
            })
        })?;
        text = Some(new_text);
        count += replaced;
    }
    Ok((text.unwrap_or_default(), count))
}

/// The text with the replacement made, and how often. `text` is `None` where there is no file.
fn replace(text: Option<&str>, replacement: &Replacement) -> Result<(String, usize), String> {
    // Texts are read with `\n` line ends, whatever the file has; the workspace puts the file's own back.
    let old = replacement.old_string.replace("\r\n", "\n").replace('\r', "\n");
    let new = replacement.new_string.replace("\r\n", "\n");
    if old == new {
        return Err("old_string and new_string are the same, so there is nothing to change".to_owned());
    }
    let text = match text {
        None if old.is_empty() => return Ok((new, 1)),
        None => return Err("it does not exist; create it with Write or an empty old_string".to_owned()),
        Some("") if old.is_empty() => return Ok((new, 1)),
        Some(_) if old.is_empty() => {
            return Err(
                "old_string is empty, but the file is not; give the text to replace, or use Write".to_owned()
            );
        }
        Some(text) => text,
    };
    let places = line_numbers(text, &old);
    match places.as_slice() {
        [] => Err(near::explain(text, &old)),
        [_] => Ok((text.replacen(&old, &new, 1), 1)),
        many if replacement.replace_all == Some(true) => Ok((text.replace(&old, &new), many.len())),
        many => {
            let shown: Vec<String> = many.iter().take(20).map(ToString::to_string).collect();
            let more = if many.len() > shown.len() { ", …" } else { "" };
            Err(format!(
                "old_string occurs {} times, at lines {}{more}; add lines around it to make it unique, or set replace_all",
                many.len(),
                shown.join(", ")
            ))
        }
    }
}

/// The line, from 1, of each occurrence.
fn line_numbers(text: &str, wanted: &str) -> Vec<usize> {
    let mut line = 1;
    let mut counted_to = 0;
    text.match_indices(wanted)
        .map(|(at, _)| {
            line += text.get(counted_to..at).unwrap_or_default().matches('\n').count();
            counted_to = at;
            line
        })
        .collect()
}

#[cfg(test)]
mod tests;
