//! What is sent of a thread: the fold of all that was decided about it. Reading only; the thread stays as it is.

mod freed;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use conversation::{Block, Body, Flags, Message, ResultContent, record::derived_uuid};
use uuid::Uuid;

use crate::{
    event::{Event, Recorded, ResultRef},
    measure::Tokens,
    microcompact::CLEARED,
    reactive::without_media,
};
use freed::Freed;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projection {
    results: HashMap<Uuid, Vec<ResultState>>,
    snipped: HashSet<Uuid>,
    marker: String,
    cache_edits: Vec<ResultRef>,
    staged: Vec<Span>,
    commits: Vec<Commit>,
    /// Which commit stands for a message.
    collapsed: HashMap<Uuid, usize>,
    /// Messages that are sent without their images and documents.
    without_media: HashSet<Uuid>,
    notes_upto: Option<Uuid>,
    extracted_upto: Option<Uuid>,
    skills: Vec<Skill>,
    freed: Vec<Freed>,
}

/// A span that waits to be collapsed; both ends belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub first: Uuid,
    pub last: Uuid,
    /// `None`: nobody has written it yet.
    pub summary: Option<String>,
}

/// A span that a text is sent instead of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub first: Uuid,
    pub last: Uuid,
    pub messages: Vec<Uuid>,
    /// The whole text sent.
    pub summary: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct ResultState {
    tool_use_id: String,
    /// What is sent instead.
    text: Option<String>,
    is_cleared: bool,
    /// In the provider's cache; it is still sent.
    is_deleted: bool,
}

impl Projection {
    /// Events of after a message that is not in the thread do not count. Skills are
    /// the session's, not the thread's: every compaction would end them.
    pub fn replay(events: &[Recorded], thread: &[Arc<Message>]) -> Self {
        let present: HashSet<Uuid> = thread.iter().map(|message| message.uuid).collect();
        let mut projection = Self::default();
        for recorded in events {
            let counts = recorded.after.is_none_or(|after| present.contains(&after));
            match &recorded.event {
                Event::Skill { .. } => projection.apply(recorded),
                _ if counts => projection.apply(recorded),
                _ => {}
            }
        }
        projection
    }

    pub fn apply(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::Stored { results } => {
                for result in results {
                    self.state_mut(result.message, &result.tool_use_id).text = Some(result.text.clone());
                }
            }
            Event::Snipped { removed, marker } => {
                self.snipped.extend(removed);
                self.marker.clone_from(marker);
                self.unpin(|message| removed.contains(&message));
            }
            Event::Cleared { results } => {
                self.unpin(|_| true);
                for result in results {
                    let state = self.state_mut(result.message, &result.tool_use_id);
                    state.text = Some(CLEARED.to_owned());
                    state.is_cleared = true;
                }
            }
            Event::CacheEdits { deleted } => {
                for result in deleted {
                    let state = self.state_mut(result.message, &result.tool_use_id);
                    if !std::mem::replace(&mut state.is_deleted, true) {
                        self.cache_edits.push(result.clone());
                    }
                }
            }
            Event::Staged { first, last } => self.stage(*first, *last, None),
            Event::Summarised { first, last, summary } => self.stage(*first, *last, Some(summary.clone())),
            Event::Collapsed { first, last, messages, summary } => {
                self.staged.retain(|span| span.first != *first);
                self.unpin(|message| messages.contains(&message));
                self.collapsed.extend(messages.iter().map(|message| (*message, self.commits.len())));
                let (messages, summary) = (messages.clone(), summary.clone());
                self.commits.push(Commit { first: *first, last: *last, messages, summary });
            }
            Event::MediaDropped { messages } => self.without_media.extend(messages),
            Event::Notes { upto } => self.notes_upto = Some(*upto),
            Event::Extracted { upto } => self.extracted_upto = Some(*upto),
            Event::Skill { name, text } => {
                self.skills.retain(|skill| skill.name != *name);
                self.skills.insert(0, Skill { name: name.clone(), text: text.clone() });
            }
            Event::Compacted(_) => {
                self.staged.clear();
                self.commits.clear();
                self.collapsed.clear();
                self.unpin(|_| true);
                self.freed.retain(|freed| !freed.ends_with_compaction);
            }
            Event::Remark => {}
        }
        self.freed.extend(Freed::by(recorded));
    }

    /// Borrowed wherever nothing changes.
    pub fn view<'a>(&self, thread: &'a [Arc<Message>]) -> Vec<Cow<'a, Message>> {
        if self.results.is_empty()
            && self.snipped.is_empty()
            && self.collapsed.is_empty()
            && self.without_media.is_empty()
        {
            return thread.iter().map(|message| Cow::Borrowed(&**message)).collect();
        }
        self.sent(thread).into_iter().map(|(_, message)| message).collect()
    }

    /// What is sent, with its place in the thread; what stands for several messages has the place of the first.
    pub(crate) fn sent<'a>(&self, thread: &'a [Arc<Message>]) -> Vec<(usize, Cow<'a, Message>)> {
        let mut sent = Vec::with_capacity(thread.len());
        let (mut has_marker, mut summaries) = (false, HashSet::new());
        for (at, message) in thread.iter().enumerate() {
            if self.snipped.contains(&message.uuid) {
                if !std::mem::replace(&mut has_marker, true) {
                    sent.push((at, Cow::Owned(stand_in(message, "snip", &self.marker))));
                }
                continue;
            }
            let commit = self.collapsed.get(&message.uuid).copied();
            if let Some(commit) = commit.and_then(|index| self.commits.get(index)) {
                if summaries.insert(commit.first) {
                    sent.push((at, Cow::Owned(stand_in(message, "collapse", &commit.summary))));
                }
                continue;
            }
            let shown = self.with_results(message);
            let is_stripped = self.without_media.contains(&message.uuid);
            sent.push((at, if is_stripped { without_media(shown) } else { shown }));
        }
        sent
    }

    /// Whether the result is not sent as it stands in the thread.
    pub fn is_changed(&self, message: Uuid, tool_use_id: &str) -> bool {
        let state = self.state(message, tool_use_id);
        self.is_left_out(message) || state.is_some_and(|state| state.text.is_some() || state.is_deleted)
    }

    /// Tokens freed by what was decided after the last response that reported a usage: that usage still counts
    /// them.
    pub fn freed_since(&self, thread: &[Arc<Message>]) -> u64 {
        freed::since_last_report(&self.freed, thread)
    }

    /// Pinned: in the order they were first sent in. None of them is about a message that is left out.
    pub fn cache_edits(&self) -> &[ResultRef] {
        &self.cache_edits
    }

    /// Spans that wait, oldest decision first.
    pub fn staged(&self) -> &[Span] {
        &self.staged
    }

    /// The log of collapsed spans.
    pub fn commits(&self) -> &[Commit] {
        &self.commits
    }

    /// The newest first.
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    pub fn notes_upto(&self) -> Option<Uuid> {
        self.notes_upto
    }

    /// How far what is worth a memory was taken out of the conversation.
    pub fn extracted_upto(&self) -> Option<Uuid> {
        self.extracted_upto
    }

    /// Snipped or collapsed.
    pub(crate) fn is_left_out(&self, message: Uuid) -> bool {
        self.snipped.contains(&message) || self.collapsed.contains_key(&message)
    }

    pub(crate) fn is_snipped(&self, message: Uuid) -> bool {
        self.snipped.contains(&message)
    }

    pub(crate) fn commit_of(&self, message: Uuid) -> Option<&Commit> {
        self.collapsed.get(&message).and_then(|index| self.commits.get(*index))
    }

    pub(crate) fn is_cleared(&self, result: &ResultRef) -> bool {
        self.state(result.message, &result.tool_use_id).is_some_and(|state| state.is_cleared)
    }

    pub(crate) fn is_deleted(&self, result: &ResultRef) -> bool {
        self.state(result.message, &result.tool_use_id).is_some_and(|state| state.is_deleted)
    }

    /// The message with what is sent instead of its results.
    pub(crate) fn with_results<'a>(&self, message: &'a Message) -> Cow<'a, Message> {
        let states = self.results.get(&message.uuid).map_or(&[][..], Vec::as_slice);
        if states.iter().all(|state| state.text.is_none()) {
            return Cow::Borrowed(message);
        }
        with_results(message, &|id| {
            states.iter().find(|state| state.tool_use_id == id).and_then(|state| state.text.as_deref())
        })
    }

    /// What the message takes of the window, as it is sent and without what is deleted in the cache.
    pub(crate) fn tokens_of(&self, message: &Message, tokens: Tokens<'_>) -> u64 {
        let sent = self.with_results(message);
        let states = self.results.get(&message.uuid).map_or(&[][..], Vec::as_slice);
        if !states.iter().any(|state| state.is_deleted) {
            return tokens(&sent);
        }
        let is_deleted = |id: &str| states.iter().any(|state| state.is_deleted && state.tool_use_id == id);
        tokens(&with_results(&sent, &|id| is_deleted(id).then_some("")))
    }

    fn state(&self, message: Uuid, tool_use_id: &str) -> Option<&ResultState> {
        self.results.get(&message)?.iter().find(|state| state.tool_use_id == tool_use_id)
    }

    fn state_mut(&mut self, message: Uuid, tool_use_id: &str) -> &mut ResultState {
        let states = self.results.entry(message).or_default();
        let known = states.iter().position(|state| state.tool_use_id == tool_use_id);
        // The one at hand goes to the end, where it can be lent out whether it was there or not.
        let state = known
            .map(|at| states.remove(at))
            .unwrap_or_else(|| ResultState { tool_use_id: tool_use_id.to_owned(), ..ResultState::default() });
        states.push_mut(state)
    }

    fn stage(&mut self, first: Uuid, last: Uuid, summary: Option<String>) {
        match self.staged.iter_mut().find(|span| span.first == first) {
            Some(span) => span.summary = summary.or(span.summary.take()),
            None => self.staged.push(Span { first, last, summary }),
        }
    }

    fn unpin(&mut self, goes: impl Fn(Uuid) -> bool) {
        let (gone, pinned) =
            std::mem::take(&mut self.cache_edits).into_iter().partition(|edit| goes(edit.message));
        self.cache_edits = pinned;
        let gone: Vec<ResultRef> = gone;
        for edit in gone {
            self.state_mut(edit.message, &edit.tool_use_id).is_deleted = false;
        }
    }
}

/// The message with other texts for some of its results.
pub(crate) fn with_results<'a, 'text>(
    message: &'a Message,
    instead: &dyn Fn(&str) -> Option<&'text str>,
) -> Cow<'a, Message> {
    let Body::User { content } = &message.body else { return Cow::Borrowed(message) };
    let replaced = content.iter().map(|block| match block {
        Block::ToolResult { tool_use_id, is_error, .. } => match instead(tool_use_id) {
            Some(text) => Block::ToolResult {
                tool_use_id: tool_use_id.clone(),
                content: ResultContent::Text(text.to_owned()),
                is_error: *is_error,
            },
            None => block.clone(),
        },
        block => block.clone(),
    });
    let body = Body::User { content: replaced.collect() };
    let Message { uuid, parent, timestamp, flags, .. } = *message;
    Cow::Owned(Message { uuid, parent, timestamp, flags, body })
}

/// A message of ours in the place of another and what follows it.
fn stand_in(first: &Message, purpose: &str, text: &str) -> Message {
    Message {
        uuid: derived_uuid(first.uuid, purpose),
        parent: first.parent,
        timestamp: first.timestamp,
        flags: Flags { meta: true, compact_summary: false, sidechain: first.flags.sidechain },
        body: Body::User { content: vec![Block::text(text)] },
    }
}

#[cfg(test)]
mod tests;
