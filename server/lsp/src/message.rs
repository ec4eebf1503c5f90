//! JSON-RPC messages as they come in: what kind a body is, and what is wrong with it if it is none.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id};

/// A well-formed message. Params are JSON that nobody has looked at yet.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    Request { id: Id, method: Cow<'a, str>, params: Option<&'a RawValue> },
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    Response { id: Id, outcome: Result<&'a RawValue, Error> },
}

/// A body that is no message: what to answer, and to whom.
#[derive(Debug, PartialEq)]
pub(crate) struct BadMessage {
    /// `Null` where the sender's id cannot be read.
    pub id: Id,
    pub code: ErrorCode,
    pub message: String,
}

pub(crate) fn parse(body: &[u8]) -> Result<Incoming<'_>, BadMessage> {
    let text = std::str::from_utf8(body).map_err(|error| {
        bad(Id::Null, ErrorCode::ParseError, format!("the message is not UTF-8: {error}"))
    })?;
    if text.trim_ascii_start().starts_with('[') {
        let problem = "batches are not part of the Language Server Protocol".to_owned();
        return Err(bad(Id::Null, ErrorCode::InvalidRequest, problem));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        let code = if error.is_data() { ErrorCode::InvalidRequest } else { ErrorCode::ParseError };
        bad(Id::Null, code, error.to_string())
    })?;
    let id = match envelope.id {
        None => None,
        Some(raw) => Some(serde_json::from_str::<Id>(raw.get()).map_err(|_error| {
            let problem = format!("the id {} is neither an integer nor a string", shown(raw.get()));
            bad(Id::Null, ErrorCode::InvalidRequest, problem)
        })?),
    };
    let invalid =
        |problem: &str| bad(id.clone().unwrap_or_default(), ErrorCode::InvalidRequest, problem.to_owned());
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(invalid("`jsonrpc` is not \"2.0\""));
    }
    let Some(method) = envelope.method else {
        let outcome = match (envelope.result, envelope.error) {
            (_, Some(error)) if error.get() != "null" => Err(read_error(error)),
            (Some(result), _) => Ok(result),
            (None, _) => return Err(invalid("the message has neither a method nor a result")),
        };
        return Ok(Incoming::Response { id: id.unwrap_or_default(), outcome });
    };
    let method: Cow<'_, str> = match serde_json::from_str::<Name<'_>>(method.get()) {
        Ok(Name(method)) => method,
        Err(_error) => return Err(invalid("`method` is not a string")),
    };
    Ok(match id {
        Some(id) => Incoming::Request { id, method, params: envelope.params },
        None => Incoming::Notification { method, params: envelope.params },
    })
}

/// Every member is optional here, so that whatever is missing is answered with the id that is there.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Keeps `null` apart from absence: a `result` of null is a result.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The client's error; one that has not the required form still is an error.
fn read_error(raw: &RawValue) -> Error {
    #[derive(Deserialize)]
    struct Lenient {
        #[serde(default)]
        code: i64,
        #[serde(default)]
        message: String,
    }
    let lenient: Lenient = serde_json::from_str(raw.get())
        .unwrap_or_else(|_error| Lenient { code: 0, message: shown(raw.get()).to_owned() });
    Error { code: ErrorCode::from(lenient.code), message: lenient.message.into(), data: None }
}

fn bad(id: Id, code: ErrorCode, message: String) -> BadMessage {
    BadMessage { id, code, message }
}

fn shown(text: &str) -> &str {
    text.get(..text.floor_char_boundary(80)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(body: &str, expected: Expect) {
        let shown = match parse(body.as_bytes()) {
            Ok(Incoming::Request { id, method, params }) => {
                format!("request {id} {method} {}", params.map_or("-", RawValue::get))
            }
            Ok(Incoming::Notification { method, params }) => {
                format!("notification {method} {}", params.map_or("-", RawValue::get))
            }
            Ok(Incoming::Response { id, outcome: Ok(result) }) => format!("response {id} {result}"),
            Ok(Incoming::Response { id, outcome: Err(error) }) => {
                format!("response {id} error {} {}", error.code, error.message)
            }
            Err(bad) => format!("bad {} {} {}", bad.id, bad.code, bad.message),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn kinds_are_told_apart() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[1]}}"#,
            expect![[r#"request 1 a {"x":[1]}"#]],
        );
        check(r#"{"jsonrpc":"2.0","id":"x","method":"a"}"#, expect![[r#"request "x" a -"#]]);
        check(r#"{"jsonrpc":"2.0","method":"a","params":null}"#, expect!["notification a null"]);
        check(r#"{"jsonrpc":"2.0","id":7,"result":null}"#, expect!["response 7 null"]);
        check(r#"{"jsonrpc":"2.0","id":7,"result":1,"error":null}"#, expect!["response 7 1"]);
        check(
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no","x":1}}"#,
            expect!["response 7 error -32601 no"],
        );
        check(r#"{"jsonrpc":"2.0","id":7,"error":"odd"}"#, expect![[r#"response 7 error 0 "odd""#]]);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"a\u0062"}"#, expect!["request 1 ab -"]);
    }

    #[test]
    fn what_is_no_message_is_answered_with_the_id_it_has() {
        check("", expect!["bad null -32700 EOF while parsing a value at line 1 column 0"]);
        check("{", expect!["bad null -32700 EOF while parsing an object at line 1 column 1"]);
        check("nonsense", expect!["bad null -32700 expected ident at line 1 column 2"]);
        check(
            "17",
            expect![
                "bad null -32600 invalid type: integer `17`, expected struct Envelope at line 1 column 2"
            ],
        );
        check(" [{}]", expect!["bad null -32600 batches are not part of the Language Server Protocol"]);
        check("{}", expect![[r#"bad null -32600 `jsonrpc` is not "2.0""#]]);
        check(
            r#"{"jsonrpc":"1.0","id":3,"method":"a"}"#,
            expect![[r#"bad 3 -32600 `jsonrpc` is not "2.0""#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":3}"#,
            expect!["bad 3 -32600 the message has neither a method nor a result"],
        );
        check(r#"{"jsonrpc":"2.0","id":3,"method":5}"#, expect!["bad 3 -32600 `method` is not a string"]);
        check(
            r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#,
            expect!["bad null -32600 the id 1.5 is neither an integer nor a string"],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#,
            expect!["bad null -32600 duplicate field `id` at line 1 column 28"],
        );
    }

    #[test]
    fn a_body_that_is_not_utf8_is_a_parse_error() {
        let bad = parse(b"{\"jsonrpc\":\"\xFF\"}").unwrap_err();
        assert_eq!((bad.id, bad.code), (Id::Null, ErrorCode::ParseError));
    }

    #[test]
    fn deep_nesting_is_passed_on_unread() {
        let params = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{params}}}"#);
        assert!(matches!(parse(body.as_bytes()), Ok(Incoming::Request { id: Id::Number(1), .. })));
    }
}
