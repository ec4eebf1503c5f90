//! From the bytes of an answer to events: server-sent events within bounds of size and time, and the loop that
//! turns them into [`Event`]s with a provider's [`Decoder`].

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::{
    FutureExt as _, StreamExt as _,
    stream::{self, BoxStream},
};
use reqwest::Response;
use sse_stream::SseByteStream;
use tokio::time::{Instant, timeout, timeout_at};

use crate::{Event, EventStream, ModelError, Transient, failure::Origin, http::Patience};

/// A provider's meaning of events. After an error or [`Progress::Finished`] it is not asked again.
pub(crate) trait Decoder: Send + 'static {
    fn decode(&mut self, data: &str, events: &mut VecDeque<Event>) -> Result<Progress, ModelError>;

    /// The answer ended, was cut or stalled (`why`) without having finished. An error, unless all that matters
    /// had arrived.
    fn end(&mut self, why: ModelError, events: &mut VecDeque<Event>) -> Result<(), ModelError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A sign of life only.
    Ping,
    Content,
    /// Nothing that follows matters.
    Finished,
}

/// An event larger than this is not one.
const LARGEST_EVENT: usize = 8 * 1024 * 1024;
/// Far more than the longest answer.
const LARGEST_ANSWER: usize = 128 * 1024 * 1024;

type ByteStream = BoxStream<'static, Result<Bytes, ModelError>>;

/// The body of `response` as a stream of chunks, each of which must arrive in time.
pub(crate) fn body(response: Response, origin: &Arc<Origin>, idle: Duration) -> ByteStream {
    let origin = Arc::clone(origin);
    stream::try_unfold(response, move |mut response| {
        let origin = Arc::clone(&origin);
        async move {
            match timeout(idle, response.chunk()).await {
                Ok(Ok(chunk)) => Ok(chunk.map(|chunk| (chunk, response))),
                Ok(Err(_)) => Err(origin.broken_stream("was cut off")),
                Err(_) => Err(stalled(&origin, idle)),
            }
        }
    })
    .boxed()
}

/// Decodes `body` until the decoder says that the answer is whole.
pub(crate) fn events(
    body: ByteStream,
    decoder: impl Decoder,
    origin: Arc<Origin>,
    patience: Patience,
) -> EventStream {
    let reader = Reader::new(body, origin, patience);
    let state = State { reader: Some(reader), decoder, ready: VecDeque::new(), failed: None };
    stream::unfold(state, |mut state| async move { Some((state.next().await?, state)) }).boxed()
}

struct State<D> {
    /// Gone when the answer is over.
    reader: Option<Reader>,
    decoder: D,
    ready: VecDeque<Event>,
    failed: Option<ModelError>,
}

impl<D: Decoder> State<D> {
    async fn next(&mut self) -> Option<Result<Event, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            let reader = self.reader.as_mut()?;
            let decoded = match reader.next().await {
                Ok(data) => self.decoder.decode(&data, &mut self.ready),
                Err(why) => self.decoder.end(why, &mut self.ready).map(|()| Progress::Finished),
            };
            match decoded {
                Ok(Progress::Ping) => {}
                Ok(Progress::Content) => reader.last_content = Instant::now(),
                Ok(Progress::Finished) => {
                    if let Some(reader) = self.reader.take() {
                        reader.drain();
                        // Lets the connection go back to the pool before the caller asks again.
                        tokio::task::yield_now().await;
                    }
                }
                Err(error) => {
                    self.reader = None;
                    self.failed = Some(error);
                }
            }
        }
    }
}

/// Reads the data of one event after the other.
struct Reader {
    events: SseByteStream<ByteStream>,
    meter: Arc<Meter>,
    origin: Arc<Origin>,
    patience: Patience,
    last_content: Instant,
    seen_any: bool,
}

/// What passed between the network and the parser.
#[derive(Debug, Default)]
struct Meter {
    since_event: AtomicUsize,
    total: AtomicUsize,
    /// Something other than blanks has passed.
    begun: AtomicBool,
    /// The first character was `<`: a page for browsers.
    looks_like_html: AtomicBool,
}

impl Reader {
    fn new(body: ByteStream, origin: Arc<Origin>, patience: Patience) -> Self {
        let meter = Arc::new(Meter::default());
        let measured = {
            let meter = Arc::clone(&meter);
            let origin = Arc::clone(&origin);
            body.map(move |chunk| chunk.and_then(|chunk| meter.pass(chunk, &origin))).boxed()
        };
        Self {
            events: SseByteStream::new(measured),
            meter,
            origin,
            patience,
            last_content: Instant::now(),
            seen_any: false,
        }
    }

    /// The data of the next event that has any. The end of the body is an error: answers end with a word.
    async fn next(&mut self) -> Result<String, ModelError> {
        loop {
            let deadline = self.last_content + self.patience.content;
            let event = match timeout_at(deadline, self.events.next()).await {
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(sse_stream::Error::Body(error)))) => {
                    return Err(match error.downcast::<ModelError>() {
                        Ok(error) => *error,
                        Err(_) => self.origin.broken_stream("was cut off"),
                    });
                }
                Ok(Some(Err(_))) => return Err(self.origin.broken_stream("was garbled")),
                Ok(None) => return Err(self.ended()),
                Err(_) => return Err(stalled(&self.origin, self.patience.content)),
            };
            self.meter.since_event.store(0, Ordering::Relaxed);
            if let Some(data) = event.data {
                self.seen_any = true;
                return Ok(data);
            }
        }
    }

    fn ended(&self) -> ModelError {
        if self.seen_any {
            self.origin.broken_stream("ended early")
        } else if self.meter.looks_like_html.load(Ordering::Relaxed) {
            self.origin.protocol("answered with a web page instead of a stream")
        } else if self.meter.total.load(Ordering::Relaxed) == 0 {
            self.origin.broken_stream("was empty")
        } else {
            self.origin.broken_stream("ended before it began")
        }
    }

    /// Reads what is left, so that the connection can be used for the next request: usually the end of the body
    /// is here already, else it gets a moment in the background.
    fn drain(mut self) {
        for _ in 0..LEFTOVERS {
            match self.events.next().now_or_never() {
                Some(Some(Ok(_))) => {}
                Some(_) => return,
                None => {
                    let rest = async move {
                        let rest = self.events.take(LEFTOVERS).for_each(|_| std::future::ready(()));
                        timeout(Duration::from_secs(1), rest).await.unwrap_or_default();
                    };
                    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                        runtime.spawn(rest);
                    }
                    return;
                }
            }
        }
    }
}

/// Events after the last one that are read before giving the connection up.
const LEFTOVERS: usize = 16;

impl Meter {
    fn pass(&self, chunk: Bytes, origin: &Origin) -> Result<Bytes, ModelError> {
        let total = self.total.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len();
        if let [first, ..] = chunk.trim_ascii_start()
            && !self.begun.swap(true, Ordering::Relaxed)
        {
            self.looks_like_html.store(*first == b'<', Ordering::Relaxed);
        }
        let since_event = self.since_event.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len();
        if since_event > LARGEST_EVENT || total > LARGEST_ANSWER {
            return Err(origin.broken_stream("has no end"));
        }
        Ok(chunk)
    }
}

fn stalled(origin: &Origin, patience: Duration) -> ModelError {
    let message =
        format!("the answer from {} stalled: nothing for {} s", origin.address, patience.as_secs_f32());
    origin.transient(Transient::Stalled, message)
}
