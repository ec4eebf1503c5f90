//! A stream of lines none of which may be without end.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, ReadBuf};

/// Ends in the middle of a line that is too long.
pub(crate) struct Bounded<R> {
    inner: R,
    longest: usize,
    line: usize,
    too_long: Arc<AtomicBool>,
}

impl<R> Bounded<R> {
    /// `too_long` tells afterwards why the stream ended.
    pub(crate) fn new(inner: R, longest: usize, too_long: Arc<AtomicBool>) -> Self {
        Self { inner, longest, line: 0, too_long }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.line > this.longest {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.inner).poll_read(context, buffer);
        // Reads are small, so lines that lie within one are too.
        let new = buffer.filled().get(before..).unwrap_or_default();
        let first = new.iter().position(|byte| *byte == b'\n').unwrap_or(new.len());
        let last = new.iter().rposition(|byte| *byte == b'\n');
        let begun = this.line + first;
        this.line = last.map_or(begun, |last| new.len() - last - 1);
        if begun > this.longest {
            this.line = begun;
            this.too_long.store(true, Ordering::Relaxed);
            buffer.set_filled(before);
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn a_line_without_end_ends_the_stream() {
        let longest = 100_000;
        let line = vec![b'x'; longest];
        let fine = [line.as_slice(), b"\n", line.as_slice(), b"\n"].concat();
        let endless = [b"hello\n".as_slice(), line.as_slice(), b"x\n", b"more\n"].concat();
        for (input, is_too_long) in [(fine, false), (endless, true)] {
            let too_long = Arc::new(AtomicBool::new(false));
            let mut stream = Bounded::new(input.as_slice(), longest, Arc::clone(&too_long));
            let mut buffer = [0; 8192];
            let mut read = 0;
            while let count @ 1.. = stream.read(&mut buffer).await.unwrap() {
                read += count;
            }
            assert_eq!(too_long.load(Ordering::Relaxed), is_too_long);
            assert_eq!(read == input.len(), !is_too_long);
        }
    }
}
