//! What is below a trunk while the checker looks at it: two pipes in memory, and nothing is encrypted.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::locks::{Condvar, Mutex, MutexGuard};
use crate::Fault;
use crate::tls::Seal;

/// As [`crate::trunk::socket::Socket`]. Its waits do not end by their time, either.
pub(super) struct Socket {
    out: Arc<Pipe>,
    come: Arc<Pipe>,
    tls: Mutex<Plain>,
}

/// As [`crate::tls::TlsState`].
#[derive(Default)]
pub(super) struct Plain(Vec<u8>);

impl Plain {
    #[allow(clippy::unnecessary_wraps, reason = "as the real one")]
    pub(super) fn seal(&mut self, seal: Seal<'_>) -> Result<(), Fault> {
        if let Seal::Bytes(bytes) = seal {
            self.0.extend_from_slice(bytes);
        }
        Ok(())
    }

    pub(super) fn sealed(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

/// One direction.
struct Pipe {
    state: Mutex<Flow>,
    changed: Condvar,
    /// How many bytes it holds.
    room: usize,
}

#[derive(Default)]
struct Flow {
    bytes: VecDeque<u8>,
    /// Nothing comes behind these bytes; what is written is lost.
    ended: bool,
    /// What is written is refused.
    cut: bool,
}

impl Pipe {
    fn new(room: usize) -> Arc<Self> {
        Arc::new(Pipe {
            state: Mutex::default(),
            changed: Condvar::new(),
            room,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Flow> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, cut: bool) {
        let mut flow = self.lock();
        flow.ended = true;
        flow.cut |= cut;
        drop(flow);
        self.changed.notify_all();
    }

    fn wait_while(&self, condition: impl Fn(&Flow) -> bool) {
        let waited = self.changed.wait_while(self.lock(), |flow| condition(flow));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Socket {
    /// Both ends of a connection each direction of which holds so many bytes.
    pub(super) fn pair(room: usize) -> [Self; 2] {
        let (there, back) = (Pipe::new(room), Pipe::new(room));
        [(there.clone(), back.clone()), (back, there)].map(|(out, come)| Self {
            out,
            come,
            tls: Mutex::default(),
        })
    }

    pub(super) fn tls(&self) -> MutexGuard<'_, Plain> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self, sealed: &[u8]) -> Result<Option<usize>, Fault> {
        let mut flow = self.out.lock();
        if flow.cut {
            return Err(Fault::Lost("cut".into()));
        }
        if flow.ended {
            return Ok(Some(sealed.len()));
        }
        let count = sealed.len().min(self.out.room - flow.bytes.len());
        flow.bytes.extend(&sealed[..count]);
        drop(flow);
        self.out.changed.notify_all();
        Ok((count > 0).then_some(count))
    }

    pub(super) fn pull(&self, first: &mut [u8], second: &mut [u8]) -> (Result<Option<usize>, Fault>, bool) {
        let _tls = self.tls();
        let mut flow = self.come.lock();
        if flow.bytes.is_empty() {
            return (Ok(flow.ended.then_some(0)), false);
        }
        let mut count = 0;
        for place in [first, second] {
            let part = place.len().min(flow.bytes.len());
            for (to, byte) in place.iter_mut().zip(flow.bytes.drain(..part)) {
                *to = byte;
            }
            count += part;
        }
        drop(flow);
        self.come.changed.notify_all();
        (Ok(Some(count)), false)
    }

    pub(super) fn wait_readable(&self, _: Duration) {
        self.come.wait_while(|flow| flow.bytes.is_empty() && !flow.ended);
    }

    pub(super) fn wait_writable(&self, _: Duration) -> bool {
        let room = self.out.room;
        self.out
            .wait_while(|flow| flow.bytes.len() >= room && !flow.ended);
        true
    }

    pub(super) fn cut(&self) {
        self.out.end(true);
        self.come.end(true);
    }

    pub(super) fn end_softly(&self) {
        self.out.end(false);
        self.come.end(false);
    }

    #[allow(clippy::unused_self, reason = "as the real one")]
    pub(super) fn release(&self) {}
}
