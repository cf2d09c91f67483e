//! The workers of a session, as they are when it starts.

use std::sync::Arc;

use cenote_net::PartyId;
use cenote_session::{Error, Result};

use crate::last_word::LastWord;
use crate::material::shape::Shape;
use crate::material::stock::{Producer, Settlement, Stock};
use crate::offline::generator::Generator;
use crate::online::checker::Checker;
use crate::online::evaluator::Evaluator;
use crate::online::gate_log::GateLog;
use crate::online::shuffle::Shuffler;
use crate::online::verify::Verifier;
use crate::online::worker::Worker;
use crate::proofs::{Prover, Proving};
use crate::settings::{Links, Method, ViewCheck};
use crate::setup::keys::PairSecrets;
use crate::store::Online;
use crate::view::Views;

/// Tells both peers, on all channels, that this party stops, and why.
pub(crate) fn abort_all(links: &mut [Links], error: &Error) {
    let code = error.reason().code();
    for link in links {
        link.evaluator.abort(code);
        link.generator.abort(code);
    }
}

/// What the workers of a session have in common.
pub(crate) struct Crew<'a> {
    pub(crate) me: PartyId,
    pub(crate) method: &'a Method,
    pub(crate) view_check: ViewCheck,
    pub(crate) secrets: &'a PairSecrets,
    pub(crate) lag: usize,
    /// Batches that a generator makes ahead of demand.
    pub(crate) ahead: usize,
    /// The stock, if no triples are made.
    pub(crate) online: Option<&'a Online>,
    pub(crate) settlement: Arc<Settlement>,
    pub(crate) last_word: LastWord,
}

impl Crew<'_> {
    /// Worker `number`, and its generator, which starts to make triples unless there is stock, or its prover.
    pub(crate) fn worker(&self, links: Links, number: u8) -> Result<Worker> {
        let (me, lag) = (self.me, self.lag);
        let Links {
            generator: beside,
            evaluator: ring,
        } = links;
        let keys = || self.secrets.component_keys(self.method.n());
        let interrupters = ring.interrupters();
        let log = || GateLog::new(self.method.gates_logged());
        let checker = match self.method {
            Method::Proofs(proofs) => {
                let prover = Prover::new(me, number, *proofs, beside, keys());
                Checker::Proofs(Proving::start(prover, interrupters, self.last_word.clone(), log)?)
            }
            Method::Triples(parameters) => {
                let views = |thread: &str| {
                    Views::new(self.view_check, &format!("{thread} {number}"), |label| {
                        self.secrets.pair_prgs(label)
                    })
                };
                let shape = Shape::of(parameters);
                let stock = match self.online {
                    Some(online) => Stock::Stored(online.queue(shape.n)),
                    None => {
                        let views = views("generator");
                        let generator = Generator::new(me, number, shape, beside, keys(), views, lag);
                        let (settlement, last_word) = (&self.settlement, self.last_word.clone());
                        let producer =
                            Producer::start(generator, interrupters, self.ahead, settlement, last_word)?;
                        Stock::Made(producer)
                    }
                };
                let verifier = Verifier::new(me, number, parameters, views("evaluator"), lag);
                Checker::Triples(Box::new(verifier), stock)
            }
        };
        Ok(Worker::new(
            Evaluator::new(me, number, ring, keys(), log()),
            checker,
            self.last_word.clone(),
        ))
    }

    pub(crate) fn shuffler(&self) -> Shuffler {
        let views = Views::new(self.view_check, "shuffler", |label| self.secrets.pair_prgs(label));
        Shuffler::new(self.me, views, self.lag)
    }
}
