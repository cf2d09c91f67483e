//! What a party sent: a list to enumerate, and a hash to compare with a recorded one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_net::{Channel, Label, PartyId, Result, Step};
use sha2::{Digest, Sha256};

use crate::{Between, Tapped};

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

/// Records what is sent over a channel.
pub struct Recorder {
    label: Label,
    transcript: Transcript,
}

impl Between for Recorder {
    fn send(&mut self, channel: &mut dyn Channel, step: Step, parts: &[&[u8]]) -> Result<()> {
        let length = parts.iter().map(|part| part.len()).sum();
        {
            let mut record = self.transcript.lock();
            record.sent.push(Sent {
                peer: channel.peer(),
                label: self.label.clone(),
                step,
                length,
            });
            record.hash.update(step.code.to_le_bytes());
            record.hash.update((length as u64).to_le_bytes());
            parts.iter().for_each(|part| record.hash.update(part));
        }
        channel.send_parts(step, parts)
    }
}

impl Transcript {
    /// A channel, called `label`, that records here what is sent over `inner`.
    pub fn observe(&self, inner: Box<dyn Channel>, label: Label) -> Tapped<Recorder> {
        let transcript = self.clone();
        Tapped::new(Recorder { label, transcript }, inner)
    }
}
