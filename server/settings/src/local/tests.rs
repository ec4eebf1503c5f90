use std::{os::unix::fs::PermissionsExt, thread};

use expect_test::expect;
use tempfile::TempDir;

use super::*;

struct Place {
    _root: TempDir,
    environment: Environment,
    folder: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let folder = root.path().join("project");
        fs::create_dir_all(&folder).unwrap();
        Self { environment: Environment::new(root.path().join("home"), []), folder, _root: root }
    }

    fn add(&self, rule: &str) -> Result<(), LocalError> {
        add_allow_rule(&self.environment, &self.folder, rule)
    }

    fn local(&self) -> PathBuf {
        self.folder.join(".claude/settings.local.json")
    }

    fn home(&self) -> PathBuf {
        directories::config_home(&self.environment)
    }

    fn record(&self) -> PathBuf {
        self.home().join("reverie-trust.json")
    }

    fn earlier_record(&self) -> PathBuf {
        earlier_record(&self.environment, &self.folder)
    }

    fn granted(&self) -> Vec<String> {
        let record: Value = serde_json::from_str(&fs::read_to_string(self.record()).unwrap()).unwrap();
        let rules =
            record["folders"][directories::canonical(&self.folder).to_str().unwrap()]["rules"].clone();
        serde_json::from_value(rules).unwrap()
    }

    fn put_local(&self, text: &str) {
        fs::create_dir_all(self.folder.join(".claude")).unwrap();
        fs::write(self.local(), text).unwrap();
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_rule_joins_what_the_file_already_says() {
    let place = Place::new();
    place.add("Bash(cargo test:*)").unwrap();
    let text = fs::read_to_string(place.local()).unwrap();
    fs::write(place.local(), text.replacen('{', "{\n  \"model\": \"opus\",", 1)).unwrap();
    place.add("Bash(cargo test:*)").unwrap();
    place.add("Edit(src/**)").unwrap();
    expect![[r#"
        {
          "model": "opus",
          "permissions": {
            "allow": [
              "Bash(cargo test:*)",
              "Edit(src/**)"
            ]
          }
        }
    "#]]
    .assert_eq(&fs::read_to_string(place.local()).unwrap());
    assert_eq!(place.granted(), ["Bash(cargo test:*)", "Edit(src/**)"]);
}

#[test]
fn only_the_user_reads_the_record_and_nothing_is_left_behind() {
    let place = Place::new();
    place.put_local("{}");
    fs::set_permissions(place.local(), PermissionsExt::from_mode(0o640)).unwrap();
    place.add("Read").unwrap();
    assert_eq!((mode(&place.record()), mode(&place.home()), mode(&place.local())), (0o600, 0o700, 0o640));
    assert_eq!(names(&place.home()), ["reverie-trust.json", "reverie-trust.lock"]);
    assert_eq!(names(&place.folder.join(".claude")), ["settings.local.json"]);
}

#[test]
fn comments_stay_where_they_are() {
    let place = Place::new();
    place.put_local("{ // mine\n}");
    place.add("Read").unwrap();
    place.add("Edit").unwrap();
    place.add("Read").unwrap();
    expect![[r#"
        { // mine
          "permissions": {
            "allow": [
              "Read",
              "Edit"
            ]
          }
        }"#]]
    .assert_eq(&fs::read_to_string(place.local()).unwrap());
    assert_eq!(place.granted(), ["Read", "Edit"]);
    assert_eq!(names(&place.folder.join(".claude")), ["settings.local.json"]);
}

#[test]
fn a_file_that_is_not_understood_is_left_alone_but_the_grant_is_kept() {
    for (text, why) in [
        ("{ \"model\": ", "it is not JSON: EOF while parsing a value"),
        (r#"{"permissions": {"allow": {}}}"#, "its permissions.allow is not a list"),
    ] {
        let place = Place::new();
        place.put_local(text);
        let error = place.add("Read").unwrap_err().to_string();
        assert!(error.ends_with(&format!("({why}); add Read to its permissions.allow by hand")), "{error}");
        assert_eq!(fs::read_to_string(place.local()).unwrap(), text);
        assert_eq!(place.granted(), ["Read"]);
    }
}

#[test]
fn a_damaged_record_is_not_overwritten() {
    let place = Place::new();
    place.add("Read").unwrap();
    fs::write(place.record(), "{\"allow\": 1}").unwrap();
    let error = place.add("Edit").unwrap_err().to_string();
    assert!(error.contains("does not say which folders are trusted"), "{error}");
    assert_eq!(fs::read_to_string(place.record()).unwrap(), "{\"allow\": 1}");
}

#[test]
fn what_earlier_versions_recorded_is_taken_along() {
    let place = Place::new();
    fs::create_dir_all(place.earlier_record().parent().unwrap()).unwrap();
    fs::write(place.earlier_record(), r#"["Bash(make)", "Read"]"#).unwrap();
    let folder = directories::canonical(&place.folder);
    assert_eq!(
        granted(&place.environment, &folder, None, &mut Seen::default()).unwrap(),
        ["Bash(make)", "Read"]
    );
    place.add("Read").unwrap();
    place.add("Edit").unwrap();
    assert_eq!(place.granted(), ["Bash(make)", "Read", "Edit"]);
    fs::write(place.earlier_record(), "[").unwrap();
    let error = place.add("Write").unwrap_err().to_string();
    assert!(error.contains("is not a list of rules"), "{error}");
}

#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let place = Place::new();
    let outside = place.folder.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, place.folder.join(".claude")).unwrap();
    let error = place.add("Read").unwrap_err().to_string();
    assert!(error.contains("it leads out of the folder"), "{error}");
    assert_eq!(names(&outside), [""; 0]);
}

#[test]
fn what_is_no_file_does_not_hang() {
    let place = Place::new();
    fs::create_dir_all(place.local()).unwrap();
    let error = place.add("Read").unwrap_err().to_string();
    assert!(error.contains("it is not a regular file"), "{error}");
}

#[test]
fn rules_of_many_threads_are_all_kept() {
    let place = Place::new();
    thread::scope(|scope| {
        for number in 0..16 {
            let place = &place;
            scope.spawn(move || place.add(&format!("Bash(echo {number})")).unwrap());
        }
    });
    let local: Value = serde_json::from_str(&fs::read_to_string(place.local()).unwrap()).unwrap();
    assert_eq!(place.granted().len(), 16);
    assert_eq!(local["permissions"]["allow"].as_array().unwrap().len(), 16);
}

#[test]
fn another_process_that_holds_the_lock_is_waited_for() {
    let place = Place::new();
    file::create_private_folder(&place.home()).unwrap();
    // A lock belongs to the open file, so to another process this is what one of ours looks like.
    let held = file::lock(&place.home().join("reverie-trust.lock")).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| place.add("Read"));
        drop(held);
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(place.granted(), ["Read"]);
}
