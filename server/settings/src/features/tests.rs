use expect_test::expect;
use serde_json::json;

use super::*;

fn read(value: Value) -> Result<Features, String> {
    Features::deserialize(value).map_err(|error| error.to_string())
}

#[test]
fn the_defaults_are_those_of_the_design() {
    expect![[r#"
        {
          "toolResultStorage": true,
          "toolResultLimits": {},
          "snip": false,
          "microcompactTime": {
            "gapMinutes": 60,
            "keepRecent": 5
          },
          "cacheEdits": false,
          "serverContextManagement": true,
          "collapse": false,
          "sessionMemory": true,
          "sessionMemoryCompact": true,
          "reactiveCompaction": true,
          "reactiveOnly": false,
          "extraction": true,
          "extractionEveryN": 1,
          "extractionNonInteractive": false,
          "recall": true,
          "recallModel": "auto",
          "searchPastContext": true,
          "dream": {
            "minHours": 24,
            "minSessions": 5
          },
          "dailyLog": false,
          "teamMemory": true,
          "agentSummaries": true,
          "prefetch": false
        }"#]]
    .assert_eq(&format!("{:#}", Value::Object(Features::default().listed())));
}

#[test]
fn what_is_listed_reads_back() {
    let mut features = Features::default();
    assert_eq!(read(Value::Object(features.listed())), Ok(features.clone()));
    features.make_bare();
    features.recall_model = RecallModel::Model("haiku".to_owned());
    features.tool_result_limits.insert("Bash".to_owned(), 10);
    assert_eq!(read(Value::Object(features.listed())), Ok(features));
}

#[test]
fn every_switch_takes_true_and_false() {
    for gate in GATES {
        for value in [true, false] {
            assert!(read(json!({ gate.name: value })).is_ok(), "{}: {value}", gate.name);
        }
        assert!(read(json!({ gate.name: [] })).is_err(), "{}", gate.name);
    }
    assert_eq!(read(json!({"dream": false})).unwrap().dream, None);
    assert_eq!(read(json!({"dream": true})).unwrap().dream, Some(Dream::default()));
    assert_eq!(read(json!({"recallModel": false})).unwrap().recall_model, RecallModel::Local);
    assert_eq!(read(json!({"extractionEveryN": false})).unwrap().extraction_every_n, 1);
}

#[test]
fn parameters_that_are_left_out_keep_their_defaults() {
    let features = read(json!({
        "dream": {"minHours": 2},
        "microcompactTime": {},
        "toolResultLimits": {"Bash": 30_000},
        "recallModel": "claude-haiku-4-5",
        "extractionEveryN": 3,
        "unknown": [1],
    }))
    .unwrap();
    assert_eq!(features.dream, Some(Dream { min_hours: 2, ..Dream::default() }));
    assert_eq!(features.microcompact_time, Some(MicrocompactTime::default()));
    assert_eq!(features.tool_result_limits.get("Bash"), Some(&30_000));
    assert_eq!(features.recall_model, RecallModel::Model("claude-haiku-4-5".to_owned()));
    assert_eq!(features.extraction_every_n, 3);
}

#[test]
fn a_dream_may_come_at_idle_or_at_a_time() {
    let given = json!({"dream": {"idleMinutes": 0, "at": "03:30"}});
    let features = read(given).unwrap();
    let dream = features.dream.unwrap();
    let at = dream.at.map(|at| (at.hour(), at.minute()));
    assert_eq!((dream.idle_minutes, at), (Some(0), Some((3, 30))));
    assert_eq!(read(Value::Object(features.listed())), Ok(features));
    assert!(read(json!({"dream": {"at": "25:00"}})).is_err());
    assert!(read(json!({"dream": {"idleMinutes": -1}})).is_err());
}

#[test]
fn bare_leaves_what_a_session_needs_to_come_to_its_end() {
    let mut features = Features::default();
    features.make_bare();
    let listed = features.listed();
    let on: Vec<&str> = GATES
        .iter()
        .filter(|gate| gate.kind.can_be_switched_off() && listed.get(gate.name) != Some(&json!(false)))
        .map(|gate| gate.name)
        .collect();
    assert_eq!(on, ["toolResultStorage", "microcompactTime", "reactiveCompaction"]);
}

#[test]
fn each_name_and_each_gate_is_there_once() {
    let mut names: Vec<&str> = GATES.iter().map(|gate| gate.name).collect();
    names.extend(GATES.iter().map(|gate| gate.gate).filter(|gate| !gate.is_empty()));
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(GATES.iter().all(|gate| !gate.doc.is_empty() && !gate.doc.contains('\n')));
}
