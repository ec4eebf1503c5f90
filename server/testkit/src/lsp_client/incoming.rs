//! What the server says, taken in order: answers, questions, notifications, each checked as it comes.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, BufReader};

use super::{
    Notification, RpcError, Shared, State,
    answers::Answer,
    framing::{frame, read_frame},
};

pub(super) async fn read_all(mut reader: BufReader<impl AsyncRead + Unpin>, shared: Arc<Shared>) {
    loop {
        let message = read_frame(&mut reader).await;
        let end = !matches!(message, Ok(Some(_)));
        {
            let mut state = shared.state.lock().expect("no handler panics");
            match message {
                Ok(Some(message)) => receive(&mut state, message, &shared),
                Ok(None) => {}
                Err(problem) => state.problems.push(problem),
            }
            if end {
                state.closed = true;
                state.pending.clear();
            }
        }
        shared.changed.send_modify(|count| *count += 1);
        if end {
            return;
        }
    }
}

fn receive(state: &mut State, message: Value, shared: &Arc<Shared>) {
    let method = message["method"].as_str().map(str::to_owned);
    match (method, message.get("id")) {
        (Some(method), None) => receive_notification(state, method, message["params"].clone()),
        (Some(method), Some(id)) => {
            let (before, answer) = state.answer(&method, &message["params"]);
            state.asked.push((method, message["params"].clone()));
            for frame in before {
                shared.outgoing.send(frame).unwrap_or_default();
            }
            send_answer(state, id.clone(), answer, shared);
        }
        // What the server could not even attribute to a request.
        (None, Some(Value::Null)) => {
            receive_notification(state, "$/error".to_owned(), message["error"].clone())
        }
        (None, Some(id)) => match id.as_i64().and_then(|id| state.pending.remove(&id)) {
            // A test that does not wait for its answer has dropped the receiver.
            Some((_, sender)) => sender.send(answer_of(&message)).unwrap_or_default(),
            None => state.problems.push(format!("an answer to nothing that was asked: {message}")),
        },
        (None, None) => state.problems.push(format!("neither a request nor an answer: {message}")),
    }
}

fn receive_notification(state: &mut State, method: String, params: Value) {
    if method == "reverie/session/update" {
        if let Err(error) = serde_json::from_value::<protocol::SessionUpdateParams>(params.clone()) {
            state.problems.push(format!("an update does not fit the protocol: {error}: {params}"));
        }
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        let expected = state.next_seq.entry(session).or_default();
        if params["seq"] != *expected {
            state.problems.push(format!("seq {} came where {expected} was due", params["seq"]));
        }
        *expected = params["seq"].as_u64().map_or(*expected, |seq| seq + 1);
    }
    state.log.push(Notification { method, params, read: false });
}

fn send_answer(state: &mut State, id: Value, answer: Answer, shared: &Arc<Shared>) {
    let message = match answer {
        Answer::Result(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Answer::Error { code, message } => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
        Answer::Later(gate, result) => {
            state.unanswered += 1;
            let shared = shared.clone();
            tokio::spawn(async move {
                gate.pass().await;
                let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
                shared.outgoing.send(frame(&message)).unwrap_or_default();
                shared.state.lock().expect("no handler panics").unanswered -= 1;
            });
            return;
        }
        Answer::Never => return,
    };
    shared.outgoing.send(frame(&message)).unwrap_or_default();
}

fn answer_of(message: &Value) -> Result<Value, RpcError> {
    match message.get("error") {
        None => Ok(message["result"].clone()),
        Some(error) => Err(RpcError {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error["data"].clone(),
        }),
    }
}
