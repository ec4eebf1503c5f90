//! The bytes that changes name, compressed, by the hash of what they are: `contents/ab/cdef…`.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::str::FromStr;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use workspace::{Durable, Private};

use super::LARGEST_FILE;

const FOLDER: &str = "contents";
/// zlib's own default: memories are small, and the rest is bounded.
const LEVEL: u8 = 6;
/// A content that does not become smaller becomes a little larger.
const LARGEST_KEPT: u64 = LARGEST_FILE + (64 << 10);

/// The name of a content: two with the same name are the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentId([u8; 32]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a content")]
pub struct NotAContent;

impl ContentId {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.8}…", self.to_string())
    }
}

impl FromStr for ContentId {
    type Err = NotAContent;

    /// Lower case only: one content has one name.
    fn from_str(text: &str) -> Result<Self, NotAContent> {
        let digit = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(NotAContent),
        };
        let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
            [high, low] => Ok(digit(*high)? << 4 | digit(*low)?),
            _ => Err(NotAContent),
        });
        let bytes: Vec<u8> = pairs.collect::<Result<_, _>>()?;
        Ok(Self(bytes.try_into().map_err(|_| NotAContent)?))
    }
}

impl Serialize for ContentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

pub(super) struct Contents<'a> {
    history: &'a Private,
}

impl<'a> Contents<'a> {
    pub(super) fn new(history: &'a Private) -> Self {
        Self { history }
    }

    /// Keeps a content and says how many bytes that took; none for what is kept already, or is too large to be kept.
    pub(super) fn put(&self, bytes: &[u8], durable: Durable) -> io::Result<u64> {
        if bytes.len() as u64 > LARGEST_FILE {
            return Ok(0);
        }
        let id = ContentId::of(bytes);
        // One that was cut short by a power cut is replaced.
        if self.get(id).is_ok() {
            return Ok(0);
        }
        let (first, rest) = name_of(id);
        let packed = compress_to_vec_zlib(bytes, LEVEL);
        let len = packed.len() as u64;
        let folder = self.history.create_folder(FOLDER)?.create_folder(&first)?;
        folder.write(&rest, &packed, durable)?;
        Ok(len)
    }

    /// The bytes, if they are still what they were.
    pub(super) fn get(&self, id: ContentId) -> io::Result<Vec<u8>> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "its content is no longer kept");
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the copy of its content is damaged");
        let (first, rest) = name_of(id);
        let all = self.history.folder(FOLDER)?.ok_or_else(missing)?;
        let folder = all.folder(&first)?.ok_or_else(missing)?;
        let packed = folder.read(&rest, LARGEST_KEPT)?.ok_or_else(missing)?;
        let largest = usize::try_from(LARGEST_FILE).unwrap_or(usize::MAX);
        let bytes = decompress_to_vec_zlib_with_limit(&packed, largest).map_err(|_| damaged())?;
        if ContentId::of(&bytes) != id {
            return Err(damaged());
        }
        Ok(bytes)
    }

    pub(super) fn remove(&self, id: ContentId) -> io::Result<()> {
        let (first, rest) = name_of(id);
        let Some(all) = self.history.folder(FOLDER)? else { return Ok(()) };
        let Some(folder) = all.folder(&first)? else { return Ok(()) };
        folder.remove(&rest)
    }

    /// How many bytes each of the kept contents takes.
    pub(super) fn sizes(&self) -> io::Result<HashMap<ContentId, u64>> {
        let mut sizes = HashMap::new();
        self.each(|folder, name, id| {
            if let (Some(id), Some(len)) = (id, folder.len_of(name)?) {
                sizes.insert(id, len);
            }
            Ok(())
        })?;
        Ok(sizes)
    }

    /// Removes all others, and what a killed process left half written.
    pub(super) fn keep_only(&self, kept: &HashSet<ContentId>) -> io::Result<()> {
        self.each(|folder, name, id| match id {
            Some(id) if kept.contains(&id) => Ok(()),
            _ => folder.remove(name),
        })
    }

    fn each(
        &self,
        mut visit: impl FnMut(&Private, &str, Option<ContentId>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(all) = self.history.folder(FOLDER)? else { return Ok(()) };
        for first in all.names()? {
            let Ok(Some(folder)) = all.folder(&first) else { continue };
            for rest in folder.names()? {
                visit(&folder, &rest, format!("{first}{rest}").parse().ok())?;
            }
        }
        Ok(())
    }
}

fn name_of(id: ContentId) -> (String, String) {
    let name = id.to_string();
    let (first, rest) = name.split_at_checked(2).unwrap_or((&name, ""));
    (first.to_owned(), rest.to_owned())
}
