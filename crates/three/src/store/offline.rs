//! The offline phase: three parties make triples together, and each puts its part in stock.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cenote_net::{Closer, Meter, PartyId};
use cenote_primitives::{BLOCK_BITS, Entropy, as_bytes};
use cenote_session::{Error, MESSAGE_FORM, Result};
use cenote_store::{Item, ItemId, Making, Peers, Store};
use sha2::{Digest, Sha256};

use super::epoch::encode;
use super::{BatchNumber, PROTOCOL, settings};
use crate::checks;
use crate::last_word::LastWord;
use crate::material::shape::Shape;
use crate::material::stock::Producer;
use crate::offline::generator::Generator;
use crate::online::worker::most_telling;
use crate::ring::Ring;
use crate::settings::{Config, Links, Method, ViewCheck};
use crate::setup::keys::PairSecrets;
use crate::setup::{check_links, compare, farewell};
use crate::steps;
use crate::view::Views;

/// What an offline run has made.
#[derive(Clone, Debug)]
pub struct OfflineReport {
    /// The name of the epoch in the stores of all parties.
    pub epoch: ItemId,
    /// Batches put in stock.
    pub batches: u64,
    /// AND gates that all of them serve.
    pub gates: u64,
    /// What this party sent and received, over the channels of all workers.
    pub traffic: Meter,
    /// From the first message to the last.
    pub time: Duration,
}

/// Most batches that one offline run makes.
pub(crate) const MAX_BATCHES: u64 = 1 << 16;

/// Batches that each worker makes between two checkpoints: what a run that is cut off can lose.
const CHECKPOINT: u64 = 16;

/// Makes `batches` batches of triples with both peers, spread over as many workers as there are `links`, and puts them in
/// stock as one epoch. `progress` is told the batches done, of how many. [`Config::ahead`] bounds how many batches wait for
/// the disk.
///
/// After every 16 batches of each worker there is a *checkpoint*: the parties tell each other that all of them are settled,
/// and no worker goes on before. If the run is cut off, by a crash or a lost peer, what was made up to the last checkpoint
/// can be used and the rest is deleted: a party that cheats in several workers gains nothing unless it wins in all of
/// them. If a check fails or a peer says so, the whole epoch is deleted.
///
/// # Errors
/// [`Error::BadInput`] as [`crate::ThreeEngine::start`], or if no or more than 2^16 batches are wanted;
/// [`Error::Storage`] if a file cannot be written; otherwise what happened on the network.
pub fn fill(
    me: PartyId,
    links: Vec<Links>,
    config: Config,
    folder: &Store,
    batches: u64,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<OfflineReport> {
    let start = Instant::now();
    check_links(me, &links)?;
    config.lag.check()?;
    if !(1..=MAX_BATCHES).contains(&batches) {
        let what = format!("an offline run makes 1 to {MAX_BATCHES} batches, not {batches}");
        return Err(Error::BadInput(what));
    }
    let (mut generators, mut controls): (Vec<Ring>, Vec<Ring>) = links
        .into_iter()
        .map(|link| (link.generator, link.evaluator))
        .unzip();
    let ready = set_up(me, &mut controls[0], config, generators.len(), batches)
        .and_then(|run| Ok((folder.begin(&run.item)?, run)));
    let (making, run) = match ready {
        Ok(ready) => ready,
        Err(error) => {
            for ring in controls.iter_mut().chain(&mut generators) {
                ring.abort(error.reason().code());
            }
            return Err(error);
        }
    };
    let traffic = match run.make(me, generators, &mut controls, &making, batches, progress) {
        Ok(traffic) => traffic,
        Err(error) => {
            // Who cheated in one batch may have been luckier in another.
            let deleted = match error.check() {
                Some(_) => making.discard(),
                None => {
                    drop(making);
                    Ok(())
                }
            };
            if let Err(error) = deleted {
                tracing::error!(%error, "an epoch of stock in whose making a check failed cannot be deleted");
            }
            for ring in &mut controls {
                ring.abort(error.reason().code());
            }
            return Err(error);
        }
    };
    drop(making);
    Ok(OfflineReport {
        epoch: run.item.id,
        batches,
        gates: batches * run.n * BLOCK_BITS as u64,
        traffic,
        time: start.elapsed(),
    })
}

/// An offline run that all three parties have agreed on.
struct Run {
    item: Item,
    /// Triples of a batch, in blocks.
    n: u64,
    secrets: PairSecrets,
    shape: Shape,
    view_check: ViewCheck,
    ahead: usize,
    lag: usize,
}

/// Agrees with both peers on the settings, on keys, and on the epoch.
fn set_up(me: PartyId, ring: &mut Ring, config: Config, workers: usize, batches: u64) -> Result<Run> {
    if !config.compared {
        let mut terms = config.terms(workers);
        terms.push(("session".into(), config.session.clone()));
        terms.push(("batches".into(), batches.to_string()));
        compare(&terms, ring)?;
    }
    let Config {
        method,
        view_check,
        session,
        mut entropy,
        ahead,
        lag,
        shuffles: _,
        digests: _,
        compared: _,
    } = config;
    let Method::Triples(parameters) = method else {
        return Err(Error::BadInput(
            "sessions with proofs take nothing from stock".into(),
        ));
    };
    let shape = Shape::of(&parameters);
    let secrets = PairSecrets::agree(me, &session, ring, &mut entropy)?;
    let lag = lag.settle(ring)?;
    let settings = settings(&parameters, view_check);
    let (id, made) = name_epoch(me, &format!("{session}, {settings}"), ring, &mut entropy)?;
    let n = parameters.n();
    let item = Item {
        id,
        protocol: PROTOCOL.into(),
        party: me,
        role: String::new(),
        settings,
        made,
        peers: Peers::default(),
        keys: encode(n, &secrets.component_seeds()),
    };
    Ok(Run {
        item,
        n,
        secrets,
        shape,
        view_check,
        ahead,
        lag,
    })
}

/// Bytes of a contribution to an epoch's name: a nonce and the time.
const CONTRIBUTION: usize = 32 + 8;

/// Agrees on the name of a new epoch, which no party can make come twice, and on its time.
fn name_epoch(me: PartyId, settings: &str, ring: &mut Ring, entropy: &mut Entropy) -> Result<(ItemId, u64)> {
    // A clock before 1970 is no reason to fail: the two others' decide.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut ours = [0; CONTRIBUTION];
    ours[..32].copy_from_slice(&entropy.bytes::<32>());
    ours[32..].copy_from_slice(&(now.as_millis() as u64).to_le_bytes());
    let (from_previous, from_next) = ring.exchange(steps::EPOCH, &ours, &ours)?;
    let mut all = [[0; CONTRIBUTION]; 3];
    for (distance, contribution) in [ours, from_next, from_previous].into_iter().enumerate() {
        all[(me.index() + distance) % 3] = contribution;
    }
    let mut hash = Sha256::new();
    hash.update(b"cenote three: epoch, version 1");
    hash.update((settings.len() as u64).to_le_bytes());
    hash.update(settings.as_bytes());
    hash.update(all.as_flattened());
    let id: [u8; 32] = hash.finalize().into();
    let theirs = ring.exchange(steps::EPOCH, &id, &id)?;
    if theirs != (id, id) {
        let what = "the parties were told different contributions to the name of the epoch";
        return Err(Error::cheated(checks::VIEW_COMPARISON, None, steps::EPOCH, what));
    }
    let time = |contribution: [u8; CONTRIBUTION]| {
        u64::from_le_bytes(std::array::from_fn(|index| contribution[32 + index]))
    };
    // One party's wrong clock does not matter to the median.
    let mut times = all.map(time);
    times.sort_unstable();
    Ok((ItemId(id), times[1]))
}

impl Run {
    /// Runs all generators and puts what they make in stock. Gives what went over all channels.
    fn make(
        &self,
        me: PartyId,
        generators: Vec<Ring>,
        controls: &mut [Ring],
        making: &Making,
        batches: u64,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Meter> {
        let interrupters: Vec<[Closer; 2]> = generators.iter().map(Ring::interrupters).collect();
        let (mut producers, last_word) = (Vec::new(), LastWord::default());
        for ((number, ring), control) in (0u8..).zip(generators).zip(controls.iter()) {
            let views = Views::new(self.view_check, &format!("generator {number}"), |label| {
                self.secrets.pair_prgs(label)
            });
            let keys = self.secrets.component_keys(self.n);
            let generator = Generator::new(me, number, self.shape, ring, keys, views, self.lag);
            // Nothing is used before a checkpoint, which settles all.
            let alone = Arc::default();
            let interrupters = control.interrupters();
            let producer = Producer::start(generator, interrupters, self.ahead, &alone, last_word.clone())?;
            producers.push(producer);
        }
        let outcome = self
            .fill(
                &mut producers,
                &interrupters,
                &mut controls[0],
                making,
                batches,
                progress,
            )
            .map_err(|error| producers[0].thread.explain(error));
        let code = outcome.as_ref().err().map(|error| error.reason().code());
        let mut traffic = controls.iter().map(Ring::meter).sum::<Meter>();
        for producer in &mut producers {
            producer.stop(code);
            traffic = traffic + producer.thread.costs().0;
        }
        outcome.map(|()| traffic)
    }

    /// Puts `batches` batches in stock, from one checkpoint to the next, and says farewell.
    fn fill(
        &self,
        producers: &mut [Producer],
        interrupters: &[[Closer; 2]],
        control: &mut Ring,
        making: &Making,
        batches: u64,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<()> {
        let workers = producers.len() as u64;
        let share = |total: u64, index: u64| total / workers + u64::from(index < total % workers);
        let progress = Mutex::new((0, progress));
        let stored = || {
            let mut guard = progress.lock().unwrap_or_else(PoisonError::into_inner);
            let (done, progress) = &mut *guard;
            *done += 1;
            progress(*done, batches);
        };
        let mut done = 0;
        while done < batches {
            let goal = batches.min(done + workers * CHECKPOINT);
            let keep = |index: u64, producer: &mut Producer| {
                // A generator that nothing more is wanted of tosses no coin.
                let total = share(goal, index);
                producer.want(total);
                self.store(producer, total - share(done, index), making, &stored)
                    .map_err(|error| {
                        let error = producer.thread.explain(error);
                        // Nobody waits for a run that is lost.
                        interrupters.iter().flatten().for_each(Closer::close);
                        error
                    })
            };
            std::thread::scope(|scope| {
                let keep = &keep;
                let threads: Vec<_> = (0..)
                    .zip(producers.iter_mut())
                    .map(|(index, producer)| scope.spawn(move || keep(index, producer)))
                    .collect();
                let lost = |_| Err(Error::Internal("a stock keeper's thread panicked".into()));
                let results = threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(lost));
                most_telling::<(), ()>(results)
            })?;
            all_are_settled(goal, control)?;
            making.confirm()?;
            done = goal;
        }
        // Peers may yet be at their last word.
        producers.iter().for_each(Producer::end);
        farewell(control)
    }

    /// Puts the next `count` batches on the disk.
    fn store(
        &self,
        producer: &Producer,
        count: u64,
        making: &Making,
        stored: &(dyn Fn() + Sync),
    ) -> Result<()> {
        for _ in 0..count {
            let mut batch = producer.take()?;
            let number = BatchNumber {
                worker: batch.worker,
                serial: batch.serial,
            };
            let components = batch
                .products
                .each_ref()
                .map(|component| as_bytes(&component[..]));
            let result = making.put(number.part(), &components);
            if result.is_err() {
                for component in &mut batch.products {
                    component.wipe();
                }
            }
            result?;
            producer.recycle(batch.products);
            stored();
        }
        Ok(())
    }
}

/// Tells both peers that the first `total` batches of the run are settled here, in all workers, and waits until both say the
/// same.
fn all_are_settled(total: u64, ring: &mut Ring) -> Result<()> {
    let word = total.to_le_bytes();
    let (from_previous, from_next) = ring.exchange(steps::CHECKPOINT, &word, &word)?;
    for (theirs, peer) in [
        (from_previous, ring.previous.peer()),
        (from_next, ring.next.peer()),
    ] {
        if theirs != word {
            let what = "it is at another checkpoint";
            return Err(Error::cheated(MESSAGE_FORM, Some(peer), steps::CHECKPOINT, what));
        }
    }
    Ok(())
}
