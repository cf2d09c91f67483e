//! What has come for a stream and was not received yet: bounded by a window, and paid for before the peer may send it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::budget::{Account, Share};

/// The most bytes of a piece.
const PIECE: usize = 64 << 10;
/// Pieces of at least this size are kept for the next bytes, as many as the window holds.
const LEAST_SPARE: usize = PIECE / 2;
/// The window that every stream has without drawing on the budget.
pub(super) const FIRST_WINDOW: usize = 512 << 10;
// What comes takes no more than TLS does in a channel with a connection of its own, by which memory is reckoned.
const _: () = assert!(FIRST_WINDOW + PIECE <= crate::sizes::TLS);
/// A window that is used up within so many round trips is too small for the way.
const TRIPS: u32 = 4;
/// The shortest round trip that is reckoned with.
const LEAST_TRIP: Duration = Duration::from_millis(1);

/// Some bytes that have come, at the front of a buffer.
#[derive(Default)]
pub(super) struct Piece {
    buffer: Vec<u8>,
    filled: usize,
}

impl Piece {
    /// One that so many bytes are put into.
    fn with_room(length: usize) -> Self {
        Self {
            buffer: vec![0; length],
            filled: 0,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Where the next bytes go; to be followed by [`Piece::fill`].
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.filled..]
    }

    /// Notes that so many bytes have been put into the room.
    pub(super) fn fill(&mut self, count: usize) {
        self.filled = self.buffer.len().min(self.filled + count);
    }

    /// Takes as many bytes as fit; says how many.
    pub(super) fn append(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(PIECE - self.filled);
        let (inside, beyond) = bytes[..count].split_at(count.min(self.buffer.len() - self.filled));
        self.buffer[self.filled..self.filled + inside.len()].copy_from_slice(inside);
        self.buffer.extend_from_slice(beyond);
        self.filled += count;
        count
    }
}

/// The receiving half of a stream.
pub(super) struct Inflow {
    pieces: VecDeque<Piece>,
    spare: Vec<Piece>,
    /// How many bytes the peer may still send.
    left: usize,
    /// That number, the bytes here, and those received but not granted anew.
    window: usize,
    most: usize,
    /// Bytes received that are to be granted anew.
    owed: usize,
    /// Pays for the window beyond the first.
    account: Account,
    /// Bytes granted since then.
    granted: usize,
    since: Instant,
}

impl Inflow {
    /// One whose window grows up to `most` bytes.
    pub(super) fn new(most: usize) -> Self {
        let window = FIRST_WINDOW.min(most);
        Self {
            pieces: VecDeque::new(),
            spare: Vec::new(),
            left: window,
            window,
            most,
            owed: 0,
            account: Account::default(),
            granted: 0,
            since: Instant::now(),
        }
    }

    /// Draws on `share` from now on.
    pub(super) fn draw_on(&mut self, share: &Share) {
        if self.account.drawn() == 0 {
            self.account = share.account();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Counts bytes that the peer has sent; false if they are more than it may send.
    pub(super) fn count(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Keeps bytes that were counted.
    pub(super) fn keep(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let kept = self.pieces.back_mut().map_or(0, |last| last.append(bytes));
            bytes = &bytes[kept..];
            if kept == 0 {
                // A spare makes place for it in any case.
                let spare = self.spare.pop().filter(|spare| spare.buffer.len() <= PIECE);
                self.pieces.push_back(spare.unwrap_or_default());
            }
        }
    }

    /// A piece to be filled in place and kept, of this length: a larger one would cost more than what is counted.
    pub(super) fn whole(&mut self, length: usize) -> Piece {
        let fits = |piece: &Piece| piece.buffer.len() == length;
        match self.spare.iter().position(fits) {
            Some(spare) => self.spare.swap_remove(spare),
            None => {
                // It takes the place of one that is of no use.
                self.spare.pop();
                Piece::with_room(length)
            }
        }
    }

    /// Keeps a piece whose bytes were counted.
    pub(super) fn keep_piece(&mut self, piece: Piece) {
        if piece.filled > 0 {
            self.pieces.push_back(piece);
        }
    }

    /// The next piece. Takes back one that is used up.
    pub(super) fn take(&mut self, mut used: Piece) -> Option<Piece> {
        if used.buffer.len() >= LEAST_SPARE && self.spare.len() < self.window / PIECE {
            used.filled = 0;
            self.spare.push(used);
        }
        let piece = self.pieces.pop_front()?;
        self.owed += piece.filled;
        Some(piece)
    }

    /// How many bytes to grant the peer now: none as long as it has much of the window left. The window grows where the peer
    /// uses it up faster than a grant reaches it.
    pub(super) fn grant(&mut self, round_trip: Duration) -> usize {
        if 2 * self.owed < self.window {
            return 0;
        }
        let mut grant = std::mem::take(&mut self.owed);
        self.granted += grant;
        if self.granted >= self.window {
            let quick = self.since.elapsed() < round_trip.max(LEAST_TRIP).saturating_mul(TRIPS);
            let more = self.window.min(self.most - self.window);
            if quick && more > 0 && self.account.draw(more) {
                self.window += more;
                grant += more;
            }
            (self.granted, self.since) = (0, Instant::now());
        }
        self.left += grant;
        grant
    }

    /// Drops what is here, and gives its memory back. Nothing is granted any more.
    pub(super) fn clear(&mut self) {
        self.pieces = VecDeque::new();
        self.spare = Vec::new();
        self.owed = 0;
        self.account = Account::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, PartyId};

    const LONG: Duration = Duration::from_secs(1000);

    /// Sends and receives a whole window; returns what was granted.
    fn pass(inflow: &mut Inflow, window: usize, trip: Duration) -> usize {
        assert!(inflow.count(window));
        assert!(!inflow.count(1), "nothing beyond the window");
        inflow.keep(&vec![7; window]);
        let mut used = Piece::default();
        let mut granted = 0;
        while let Some(piece) = inflow.take(used) {
            used = piece;
            granted += inflow.grant(trip);
        }
        granted
    }

    #[test]
    fn windows_grow_where_the_way_is_long_and_the_budget_allows() {
        let budget = Budget::new(4 * FIRST_WINDOW);
        let mut inflow = Inflow::new(4 * FIRST_WINDOW);
        inflow.draw_on(&budget.share(PartyId(1)));
        assert_eq!(pass(&mut inflow, FIRST_WINDOW, LONG), 2 * FIRST_WINDOW);
        assert_eq!(budget.drawn(), FIRST_WINDOW as u64);
        // The whole half of the pool is used up by the next doubling, which does not come about.
        assert_eq!(pass(&mut inflow, 2 * FIRST_WINDOW, LONG), 2 * FIRST_WINDOW);
        inflow.clear();
        assert_eq!(budget.drawn(), 0);

        let mut poor = Inflow::new(4 * FIRST_WINDOW);
        poor.draw_on(&Budget::new(0).share(PartyId(1)));
        assert_eq!(pass(&mut poor, FIRST_WINDOW, LONG), FIRST_WINDOW);

        let mut small = Inflow::new(1000);
        assert_eq!(pass(&mut small, 1000, LONG), 1000);
    }

    #[test]
    fn what_is_kept_for_the_next_bytes_counts() {
        let mut inflow = Inflow::new(FIRST_WINDOW);
        let piece = |inflow: &mut Inflow| {
            assert!(inflow.count(PIECE));
            let mut piece = inflow.whole(PIECE);
            piece.fill(PIECE);
            piece
        };
        for _ in 0..FIRST_WINDOW / PIECE {
            let piece = piece(&mut inflow);
            inflow.keep_piece(piece);
        }
        let mut used = Piece::default();
        while let Some(piece) = inflow.take(used) {
            used = piece;
            inflow.left += inflow.grant(LONG);
        }
        for _ in 0..FIRST_WINDOW / 64 {
            assert!(inflow.count(64));
            inflow.keep(&[7; 64]);
            let held = inflow.pieces.iter().chain(&inflow.spare);
            let held: usize = held.map(|piece| piece.buffer.capacity()).sum();
            assert!(held <= FIRST_WINDOW + PIECE, "{held}");
        }
    }

    #[test]
    fn bytes_keep_their_order() {
        let mut inflow = Inflow::new(1 << 20);
        let all: Vec<u8> = (0..25_000u32).flat_map(u32::to_le_bytes).collect();
        for round in 0..3 {
            for (index, chunk) in all.chunks(9770).enumerate() {
                assert!(inflow.count(chunk.len()));
                let (copied, placed) = chunk.split_at(if index % 3 == round { chunk.len() } else { 100 });
                inflow.keep(copied);
                let mut piece = inflow.whole(placed.len());
                for part in placed.chunks(1000) {
                    piece.room()[..part.len()].copy_from_slice(part);
                    piece.fill(part.len());
                }
                inflow.keep_piece(piece);
            }
            let (mut got, mut used) = (Vec::new(), Piece::default());
            while let Some(piece) = inflow.take(used) {
                got.extend_from_slice(piece.bytes());
                used = piece;
                inflow.grant(Duration::ZERO);
            }
            assert!(got == all);
        }
    }
}
