//! The receiving half of a channel.

use super::{Framed, GOODBYE};
use crate::frame::Frame;
use crate::link::Link;
use crate::sizes::LARGE;
use crate::wait::Wait;
use crate::{Error, Result, Step};

/// What may be read into the inbox behind a large body: the next header and a few small messages.
const SPILL: usize = 4 << 10;

impl<L: Link> Framed<L> {
    /// Reads at least one byte, into `direct` first; returns how many bytes went there.
    fn read_some(
        &mut self,
        step: Step,
        direct: &mut [u8],
        spill: usize,
        expected: usize,
        wait: &mut Option<Wait>,
    ) -> Result<usize> {
        loop {
            let read = self.inbox.fill(&mut self.link, direct, spill);
            let wait = wait.get_or_insert_with(|| Wait::receive(&self.options, self.peer, step, expected));
            match read {
                Ok(Some(_)) if self.inbox.ended => {
                    return self.lost(
                        step,
                        "the connection ended without a goodbye: has its process ended?",
                    );
                }
                Ok(Some(count)) => {
                    let late = wait.progress(&self.options);
                    self.unless_phase_over(late)?;
                    return Ok(count);
                }
                Ok(None) => {}
                Err(fault) => return self.fault(step, fault),
            }
            let left = wait.left(&self.options);
            let left = self.unless_phase_over(left)?;
            if wait.waited() < self.options.spin {
                std::hint::spin_loop();
            } else {
                wait.sleep(left, |limit| self.link.wait_data(limit));
            }
        }
    }

    /// Makes the end of a phase final.
    fn unless_phase_over<T>(&mut self, outcome: Result<T>) -> Result<T> {
        match outcome {
            Err(error @ Error::PhaseOver { .. }) => self.fail(error),
            outcome => outcome,
        }
    }

    /// The header of the next message, which must be of `step` with a body of `length` bytes.
    pub(super) fn expect(&mut self, step: Step, length: usize, wait: &mut Option<Wait>) -> Result<()> {
        let spill = if length < LARGE { usize::MAX } else { SPILL };
        let header = loop {
            match self.inbox.header() {
                Some(header) => break header,
                // A timeout leaves all as it was, so it is not final.
                None => self.read_some(step, &mut [], spill, length, wait)?,
            };
        };
        let peer = self.peer;
        let violation = |what| Error::Violation { peer, step, what };
        let error = match Frame::decode(header) {
            Some(
                frame @ Frame::Data {
                    step: code,
                    length: got,
                },
            ) => {
                if code == step.code && got as usize == length {
                    self.inbox.begin(frame);
                    return Ok(());
                }
                violation(if code == step.code {
                    format!("expected {length} bytes, got {got}")
                } else {
                    format!(
                        "expected {length} bytes of step code {}, got {got} of step code {code}",
                        step.code
                    )
                })
            }
            Some(frame @ Frame::Abort { .. }) => {
                let reason = loop {
                    match self.inbox.reason(frame) {
                        Some(reason) => break reason,
                        None => self.read_some(step, &mut [], SPILL, length, wait)?,
                    };
                };
                return self.aborted_by_peer(step, reason);
            }
            Some(Frame::Bye) => Error::PeerLost {
                peer,
                step,
                reason: GOODBYE.into(),
            },
            None => violation(format!(
                "expected {length} bytes, got something that is no message: {header:02x?}"
            )),
        };
        self.fail(error)
    }

    pub(super) fn fill_body(
        &mut self,
        step: Step,
        parts: &mut [&mut [u8]],
        length: usize,
        wait: &mut Option<Wait>,
    ) -> Result<()> {
        let spill = if length < LARGE { usize::MAX } else { SPILL };
        for part in parts {
            let mut done = self.inbox.take(part);
            while done < part.len() {
                done += self.read_some(step, &mut part[done..], spill, length, wait)?;
            }
        }
        Ok(())
    }
}
