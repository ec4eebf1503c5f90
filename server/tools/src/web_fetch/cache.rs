//! Pages that were fetched a short while ago, bounded in time, number and bytes.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use reqwest::Url;

use super::page::Content;

const KEEP: Duration = Duration::from_secs(15 * 60);
const MAX_ENTRIES: usize = 20;
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// A page and where it was in the end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fetched {
    pub(super) url: Url,
    pub(super) content: Content,
}

#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    asked: Url,
    at: Instant,
    bytes: usize,
    fetched: Fetched,
}

impl Cache {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    pub(super) fn get(&self, asked: &Url, now: Instant) -> Option<Fetched> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| now.saturating_duration_since(entry.at) < KEEP);
        entries.iter().find(|entry| entry.asked == *asked).map(|entry| entry.fetched.clone())
    }

    pub(super) fn put(&self, asked: Url, fetched: Fetched, now: Instant) {
        let bytes = size(&fetched.content);
        if bytes > MAX_BYTES {
            return;
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.asked != asked);
        entries.push(Entry { asked, at: now, bytes, fetched });
        // The oldest are first.
        while entries.len() > MAX_ENTRIES
            || entries.iter().map(|entry| entry.bytes).sum::<usize>() > MAX_BYTES
        {
            entries.remove(0);
        }
    }
}

fn size(content: &Content) -> usize {
    match content {
        Content::Text { text, .. } => text.len(),
        Content::Media(shown) => match &shown.block {
            conversation::Block::Image { source } | conversation::Block::Document { source } => {
                source.get("data").and_then(|data| data.as_str()).map_or(0, str::len)
            }
            _ => 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Fetched {
        Fetched {
            url: Url::parse("https://h.example/end").unwrap(),
            content: Content::Text { title: None, text: text.to_owned(), cut: None },
        }
    }

    fn url(number: usize) -> Url {
        Url::parse(&format!("https://h.example/{number}")).unwrap()
    }

    #[test]
    fn pages_are_kept_for_a_quarter_of_an_hour() {
        let (cache, start) = (Cache::new(), Instant::now());
        cache.put(url(1), page("a"), start);
        assert_eq!(cache.get(&url(1), start + Duration::from_secs(899)), Some(page("a")));
        assert_eq!(cache.get(&url(2), start), None);
        assert_eq!(cache.get(&url(1), start + KEEP), None);
        assert_eq!(cache.get(&url(1), start), None);
    }

    #[test]
    fn number_and_bytes_are_bounded() {
        let (cache, now) = (Cache::new(), Instant::now());
        for number in 0..30 {
            cache.put(url(number), page("a"), now);
            cache.put(url(number), page("b"), now);
        }
        assert_eq!(cache.get(&url(9), now), None);
        assert_eq!(cache.get(&url(10), now), Some(page("b")));
        cache.put(url(100), page(&"x".repeat(MAX_BYTES - 3)), now);
        assert_eq!(cache.get(&url(26), now), None);
        assert_eq!(cache.get(&url(27), now), Some(page("b")));
        cache.put(url(101), page(&"x".repeat(MAX_BYTES + 1)), now);
        assert_eq!(cache.get(&url(101), now), None);
        assert!(cache.get(&url(100), now).is_some());
    }
}
