//! The workers of a session, as they are when it starts.

use std::sync::Arc;

use cenote_net::PartyId;
use cenote_params::three::Parameters;
use cenote_session::{Error, Result};

use crate::last_word::LastWord;
use crate::material::shape::Shape;
use crate::material::stock::{Producer, Settlement, Stock};
use crate::offline::generator::Generator;
use crate::online::evaluator::Evaluator;
use crate::online::gate_log::GateLog;
use crate::online::shuffle::Shuffler;
use crate::online::verify::Verifier;
use crate::online::worker::Worker;
use crate::settings::{Links, ViewCheck};
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
    pub(crate) parameters: &'a Parameters,
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
    /// Worker `number`, and its generator, which starts to make triples unless there is stock.
    pub(crate) fn worker(&self, links: Links, number: u8) -> Result<Worker> {
        let (me, parameters, lag) = (self.me, self.parameters, self.lag);
        let Links {
            generator,
            evaluator: ring,
        } = links;
        let views = |thread: &str| {
            Views::new(self.view_check, &format!("{thread} {number}"), |label| {
                self.secrets.pair_prgs(label)
            })
        };
        let keys = || self.secrets.component_keys(parameters.n());
        let verifier = Verifier::new(me, number, parameters, views("evaluator"), lag);
        let shape = Shape::of(parameters);
        let stock = match self.online {
            Some(online) => Stock::Stored(online.queue(shape.n)),
            None => {
                let views = views("generator");
                let generator = Generator::new(me, number, shape, generator, keys(), views, lag);
                Stock::Made(Producer::start(
                    generator,
                    ring.interrupters(),
                    self.ahead,
                    &self.settlement,
                    self.last_word.clone(),
                )?)
            }
        };
        let log = GateLog::new(parameters);
        Ok(Worker::new(
            Evaluator::new(me, number, ring, keys(), log, verifier),
            stock,
            self.last_word.clone(),
        ))
    }

    pub(crate) fn shuffler(&self) -> Shuffler {
        let views = Views::new(self.view_check, "shuffler", |label| self.secrets.pair_prgs(label));
        Shuffler::new(self.me, views, self.lag)
    }
}
