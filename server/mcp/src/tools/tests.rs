use expect_test::expect;

use super::*;

#[test]
fn tools_are_made_fit_to_be_offered() {
    let schema = json!({"type": "object", "properties": {"b": {"type": "string", "description": "x\u{200b}y"}, "a": {}}});
    let listing = Listing::new(
        "my server",
        "my_server",
        vec![
            json!({"name": "write", "description": " Writes\u{202e}. ", "inputSchema": schema, "annotations": {"readOnlyHint": false}}),
            json!({"name": "read.file", "title": "Reads", "inputSchema": {}, "annotations": {"readOnlyHint": true}}),
            json!({"name": "either", "inputSchema": {"type": "object", "anyOf": [{"required": ["a"]}], "properties": {}}}),
            json!({"name": "array", "inputSchema": {"type": "array"}}),
            json!({"name": "none"}),
            json!({"name": "keys", "inputSchema": {"type": "object", "properties": {"a b": {}}}}),
            json!({"name": "search", "inputSchema": {"type": "web_search_20250305"}}),
            json!({"name": "large", "inputSchema": {"type": "object", "description": "x".repeat(40_000)}}),
            json!({"name": "write", "inputSchema": {}}),
            json!({"inputSchema": {}}),
            json!("nonsense"),
        ],
    );
    expect![[r#"
        Listing {
            offered: [
                Offered {
                    tool: McpTool {
                        server: "my server",
                        name: "mcp__my_server__either",
                        description: "\n\nThe input must also match this JSON schema: {\"anyOf\":[{\"required\":[\"a\"]}]}",
                        input_schema: Object {
                            "type": String("object"),
                            "properties": Object {},
                        },
                        read_only: false,
                    },
                    original: "either",
                },
                Offered {
                    tool: McpTool {
                        server: "my server",
                        name: "mcp__my_server__read_file",
                        description: "Reads",
                        input_schema: Object {
                            "type": String("object"),
                        },
                        read_only: true,
                    },
                    original: "read.file",
                },
                Offered {
                    tool: McpTool {
                        server: "my server",
                        name: "mcp__my_server__write",
                        description: "Writes.",
                        input_schema: Object {
                            "type": String("object"),
                            "properties": Object {
                                "b": Object {
                                    "type": String("string"),
                                    "description": String("xy"),
                                },
                                "a": Object {},
                            },
                        },
                        read_only: false,
                    },
                    original: "write",
                },
            ],
            problems: [
                "the tool \"write\" of my server is left out: another has the same name",
                "the tool \"\" of my server is left out: it has no name",
                "the tool \"\" of my server is left out: it has no name",
                "the tool \"array\" of my server is left out: its input is not an object",
                "the tool \"keys\" of my server is left out: its input has a field that models cannot be given: \"a b\"",
                "the tool \"large\" of my server is left out: its schema is larger than 32 KB",
                "the tool \"none\" of my server is left out: its schema is not an object",
                "the tool \"search\" of my server is left out: its input is not an object",
            ],
        }
    "#]].assert_debug_eq(&listing);
}

#[test]
fn long_descriptions_and_long_lists_are_cut() {
    let tool = |number: usize| json!({"name": format!("t{number:03}"), "description": "d".repeat(5_000), "inputSchema": {}});
    let listing = Listing::new("s", "s", (0..300).rev().map(tool).collect());
    assert_eq!(listing.offered.len(), MOST_TOOLS);
    assert_eq!(listing.offered[0].original, "t000");
    assert_eq!(listing.offered[0].tool.description.chars().count(), LONGEST_DESCRIPTION + 1);
    assert_eq!(listing.problems, ["s has 300 tools; only the first 256 are offered"]);
}

#[test]
fn the_order_in_which_a_server_lists_does_not_matter() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {}});
    let names = ["a b", "a_b", "c", "A", "a.b"];
    let forward = Listing::new("s", "s", names.iter().map(|name| tool(name)).collect());
    let backward = Listing::new("s", "s", names.iter().rev().map(|name| tool(name)).collect());
    assert_eq!(forward, backward);
}
