//! The Messages API: how to ask it. What is sent is in `wire`, where it is cached in `breakpoints`, what comes back
//! in `stream`.

mod breakpoints;
mod stream;
mod wire;

pub use self::breakpoints::Breakpoints;
pub(crate) use self::breakpoints::{is_sent, system_is_sent};

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};
use reqwest::{
    Response,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    ContextEdits, EventStream, ModelError, Provider, Request, Supports,
    failure::{self, Origin},
    http::{self, Endpoint, Http, Patience},
    secret::Secret,
    sse,
};

pub const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

const VERSION: &str = "2023-06-01";
const LONG_CONTEXT_BETA: &str = "context-1m-2025-08-07";
const CONTEXT_MANAGEMENT_BETA: &str = "context-management-2025-06-27";

#[derive(Clone, Debug)]
pub struct Config {
    pub base_url: String,
    /// Without one every request fails, in words that say how to get one.
    pub credential: Option<Credential>,
    pub http: Http,
    pub patience: Patience,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// `x-api-key`.
    ApiKey(Secret),
    /// `authorization: Bearer`.
    Token(Secret),
}

impl Credential {
    fn secret(&self) -> &Secret {
        match self {
            Self::ApiKey(secret) | Self::Token(secret) => secret,
        }
    }
}

#[derive(Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
    credential: Option<Credential>,
}

impl Anthropic {
    pub fn new(config: Config) -> Self {
        let endpoint = Endpoint {
            provider: "anthropic",
            http: config.http,
            patience: config.patience,
            base_url: Endpoint::normalise(&config.base_url),
            secret: config.credential.as_ref().map(|credential| credential.secret().clone()),
        };
        Self { endpoint, credential: config.credential }
    }

    /// How many tokens the provider counts in `request`. Costs a round trip: ask only when a decision hangs on it.
    pub async fn count_tokens(&self, request: &Request) -> Result<u64, ModelError> {
        #[derive(Deserialize)]
        struct Count {
            input_tokens: u64,
        }
        let origin = self.endpoint.origin(&request.model);
        let body = wire::count_body(request).map_err(|error| unwritable(&error))?;
        let response = self.post("/v1/messages/count_tokens", request, body, &origin).await?;
        let text = http::read_text(response, LARGEST_JSON, self.endpoint.patience.idle).await;
        let count: Result<Count, _> = serde_json::from_str(&text);
        count.map(|count| count.input_tokens).map_err(|_| origin.broken_stream("has no token count in it"))
    }

    async fn start(&self, request: Request) -> Result<EventStream, ModelError> {
        let origin = Arc::new(self.endpoint.origin(&request.model));
        let body = wire::body(&request).map_err(|error| unwritable(&error))?;
        tracing::debug!(
            source = request.source.as_str(),
            model = request.model,
            bytes = body.len(),
            "request"
        );
        let response = self.post("/v1/messages", &request, body, &origin).await?;
        drop(request);
        let patience = self.endpoint.patience;
        match http::media_type(&response).as_str() {
            "text/html" => Err(origin.protocol("answered with a web page instead of a stream")),
            "application/json" => {
                let text = http::read_text(response, LARGEST_JSON, patience.idle).await;
                Err(match serde_json::from_str::<Value>(&text) {
                    Ok(report) if report.get("error").is_some() => failure::from_report(&origin, &report),
                    _ if text.is_empty() => origin.broken_stream("was empty"),
                    _ => origin.protocol("answered at once instead of with a stream"),
                })
            }
            _ => {
                let body = sse::body(response, &origin, patience.idle);
                let decoder = stream::Messages::new(Arc::clone(&origin));
                Ok(sse::events(body, decoder, origin, patience))
            }
        }
    }

    async fn post(
        &self,
        path: &str,
        request: &Request,
        body: Vec<u8>,
        origin: &Origin,
    ) -> Result<Response, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        let betas = betas(request).join(",");
        if !betas.is_empty()
            && let Ok(betas) = HeaderValue::from_str(&betas)
        {
            headers.insert("anthropic-beta", betas);
        }
        let Some(credential) = &self.credential else { return Err(missing_key()) };
        let (name, value) = match credential {
            Credential::ApiKey(key) => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
            Credential::Token(token) => (AUTHORIZATION, format!("Bearer {}", token.expose())),
        };
        let Ok(mut value) = HeaderValue::from_str(&value) else {
            return Err(unusable_key("ANTHROPIC_API_KEY"));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
        self.endpoint.post(path, headers, body, origin).await
    }
}

/// An answer that is not a stream is small.
const LARGEST_JSON: usize = 1024 * 1024;

impl Provider for Anthropic {
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        self.start(request).boxed()
    }

    /// `cache_edits` are not for everybody: the user switches them on, and a server that does not know them says so.
    fn supports(&self, model: &str) -> Supports {
        let manages = manages_context(model);
        Supports { context_management: manages, cache_edits: manages }
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<u64>> {
        async move {
            let counted = self.count_tokens(request).await;
            counted.inspect_err(|error| tracing::warn!(%error, "the tokens could not be counted")).ok()
        }
        .boxed()
    }
}

/// What is asked for that is not in the API for everybody.
fn betas(request: &Request) -> Vec<&'static str> {
    let ContextEdits { clear_tool_uses, clear_thinking, cache_deletions: _ } = &request.context_edits;
    let long_context = request.model.ends_with(wire::LONG_CONTEXT_SUFFIX).then_some(LONG_CONTEXT_BETA);
    let manages_context = clear_tool_uses.is_some() || clear_thinking.is_some();
    let context_management = manages_context.then_some(CONTEXT_MANAGEMENT_BETA);
    long_context.into_iter().chain(context_management).collect()
}

/// "Claude 4 and later": the names before it begin with their number, or are not Claude's.
fn manages_context(model: &str) -> bool {
    let older = ["1", "2", "3", "instant"];
    model.strip_prefix("claude-").is_some_and(|rest| !older.iter().any(|older| rest.starts_with(older)))
}

/// For a model of this provider and no key.
pub(crate) fn missing_key() -> ModelError {
    ModelError::Fatal {
        code: "auth",
        message: "no API key for anthropic: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) and start again, or choose \
                  the model \"offline\""
            .to_owned(),
    }
}

pub(crate) fn unusable_key(variable: &str) -> ModelError {
    let message = format!("the API key contains characters that no key has; check {variable}");
    ModelError::Fatal { code: "auth", message }
}

pub(crate) fn unwritable(error: &serde_json::Error) -> ModelError {
    ModelError::Fatal { code: "bad_request", message: format!("the request cannot be written: {error}") }
}

#[cfg(test)]
mod tests;
