//! LSP's frames: `Content-Length`, an empty line, JSON.

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

pub fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The next message; `None` at the end of the stream. A server that breaks the framing fails the test, in words.
pub async fn read_frame(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Value>, String> {
    let mut length = None;
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line).await {
            Ok(0) if length.is_none() && line.is_empty() => return Ok(None),
            Ok(0) => return Err("the stream ends inside a header".to_owned()),
            Ok(_) => {}
            // A killed server resets its pipes; that is an end like any other.
            Err(_) => return Ok(None),
        }
        let header = line.strip_suffix("\r\n").ok_or_else(|| format!("a header ends wrongly: {line:?}"))?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(": ").ok_or_else(|| format!("not a header: {header:?}"))?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.parse::<usize>().map_err(|error| format!("{header}: {error}"))?);
        }
    }
    let mut body = vec![0; length.ok_or("a frame without Content-Length")?];
    if reader.read_exact(&mut body).await.is_err() {
        return Ok(None);
    }
    serde_json::from_slice(&body).map(Some).map_err(|error| format!("a frame is not JSON: {error}"))
}
