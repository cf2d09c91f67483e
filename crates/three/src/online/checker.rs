//! How a worker's gates are checked: with triples, or by proofs.

use std::time::Duration;

use cenote_net::{AbortReason, Meter};
use cenote_session::{Error, Result};

use crate::background::Beside;
use crate::material::stock::Stock;
use crate::online::gate_log::GateLog;
use crate::online::verify::Verifier;
use crate::proofs::Proving;
use crate::ring::Ring;
use crate::setup::keys::Keys;

/// What checks gates, with the thread beside the evaluator's that it has.
pub(crate) enum Checker {
    /// The evaluator checks them itself, with triples that another thread makes or that are in stock.
    Triples(Box<Verifier>, Stock),
    /// Another thread proves them.
    Proofs(Proving),
}

impl Checker {
    /// Whether gates are proved.
    pub(crate) fn proves(&self) -> bool {
        matches!(self, Checker::Proofs(_))
    }

    /// Announces that `blocks` blocks of gates are yet to be checked.
    pub(crate) fn prepare(&self, blocks: u64) {
        if let (Checker::Triples(verifier, stock), 1..) = (self, blocks) {
            stock.want(verifier.supply.batches_for(blocks));
        }
    }

    /// Has the gates of a full log checked, or begins with it; the log is empty then. Gives the number of rounds that the evaluator waited for.
    pub(crate) fn check_log(&mut self, log: &mut GateLog, ring: &mut Ring, keys: &Keys) -> Result<u64> {
        match self {
            Checker::Triples(verifier, stock) => verifier.verify(log, ring, keys, stock),
            Checker::Proofs(proving) => proving.hand_over(log).map(|()| 0),
        }
    }

    /// Says how many words of gates the log has by now.
    pub(crate) fn filled(&mut self, words: usize) -> Result<()> {
        match self {
            Checker::Triples(..) => Ok(()),
            Checker::Proofs(proving) => proving.filled(words),
        }
    }

    /// Has the gates of the log checked, and waits until all gates are.
    pub(crate) fn settle(&mut self, log: &mut GateLog, ring: &mut Ring, keys: &Keys) -> Result<u64> {
        match self {
            Checker::Triples(verifier, stock) => verifier.verify(log, ring, keys, stock),
            Checker::Proofs(proving) => proving.settle(log),
        }
    }

    /// Whether gates are being checked that are no longer in the log.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Checker::Proofs(proving) if proving.is_busy())
    }

    /// Waits until all triples that were asked for are there.
    pub(crate) fn fill(&self) -> Result<()> {
        match self {
            Checker::Triples(_, stock) => stock.fill(),
            Checker::Proofs(_) => Ok(()),
        }
    }

    /// The other thread, if there is one.
    fn beside(&self) -> Option<&Beside> {
        match self {
            Checker::Triples(_, stock) => stock.beside(),
            Checker::Proofs(proving) => Some(&proving.thread),
        }
    }

    /// The other thread's failure, if it has failed.
    pub(crate) fn check(&self) -> Result<()> {
        self.beside().map_or(Ok(()), Beside::check)
    }

    /// Why the other thread has failed, if it has and nobody has been told.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.beside().and_then(Beside::failure)
    }

    /// The better explanation of an evaluator's `error`.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match self.beside() {
            Some(thread) => thread.explain(error),
            None => error,
        }
    }

    /// What the other thread has sent and received, and the time it worked; nothing if there is none.
    pub(crate) fn costs(&self) -> Option<(Meter, Duration)> {
        self.beside().map(Beside::costs)
    }

    /// Says that the other thread's work is no longer needed.
    pub(crate) fn end(&self) {
        match self {
            Checker::Triples(_, stock) => stock.end(),
            Checker::Proofs(proving) => proving.thread.end(),
        }
    }

    /// Ends the other thread, which tells its peers `last_word` if there is one.
    pub(crate) fn stop(&mut self, last_word: Option<AbortReason>) {
        match self {
            Checker::Triples(_, stock) => stock.stop(last_word),
            Checker::Proofs(proving) => proving.stop(last_word),
        }
    }

    /// Overwrites triples in hand with zeros.
    pub(crate) fn wipe(&mut self) {
        if let Checker::Triples(verifier, _) = self {
            verifier.wipe();
        }
    }
}
