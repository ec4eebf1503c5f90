//! Files and symbols that a memory names: in backticks, or in a link.
//!
//! Only what is surely meant: a path with a folder that exists or an ending that code has, a symbol that is written as
//! one. What might be something else is left alone: a mention that is wrong costs more than one that is missing.

mod files;
mod said;

use std::ops::Range;
use std::path::PathBuf;

use markdown::{links, prose::Inert};

pub use self::{
    files::Files,
    said::{Said, has_word, said},
};
use crate::Topic;

/// Beyond this, nobody has written it by hand.
const LONGEST: usize = 256 << 10;
/// Longer than any path or symbol that someone would name.
const LONGEST_NAME: usize = 300;

/// Endings that make a bare name a file of the workspace.
const CODE: &str = "rs ts tsx js jsx mjs cjs py pyi go java kt kts c h cc cpp hpp cs rb php swift lua sh sql scala hs ml \
                    ex exs erl clj dart zig vue svelte proto tf nix";
/// Endings that make a path of one, with a folder before it.
const OTHER: &str = "md toml yaml yml json xml html css scss less txt cfg ini lock gradle env csv graphql";
/// Names of things that look like files.
const NO_FILES: [&str; 14] = [
    "node.js",
    "vue.js",
    "next.js",
    "nuxt.js",
    "react.js",
    "express.js",
    "three.js",
    "d3.js",
    "ember.js",
    "backbone.js",
    "chart.js",
    "nest.js",
    "alpine.js",
    "p5.js",
];

/// Where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Code,
    /// Whatever a link names is meant to be there.
    Link,
}

/// Something that a memory names, whatever it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The code span or the link as a whole, in bytes of the memory's text.
    pub range: Range<usize>,
    /// The name alone. Of a link by reference it is in the definition, and so elsewhere.
    pub name_range: Range<usize>,
    pub name: String,
    pub place: Place,
}

/// A path as a memory names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'t> {
    /// Relative to a workspace folder, or to wherever the writer stood.
    pub path: &'t str,
    /// From 1: `src/main.rs:12`.
    pub line: Option<u32>,
}

/// What a memory names, code spans first, each in the order of the text.
pub fn find(text: &str) -> Vec<Mention> {
    let text = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
    let body = Topic::parse(text).body;
    let begin = text.len() - body.len();
    let mut mentions = Vec::new();
    for range in &Inert::of(body).code {
        let Some(name) = body.get(range.clone()).and_then(code_span) else { continue };
        let start = begin + name.as_ptr().addr() - body.as_ptr().addr();
        mentions.push(Mention {
            range: begin + range.start..begin + range.end,
            name_range: start..start + name.len(),
            name: name.to_owned(),
            place: Place::Code,
        });
    }
    for link in links::find(body) {
        mentions.push(Mention {
            range: begin + link.range.start..begin + link.range.end,
            name_range: begin + link.target_range.start..begin + link.target_range.end,
            name: link.target.replace("%20", " "),
            place: Place::Link,
        });
    }
    mentions
}

impl Mention {
    /// A link by reference: what it names is written in its definition, which is a mention of its own.
    pub fn is_by_reference(&self) -> bool {
        self.name_range.start < self.range.start || self.range.end < self.name_range.end
    }

    /// The file it means, if it means one of the workspace.
    pub fn file<'m>(&'m self, files: &Files) -> Option<Named<'m>> {
        let named = workspace_path(&self.name, files)?;
        let (folder, file) = named.path.rsplit_once('/').unwrap_or(("", named.path));
        let is_path = has_ending(file, CODE)
            || has_ending(file, OTHER) && (self.place == Place::Link || !folder.is_empty())
            || !folder.is_empty() && files.has_folder(named.path);
        (is_path && !NO_FILES.contains(&file.to_lowercase().as_str())).then_some(named)
    }

    /// `frob()`, `Thing::frob`, `thing.frob()`, without the parentheses.
    pub fn symbol(&self) -> Option<&str> {
        if self.place == Place::Link {
            return None;
        }
        let name = self.name.strip_suffix("()").unwrap_or(&self.name);
        let is_symbol = name.len() < self.name.len() || name.contains("::");
        let is_word = |word: &str| {
            word.starts_with(|first: char| first.is_alphabetic() || first == '_')
                && word.chars().all(|character| character.is_alphanumeric() || character == '_')
        };
        (is_symbol && name.split("::").flat_map(|part| part.split('.')).all(is_word)).then_some(name)
    }
}

fn has_ending_of_a_file(name: &str) -> bool {
    has_ending(name, CODE) || has_ending(name, OTHER)
}

fn has_ending(name: &str, endings: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_lowercase();
    endings.split_whitespace().any(|it| it == ending)
}

/// What stands in a code span of one line; `None` for blocks.
fn code_span(code: &str) -> Option<&str> {
    let inside = code.strip_prefix('`')?.trim_matches('`').trim();
    (!inside.is_empty() && inside.len() <= LONGEST_NAME && !inside.contains('\n')).then_some(inside)
}

/// The path, relative to a workspace folder, that a text means; `None` for what is no path, or one elsewhere.
fn workspace_path<'t>(text: &'t str, files: &Files) -> Option<Named<'t>> {
    let roots = files.roots();
    if text.len() > LONGEST_NAME || text.contains("://") || roots.is_empty() {
        return None;
    }
    let text = text.split('#').next().unwrap_or_default();
    // `src/main.rs:12`, `src/main.rs:12-20`
    let with_line =
        text.split_once(':').filter(|(_, line)| line.starts_with(|first: char| first.is_ascii_digit()));
    let line = with_line.and_then(|(_, line)| line.split(|other: char| !other.is_ascii_digit()).next());
    let text = with_line.map_or(text, |(path, _)| path).trim_start_matches("./").trim_end_matches('/');
    let below_root = |root: &PathBuf| text.strip_prefix(root.to_str()?)?.strip_prefix('/');
    let text = if text.starts_with('/') { roots.iter().find_map(below_root)? } else { text };
    let is_plain =
        |character: char| character.is_alphanumeric() || matches!(character, '/' | '.' | '_' | '-' | '+');
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.starts_with('-');
    let begins = text.starts_with(|first: char| first.is_alphanumeric() || matches!(first, '.' | '_'));
    let is_path = text.split('/').all(is_name)
        && (begins && text.chars().all(is_plain) || {
            // `app/[id]/page.tsx` might be anything, were there no such file.
            text.contains(['/', '.']) && files.knows(text)
        });
    is_path.then_some(Named { path: text, line: line.and_then(|line| line.parse().ok()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_stand() {
        let text = "---\nname: n\n---\nSee `src/a.rs:12` and [the plan](docs/plan.md), call `open()`.\r\n";
        let files = Files::new(vec![PathBuf::from("/nowhere")]);
        let shown: Vec<String> = find(text)
            .iter()
            .map(|mention| {
                let file = mention.file(&files).map(|named| (named.path, named.line));
                format!("{} {:?} {:?}", &text[mention.name_range.clone()], file, mention.symbol())
            })
            .collect();
        assert_eq!(
            shown,
            [
                "src/a.rs:12 Some((\"src/a.rs\", Some(12))) None",
                "open() None Some(\"open\")",
                "docs/plan.md Some((\"docs/plan.md\", None)) None",
            ]
        );
    }

    #[test]
    fn a_path_of_unusual_characters_is_one_where_the_file_is() {
        let root = tempfile::tempdir().unwrap();
        let paths = ["app/[id]/page.tsx", "app/(shop)/@modal/x.ts", "$lib/a b.svelte"];
        for path in paths {
            std::fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(root.path().join(path), "").unwrap();
        }
        let files = Files::new(vec![root.path().to_owned()]);
        let file = |text: &str| {
            let found = find(&format!("`{text}`"));
            found[0].file(&files).map(|named| named.path.to_owned())
        };
        for path in paths {
            assert_eq!(file(&format!("{path}:3")).as_deref(), Some(path));
        }
        std::fs::remove_file(root.path().join(paths[0])).unwrap();
        assert_eq!(file(paths[0]).as_deref(), Some(paths[0]), "it was one");
        for path in ["app/[slug]/page.tsx", "cargo test a/b.rs", "../app/x.ts"] {
            assert_eq!(file(path), None, "{path}");
        }
    }
}
