//! Names that models and rules can use: `mcp__<server>__<tool>`, of `[a-zA-Z0-9_-]`, at most 64 characters.
//!
//! A server's part never contains `__`, so that a name says without doubt whose tool it is: a rule for the server `a`
//! must not cover a tool of the server `a__b`. Where two names become one, a piece of a hash tells them apart.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

const LONGEST: usize = 64;
const LONGEST_SERVER: usize = 32;

/// The server's part, different from those that are taken.
pub(crate) fn server_part(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let pieces: Vec<String> =
        replaced(name).split('_').filter(|piece| !piece.is_empty()).map(str::to_owned).collect();
    let part = pieces.join("_");
    match part.len() {
        0 => marked("server", name, LONGEST_SERVER),
        1..=LONGEST_SERVER if !is_taken(&part) => part,
        _ => marked(&part, name, LONGEST_SERVER),
    }
}

/// The names of one server's tools, in the order given.
pub(crate) fn tool_names(server_part: &str, tools: &[&str]) -> Vec<String> {
    let plain = |tool: &str| format!("mcp__{server_part}__{}", replaced(tool));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for tool in tools {
        *counts.entry(plain(tool)).or_default() += 1;
    }
    let name = |tool: &str| {
        let name = plain(tool);
        let exact = replaced(tool) == tool;
        let alone = counts.get(&name).is_none_or(|count| *count == 1);
        let fits = name.len() <= LONGEST;
        if fits && (alone || exact) { name } else { marked(&name, tool, LONGEST) }
    };
    tools.iter().map(|tool| name(tool)).collect()
}

fn replaced(name: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    name.chars().map(|character| if allowed(character) { character } else { '_' }).collect()
}

/// The beginning of `name`, which is ASCII, and a hash of what it stands for.
fn marked(name: &str, original: &str, longest: usize) -> String {
    let digest = Sha256::digest(original.as_bytes());
    let mark: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let beginning: String = name.chars().take(longest - mark.len() - 1).collect();
    format!("{}_{mark}", beginning.trim_end_matches('_'))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use expect_test::expect;

    use super::*;

    #[test]
    fn servers_never_share_a_part_and_never_look_like_a_tool() {
        let names =
            ["github", "my server", "my_server", "my__server", "_a_", "日本", "x".repeat(100).as_str()]
                .map(str::to_owned);
        let mut parts: Vec<String> = Vec::new();
        for name in &names {
            let part = server_part(name, |part| parts.iter().any(|taken| taken == part));
            parts.push(part);
        }
        expect![[r#"
            [
                "github",
                "my_server",
                "my_server_ddc1744a",
                "my_server_71b7eefd",
                "a",
                "server_cf2abf0c",
                "xxxxxxxxxxxxxxxxxxxxxxx_09ecb6eb",
            ]
        "#]]
        .assert_debug_eq(&parts);
        assert_eq!(parts.iter().collect::<HashSet<_>>().len(), names.len());
        assert!(parts.iter().all(|part| !part.contains("__")));
    }

    #[test]
    fn tools_keep_their_names_where_they_can() {
        let long = "y".repeat(80);
        let tools = ["read", "read file", "read_file", "read.file", "a__b", &long];
        let names = tool_names("fs", &tools);
        expect![[r#"
            [
                "mcp__fs__read",
                "mcp__fs__read_file_1214148e",
                "mcp__fs__read_file",
                "mcp__fs__read_file_dd32cdf5",
                "mcp__fs__a__b",
                "mcp__fs__yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy_e8730587",
            ]
        "#]]
        .assert_debug_eq(&names);
        assert!(names.iter().all(|name| name.len() <= LONGEST));
        let mut backwards = tools;
        backwards.reverse();
        let mut again = tool_names("fs", &backwards);
        again.reverse();
        assert_eq!(again, names);
    }
}
