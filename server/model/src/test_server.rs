//! A server for tests of the providers: on loopback, answers each request with prepared bytes and keeps what it was
//! sent.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    pub(crate) then: Then,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Close,
    /// Says nothing more and keeps the connection.
    Stall,
    /// Waits for the next request on the same connection.
    KeepAlive,
}

impl Reply {
    /// A status with a body, closed afterwards.
    pub(crate) fn status(status: u16, headers: &str, body: &str) -> Self {
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
        Self { bytes: [head.as_bytes(), body.as_bytes()].concat(), then: Then::Close }
    }

    /// A stream whose end is the end of the connection, so that a cut looks like an end.
    pub(crate) fn stream(body: &[u8], then: Then) -> Self {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n";
        Self { bytes: [head, body].concat(), then }
    }

    /// The same as one chunk; whole, with the chunk that ends it.
    pub(crate) fn chunked(body: &[u8], then: Then) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let size = format!("{:x}\r\n", body.len());
        Self { bytes: [head.as_bytes(), size.as_bytes(), body, b"\r\n0\r\n\r\n"].concat(), then }
    }
}

pub(crate) struct TestServer {
    pub(crate) base_url: String,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<String>,
}

impl TestServer {
    /// Gives the replies in turn, and the last one for ever.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = (Arc::clone(&seen), Arc::new(replies));
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let (seen, replies) = shared.clone();
                seen.lock().unwrap().connections += 1;
                tokio::spawn(serve(connection, seen, replies));
            }
        });
        Self { base_url, seen }
    }

    /// Head and body of all requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }
}

async fn serve(mut connection: TcpStream, seen: Arc<Mutex<Seen>>, replies: Arc<Vec<Reply>>) {
    while let Some(request) = read_request(&mut connection).await {
        let reply = {
            let mut seen = seen.lock().unwrap();
            seen.requests.push(request);
            let number = seen.requests.len().min(replies.len()) - 1;
            replies[number].clone()
        };
        if connection.write_all(&reply.bytes).await.is_err() {
            return;
        }
        match reply.then {
            Then::KeepAlive => {}
            Then::Stall => std::future::pending().await,
            Then::Close => return,
        }
    }
}

async fn read_request(connection: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            if body.len() >= length.parse().unwrap() {
                return Some(text.into_owned());
            }
        }
        let mut buffer = [0; 16 * 1024];
        match connection.read(&mut buffer).await {
            Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}
