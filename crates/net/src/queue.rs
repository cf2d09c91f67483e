//! A bounded queue of bytes in pieces, between the thread that sends and the one that takes them.

use std::collections::VecDeque;

use crate::budget::{Account, Share};
use crate::sizes::{OWN_PIECES, PIECE, RESERVE};

/// How a push treats a queue that has no room.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Push {
    /// Queues up to the limit.
    Normal,
    /// Queues up to the limit and the reserve.
    Reserved,
    /// As [`Push::Reserved`], without waiting for the peer to take something before.
    Urgent,
}

#[derive(Default)]
pub(crate) struct Queue {
    pieces: VecDeque<Vec<u8>>,
    /// Pieces that were taken and given back, for the next bytes.
    spare: Vec<Vec<u8>>,
    /// Bytes queued, and of the pieces being read.
    bytes: usize,
    limit: usize,
    /// Pieces that exist: queued, spare, or being filled or read.
    alive: usize,
    /// Of these, those that the account has paid for.
    drawn: usize,
    account: Account,
}

impl Queue {
    /// A queue of at most `limit` bytes, which draws on no budget yet.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            ..Self::default()
        }
    }

    /// Draws on `share` from now on.
    pub(crate) fn draw_on(&mut self, share: &Share) {
        // What exists is within the fixed part, or is kept until it is dropped.
        if self.account.drawn() == 0 {
            self.account = share.account_with_turns();
        }
    }

    /// Whether all that was queued has been taken and read.
    pub(crate) fn is_done(&self) -> bool {
        self.bytes == 0
    }

    /// Whether there is nothing to take.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Whether a normal push would queue something.
    pub(crate) fn has_room(&self) -> bool {
        let paid = OWN_PIECES + self.drawn;
        self.bytes < self.limit
            && self.alive <= paid
            && (self.pieces.back().is_some_and(|last| last.len() < PIECE)
                || !self.spare.is_empty()
                || self.alive < paid
                || self.account.can_draw(PIECE))
    }

    /// Whether a reserved push would queue something.
    pub(crate) fn has_reserve(&self) -> bool {
        self.pieces.back().is_some_and(|last| last.len() < PIECE)
            || !self.spare.is_empty()
            || self.alive < OWN_PIECES + self.drawn + RESERVE
    }

    /// A piece to append bytes to, and how many it may have then; to be given to [`Queue::push`]. None if there is no
    /// room.
    pub(crate) fn begin(&mut self, push: Push) -> Option<(Vec<u8>, usize)> {
        let normal = push == Push::Normal;
        if normal && !self.has_room() {
            return None;
        }
        let room = if normal { self.limit - self.bytes } else { PIECE };
        let piece = match self.pieces.pop_back() {
            Some(last) if last.len() < PIECE => {
                self.bytes -= last.len();
                last
            }
            full => {
                self.pieces.extend(full);
                self.new_piece(push)?
            }
        };
        let length = PIECE.min(piece.len().saturating_add(room));
        Some((piece, length))
    }

    fn new_piece(&mut self, push: Push) -> Option<Vec<u8>> {
        if let Some(spare) = self.spare.pop() {
            return Some(spare);
        }
        if self.alive >= OWN_PIECES + self.drawn {
            if self.account.draw(PIECE) {
                self.drawn += 1;
            } else if push == Push::Normal || self.alive >= OWN_PIECES + self.drawn + RESERVE {
                return None;
            }
        }
        self.alive += 1;
        Some(Vec::with_capacity(PIECE))
    }

    /// Queues a piece of [`Queue::begin`].
    pub(crate) fn push(&mut self, piece: Vec<u8>) {
        self.bytes += piece.len();
        self.pieces.push_back(piece);
    }

    /// Takes the first piece, to be given to [`Queue::recycle`].
    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        self.pieces.pop_front()
    }

    /// Takes back a piece whose bytes are not needed any more.
    pub(crate) fn recycle(&mut self, mut piece: Vec<u8>) {
        self.bytes -= piece.len();
        if self.alive <= OWN_PIECES {
            piece.clear();
            self.spare.push(piece);
            return;
        }
        drop(piece);
        self.alive -= 1;
        if self.alive < OWN_PIECES + self.drawn {
            self.drawn -= 1;
            self.account.give_back(PIECE);
        }
    }

    /// Drops all that is queued.
    pub(crate) fn clear(&mut self) {
        while let Some(piece) = self.pop() {
            self.recycle(piece);
        }
    }
}
