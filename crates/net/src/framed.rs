//! The channel over any byte stream: framing, coalescing, deadlines, meters.

use std::io::IoSlice;
use std::time::{Duration, Instant};

use crate::frame::{Frame, HEADER, MAX_BODY};
use crate::inbox::{Inbox, LastWord};
use crate::link::{Fault, Link};
use crate::options::{ChannelOptions, Deadline};
use crate::{AbortReason, Channel, Closer, Error, Meter, PartyId, Result, Step};

/// Bodies from here on are sent without being copied, and received into the caller's buffer only.
const LARGE: usize = 32 << 10;
/// Smaller messages are collected up to this many bytes.
const COALESCE: usize = 64 << 10;
/// What may be read into the inbox behind a large body: the next header and a few small messages.
const SPILL: usize = 4 << 10;
/// A blocked send looks this often for the peer's last word.
const BLOCKED_LOOK: Duration = Duration::from_millis(20);
/// Any other send looks at most this often.
const IDLE_LOOK: Duration = Duration::from_millis(10);
/// How long to search a broken stream for the peer's reason.
const POST_MORTEM: Duration = Duration::from_millis(200);

const GOODBYE: &str = "it has closed the channel";

/// A [`Channel`] over a [`Link`].
///
/// An error is final: later calls return it again. The one exception is a [`Error::Timeout`] of a receive of which
/// nothing had arrived; that receive may be tried again.
pub struct Framed<L: Link> {
    peer: PartyId,
    link: L,
    options: ChannelOptions,
    /// Whole frames that the link has not been given yet.
    outgoing: Vec<u8>,
    inbox: Inbox,
    meter: Meter,
    sent_since_receive: bool,
    last_sent: Step,
    looked: Option<Instant>,
    failed: Option<Error>,
    /// The peer has part of a frame, so that nothing that follows would be understood.
    torn: bool,
    /// This side has sent its last frame.
    ended: bool,
    /// That frame was an abort.
    aborted: bool,
    /// The link was told so.
    finished: bool,
}

impl<L: Link> Framed<L> {
    /// A channel to `peer` over `link`.
    pub fn new(peer: PartyId, link: L, options: ChannelOptions) -> Self {
        Self {
            peer,
            link,
            options,
            outgoing: Vec::new(),
            inbox: Inbox::default(),
            meter: Meter::default(),
            sent_since_receive: false,
            last_sent: crate::step::CONNECT,
            looked: None,
            failed: None,
            torn: false,
            ended: false,
            aborted: false,
            finished: false,
        }
    }

    /// Turns the channel of a finished handshake into that of the session: what went over it so far is not counted.
    pub(crate) fn ready(&mut self, peer: PartyId, options: ChannelOptions) {
        self.peer = peer;
        self.options = options;
        self.meter = Meter::default();
        self.sent_since_receive = false;
    }

    fn check(&self) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn fail<T>(&mut self, error: Error) -> Result<T> {
        self.failed = Some(error.clone());
        Err(error)
    }

    fn lost<T>(&mut self, step: Step, reason: impl Into<String>) -> Result<T> {
        let reason = reason.into();
        self.fail(Error::PeerLost {
            peer: self.peer,
            step,
            reason,
        })
    }

    fn aborted_by_peer<T>(&mut self, step: Step, reason: AbortReason) -> Result<T> {
        self.fail(Error::PeerAborted {
            peer: self.peer,
            step,
            reason,
        })
    }

    fn fault<T>(&mut self, step: Step, fault: Fault) -> Result<T> {
        match fault {
            Fault::Closed => self.fail(Error::Closed { peer: self.peer }),
            Fault::Lost(reason) => self.lost(step, reason),
        }
    }

    fn timeout(&self, step: Step, deadline: &Deadline) -> Error {
        Error::Timeout {
            peer: self.peer,
            step,
            waited: deadline.waited(),
        }
    }

    /// Ends with the peer's last word if it has said one.
    fn look_ahead(&mut self, step: Step, limit: usize) -> Result<()> {
        match self.inbox.look_ahead(&mut self.link, limit) {
            Ok(None) => Ok(()),
            Ok(Some(LastWord::Abort(reason))) => self.aborted_by_peer(step, reason),
            Ok(Some(LastWord::Bye)) => self.lost(step, GOODBYE),
            Err(fault) => self.fault(step, fault),
        }
    }

    /// The link broke while sending: perhaps the peer had said why.
    fn post_mortem<T>(&mut self, step: Step, fault: Fault) -> Result<T> {
        let deadline = Deadline::new(POST_MORTEM);
        while matches!(fault, Fault::Lost(_)) && !self.inbox.ended {
            match self.inbox.look_ahead(&mut self.link, self.options.queue_bytes) {
                Ok(Some(LastWord::Abort(reason))) => return self.aborted_by_peer(step, reason),
                Ok(None) => match deadline.remaining() {
                    Some(left) => self.link.wait_data(left),
                    None => break,
                },
                _ => break,
            }
        }
        self.fault(step, fault)
    }

    /// Gives the link all collected frames, then `parts`.
    fn write_out(&mut self, step: Step, parts: &[&[u8]]) -> Result<()> {
        if self.outgoing.is_empty() && parts.is_empty() {
            return Ok(());
        }
        let mut outgoing = std::mem::take(&mut self.outgoing);
        let done = if parts.is_empty() {
            self.write_all(step, &mut [IoSlice::new(&outgoing)])
        } else {
            let slices = std::iter::once(outgoing.as_slice()).chain(parts.iter().copied());
            self.write_all(step, &mut slices.map(IoSlice::new).collect::<Vec<_>>())
        };
        outgoing.clear();
        self.outgoing = outgoing;
        done
    }

    fn write_all(&mut self, step: Step, mut slices: &mut [IoSlice<'_>]) -> Result<()> {
        let mut deadline = None;
        loop {
            let count = match self.link.push(slices, false) {
                Ok(count) => count,
                Err(fault) => return self.post_mortem(step, fault),
            };
            IoSlice::advance_slices(&mut slices, count);
            if slices.is_empty() {
                self.torn = false;
                return Ok(());
            }
            self.torn |= count > 0;
            let deadline = deadline.get_or_insert_with(|| {
                self.options
                    .deadline(slices.iter().map(|slice| slice.len()).sum())
            });
            let Some(left) = deadline.remaining() else {
                let error = self.timeout(step, deadline);
                return self.fail(error);
            };
            self.look_ahead(step, self.options.queue_bytes)?;
            self.link.wait_room(left.min(BLOCKED_LOOK));
        }
    }

    /// Reads something: into `direct` first, of which it returns how much was filled.
    fn read_some(
        &mut self,
        step: Step,
        direct: &mut [u8],
        spill: usize,
        expected: usize,
        deadline: &mut Option<Deadline>,
    ) -> Result<usize> {
        loop {
            match self.inbox.fill(&mut self.link, direct, spill) {
                Ok(Some(_)) if self.inbox.ended => {
                    return self.lost(
                        step,
                        "the connection ended without a goodbye: has its process ended?",
                    );
                }
                Ok(Some(count)) => return Ok(count),
                Ok(None) => {}
                Err(fault) => return self.fault(step, fault),
            }
            let deadline = deadline.get_or_insert_with(|| self.options.deadline(expected));
            match deadline.remaining() {
                None => return Err(self.timeout(step, deadline)),
                Some(_) if deadline.waited() < self.options.spin => std::hint::spin_loop(),
                Some(left) => self.link.wait_data(left),
            }
        }
    }

    /// The header of the next message, which must be of `step` with a body of `length` bytes.
    fn expect(&mut self, step: Step, length: usize, deadline: &mut Option<Deadline>) -> Result<()> {
        let spill = if length < LARGE { usize::MAX } else { SPILL };
        let header = loop {
            match self.inbox.header() {
                Some(header) => break header,
                // A timeout leaves all as it was, so it is not final.
                None => self.read_some(step, &mut [], spill, length, deadline)?,
            };
        };
        let peer = self.peer;
        let violation = |what| Error::Violation { peer, step, what };
        let error = match Frame::decode(header) {
            Some(
                frame @ Frame::Data {
                    step: code,
                    length: got,
                },
            ) => {
                if code == step.code && got as usize == length {
                    self.inbox.begin(frame);
                    return Ok(());
                }
                violation(if code == step.code {
                    format!("expected {length} bytes, got {got}")
                } else {
                    format!(
                        "expected {length} bytes of step code {}, got {got} of step code {code}",
                        step.code
                    )
                })
            }
            Some(frame @ Frame::Abort { .. }) => {
                let reason = loop {
                    match self.inbox.reason(frame) {
                        Some(reason) => break reason,
                        None => self.read_some(step, &mut [], SPILL, length, deadline)?,
                    };
                };
                return self.aborted_by_peer(step, reason);
            }
            Some(Frame::Bye) => Error::PeerLost {
                peer,
                step,
                reason: GOODBYE.into(),
            },
            None => violation(format!(
                "expected {length} bytes, got something that is no message: {header:02x?}"
            )),
        };
        self.fail(error)
    }

    fn fill_body(
        &mut self,
        step: Step,
        parts: &mut [&mut [u8]],
        length: usize,
        deadline: &mut Option<Deadline>,
    ) -> Result<()> {
        let spill = if length < LARGE { usize::MAX } else { SPILL };
        for part in parts {
            let mut done = self.inbox.take(part);
            while done < part.len() {
                done += self.read_some(step, &mut part[done..], spill, length, deadline)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, linger: Duration) {
        if !std::mem::replace(&mut self.finished, true) {
            self.link.finish(linger);
        }
    }

    /// The last frame of this side: behind all that was sent, without waiting.
    fn last_frame(&mut self, frame: Frame, body: &[u8]) {
        self.ended = true;
        if self.torn {
            return;
        }
        self.outgoing.extend_from_slice(&frame.encode());
        self.outgoing.extend_from_slice(body);
        let outgoing = std::mem::take(&mut self.outgoing);
        if self.link.push(&[IoSlice::new(&outgoing)], true).is_ok() {
            self.meter.bytes_sent += frame.len() as u64;
        }
    }
}

impl<L: Link> Channel for Framed<L> {
    fn peer(&self) -> PartyId {
        self.peer
    }

    fn send_parts(&mut self, step: Step, parts: &[&[u8]]) -> Result<()> {
        self.check()?;
        if self.ended {
            return Err(Error::Closed { peer: self.peer });
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length > MAX_BODY {
            return Err(Error::Local {
                what: format!("sending {step}"),
                reason: format!("a message of {length} bytes, more than {MAX_BODY}"),
            });
        }
        if self.looked.is_none_or(|looked| looked.elapsed() > IDLE_LOOK) {
            self.look_ahead(step, 0)?;
            self.looked = Some(Instant::now());
        }
        self.outgoing
            .extend_from_slice(&Frame::data(step, length).encode());
        if length >= LARGE {
            self.write_out(step, parts)?;
        } else {
            parts
                .iter()
                .for_each(|part| self.outgoing.extend_from_slice(part));
            if self.outgoing.len() >= COALESCE {
                self.write_out(step, &[])?;
            }
        }
        self.meter.messages_sent += 1;
        self.meter.payload_sent += length as u64;
        self.meter.bytes_sent += (HEADER + length) as u64;
        self.sent_since_receive = true;
        self.last_sent = step;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.check()?;
        self.write_out(self.last_sent, &[])
    }

    fn recv_parts(&mut self, step: Step, parts: &mut [&mut [u8]]) -> Result<()> {
        self.check()?;
        self.write_out(step, &[])?;
        if std::mem::take(&mut self.sent_since_receive) {
            self.meter.rounds += 1;
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let mut deadline = None;
        self.expect(step, length, &mut deadline)?;
        if let Err(error) = self.fill_body(step, parts, length, &mut deadline) {
            return self.fail(error);
        }
        self.meter.messages_received += 1;
        self.meter.payload_received += length as u64;
        self.meter.bytes_received += (HEADER + length) as u64;
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        const STEP: Step = crate::step::CLOSE;
        self.check()?;
        self.write_out(self.last_sent, &[])?;
        if !self.ended {
            self.last_frame(Frame::Bye, &[]);
        }
        self.finish(self.options.linger);
        match self.expect(STEP, 0, &mut None) {
            Err(Error::PeerLost { reason, .. }) if reason == GOODBYE => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.fail(Error::Violation {
                peer: self.peer,
                step: STEP,
                what: "expected the end, got a message".into(),
            }),
        }
    }

    fn abort(&mut self, reason: AbortReason) {
        if !self.ended {
            self.aborted = true;
            let body = reason.as_bytes();
            self.last_frame(
                Frame::Abort {
                    length: body.len() as u8,
                },
                body,
            );
        }
    }

    fn closer(&self) -> Closer {
        self.link.closer()
    }

    fn interrupter(&self) -> Closer {
        self.link.interrupter()
    }

    fn meter(&self) -> Meter {
        self.meter
    }
}

impl<L: Link> Drop for Framed<L> {
    /// Delivers what was sent and says goodbye, within [`ChannelOptions::linger`]. After an abort or a failure it waits
    /// for nothing: a peer that takes nothing shall not delay the news of its own fault. What is queued is then left to
    /// the background, as is its last frame.
    fn drop(&mut self) {
        if !self.ended && self.failed.is_none() {
            self.last_frame(Frame::Bye, &[]);
        }
        self.finish(if self.aborted || self.failed.is_some() {
            Duration::ZERO
        } else {
            self.options.linger
        });
    }
}
