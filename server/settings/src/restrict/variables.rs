//! Which environment variables the files of a trusted folder may set.
//!
//! Trust covers what the folder's own tools need (`RUST_LOG`, `NODE_ENV`, `DATABASE_URL`), not variables that send
//! Reverie's requests and keys elsewhere, or that make any other program load or run something.

/// Beginnings of names.
const FAMILIES: [&str; 41] = [
    "ANTHROPIC",
    "AWS_",
    "AZURE_",
    "BASH",
    "CARGO",
    "CLAUDE",
    "CURL_",
    "DBUS_",
    "DOCKER_",
    "DOTNET_",
    "DYLD_",
    "ELECTRON_",
    "GCLOUD_",
    "GH_",
    "GIT_",
    "GITHUB_",
    "GLIBC_",
    "GOOGLE_",
    "HF_",
    "JAVA_",
    "JDK_",
    "KUBE",
    "LD_",
    "LESS",
    "LUA_",
    "MALLOC_",
    "MCP_",
    "NPM_",
    "NVIM",
    "OLLAMA_",
    "OPENAI",
    "OPENSSL_",
    "PERL",
    "PIP_",
    "PYTHON",
    "REVERIE",
    "RUBY",
    "RUSTC",
    "SSH_",
    "SSL_",
    "XDG_",
];
const NAMES: [&str; 48] = [
    "ALL_PROXY",
    "BROWSER",
    "CDPATH",
    "CLASSPATH",
    "COMPOSER_HOME",
    "EDITOR",
    "ENV",
    "FPATH",
    "FTP_PROXY",
    "GCONV_PATH",
    "GLOBIGNORE",
    "HISTFILE",
    "HOME",
    "HOSTALIASES",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IFS",
    "INPUTRC",
    "LOCALDOMAIN",
    "LOCPATH",
    "LOGNAME",
    "MAIL",
    "MANPAGER",
    "MAKEFLAGS",
    "NLSPATH",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "NO_PROXY",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PHPRC",
    "PROMPT_COMMAND",
    "PS4",
    "PWD",
    "REQUESTS_CA_BUNDLE",
    "RES_OPTIONS",
    "RUSTFLAGS",
    "SHELL",
    "SHELLOPTS",
    "SUDO_ASKPASS",
    "TERMINFO",
    "TMPDIR",
    "USER",
    "VISUAL",
    "ZDOTDIR",
];
/// Ends of names of programs to run and places to connect to.
const ENDINGS: [&str; 4] = ["_ASKPASS", "_PAGER", "_PROXY", "_JAVA_OPTIONS"];

pub(crate) fn may_set(name: &str) -> bool {
    // Some are read in small letters too, and none of them means something else in other spellings.
    let name = name.to_ascii_uppercase();
    let plain = !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain
        && !FAMILIES.iter().any(|family| name.starts_with(family))
        && !ENDINGS.iter().any(|ending| name.ends_with(ending))
        && !NAMES.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tools_of_a_folder_need_may_be_set() {
        for name in
            ["RUST_LOG", "RUST_BACKTRACE", "NODE_ENV", "DATABASE_URL", "PORT", "CI", "TZ", "LANG", "DEBUG"]
        {
            assert!(may_set(name), "{name}");
        }
    }

    #[test]
    fn what_moves_the_provider_the_loader_or_the_shell_may_not() {
        for name in [
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            "OPENAI_BASE_URL",
            "CLAUDE_CONFIG_DIR",
            "REVERIE_LOG",
            "PATH",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "ENV",
            "IFS",
            "PROMPT_COMMAND",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "HTTP_PROXY",
            "https_proxy",
            "SSL_CERT_FILE",
            "HOME",
            "SHELL",
            "XDG_CONFIG_HOME",
            "TMPDIR",
            "EDITOR",
            "GIT_PAGER",
            "_JAVA_OPTIONS",
            "JAVA_TOOL_OPTIONS",
            "RUSTC_WRAPPER",
            "CARGO_HOME",
            "Path",
            "LESSOPEN",
            "",
            "A=B",
            "A B",
        ] {
            assert!(!may_set(name), "{name}");
        }
    }
}
