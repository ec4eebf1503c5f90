use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use expect_test::{Expect, expect};
use tokio::io::ReadBuf;

use super::*;

/// Hands out its bytes in pieces of one size.
struct Pieces {
    bytes: Vec<u8>,
    given: usize,
    size: usize,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        target: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let end = (self.given + self.size.min(target.remaining())).min(self.bytes.len());
        target.put_slice(&self.bytes[self.given..end]);
        self.given = end;
        Poll::Ready(Ok(()))
    }
}

/// The frames in order, as a reader sees them that checks bodies for JSON.
async fn frames(bytes: &[u8], size: usize) -> String {
    let mut reader = FrameReader::new(Pieces { bytes: bytes.to_vec(), given: 0, size });
    let mut seen = String::new();
    loop {
        match reader.next().await {
            Frame::Body(body) if serde_json::from_slice::<serde_json::Value>(&body).is_ok() => {
                seen.push_str(&format!("{}\n", String::from_utf8_lossy(&body)));
            }
            Frame::Body(body) => {
                seen.push_str("! not JSON\n");
                reader.reject(body);
            }
            Frame::Bad(problem) => seen.push_str(&format!("! {problem}\n")),
            Frame::End => return seen,
        }
    }
}

async fn check(bytes: &[u8], expected: Expect) {
    let whole = frames(bytes, usize::MAX).await;
    for size in [1, 2, 3, 5, 17] {
        assert_eq!(frames(bytes, size).await, whole, "in pieces of {size}");
    }
    expected.assert_eq(&whole);
}

fn frame(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn good_frames_pass_however_they_are_split() {
    let bytes = [
        frame("{}"),
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 4\r\n\r\n[12]".to_owned(),
        "content-length:3\n\n\"ü\"".replace('3', "4"),
        "\r\n\r\n".to_owned(),
        "Content-Length: 1\r\nContent-Length: 1\r\nX-Other: y\r\n\r\n7".to_owned(),
        frame("{\n \"a\": 1\n}"),
    ]
    .concat();
    check(
        bytes.as_bytes(),
        expect![[r#"
            {}
            [12]
            "ü"
            7
            {
             "a": 1
            }
        "#]],
    )
    .await;
}

#[tokio::test]
async fn bad_headers_cost_only_their_own_frame() {
    for (bad, problem) in [
        ("Content-Length: -5\r\n\r\n{\"x\":1}", "Content-Length `-5` is not a size"),
        ("Content-Length: many\r\n\r\n{}", "Content-Length `many` is not a size"),
        ("Content-Length:\r\n\r\n{}", "Content-Length `` is not a size"),
        (
            "Content-Length: 99999999999999999999999\r\n\r\n{}",
            "Content-Length `99999999999999999999999` is not a size",
        ),
        ("Content-Length: +2\r\n\r\n{}", "Content-Length `+2` is not a size"),
        ("X: y\r\n\r\n{}", "the headers lack a Content-Length"),
        ("GET / HTTP/1.1\r\n\r\n", "`GET / HTTP/1.1` is not a header"),
        ("garbage", "the headers lack a Content-Length"),
        ("gar\nbage\n", "`gar` is not a header"),
        ("\0\u{1}\u{2}\n\n", "`\0\u{1}\u{2}` is not a header"),
    ] {
        let bytes = format!("{}{bad}{}", frame("1"), frame("2"));
        for size in [1, 2, 7, usize::MAX] {
            let seen = frames(bytes.as_bytes(), size).await;
            assert_eq!(seen, format!("1\n! {problem}\n2\n"), "{bad:?} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn lengths_that_disagree_are_refused() {
    let bytes = format!("Content-Length: 2\r\nContent-Length: 1\r\n\r\n{{}}{}", frame("2"));
    check(
        bytes.as_bytes(),
        expect![[r#"
            ! two Content-Length headers disagree
            ! not JSON
            2
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_lie_about_a_length_costs_no_other_frame() {
    // Longer than the body: swallows the next frame, partly or whole.
    for claimed in [3, 10, 40, 5_000, 60_000_000] {
        let bytes = format!("Content-Length: {claimed}\r\n\r\n{{}}{}{}", frame("[1]"), frame("[2]"));
        for size in [1, 7, usize::MAX] {
            let seen = frames(bytes.as_bytes(), size).await;
            assert!(seen.starts_with("! ") && seen.ends_with("[1]\n[2]\n"), "{claimed}, {size}: {seen}");
        }
    }
    // Shorter: leaves rubbish before the next frame.
    let bytes = format!("Content-Length: 3\r\n\r\n{{\"a\":1}}{}", frame("[1]"));
    let seen = frames(bytes.as_bytes(), 1).await;
    assert!(seen.ends_with("[1]\n"), "{seen}");
}

#[tokio::test]
async fn a_huge_length_is_refused_without_being_believed() {
    for claimed in ["10000000000", "18446744073709551615"] {
        let bytes = format!("Content-Length: {claimed}\r\n\r\n{{}}{}", frame("[1]"));
        for size in [1, usize::MAX] {
            let seen = frames(bytes.as_bytes(), size).await;
            let problem = format!("a message of {claimed} bytes exceeds the limit of 67108864");
            assert_eq!(seen, format!("! {problem}\n[1]\n"));
        }
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_skipped() {
    let huge = format!("\"{}\"", "x".repeat(usize::try_from(MAX_BODY).unwrap()));
    let bytes = format!("{}{}", frame(&huge), frame("[1]"));
    let seen = frames(bytes.as_bytes(), 1_000_003).await;
    assert_eq!(seen, "! a message of 67108866 bytes exceeds the limit of 67108864\n[1]\n");
    let largest = format!("\"{}\"", "x".repeat(usize::try_from(MAX_BODY).unwrap() - 2));
    assert_eq!(frames(frame(&largest).as_bytes(), usize::MAX).await.len(), largest.len() + 1);
}

#[tokio::test]
async fn the_end_may_come_anywhere() {
    let bytes = format!("{}{}", frame("[1]"), frame("[2]"));
    for end in 0..bytes.len() {
        let seen = frames(&bytes.as_bytes()[..end], 3).await;
        assert!(seen.is_empty() || seen == "[1]\n", "{end}: {seen}");
    }
}

#[tokio::test]
async fn noise_neither_hangs_nor_hides_what_follows() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let sound = format!("{}{}", frame("{\"id\":1}"), frame("{\"id\":2}")).into_bytes();
    for _ in 0..20_000 {
        let mut bytes = sound.clone();
        for _ in 0..=random() % 4 {
            let place = usize::try_from(random()).unwrap() % bytes.len();
            match random() % 3 {
                0 => bytes[place] = random().to_le_bytes()[0],
                1 => drop(bytes.remove(place)),
                _ => bytes.insert(place, random().to_le_bytes()[0]),
            }
        }
        // Two, since a mutated length can swallow one frame at most.
        bytes.extend_from_slice(frame("[1]").as_bytes());
        bytes.extend_from_slice(frame("[2]").as_bytes());
        let seen = frames(&bytes, 64).await;
        assert!(seen.ends_with("[2]\n"), "{:?}: {seen}", String::from_utf8_lossy(&bytes));
    }
}
