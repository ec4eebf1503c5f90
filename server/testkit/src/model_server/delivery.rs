//! How a reply travels: in pieces, late, cut, or with bytes in it that make no sense.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;

use super::reply::{Delivery, End, Gate};

/// `sent` is set when the last of it was handed to the connection.
pub(super) fn stream_response(
    events: Vec<Bytes>,
    delivery: Delivery,
    sent: Arc<OnceLock<Instant>>,
) -> Response {
    let steps = steps(events, &delivery);
    let body = stream::unfold((steps.into_iter(), sent), |(mut steps, sent)| async move {
        let Some(step) = steps.next() else {
            sent.get_or_init(Instant::now);
            return None;
        };
        let steps = (steps, sent);
        match step {
            Step::Send(bytes) => Some((Ok(bytes), steps)),
            Step::Wait(gate) => {
                gate.pass().await;
                Some((Ok(Bytes::new()), steps))
            }
            Step::Flush => {
                // Pending once makes hyper flush what it holds before it hears of the end.
                tokio::task::yield_now().await;
                Some((Ok(Bytes::new()), steps))
            }
            Step::Cut => Some((Err(std::io::Error::other("cut by the script")), steps)),
            Step::Stall => std::future::pending().await,
        }
    });
    Response::builder()
        .status(200)
        .header("content-type", "text/event-stream; charset=utf-8")
        .header("request-id", "req_test")
        .body(Body::from_stream(body))
        .expect("the headers are valid")
}

enum Step {
    Send(Bytes),
    Wait(Gate),
    Flush,
    Cut,
    Stall,
}

fn steps(events: Vec<Bytes>, delivery: &Delivery) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut budget = match delivery.end {
        End::CutAfterBytes(bytes) => bytes,
        _ => usize::MAX,
    };
    let last_event = match delivery.end {
        End::CutAfterEvents(count) | End::StallAfterEvents(count) | End::FinishAfterEvents(count) => count,
        End::Complete | End::CutAfterBytes(_) => usize::MAX,
    };
    for (index, event) in events.into_iter().take(last_event).enumerate() {
        for (_, gate) in delivery.inner_gates.iter().filter(|(events, _)| *events == index) {
            steps.push(Step::Flush);
            steps.push(Step::Wait(gate.clone()));
        }
        if let Some((_, garbage)) = delivery.garbage.as_ref().filter(|(event, _)| *event == index) {
            steps.push(Step::Send(garbage.clone()));
        }
        let event = event.slice(..event.len().min(budget));
        budget -= event.len();
        match delivery.chunk_bytes {
            None => steps.push(Step::Send(event)),
            Some(size) => {
                for start in (0..event.len()).step_by(size) {
                    steps.push(Step::Send(event.slice(start..event.len().min(start + size))));
                    steps.push(Step::Flush);
                }
            }
        }
        if budget == 0 {
            break;
        }
    }
    steps.push(Step::Flush);
    match delivery.end {
        End::Complete | End::FinishAfterEvents(_) => {}
        End::CutAfterBytes(_) | End::CutAfterEvents(_) => steps.push(Step::Cut),
        End::StallAfterEvents(_) => steps.push(Step::Stall),
    }
    steps
}
