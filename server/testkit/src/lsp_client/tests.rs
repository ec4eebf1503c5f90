use tokio::io::{DuplexStream, ReadHalf, WriteHalf, duplex, split};

use super::*;

/// The other end: a server that a test plays by hand.
struct Peer {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Peer {
    async fn next(&mut self) -> Value {
        crate::within(framing::read_frame(&mut self.reader), "a frame").await.unwrap().unwrap()
    }

    async fn send(&mut self, message: Value) {
        self.writer.write_all(&frame(&message)).await.unwrap();
    }

    async fn update(&mut self, seq: u64, update: Value) {
        let params = json!({ "sessionId": "s", "turnId": "t", "seq": seq, "update": update });
        self.send(json!({ "jsonrpc": "2.0", "method": "reverie/session/update", "params": params })).await;
    }

    async fn end_turn(&mut self, seq: u64) {
        let usage =
            json!({ "inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0 });
        self.update(seq, json!({ "kind": "turnEnd", "stopReason": "endTurn", "usage": usage })).await;
    }
}

fn pair() -> (LspClient, Peer) {
    let (ours, theirs) = duplex(1 << 16);
    let (reader, writer) = split(ours);
    let client = LspClient::connect(reader, writer);
    let (reader, writer) = split(theirs);
    (client, Peer { reader: BufReader::new(reader), writer })
}

#[tokio::test]
async fn a_turn_collects_its_updates_and_joins_deltas() {
    let (client, mut peer) = pair();
    let serve = async {
        let prompt = peer.next().await;
        assert_eq!(prompt["method"], "reverie/session/prompt");
        peer.update(0, json!({ "kind": "textDelta", "text": "he" })).await;
        peer.send(
            json!({ "jsonrpc": "2.0", "id": prompt["id"], "result": { "turnId": "t", "queued": false } }),
        )
        .await;
        peer.update(1, json!({ "kind": "textDelta", "text": "llo" })).await;
        peer.end_turn(2).await;
    };
    let (turn, ()) = tokio::join!(client.turn("s", "hi"), serve);
    assert_eq!(turn.events(), "text \"hello\"\nturnEnd endTurn\n");
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("hello", "endTurn"));
}

#[tokio::test]
#[should_panic(expected = "nobody read reverie/session/update")]
async fn an_unread_notification_fails_the_test() {
    let (client, mut peer) = pair();
    peer.update(0, json!({ "kind": "textDelta", "text": "a" })).await;
    peer.update(1, json!({ "kind": "title", "title": "b" })).await;
    client.wait_for("a title", |notification| notification.kind() == "title").await;
}

#[tokio::test]
#[should_panic(expected = "seq 2 came where 1 was due")]
async fn a_gap_in_seq_fails_the_test() {
    let (client, mut peer) = pair();
    client.ignore("textDelta");
    peer.update(0, json!({ "kind": "textDelta", "text": "a" })).await;
    peer.end_turn(2).await;
    client.turn_end("s", "t").await;
}

#[tokio::test]
#[should_panic(expected = "the test answers no reverie/permission/ask")]
async fn a_question_without_an_answer_fails_the_test() {
    let (client, mut peer) = pair();
    peer.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "reverie/permission/ask", "params": {} })).await;
    assert_eq!(peer.next().await["error"]["code"], -32601);
    client.wait_until_asked("reverie/permission/ask", 1).await;
}

#[tokio::test]
async fn an_edit_is_announced_before_it_is_confirmed_and_a_stale_one_is_refused() {
    let (client, mut peer) = pair();
    let path = Path::new("/w/a.txt");
    client.open_with(path, "one\ntwo 𝄞 three\n", None);
    assert_eq!(peer.next().await["method"], "textDocument/didOpen");
    let apply = |id: i64, version: i32| {
        let at = |line: u32, character: u32| json!({ "line": line, "character": character });
        let edits = json!([
            { "range": { "start": at(0, 0), "end": at(0, 3) }, "newText": "1" },
            { "range": { "start": at(1, 7), "end": at(1, 12) }, "newText": "3" },
        ]);
        let change = json!({ "textDocument": { "uri": uri(path), "version": version }, "edits": edits });
        let params = json!({ "label": "x", "edit": { "documentChanges": [change] } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "workspace/applyEdit", "params": params })
    };
    peer.send(apply(1, 1)).await;
    assert_eq!(peer.next().await["params"]["textDocument"]["version"], 2);
    assert_eq!(peer.next().await["result"]["applied"], true);
    assert_eq!(client.document(path).text, "1\ntwo 𝄞 3\n");
    peer.send(apply(2, 1)).await;
    assert_eq!(peer.next().await["result"]["applied"], false);
    client.undo(path);
    assert_eq!(peer.next().await["params"]["contentChanges"][0]["text"], "one\ntwo 𝄞 three\n");
}
