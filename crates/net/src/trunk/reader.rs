//! What is read from a connection: frames, and the bytes of streams, which go where they belong without a detour.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::facts::Heard;
use super::hello::clock;
use super::inflow::Piece;
use super::locks::Ordering;
use super::stream::Stream;
use super::wire::{FrameKind, HEADER, Head, MAX_BODY, reason_text};
use crate::Fault;

/// Bytes that are read at a time; holds several frames.
const INTAKE: usize = 128 << 10;
/// Data of at least this length goes where it belongs without passing the intake.
const DIRECT: usize = 8 << 10;
/// After so many bytes, or streams, who waits for them is woken, even if more is there to be read.
const ANNOUNCE: usize = 256 << 10;
const MOST_FRESH: usize = 64;
/// So many pings follow each other at first, to learn how long the way is.
const FIRST_PINGS: u64 = 4;
/// How many pings may come between two of this party's own.
const MOST_PINGS: u32 = 1000;
/// A ping that is unanswered for so many times the longest silence ends the trunk, whatever else comes.
const UNANSWERED: u32 = 4;
/// How much longer than asked for a wait takes if this process was stopped meanwhile: that time is not the peer's.
const STOPPED: Duration = Duration::from_secs(1);

/// The thread that reads a connection.
struct Reader<'a> {
    trunk: &'a Arc<Connection>,
    /// Plaintext that has come, up to `end`.
    intake: Vec<u8>,
    end: usize,
    /// Data of which the rest has yet to come.
    data: Option<Body>,
    /// Streams to which data has been delivered that was not announced, and how much.
    fresh: Vec<Arc<Stream>>,
    fresh_bytes: usize,
    /// What has come of a message of the services.
    message: Vec<u8>,
    /// Since when nothing has come.
    silent: Instant,
    pinged: Instant,
    /// The last ping, and when it was sent, until it is answered.
    ping: (u64, Option<(Instant, u64)>),
    pings: u32,
}

/// The rest of a frame of data.
struct Body {
    /// None if nobody wants it.
    to: Option<(Arc<Stream>, Piece)>,
    left: usize,
}

impl Connection {
    /// What the thread does that reads: takes what comes until the connection is over. Returns the reason.
    pub(super) fn read_on(self: &Arc<Self>, heard: &dyn Heard) -> String {
        let fault = Reader::new(self).run(heard);
        self.end(fault)
    }
}

impl<'a> Reader<'a> {
    fn new(trunk: &'a Arc<Connection>) -> Self {
        Self {
            trunk,
            intake: vec![0; INTAKE],
            end: 0,
            data: None,
            fresh: Vec::new(),
            fresh_bytes: 0,
            message: Vec::new(),
            silent: Instant::now(),
            pinged: Instant::now(),
            ping: (0, None),
            pings: 0,
        }
    }

    /// Reads until the connection is over; says why.
    fn run(&mut self, heard: &dyn Heard) -> Fault {
        self.send_ping();
        loop {
            if self.trunk.is_over() {
                return Fault::Closed;
            }
            if let Err(fault) = self.turn(heard) {
                return fault;
            }
        }
    }

    fn turn(&mut self, heard: &dyn Heard) -> Result<(), Fault> {
        match self.read()? {
            Some(0) => return Err(Fault::Lost("it closed the connection".into())),
            Some(count) => {
                self.trunk.received.fetch_add(count as u64, Ordering::Relaxed);
                self.silent = Instant::now();
                if self.place(count) {
                    self.take_frames(heard)?;
                }
                if self.fresh_bytes >= ANNOUNCE || self.fresh.len() >= MOST_FRESH {
                    self.announce();
                }
            }
            None => {
                self.announce();
                let limit = self.trunk.limits.heartbeat.saturating_sub(self.pinged.elapsed());
                let start = Instant::now();
                self.trunk.socket.wait_readable(limit);
                let stopped = start.elapsed().saturating_sub(limit);
                if stopped > STOPPED {
                    self.silent += stopped;
                    self.ping.1 = None;
                }
            }
        }
        self.keep_alive()
    }

    /// Reads what is there: first the rest of the data that has begun to come, then into the intake.
    fn read(&mut self) -> Result<Option<usize>, Fault> {
        let mut none = [];
        let first = match &mut self.data {
            Some(Body {
                to: Some((_, piece)),
                left,
            }) => {
                debug_assert_eq!(piece.room().len(), *left);
                piece.room()
            }
            _ => &mut none[..],
        };
        let (read, answers) = self.trunk.socket.pull(first, &mut self.intake[self.end..]);
        if answers {
            self.trunk.answers.store(true, Ordering::Release);
            self.trunk.send_now();
        }
        read
    }

    /// Puts what was read in its place; true if there may be frames in the intake.
    fn place(&mut self, count: usize) -> bool {
        match &mut self.data {
            None => self.end += count,
            Some(body) => match &mut body.to {
                Some((stream, piece)) => {
                    let direct = count.min(body.left);
                    piece.fill(direct);
                    body.left -= direct;
                    self.end += count - direct;
                    self.fresh_bytes += direct;
                    if body.left == 0 {
                        stream.deliver_piece(std::mem::take(piece));
                        self.fresh.push(stream.clone());
                        self.data = None;
                    }
                }
                None => {
                    self.end += count;
                    self.discard();
                }
            },
        }
        self.data.is_none() && self.end > 0
    }

    /// Drops data that nobody wants from the front of the intake.
    fn discard(&mut self) {
        if let Some(Body { to: None, left }) = &mut self.data {
            let count = self.end.min(*left);
            *left -= count;
            if *left == 0 {
                self.data = None;
            }
            self.intake.copy_within(count..self.end, 0);
            self.end -= count;
        }
    }

    /// Wakes who waits for what was delivered.
    fn announce(&mut self) {
        self.fresh_bytes = 0;
        self.fresh.drain(..).for_each(|stream| stream.announce());
    }

    /// Asks for a sign of life when it is time, and misses one.
    fn keep_alive(&mut self) -> Result<(), Fault> {
        let silence = self.trunk.limits.silence;
        let silent = self.silent.elapsed();
        if silent > silence {
            let seconds = silent.as_secs_f64();
            return Err(Fault::Lost(format!(
                "nothing has come from it for {seconds:.1} s"
            )));
        }
        if self.pinged.elapsed() < self.trunk.limits.heartbeat {
            return Ok(());
        }
        self.pings = 0;
        self.trunk.expire_sessions();
        match self.ping.1 {
            None => self.send_ping(),
            Some((sent, _))
                if sent.elapsed() > silence.saturating_mul(UNANSWERED).saturating_add(STOPPED) =>
            {
                return Err(Fault::Lost(format!(
                    "it has not answered for {:.1} s",
                    sent.elapsed().as_secs_f64()
                )));
            }
            Some(_) => self.pinged = Instant::now(),
        }
        Ok(())
    }

    fn send_ping(&mut self) {
        self.pinged = Instant::now();
        self.ping = (self.ping.0 + 1, Some((self.pinged, clock())));
        self.trunk.outlet.ping(self.ping.0);
        self.trunk.send_now();
    }

    /// Handles what has come, as far as it is whole frames or data.
    fn take_frames(&mut self, heard: &dyn Heard) -> Result<(), Fault> {
        let intake = std::mem::take(&mut self.intake);
        let mut from = 0;
        let mut outcome = Ok(());
        while let Some(header) = intake[from..self.end].first_chunk::<HEADER>() {
            let Some(head) = Head::decode(header) else {
                outcome = Err(Fault::Violation(format!(
                    "something that is no frame: {header:02x?}"
                )));
                break;
            };
            let come = &intake[from + HEADER..self.end];
            let Some(body) = come.get(..head.length) else {
                if head.kind == FrameKind::Data && head.length >= DIRECT {
                    outcome = self.begin_data(head, come);
                    from = self.end;
                }
                break;
            };
            outcome = self.frame(head, body, heard);
            if outcome.is_err() {
                break;
            }
            from += HEADER + head.length;
        }
        self.intake = intake;
        self.intake.copy_within(from..self.end, 0);
        self.end -= from;
        // What is left is part of a frame, for the rest of which there is room.
        debug_assert!(outcome.is_err() || self.end < HEADER + MAX_BODY);
        outcome
    }

    /// Whom data is for, if anybody wants it.
    fn admit(&self, head: Head) -> Result<Option<Arc<Stream>>, Fault> {
        let Some(stream) = self.trunk.stream(head.id)? else {
            return Ok(None);
        };
        match stream.admit(head.length) {
            Ok(wanted) => Ok(wanted.then_some(stream)),
            Err(what) => Err(Fault::Violation(what.into())),
        }
    }

    /// Takes the part of a frame of data that has come. The rest goes past the intake.
    fn begin_data(&mut self, head: Head, come: &[u8]) -> Result<(), Fault> {
        let to = self.admit(head)?.map(|stream| {
            let mut piece = stream.whole_piece(head.length);
            piece.room()[..come.len()].copy_from_slice(come);
            piece.fill(come.len());
            (stream, piece)
        });
        let left = head.length - come.len();
        self.data = Some(Body { to, left });
        Ok(())
    }

    fn frame(&mut self, head: Head, body: &[u8], heard: &dyn Heard) -> Result<(), Fault> {
        let (trunk, Head { kind, id, .. }) = (self.trunk, head);
        let violation = |what: &str| Fault::Violation(what.into());
        match kind {
            FrameKind::Data => {
                if let Some(stream) = self.admit(head)? {
                    stream.deliver(body);
                    self.fresh_bytes += body.len();
                    if self.fresh.last().is_none_or(|last| !Arc::ptr_eq(last, &stream)) {
                        self.fresh.push(stream);
                    }
                }
            }
            FrameKind::Credit | FrameKind::End | FrameKind::Stop => {
                if let Some(stream) = trunk.stream(id)? {
                    let wants = match (kind, body.first_chunk()) {
                        (FrameKind::Credit, Some(bytes)) => stream.credit(u32::from_le_bytes(*bytes)),
                        (FrameKind::End, _) => stream.peer_ended(),
                        _ => stream.peer_stopped(),
                    };
                    trunk.serve(&stream, wants);
                }
            }
            FrameKind::Join => trunk.peer_joins(id, body)?,
            FrameKind::Leave => trunk.peer_leaves(id, &reason_text(body)),
            FrameKind::Refuse => trunk.peer_refuses(id, &reason_text(body)),
            FrameKind::Message => self.part(id, body, heard)?,
            FrameKind::Ping => {
                self.pings += 1;
                if self.pings > MOST_PINGS {
                    return Err(violation("too many pings"));
                }
                trunk.outlet.pong(id);
                trunk.send_now();
            }
            FrameKind::Pong => self.pong(id, body),
            FrameKind::Bye => {
                let reason = reason_text(body);
                return Err(Fault::Lost(format!("it ended the connection: {reason}")));
            }
        }
        Ok(())
    }

    fn pong(&mut self, nonce: u64, body: &[u8]) {
        let (expected, Some((sent, at))) = self.ping else {
            return;
        };
        if nonce != expected {
            return;
        }
        self.ping.1 = None;
        let trip = u64::try_from(sent.elapsed().as_micros())
            .unwrap_or(u64::MAX)
            .max(1);
        let signed = |clock: u64| i64::try_from(clock).unwrap_or(i64::MAX);
        let theirs = body.first_chunk().map_or(0, |clock| u64::from_le_bytes(*clock));
        let ahead = signed(theirs).saturating_sub(signed(at.saturating_add(trip / 2)));
        self.trunk.heartbeat(trip, ahead);
        if nonce < FIRST_PINGS {
            self.send_ping();
        }
    }

    /// Takes a part of a message, which `follow` bytes follow.
    fn part(&mut self, follow: u64, part: &[u8], heard: &dyn Heard) -> Result<(), Fault> {
        let length = self.message.len() + part.len();
        let follow = usize::try_from(follow).unwrap_or(usize::MAX);
        if length.saturating_add(follow) > self.trunk.limits.message {
            return Err(Fault::Violation("a message that is too long".into()));
        }
        if part.is_empty() && follow > 0 {
            return Err(Fault::Violation("an empty part of a message".into()));
        }
        self.message.extend_from_slice(part);
        if follow == 0 {
            heard.message(self.trunk.peer, std::mem::take(&mut self.message));
        }
        Ok(())
    }
}
