//! An exact simulation of the provider's prompt cache, and of the cheapest bill a session could have had.
//!
//! The rules, as documented: a prefix runs tools → system → messages; entries are written only at `cache_control`
//! breakpoints, at most four a request; each breakpoint looks back over at most 20 blocks, itself included, for
//! an entry that an earlier request wrote; a prefix under 1,024 tokens is never cached; an entry lives 5 minutes or
//! 1 hour after its last use; one-hour breakpoints come before five-minute ones. Blocks of `cache_edits` and the
//! references in results are no part of a prefix, and what they delete counts nothing. Tokens are bytes / 4 (see
//! [`PromptBlock::tokens`]), so every figure can be checked by hand, unless a test brings a tokenizer.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use serde_json::{Value, json};

use crate::prompt_block::{PromptBlock, Section, Ttl, prompt_blocks};

pub const MAX_BREAKPOINTS: usize = 4;
pub const LOOK_BACK_BLOCKS: usize = 20;
pub const MINIMUM_TOKENS: u64 = 1_024;

const READ_PRICE: f64 = 0.1;
const WRITE_5M_PRICE: f64 = 1.25;
const WRITE_1H_PRICE: f64 = 2.0;
const INPUT_PRICE: f64 = 1.0;

/// What the input of one request, or of many, was billed as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsage {
    pub input: u64,
    pub read: u64,
    pub written_5m: u64,
    pub written_1h: u64,
}

impl CacheUsage {
    pub fn total(&self) -> u64 {
        self.input + self.read + self.written_5m + self.written_1h
    }

    /// In units of one plain input token.
    pub fn cost(&self) -> f64 {
        self.input as f64 * INPUT_PRICE
            + self.read as f64 * READ_PRICE
            + self.written_5m as f64 * WRITE_5M_PRICE
            + self.written_1h as f64 * WRITE_1H_PRICE
    }

    /// The share of the prompt that came from the cache.
    pub fn hit_rate(&self) -> f64 {
        if self.total() == 0 { 0.0 } else { self.read as f64 / self.total() as f64 }
    }

    /// In the wire's words.
    pub fn to_json(&self, output_tokens: u64) -> Value {
        json!({
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
            "output_tokens": output_tokens,
            "service_tier": "standard",
        })
    }
}

impl std::ops::AddAssign for CacheUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.read += other.read;
        self.written_5m += other.written_5m;
        self.written_1h += other.written_1h;
    }
}

#[derive(Default)]
pub struct PromptCache {
    entries: HashMap<u64, Entry>,
    totals: CacheUsage,
    history: Vec<CacheUsage>,
    /// Prefixes that some request has bought, and when they were last used, for the cheapest possible bill.
    bought: HashMap<u64, Duration>,
    cheapest: CacheUsage,
    counter: Option<Counter>,
}

/// The tokens of a text.
pub type Counter = Box<dyn Fn(&str) -> u64 + Send>;

struct Entry {
    ttl: Ttl,
    last_used: Duration,
}

impl PromptCache {
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on tokens are what this says of the words of a block.
    pub fn count_with(&mut self, counter: Counter) {
        self.counter = Some(counter);
    }

    /// The tokens of one block.
    pub fn tokens_of(&self, block: &PromptBlock) -> u64 {
        match &self.counter {
            Some(counter) if block.is_seen() => counter(&block.words()),
            _ => block.tokens(),
        }
    }

    /// Bills one request that the provider accepted. `now` is any clock that only moves forward. `Err` is the text
    /// of the 400 that the provider would answer.
    pub fn bill(&mut self, body: &Value, now: Duration) -> Result<CacheUsage, String> {
        let blocks = prompt_blocks(body);
        let breakpoints = breakpoints(&blocks)?;
        let prefixes = self.prefixes(body, &blocks);

        let hit = self.longest_hit(&breakpoints, &prefixes, now);
        let usage = self.usage(&breakpoints, &prefixes, hit);
        self.remember(&breakpoints, &prefixes, hit, now);

        self.totals += usage;
        self.history.push(usage);
        let cheapest = self.cheapest_usage(&prefixes, now);
        self.cheapest += cheapest;
        Ok(usage)
    }

    pub fn totals(&self) -> CacheUsage {
        self.totals
    }

    /// One entry per billed request.
    pub fn history(&self) -> &[CacheUsage] {
        &self.history
    }

    /// The bill of the same requests if each token were written when first seen, for five minutes, and read as long as
    /// it lives: what nobody has used for longer is gone for everybody, and keeping it for an hour would cost more.
    pub fn cheapest_possible(&self) -> CacheUsage {
        self.cheapest
    }

    /// 1.0 is perfect. Output is the same in both and left out.
    pub fn cost_ratio(&self) -> f64 {
        let cheapest = self.cheapest.cost();
        if cheapest == 0.0 { 1.0 } else { self.totals.cost() / cheapest }
    }

    /// Number of blocks in the longest live prefix that a breakpoint of this request can see.
    fn longest_hit(&self, breakpoints: &[(usize, Ttl)], prefixes: &[Prefix], now: Duration) -> Option<usize> {
        breakpoints
            .iter()
            .filter_map(|&(position, _)| {
                let oldest = (position + 1).saturating_sub(LOOK_BACK_BLOCKS);
                (oldest..=position).rev().find(|&candidate| self.is_live(prefixes[candidate].hash, now))
            })
            .max()
    }

    fn is_live(&self, hash: u64, now: Duration) -> bool {
        self.entries
            .get(&hash)
            .is_some_and(|entry| now.saturating_sub(entry.last_used) <= lifetime(entry.ttl))
    }

    fn usage(&self, breakpoints: &[(usize, Ttl)], prefixes: &[Prefix], hit: Option<usize>) -> CacheUsage {
        let end_of = |position: usize| prefixes[position].tokens;
        let total = prefixes.last().map_or(0, |prefix| prefix.tokens);
        let read = hit.map_or(0, end_of);
        let mut usage = CacheUsage { read, ..CacheUsage::default() };
        let mut paid = read;
        for &(position, ttl) in breakpoints {
            let end = end_of(position);
            if end < MINIMUM_TOKENS || end <= paid {
                continue;
            }
            match ttl {
                Ttl::FiveMinutes => usage.written_5m += end - paid,
                Ttl::OneHour => usage.written_1h += end - paid,
            }
            paid = end;
        }
        usage.input = total - paid;
        usage
    }

    /// Writes the entries behind the hit and refreshes those that were used. A breakpoint in front of the hit writes
    /// nothing: what it would hold was read as part of the longer prefix.
    fn remember(
        &mut self,
        breakpoints: &[(usize, Ttl)],
        prefixes: &[Prefix],
        hit: Option<usize>,
        now: Duration,
    ) {
        for &(position, ttl) in breakpoints {
            let prefix = &prefixes[position];
            if prefix.tokens < MINIMUM_TOKENS {
                continue;
            }
            if self.is_live(prefix.hash, now) {
                self.refresh(prefix.hash, now);
            } else if hit.is_none_or(|hit| position > hit) {
                self.entries.insert(prefix.hash, Entry { ttl, last_used: now });
            }
        }
        if let Some(hit) = hit {
            self.refresh(prefixes[hit].hash, now);
        }
    }

    fn refresh(&mut self, hash: u64, now: Duration) {
        if let Some(entry) = self.entries.get_mut(&hash) {
            entry.last_used = now;
        }
    }

    fn cheapest_usage(&mut self, prefixes: &[Prefix], now: Duration) -> CacheUsage {
        let total = prefixes.last().map_or(0, |prefix| prefix.tokens);
        if total < MINIMUM_TOKENS {
            return CacheUsage { input: total, ..CacheUsage::default() };
        }
        let is_live = |used: &Duration| now.saturating_sub(*used) <= lifetime(Ttl::FiveMinutes);
        let known = prefixes.iter().rev().find(|prefix| self.bought.get(&prefix.hash).is_some_and(is_live));
        let read = known.map_or(0, |prefix| prefix.tokens);
        self.bought.extend(prefixes.iter().map(|prefix| (prefix.hash, now)));
        CacheUsage { read, written_5m: total - read, ..CacheUsage::default() }
    }

    /// The model and the options that change how messages are rendered are part of what is hashed; `cache_control` is not.
    fn prefixes(&self, body: &Value, blocks: &[PromptBlock]) -> Vec<Prefix> {
        let mut hasher = DefaultHasher::new();
        body["model"].as_str().hash(&mut hasher);
        let mut tokens = 0;
        let mut previous: Option<&Section> = None;
        let mut prefixes = Vec::with_capacity(blocks.len());
        for block in blocks {
            if previous != Some(&block.section) {
                match &block.section {
                    Section::Tool => "tools".hash(&mut hasher),
                    Section::System => "system".hash(&mut hasher),
                    Section::Message { index, role } => {
                        if *index == 0 {
                            body["tool_choice"].to_string().hash(&mut hasher);
                            body["thinking"].to_string().hash(&mut hasher);
                        }
                        role.hash(&mut hasher);
                    }
                }
            }
            previous = Some(&block.section);
            if !block.is_edit() {
                block.json().hash(&mut hasher);
            }
            tokens += self.tokens_of(block);
            prefixes.push(Prefix { hash: hasher.clone().finish(), tokens });
        }
        prefixes
    }
}

/// Everything up to and including one block.
struct Prefix {
    hash: u64,
    tokens: u64,
}

fn lifetime(ttl: Ttl) -> Duration {
    match ttl {
        Ttl::FiveMinutes => Duration::from_secs(5 * 60),
        Ttl::OneHour => Duration::from_secs(60 * 60),
    }
}

fn breakpoints(blocks: &[PromptBlock]) -> Result<Vec<(usize, Ttl)>, String> {
    let breakpoints: Vec<(usize, Ttl)> = blocks
        .iter()
        .enumerate()
        .filter_map(|(position, block)| Some((position, block.breakpoint?)))
        .collect();
    if breakpoints.len() > MAX_BREAKPOINTS {
        return Err(format!(
            "A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {}.",
            breakpoints.len()
        ));
    }
    let first_short = breakpoints.iter().position(|&(_, ttl)| ttl == Ttl::FiveMinutes);
    let last_long = breakpoints.iter().rposition(|&(_, ttl)| ttl == Ttl::OneHour);
    match (first_short, last_long) {
        (Some(short), Some(long)) if short < long => {
            Err("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
                .to_owned())
        }
        _ => Ok(breakpoints),
    }
}

#[cfg(test)]
mod tests;
