//! A party's part in the proofs of one worker's batches: prover, and verifier of the two others.
//!
//! A batch is proved in steps, so that no party waits long for messages: between two steps they are on their way. Which messages follow one another depends
//! only on what all parties do alike, by the number of gates that they have evaluated: hand over a log, have the prover go on, have all settled.

use cenote_net::PartyId;
use cenote_params::three::Proofs;
use cenote_primitives::sumcheck::{Fold, QUARTER_POINTS, fold_weights};
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_session::Result;
use zeroize::Zeroizing;

use super::algebra::{first_claim, last_values, through};
use super::buffers::Half;
use super::streams::{Places, Streams};
use super::transcript::{Hash, Header, Transcript, first_challenge};
use super::verifier::{Opening, Told};
use super::weights::Weights;
use crate::online::gate_log::GateLog;
use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys, Purpose};
use crate::{coin, steps};

/// Messages to and fro that a batch takes.
pub(super) const ROUNDS: u64 = 5;

/// How often [`Prover::advance`] goes on with a batch that it has begun until all of it is proved: once from [`Prover::begun`], once from
/// [`Prover::told`].
pub(super) const ADVANCES: u8 = 2;

/// Proves batches, one after the other.
pub(crate) struct Prover {
    pub(super) me: u8,
    worker: u8,
    parameters: Proofs,
    pub(crate) ring: Ring,
    pub(super) streams: Streams,
    coins: Counter,
    batches: u64,
    pub(super) halves: Halves,
    /// The batch of which the first message has been told, and the one of which all has.
    begun: Option<Begun>,
    told: Option<Proved>,
}

/// The halves of this party's own statement, and those that it knows of the others'.
#[derive(Default)]
pub(super) struct Halves {
    own: [Half; 2],
    /// Of the next party's, the first.
    pub(super) next: Half,
    /// Of the previous party's, the second.
    pub(super) previous: Half,
}

/// This party has received everything of a batch, whose log it has closed.
struct Closed {
    log: GateLog,
    blocks: usize,
    number: u64,
}

impl coin::Fixed for &Closed {}

/// A batch whose weights are tossed.
pub(super) struct Batch {
    pub(super) header: Header,
    tiles: usize,
    variables: u32,
    pub(super) steps: usize,
    weights: Weights,
    log: GateLog,
    pub(super) places: Places,
}

/// A batch of which this party has told its first message.
struct Begun {
    batch: Batch,
    digest: Hash,
    /// The sums of rows, of which the verifiers' shares of the first claims are made: the next party's, and the previous one's.
    rows: [Zeroizing<Vec<Block>>; 2],
}

/// What the others' first messages were: the next party's values, masked, and the digest of the previous party's.
struct First {
    of_next: Vec<Block>,
    digest: Hash,
}

/// A batch of which this party has told all as a prover.
struct Proved {
    batch: Batch,
    common: Hash,
    /// This verifier's shares of the claims on the next party's proof, and on the previous one's.
    claims: [Block; 2],
}

/// A batch of which this party has told all.
struct Verified {
    next: Opening,
    previous: Opening,
    log: GateLog,
}

impl Prover {
    pub(crate) fn new(me: PartyId, worker: u8, parameters: Proofs, ring: Ring, keys: Keys) -> Self {
        Self {
            me: me.0,
            worker,
            parameters,
            ring,
            streams: Streams::new(keys, worker),
            coins: Counter::new(Purpose::ProofCoin, worker),
            batches: 0,
            halves: Halves::default(),
            begun: None,
            told: None,
        }
    }

    /// Begins to prove every gate of the log, and goes on with the batches before it. Gives the log of one that has passed, empty. After a failure no
    /// other batch may be proved.
    pub(crate) fn advance(&mut self, log: Option<GateLog>) -> Result<Option<GateLog>> {
        let closed = log.filter(|log| !log.is_empty()).map(|log| self.close(log));
        // Of each peer's messages the next is always that which is received here.
        let announced = closed
            .as_ref()
            .map(|closed| coin::announce(&mut self.ring, closed.word(), closed))
            .transpose()?;
        let told = self.told.take().map(|told| self.hear_tail(told)).transpose()?;
        let begun = self
            .begun
            .take()
            .map(|begun| self.hear_first(begun))
            .transpose()?;
        let verified = told
            .map(|(proved, told)| self.verify(proved, &told))
            .transpose()?;
        let shared = announced.map(|announced| {
            let received = announced.wait(&mut self.ring)?;
            coin::share(&mut self.ring, self.streams.keys(), &mut self.coins, received)
        });
        let shared = shared.transpose()?;
        if let Some((begun, first)) = begun {
            self.told = Some(self.prove(begun, &first)?);
        }
        if let Some(Verified { next, previous, .. }) = &verified {
            self.decide(next, previous)?;
        }
        if let (Some(closed), Some(shared)) = (closed, shared) {
            let coin = shared.open(&mut self.ring)?;
            self.begun = Some(self.begin(closed, coin)?);
        }
        Ok(verified.map(|Verified { mut log, .. }| {
            log.clear();
            log
        }))
    }

    /// Words of the log of a full batch.
    pub(super) fn batch_words(&self) -> usize {
        8 * usize::try_from(self.parameters.batch()).expect("parameters fit this machine's memory")
    }

    /// Whether batches are under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.begun.is_some() || self.told.is_some()
    }

    /// Overwrites all elements with zeros.
    pub(crate) fn wipe(&mut self) {
        let Halves { own, next, previous } = &mut self.halves;
        own.iter_mut().chain([next, previous]).for_each(Half::wipe);
        (self.begun, self.told) = (None, None);
    }

    fn close(&mut self, log: GateLog) -> Closed {
        let closed = Closed {
            blocks: log.words().div_ceil(8),
            number: self.batches,
            log,
        };
        self.batches += 1;
        closed
    }

    /// Tells the first message, with weights that were tossed only when the gates were fixed at all parties.
    fn begin(&mut self, closed: Closed, coin: Block) -> Result<Begun> {
        let Closed {
            mut log,
            blocks,
            number,
        } = closed;
        let variables = self.parameters.variables(blocks as u64);
        let rows = log.pad(1 << variables);
        let tiles = rows >> variables;
        let steps = self.parameters.steps(blocks as u64) as usize;
        let weight_bits = self.parameters.weight_bits();
        let batch = Batch {
            header: Header::new(self.worker, number, blocks, variables, weight_bits, coin),
            tiles,
            variables,
            steps,
            weights: Weights::new(coin, variables, weight_bits, tiles),
            places: self.streams.take(variables, steps),
            log,
        };
        let GateLog { x, y, z, .. } = &batch.log;
        let values = batch.weights.grid(x, y, rows);
        let (first, digest) = self.split(&batch, 0, values);
        self.ring.previous.send(steps::PROOF_GRID, as_bytes(&first))?;
        self.ring.previous.flush()?;
        self.ring.next.send(steps::PROOF_DIGEST, &digest)?;
        self.ring.next.flush()?;
        let of_next = batch
            .weights
            .rows(Some([&x[1][..rows], &y[1][..rows]]), &z[1][..rows]);
        let of_previous = batch.weights.rows(None, &z[0][..rows]);
        Ok(Begun {
            digest,
            rows: [of_next, of_previous],
            batch,
        })
    }

    /// Hears the next party's first message, and the digest of the previous one's.
    fn hear_first(&mut self, begun: Begun) -> Result<(Begun, First)> {
        let (mut of_next, mut digest) = (vec![Block::ZERO; begun.batch.places.values(0)], Hash::default());
        let Ring { previous, next } = &mut self.ring;
        next.recv(steps::PROOF_GRID, as_bytes_mut(&mut of_next))?;
        previous.recv(steps::PROOF_DIGEST, &mut digest)?;
        Ok((begun, First { of_next, digest }))
    }

    /// Tells the rest of this party's proof, once all have told their first message.
    fn prove(&mut self, begun: Begun, first: &First) -> Result<Proved> {
        let Begun {
            batch,
            digest: own_digest,
            rows: [of_next, of_previous],
        } = begun;
        let (next, previous) = ((self.me + 1) % 3, (self.me + 2) % 3);
        let nonce = self.streams.nonce(&batch.places, 1, 0);
        let next_digest = batch.header.message(next, 0, &nonce, &first.of_next);

        // The challenge that all have in common.
        let mut digests = [Hash::default(); 3];
        for (party, digest) in [
            (self.me, own_digest),
            (next, next_digest),
            (previous, first.digest),
        ] {
            digests[usize::from(party)] = digest;
        }
        let common = batch.header.common(&digests);
        self.ring.tell(steps::PROOF_CHALLENGE, &common, &common)?;
        let challenge = first_challenge(&common, batch.variables);
        let message = self.fold(&batch, &challenge);
        self.tell_tail(&batch, &common, message)?;
        let pads = self.streams.pads(&batch.places, 0, 0);
        Ok(Proved {
            claims: [
                first_claim(&challenge, &of_next, &first.of_next),
                first_claim(&challenge, &of_previous, &pads),
            ],
            common,
            batch,
        })
    }

    /// Follows the two others' proofs, and opens what this party finds.
    fn verify(&mut self, proved: Proved, told: &Told) -> Result<Verified> {
        let Proved {
            batch,
            common,
            claims: [of_next, of_previous],
        } = proved;
        let next = self.follow_next(&batch, &common, of_next, told);
        let previous = self.follow_previous(&batch, &common, of_previous, told);
        let agreed = self.agree(&common, told, &next, &previous)?;
        self.open(agreed, &next, &previous)?;
        Ok(Verified {
            next,
            previous,
            log: batch.log,
        })
    }

    /// The elements of all columns at the challenge. Gives the values of the first step that follows.
    fn fold(&mut self, batch: &Batch, challenge: &[Block]) -> Zeroizing<[Block; QUARTER_POINTS]> {
        let fold = Fold::new(fold_weights(challenge));
        let (log, rows) = (&batch.log, 1 << batch.variables);
        let Halves { own, next, previous } = &mut self.halves;
        let [first, second] = own;
        for half in [&mut *first, second, next, previous] {
            half.begin(batch.tiles);
        }
        let mut values = Zeroizing::new([Block::ZERO; QUARTER_POINTS]);
        for tile in 0..batch.tiles {
            let range = tile * rows..(tile + 1) * rows;
            // The first half has `x` and `y` of one component, weighed, the second `y` and `x` of the other.
            for (vector, operand) in [&log.x, &log.y].into_iter().enumerate() {
                for (component, weighed, plain) in
                    [(0, &mut *first, &mut *previous), (1, &mut *next, &mut *second)]
                {
                    fold.apply(&operand[component][range.clone()], plain.tile(tile, 1 - vector));
                    let (plain, weighed) = (plain.tile(tile, 1 - vector), weighed.tile(tile, vector));
                    batch.weights.weigh(plain, weighed, tile);
                }
            }
            first.add_message(second, tile, &mut values);
        }
        values
    }

    /// Tells the rest of this party's proof, all steps at once, and to each verifier the value of its half. `message` has the values of the first step.
    fn tell_tail(
        &mut self,
        batch: &Batch,
        common: &Hash,
        mut message: Zeroizing<[Block; QUARTER_POINTS]>,
    ) -> Result<()> {
        let mut transcript = Transcript::new(common, self.me);
        let mut values = Vec::with_capacity(batch.places.later_values() + 1);
        let mut digests: Vec<Hash> = Vec::with_capacity(batch.steps + 1);
        let mut tell = |this: &Self, step: usize, message: &[Block]| {
            let (sent, digest) = this.split(batch, step, message.to_vec());
            values.extend(sent);
            digests.push(digest);
            digest
        };
        for step in 1..=batch.steps {
            if step > 1 {
                let [u, v] = &mut self.halves.own;
                *message = u.message(v);
            }
            transcript.add(&tell(self, step, &*message));
            let challenge = transcript.challenge();
            self.halves.own.iter_mut().for_each(|half| half.fold(&challenge));
        }
        // The left verifier has the first mask's key, the right one the second one's.
        let [left, right] = [0, 1].map(|side| self.streams.mask(&batch.places, side, side));
        let [u, v] = &mut self.halves.own;
        let (u, v) = (u.end(left), v.end(right));
        transcript.add(&tell(self, batch.steps + 1, &last_values(&u, &v)));
        let at = transcript.last_challenge();
        values.push(through(&u, at));
        let value = through(&v, at).to_bytes();

        self.ring.previous.send(steps::PROOF_TAIL, as_bytes(&values))?;
        self.ring.previous.flush()?;
        let parts: [&[u8]; 2] = [digests.as_flattened(), &value];
        self.ring.next.send_parts(steps::PROOF_DIGESTS, &parts)?;
        Ok(self.ring.next.flush()?)
    }

    fn hear_tail(&mut self, proved: Proved) -> Result<(Proved, Told)> {
        let batch = &proved.batch;
        let mut told = Told {
            words: [Hash::default(); 2],
            values: vec![Block::ZERO; batch.places.later_values() + 1],
            digests: vec![Hash::default(); batch.steps + 1],
            value: [0; 16],
        };
        let (from_previous, from_next) = self.ring.hear(steps::PROOF_CHALLENGE)?;
        told.words = [from_previous, from_next];
        let Ring { previous, next } = &mut self.ring;
        next.recv(steps::PROOF_TAIL, as_bytes_mut(&mut told.values))?;
        let parts = &mut [told.digests.as_flattened_mut(), &mut told.value[..]];
        previous.recv_parts(steps::PROOF_DIGESTS, parts)?;
        Ok((proved, told))
    }

    /// A message's part for the left verifier, and its digest for the right one, who derives the rest.
    fn split(&self, batch: &Batch, step: usize, mut message: Vec<Block>) -> (Vec<Block>, Hash) {
        let pads = self.streams.pads(&batch.places, 1, step);
        message
            .iter_mut()
            .zip(pads.iter())
            .for_each(|(value, pad)| *value ^= *pad);
        let nonce = self.streams.nonce(&batch.places, 0, step);
        let digest = batch.header.message(self.me, step, &nonce, &message);
        (message, digest)
    }
}

impl Closed {
    /// What tells this batch's barrier from others'.
    fn word(&self) -> u64 {
        assert!(self.number < 1 << 32, "fewer than 2^32 batches in a session");
        self.number << 32 | self.blocks as u64
    }
}
