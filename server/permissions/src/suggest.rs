//! The rule that "always" would write: wide enough to spare the next question, no wider.

use std::path::Path;

use crate::{
    access::Access,
    decide::Policy,
    paths::Place,
    programs::{file_name, is_runner, runs_others},
    protected::protected_part,
    rules::command::is_plain,
    secrets::secret_part,
};

/// Programs whose first word after the name says what they do.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "deno",
    "dotnet",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mvn",
    "nix",
    "npm",
    "npx",
    "pip",
    "pnpm",
    "poetry",
    "rails",
    "rustup",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];

/// Programs that do too many things for a rule that says "with any arguments", besides those that run others.
const TOO_WIDE: &[&str] = &[
    "chmod", "chown", "cp", "curl", "dd", "docker", "kill", "killall", "ln", "mkfs", "mount", "mv", "nc",
    "pkill", "podman", "rm", "rmdir", "rsync", "scp", "shred", "tee", "truncate", "wget",
];

pub fn suggest_rule(tool: &str, access: &Access, policy: &Policy) -> String {
    match access {
        Access::Session => tool.to_owned(),
        Access::Fetch { host, .. } => format!("WebFetch(domain:{host})"),
        Access::Search { .. } => "WebSearch".to_owned(),
        Access::External { tool, .. } => tool.clone(),
        Access::Command { command, .. } => format!("Bash({})", suggest_command(command)),
        Access::Write { path, real } => {
            let place = Place::seen(path, real.as_deref());
            let whole_folder = protected_part(&place).is_none();
            format!("Edit({})", suggest_path(&place, path.parent().filter(|_| whole_folder), policy))
        }
        Access::Read { path } => {
            let place = Place::of(path);
            let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
            let secret = secret_part(&place, place.is_inside(&policy.roots), &policy.home);
            format!("Read({})", suggest_path(&place, folder.filter(|_| secret.is_none()), policy))
        }
    }
}

/// The program and, where it has them, its subcommand; the exact line where that would allow too much.
fn suggest_command(command: &str) -> String {
    let command = command.trim();
    let exact = || command.replace('\\', "\\\\").replace('*', "\\*");
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return exact() };
    let name = file_name(program);
    let subcommand = words.next();
    let is_word = |word: &str| {
        word.starts_with(|character: char| character.is_ascii_alphabetic())
            && word.chars().all(|character| character.is_ascii_alphanumeric() || "-_:".contains(character))
    };
    let is_program =
        program.chars().all(|character| character.is_ascii_alphanumeric() || "-_./+".contains(character));
    let too_wide = TOO_WIDE.contains(&name) || runs_others(program, subcommand);
    if !is_plain(command) || !is_program || too_wide {
        return exact();
    }
    match subcommand {
        // `npx tsx` runs what `tsx` runs.
        Some(subcommand)
            if WITH_SUBCOMMANDS.contains(&name) && is_word(subcommand) && !is_runner(subcommand) =>
        {
            // Only single spaces, or the prefix would not fit the line it came from.
            let prefix = format!("{program} {subcommand}");
            if command.starts_with(&prefix) { format!("{prefix}:*") } else { exact() }
        }
        Some(_) | None if WITH_SUBCOMMANDS.contains(&name) => exact(),
        _ => format!("{program}:*"),
    }
}

/// `folder` with all below it, or the file alone without one.
fn suggest_path(place: &Place, folder: Option<&Path>, policy: &Policy) -> String {
    let real = place.real.as_deref().unwrap_or(&place.written);
    let real_folder = folder.map(Place::of).and_then(|folder| folder.real);
    let root = policy.roots.first().and_then(|root| Place::of(root).real);
    let in_root = |path: &Path| {
        let rest = path.strip_prefix(root.as_deref()?).ok()?;
        Some(escape(rest))
    };
    match real_folder {
        Some(folder) if folder.parent().is_some() => match in_root(&folder).as_deref() {
            // Right in the root the folder would be everything: the file then, or a root that is searched.
            Some("") => format!("/{}", in_root(real).unwrap_or_default()),
            // At the start of a rule `~` would be the home, and spaces would be lost.
            Some(rest) if rest.starts_with(|first: char| first == '~' || first.is_whitespace()) => {
                format!("/{rest}/**")
            }
            Some(rest) => format!("{rest}/**"),
            None => format!("/{}/**", escape(&folder)),
        },
        _ => match in_root(real) {
            Some(rest) => format!("/{rest}"),
            None => format!("/{}", escape(real)),
        },
    }
}

/// The path with what a pattern would read as a wildcard taken literally.
fn escape(path: &Path) -> String {
    let mut escaped = String::new();
    for character in path.to_string_lossy().chars() {
        if "*?[]{}\\!".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests;
