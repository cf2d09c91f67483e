//! The sending half of a channel. While it sends it also looks for the peer's last word.

use std::io::IoSlice;
use std::time::Duration;

use super::{Framed, GOODBYE};
use crate::deadline::Deadline;
use crate::frame::Frame;
use crate::inbox::LastWord;
use crate::link::{Fault, Link};
use crate::outbox::FAREWELL;
use crate::wait::Wait;
use crate::{Result, Step};

/// How often a blocked send checks whether the peer has said its last word.
const BLOCKED_LOOK: Duration = Duration::from_millis(20);
/// The longest such a check may take: a peer may send as fast as this side reads.
const LOOK: Duration = Duration::from_millis(20);

impl<L: Link> Framed<L> {
    /// Gives the link all collected frames, then `parts`.
    pub(super) fn write_out(&mut self, step: Step, parts: &[&[u8]]) -> Result<()> {
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
        let mut wait = None;
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
            let wait = wait.get_or_insert_with(|| {
                let left = slices.iter().map(|slice| slice.len()).sum();
                Wait::send(&self.options, self.peer, step, left)
            });
            let left = match wait.left(&self.options) {
                Ok(left) => left,
                Err(error) => return self.fail(error),
            };
            self.look_ahead(step, self.options.queue_bytes)?;
            wait.sleep(left.min(BLOCKED_LOOK), |limit| self.link.wait_room(limit));
        }
    }

    /// Fails if the peer has said its last word.
    pub(super) fn look_ahead(&mut self, step: Step, limit: usize) -> Result<()> {
        match self.inbox.look_ahead(&mut self.link, limit, Deadline::new(LOOK)) {
            Ok(None) => Ok(()),
            Ok(Some(LastWord::Abort(reason))) => self.aborted_by_peer(step, reason),
            Ok(Some(LastWord::Bye)) => self.lost(step, GOODBYE),
            Err(fault) => self.fault(step, fault),
        }
    }

    /// After a link broke while sending: fails with the peer's reason if it gave one, else with `fault`. Over a trunk, the news
    /// that the peer takes nothing more can overtake its reason, which is on its way for [`FAREWELL`] at most; other links end before.
    fn post_mortem<T>(&mut self, step: Step, fault: Fault) -> Result<T> {
        let deadline = Deadline::new(FAREWELL.min(self.options.timeout));
        while matches!(fault, Fault::Lost(_)) && !self.inbox.ended {
            match self
                .inbox
                .look_ahead(&mut self.link, self.options.queue_bytes, deadline)
            {
                Ok(Some(LastWord::Abort(reason))) => return self.aborted_by_peer(step, reason),
                Ok(None) if self.inbox.is_stuck() => break,
                Ok(None) => match deadline.remaining() {
                    Some(left) => self.link.wait_data(left),
                    None => break,
                },
                _ => break,
            }
        }
        self.fault(step, fault)
    }

    pub(super) fn finish(&mut self, linger: Duration) {
        if !std::mem::replace(&mut self.finished, true) {
            self.link.finish(linger);
        }
    }

    /// Queues this side's last frame behind all that was sent, without waiting.
    pub(super) fn last_frame(&mut self, frame: Frame, body: &[u8]) {
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
