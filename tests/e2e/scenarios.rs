//! The Markdown scenarios, each in-process and over stdio.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use testkit::{
    fixture::Fixture,
    lsp_client::LspClient,
    scenario::{Mode, run_file},
};

use crate::harness::{connect_in_process, connect_over_stdio, trust};

macro_rules! scenarios {
    ($($name:ident = $path:literal;)*) => {
        mod in_process {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::run_in_process($path).await;
                }
            )*
        }

        mod over_stdio {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::run_over_stdio($path).await;
                }
            )*
        }

        const LISTED: &[&str] = &[$($path),*];
    };
}

scenarios! {
    buffers = "buffers/edits.md";
    context_collapse = "context/collapse.md";
    context_compaction = "context/compaction.md";
    context_going_back = "context/going_back.md";
    context_microcompact = "context/microcompact.md";
    context_notes = "context/notes.md";
    context_partial = "context/partial.md";
    context_reactive = "context/reactive.md";
    context_restoration = "context/restoration.md";
    context_snip = "context/snip.md";
    context_storage = "context/storage.md";
    errors = "errors/provider.md";
    loop_faults = "loop/faults.md";
    loop_rounds = "loop/rounds.md";
    memory = "memory/saving.md";
    permissions = "permissions/asking.md";
    sessions = "sessions/resume.md";
    tools_bash = "tools/bash.md";
    tools_files = "tools/files.md";
    tools_search = "tools/search.md";
    tools_user = "tools/user.md";
}

/// The user of a scenario trusts the folder, as it is when a server starts there.
fn in_trust(
    connect: fn(&Fixture, &BTreeMap<String, String>) -> LspClient,
) -> impl Fn(&Fixture, &BTreeMap<String, String>) -> LspClient {
    move |fixture, environment| {
        trust(fixture);
        connect(fixture, environment)
    }
}

async fn run_in_process(path: &str) {
    run_file(&folder().join(path), Mode::from_environment(), Arc::new(in_trust(connect_in_process))).await;
}

async fn run_over_stdio(path: &str) {
    // Only one of the two runs rewrites the file.
    if Mode::from_environment() == Mode::Compare {
        run_file(&folder().join(path), Mode::Compare, Arc::new(in_trust(connect_over_stdio))).await;
    }
}

#[test]
fn every_scenario_file_is_listed() {
    let mut found = Vec::new();
    for area in std::fs::read_dir(folder()).unwrap().map(Result::unwrap) {
        // It has a player of its own: `week.rs`.
        if area.file_name() == "week" {
            continue;
        }
        for file in std::fs::read_dir(area.path()).unwrap().map(Result::unwrap) {
            let path = file.path();
            found.push(path.strip_prefix(folder()).unwrap().to_str().unwrap().to_owned());
        }
    }
    found.sort();
    assert_eq!(found, LISTED);
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}
