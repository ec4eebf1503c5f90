//! A small stand-alone request: another prompt, a cheap model, no tools, no cache; one answer, as text.

use conversation::{Block, RequestMessage, Role, Usage};
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::{ContextEdits, Delta, Event, ModelError, Provider, QuerySource, Request, SystemBlock, Transient};

pub struct SideQuery {
    pub model: String,
    pub system: String,
    pub message: String,
    /// What the answer has to look like.
    pub schema: Option<Value>,
    pub max_tokens: u64,
    pub source: QuerySource,
}

/// One attempt, and one more without the schema where the server does not know what that is. Dropping the future cancels
/// it.
pub async fn ask(provider: &dyn Provider, query: SideQuery) -> Result<(String, Usage), ModelError> {
    let mut request = Request {
        model: query.model,
        system: [SystemBlock { text: query.system, ends_static_part: false }].into(),
        tools: [].into(),
        messages: vec![RequestMessage { role: Role::User, content: vec![Block::text(query.message)] }],
        max_tokens: query.max_tokens,
        output_schema: query.schema,
        source: query.source,
        shared: None,
        context_edits: ContextEdits::default(),
    };
    match read(provider, request.clone()).await {
        Err(ModelError::Fatal { code: "bad_request", message })
            if request.output_schema.is_some() && names_the_schema(&message) =>
        {
            request.output_schema = None;
            read(provider, request).await
        }
        outcome => outcome,
    }
}

/// "A 400 that names the field turns it off."
fn names_the_schema(message: &str) -> bool {
    ["output_config", "output_format", "response_format", "json_schema"]
        .iter()
        .any(|name| message.contains(name))
}

async fn read(provider: &dyn Provider, request: Request) -> Result<(String, Usage), ModelError> {
    let mut events = provider.stream(request).await?;
    let mut text = String::new();
    while let Some(event) = events.next().await {
        match event? {
            Event::BlockDelta { delta: Delta::Text(piece), .. } => text.push_str(&piece),
            Event::Finished { usage, .. } => return Ok((text, usage)),
            Event::Started { .. }
            | Event::BlockStarted { .. }
            | Event::BlockDelta { .. }
            | Event::BlockFinished { .. } => {}
        }
    }
    Err(ModelError::Transient {
        kind: Transient::BrokenStream,
        message: "the model's answer ended in the middle".to_owned(),
        retry_after: None,
    })
}
