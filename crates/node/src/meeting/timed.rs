//! A connection that ends by a time, however slowly the other side goes on.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A connection of which all reads and writes end by a time.
pub(crate) struct Timed {
    stream: TcpStream,
    by: Instant,
}

impl Timed {
    pub(crate) fn new(stream: TcpStream, by: Instant) -> Self {
        Timed { stream, by }
    }

    /// It ends by another time.
    pub(crate) fn ends_by(&mut self, by: Instant) {
        self.by = by;
    }

    fn left(&self) -> Result<Duration> {
        let left = self.by.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(Error::new(ErrorKind::TimedOut, "it took too long")),
            false => Ok(left),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(bytes)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.stream.flush()
    }
}
