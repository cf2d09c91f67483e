//! What a [`Framed`](crate::Framed) channel needs of the transport below it.

use std::io::IoSlice;
use std::time::Duration;

use crate::{Closer, Share};

/// Why a [`Link`] cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This side closed it, through its [`Closer`].
    Closed,
    /// It broke, or the peer closed it. Says how.
    Lost(String),
    /// The peer sent something that the transport does not allow. Says what.
    Violation(String),
}

/// An ordered stream of bytes to and from one peer, with a bounded send queue. Only the calls whose names say so wait, and
/// `finish`. [`Framed`](crate::Framed) makes a [`Channel`](crate::Channel) of it.
pub trait Link: Send {
    /// Takes bytes for the peer, the concatenation of `slices`, as far as there is room; returns how many. An `urgent`
    /// call may exceed the queue's limit by a small fixed reserve.
    fn push(&mut self, slices: &[IoSlice<'_>], urgent: bool) -> Result<usize, Fault>;

    /// Names the memory that the link's queue draws on beyond a small fixed part. Called before the first push, and
    /// again once the peer is known.
    fn draw_on(&mut self, share: &Share);

    /// Waits up to `limit` until [`Link::push`] can make progress or the link fails. May return early.
    fn wait_room(&mut self, limit: Duration);

    /// Reads what is there into `first`, then `second`: `Some(0)` at the orderly end of the stream, `None` when
    /// nothing is there yet.
    fn pull(&mut self, first: &mut [u8], second: &mut [u8]) -> Result<Option<usize>, Fault>;

    /// Waits up to `limit` until [`Link::pull`] can make progress or the link fails. May return early.
    fn wait_data(&mut self, limit: Duration);

    /// Ends the sending direction. Waits up to `limit` for the peer to take all that was pushed; the rest is delivered
    /// in the background, or lost. Called at most once; the link is dropped at some time after it.
    fn finish(&mut self, limit: Duration);

    /// A handle that makes all pending and later calls fail with [`Fault::Closed`].
    fn closer(&self) -> Closer;

    /// A handle that makes all pending and later calls fail with [`Fault::Closed`], but for urgent pushes.
    fn interrupter(&self) -> Closer;
}

/// The bytes of several slices that have not been copied yet.
pub(crate) struct Rest<'a> {
    current: &'a [u8],
    later: &'a [IoSlice<'a>],
}

impl<'a> Rest<'a> {
    pub(crate) fn new(slices: &'a [IoSlice<'a>]) -> Self {
        Self {
            current: &[],
            later: slices,
        }
    }

    pub(crate) fn is_empty(&mut self) -> bool {
        while self.current.is_empty() {
            let Some((next, later)) = self.later.split_first() else {
                return true;
            };
            (self.current, self.later) = (next, later);
        }
        false
    }

    /// The next bytes that lie together; empty if all are copied.
    pub(crate) fn next(&mut self) -> &'a [u8] {
        self.is_empty();
        self.current
    }

    /// Leaves out so many of the next bytes that lie together.
    pub(crate) fn skip(&mut self, count: usize) {
        self.current = &self.current[count.min(self.current.len())..];
    }

    /// Appends bytes to `piece` until it has `length` of them or all are copied.
    pub(crate) fn fill(&mut self, piece: &mut Vec<u8>, length: usize) {
        while piece.len() < length && !self.is_empty() {
            let (now, later) = self
                .current
                .split_at(self.current.len().min(length - piece.len()));
            piece.extend_from_slice(now);
            self.current = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_hands_out_every_byte_once() {
        let slices = [&b"ab"[..], b"", b"cdefg", b""].map(IoSlice::new);
        for length in 1..9 {
            let (mut rest, mut all) = (Rest::new(&slices), Vec::new());
            while !rest.is_empty() {
                let mut piece = Vec::new();
                rest.fill(&mut piece, length);
                assert!(!piece.is_empty() && piece.len() <= length);
                all.extend(piece);
            }
            assert_eq!(all, b"abcdefg");
        }
    }
}
