//! Puts together what stands in for the conversation, and makes it the conversation, in one write.

use std::sync::Arc;

use context::{CompactionRecord, Entry, Event, Recorded, Trigger, estimate};
use conversation::{
    Attachment, Block, Body, COMPACT_BOUNDARY, Compaction, Flags, Message, PreservedSegment, Record,
};
use jiff::Timestamp;
use uuid::Uuid;

use super::{Compacted, Job, Part, Plan, Refusal, restore};
use crate::{
    event::NoticeLevel,
    instructions::{self, Sheet},
    meter, opening,
    session::{Opening, Session},
    window::Undo,
};

/// What a compaction adds to the transcript, and the thread it makes.
struct Group {
    boundary: Uuid,
    /// The boundary, the summary, and what comes with it.
    messages: Vec<Arc<Message>>,
    thread: Vec<Arc<Message>>,
}

/// Which instructions the conversation knows. Rendering anew reads them anew; a compaction that is not carried through
/// leaves them as they were.
struct Known<'a> {
    session: &'a Session,
    sheet: Option<Sheet>,
}

impl Drop for Known<'_> {
    fn drop(&mut self) {
        if let Some(sheet) = self.sheet.take() {
            *self.session.instructions() = sheet;
        }
    }
}

/// What the context would be large after it.
pub(super) fn size(job: &Job<'_>, thread: &[Arc<Message>], plan: &Plan) -> u64 {
    let group = assemble(job, thread, plan, &[], Uuid::now_v7());
    job.opening.size(job.session, &group.thread)
}

pub(super) async fn commit(
    job: &Job<'_>,
    thread: &[Arc<Message>],
    plan: Plan,
    before: u64,
) -> Result<(Compacted, Opening), Refusal> {
    let session = job.session;
    session.shared.faults.reach("compaction: summary");
    let mut known = Known { session, sheet: Some(session.instructions().clone()) };
    let boundary = Uuid::now_v7();
    // What comes before is kept, and the cache with it.
    let renewed = match plan.part == Part::From {
        true => None,
        false => Some(
            opening::renewed(session, job.settings, job.opening, boundary)
                .await
                .map_err(|error| Refusal::Failed(error.to_string()))?,
        ),
    };
    let opening = renewed.as_ref().map_or_else(|| job.opening.clone(), |(opening, _)| opening.clone());
    let mut restored = restore::attachments(job, thread, &plan).await;
    if job.cancel.is_cancelled() {
        return Err(Refusal::Cancelled);
    }
    let mut group = assemble(job, thread, &plan, &restored, boundary);
    let mut after = opening.size(session, &group.thread);
    // Files that fill up again what was freed are better read when they are needed.
    while (after > before / 2 && restore::leave_out_file(&mut restored))
        || (after >= before && restored.pop().is_some())
    {
        group = assemble(job, thread, &plan, &restored, boundary);
        after = opening.size(session, &group.thread);
    }
    if after >= before {
        let text = format!("the summary would not be shorter: {before} tokens before it, {after} after it");
        let fits = after <= meter::budget(session, job.settings, &job.opening.spec).blocking_limit();
        // What the user asked for is done, unless nothing could be said after it.
        if job.trigger != Trigger::Manual || !fits {
            return Err(Refusal::Failed(text));
        }
        session.notice(job.turn, NoticeLevel::Warning, text);
    }
    describe(&mut group, job, thread, &plan, (before, after));
    let summarised = plan.summarised.len() as u64;
    let entry = Entry {
        layer: plan.part.layer().to_owned(),
        detail: detail(&plan, before, after),
        messages: summarised,
        tokens_freed: before.saturating_sub(after),
        cache_kept: plan.part == Part::From,
        original: Some(boundary.to_string()),
    };
    let compaction = CompactionRecord {
        layer: plan.part.layer().to_owned(),
        trigger: job.trigger,
        messages: summarised,
        tokens_before: before,
        tokens_after: after,
        score: plan.score,
    };
    let written = {
        let mut state = session.state();
        let recorded = Recorded {
            at: Timestamp::now(),
            after: Some(boundary),
            event: Event::Compacted(compaction),
            entry: Some(entry.clone()),
        };
        // Of messages that stay behind a summary, all was decided after one that stays too.
        let carried = match plan.part == Part::From {
            true => {
                let kept = thread.get(plan.kept.clone()).unwrap_or_default();
                state.window.carried(thread, kept, boundary)
            }
            false => Vec::new(),
        };
        let (first, rest) = group
            .messages
            .split_first()
            .map_or((None, [].as_slice()), |(first, rest)| (Some(Arc::clone(first)), rest));
        let mut records: Vec<Record> = first.into_iter().map(Record::Message).collect();
        for recorded in [&recorded].into_iter().chain(&carried) {
            records.push(Record::Context(serde_json::to_value(recorded).unwrap_or_default()));
        }
        records.push(Record::Context(crate::window::kept_todos(&session.todos.get())));
        records.extend(renewed.map(|(_, prefix)| Record::Prefix(prefix)));
        records.extend(rest.iter().map(|message| Record::Message(Arc::clone(message))));
        let undo = Undo {
            thread: std::mem::replace(&mut state.thread, group.thread),
            tip: state.tip,
            rendered: state.rendered.clone(),
            sheet: known.sheet.take().unwrap_or_default(),
        };
        state.tip = group.messages.last().map(|message| message.uuid);
        state.rendered = Some(opening.rendered.clone());
        [recorded].into_iter().chain(carried).for_each(|recorded| state.window.push(recorded));
        state.window.watch.announce();
        state.window.undo = Some(undo);
        state.window.failures = 0;
        // From here on it is known what notes cover.
        state.window.resumed = false;
        session.write_all(&mut state, &records)
    };
    session.report_write(written);
    instructions::settle(session);
    session.show_change(job.turn, &entry);
    session.keep_window();
    session.shared.faults.reach("compaction: done");
    session.sync_in_background();
    let done = Compacted {
        layer: plan.part.layer(),
        tokens_before: before,
        tokens_after: after,
        summary: plan.summary,
    };
    Ok((done, opening))
}

fn assemble(
    job: &Job<'_>,
    thread: &[Arc<Message>],
    plan: &Plan,
    restored: &[Attachment],
    boundary: Uuid,
) -> Group {
    let tip = job.session.state().tip;
    let now = Timestamp::now();
    let message = |uuid, parent, flags, body| Arc::new(Message { uuid, parent, timestamp: now, flags, body });
    let mut messages = vec![
        message(boundary, tip, Flags::default(), Body::notice(COMPACT_BOUNDARY, BOUNDARY)),
        message(
            Uuid::now_v7(),
            Some(boundary),
            Flags { meta: true, compact_summary: true, sidechain: false },
            Body::User { content: vec![Block::text(&plan.message)] },
        ),
    ];
    for attachment in restored {
        let parent = messages.last().map(|message| message.uuid);
        let flags = Flags { meta: true, ..Flags::default() };
        messages.push(message(Uuid::now_v7(), parent, flags, Body::Attachment(attachment.clone())));
    }
    let kept = thread.get(plan.kept.clone()).unwrap_or_default().iter().cloned();
    let thread = if plan.part == Part::From {
        let rest = messages.iter().skip(1).cloned();
        messages.iter().take(1).cloned().chain(kept).chain(rest).collect()
    } else {
        messages.iter().cloned().chain(kept).collect()
    };
    Group { boundary, messages, thread }
}

const BOUNDARY: &str = "The conversation was compacted here.";

/// Writes onto the boundary what the compaction did.
fn describe(
    group: &mut Group,
    job: &Job<'_>,
    old: &[Arc<Message>],
    plan: &Plan,
    (before, after): (u64, u64),
) {
    let last = group.messages.last().map(|message| message.uuid);
    let kept = old.get(plan.kept.clone()).unwrap_or_default();
    let anchor = if plan.part == Part::From { Some(group.boundary) } else { last };
    let segment = match (kept.first(), anchor, kept.last()) {
        (Some(head), Some(anchor_uuid), Some(tail)) => {
            Some(PreservedSegment { head_uuid: head.uuid, anchor_uuid, tail_uuid: tail.uuid })
        }
        _ => None,
    };
    let compaction = Compaction {
        trigger: if job.trigger == Trigger::Manual { "manual" } else { "auto" }.to_owned(),
        pre_tokens: before,
        // One that is no gain was the user's wish.
        post_tokens: Some(after).filter(|after| *after < before),
        // By the measure of whoever checks it later, which knows nothing of what was learnt about this model.
        summary_tokens: Some(estimate::tokens_of_text(&plan.message)),
        compacted_message_uuid: plan.summarised.end.checked_sub(1).and_then(|at| old.get(at)).map(|m| m.uuid),
        pre_compact_discovered_tools: late_tools(job.opening),
        preserved_segment: segment,
        complete_with: last,
    };
    let Some(boundary) = group.messages.first_mut() else { return };
    if let Body::System { compaction: said, .. } = &mut Arc::make_mut(boundary).body {
        *said = Some(Box::new(compaction));
    }
    if let Some(first) = group.thread.first_mut() {
        *first = Arc::clone(boundary);
    }
}

/// Tools of servers, which come and go; what is sent still has them.
fn late_tools(opening: &Opening) -> Vec<String> {
    let names = opening.rendered.tools.iter().map(|tool| tool.name.as_str());
    names.filter(|name| name.starts_with("mcp__")).map(str::to_owned).collect()
}

fn detail(plan: &Plan, before: u64, after: u64) -> String {
    let what = match plan.part {
        Part::Noted => "the notes of this session stand in for",
        Part::Whole | Part::From | Part::UpTo => "a summary stands in for",
    };
    let mut text =
        format!("{what} {} messages: {before} tokens before, {after} after", plan.summarised.len());
    if let Some(score) = plan.score {
        text.push_str(&format!("; {:.0} of 9 sections", score * 9.0));
    }
    match plan.kept.len() {
        0 => {}
        1 => text.push_str("; 1 message stays as it is"),
        count => text.push_str(&format!("; {count} messages stay as they are")),
    }
    text
}
