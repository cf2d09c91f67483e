//! The buffer of received bytes that no receive has asked for yet.

use crate::AbortReason;
use crate::budget::{Account, Share};
use crate::deadline::Deadline;
use crate::frame::{Frame, HEADER};
use crate::link::{Fault, Link};
use crate::sizes::INBOX;

/// What the buffer holds until the peer has filled it once: most channels of a small session need no more.
const FIRST: usize = 4 << 10;

/// The last thing that a peer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastWord {
    Abort(AbortReason),
    Bye,
}

/// Received bytes, and how far they have been searched for the peer's last word.
#[derive(Default)]
pub(crate) struct Inbox {
    store: Vec<u8>,
    start: usize,
    end: usize,
    /// Where the first frame that was not searched yet begins, counted from the start of the buffered bytes.
    seen: usize,
    /// There was no room left after bytes were read.
    was_full: bool,
    /// The peer has ended the stream.
    pub(crate) ended: bool,
    /// Pays for what the buffer has beyond [`INBOX`].
    account: Account,
}

impl Inbox {
    pub(crate) fn new(share: &Share) -> Self {
        Self {
            account: share.account(),
            ..Self::default()
        }
    }

    /// Draws on `share` from now on.
    pub(crate) fn draw_on(&mut self, share: &Share) {
        if self.account.drawn() == 0 {
            self.account = share.account();
        }
    }

    /// Makes the buffer larger, up to `limit`; false if it is that large already or the budget has no more.
    fn grow(&mut self, limit: usize) -> bool {
        let (old, limit) = (self.store.len(), limit.max(INBOX));
        if old >= limit {
            return false;
        }
        let new = match old {
            0 => FIRST,
            _ => (2 * old).clamp(INBOX, limit),
        };
        if new > INBOX {
            // While the bytes are copied there are two buffers.
            let before = self.account.drawn();
            if !self.account.draw(new) {
                return false;
            }
            let mut store = Vec::with_capacity(new);
            store.extend_from_slice(&self.store);
            self.store = store;
            self.account.give_back(before);
        }
        self.store.resize(new, 0);
        true
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Moves up to `out.len()` bytes to the front of `out`; returns how many.
    pub(crate) fn take(&mut self, out: &mut [u8]) -> usize {
        let count = out.len().min(self.len());
        out[..count].copy_from_slice(&self.store[self.start..self.start + count]);
        self.start += count;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.store.len() > INBOX {
                // What a blocked send had to keep has been received.
                self.store = Vec::new();
                self.account.give_back(self.account.drawn());
            }
        }
        count
    }

    /// The next frame's header, left in place.
    pub(crate) fn header(&self) -> Option<[u8; HEADER]> {
        self.store[self.start..self.end].first_chunk().copied()
    }

    /// The reason behind the header of an abort, which is the next frame; `None` while part of it is missing.
    pub(crate) fn reason(&self, frame: Frame) -> Option<AbortReason> {
        self.reason_at(0, frame)
    }

    fn reason_at(&self, place: usize, frame: Frame) -> Option<AbortReason> {
        let frame = self.store[self.start..self.end].get(place..place.saturating_add(frame.len()))?;
        AbortReason::new(&frame[HEADER..])
    }

    /// Removes the header of `frame`, the next one.
    pub(crate) fn begin(&mut self, frame: Frame) {
        let mut header = [0; HEADER];
        self.take(&mut header);
        self.seen = self.seen.saturating_sub(frame.len());
    }

    /// Reads what is there: first into `direct`, the rest, at most `spill` bytes, into this buffer. Returns how much
    /// went into `direct`, or `None` when there was nothing.
    pub(crate) fn fill(
        &mut self,
        link: &mut impl Link,
        direct: &mut [u8],
        spill: usize,
    ) -> Result<Option<usize>, Fault> {
        debug_assert!(direct.is_empty() || self.len() == 0);
        if self.start > 0 {
            self.store.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.store.len() < INBOX && (self.store.is_empty() || self.was_full) {
            self.grow(INBOX);
        }
        let room = self.store.len().min(self.end.saturating_add(spill));
        let Some(count) = link.pull(direct, &mut self.store[self.end..room])? else {
            return Ok(None);
        };
        self.ended = count == 0;
        let into_direct = count.min(direct.len());
        self.end += count - into_direct;
        self.was_full = self.end == self.store.len();
        Ok(Some(into_direct))
    }

    fn next_unseen(&self) -> Option<[u8; HEADER]> {
        let unseen = self.store[self.start..self.end].get(self.seen..)?;
        unseen.first_chunk().copied()
    }

    /// Whether nothing that comes can help [`Inbox::look_ahead`], which has found no last word: there is no room for it, or what
    /// is there is no message.
    pub(crate) fn is_stuck(&self) -> bool {
        let next = self.next_unseen();
        self.len() == self.store.len() || next.is_some_and(|header| Frame::decode(header).is_none())
    }

    /// Reads ahead, at least once and as far as `limit` bytes and the deadline allow. Returns the peer's last word if it is among
    /// what was read.
    pub(crate) fn look_ahead(
        &mut self,
        link: &mut impl Link,
        limit: usize,
        deadline: Deadline,
    ) -> Result<Option<LastWord>, Fault> {
        let mut has_read = false;
        loop {
            while let Some(header) = self.next_unseen() {
                match Frame::decode(header) {
                    Some(frame @ Frame::Data { .. }) => self.seen = self.seen.saturating_add(frame.len()),
                    Some(frame @ Frame::Abort { .. }) => match self.reason_at(self.seen, frame) {
                        Some(reason) => return Ok(Some(LastWord::Abort(reason))),
                        None => break,
                    },
                    Some(Frame::Bye) => return Ok(Some(LastWord::Bye)),
                    // The receive that meets it will complain.
                    None => return Ok(None),
                }
            }
            if self.ended {
                return Ok(Some(LastWord::Bye));
            }
            if self.len() == self.store.len() && !self.grow(limit) {
                return Ok(None);
            }
            let is_late = has_read && deadline.remaining().is_none();
            has_read = true;
            if is_late || self.fill(link, &mut [], usize::MAX)?.is_none() {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::{IoSlice, Read};
    use std::time::Duration;

    use super::*;
    use crate::Closer;

    /// A peer that has sent these bytes.
    struct Sent(VecDeque<u8>);

    impl Link for Sent {
        fn push(&mut self, _: &[IoSlice<'_>], _: bool) -> Result<usize, Fault> {
            Err(Fault::Closed)
        }

        fn draw_on(&mut self, _: &Share) {}

        fn wait_room(&mut self, _: Duration) {}

        fn pull(&mut self, first: &mut [u8], second: &mut [u8]) -> Result<Option<usize>, Fault> {
            let count = self.0.read(first).unwrap() + self.0.read(second).unwrap();
            Ok((count > 0).then_some(count))
        }

        fn wait_data(&mut self, _: Duration) {}

        fn finish(&mut self, _: Duration) {}

        fn closer(&self) -> Closer {
            Closer::new(|| ())
        }

        fn interrupter(&self) -> Closer {
            self.closer()
        }
    }

    #[test]
    fn the_buffer_is_small_until_the_peer_has_filled_it() {
        let mut inbox = Inbox::default();
        let mut out = vec![0; INBOX];
        for _ in 0..100 {
            let mut link = Sent(vec![0; FIRST - 1].into());
            inbox.fill(&mut link, &mut [], usize::MAX).unwrap();
            assert_eq!(inbox.take(&mut out), FIRST - 1);
        }
        assert_eq!(inbox.store.len(), FIRST);
        let mut link = Sent(vec![0; FIRST + 2 * INBOX].into());
        for expected in [FIRST, INBOX, INBOX] {
            inbox.fill(&mut link, &mut [], usize::MAX).unwrap();
            assert_eq!(inbox.take(&mut out), expected);
        }
        assert_eq!((inbox.store.len(), inbox.account.drawn()), (INBOX, 0));
    }

    #[test]
    fn a_look_ahead_that_cannot_go_on_is_stuck() {
        let late = Deadline::new(Duration::ZERO);
        let message = |length| Frame::Data { step: 1, length }.encode().to_vec();
        let full = [message(2 * INBOX as u32), vec![0; 2 * INBOX]].concat();
        for (sent, stuck) in [
            (message(7), false),
            (message(0)[..HEADER - 1].to_vec(), false),
            (vec![0; HEADER], true),
            (full, true),
        ] {
            let (mut inbox, mut link) = (Inbox::default(), Sent(sent.into()));
            for _ in 0..3 {
                assert_eq!(inbox.look_ahead(&mut link, 0, late), Ok(None));
            }
            assert_eq!(inbox.is_stuck(), stuck);
        }
    }

    #[test]
    fn who_is_late_still_reads_what_is_there() {
        let mut link = Sent(Frame::Bye.encode().to_vec().into());
        let late = Deadline::new(Duration::ZERO);
        let word = Inbox::default().look_ahead(&mut link, usize::MAX, late).unwrap();
        assert!(matches!(word, Some(LastWord::Bye)));
    }
}
