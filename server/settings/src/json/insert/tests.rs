use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

const PATH: [&str; 2] = ["permissions", "allow"];

#[track_caller]
fn check(text: &str, expected: Expect) {
    let changed = insert(text, &PATH, "Read(\"x\")").unwrap_or_else(|| "not changed".to_owned());
    expected.assert_eq(&changed);
}

#[test]
fn comments_and_layout_stay() {
    check(
        r#"// mine
{
    "model": "opus", // the best
    "permissions": {
        /* what may
           run */
        "allow": [
            "Bash(make)" // builds
            // "Bash(rm:*)" is too much
        ],
        "deny": ["Bash(rm:*)"]
    }
}
"#,
        expect![[r#"
            // mine
            {
                "model": "opus", // the best
                "permissions": {
                    /* what may
                       run */
                    "allow": [
                        "Bash(make)", // builds
                        // "Bash(rm:*)" is too much
                        "Read(\"x\")"
                    ],
                    "deny": ["Bash(rm:*)"]
                }
            }
        "#]],
    );
}

#[test]
fn a_trailing_comma_stays_one() {
    check(
        "{\n  \"permissions\": {\n    \"allow\": [\n      \"Edit\", // x\n    ],\n  },\n}\n",
        expect![[r#"
            {
              "permissions": {
                "allow": [
                  "Edit", // x
                  "Read(\"x\")",
                ],
              },
            }
        "#]],
    );
    check(
        "{\n\t\"model\": \"opus\",\n}\n",
        expect![[r#"
        {
        	"model": "opus",
        	"permissions": {
        		"allow": [
        			"Read(\"x\")"
        		]
        	},
        }
    "#]],
    );
    check(
        r#"{"permissions": {"allow": ["Edit" /* a, b */ , ],}}"#,
        expect![[r#"{"permissions": {"allow": ["Edit" /* a, b */ , "Read(\"x\")", ],}}"#]],
    );
}

#[test]
fn what_is_missing_is_made() {
    check(
        "",
        expect![[r#"
        {
          "permissions": {
            "allow": [
              "Read(\"x\")"
            ]
          }
        }
    "#]],
    );
    check(
        "{}",
        expect![[r#"
        {
          "permissions": {
            "allow": [
              "Read(\"x\")"
            ]
          }
        }"#]],
    );
    check(
        "{ /* nothing yet */ }\n",
        expect![[r#"
        { /* nothing yet */
          "permissions": {
            "allow": [
              "Read(\"x\")"
            ]
          }
        }
    "#]],
    );
    check(
        "// only words\n",
        expect![[r#"
        // only words
        {
          "permissions": {
            "allow": [
              "Read(\"x\")"
            ]
          }
        }
    "#]],
    );
    check(
        "{ // mine\n}",
        expect![[r#"
        { // mine
          "permissions": {
            "allow": [
              "Read(\"x\")"
            ]
          }
        }"#]],
    );
    check(
        "{\n}\n",
        expect![[r#"
        {
          "permissions": {
            "allow": [
              "Read(\"x\")"
            ]
          }
        }
    "#]],
    );
    check(
        "{\n  \"permissions\": {\n  }\n}\n",
        expect![[r#"
        {
          "permissions": {
            "allow": [
              "Read(\"x\")"
            ]
          }
        }
    "#]],
    );
    check(
        "{\n  \"permissions\": {}, // none\n  \"model\": \"x\"\n}\n",
        expect![[r#"
        {
          "permissions": {"allow": ["Read(\"x\")"]}, // none
          "model": "x"
        }
    "#]],
    );
    check(
        "{\n  \"permissions\": {\n    \"deny\": [\n      \"Bash\"\n    ] // all\n  }\n}\n",
        expect![[r#"
            {
              "permissions": {
                "deny": [
                  "Bash"
                ], // all
                "allow": [
                  "Read(\"x\")"
                ]
              }
            }
        "#]],
    );
}

#[test]
fn one_line_stays_one_line() {
    check(
        r#"{"model": "opus"}"#,
        expect![[r#"{"model": "opus", "permissions": {"allow":["Read(\"x\")"]}}"#]],
    );
    check(
        r#"{ "permissions": { "allow": [ "Edit" ] } }"#,
        expect![[r#"{ "permissions": { "allow": [ "Edit", "Read(\"x\")" ] } }"#]],
    );
    check(r#"{"permissions": {"allow": []}}"#, expect![[r#"{"permissions": {"allow": ["Read(\"x\")"]}}"#]]);
    check(
        r#"{"permissions": {"allow": ["Edit" /* x */]}}"#,
        expect![[r#"{"permissions": {"allow": ["Edit", /* x */ "Read(\"x\")"]}}"#]],
    );
}

#[test]
fn of_a_key_that_stands_twice_the_one_that_counts_is_changed() {
    check(
        r#"{"permissions": {"allow": ["a"]}, "permissions": {"allow": ["b"]}}"#,
        expect![[r#"{"permissions": {"allow": ["a"]}, "permissions": {"allow": ["b", "Read(\"x\")"]}}"#]],
    );
}

#[test]
fn what_is_in_the_way_is_left_alone() {
    for text in [
        r#"{"permissions": null}"#,
        r#"{"permissions": {"allow": "Edit"}}"#,
        r#"{"permissions": []}"#,
        "[]",
        "{",
        "/* open",
    ] {
        assert_eq!(insert(text, &PATH, "Read"), None, "{text}");
    }
}

#[test]
fn line_ends_and_the_mark_stay_as_they_are() {
    let text = "\u{feff}{\r\n  // mine\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"Edit\" // x\r\n    ]\r\n  }\r\n}\r\n";
    let changed = insert(text, &PATH, "Read").unwrap();
    assert_eq!(changed, text.replace("\"Edit\" // x\r\n", "\"Edit\", // x\r\n      \"Read\"\r\n"));
    let text = "{\r\n  // mine\r\n}\r\n";
    let changed = insert(text, &PATH, "Read").unwrap();
    assert!(
        changed.contains("// mine\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"Read\"\r\n"),
        "{changed:?}"
    );
    assert!(!changed.replace("\r\n", "").contains(['\r', '\n']));
}

/// JSON with comments and commas wherever they may be.
fn document() -> impl Strategy<Value = String> {
    let gap =
        || prop::sample::select(vec!["", " ", "\n", "\r\n  ", " /* , ] } */ ", " // \"allow\": [\n", "\n\t"]);
    let rule = prop::sample::select(vec!["\"a\"", "\"b // c\"", "\"]\"", "\"\\\"}\""]);
    let comma = || prop::sample::select(vec!["", ","]);
    let list = (prop::collection::vec((gap(), rule, gap()), 0..3), comma(), gap()).prop_map(
        |(items, comma, end)| {
            let comma = if items.is_empty() { "" } else { comma };
            let items: Vec<String> =
                items.iter().map(|(one, rule, two)| format!("{one}{rule}{two}")).collect();
            format!("[{}{comma}{end}]", items.join(","))
        },
    );
    let member = (gap(), prop::sample::select(vec!["allow", "deny", "model", "permissions"]), gap(), list)
        .prop_map(|(one, key, two, value)| format!("{one}\"{key}\":{two}{value}"));
    let object = move |members: BoxedStrategy<String>| {
        (prop::collection::vec(members, 0..3), comma(), gap()).prop_map(|(members, comma, end)| {
            let comma = if members.is_empty() { "" } else { comma };
            format!("{{{}{comma}{end}}}", members.join(","))
        })
    };
    let permissions = (gap(), object(member.clone().boxed()))
        .prop_map(|(one, inner)| format!("{one}\"permissions\": {inner}"));
    (gap(), object(prop_oneof![member, permissions].boxed()), gap())
        .prop_map(|(one, object, two)| format!("{one}{object}{two}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// That nothing but the addition changes is checked by `insert` itself, which would refuse; and that no letter of the
    /// text is lost, here.
    #[test]
    fn whatever_is_written_the_entry_is_added_and_nothing_lost(text in document()) {
        let mut root = parse(&text).unwrap().root;
        let possible = push(&mut root, &PATH, "Read").is_some();
        let changed = insert(&text, &PATH, "Read");
        prop_assert_eq!(changed.is_some(), possible);
        if let Some(changed) = changed {
            let mut rest = changed.chars();
            let kept = text.chars().filter(|letter| !letter.is_whitespace()).all(|letter| rest.any(|other| other == letter));
            prop_assert!(kept, "{}", changed);
        }
    }
}
