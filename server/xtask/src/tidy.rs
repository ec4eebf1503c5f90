//! What the compiler does not check: the edges between crates, sizes, names, docs that name files.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

const LONGEST_FILE: usize = 800;

/// Which of our crates each may depend on. A new edge is a design change: it is made here and in
/// `server/ARCHITECTURE.md`, in a commit of its own.
const EDGES: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("settings", &[]),
    ("conversation", &[]),
    ("cache", &[]),
    ("workspace", &[]),
    ("model", &["conversation", "memory", "settings"]),
    ("context", &["conversation", "settings"]),
    ("permissions", &["settings"]),
    ("sandbox", &[]),
    ("checkpoints", &[]),
    ("markdown", &[]),
    ("skills", &["markdown", "settings"]),
    ("memory", &["markdown", "settings", "workspace"]),
    ("language", &["markdown", "memory", "settings"]),
    ("mcp", &["settings"]),
    ("tools", &["conversation", "workspace", "permissions", "sandbox", "skills"]),
    (
        "agent",
        &[
            "cache",
            "markdown",
            "memory",
            "settings",
            "conversation",
            "workspace",
            "model",
            "context",
            "permissions",
            "sandbox",
            "checkpoints",
            "skills",
            "mcp",
            "tools",
        ],
    ),
    ("lsp", &["agent", "language", "protocol", "workspace", "settings", "conversation"]),
    ("cli", &["lsp", "protocol", "settings", "context", "memory", "permissions", "sandbox", "workspace"]),
    ("testkit", &["protocol", "conversation"]),
    ("xtask", &["protocol", "settings", "conversation", "context", "testkit", "workspace"]),
];

pub fn run() -> anyhow::Result<()> {
    let root = crate::root();
    let files = tracked_files(&root)?;
    let mut findings = Vec::new();
    edges(&root, &mut findings)?;
    dependencies_have_reasons(&root, &mut findings)?;
    for file in &files {
        let Ok(text) = fs::read_to_string(root.join(file)) else { continue };
        names(file, &mut findings);
        sizes_and_headers(file, &text, &mut findings);
        named_files_exist(&root, file, &text, &mut findings);
    }
    if findings.is_empty() {
        println!("tidy: {} files, nothing to say", files.len());
        return Ok(());
    }
    bail!("{}\ntidy: {} findings", findings.join("\n"), findings.len())
}

fn tracked_files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("git is needed to list the files")?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .filter(|file| root.join(file).is_file())
        .collect())
}

fn edges(root: &Path, findings: &mut Vec<String>) -> anyhow::Result<()> {
    let ours: Vec<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    for entry in fs::read_dir(root.join("server"))? {
        let folder = entry?.path();
        let manifest = folder.join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((_, allowed)) = EDGES.iter().find(|(crate_name, _)| *crate_name == name) else {
            findings.push(format!("server/{name}: not in the table of edges (xtask/src/tidy.rs)"));
            continue;
        };
        for dependency in section(&text, "[dependencies]") {
            if ours.contains(&dependency.as_str()) && !allowed.contains(&dependency.as_str()) {
                findings.push(format!("server/{name}: must not depend on {dependency}"));
            }
        }
    }
    Ok(())
}

/// The keys of a section of a manifest.
fn section(manifest: &str, header: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != header)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.split(['.', '=', ' ']).next())
        .filter(|key| !key.is_empty())
        .map(str::to_owned)
        .collect()
}

fn dependencies_have_reasons(root: &Path, findings: &mut Vec<String>) -> anyhow::Result<()> {
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let reasons =
        fs::read_to_string(root.join("docs/dependencies.md")).context("docs/dependencies.md is missing")?;
    for dependency in section(&manifest, "[workspace.dependencies]") {
        let ours = EDGES.iter().any(|(name, _)| *name == dependency);
        if !ours && !reasons.contains(&format!("`{dependency}`")) {
            findings.push(format!("docs/dependencies.md: no reason for {dependency}"));
        }
    }
    Ok(())
}

fn names(file: &Path, findings: &mut Vec<String>) {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let code = matches!(file.extension().and_then(|extension| extension.to_str()), Some("rs" | "ts" | "lua"));
    if code && matches!(&*stem, "mod" | "util" | "utils" | "common" | "helper" | "helpers" | "misc") {
        findings.push(format!("{}: the name says nothing", file.display()));
    }
}

fn sizes_and_headers(file: &Path, text: &str, findings: &mut Vec<String>) {
    let extension = file.extension().and_then(|extension| extension.to_str());
    let generated = text.lines().take(3).any(|line| line.contains("Generated by"));
    if matches!(extension, Some("rs" | "ts" | "lua" | "mjs" | "py" | "sh")) && !generated {
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            findings.push(format!("{}: {lines} lines; split it", file.display()));
        }
    }
    let tests = file.file_stem().is_some_and(|stem| stem == "tests");
    if extension == Some("rs") && !tests && !text.starts_with("//!") {
        findings.push(format!("{}: no header that says what the file owns", file.display()));
    }
}

/// Paths in backticks that begin with one of our top-level folders must exist.
fn named_files_exist(root: &Path, file: &Path, text: &str, findings: &mut Vec<String>) {
    if file.extension().is_none_or(|extension| extension != "md") || file.starts_with("tests/scenarios") {
        return;
    }
    for quoted in text.split('`').skip(1).step_by(2) {
        let path = quoted.split([':', '#', ' ']).next().unwrap_or_default();
        let ours = ["server/", "tests/", "docs/", "nvim/", "vscode-extension/", ".ci/"]
            .iter()
            .any(|folder| path.starts_with(folder));
        if ours && !path.contains(['*', '<', '{', '…']) && !root.join(path).exists() {
            findings.push(format!("{}: names {path}, which is not there", file.display()));
        }
    }
}
