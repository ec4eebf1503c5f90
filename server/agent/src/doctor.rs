//! `reverie doctor`: is everything there that a session needs, and what to do where it is not.

mod background;
mod integrity;
mod prompt_cache;

use std::{fs, path::Path, process::Command};

use conversation::RepairLog;
use settings::{TrustState, directories};

use crate::{
    files,
    shared::Shared,
    types::{Check, CheckStatus},
};

pub(crate) use background::check as background;

/// How much the doctor may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Caches, indexes, totals.
    Lossless,
    All,
}

pub(crate) fn checks(shared: &Shared, folder: &Path, repair: Repair) -> Vec<Check> {
    let mut checks = vec![version(), config_home(shared), workspace(folder), trust(shared, folder)];
    checks.extend(settings_files(shared, folder));
    checks.push(model(shared, folder));
    checks.extend(credential(shared, folder));
    checks.push(models(shared, folder));
    checks.push(sandbox());
    checks.push(disk(shared));
    checks.extend(mcp_servers(shared, folder));
    checks.push(transcripts(shared, folder));
    checks.extend(integrity::checks(shared, folder, repair));
    checks.push(prompt_cache::check(shared, folder));
    checks.push(program("git", "branch and status are shown to the model"));
    checks.push(program("bash", "the Bash tool runs its commands in it"));
    checks.push(editors());
    checks.push(working_memory(shared));
    checks
}

/// What was put right, or should have been, newest first.
pub(crate) fn repairs(shared: &Shared) -> Vec<conversation::Repair> {
    let mut repairs = RepairLog::open(&shared.cache_dir()).recent();
    repairs.reverse();
    repairs
}

fn version() -> Check {
    ok(
        "version",
        format!(
            "reverie {} on {} {}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
    )
}

fn config_home(shared: &Shared) -> Check {
    let home = directories::config_home(&shared.environment);
    let probe = home.join(format!(".reverie-probe-{}", std::process::id()));
    let tried = files::create_private_dir(&home)
        .and_then(|()| fs::write(&probe, b"x"))
        .and_then(|()| fs::remove_file(&probe));
    match tried {
        Ok(()) => ok("config home", format!("{} can be written", home.display())),
        Err(error) => Check {
            name: "config home".to_owned(),
            status: CheckStatus::Failed,
            detail: format!("{} cannot be written: {error}", home.display()),
            fix: Some("make it writable, or point CLAUDE_CONFIG_DIR at a folder that is".to_owned()),
        },
    }
}

fn workspace(folder: &Path) -> Check {
    match fs::read_dir(folder) {
        Ok(_) => {
            let repository = match directories::canonical_git_root(folder) {
                Some(root) => format!("in the repository {}", root.display()),
                None => "not in a git repository".to_owned(),
            };
            ok("workspace", format!("{}, {repository}", folder.display()))
        }
        Err(error) => Check {
            name: "workspace".to_owned(),
            status: CheckStatus::Failed,
            detail: format!("{} cannot be read: {error}", folder.display()),
            fix: Some("open a folder that you can read".to_owned()),
        },
    }
}

fn trust(shared: &Shared, folder: &Path) -> Check {
    let trust = settings::trust::state(&shared.environment, folder);
    let items = match trust.items.len() {
        0 => "it has nothing to run".to_owned(),
        count => format!("it has {count} things that run programs or loosen settings"),
    };
    let (status, detail) = match trust.status {
        TrustState::Trusted => return ok("trust", format!("this folder is trusted; {items}")),
        TrustState::Untrusted => (CheckStatus::Warning, format!("this folder is not trusted; {items}")),
        TrustState::Changed => (
            CheckStatus::Warning,
            format!("this folder has changed since you trusted it: {}", trust.changes.join(", ")),
        ),
    };
    let fix =
        trust.cannot.unwrap_or_else(|| "look at `reverie trust`, then `reverie trust --yes`".to_owned());
    Check { name: "trust".to_owned(), status, detail, fix: Some(fix) }
}

fn sandbox() -> Check {
    let support = sandbox::support();
    if support.is_enough() {
        return ok("sandbox", support.to_string());
    }
    Check {
        name: "sandbox".to_owned(),
        status: CheckStatus::Warning,
        detail: support.to_string(),
        fix: Some("commands run without walls; a Linux of 6.2 or later with Landlock has them".to_owned()),
    }
}

/// Below this much free space transcripts may soon not be written.
const LITTLE_SPACE: u64 = 200 << 20;

fn disk(shared: &Shared) -> Check {
    let home = directories::config_home(&shared.environment);
    let place = home.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    match rustix::fs::statvfs(place) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let detail = format!("{} MB free for {}", free >> 20, home.display());
            if free >= LITTLE_SPACE {
                return ok("disk", detail);
            }
            Check {
                name: "disk".to_owned(),
                status: CheckStatus::Warning,
                detail,
                fix: Some("make room: transcripts and memories are kept there".to_owned()),
            }
        }
        Err(error) => Check {
            name: "disk".to_owned(),
            status: CheckStatus::Warning,
            detail: format!("{} cannot be asked: {error}", place.display()),
            fix: None,
        },
    }
}

fn mcp_servers(shared: &Shared, folder: &Path) -> Option<Check> {
    let configured = crate::extensions::configured(shared, folder);
    if configured.servers.is_empty() && configured.problems.is_empty() {
        return None;
    }
    let text = crate::extensions::report(shared, folder);
    let detail = text.trim_end().trim_start_matches("- ").replace("\n- ", "; ");
    Some(if configured.problems.is_empty() {
        ok("mcp", detail)
    } else {
        Check {
            name: "mcp".to_owned(),
            status: CheckStatus::Warning,
            detail,
            fix: Some("correct .mcp.json, or mcpServers in your settings".to_owned()),
        }
    })
}

/// What the open sessions' working memories were good for.
fn working_memory(shared: &Shared) -> Check {
    let (mut entries, mut hits, mut misses) = (0, 0, 0);
    for statistics in shared.open_sessions().iter().map(|session| session.repeats.statistics()) {
        entries += statistics.entries;
        hits += statistics.hits;
        misses += statistics.misses;
    }
    let detail = format!("{entries} readings known; {hits} of {} were answered with a word", hits + misses);
    ok("working memory", detail)
}

/// Looked for, not started: an editor may take its time.
fn editors() -> Check {
    let found: Vec<&str> = ["nvim", "code", "codium"].into_iter().filter(|name| on_path(name)).collect();
    match found.as_slice() {
        [] => ok("editors", "neither Neovim nor VS Code is on the PATH; any LSP client will do".to_owned()),
        found => ok("editors", found.join(", ")),
    }
}

fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn settings_files(shared: &Shared, folder: &Path) -> Vec<Check> {
    let diagnostics = shared.settings(folder).diagnostics;
    if diagnostics.is_empty() {
        return vec![ok("settings", "no problems".to_owned())];
    }
    diagnostics
        .into_iter()
        .map(|diagnostic| Check {
            name: "settings".to_owned(),
            status: CheckStatus::Warning,
            detail: diagnostic.to_string(),
            fix: Some(match diagnostic.key.as_str() {
                "" => "make the file readable and valid; until then what it last said holds".to_owned(),
                _ => "correct the value; everything else in the file is in force".to_owned(),
            }),
        })
        .collect()
}

fn model(shared: &Shared, folder: &Path) -> Check {
    let settings = shared.settings(folder).settings;
    match shared.models(&settings).resolve(None) {
        Ok((spec, _)) if spec.provider == "offline" && settings.model.is_none() => Check {
            name: "model".to_owned(),
            status: CheckStatus::Warning,
            detail: "no model is configured: the embedded offline model answers".to_owned(),
            fix: Some(
                "set ANTHROPIC_API_KEY, or OPENAI_BASE_URL and the setting model, for a real one".to_owned(),
            ),
        },
        Ok((spec, _)) => ok("model", format!("{} ({} tokens)", spec.id(), spec.context_window)),
        Err(error) => Check {
            name: "model".to_owned(),
            status: CheckStatus::Failed,
            detail: error.to_string(),
            fix: Some("choose one of the models below, or set its key".to_owned()),
        },
    }
}

/// Where the key comes from; never what it is.
fn credential(shared: &Shared, folder: &Path) -> Option<Check> {
    let settings = shared.settings(folder).settings;
    let models = shared.models(&settings);
    let (spec, _) = models.resolve(None).ok().filter(|(spec, _)| spec.provider != "offline")?;
    let Some(name) = models.credential_variable(spec.provider) else {
        return Some(ok("credential", format!("none is sent to {}", spec.provider)));
    };
    let key = format!("env.{name}");
    let set = settings.entries().into_iter().find(|entry| entry.key == key || entry.key == "env");
    let source = match settings.env.contains_key(name) {
        true => set.map_or_else(|| "the settings".to_owned(), |entry| entry.source),
        false => "the environment".to_owned(),
    };
    Some(ok("credential", format!("{name}, from {source}")))
}

fn models(shared: &Shared, folder: &Path) -> Check {
    let settings = shared.settings(folder).settings;
    let known = shared.models(&settings).list();
    let names: Vec<String> = known
        .iter()
        .map(|(spec, available)| if *available { spec.id() } else { format!("{} (no key)", spec.id()) })
        .collect();
    ok("models", names.join(", "))
}

fn transcripts(shared: &Shared, folder: &Path) -> Check {
    let dirs = directories::related_project_dirs(&shared.environment, folder);
    let sessions = conversation::list(&dirs);
    let bytes: u64 = sessions.iter().map(|session| session.bytes).sum();
    ok("sessions", format!("{} in this project, {} KB", sessions.len(), bytes / 1_024))
}

fn program(name: &str, used_for: &str) -> Check {
    match Command::new(name).arg("--version").output() {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            ok(name, text.lines().next().unwrap_or_default().to_owned())
        }
        _ => Check {
            name: name.to_owned(),
            status: CheckStatus::Warning,
            detail: format!("{name} was not found; {used_for}"),
            fix: Some(format!("install {name}")),
        },
    }
}

fn ok(name: &str, detail: String) -> Check {
    Check { name: name.to_owned(), status: CheckStatus::Ok, detail, fix: None }
}
