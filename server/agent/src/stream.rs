//! One response: the stream put together block by block, with its retries.
//!
//! What is shown while it streams is void if the stream breaks: the client is told to drop it and the request is
//! made again. Tool calls that change nothing start while the rest still streams; their results are thrown away with
//! a broken response, so nothing runs twice that matters and nothing runs from half an input.

use conversation::{Block, StopReason, Usage};
use futures_util::StreamExt;
use jiff::Timestamp;
use model::{AppliedEdit, Delta, Event, ModelError, Request, retry::Backoff};
use serde_json::{Map, Value};

use crate::{
    event::{AgentEvent, NoticeLevel},
    tool_round::{Call, ToolRound},
    turn::Turn,
};

/// A whole response. `blocks` is what goes into the history.
#[derive(Debug)]
pub(crate) struct Response {
    pub id: String,
    pub model: String,
    pub blocks: Vec<Block>,
    pub calls: Vec<Call>,
    pub stop_reason: StopReason,
    pub usage: Usage,
    /// What the provider has left out of the conversation by itself.
    pub applied: Vec<AppliedEdit>,
}

impl Response {
    /// Its words.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

pub(crate) enum Failure {
    /// The user stopped the turn; the complete and the readable of what had arrived.
    Cancelled {
        blocks: Vec<Block>,
    },
    Model(ModelError),
}

/// After this many overloads in a row the fallback model is asked, where one is set.
const OVERLOADS_BEFORE_FALLBACK: u32 = 3;

/// Asks until a whole response is there, the retries are used up, or the turn is cancelled. Calls that may start
/// early are running in the returned round.
pub(crate) async fn respond(
    turn: &mut Turn,
    request: impl Fn(&Turn) -> Request,
) -> Result<(Response, ToolRound), Failure> {
    let mut backoff = Backoff::new(seed());
    let mut overloads = 0;
    loop {
        let mut round = ToolRound::new(turn);
        let mut partial = Partial::default();
        let attempt = attempt(turn, request(turn), &mut partial, &mut round);
        let error = match turn.cancel.run_until_cancelled(attempt).await {
            Some(Ok(response)) => return Ok((response, round)),
            Some(Err(error)) => error,
            None => {
                round.abandon().await;
                turn.book(partial.usage);
                return Err(Failure::Cancelled { blocks: partial.readable_blocks() });
            }
        };
        round.abandon().await;
        turn.book(partial.usage);
        let Some(delay) = backoff.next_delay(&error) else {
            return Err(Failure::Model(error));
        };
        let discard = !partial.blocks.is_empty();
        turn.emit(AgentEvent::Retry {
            attempt: backoff.attempt(),
            delay,
            reason: error.to_string(),
            discard,
        });
        tracing::warn!(session = %turn.session.id, attempt = backoff.attempt(), %error, "the request is repeated");
        overloads = if is_overload(&error) { overloads + 1 } else { 0 };
        if overloads == OVERLOADS_BEFORE_FALLBACK {
            switch_to_fallback(turn);
        }
        if turn.cancel.run_until_cancelled(tokio::time::sleep(delay)).await.is_none() {
            return Err(Failure::Cancelled { blocks: Vec::new() });
        }
    }
}

/// A whole response that nobody watches, in one attempt; an error comes with what it cost.
pub(crate) async fn whole(
    provider: &dyn model::Provider,
    request: Request,
) -> Result<Response, (ModelError, Usage)> {
    let mut partial = Partial::default();
    read(provider, request, &mut partial, |_| {}).await.map_err(|error| (error, partial.usage))
}

async fn attempt(
    turn: &Turn,
    request: Request,
    partial: &mut Partial,
    round: &mut ToolRound,
) -> Result<Response, ModelError> {
    turn.session.state().window.watch.before(&request, Timestamp::now());
    let shown = |seen| match seen {
        Seen::Piece(event) => turn.emit(event),
        Seen::Call(call) => round.offer(call),
    };
    read(&*turn.opening.provider, request, partial, shown).await
}

/// What is there of a response before it is whole.
enum Seen {
    Piece(AgentEvent),
    Call(Call),
}

async fn read(
    provider: &dyn model::Provider,
    request: Request,
    partial: &mut Partial,
    mut see: impl FnMut(Seen),
) -> Result<Response, ModelError> {
    let mut events = provider.stream(request).await?;
    let mut started = None;
    while let Some(event) = events.next().await {
        match event? {
            Event::Started { id, model, usage } => {
                started = Some((id, model));
                partial.usage = usage;
            }
            Event::BlockStarted { index, block } => partial.start(index, block),
            Event::BlockDelta { index, delta } => {
                partial.extend(index, delta).into_iter().for_each(|event| see(Seen::Piece(event)));
            }
            Event::BlockFinished { index } => {
                partial.finish(index).into_iter().for_each(|call| see(Seen::Call(call)));
            }
            Event::Finished { stop_reason, usage, applied } => {
                let (id, model) = started.unwrap_or_default();
                let (blocks, calls) = partial.take(&stop_reason);
                return Ok(Response { id, model, blocks, calls, stop_reason, usage, applied });
            }
        }
    }
    Err(ended_in_the_middle())
}

fn ended_in_the_middle() -> ModelError {
    ModelError::Transient {
        kind: model::Transient::BrokenStream,
        message: "the model's answer ended in the middle".to_owned(),
        retry_after: None,
    }
}

/// The blocks of a response under construction, by the provider's index.
#[derive(Default)]
struct Partial {
    blocks: Vec<(usize, Building)>,
    /// What the provider has counted so far; paid for even if nothing comes of it.
    usage: Usage,
}

struct Building {
    block: Block,
    input: String,
    finished: bool,
}

impl Partial {
    fn start(&mut self, index: usize, block: Block) {
        self.blocks.push((index, Building { block, input: String::new(), finished: false }));
    }

    /// Takes a delta; returns what to show of it.
    fn extend(&mut self, index: usize, delta: Delta) -> Option<AgentEvent> {
        let (_, building) = self.blocks.iter_mut().rev().find(|(at, _)| *at == index)?;
        match (&mut building.block, delta) {
            (Block::Text { text }, Delta::Text(piece)) => {
                text.push_str(&piece);
                Some(AgentEvent::TextDelta { text: piece })
            }
            (Block::Thinking { thinking, .. }, Delta::Thinking(piece)) => {
                thinking.push_str(&piece);
                Some(AgentEvent::ThinkingDelta { text: piece })
            }
            (Block::Thinking { signature, .. }, Delta::Signature(piece)) => {
                signature.push_str(&piece);
                None
            }
            (_, Delta::InputJson(piece)) => {
                building.input.push_str(&piece);
                None
            }
            _ => None,
        }
    }

    /// Closes a block; returns the call if it is one whose input is whole.
    fn finish(&mut self, index: usize) -> Option<Call> {
        let (_, building) = self.blocks.iter_mut().rev().find(|(at, _)| *at == index)?;
        building.finished = true;
        let Block::ToolUse { id, name, input } = &mut building.block else { return None };
        if !building.input.is_empty() {
            *input = parse_input(&building.input)?;
        }
        input.is_object().then(|| Call { id: id.clone(), name: name.clone(), input: Ok(input.clone()) })
    }

    /// The finished response: its blocks and its calls, unusable ones with the reason.
    fn take(&mut self, stop_reason: &StopReason) -> (Vec<Block>, Vec<Call>) {
        let cut = *stop_reason == StopReason::MaxTokens;
        let mut blocks = Vec::new();
        let mut calls = Vec::new();
        let last = self.blocks.len().saturating_sub(1);
        for (position, (_, building)) in std::mem::take(&mut self.blocks).into_iter().enumerate() {
            let Building { mut block, input: text, finished } = building;
            if let Block::ToolUse { id, name, input } = &mut block {
                let whole = if text.is_empty() {
                    (!(cut && position == last)).then(|| input.clone()).filter(Value::is_object)
                } else {
                    parse_input(&text)
                };
                let usable = match whole {
                    Some(whole) if finished => Ok(whole),
                    _ if cut => Err("the input was cut off by the output limit, so the call was not run; \
                                     make it again in smaller pieces"
                        .to_owned()),
                    _ => {
                        Err("the input was not a JSON object, so the call was not run; make it again"
                            .to_owned())
                    }
                };
                *input = usable.clone().unwrap_or_else(|_| Value::Object(Map::new()));
                calls.push(Call { id: id.clone(), name: name.clone(), input: usable });
            }
            if !matches!(&block, Block::Text { text } if text.trim().is_empty()) {
                blocks.push(block);
            }
        }
        (blocks, calls)
    }

    /// What can stay of a response that the user stopped: text, as far as it came, and finished thinking.
    fn readable_blocks(self) -> Vec<Block> {
        let blocks: Vec<Block> = self
            .blocks
            .into_iter()
            .filter(|(_, building)| match &building.block {
                Block::Text { text } => !text.trim().is_empty(),
                Block::Thinking { .. } | Block::RedactedThinking { .. } => building.finished,
                _ => false,
            })
            .map(|(_, building)| building.block)
            .collect();
        // Thinking that nothing follows is refused by the API as the end of a message.
        if blocks.iter().any(|block| matches!(block, Block::Text { .. })) { blocks } else { Vec::new() }
    }
}

fn parse_input(text: &str) -> Option<Value> {
    serde_json::from_str::<Map<String, Value>>(text).ok().map(Value::Object)
}

fn is_overload(error: &ModelError) -> bool {
    matches!(error, ModelError::Transient { kind: model::Transient::Overloaded, .. })
}

fn switch_to_fallback(turn: &mut Turn) {
    let Some(name) = turn.settings.fallback_model.clone() else { return };
    let models = turn.session.shared.models(&turn.settings);
    match models.resolve(Some(&name)) {
        Ok((spec, provider)) => {
            let text = format!("{} is overloaded; {} answers this turn", turn.opening.spec.id(), spec.id());
            turn.session.remark(Some(&turn.id), "model", text.clone(), false);
            turn.notice(NoticeLevel::Warning, text);
            turn.opening.spec = spec;
            turn.opening.provider = provider;
        }
        Err(error) => {
            turn.notice(NoticeLevel::Warning, format!("the fallback model cannot be used: {error}"))
        }
    }
}

/// Spreads the retries of many sessions; nothing depends on its quality.
pub(crate) fn seed() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |time| time.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn tool(input: &str) -> Building {
        let block = Block::ToolUse { id: "t1".to_owned(), name: "Read".to_owned(), input: json!({}) };
        Building { block, input: input.to_owned(), finished: true }
    }

    fn check(blocks: Vec<Building>, stop_reason: StopReason, expected: Expect) {
        let mut partial =
            Partial { blocks: blocks.into_iter().enumerate().collect(), usage: Usage::default() };
        let (blocks, calls) = partial.take(&stop_reason);
        let calls: Vec<_> = calls.into_iter().map(|call| call.input).collect();
        expected.assert_eq(&format!("{}\n{calls:?}\n", serde_json::to_string(&blocks).unwrap()));
    }

    #[test]
    fn a_whole_input_is_a_call() {
        check(
            vec![tool(r#"{"file_path":"a"}"#)],
            StopReason::ToolUse,
            expect![[r#"
            [{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a"}}]
            [Ok(Object {"file_path": String("a")})]
        "#]],
        );
    }

    #[test]
    fn an_input_cut_by_the_output_limit_is_never_run() {
        check(
            vec![tool(r#"{"file_path":"a"#)],
            StopReason::MaxTokens,
            expect![[r#"
            [{"type":"tool_use","id":"t1","name":"Read","input":{}}]
            [Err("the input was cut off by the output limit, so the call was not run; make it again in smaller pieces")]
        "#]],
        );
        // Nothing of the input had come yet: that is not a call without arguments.
        check(
            vec![tool("")],
            StopReason::MaxTokens,
            expect![[r#"
            [{"type":"tool_use","id":"t1","name":"Read","input":{}}]
            [Err("the input was cut off by the output limit, so the call was not run; make it again in smaller pieces")]
        "#]],
        );
    }

    #[test]
    fn an_input_that_is_no_object_is_never_run() {
        check(
            vec![tool("[1]")],
            StopReason::ToolUse,
            expect![[r#"
            [{"type":"tool_use","id":"t1","name":"Read","input":{}}]
            [Err("the input was not a JSON object, so the call was not run; make it again")]
        "#]],
        );
        check(
            vec![tool("{]")],
            StopReason::ToolUse,
            expect![[r#"
            [{"type":"tool_use","id":"t1","name":"Read","input":{}}]
            [Err("the input was not a JSON object, so the call was not run; make it again")]
        "#]],
        );
    }

    #[test]
    fn a_call_without_arguments_is_a_call() {
        check(
            vec![tool("")],
            StopReason::ToolUse,
            expect![[r#"
            [{"type":"tool_use","id":"t1","name":"Read","input":{}}]
            [Ok(Object {})]
        "#]],
        );
    }

    #[test]
    fn of_a_stopped_answer_the_text_stays_and_half_thoughts_go() {
        let thought = |finished| Building {
            block: Block::Thinking { thinking: "hm".to_owned(), signature: String::new() },
            input: String::new(),
            finished,
        };
        let text = || Building { block: Block::text("so far"), input: String::new(), finished: false };
        let keep = |blocks: Vec<Building>| {
            let partial =
                Partial { blocks: blocks.into_iter().enumerate().collect(), usage: Usage::default() };
            partial.readable_blocks().len()
        };
        assert_eq!(keep(vec![thought(true), text(), tool("{}")]), 2);
        assert_eq!(keep(vec![thought(false), text()]), 1);
        assert_eq!(keep(vec![thought(true)]), 0);
    }
}
