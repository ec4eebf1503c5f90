//! `WebSearch`: a search of the web by the model's provider, as a request of its own, so that the user can be asked
//! about the query before it leaves the machine.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use model::{ModelSpec, Provider, QuerySource, SearchStep, web_search};
use permissions::Access;
use serde_json::{Value, json};
use tools::{Tool, ToolContext, ToolFailure, ToolOutput, untrusted};

use crate::session::Session;

pub(crate) const NAME: &str = "WebSearch";

/// What the provider asks for each search, besides the tokens.
const FEE_USD: f64 = 0.01;

const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct WebSearch {
    pub session: Arc<Session>,
    pub provider: Arc<dyn Provider>,
    pub spec: ModelSpec,
}

impl Tool for WebSearch {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> String {
        "Searches the web and returns a summary with the pages it comes from. Use it for what is newer than your \
         knowledge or not in the workspace; WebFetch reads a page whose address is known."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "query": { "type": "string", "description": "What to look for, in words." } },
            "required": ["query"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &Value, _context: &ToolContext) -> Result<Access, ToolFailure> {
        query(input).map(|query| Access::Search { query })
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let (session, provider, spec) =
            (Arc::clone(&self.session), Arc::clone(&self.provider), self.spec.clone());
        Box::pin(async move {
            let query = query(&input)?;
            let shown = context.progress.clone();
            let searching = web_search::search(&*provider, &spec.name, &query, move |step| {
                if let Some(line) = words(&step) {
                    shown(line);
                }
            });
            let found = tokio::select! {
                found = tokio::time::timeout(LIMIT, searching) => found,
                () = context.cancel.cancelled() => return Err(ToolFailure("the search was cancelled".to_owned())),
            };
            let found = found
                .map_err(|_| ToolFailure(format!("the search did not end within {} s", LIMIT.as_secs())))?
                .map_err(|error| ToolFailure(format!("the search failed: {error}")))?;
            session.book(&spec, &QuerySource::WebSearch, found.usage, found.searches as f64 * FEE_USD);
            let mut text = found.answer;
            text.push_str("\n\nPages:");
            for page in &found.pages {
                text.push_str(&format!("\n- {} {}", page.title, page.url));
            }
            Ok(ToolOutput::text(untrusted::wrap("web_search", "", &text)))
        })
    }
}

fn query(input: &Value) -> Result<String, ToolFailure> {
    match input.get("query").and_then(Value::as_str).map(str::trim) {
        Some(query) if !query.is_empty() => Ok(query.to_owned()),
        _ => Err(ToolFailure("WebSearch needs a query: {\"query\": \"words\"}".to_owned())),
    }
}

fn words(step: &SearchStep) -> Option<String> {
    match step {
        SearchStep::Started { query, .. } if query.is_empty() => None,
        SearchStep::Started { query, .. } => Some(format!("searching for {query}\n")),
        SearchStep::Finished { results, .. } => Some(format!("{results} results\n")),
        SearchStep::Failed { code, .. } => Some(format!("a search failed: {code}\n")),
    }
}
