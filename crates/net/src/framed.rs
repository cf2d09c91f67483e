//! The channel over any byte stream: framing, coalescing, deadlines, meters.

mod receiving;
mod sending;

use std::time::{Duration, Instant};

use crate::frame::{Frame, HEADER, MAX_BODY};
use crate::inbox::Inbox;
use crate::link::{Fault, Link};
use crate::sizes::{COALESCE, LARGE};
use crate::{AbortReason, Channel, ChannelOptions, Closer, Error, Meter, PartyId, Result, Step};

/// A send that is not blocked checks at most this often whether the peer has said its last word.
const IDLE_LOOK: Duration = Duration::from_millis(10);

const GOODBYE: &str = "it has closed the channel";

/// A [`Channel`] over a [`Link`].
///
/// An error is final: later calls return it again. The one exception is an [`Error::Timeout`] or [`Error::Stuck`] of a
/// receive before any of the message's body had arrived: that receive may be tried again.
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
    /// The peer has been sent part of a frame, so it would not understand anything that follows.
    torn: bool,
    /// This side has sent its last frame.
    ended: bool,
    /// That frame was an abort.
    aborted: bool,
    /// The link was told that this side has ended.
    finished: bool,
}

impl<L: Link> Framed<L> {
    /// A channel to `peer` over `link`.
    pub fn new(peer: PartyId, mut link: L, options: ChannelOptions) -> Self {
        let share = options.budget.share(peer);
        link.draw_on(&share);
        Self {
            peer,
            link,
            options,
            outgoing: Vec::new(),
            inbox: Inbox::new(&share),
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

    /// Turns the channel of a finished handshake into one of the session. Its meter starts anew.
    pub(crate) fn ready(&mut self, peer: PartyId, options: ChannelOptions) {
        let share = options.budget.share(peer);
        self.link.draw_on(&share);
        self.inbox.draw_on(&share);
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
            Fault::Violation(what) => self.fail(Error::Violation {
                peer: self.peer,
                step,
                what,
            }),
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
        let mut wait = None;
        self.expect(step, length, &mut wait)?;
        if let Err(error) = self.fill_body(step, parts, length, &mut wait) {
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
    /// Delivers what was sent and says goodbye, within [`ChannelOptions::linger`]. After an abort or a failure it does
    /// not wait, so that a peer that takes nothing cannot delay the news of its own fault; a background thread then
    /// delivers what is queued, the last frame included.
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
