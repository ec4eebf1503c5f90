//! The few fields of a record that decide where it belongs. Borrowed and unparsed: a field of the wrong type is
//! as good as absent and never costs the record.

use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::Links;
use crate::{message::Compaction, record::identity};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uuid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parent_uuid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    is_sidechain: Option<&'a RawValue>,
    #[serde(borrow, default)]
    subtype: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cwd: Option<&'a RawValue>,
    #[serde(borrow, default)]
    git_branch: Option<&'a RawValue>,
    #[serde(borrow, default)]
    leaf_uuid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    turn_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reverie_format: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    pub(crate) fn parse(record: &'a [u8]) -> Option<Self> {
        // A struct would also be read from an array.
        record.starts_with(b"{").then(|| serde_json::from_slice(record).ok())?
    }

    pub(crate) fn kind(&self) -> &'a str {
        text(self.kind).unwrap_or("")
    }

    pub(crate) fn uuid(&self) -> Option<Uuid> {
        id(self.uuid)
    }

    pub(crate) fn parent(&self) -> Option<Uuid> {
        id(self.parent_uuid)
    }

    /// What a compact boundary stands behind: its `parentUuid` is null, so that the chain that is sent ends there.
    pub(crate) fn logical_parent(record: &[u8]) -> Option<Uuid> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Boundary<'a> {
            #[serde(borrow, default)]
            logical_parent_uuid: Option<&'a RawValue>,
        }
        id(serde_json::from_slice::<Boundary<'_>>(record).ok()?.logical_parent_uuid)
    }

    /// What ties a compact boundary to other records; `None`: nothing.
    pub(crate) fn links(record: &[u8]) -> Option<Links> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Boundary {
            compact_metadata: Compaction,
        }
        let Boundary { compact_metadata } = serde_json::from_slice(record).ok()?;
        let Compaction { preserved_segment: preserved, complete_with, .. } = compact_metadata;
        (preserved.is_some() || complete_with.is_some()).then_some(Links { preserved, complete_with })
    }

    pub(crate) fn leaf(&self) -> Option<Uuid> {
        id(self.leaf_uuid)
    }

    pub(crate) fn is_sidechain(&self) -> bool {
        self.is_sidechain.is_some_and(|raw| raw.get() == "true")
    }

    pub(crate) fn subtype(&self) -> &'a str {
        text(self.subtype).unwrap_or("")
    }

    pub(crate) fn cwd(&self) -> Option<String> {
        unescaped(self.cwd)
    }

    pub(crate) fn git_branch(&self) -> Option<String> {
        unescaped(self.git_branch)
    }

    pub(crate) fn names_turn(&self) -> bool {
        text(self.turn_id).is_some()
    }

    /// 0 for records of other programs.
    pub(crate) fn format(&self) -> u64 {
        self.reverie_format.and_then(|raw| raw.get().parse().ok()).unwrap_or(0)
    }

    /// Inside of damage, any object could come along; a record says to which session or chain it belongs.
    pub(crate) fn is_record(&self) -> bool {
        !self.kind().is_empty() && (text(self.session_id).is_some() || self.uuid().is_some())
    }
}

/// The string between its quotes. Ids and kinds contain no escapes; one that does names nothing we know.
fn text(raw: Option<&RawValue>) -> Option<&str> {
    raw?.get().strip_prefix('"')?.strip_suffix('"')
}

fn id(raw: Option<&RawValue>) -> Option<Uuid> {
    let text = text(raw).filter(|text| !text.is_empty())?;
    Some(Uuid::try_parse(text).unwrap_or_else(|_| identity(text.as_bytes())))
}

fn unescaped(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str::<String>(raw?.get()).ok().filter(|text| !text.is_empty())
}
