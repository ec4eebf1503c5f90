//! The provider's own web search: how it is offered, what its blocks say, and one search as a request of its own.
//!
//! The provider runs it in the middle of an answer. Its blocks (`server_tool_use`, `web_search_tool_result`) are kept
//! as they came ([`Block::Unknown`]) and sent back unchanged: their encrypted content is how the model reads the pages
//! again.

use conversation::{Block, RequestMessage, Role, StopReason, Usage};
use futures_util::StreamExt as _;
use serde_json::{Map, Value, json};

use crate::{
    ContextEdits, Delta, Event, ModelError, Provider, QuerySource, Request, SystemBlock, ToolDefinition,
    catalogue::{ANTHROPIC, ModelSpec},
};

/// The version that every current model has, and which keeps nothing on the provider's side.
const KIND: &str = "web_search_20250305";
/// The only name that the API takes for it.
const NAME: &str = "web_search";

impl ToolDefinition {
    /// The provider's web search. It is stored and restored like any other definition; providers that do not have it
    /// leave it out.
    pub fn web_search(max_uses: u32) -> Self {
        Self {
            name: NAME.to_owned(),
            description: String::new(),
            input_schema: json!({ "type": KIND, "max_uses": max_uses }),
        }
    }

    /// The parameters of a tool that the provider runs itself. A schema says `object` where these say the tool's
    /// version.
    pub fn provider_parameters(&self) -> Option<&Map<String, Value>> {
        let parameters = self.input_schema.as_object()?;
        (parameters.get("type")? == KIND).then_some(parameters)
    }
}

impl ModelSpec {
    /// Whether [`ToolDefinition::web_search`] means anything to the model's provider.
    pub fn has_web_search(&self) -> bool {
        self.provider == ANTHROPIC
    }
}

/// What a block of an answer says about a search, for showing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchStep {
    Started {
        id: String,
        query: String,
    },
    Finished {
        id: String,
        results: usize,
    },
    /// `code` is the provider's: `max_uses_exceeded`, `too_many_requests`, `query_too_long`, `unavailable`, …
    Failed {
        id: String,
        code: String,
    },
}

impl SearchStep {
    /// `None` for a block that is not about a search. Blocks of an answer say it when they start.
    pub fn of(block: &Block) -> Option<Self> {
        let Block::Unknown(value) = block else { return None };
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        match text(value, "type")?.as_str() {
            "server_tool_use" if text(value, "name")? == NAME => {
                let query = value.get("input").and_then(|input| text(input, "query")).unwrap_or_default();
                Some(Self::Started { id: text(value, "id")?, query })
            }
            "web_search_tool_result" => {
                let id = text(value, "tool_use_id")?;
                Some(match value.get("content") {
                    Some(Value::Array(results)) => Self::Finished { id, results: results.len() },
                    content => {
                        let code = content.and_then(|content| text(content, "error_code"));
                        Self::Failed { id, code: code.unwrap_or_else(|| "unavailable".to_owned()) }
                    }
                })
            }
            _ => None,
        }
    }
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The model's summary, without the searches themselves.
    pub answer: String,
    /// Each page once, in the order in which they were found.
    pub pages: Vec<Page>,
    pub usage: Usage,
    pub searches: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub title: String,
    pub url: String,
}

const PROMPT: &str = include_str!("web_search/prompt.md");
const MAX_TOKENS: u64 = 8_000;
const MAX_USES: u32 = 5;
/// "`pause_turn`: the API has paused a long-running turn"; it is continued this often.
const CONTINUATIONS: usize = 3;

/// One search as a request of its own, so that a query can be asked about before it leaves the machine. One attempt,
/// without retries; dropping the future cancels it. `on_step` hears of each search as it happens.
pub async fn search(
    provider: &dyn Provider,
    model: &str,
    query: &str,
    mut on_step: impl FnMut(SearchStep) + Send,
) -> Result<Found, ModelError> {
    let mut messages =
        vec![RequestMessage { role: Role::User, content: vec![Block::text(format!("Search for: {query}"))] }];
    let mut found = Found::default();
    for _ in 0..=CONTINUATIONS {
        let request = Request {
            model: model.to_owned(),
            system: [SystemBlock { text: PROMPT.trim().to_owned(), ends_static_part: true }].into(),
            tools: [ToolDefinition::web_search(MAX_USES)].into(),
            messages: messages.clone(),
            max_tokens: MAX_TOKENS,
            output_schema: None,
            source: QuerySource::WebSearch,
            shared: None,
            context_edits: ContextEdits::default(),
        };
        let (blocks, stop_reason, usage) = read(provider, request, &mut on_step).await?;
        found.usage += usage;
        found.add(&blocks);
        if stop_reason != StopReason::PauseTurn || blocks.is_empty() {
            break;
        }
        messages.push(RequestMessage { role: Role::Assistant, content: blocks });
    }
    Ok(found)
}

async fn read(
    provider: &dyn Provider,
    request: Request,
    on_step: &mut (impl FnMut(SearchStep) + Send),
) -> Result<(Vec<Block>, StopReason, Usage), ModelError> {
    let mut events = provider.stream(request).await?;
    let mut blocks: Vec<Block> = Vec::new();
    while let Some(event) = events.next().await {
        match event? {
            Event::BlockStarted { block, .. } => {
                SearchStep::of(&block).into_iter().for_each(&mut *on_step);
                blocks.push(block);
            }
            Event::BlockDelta { delta: Delta::Text(piece), .. } => {
                if let Some(Block::Text { text }) = blocks.last_mut() {
                    text.push_str(&piece);
                }
            }
            Event::Finished { stop_reason, usage, .. } => {
                blocks.retain(|block| matches!(block, Block::Text { .. } | Block::Unknown(_)));
                return Ok((blocks, stop_reason, usage));
            }
            Event::Started { .. } | Event::BlockDelta { .. } | Event::BlockFinished { .. } => {}
        }
    }
    Err(ModelError::Transient {
        kind: crate::Transient::BrokenStream,
        message: "the model's answer ended in the middle".to_owned(),
        retry_after: None,
    })
}

impl Found {
    fn add(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Text { text } => self.answer.push_str(text),
                Block::Unknown(value) => {
                    self.end_paragraph();
                    self.add_pages(value);
                }
                _ => {}
            }
            if matches!(SearchStep::of(block), Some(SearchStep::Started { .. })) {
                self.searches += 1;
            }
        }
    }

    /// What is said before a search and what is said after it are two things; cited text comes in many pieces.
    fn end_paragraph(&mut self) {
        if !self.answer.is_empty() && !self.answer.ends_with('\n') {
            self.answer.push_str("\n\n");
        }
    }

    fn add_pages(&mut self, block: &Value) {
        let results = block.get("content").and_then(Value::as_array).into_iter().flatten();
        for result in results {
            let text = |name: &str| result.get(name).and_then(Value::as_str).map(str::to_owned);
            let Some(url) = text("url") else { continue };
            if self.pages.iter().all(|page| page.url != url) {
                self.pages.push(Page { title: text("title").unwrap_or_else(|| url.clone()), url });
            }
        }
    }
}

#[cfg(test)]
mod tests;
