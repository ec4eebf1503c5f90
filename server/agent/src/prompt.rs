//! What the model sees before the conversation: the system prompt and the first user message.
//!
//! Rendered once a session, kept in the transcript, sent byte for byte ever after. The static part comes first and
//! is the same in every session of a release; behind it, the dynamic sections, the most volatile last.

use std::{fs::File, io::Read, path::Path};

use context::fragment;
use conversation::{Block, Prefix};
use jiff::civil::Date;
use markdown::hidden;
use memory::{index, instructions::Piece};
use model::{SystemBlock, ToolDefinition, catalogue::ModelSpec};
use serde_json::Value;
use settings::Settings;
use skills::Skill;

use crate::{git::GitState, instructions};

/// Larger instruction files are still sent whole; beyond this they are cut, so that a stray dump cannot fill the window.
const INSTRUCTIONS_CAP: usize = 200_000;

/// Skills that are listed, and how much of each one's description.
const SKILLS: usize = 100;
const SKILL_BYTES: usize = 400;

/// What stands before the date.
pub(crate) const TODAY: &str = "Today is ";

pub(crate) struct Inputs<'a> {
    pub cwd: &'a Path,
    /// What it is told about memory; `None` where that is switched off.
    pub memory: Option<String>,
    pub memory_dir: Option<&'a Path>,
    pub shell: &'a str,
    pub settings: &'a Settings,
    pub model: &'a ModelSpec,
    pub tools: Vec<ToolDefinition>,
    pub skills: &'a [Skill],
    pub git: Option<GitState>,
    pub instructions: &'a [Piece],
    pub today: Date,
}

/// Renders everything; reads MEMORY.md.
pub(crate) fn render(inputs: &Inputs<'_>) -> Prefix {
    Prefix {
        model: inputs.model.id(),
        system: serde_json::to_value(system(inputs)).unwrap_or(Value::Null),
        tools: serde_json::to_value(&inputs.tools).unwrap_or(Value::Null),
        context: vec![Block::text(first_message(inputs.instructions, inputs.memory_dir, inputs.today))],
        instructions: Value::Null,
        boundary: None,
    }
}

fn system(inputs: &Inputs<'_>) -> Vec<SystemBlock> {
    let identity =
        inputs.settings.system_prompt.as_deref().unwrap_or(include_str!("prompts/system.md")).trim_end();
    let mut dynamic = vec![environment(inputs)];
    dynamic.extend(inputs.memory.clone());
    if !inputs.skills.is_empty() {
        dynamic.push(skills(inputs.skills));
    }
    if let Some(language) = &inputs.settings.language {
        dynamic
            .push(format!("# Language\nAnswer in {language}, unless the user writes in another language."));
    }
    if let Some(style) = &inputs.settings.output_style {
        dynamic.push(format!("# Output style\n{style}"));
    }
    if let Some(appended) = &inputs.settings.append_system_prompt {
        dynamic.push(appended.clone());
    }
    let mut blocks = vec![
        SystemBlock { text: identity.to_owned(), ends_static_part: true },
        SystemBlock { text: dynamic.join("\n\n"), ends_static_part: false },
    ];
    if let Some(git) = &inputs.git {
        blocks.push(SystemBlock { text: git_section(git), ends_static_part: false });
    }
    blocks
}

fn environment(inputs: &Inputs<'_>) -> String {
    let repository = if inputs.git.is_some() { "yes" } else { "no" };
    let mut text = format!(
        "# Environment\nWorking directory: {}\nGit repository: {repository}\nPlatform: {} {}\nShell: {}\nModel: {}",
        inputs.cwd.display(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        inputs.shell,
        inputs.model.id(),
    );
    if let Some(cutoff) = &inputs.model.knowledge_cutoff {
        text.push_str("\nKnowledge cut-off: ");
        text.push_str(cutoff);
    }
    text
}

/// One line each: what a skill says in full is read when it is used.
fn skills(skills: &[Skill]) -> String {
    let mut text =
        "# Skills\nInstructions that the user keeps for recurring work. When one fits the task, load it \
                    with the Skill tool before you begin."
            .to_owned();
    for skill in skills.iter().take(SKILLS) {
        let description = fragment::capped(skill.description.trim(), SKILL_BYTES).replace('\n', " ");
        text.push_str(&format!("\n- {}: {description}", skill.name));
    }
    text
}

fn git_section(git: &GitState) -> String {
    let mut text = format!("# Git, as it was when the session began\nBranch: {}", git.branch);
    if let Some(main) = &git.main_branch {
        text.push_str(&format!("\nMain branch: {main}"));
    }
    if let Some(status) = &git.status {
        text.push_str("\nStatus:\n");
        text.push_str(if status.is_empty() { "(clean)" } else { status });
    }
    if let Some(commits) = &git.commits {
        text.push_str("\nRecent commits:\n");
        text.push_str(commits);
    }
    text
}

/// Instructions, the index of memories and the date. Reads MEMORY.md.
pub(crate) fn first_message(pieces: &[Piece], memory_dir: Option<&Path>, today: Date) -> String {
    let mut body = include_str!("prompts/context.md").trim_end().to_owned();
    for piece in pieces {
        body.push_str("\n\n");
        body.push_str(&instructions::render(piece));
    }
    if let Some(dir) = memory_dir
        && let Some(text) = read_below(dir, index::NAME, 10 * index::BYTES)
    {
        body.push_str("\n\n");
        body.push_str(&fragment::file_fragment(
            &dir.join(index::NAME),
            "memory index",
            &index::cut(&hidden::shown(&text)),
        ));
    }
    body.push_str(&format!("\n\n{TODAY}{today}."));
    fragment::reminder(&body, 2 * INSTRUCTIONS_CAP)
}

/// The text of a file below `folder`, with a word about it where it is cut. `None` for what is no text, or leads out of
/// the folder: what a repository contains must not decide which other files are sent.
fn read_below(folder: &Path, name: &str, cap: usize) -> Option<String> {
    let path = folder.join(name).canonicalize().ok()?;
    // Never waits on a pipe or a device.
    if !path.starts_with(folder.canonicalize().ok()?) || !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(cap as u64 + 1).read_to_end(&mut bytes).ok()?;
    if bytes.contains(&0) {
        return None;
    }
    Some(fragment::capped(&String::from_utf8_lossy(&bytes), cap))
}

#[cfg(test)]
mod tests;
