//! From a refusal (an HTTP status, an error inside a stream) to a [`ModelError`] in plain words that say what to do.
//!
//! Pure: bodies come in as text, and the words never contain a key.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::{Field, ModelError, Transient, secret::Secret};

/// Who was asked for what: a message names them.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) provider: &'static str,
    /// The base URL without credentials.
    pub(crate) address: String,
    pub(crate) model: String,
    pub(crate) secret: Option<Secret>,
}

impl Origin {
    /// The variables that hold the key and the address, for "set …".
    fn key_variable(&self) -> &'static str {
        if self.provider == "openai" { "OPENAI_API_KEY" } else { "ANTHROPIC_API_KEY" }
    }

    pub(crate) fn address_variable(&self) -> &'static str {
        if self.provider == "openai" { "OPENAI_BASE_URL" } else { "ANTHROPIC_BASE_URL" }
    }

    pub(crate) fn broken_stream(&self, what: &str) -> ModelError {
        self.transient(Transient::BrokenStream, format!("the answer from {} {what}", self.address))
    }

    pub(crate) fn protocol(&self, what: &str) -> ModelError {
        ModelError::Fatal {
            code: "protocol",
            message: format!(
                "{} {what}; check {}, which must be the base address of the API",
                self.address,
                self.address_variable()
            ),
        }
    }

    pub(crate) fn transient(&self, kind: Transient, message: String) -> ModelError {
        ModelError::Transient { kind, message, retry_after: None }
    }

    /// The provider's own words, fit for one line of a message.
    fn quote(&self, words: &str) -> String {
        let words = self.secret.as_ref().map_or_else(|| words.to_owned(), |secret| secret.redact(words));
        let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.trim_end_matches('.').to_owned();
        match line.char_indices().nth(LONGEST_QUOTE) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line,
        }
    }
}

/// Longer explanations are for logs.
const LONGEST_QUOTE: usize = 400;

/// An answer with a status other than success.
pub(crate) fn from_status(
    origin: &Origin,
    status: u16,
    retry_after: Option<Duration>,
    body: &str,
) -> ModelError {
    let report = Report::parse(body);
    if (300..400).contains(&status) {
        return origin.protocol(&format!("answered with a redirection ({status})"));
    }
    let class = report.class(Some(status)).unwrap_or_else(|| Class::of_status(status));
    let html = body.trim_start().starts_with('<');
    if class == Class::NotFound && (html || !report.is_about_the_model()) {
        return origin.protocol("has no such API (404)");
    }
    if status == 407 {
        return ModelError::Fatal {
            code: "auth",
            message: "the proxy wants a user name and password (407): put them into HTTPS_PROXY, as in \
                      http://user:password@proxy:port"
                .to_owned(),
        };
    }
    class.error(origin, &report, &format!(" ({status})"), retry_after)
}

/// An error that arrived inside a stream, or in place of one.
pub(crate) fn from_report(origin: &Origin, report: &Value) -> ModelError {
    let report = Report::of_value(report);
    let class = report.class(None).unwrap_or(Class::Server);
    class.error(origin, &report, "", None)
}

/// `retry-after-ms`, or `retry-after` in seconds or as a date. How much of it to believe is `retry`'s business.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let seconds = |number: f64| Duration::try_from_secs_f64(number.max(0.0)).unwrap_or(Duration::MAX);
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return Some(seconds(milliseconds / 1000.0));
    }
    let value = text("retry-after")?;
    if let Some(number) = number(value) {
        return Some(seconds(number));
    }
    let date = rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// What a body says about the error, in any of the shapes that servers use.
#[derive(Debug, Default)]
struct Report {
    /// `type` and `code`, whichever is there.
    kinds: Vec<String>,
    message: String,
}

impl Report {
    fn parse(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::of_value(&value),
            // A page for browsers explains nothing here.
            Err(_) if body.trim_start().starts_with('<') => Self::default(),
            Err(_) => Self { kinds: Vec::new(), message: body.trim().to_owned() },
        }
    }

    /// `{"error": {"type", "code", "message"}}`, `{"error": "…"}`, `{"message"}`, `{"detail"}`.
    fn of_value(value: &Value) -> Self {
        let error = value.get("error").unwrap_or(value);
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let message = error.as_str().or_else(|| text("message")).or_else(|| text("detail"));
        Self {
            kinds: ["type", "code"].iter().filter_map(|name| text(name)).map(str::to_owned).collect(),
            message: message.unwrap_or_default().to_owned(),
        }
    }

    /// What the body alone tells; a status may say less or the wrong thing (400 for an empty purse).
    fn class(&self, status: Option<u16>) -> Option<Class> {
        let is = |name: &str| self.kinds.iter().any(|kind| kind == name);
        let says = |words: &str| self.message.to_lowercase().contains(words);
        let about_the_request = matches!(status, None | Some(400 | 413 | 422 | 500));
        if is("billing_error") || is("insufficient_quota") || says("credit balance") {
            return Some(Class::NoCredit);
        }
        if about_the_request
            && (is("request_too_large")
                || is("context_length_exceeded")
                || is("exceed_context_size_error")
                || [
                    "prompt is too long",
                    "context limit",
                    "maximum context length",
                    "available context size",
                ]
                .iter()
                .any(|words| says(words)))
        {
            return Some(Class::TooLong);
        }
        if about_the_request && self.is_about_large_media() {
            return Some(Class::MediaTooLarge);
        }
        if matches!(status, None | Some(400 | 422))
            && let Some(field) = self.refused_field()
        {
            return Some(Class::Unsupported(field));
        }
        let classes = [
            ("overloaded_error", Class::Overloaded),
            ("rate_limit_error", Class::RateLimited),
            ("rate_limit_exceeded", Class::RateLimited),
            ("authentication_error", Class::Auth),
            ("invalid_api_key", Class::Auth),
            ("permission_error", Class::Forbidden),
            ("not_found_error", Class::NotFound),
            ("model_not_found", Class::NotFound),
        ];
        let by_kind = classes.into_iter().find(|(kind, _)| is(kind)).map(|(_, class)| class);
        match status {
            // Some proxies put Anthropic's overload into a 500 or a 503.
            Some(_) => by_kind.filter(|class| *class == Class::Overloaded),
            None => by_kind.or_else(|| is("invalid_request_error").then_some(Class::BadRequest)),
        }
    }

    /// `image exceeds 5 MB maximum`, `A maximum of 100 PDF pages may be provided`, `image_too_large` …
    fn is_about_large_media(&self) -> bool {
        let message = self.message.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
        let is_medium = says(&["image", "pdf"]);
        let is_large = says(&["exceed", "too large", "too big", "maximum of", "too many"]);
        (is_medium && is_large) || self.kinds.iter().any(|kind| kind == "image_too_large")
    }

    /// "A 400 that names the field."
    fn refused_field(&self) -> Option<Field> {
        const NAMES: [(&str, Field); 6] = [
            ("clear_thinking", Field::ClearThinking),
            ("context_management", Field::ContextManagement),
            ("context-management", Field::ContextManagement),
            ("clear_tool_uses", Field::ContextManagement),
            ("cache_edits", Field::CacheEdits),
            ("cache_reference", Field::CacheEdits),
        ];
        NAMES.into_iter().find(|(name, _)| self.message.contains(name)).map(|(_, field)| field)
    }

    fn is_about_the_model(&self) -> bool {
        (self.kinds.is_empty() && self.message.is_empty())
            || self.kinds.iter().any(|kind| kind == "not_found_error" || kind == "model_not_found")
            || self.message.to_lowercase().contains("model")
    }

    /// How far over the limit, if the message has the numbers: `A tokens > B`, `A + B > C`, or limit and size in
    /// either order.
    fn over_by(&self) -> Option<u64> {
        if let Some((left, right)) = self.message.split_once('>') {
            let left = left.rsplit(':').next().unwrap_or(left);
            let size: u64 = numbers(left).into_iter().fold(0, u64::saturating_add);
            return size.checked_sub(*numbers(right).first()?).filter(|over| *over > 0);
        }
        match numbers(&self.message).as_slice() {
            [first, second, ..] => Some(first.abs_diff(*second)).filter(|over| *over > 0),
            _ => None,
        }
    }
}

/// The whole numbers of three digits and more: smaller ones belong to names.
fn numbers(text: &str) -> Vec<u64> {
    text.split(|character: char| !character.is_ascii_digit() && character != ',' && character != '_')
        .map(|part| part.replace([',', '_'], ""))
        .filter(|digits| digits.len() >= 3)
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Auth,
    Forbidden,
    NotFound,
    NoCredit,
    TooLong,
    MediaTooLarge,
    Unsupported(Field),
    BadRequest,
    RateLimited,
    Overloaded,
    Server,
}

impl Class {
    fn of_status(status: u16) -> Self {
        match status {
            401 => Self::Auth,
            402 => Self::NoCredit,
            403 => Self::Forbidden,
            404 => Self::NotFound,
            413 => Self::TooLong,
            429 => Self::RateLimited,
            529 => Self::Overloaded,
            408 | 409 | 425 => Self::Server,
            400..500 => Self::BadRequest,
            _ => Self::Server,
        }
    }

    fn error(
        self,
        origin: &Origin,
        report: &Report,
        status: &str,
        retry_after: Option<Duration>,
    ) -> ModelError {
        let Origin { provider, address, model, .. } = origin;
        let quoted = origin.quote(&report.message);
        let words = if quoted.is_empty() { String::new() } else { format!(": {quoted}") };
        let fatal = |code: &'static str, message: String| ModelError::Fatal { code, message };
        let transient =
            |kind: Transient, message: String| ModelError::Transient { kind, message, retry_after };
        match self {
            Self::Auth => {
                let also =
                    if *provider == "anthropic" { " (or ANTHROPIC_AUTH_TOKEN to a valid token)" } else { "" };
                fatal(
                    "auth",
                    format!(
                        "the API key was refused by {address}{status}{words}; set {} to a valid key{also} and start again",
                        origin.key_variable()
                    ),
                )
            }
            Self::Forbidden => fatal(
                "forbidden",
                format!(
                    "the API key may not do this at {address}{status}{words}; use a key with access to {model}, or another model"
                ),
            ),
            Self::NotFound => fatal(
                "model_not_found",
                format!(
                    "{provider} has no model called {model}, or the key may not use it{status}{words}; `reverie doctor` \
                     lists the known models, the setting \"model\" chooses one"
                ),
            ),
            Self::NoCredit => fatal(
                "no_credit",
                format!(
                    "the account at {address} has no credit left{status}{words}; add credit, or use another key or model"
                ),
            ),
            Self::TooLong => ModelError::TooLong {
                message: format!("the conversation is too long for {model}{status}{words}"),
                over_by: report.over_by(),
            },
            Self::MediaTooLarge => ModelError::MediaTooLarge {
                message: format!(
                    "an image or a PDF is too large for {model}{status}{words}; make it smaller, send fewer pages, or \
                     leave it out"
                ),
            },
            Self::Unsupported(field) => ModelError::Unsupported {
                field,
                message: format!("{provider} refused the request{status}{words}"),
            },
            Self::BadRequest => {
                let words = if words.is_empty() { ", without saying why" } else { words.as_str() };
                fatal("bad_request", format!("{provider} refused the request{status}{words}"))
            }
            Self::RateLimited => transient(
                Transient::RateLimited,
                format!("{provider} limits the rate of requests{status}{words}"),
            ),
            Self::Overloaded => {
                transient(Transient::Overloaded, format!("{provider} is overloaded{status}{words}"))
            }
            Self::Server => transient(
                Transient::ServerError,
                format!("{provider} had an error of its own{status}{words}"),
            ),
        }
    }
}

#[cfg(test)]
mod tests;
