//! The [`Link`] of a channel over a trunk.

use std::io::IoSlice;
use std::sync::Arc;
use std::time::Duration;

use super::connection::Connection;
use super::inflow::Piece;
use super::shared::Keep;
use super::stream::{Stream, Wants};
use crate::budget::Share;
use crate::link::Rest;
use crate::{Closer, Fault, Link};

/// As many bytes are sent without being queued, if they can be.
const LARGE: usize = 16 << 10;
/// How long a send waits for the peer to take something before it uses the queue, which costs a copy and a thread switch.
const PATIENCE: Duration = Duration::from_millis(5);
/// How long it waits if such waits have been in vain.
const LEAST_PATIENCE: Duration = Duration::from_micros(100);

/// How often one push waits, as the peer may take a little each time.
const WAITS: u32 = 32;

/// A stream of a trunk, in the hands of its channel.
pub(super) struct StreamLink {
    stream: Arc<Stream>,
    trunk: Arc<Connection>,
    /// The piece that is being read, and how many of its bytes have been.
    head: Piece,
    taken: usize,
    patience: Duration,
    /// The trunks last as long as their channels.
    _keep: Arc<Keep>,
}

impl StreamLink {
    pub(super) fn new(stream: Arc<Stream>, trunk: Arc<Connection>, keep: Arc<Keep>) -> Self {
        Self {
            stream,
            trunk,
            head: Piece::default(),
            taken: 0,
            patience: PATIENCE,
            _keep: keep,
        }
    }

    fn serve(&self, wants: Wants) {
        self.trunk.serve(&self.stream, wants);
    }

    fn read(&mut self, out: &mut [u8]) -> usize {
        let left = &self.head.bytes()[self.taken..];
        let count = out.len().min(left.len());
        out[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        count
    }
}

impl StreamLink {
    /// Sends bytes without queueing them, as far as the peer takes them soon.
    fn push_directly(&mut self, rest: &mut Rest<'_>, pushed: &mut usize) -> Result<(), Fault> {
        let mut waits = 0;
        while !rest.is_empty() && waits < WAITS {
            let sent = self.trunk.send_directly(&self.stream, rest)?;
            *pushed += sent;
            if sent == 0 {
                waits += 1;
                let helped = self.stream.wait_turn(self.patience) && self.trunk.wait_turn(self.patience);
                self.patience = if helped {
                    2 * self.patience
                } else {
                    self.patience / 4
                };
                self.patience = self.patience.clamp(LEAST_PATIENCE, PATIENCE);
                if !helped {
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Link for StreamLink {
    fn push(&mut self, slices: &[IoSlice<'_>], urgent: bool) -> Result<usize, Fault> {
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        let mut rest = Rest::new(slices);
        let mut pushed = 0;
        let large = total >= LARGE && !urgent;
        let (stream, trunk) = (self.stream.clone(), self.trunk.clone());
        let outcome = match large {
            true => self.push_directly(&mut rest, &mut pushed),
            false => Ok(()),
        };
        let outcome =
            outcome.and_then(|()| stream.push(&mut rest, urgent, |wants| trunk.serve(&stream, wants)));
        if large {
            trunk.send_rest();
        }
        match outcome {
            Ok(queued) => Ok(pushed + queued),
            // The caller must know that part of its bytes is on its way.
            Err(_) if pushed > 0 => Ok(pushed),
            Err(fault) => Err(fault),
        }
    }

    fn draw_on(&mut self, share: &Share) {
        self.stream.draw_on(share);
    }

    fn wait_room(&mut self, limit: Duration) {
        self.stream.wait_room(limit);
    }

    fn pull(&mut self, first: &mut [u8], second: &mut [u8]) -> Result<Option<usize>, Fault> {
        if self.taken == self.head.bytes().len() {
            let used = std::mem::take(&mut self.head);
            self.taken = 0;
            let (taken, wants) = self.stream.take_piece(used, self.trunk.least_trip());
            self.serve(wants);
            match taken? {
                Some(piece) if piece.bytes().is_empty() => return Ok(Some(0)),
                Some(piece) => self.head = piece,
                None => return Ok(None),
            }
        }
        let count = self.read(first);
        Ok(Some(count + self.read(second)))
    }

    fn wait_data(&mut self, limit: Duration) {
        if self.taken == self.head.bytes().len() {
            self.stream.wait_data(limit);
        }
    }

    fn finish(&mut self, limit: Duration) {
        self.serve(self.stream.end());
        self.stream.wait_drained(limit);
    }

    fn closer(&self) -> Closer {
        let (stream, trunk) = (Arc::downgrade(&self.stream), Arc::downgrade(&self.trunk));
        Closer::new(move || {
            if let (Some(stream), Some(trunk)) = (stream.upgrade(), trunk.upgrade()) {
                let wants = stream.close();
                trunk.serve(&stream, wants);
            }
        })
    }

    fn interrupter(&self) -> Closer {
        let stream = Arc::downgrade(&self.stream);
        Closer::new(move || {
            if let Some(stream) = stream.upgrade() {
                stream.interrupt();
            }
        })
    }
}

impl Drop for StreamLink {
    fn drop(&mut self) {
        let (wants, behind) = self.stream.leave();
        self.serve(wants);
        if behind {
            self.trunk.send_within(&self.stream, crate::outbox::FAREWELL);
        }
    }
}
