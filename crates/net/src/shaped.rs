//! A slower network than there is: latency and bandwidth for tests and benchmarks.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{AbortReason, Channel, Closer, Error, Meter, PartyId, Result, Step};

/// What a frame adds to a message.
const FRAME: u64 = crate::frame::HEADER as u64;
/// The time stamp before each message.
const STAMP: usize = 8;
/// How much later than the shape allows a message may claim to arrive, because clocks are adjusted.
const SLACK: Duration = Duration::from_secs(1);

/// A network between two parties, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// One-way latency: half the round trip.
    pub latency: Duration,
    /// Bandwidth of each direction in bytes per second; `None` adds no limit.
    pub bytes_per_second: Option<u64>,
    /// How many bytes a sender may be ahead of the bandwidth before its sends wait.
    pub queue_bytes: u64,
}

impl Shape {
    /// A network of the given one-way latency and bandwidth in bytes per second, with a queue of 64 MiB.
    pub fn new(latency: Duration, bytes_per_second: Option<u64>) -> Self {
        Self {
            latency,
            bytes_per_second,
            queue_bytes: 64 << 20,
        }
    }

    /// How long `bytes` occupy the line.
    fn transfer(&self, bytes: u64) -> Duration {
        match self.bytes_per_second {
            None => Duration::ZERO,
            Some(rate) => {
                let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }
}

/// A channel as slow as a [`Shape`] says, over one that is faster. Both ends must be wrapped.
///
/// The sender computes when each message would arrive on a line that carries one message after the other, and sends
/// that time along; the receiver hands the message out no earlier. So the two ends need a common clock: both run on
/// one machine, in one process or several. Loss, and the slow start of real connections, are not modelled. An abort
/// takes no time. The meter counts what the protocol sent, without the time stamps.
pub struct Shaped<C> {
    inner: C,
    shape: Shape,
    line: Line,
    closed: Arc<(Mutex<bool>, Condvar)>,
}

/// What carries the messages of one or several channels in one direction, one message after the other. A copy is the same line.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// When all that was sent has been carried, since the Unix epoch.
    free: Arc<Mutex<Duration>>,
}

impl Line {
    /// When a message has been carried that occupies the line for so long; or when it may be sent, if the line has more than `queue` to carry before.
    fn carry(&self, transfer: Duration, queue: Duration) -> std::result::Result<Duration, Duration> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let (ahead, now) = (free.saturating_sub(queue), now());
        if ahead > now {
            return Err(ahead);
        }
        *free = (*free).max(now).saturating_add(transfer);
        Ok(*free)
    }
}

/// How late the operating system may wake a sleeper. A wait polls for this long at its end, so that shaped links are as
/// fast as asked for.
const IMPRECISION: Duration = Duration::from_micros(100);

impl<C: Channel> Shaped<C> {
    /// Shapes `inner`, which has a line to itself.
    pub fn new(inner: C, shape: Shape) -> Self {
        Self::on(Line::default(), inner, shape)
    }

    /// Shapes `inner`, which sends on `line` as other channels of this shape do.
    pub fn on(line: Line, inner: C, shape: Shape) -> Self {
        Self {
            inner,
            shape,
            line,
            closed: Arc::default(),
        }
    }

    /// Waits until `time`, or until the channel is closed.
    fn wait_until(&self, time: Duration) -> Result<()> {
        let (closed, changed) = &*self.closed;
        let mut guard = closed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if *guard {
                return Err(Error::Closed {
                    peer: self.inner.peer(),
                });
            }
            let Some(left) = time.checked_sub(now()).filter(|left| !left.is_zero()) else {
                return Ok(());
            };
            guard = match left.checked_sub(IMPRECISION) {
                Some(sleep) => {
                    let wait = changed.wait_timeout(guard, sleep);
                    wait.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    drop(guard);
                    std::thread::yield_now();
                    closed.lock().unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }
}

/// The time since the Unix epoch.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl<C: Channel> Channel for Shaped<C> {
    fn peer(&self) -> PartyId {
        self.inner.peer()
    }

    fn send_parts(&mut self, step: Step, parts: &[&[u8]]) -> Result<()> {
        let bytes = FRAME + parts.iter().map(|part| part.len() as u64).sum::<u64>();
        let (transfer, queue) = (
            self.shape.transfer(bytes),
            self.shape.transfer(self.shape.queue_bytes),
        );
        let carried = loop {
            match self.line.carry(transfer, queue) {
                Ok(carried) => break carried,
                Err(until) => {
                    // What waits must be on its way before this side sleeps.
                    self.inner.flush()?;
                    self.wait_until(until)?;
                }
            }
        };
        let arrival = carried.saturating_add(self.shape.latency);
        let stamp = u64::try_from(arrival.as_nanos())
            .unwrap_or(u64::MAX)
            .to_le_bytes();
        let mut stamped: Vec<&[u8]> = Vec::with_capacity(1 + parts.len());
        stamped.push(&stamp);
        stamped.extend_from_slice(parts);
        self.inner.send_parts(step, &stamped)
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }

    fn recv_parts(&mut self, step: Step, parts: &mut [&mut [u8]]) -> Result<()> {
        let bytes = FRAME + parts.iter().map(|part| part.len() as u64).sum::<u64>();
        let mut stamp = [0; STAMP];
        let mut stamped: Vec<&mut [u8]> = Vec::with_capacity(1 + parts.len());
        stamped.push(&mut stamp);
        stamped.extend(parts.iter_mut().map(|part| &mut **part));
        self.inner.recv_parts(step, &mut stamped)?;
        let arrival = Duration::from_nanos(u64::from_le_bytes(stamp));
        let longest =
            self.shape.latency + self.shape.transfer(bytes.saturating_add(self.shape.queue_bytes)) + SLACK;
        if arrival.saturating_sub(now()) > longest {
            return Err(Error::Violation {
                peer: self.peer(),
                step,
                what: "a message that claims to arrive later than the shaped network allows".into(),
            });
        }
        self.wait_until(arrival)
    }

    fn close(&mut self) -> Result<()> {
        self.inner.close()
    }

    fn abort(&mut self, reason: AbortReason) {
        self.inner.abort(reason);
    }

    fn closer(&self) -> Closer {
        let (inner, closed) = (self.inner.closer(), self.closed.clone());
        Closer::new(move || {
            inner.close();
            *closed.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            closed.1.notify_all();
        })
    }

    fn interrupter(&self) -> Closer {
        let (inner, closed) = (self.inner.interrupter(), self.closed.clone());
        Closer::new(move || {
            inner.close();
            *closed.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            closed.1.notify_all();
        })
    }

    fn meter(&self) -> Meter {
        let meter = self.inner.meter();
        let (sent, received) = (
            STAMP as u64 * meter.messages_sent,
            STAMP as u64 * meter.messages_received,
        );
        Meter {
            payload_sent: meter.payload_sent - sent,
            payload_received: meter.payload_received - received,
            bytes_sent: meter.bytes_sent - sent,
            bytes_received: meter.bytes_received - received,
            ..meter
        }
    }
}
