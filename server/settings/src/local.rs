//! The one setting that Reverie writes by itself: a rule that the user chose to allow always, in this folder.

use std::{fs, io::Write, path::Path};

use serde_json::{Map, Value};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum LocalError {
    /// Show it; the rule holds for the session all the same.
    #[error("{file} cannot be changed by a program ({why}); add {rule} to its permissions.allow by hand")]
    ByHand { file: String, why: String, rule: String },
    #[error("{file} cannot be written: {error}")]
    Disk { file: String, error: std::io::Error },
}

/// Adds the rule to `permissions.allow` of the folder's `.claude/settings.local.json`. Everything else in the file
/// stays; a file with comments is left to its author, because a rewrite would lose them.
pub fn add_allow_rule(folder: &Path, rule: &str) -> Result<(), LocalError> {
    let path = folder.join(".claude/settings.local.json");
    let file = path.display().to_string();
    let by_hand =
        |why: &str| LocalError::ByHand { file: file.clone(), why: why.to_owned(), rule: rule.to_owned() };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "{}".to_owned(),
        Err(error) => return Err(LocalError::Disk { file, error }),
    };
    let mut settings: Map<String, Value> =
        serde_json::from_str(&text).map_err(|_| by_hand("it is not plain JSON"))?;
    let permissions = settings.entry("permissions").or_insert_with(|| Value::Object(Map::new()));
    let allow = permissions
        .as_object_mut()
        .ok_or_else(|| by_hand("permissions is not an object"))?
        .entry("allow")
        .or_insert_with(|| Value::Array(Vec::new()))
        .as_array_mut()
        .ok_or_else(|| by_hand("permissions.allow is not a list"))?;
    if allow.iter().any(|known| known == rule) {
        return Ok(());
    }
    allow.push(Value::from(rule));
    write(&path, &settings).map_err(|error| LocalError::Disk { file, error })
}

fn write(path: &Path, settings: &Map<String, Value>) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let temporary = folder.join(format!(".settings.local.{}.tmp", std::process::id()));
    let mut file = fs::File::create(&temporary)?;
    file.write_all(&serde_json::to_vec_pretty(settings)?)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_rule_joins_what_the_file_already_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".claude/settings.local.json");
        add_allow_rule(folder.path(), "Bash(cargo test:*)").unwrap();
        fs::write(&path, fs::read_to_string(&path).unwrap().replacen('{', "{\n  \"model\": \"opus\",", 1))
            .unwrap();
        add_allow_rule(folder.path(), "Bash(cargo test:*)").unwrap();
        add_allow_rule(folder.path(), "Edit(src/**)").unwrap();
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
        .assert_eq(&fs::read_to_string(&path).unwrap());
    }

    #[test]
    fn a_file_with_comments_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".claude/settings.local.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{ // mine\n}").unwrap();
        let error = add_allow_rule(folder.path(), "Read").unwrap_err().to_string();
        assert!(error.ends_with("add Read to its permissions.allow by hand"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{ // mine\n}");
    }
}
