//! What a party sent: a list to enumerate, and a hash to compare with a recorded one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_net::{Channel, Closer, Label, Meter, PartyId, Result, Step};
use sha2::{Digest, Sha256};

/// One message that a party sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sent {
    /// To whom.
    pub peer: PartyId,
    /// Over which channel.
    pub label: Label,
    /// In which step.
    pub step: Step,
    /// Bytes of the body.
    pub length: usize,
}

/// The messages that went over one channel in one direction; clones share it.
#[derive(Clone, Default)]
pub struct Transcript(Arc<Mutex<Record>>);

#[derive(Default)]
struct Record {
    sent: Vec<Sent>,
    hash: Sha256,
}

impl Transcript {
    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The messages so far, in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.lock().sent.clone()
    }

    /// SHA-256, in hexadecimal, of step code (u16), length (u64, both little endian) and body of each message so far.
    pub fn hash(&self) -> String {
        hex::encode(self.lock().hash.clone().finalize())
    }
}

/// A channel that records what is sent over it.
pub struct Observed<C> {
    inner: C,
    label: Label,
    transcript: Transcript,
}

impl<C: Channel> Observed<C> {
    /// Records what is sent over `inner` in `transcript`.
    pub fn new(inner: C, label: Label, transcript: Transcript) -> Self {
        Self {
            inner,
            label,
            transcript,
        }
    }
}

impl<C: Channel> Channel for Observed<C> {
    fn peer(&self) -> PartyId {
        self.inner.peer()
    }

    fn send_parts(&mut self, step: Step, parts: &[&[u8]]) -> Result<()> {
        let length = parts.iter().map(|part| part.len()).sum();
        {
            let mut record = self.transcript.lock();
            record.sent.push(Sent {
                peer: self.inner.peer(),
                label: self.label.clone(),
                step,
                length,
            });
            record.hash.update(step.code.to_le_bytes());
            record.hash.update((length as u64).to_le_bytes());
            parts.iter().for_each(|part| record.hash.update(part));
        }
        self.inner.send_parts(step, parts)
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }

    fn recv_parts(&mut self, step: Step, parts: &mut [&mut [u8]]) -> Result<()> {
        self.inner.recv_parts(step, parts)
    }

    fn close(&mut self) -> Result<()> {
        self.inner.close()
    }

    fn abort(&mut self, code: u8) {
        self.inner.abort(code);
    }

    fn closer(&self) -> Closer {
        self.inner.closer()
    }

    fn interrupter(&self) -> Closer {
        self.inner.interrupter()
    }

    fn meter(&self) -> Meter {
        self.inner.meter()
    }
}
