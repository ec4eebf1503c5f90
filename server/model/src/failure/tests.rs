use std::fmt::Write as _;

use expect_test::{Expect, expect};
use reqwest::header::HeaderValue;
use serde_json::json;

use super::*;

fn origin(provider: &'static str) -> Origin {
    let address = if provider == "openai" { "http://127.0.0.1:11434" } else { "https://api.anthropic.com" };
    Origin {
        provider,
        address: address.to_owned(),
        model: "some-model".to_owned(),
        secret: Some(Secret::new("sk-secret")),
    }
}

fn print(error: &ModelError) -> String {
    match error {
        ModelError::Transient { kind, message, retry_after } => {
            let wait = retry_after.map(|wait| format!(" after {wait:?}")).unwrap_or_default();
            format!("{kind:?}{wait}: {message}")
        }
        ModelError::TooLong { message, over_by } => format!("TooLong {over_by:?}: {message}"),
        ModelError::MediaTooLarge { message } => format!("MediaTooLarge: {message}"),
        ModelError::Unsupported { field, message } => format!("Unsupported {field:?}: {message}"),
        ModelError::Fatal { code, message } => format!("{code}: {message}"),
    }
}

fn check(provider: &'static str, cases: &[(u16, &str)], expected: Expect) {
    let mut out = String::new();
    for (status, body) in cases {
        writeln!(out, "{}", print(&from_status(&origin(provider), *status, None, body))).unwrap();
    }
    expected.assert_eq(&out);
}

#[test]
fn anthropic_statuses() {
    check(
        "anthropic",
        &[
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"}}"#,
            ),
            (400, ""),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"}}"#,
            ),
            (
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key sk-secret"}}"#,
            ),
            (402, "{}"),
            (403, "<html><body>Forbidden</body></html>"),
            (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: some-model"}}"#),
            (404, "<!DOCTYPE html><title>Not here</title>"),
            (404, ""),
            (407, ""),
            (408, ""),
            (409, ""),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ),
            (418, "short and stout"),
            (
                429,
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your limit\nof tokens per minute"}}"#,
            ),
            (500, r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#),
            (503, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            (503, "<html>upstream connect error</html>"),
            (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            (302, ""),
        ],
        expect![[r#"
            bad_request: anthropic refused the request (400): messages: at least one message is required
            bad_request: anthropic refused the request (400), without saying why
            no_credit: the account at https://api.anthropic.com has no credit left (400): Your credit balance is too low to access the Anthropic API; add credit, or use another key or model
            TooLong Some(8310): the conversation is too long for some-model (400): prompt is too long: 208310 tokens > 200000 maximum
            TooLong Some(9573): the conversation is too long for some-model (400): input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again
            auth: the API key was refused by https://api.anthropic.com (401): invalid x-api-key [key]; set ANTHROPIC_API_KEY to a valid key (or ANTHROPIC_AUTH_TOKEN to a valid token) and start again
            no_credit: the account at https://api.anthropic.com has no credit left (402); add credit, or use another key or model
            forbidden: the API key may not do this at https://api.anthropic.com (403); use a key with access to some-model, or another model
            model_not_found: anthropic has no model called some-model, or the key may not use it (404): model: some-model; `reverie doctor` lists the known models, the setting "model" chooses one
            protocol: https://api.anthropic.com has no such API (404); check ANTHROPIC_BASE_URL, which must be the base address of the API
            model_not_found: anthropic has no model called some-model, or the key may not use it (404); `reverie doctor` lists the known models, the setting "model" chooses one
            auth: the proxy wants a user name and password (407): put them into HTTPS_PROXY, as in http://user:password@proxy:port
            ServerError: anthropic had an error of its own (408)
            ServerError: anthropic had an error of its own (409)
            TooLong None: the conversation is too long for some-model (413): Request exceeds the maximum size
            bad_request: anthropic refused the request (418): short and stout
            RateLimited: anthropic limits the rate of requests (429): This request would exceed your limit of tokens per minute
            ServerError: anthropic had an error of its own (500): Internal server error
            Overloaded: anthropic is overloaded (503): Overloaded
            ServerError: anthropic had an error of its own (503)
            Overloaded: anthropic is overloaded (529): Overloaded
            protocol: https://api.anthropic.com answered with a redirection (302); check ANTHROPIC_BASE_URL, which must be the base address of the API
        "#]],
    );
}

#[test]
fn openai_statuses() {
    check(
        "openai",
        &[
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion).","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error"}}"#,
            ),
            (
                401,
                r#"{"error":{"message":"Incorrect API key provided: sk-secret.","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            ),
            (404, r#"{"error":"model 'some-model' not found, try pulling it first"}"#),
            (404, r#"{"detail":"Not Found"}"#),
            (422, r#"{"detail":"field required"}"#),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ),
        ],
        expect![[r#"
            TooLong Some(808): the conversation is too long for some-model (400): This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion)
            TooLong Some(904): the conversation is too long for some-model (400): request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it
            auth: the API key was refused by http://127.0.0.1:11434 (401): Incorrect API key provided: [key]; set OPENAI_API_KEY to a valid key and start again
            model_not_found: openai has no model called some-model, or the key may not use it (404): model 'some-model' not found, try pulling it first; `reverie doctor` lists the known models, the setting "model" chooses one
            protocol: http://127.0.0.1:11434 has no such API (404); check OPENAI_BASE_URL, which must be the base address of the API
            bad_request: openai refused the request (422): field required
            no_credit: the account at http://127.0.0.1:11434 has no credit left (429): You exceeded your current quota; add credit, or use another key or model
            RateLimited: openai limits the rate of requests (429): Rate limit reached
        "#]],
    );
}

fn refused(provider: &'static str, status: u16, messages: &[&str], expected: Expect) {
    let mut out = String::new();
    for message in messages {
        let body = json!({"error": {"type": "invalid_request_error", "message": message}}).to_string();
        writeln!(out, "{}", print(&from_status(&origin(provider), status, None, &body))).unwrap();
    }
    expected.assert_eq(&out);
}

#[test]
fn images_and_pdfs_that_are_too_large() {
    refused(
        "anthropic",
        400,
        &[
            "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6083284 bytes > 5242880 bytes",
            "messages.12.content.0.tool_result.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
            "messages.9.content.57.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
            "messages.0.content.0.document.source.base64.data: A maximum of 100 PDF pages may be provided.",
            "messages.0.content.0: Could not process image",
        ],
        expect![[r#"
            MediaTooLarge: an image or a PDF is too large for some-model (400): messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6083284 bytes > 5242880 bytes; make it smaller, send fewer pages, or leave it out
            MediaTooLarge: an image or a PDF is too large for some-model (400): messages.12.content.0.tool_result.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels; make it smaller, send fewer pages, or leave it out
            MediaTooLarge: an image or a PDF is too large for some-model (400): messages.9.content.57.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels; make it smaller, send fewer pages, or leave it out
            MediaTooLarge: an image or a PDF is too large for some-model (400): messages.0.content.0.document.source.base64.data: A maximum of 100 PDF pages may be provided; make it smaller, send fewer pages, or leave it out
            bad_request: anthropic refused the request (400): messages.0.content.0: Could not process image
        "#]],
    );
    refused(
        "openai",
        400,
        &[
            "Image size is 25.1MB, which exceeds the allowed limit of 20.0MB.",
            "Too many images in request. Max is 10.",
            "Invalid image data.",
        ],
        expect![[r#"
            MediaTooLarge: an image or a PDF is too large for some-model (400): Image size is 25.1MB, which exceeds the allowed limit of 20.0MB; make it smaller, send fewer pages, or leave it out
            MediaTooLarge: an image or a PDF is too large for some-model (400): Too many images in request. Max is 10; make it smaller, send fewer pages, or leave it out
            bad_request: openai refused the request (400): Invalid image data
        "#]],
    );
    check(
        "openai",
        &[(
            400,
            r#"{"error":{"message":"The image cannot be used.","type":"image_generation_user_error","code":"image_too_large"}}"#,
        )],
        expect![[r#"
            MediaTooLarge: an image or a PDF is too large for some-model (400): The image cannot be used; make it smaller, send fewer pages, or leave it out
        "#]],
    );
}

#[test]
fn a_request_of_too_many_bytes_or_tokens_is_too_long_whatever_is_in_it() {
    let too_large = r#"{"type":"error","error":{"type":"request_too_large","message":"Request too large: images exceed the limit"}}"#;
    check(
        "anthropic",
        &[(413, too_large), (413, ""), (413, "<html>Request Entity Too Large</html>")],
        expect![[r#"
            TooLong None: the conversation is too long for some-model (413): Request too large: images exceed the limit
            TooLong None: the conversation is too long for some-model (413)
            TooLong None: the conversation is too long for some-model (413)
        "#]],
    );
    refused(
        "anthropic",
        400,
        &[
            "prompt is too long: 210000 tokens > 200000 maximum",
            "prompt is too long: 1,210,000 tokens > 1,000,000 maximum",
            "prompt is too long",
            "Prompt is too long > see the documentation",
        ],
        expect![[r#"
            TooLong Some(10000): the conversation is too long for some-model (400): prompt is too long: 210000 tokens > 200000 maximum
            TooLong Some(210000): the conversation is too long for some-model (400): prompt is too long: 1,210,000 tokens > 1,000,000 maximum
            TooLong None: the conversation is too long for some-model (400): prompt is too long
            TooLong None: the conversation is too long for some-model (400): Prompt is too long > see the documentation
        "#]],
    );
}

#[test]
fn a_refusal_that_names_an_optional_field() {
    let messages = [
        "context_management: Extra inputs are not permitted",
        "Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header.",
        "context_management.edits.0: Input tag 'clear_tool_uses_20250919' found using 'type' does not match any of the expected tags",
        "context_management.edits.0: `clear_thinking_20251015` strategy requires `thinking` to be enabled",
        "messages.4.content.2: Input tag 'cache_edits' found using 'type' does not match any of the expected tags",
        "messages.2.content.0.tool_result.cache_reference: Extra inputs are not permitted",
        "metadata: Extra inputs are not permitted",
    ];
    refused(
        "anthropic",
        400,
        &messages,
        expect![[r#"
        Unsupported ContextManagement: anthropic refused the request (400): context_management: Extra inputs are not permitted
        Unsupported ContextManagement: anthropic refused the request (400): Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header
        Unsupported ContextManagement: anthropic refused the request (400): context_management.edits.0: Input tag 'clear_tool_uses_20250919' found using 'type' does not match any of the expected tags
        Unsupported ClearThinking: anthropic refused the request (400): context_management.edits.0: `clear_thinking_20251015` strategy requires `thinking` to be enabled
        Unsupported CacheEdits: anthropic refused the request (400): messages.4.content.2: Input tag 'cache_edits' found using 'type' does not match any of the expected tags
        Unsupported CacheEdits: anthropic refused the request (400): messages.2.content.0.tool_result.cache_reference: Extra inputs are not permitted
        bad_request: anthropic refused the request (400): metadata: Extra inputs are not permitted
    "#]],
    );
    // Trying without it does not help against these.
    refused(
        "anthropic",
        529,
        &messages[..1],
        expect![[r#"
        Overloaded: anthropic is overloaded (529): context_management: Extra inputs are not permitted
    "#]],
    );
}

#[test]
fn errors_inside_a_stream() {
    let mut out = String::new();
    for kind in [
        "overloaded_error",
        "rate_limit_error",
        "api_error",
        "timeout_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "billing_error",
        "invalid_request_error",
        "request_too_large",
        "something_new",
    ] {
        let report = json!({"type": "error", "error": {"type": kind, "message": "so it is"}});
        writeln!(out, "{}", print(&from_report(&origin("anthropic"), &report))).unwrap();
    }
    expect![[r#"
        Overloaded: anthropic is overloaded: so it is
        RateLimited: anthropic limits the rate of requests: so it is
        ServerError: anthropic had an error of its own: so it is
        ServerError: anthropic had an error of its own: so it is
        auth: the API key was refused by https://api.anthropic.com: so it is; set ANTHROPIC_API_KEY to a valid key (or ANTHROPIC_AUTH_TOKEN to a valid token) and start again
        forbidden: the API key may not do this at https://api.anthropic.com: so it is; use a key with access to some-model, or another model
        model_not_found: anthropic has no model called some-model, or the key may not use it: so it is; `reverie doctor` lists the known models, the setting "model" chooses one
        no_credit: the account at https://api.anthropic.com has no credit left: so it is; add credit, or use another key or model
        bad_request: anthropic refused the request: so it is
        TooLong None: the conversation is too long for some-model: so it is
        ServerError: anthropic had an error of its own: so it is
    "#]].assert_eq(&out);
}

#[test]
fn long_explanations_are_cut_at_a_character() {
    let body = "ä".repeat(5_000);
    let message = from_status(&origin("anthropic"), 500, None, &body).to_string();
    assert!(message.ends_with("ä…") && message.chars().count() < 500, "{message}");
}

#[test]
fn retry_after_in_all_its_forms() {
    let now: Timestamp = "2015-10-21T07:28:00Z".parse().unwrap();
    let mut out = String::new();
    for (name, value) in [
        ("retry-after", "7"),
        ("retry-after", "0.5"),
        ("retry-after", "-3"),
        ("retry-after", "99999999999999999999999999"),
        ("retry-after", "inf"),
        ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"),
        ("retry-after", "Wed, 21 Oct 2015 07:27:30 GMT"),
        ("retry-after", "soon"),
        ("retry-after", ""),
        ("retry-after-ms", "1500"),
        ("other", "1"),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        writeln!(out, "{name}: {value} → {:?}", retry_after(&headers, now)).unwrap();
    }
    expect![[r#"
        retry-after: 7 → Some(7s)
        retry-after: 0.5 → Some(500ms)
        retry-after: -3 → Some(0ns)
        retry-after: 99999999999999999999999999 → Some(18446744073709551615.999999999s)
        retry-after: inf → None
        retry-after: Wed, 21 Oct 2015 07:28:30 GMT → Some(30s)
        retry-after: Wed, 21 Oct 2015 07:27:30 GMT → Some(0ns)
        retry-after: soon → None
        retry-after:  → None
        retry-after-ms: 1500 → Some(1.5s)
        other: 1 → None
    "#]]
    .assert_eq(&out);
}
