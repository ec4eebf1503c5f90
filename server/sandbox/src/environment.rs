//! The environment of sealed programs, made from nothing: no key, no `LD_PRELOAD`, no `BASH_ENV`, no `GIT_DIR` of the
//! user's or of a command's choosing can be in it.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// Where programs are looked for: folders that only an administrator fills.
const TRUSTED: &str =
    "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/run/current-system/sw/bin";

/// Nobody is there to page or to answer, and what only looks takes no locks.
const FIXED: [(&str, &str); 7] = [
    ("PATH", TRUSTED),
    ("LANG", "C.UTF-8"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// What a shell adds by itself.
#[cfg(target_os = "linux")]
const OF_THE_SHELL: [&str; 3] = ["SHLVL", "OLDPWD", "_"];

/// All variables that a sealed program sees.
pub fn rebuilt_environment(home: &Path, cwd: &Path) -> Vec<(OsString, OsString)> {
    let fixed = FIXED.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let places = [("HOME", home), ("PWD", cwd)];
    fixed.into_iter().chain(places.map(|(name, path)| (name.into(), path.into()))).collect()
}

/// Of the user's own variables, what a workbench needs: where things are and how they are shown. No key, no token, and
/// nothing that has a program load or run another. `LC_*` too.
const OF_A_WORKBENCH: [&str; 27] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "COLORTERM",
    "NO_COLOR",
    "CI",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "NVM_BIN",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "DENO_DIR",
];

/// What of these variables a program inside the walls of a workbench sees.
pub fn workbench_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    variables.into_iter().filter(|(name, _)| {
        OF_A_WORKBENCH.iter().any(|known| name == known)
            || name.to_str().is_some_and(|name| name.starts_with("LC_"))
    })
}

/// Whether a sealed program may see a variable of this name and value.
#[cfg(target_os = "linux")]
pub(crate) fn is_harmless(name: &OsStr, value: &OsStr) -> bool {
    match FIXED.iter().find(|(fixed, _)| name == *fixed) {
        Some((_, expected)) => value == *expected,
        None => name == "HOME" || name == "PWD" || OF_THE_SHELL.iter().any(|own| name == *own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebuilt_environment_is_harmless_and_holds_nothing_else() {
        let environment = rebuilt_environment(Path::new("/home/u"), Path::new("/work"));
        let text: Vec<String> = environment
            .iter()
            .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
            .collect();
        expect_test::expect![[r#"
            PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/run/current-system/sw/bin
            LANG=C.UTF-8
            TERM=dumb
            PAGER=cat
            GIT_PAGER=cat
            GIT_TERMINAL_PROMPT=0
            GIT_OPTIONAL_LOCKS=0
            HOME=/home/u
            PWD=/work"#]]
        .assert_eq(&text.join("\n"));
        #[cfg(target_os = "linux")]
        assert!(environment.iter().all(|(name, value)| is_harmless(name, value)));
    }

    #[test]
    fn a_workbench_has_the_places_of_tools_and_no_keys() {
        let names = ["PATH", "LC_ALL", "CARGO_HOME", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD"];
        let seen = workbench_environment(names.map(|name| (OsString::from(name), OsString::new())));
        let seen: Vec<OsString> = seen.map(|(name, _)| name).collect();
        assert_eq!(seen, ["PATH", "LC_ALL", "CARGO_HOME"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_names_programs_or_keys_is_not_harmless() {
        for (name, value) in
            [("PATH", "/tmp/evil"), ("LD_PRELOAD", "x.so"), ("ANTHROPIC_API_KEY", "k"), ("GIT_DIR", "x")]
        {
            assert!(!is_harmless(OsStr::new(name), OsStr::new(value)), "{name}");
        }
    }
}
