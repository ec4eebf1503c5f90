use std::{process::Command, sync::Arc};
use conversation::*;
use futures_util::{FutureExt, StreamExt};
use model::{offline::Offline, *};
use serde_json::{json, Value};

fn run(tool: &str, input: &Value) -> Result<String, String> {
    let text = |f: &str| input.get(f).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |f: &str, d: u64| input.get(f).and_then(Value::as_u64).unwrap_or(d) as usize;
    match tool {
        "Read" => {
            let file = std::fs::read_to_string(text("file_path")).map_err(|e| e.to_string())?;
            Ok(file.lines().enumerate().skip(number("offset", 1) - 1).take(number("limit", 2000)).map(|(i, l)| format!("{:6}→{l}\n", i + 1)).collect())
        }
        "Grep" => {
            let path = input.get("path").and_then(Value::as_str);
            let mut c = Command::new("git");
            if path.is_some() { return Ok(String::new()); }
            c.args(["grep", "-nIiE", "--untracked", &text("pattern")]);
            let out = c.output().map_err(|e| e.to_string())?;
            let s = String::from_utf8_lossy(&out.stdout).into_owned();
            Ok(s.lines().take(number("head_limit", 100)).map(|l| format!("{l}\n")).collect())
        }
        "Glob" => {
            let out = Command::new("git").args(["ls-files", "-co", "--exclude-standard", &format!(":(glob){}", text("pattern"))]).output().map_err(|e| e.to_string())?;
            Ok(String::from_utf8_lossy(&out.stdout).into_owned())
        }
        _ => Err("no".into()),
    }
}

fn main() {
    let cwd = std::env::current_dir().unwrap();
    for question in std::env::args().skip(1) {
        let mut messages = vec![RequestMessage { role: Role::User, content: vec![Block::text(&question)] }, RequestMessage { role: Role::Assistant, content: vec![Block::text("x")] }, RequestMessage { role: Role::User, content: vec![Block::text(&question)] }];
        eprintln!("\n======== {question}");
        loop {
            let request = Request { model: "offline".into(), system: Arc::new([SystemBlock { text: format!("Working directory: {}\nMemory directory: /tmp/none", cwd.display()), ends_static_part: false }]),
                tools: ["Read", "Grep", "Glob"].iter().map(|n| ToolDefinition { name: n.to_string(), description: String::new(), input_schema: json!({}) }).collect(), messages: messages.clone(), max_tokens: 1000, source: QuerySource::Main, };
            let stream = Offline::new().stream(request).now_or_never().unwrap().unwrap();
            let events: Vec<_> = stream.collect::<Vec<_>>().now_or_never().unwrap();
            let mut content: Vec<Block> = vec![];
            for e in events { match e.unwrap() {
                Event::BlockStarted { block, .. } => content.push(block),
                Event::BlockDelta { delta: Delta::Text(t), .. } => { if let Some(Block::Text { text }) = content.last_mut() { text.push_str(&t) } }
                Event::BlockDelta { delta: Delta::InputJson(t), .. } => { if let Some(Block::ToolUse { input, .. }) = content.last_mut() { *input = serde_json::from_str(&t).unwrap() } }
                _ => {} } }
            messages.push(RequestMessage { role: Role::Assistant, content: content.clone() });
            let mut results = vec![];
            for b in content { match b {
                Block::Text { text } => eprintln!("{text}"),
                Block::ToolUse { id, name, input } => {
                    let r = run(&name, &input);
                    eprintln!("[{name} {}] {}", input.to_string().chars().take(160).collect::<String>(), match &r { Ok(o) => format!("{} lines", o.lines().count()), Err(e) => e.clone() });
                    let (o, is_error) = match r { Ok(o) => (o, false), Err(e) => (e, true) };
                    results.push(Block::ToolResult { tool_use_id: id, content: ResultContent::Text(o), is_error });
                }
                _ => {} } }
            if results.is_empty() { break; }
            messages.push(RequestMessage { role: Role::User, content: results });
        }
    }
}
