//! The engine: the protocol's parts, in the order in which a session uses them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_circuit::Plan;
use cenote_net::{Meter, PartyId};
use cenote_params::computational::{self, ThreeUse};
use cenote_primitives::{BLOCK_BITS, BitMatrix, Block512, LaneRun};
use cenote_session::{
    Check, Costs, Engine, Error, Guarded, Ledger, Parties, Piece, Result, WireVector, check_arrange,
    check_digest, check_input, check_run, compare_digests,
};

use crate::checks;
use crate::crew::{Crew, abort_all};
use crate::last_word::LastWord;
use crate::online::digest::Digester;
use crate::online::evaluator::{Evaluator, groups, groups_of_a_wave, most_lanes, outputs_of};
use crate::online::shuffle::Shuffler;
use crate::online::worker::{Worker, groups_of, more_telling, run_groups, verify};
use crate::online::{input, kept, output};
use crate::settings::{Config, Links, Method, ViewCheck, worker_bytes};
use crate::setup::keys::{Counter, PairSecrets, Purpose};
use crate::setup::{check_links, compare, farewell};
use crate::store::{Online, Store};
use crate::triple_check::constant_holder;
use crate::wires::{ThreeWires, spare};
use crate::{Ring, steps};

/// One party of a three-party session.
///
/// Dropping it without [`Engine::finish`] leaves the peers to find out by themselves.
pub struct ThreeEngine {
    me: PartyId,
    method: Method,
    /// The first also exchanges inputs and outputs.
    workers: Vec<Worker>,
    inputs: Counter,
    shuffler: Shuffler,
    digester: Digester,
    ledger: Ledger,
    /// Rounds of inputs, outputs, shuffles and digests.
    rounds: u64,
    /// The stock that triples come from, if none are made. Declared after the workers, so that they are dropped first.
    online: Option<Online>,
    lag: usize,
    shuffles: bool,
    digests: bool,
    view_check: ViewCheck,
    /// Workers, also when the session is over.
    workers_at_start: u8,
    /// Batches that may wait for each worker.
    waiting: usize,
}

impl ThreeEngine {
    /// Agrees with both peers on the session's parameters and keys, and starts a worker per element of `links`, each of
    /// which makes triples on demand.
    ///
    /// # Errors
    /// [`Error::BadInput`] if the channels do not lead to the two other parties, or there are none or more than 255
    /// workers; otherwise what happened on the network.
    pub fn start(me: PartyId, links: Vec<Links>, config: Config) -> Result<Self> {
        Self::begin(me, links, config, None)
    }

    /// Like [`ThreeEngine::start`], but no triples are made: the session uses batches of one epoch of stock, the oldest
    /// of which all three parties have enough for what is prepared first. The channels of generators are not used.
    ///
    /// [`Engine::prepare`] and [`Engine::run`] fail with [`Error::Exhausted`] if there are too few batches. Batches are
    /// claimed by `run`; without stock only circuits without AND gates can be run.
    ///
    /// # Errors
    /// As [`ThreeEngine::start`]; and [`Error::Storage`] if the folder is in use or its files are damaged.
    pub fn start_online(me: PartyId, links: Vec<Links>, config: Config, folder: &Store) -> Result<Self> {
        Self::begin(me, links, config, Some(folder))
    }

    fn begin(me: PartyId, mut links: Vec<Links>, config: Config, folder: Option<&Store>) -> Result<Self> {
        let start = Instant::now();
        let mut terms = config.terms(links.len());
        terms.push(("session".into(), config.session.clone()));
        let Config {
            method,
            view_check,
            session,
            mut entropy,
            ahead,
            lag,
            shuffles,
            digests,
            compared,
        } = config;
        check_links(me, &links)?;
        lag.check()?;
        check_batch(&method)?;
        let online = folder.map(|folder| Online::open(me, folder, &method, view_check));
        let mut online = online
            .transpose()
            .inspect_err(|error| abort_all(&mut links, error))?;
        if online.is_some() {
            terms.push(("triples".into(), "from stock, version 3".into()));
        }
        let ring = &mut links[0].evaluator;
        let agreed = if compared { Ok(()) } else { compare(&terms, ring) };
        let (secrets, lag) = agreed
            .and_then(|()| {
                let secrets = PairSecrets::agree(me, &session, ring, &mut entropy)?;
                let lag = lag.settle(ring)?;
                if let Some(online) = &mut online {
                    online.compare(entropy.bytes(), ring)?;
                }
                Ok((secrets, lag))
            })
            .inspect_err(|error| abort_all(&mut links, error))?;
        // `check_links` has seen that there are no more than 255.
        let workers_at_start = links.len() as u8;
        let crew = Crew {
            me,
            method: &method,
            view_check,
            secrets: &secrets,
            lag,
            ahead,
            online: online.as_ref(),
            settlement: Arc::default(),
            last_word: LastWord::default(),
        };
        let shuffler = crew.shuffler();
        let workers: Vec<_> = links
            .into_iter()
            .zip(0..)
            .map(|(links, number)| crew.worker(links, number))
            .collect::<Result<_>>()?;
        let waiting = if online.is_some() { 1 } else { ahead };
        let mut ledger = Ledger::default();
        ledger.costs.memory_bytes = worker_bytes(&method, waiting, lag).saturating_mul(workers.len() as u64);
        ledger.costs.add_phase("set-up", start.elapsed());
        Ok(Self {
            me,
            method,
            workers,
            inputs: Counter::new(Purpose::Input, 0),
            shuffler,
            digester: Digester::new(),
            ledger,
            rounds: 0,
            online,
            lag,
            shuffles,
            digests,
            view_check,
            workers_at_start,
            waiting,
        })
    }

    /// The number of lanes of `plan` that are given to a worker at a time, if there are enough for all workers.
    pub fn group_lanes(plan: &Plan) -> usize {
        most_lanes(plan)
    }

    /// The number of lanes that a worker evaluates `plan` on together, in two waves with a message each for each layer of ANDs, if there are enough for all
    /// workers.
    pub fn wave_lanes(plan: &Plan) -> usize {
        2 * most_lanes(plan) * groups_of_a_wave(plan)
    }

    /// How many messages sending runs ahead of receiving (see [`Lag`](crate::Lag)).
    pub fn lag(&self) -> usize {
        self.lag
    }

    /// How the session checks products.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Verifies everything that was computed and moved so far.
    fn verify(&mut self) -> Result<AllVerified> {
        verify(&mut self.workers)?;
        let Evaluator { ring, keys, .. } = &mut self.workers[0].evaluator;
        self.rounds += self.shuffler.check(ring, keys)?;
        Ok(AllVerified(()))
    }

    /// Waits until all triples that were asked for by [`Engine::prepare`] are in stock: the end of the offline phase.
    /// [`Config::ahead`] must allow for as many batches.
    ///
    /// # Errors
    /// What went wrong in making them, or [`Error::BadInput`] if they would not fit.
    pub fn fill_stock(&mut self) -> Result<()> {
        self.call("fill stock", |this| {
            this.workers.iter().try_for_each(|worker| worker.checker.fill())
        })
    }
}

/// All that all workers have computed and moved so far is right: it may be opened or kept.
pub(crate) struct AllVerified(());

fn check_batch(method: &Method) -> Result<()> {
    match method.n() {
        0..=0xffff_ffff => Ok(()),
        more => Err(Error::BadInput(format!(
            "a batch has at most 2^32 - 1 blocks, not {more}"
        ))),
    }
}

impl Guarded for ThreeEngine {
    const CHECKS: &'static [Check] = checks::ALL;

    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn check_others(&self) -> Result<()> {
        self.workers.iter().try_for_each(|worker| worker.checker.check())
    }

    fn abort(&mut self, error: Error) -> Error {
        let error = self.workers[0].checker.explain(error);
        // What a generator meets from here on is not told, here or to the peers, so that no echo of the last word is.
        self.workers.iter().for_each(|worker| worker.checker.end());
        // A worker may know the cause of what another one met.
        let failures = self.workers.iter().filter_map(|worker| worker.checker.failure());
        let error = more_telling(failures, error);
        let code = error.reason().code();
        self.workers
            .iter_mut()
            .for_each(|worker| worker.evaluator.ring.abort(code));
        for worker in &mut self.workers {
            worker.checker.stop(Some(code));
            worker.evaluator.wipe();
            worker.checker.wipe();
        }
        self.shuffler.wipe();
        error
    }

    /// With the workers go their keys and triples, and with the stock those of its epoch.
    fn clear(&mut self) {
        self.workers.clear();
        self.shuffler.wipe();
        self.online = None;
        spare::free();
    }
}

impl Engine for ThreeEngine {
    type Wires = ThreeWires;

    fn me(&self) -> PartyId {
        self.me
    }

    fn parties(&self) -> usize {
        3
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        self.call("prepare", |this| {
            let count = this.workers.len();
            let groups = groups(plan, lanes, count);
            let (Some(online), Method::Triples(parameters)) = (&mut this.online, &this.method) else {
                for (index, worker) in this.workers.iter_mut().enumerate() {
                    worker.prepare(plan, groups_of(&groups, index, count));
                }
                return Ok(());
            };
            let foresee = |(index, worker): (usize, &mut Worker)| {
                worker.foresee(parameters, plan, groups_of(&groups, index, count))
            };
            let totals: Vec<u64> = this.workers.iter_mut().enumerate().map(foresee).collect();
            online.foresee(&this.workers, &totals)
        })
    }

    fn prepare_gates(&mut self, count: u64) -> Result<()> {
        self.call("prepare", |this| {
            // Less than a block is not worth batches that perhaps nobody needs.
            let blocks = (count / BLOCK_BITS as u64).div_ceil(this.workers.len() as u64);
            this.workers
                .iter()
                .for_each(|worker| worker.checker.prepare(blocks));
            Ok(())
        })
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<ThreeWires> {
        self.call("input", |this| {
            check_input(this.me, 3, owner, wires, lanes, bits)?;
            let Evaluator { ring, keys, .. } = &mut this.workers[0].evaluator;
            this.rounds += 1;
            input::share(this.me, owner, (wires, lanes), bits, ring, keys, &mut this.inputs)
        })
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<ThreeWires> {
        self.call("input", |this| {
            let mut wires = ThreeWires::zeros(bits.rows(), bits.lanes())?;
            for (component, holds) in wires.components_mut().iter_mut().zip(constant_holder(this.me)) {
                if holds {
                    component.copy_from_slice(bits.words());
                }
            }
            Ok(wires)
        })
    }

    fn run(&mut self, plan: &Plan, inputs: &ThreeWires) -> Result<ThreeWires> {
        self.run_pieces(plan, &[(inputs, 0..inputs.wires())])
    }

    fn run_pieces(&mut self, plan: &Plan, inputs: &[Piece<'_, ThreeWires>]) -> Result<ThreeWires> {
        self.call("evaluate", |this| {
            check_run(plan, inputs.iter().map(|(_, range)| range.len()).sum())?;
            let lanes = inputs.first().map_or(0, |(wires, _)| wires.lanes());
            let count = this.workers.len();
            let groups = groups(plan, lanes, count);
            if let (Some(online), Method::Triples(parameters)) = (&mut this.online, &this.method) {
                let need = |(index, worker): (usize, &Worker)| {
                    worker.need(parameters, plan, groups_of(&groups, index, count))
                };
                let totals: Vec<u64> = this.workers.iter().enumerate().map(need).collect();
                online.secure(&mut this.workers, &totals)?;
            }
            let mut all = ThreeWires::zeros(plan.output_slots().len(), lanes)?;
            run_groups(&mut this.workers, plan, inputs, outputs_of(&mut all, &groups))?;
            this.ledger.costs.and_gates += plan.and_count() as u64 * lanes as u64;
            Ok(all)
        })
    }

    fn shuffles(&self) -> bool {
        self.shuffles
    }

    fn draw(&mut self, lanes: usize) -> Result<u32> {
        self.call("shuffle", |this| this.shuffler.draw(lanes))
    }

    fn shuffle(&mut self, wires: &ThreeWires, order: u32, back: bool) -> Result<ThreeWires> {
        self.call("shuffle", |this| {
            let Evaluator { ring, keys, .. } = &mut this.workers[0].evaluator;
            this.shuffler
                .shuffle(wires, (order, back), ring, keys, &mut this.rounds)
        })
    }

    fn digests(&self) -> bool {
        self.digests
    }

    fn digest(&mut self, these: &ThreeWires, those: &ThreeWires) -> Result<ThreeWires> {
        self.call("compare tables", |this| {
            check_digest(these, those)?;
            let Evaluator { ring, keys, .. } = &mut this.workers[0].evaluator;
            this.rounds += 2;
            this.digester.digest(these, those, ring, keys)
        })
    }

    fn levels_take_rounds(&self) -> bool {
        true
    }

    fn arrange(&mut self, parts: &[Piece<'_, ThreeWires>], runs: &[LaneRun]) -> Result<ThreeWires> {
        self.call("evaluate", |_| {
            check_arrange(parts, runs)?;
            ThreeWires::arrange(parts, runs)
        })
    }

    fn reveal(&mut self, wires: &ThreeWires, to: Parties) -> Result<Option<BitMatrix>> {
        let verified = self.call("verify", Self::verify)?;
        self.call("reveal", |this| {
            let ring = &mut this.workers[0].evaluator.ring;
            this.rounds += 1;
            output::open(verified, this.me, wires, to, ring)
        })
    }

    fn keeps(&self) -> bool {
        true
    }

    fn keep(&mut self, wires: &ThreeWires) -> Result<BitMatrix> {
        let verified = self.call("verify", Self::verify)?;
        self.call("keep", |_| kept::keep(verified, wires))
    }

    fn take(&mut self, wires: usize, share: &BitMatrix) -> Result<ThreeWires> {
        self.call("input", |this| {
            this.rounds += 1;
            kept::take(wires, share, &mut this.workers[0].evaluator.ring)
        })
    }

    fn compare(&mut self, digest: &[u8; 32]) -> Result<()> {
        self.call("verify", |this| {
            this.rounds += 1;
            let Ring { previous, next } = &mut this.workers[0].evaluator.ring;
            compare_digests(&mut [previous.as_mut(), next.as_mut()], steps::COMPARE, digest)
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.call("verify", Self::verify)?;
        self.finish_after("finish", |this| {
            this.workers.iter().for_each(|worker| worker.checker.end());
            farewell(&mut this.workers[0].evaluator.ring)?;
            this.online = None;
            this.workers
                .iter_mut()
                .for_each(|worker| worker.checker.stop(None));
            Ok(())
        })
    }

    fn error_bound(&self) -> f64 {
        let tables = self.shuffler.error() + self.digester.error();
        (self.method.error() + tables).log2()
    }

    fn computational_bits(&self) -> f64 {
        let workers = f64::from(self.workers_at_start);
        let gates = self.ledger.costs.and_gates as f64 / BLOCK_BITS as f64;
        let blocks_of_512 = match &self.method {
            Method::Triples(parameters) => {
                let n = parameters.n() as f64;
                // A triple for each gate, and those that wait.
                let waiting = workers * (self.waiting + 2) as f64 * n;
                // Two factors and a summand of zero for each triple that is multiplied, and a summand for the gate.
                let each = 3.0 * parameters.blocks_per_batch() as f64 / n + 1.0;
                each * (gates + waiting)
            }
            // A summand for each gate. Whatever a proof takes of the keystream, it sends more than a quarter as much.
            Method::Proofs(_) => {
                let of_proofs = |worker: &Worker| worker.checker.costs().map(|(meter, _)| meter.payload_sent);
                let sent: u64 = self.workers.iter().filter_map(of_proofs).sum();
                gates + 4.0 * sent as f64 / size_of::<Block512>() as f64
            }
        };
        let session = ThreeUse {
            workers,
            orders: self.shuffler.orders() as f64,
            blocks: 4.0 * (blocks_of_512 + (self.shuffler.blocks() + self.digester.blocks()) as f64),
            hashed_views: self.view_check == ViewCheck::Sha256,
            proofs: matches!(self.method, Method::Proofs(_)),
        };
        let bits = computational::three(&session).bits;
        match &self.method {
            Method::Triples(_) => bits,
            Method::Proofs(proofs) => bits.min(proofs.challenge_bits()),
        }
    }

    fn costs(&self) -> Costs {
        let mut costs = self.ledger.costs.clone();
        if self.workers.is_empty() {
            return costs;
        }
        let stocks: Vec<_> = self
            .workers
            .iter()
            .filter_map(|worker| worker.checker.costs())
            .collect();
        let evaluators = self.workers.iter().map(|worker| worker.evaluator.ring.meter());
        costs.traffic = stocks
            .iter()
            .map(|(meter, _)| *meter)
            .chain(evaluators)
            .sum::<Meter>();
        // Workers go through their rounds at the same time.
        let rounds = self.workers.iter().map(|worker| worker.evaluator.rounds).max();
        costs.rounds = self.rounds + rounds.unwrap_or(0);
        if !stocks.is_empty() {
            let busy = stocks.iter().map(|(_, busy)| *busy).sum::<Duration>();
            let what = match self.method {
                Method::Triples(_) => "generate (in the background)",
                Method::Proofs(_) => "prove (in the background)",
            };
            costs.add_phase(what, busy);
        }
        costs
    }
}
