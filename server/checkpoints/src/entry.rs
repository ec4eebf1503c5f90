//! What a checkpoint says: the file format of the journal that the transcript carries.
//!
//! Paths are absolute and free of links, and may be any bytes: a name that is not UTF-8 is written as
//! `{"bytes": "<hexadecimal>"}` instead of a string.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::blob::Blob;

/// What the agent did to files in (a part of) the turn that a user's message began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The uuid of the message.
    pub message: String,
    /// In the order in which they were seen; a path may come more than once.
    pub changes: Vec<Change>,
    /// What was touched and cannot be brought back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncaptured: Vec<Uncaptured>,
    /// How many more of these are not named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unnamed: usize,
    /// Some of this may be somebody else's work: a rewind leaves it alone unless forced.
    #[serde(default, skip_serializing_if = "is_false")]
    pub uncertain: bool,
    /// What the user has looked through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewed: Vec<Reviewed>,
}

impl Entry {
    /// The contents that must be kept for this entry to be restored.
    pub fn blobs(&self) -> impl Iterator<Item = Blob> + '_ {
        let before = self.changes.iter().filter_map(|change| change.before.as_ref());
        before.chain(self.reviewed.iter().filter_map(|reviewed| reviewed.rest.as_ref())).filter_map(|state| {
            match state {
                State::File { blob, .. } => Some(*blob),
                State::Symlink { .. } | State::Folder { .. } | State::Unread { .. } => None,
            }
        })
    }
}

/// How far the user has come with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    #[serde(with = "lossless")]
    pub path: PathBuf,
    /// What the file is compared with from now on: what it was, and what was kept of the changes. `None`: nothing is
    /// left to look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<State>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    #[serde(with = "lossless")]
    pub path: PathBuf,
    /// `None`: there was nothing. The store has the content.
    pub before: Option<State>,
    /// `None`: there is nothing any more. Only tells what to expect; the content is not kept.
    pub after: Option<State>,
}

/// What is at a path. Not its times: a file that is brought back is a new one to `make` and its like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum State {
    File {
        blob: Blob,
        mode: u32,
        len: u64,
    },
    Symlink {
        #[serde(with = "lossless")]
        target: PathBuf,
    },
    Folder {
        mode: u32,
    },
    /// Too large to be read, or no regular file; known by its looks only and never restored.
    Unread {
        mode: u32,
        len: u64,
        /// Nanoseconds since 1970.
        modified: i64,
    },
}

/// Something that was touched and of which there is no copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncaptured {
    #[serde(with = "lossless")]
    pub path: PathBuf,
    pub fate: Fate,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    Created,
    Modified,
    Deleted,
    /// It was not looked at before, so whether something happened to it is not known.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    #[error("ignored by .gitignore")]
    Ignored,
    #[error("too large to keep a copy")]
    TooLarge,
    #[error("the workspace has more than is kept copies of")]
    OverBudget,
    #[error("there was no time to copy it before the command")]
    NotReady,
    #[error("it could not be read")]
    Unreadable,
    #[error("not a regular file")]
    Special,
}

/// What was found to have happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    pub changes: Vec<Change>,
    pub uncaptured: Vec<Uncaptured>,
    /// How many more of these are not named.
    pub unnamed: usize,
    /// The search was cut off at its time limit; there may be more.
    pub cut: bool,
    /// Some of it may be the work of the user or of another command: it happened while a command ran in the
    /// background, or while several ran.
    pub uncertain: bool,
}

impl Observed {
    pub fn is_empty(&self) -> bool {
        !self.has_seen() && !self.cut
    }

    /// Whether anything happened, as against a search that was cut off before it found something.
    pub(crate) fn has_seen(&self) -> bool {
        !self.changes.is_empty() || !self.uncaptured.is_empty() || self.unnamed > 0
    }

    /// Puts what was observed later behind. If either is uncertain, so is the whole.
    pub fn append(&mut self, later: Self) {
        let Self { changes, uncaptured, unnamed, cut, uncertain } = later;
        self.changes.extend(changes);
        self.uncaptured.extend(uncaptured);
        self.unnamed += unnamed;
        self.cut |= cut;
        self.uncertain |= uncertain;
    }

    pub fn into_entry(self, message: impl Into<String>) -> Entry {
        let Self { changes, uncaptured, unnamed, cut: _, uncertain } = self;
        Entry { message: message.into(), changes, uncaptured, unnamed, uncertain, reviewed: Vec::new() }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

mod lossless {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::blob::{from_hex, to_hex};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Other { bytes: String },
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match path.to_str() {
            Some(text) => Written::Text(text.to_owned()),
            None => Written::Other { bytes: to_hex(path.as_os_str().as_bytes()) },
        };
        written.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(text.into()),
            Written::Other { bytes } => {
                let bytes = from_hex(&bytes).ok_or_else(|| serde::de::Error::custom("not hexadecimal"))?;
                Ok(OsString::from_vec(bytes).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    use expect_test::expect;

    use super::*;

    #[test]
    fn an_entry_survives_the_transcript_whatever_its_names() {
        let entry = Entry {
            message: "8b0f".to_owned(),
            changes: vec![
                Change {
                    path: "/w/ä\n.rs".into(),
                    before: Some(State::File { blob: Blob::of(b""), mode: 0o644, len: 0 }),
                    after: None,
                },
                Change {
                    path: OsString::from_vec(b"/w/\xff".to_vec()).into(),
                    before: None,
                    after: Some(State::Symlink { target: OsString::from_vec(vec![0xfe]).into() }),
                },
                Change {
                    path: "/w/d".into(),
                    before: Some(State::Folder { mode: 0o755 }),
                    after: Some(State::Unread { mode: 0o600, len: 1 << 40, modified: -1 }),
                },
            ],
            uncaptured: vec![Uncaptured { path: "/w/.env".into(), fate: Fate::Deleted, why: Why::Ignored }],
            unnamed: 0,
            uncertain: false,
            reviewed: Vec::new(),
        };
        let text = serde_json::to_string_pretty(&entry).unwrap();
        expect![[r#"
            {
              "message": "8b0f",
              "changes": [
                {
                  "path": "/w/ä\n.rs",
                  "before": {
                    "kind": "file",
                    "blob": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                    "mode": 420,
                    "len": 0
                  },
                  "after": null
                },
                {
                  "path": {
                    "bytes": "2f772fff"
                  },
                  "before": null,
                  "after": {
                    "kind": "symlink",
                    "target": {
                      "bytes": "fe"
                    }
                  }
                },
                {
                  "path": "/w/d",
                  "before": {
                    "kind": "folder",
                    "mode": 493
                  },
                  "after": {
                    "kind": "unread",
                    "mode": 384,
                    "len": 1099511627776,
                    "modified": -1
                  }
                }
              ],
              "uncaptured": [
                {
                  "path": "/w/.env",
                  "fate": "deleted",
                  "why": "ignored"
                }
              ]
            }"#]]
        .assert_eq(&text);
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
        assert_eq!(serde_json::from_value::<Entry>(serde_json::to_value(&entry).unwrap()).unwrap(), entry);
    }

    #[test]
    fn only_an_uncertain_entry_says_so() {
        let entry = Observed { uncertain: true, unnamed: 1, ..Observed::default() }.into_entry("8b0f");
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(text, r#"{"message":"8b0f","changes":[],"unnamed":1,"uncertain":true}"#);
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
    }
}
