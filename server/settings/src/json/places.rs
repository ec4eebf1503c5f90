//! Where each key and value of a JSON text stands, and which keys an object has twice.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{join, string_end};

#[derive(Debug, Default)]
pub(crate) struct Places {
    /// By dotted path; entries of lists as `permissions.allow[0]`.
    spots: HashMap<String, Spot>,
    /// Paths of keys that stand in the same object once more, and where.
    pub(crate) duplicates: Vec<(String, Range<usize>)>,
}

#[derive(Debug)]
struct Spot {
    /// Absent for entries of lists.
    key: Option<Range<usize>>,
    value: Range<usize>,
}

/// An open bracket.
struct Open {
    is_object: bool,
    path: String,
    key: Option<Range<usize>>,
    start: usize,
    /// How many entries a list has had so far.
    index: usize,
    seen: HashSet<String>,
    /// The key whose value comes next.
    next: Option<(String, Range<usize>)>,
}

impl Places {
    /// Walks a text that is known to be JSON.
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut places = Self::default();
        let mut open: Vec<Open> = Vec::new();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'{' | b'[' => {
                    let (path, key) = slot(open.last_mut()).unwrap_or_default();
                    let is_object = *byte == b'{';
                    open.push(Open {
                        is_object,
                        path,
                        key,
                        start,
                        index: 0,
                        seen: HashSet::new(),
                        next: None,
                    });
                }
                b'}' | b']' => {
                    let Some(closed) = open.pop() else { continue };
                    places.note(closed.path, closed.key, closed.start..at);
                }
                b',' => {
                    if let Some(inside) = open.last_mut() {
                        inside.index += 1;
                    }
                }
                b':' => {}
                byte if byte.is_ascii_whitespace() => {}
                b'"' => {
                    at = string_end(bytes, start);
                    match open.last_mut() {
                        Some(inside) if inside.is_object && inside.next.is_none() => {
                            places.begin_key(inside, text, start..at);
                        }
                        inside => places.scalar(inside, start..at),
                    }
                }
                _ => {
                    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                    let rest = bytes.get(start..).unwrap_or_default();
                    at = start + rest.iter().position(ends).unwrap_or(rest.len());
                    places.scalar(open.last_mut(), start..at);
                }
            }
        }
        places
    }

    /// The value, or where it goes over lines its key: what to underline when the value is wrong.
    pub(crate) fn value(&self, path: &str, text: &str) -> Option<Range<usize>> {
        let spot = self.spots.get(path)?;
        let lines = text.get(spot.value.clone()).is_some_and(|value| value.contains(['\n', '\r']));
        let key = spot.key.clone().filter(|_| lines);
        Some(key.unwrap_or_else(|| spot.value.clone()))
    }

    /// The whole value, from its first to its last character; the path of the document itself is empty.
    pub(super) fn span(&self, path: &str) -> Option<Range<usize>> {
        Some(self.spots.get(path)?.value.clone())
    }

    pub(crate) fn key(&self, path: &str) -> Option<Range<usize>> {
        self.spots.get(path)?.key.clone()
    }

    fn begin_key(&mut self, inside: &mut Open, text: &str, range: Range<usize>) {
        let quoted = text.get(range.clone()).unwrap_or_default();
        let path = join(&inside.path, &serde_json::from_str::<String>(quoted).unwrap_or_default());
        if !inside.seen.insert(path.clone()) {
            // What the first one held is replaced, and its places with it.
            let below = [format!("{path}."), format!("{path}[")];
            self.spots.retain(|known, _| !below.iter().any(|below| known.starts_with(below.as_str())));
            self.duplicates.push((path.clone(), range.clone()));
        }
        inside.next = Some((path, range));
    }

    fn scalar(&mut self, inside: Option<&mut Open>, range: Range<usize>) {
        if let Some((path, key)) = slot(inside) {
            self.note(path, key, range);
        }
    }

    fn note(&mut self, path: String, key: Option<Range<usize>>, value: Range<usize>) {
        self.spots.insert(path, Spot { key, value });
    }
}

/// The path of the value that comes next, and its key.
fn slot(inside: Option<&mut Open>) -> Option<(String, Option<Range<usize>>)> {
    let inside = inside?;
    if inside.is_object {
        let (path, key) = inside.next.take()?;
        return Some((path, Some(key)));
    }
    Some((format!("{}[{}]", inside.path, inside.index), None))
}
