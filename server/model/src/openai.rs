//! Chat completions, as OpenAI, Ollama, llama.cpp, vLLM and LM Studio serve them: how to ask. What is sent is in
//! `wire`, what comes back in `stream`.

mod stream;
mod wire;

use std::{collections::HashSet, sync::Arc, time::Duration};

use bytes::Bytes;
use conversation::Block;
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use crate::{
    EventStream, ModelError, Provider, Request,
    anthropic::{unusable_key, unwritable},
    http::{self, Endpoint, Http, Patience},
    secret::Secret,
    sse,
};

pub const DEFAULT_BASE_URL: &str = "https://api.openai.com";

#[derive(Clone, Debug)]
pub struct Config {
    /// With or without `/v1` at the end.
    pub base_url: String,
    /// Servers on one's own machine want none.
    pub key: Option<Secret>,
    pub http: Http,
    pub patience: Patience,
}

/// A model on a laptop reads a long prompt for minutes before it says its first word.
pub const LOCAL_PATIENCE: Patience = Patience {
    response: Duration::from_secs(900),
    idle: Duration::from_secs(300),
    content: Duration::from_secs(900),
};

#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
}

impl OpenAi {
    pub fn new(config: Config) -> Self {
        let endpoint = Endpoint {
            provider: "openai",
            http: config.http,
            patience: config.patience,
            base_url: Endpoint::normalise(&config.base_url),
            secret: config.key,
        };
        Self { endpoint }
    }

    async fn start(&self, request: Request) -> Result<EventStream, ModelError> {
        let origin = Arc::new(self.endpoint.origin(&request.model));
        let limit = wire::OutputLimit::of_server(&self.endpoint.base_url);
        let body = wire::body(&request, limit).map_err(|error| unwritable(&error))?;
        tracing::debug!(
            source = request.source.as_str(),
            model = request.model,
            bytes = body.len(),
            "request"
        );
        let earlier_calls = call_ids(&request);
        drop(request);
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.endpoint.secret {
            let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", key.expose())) else {
                return Err(unusable_key("OPENAI_API_KEY"));
            };
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let response = self.endpoint.post("/v1/chat/completions", headers, body, &origin).await?;
        let patience = self.endpoint.patience;
        let body = match http::media_type(&response).as_str() {
            "text/html" => return Err(origin.protocol("answered with a web page instead of a stream")),
            // A server that does not stream: its whole answer is one event.
            "application/json" => {
                let text = http::read_text(response, LARGEST_JSON, patience.idle).await;
                let event = Bytes::from(format!("data: {}\n\n", text.replace(['\n', '\r'], " ")));
                futures_util::stream::iter([Ok(event)]).boxed()
            }
            _ => sse::body(response, &origin, patience.idle),
        };
        let decoder = stream::Completion::new(Arc::clone(&origin), earlier_calls);
        Ok(sse::events(body, decoder, origin, patience))
    }
}

fn call_ids(request: &Request) -> HashSet<String> {
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    let ids = blocks.filter_map(|block| match block {
        Block::ToolUse { id, .. } => Some(id.clone()),
        _ => None,
    });
    ids.collect()
}

const LARGEST_JSON: usize = 4 * 1024 * 1024;

impl Provider for OpenAi {
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        self.start(request).boxed()
    }
}

#[cfg(test)]
mod tests;
