//! `reverie doctor`: is everything there that a session needs, and what to do where it is not.

use std::{fs, path::Path, process::Command};

use settings::directories;

use crate::{
    files,
    shared::Shared,
    types::{Check, CheckStatus},
};

pub(crate) fn checks(shared: &Shared, folder: &Path) -> Vec<Check> {
    let mut checks = vec![version(), config_home(shared), workspace(folder)];
    checks.extend(settings_files(shared, folder));
    checks.push(model(shared, folder));
    checks.push(models(shared, folder));
    checks.push(transcripts(shared, folder));
    checks.push(program("git", "branch and status are shown to the model"));
    checks.push(program("bash", "the Bash tool runs its commands in it"));
    checks
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
                "" => "make the file readable and valid; until then it counts as absent".to_owned(),
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
