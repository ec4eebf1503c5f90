use conversation::*;
use futures_util::StreamExt as _;
use model::*;
use std::time::Instant;
fn rss() -> String {
    std::fs::read_to_string("/proc/self/status").unwrap().lines().filter(|l| l.starts_with("VmRSS")).collect()
}
fn main() {
    println!("start {}", rss());
    let http = model::http::Http::default();
    for url in ["http://127.0.0.1:1", "http://example.com", "https://api.anthropic.com"] {
        let t = Instant::now();
        http.prepare(url);
        println!("{url}: {:?} {}", t.elapsed(), rss());
    }
    let mut messages = Vec::new();
    for round in 0..1000 {
        messages.push(RequestMessage {
            role: Role::User,
            content: vec![Block::text("fn main() { println!(\"hello\"); }\n".repeat(18))],
        });
        messages.push(RequestMessage {
            role: Role::Assistant,
            content: vec![
                Block::text("I see."),
                Block::ToolUse {
                    id: format!("t{round}"),
                    name: "Read".into(),
                    input: serde_json::json!({"file_path": "/a"}),
                },
            ],
        });
    }
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    rt.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::<Instant>::new()));
        let s2 = seen.clone();
        let body = std::fs::read("server/model/fixtures/anthropic/text.sse").unwrap();
        tokio::spawn(async move {
            use tokio::io::*;
            loop {
                let (mut c, _) = listener.accept().await.unwrap();
                let body = body.clone(); let s2 = s2.clone();
                println!("connection");
                tokio::spawn(async move {
                    let mut buf = vec![0; 1<<20]; let mut have = 0usize; let mut need = usize::MAX; let mut first = true;
                    loop {
                        let n = c.read(&mut buf).await.unwrap(); if n == 0 { return; }
                        if first { s2.lock().unwrap().push(Instant::now()); first = false;
                            let t = String::from_utf8_lossy(&buf[..n]).to_string(); let (h, _) = t.split_once("\r\n\r\n").unwrap();
                            need = h.len() + 4 + h.lines().find_map(|l| l.strip_prefix("content-length: ")).unwrap().parse::<usize>().unwrap(); }
                        have += n;
                        if have >= need { have = 0; first = true;
                            c.write_all(format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n", body.len()).as_bytes()).await.unwrap();
                            c.write_all(&body).await.unwrap(); c.write_all(b"\r\n0\r\n\r\n").await.unwrap(); }
                    }
                });
            }
        });
        let p = model::anthropic::Anthropic::new(model::anthropic::Config{ base_url, credential: Some(model::anthropic::Credential::ApiKey(model::secret::Secret::new("k"))), http, patience: Default::default() });
        for i in 0..6 {
            let request = Request{ model: "m".into(), system: vec![].into(), tools: vec![].into(), messages: if i < 3 { messages[..1].to_vec() } else { messages.clone() }, max_tokens: 1, source: QuerySource::Main };
            let t = Instant::now();
            let mut st = p.stream(request).await.unwrap();
            while st.next().await.is_some() {}
            let end = t.elapsed();
            let at = *seen.lock().unwrap().last().unwrap();
            println!("request {i}: on the wire after {:?}, done after {end:?} {}", at - t, rss());
        }
    });
}
