//! Channels between two parties of one process.

use std::io::IoSlice;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::budget::Share;
use crate::link::Rest;
use crate::queue::{Push, Queue};
use crate::{ChannelOptions, Closer, Fault, Framed, Link, PartyId};

/// A channel to another party of the same process.
pub type MemoryChannel = Framed<MemoryLink>;

/// Joins parties `a` and `b`: the channel for `a` (whose peer is `b`), and the one for `b`.
///
/// They behave as a connection does: messages wait for a flush, queues are bounded, a dropped end is a lost peer.
pub fn memory_pair(a: PartyId, b: PartyId, options: ChannelOptions) -> (MemoryChannel, MemoryChannel) {
    memory_pair_with(a, b, [options.clone(), options])
}

/// The same, each end with options of its own.
pub fn memory_pair_with(
    a: PartyId,
    b: PartyId,
    [options_a, options_b]: [ChannelOptions; 2],
) -> (MemoryChannel, MemoryChannel) {
    let lane = |from: &ChannelOptions| Arc::new(Lane::new(from.queue_bytes));
    let (there, back) = (lane(&options_a), lane(&options_b));
    let link = |out: &Arc<Lane>, into: &Arc<Lane>| MemoryLink {
        out: out.clone(),
        into: into.clone(),
        head: Vec::new(),
        taken: 0,
    };
    let (for_a, for_b) = (link(&there, &back), link(&back, &there));
    (Framed::new(b, for_a, options_a), Framed::new(a, for_b, options_b))
}

/// One direction.
struct Lane {
    state: Mutex<LaneState>,
    changed: Condvar,
}

#[derive(Default)]
struct LaneState {
    queue: Queue,
    writer: End,
    reader: End,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    /// The party's interrupter was used: it may say a last word only.
    Interrupted,
    /// The party dropped its end.
    Gone,
    /// The party's closer was used.
    Closed,
}

impl Lane {
    fn new(limit: usize) -> Self {
        Self {
            state: Mutex::new(LaneState {
                queue: Queue::new(limit),
                ..LaneState::default()
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, f: impl FnOnce(&mut LaneState)) {
        f(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait_while(&self, limit: Duration, condition: impl FnMut(&mut LaneState) -> bool) {
        drop(self.changed.wait_timeout_while(self.lock(), limit, condition));
    }
}

/// The [`Link`] of a [`MemoryChannel`].
pub struct MemoryLink {
    out: Arc<Lane>,
    into: Arc<Lane>,
    /// The piece that is being read, and how many of its bytes have been.
    head: Vec<u8>,
    taken: usize,
}

impl MemoryLink {
    fn read(&mut self, out: &mut [u8]) -> usize {
        let count = out.len().min(self.head.len() - self.taken);
        out[..count].copy_from_slice(&self.head[self.taken..self.taken + count]);
        self.taken += count;
        count
    }
}

impl Link for MemoryLink {
    fn push(&mut self, slices: &[IoSlice<'_>], urgent: bool) -> Result<usize, Fault> {
        let push = if urgent { Push::Urgent } else { Push::Normal };
        let mut rest = Rest::new(slices);
        let mut pushed = 0;
        // A peer that leaves once it has all of this has not been lost while sending.
        while !rest.is_empty() {
            let (mut piece, length) = {
                let mut state = self.out.lock();
                match (state.writer, state.reader) {
                    (End::Open | End::Gone, End::Open | End::Interrupted) => {}
                    (End::Interrupted, End::Open | End::Interrupted) if urgent => {}
                    // The caller must know that part of its bytes is on its way.
                    _ if pushed > 0 => break,
                    (End::Closed, _) => return Err(Fault::Closed),
                    (End::Interrupted, _) if !urgent => return Err(Fault::Closed),
                    _ => return Err(Fault::Lost("it closed its end".into())),
                }
                match state.queue.begin(push) {
                    Some(begun) => begun,
                    None => break,
                }
            };
            let before = piece.len();
            rest.fill(&mut piece, length);
            pushed += piece.len() - before;
            self.out.change(|state| state.queue.push(piece));
        }
        Ok(pushed)
    }

    fn draw_on(&mut self, share: &Share) {
        self.out.lock().queue.draw_on(share);
    }

    fn wait_room(&mut self, limit: Duration) {
        self.out.wait_while(limit, |state| {
            let reading = matches!(state.reader, End::Open | End::Interrupted);
            !state.queue.has_room() && reading && state.writer == End::Open
        });
    }

    fn pull(&mut self, first: &mut [u8], second: &mut [u8]) -> Result<Option<usize>, Fault> {
        if self.taken == self.head.len() {
            let used = std::mem::take(&mut self.head);
            self.taken = 0;
            let mut state = self.into.lock();
            if used.capacity() > 0 {
                state.queue.recycle(used);
            }
            if matches!(state.reader, End::Closed | End::Interrupted) {
                return Err(Fault::Closed);
            }
            let next = state.queue.pop();
            let writing = matches!(state.writer, End::Open | End::Interrupted);
            drop(state);
            self.into.changed.notify_all();
            match next {
                Some(piece) => self.head = piece,
                None if writing => return Ok(None),
                None => return Ok(Some(0)),
            }
        }
        let count = self.read(first);
        Ok(Some(count + self.read(second)))
    }

    fn wait_data(&mut self, limit: Duration) {
        if self.taken == self.head.len() {
            self.into.wait_while(limit, |state| {
                let writing = matches!(state.writer, End::Open | End::Interrupted);
                state.queue.is_empty() && state.reader == End::Open && writing
            });
        }
    }

    fn finish(&mut self, _limit: Duration) {
        // What was pushed is the peer's already.
        self.out.change(|state| {
            if matches!(state.writer, End::Open | End::Interrupted) {
                state.writer = End::Gone;
            }
        });
    }

    fn closer(&self) -> Closer {
        let (out, into) = (Arc::downgrade(&self.out), Arc::downgrade(&self.into));
        Closer::new(move || {
            if let Some(out) = out.upgrade() {
                out.change(|state| state.writer = End::Closed);
            }
            if let Some(into) = into.upgrade() {
                into.change(|state| state.reader = End::Closed);
            }
        })
    }

    fn interrupter(&self) -> Closer {
        let (out, into) = (Arc::downgrade(&self.out), Arc::downgrade(&self.into));
        let interrupt = |end: &mut End| {
            if *end == End::Open {
                *end = End::Interrupted;
            }
        };
        Closer::new(move || {
            if let Some(out) = out.upgrade() {
                out.change(|state| interrupt(&mut state.writer));
            }
            if let Some(into) = into.upgrade() {
                into.change(|state| interrupt(&mut state.reader));
            }
        })
    }
}

impl Drop for MemoryLink {
    fn drop(&mut self) {
        self.finish(Duration::ZERO);
        let head = std::mem::take(&mut self.head);
        self.into.change(|state| {
            state.reader = End::Gone;
            if head.capacity() > 0 {
                state.queue.recycle(head);
            }
            state.queue.clear();
        });
    }
}
