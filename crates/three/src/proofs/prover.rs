//! A party's part in the proofs of one worker's batches: prover, and verifier of the two others.

use cenote_net::PartyId;
use cenote_params::three::Proofs;
use cenote_primitives::sumcheck::{Fold, QUARTER_POINTS, fold_weights};
use cenote_primitives::{Block, Block512, Position, as_bytes, as_bytes_mut, as_quarters};
use cenote_session::Result;

use super::algebra::{LAST_VALUES, first_claim, last_values, through};
use super::buffers::Half;
use super::transcript::{Hash, Header, Transcript, first_challenge};
use super::verifier::Told;
use super::weights::Weights;
use crate::online::gate_log::GateLog;
use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys, Purpose};
use crate::{coin, steps};

/// Messages to and fro that a batch takes.
const ROUNDS: u64 = 5;

/// Proves batches, one after the other.
pub(crate) struct Prover {
    pub(super) me: u8,
    worker: u8,
    parameters: Proofs,
    pub(crate) ring: Ring,
    keys: Keys,
    batches: u64,
    coins: Counter,
    pads: Counter,
    nonces: Counter,
    masks: [Counter; 2],
    pub(super) halves: Halves,
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
struct Closed;

impl coin::Fixed for Closed {}

/// Where the keystreams of a batch are, for each message in turn.
struct Places {
    pads: Vec<Position>,
    nonces: Vec<Position>,
    masks: [Position; 2],
}

/// A batch under way.
pub(super) struct Batch<'a> {
    pub(super) header: Header,
    tiles: usize,
    variables: u32,
    pub(super) steps: usize,
    weights: Weights,
    log: &'a GateLog,
    places: Places,
}

impl Prover {
    pub(crate) fn new(me: PartyId, worker: u8, parameters: Proofs, ring: Ring, keys: Keys) -> Self {
        let counter = |purpose| Counter::new(purpose, worker);
        Self {
            me: me.0,
            worker,
            parameters,
            ring,
            keys,
            batches: 0,
            coins: counter(Purpose::ProofCoin),
            pads: counter(Purpose::ProofPad),
            nonces: counter(Purpose::ProofNonce),
            masks: [counter(Purpose::ProofLeftMask), counter(Purpose::ProofRightMask)],
            halves: Halves::default(),
        }
    }

    /// Proves every gate of the log, verifies the others' proofs, and empties the log. Gives the number of rounds. After a failure no other
    /// batch may be proved.
    pub(crate) fn prove(&mut self, log: &mut GateLog) -> Result<u64> {
        if log.is_empty() {
            return Ok(0);
        }
        let blocks = log.words().div_ceil(8);
        let variables = self.parameters.variables(blocks as u64);
        let padded = log.pad(1 << variables);
        let tiles = padded >> variables;
        let steps = self.parameters.steps(blocks as u64) as usize;

        // The weights are tossed only now that the gates are fixed at all parties.
        let word = self.batches << 32 | blocks as u64;
        let received = coin::barrier(&mut self.ring, word, Closed)?;
        let coin = coin::toss(&mut self.ring, &self.keys, &mut self.coins, received)?;
        let weight_bits = self.parameters.weight_bits();
        let header = Header::new(self.worker, self.batches, blocks, variables, weight_bits, coin);
        self.batches += 1;
        let batch = Batch {
            header,
            tiles,
            variables,
            steps,
            weights: Weights::new(coin, variables, weight_bits, tiles),
            places: self.places(variables, steps),
            log,
        };
        let proved = self.batch(&batch);
        if proved.is_err() {
            self.wipe();
        }
        proved?;
        log.clear();
        Ok(ROUNDS)
    }

    /// Overwrites all elements with zeros.
    pub(crate) fn wipe(&mut self) {
        let Halves { own, next, previous } = &mut self.halves;
        own.iter_mut().chain([next, previous]).for_each(Half::wipe);
    }

    fn places(&mut self, variables: u32, steps: usize) -> Places {
        let values = |step: usize| match step {
            0 => cenote_primitives::sumcheck::at_infinity(variables),
            _ if step <= steps => QUARTER_POINTS,
            _ => LAST_VALUES,
        };
        let messages = 0..steps + 2;
        Places {
            pads: messages
                .clone()
                .map(|step| self.pads.take(values(step).div_ceil(4)))
                .collect(),
            nonces: messages.map(|_| self.nonces.take(1)).collect(),
            masks: self.masks.each_mut().map(|counter| counter.take(1)),
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) -> Result<()> {
        let (next, previous) = ((self.me + 1) % 3, (self.me + 2) % 3);
        // The first message.
        let log = batch.log;
        let rows = batch.tiles << batch.variables;
        let values = batch.weights.grid(&log.x, &log.y, rows);
        let (first, own_digest) = self.split(batch, 0, values);
        self.ring.previous.send(steps::PROOF_GRID, as_bytes(&first))?;
        self.ring.previous.flush()?;
        self.ring.next.send(steps::PROOF_DIGEST, &own_digest)?;
        self.ring.next.flush()?;
        let left = batch
            .weights
            .rows(Some([&log.x[1][..rows], &log.y[1][..rows]]), &log.z[1][..rows]);
        let right = batch.weights.rows(None, &log.z[0][..rows]);
        let mut next_values = vec![Block::ZERO; first.len()];
        self.ring
            .next
            .recv(steps::PROOF_GRID, as_bytes_mut(&mut next_values))?;
        let mut previous_digest = Hash::default();
        self.ring
            .previous
            .recv(steps::PROOF_DIGEST, &mut previous_digest)?;
        let next_digest = batch
            .header
            .message(next, 0, &self.nonce(batch, 1, 0), &next_values);

        // The challenge that all have in common.
        let mut digests = [Hash::default(); 3];
        for (party, digest) in [
            (self.me, own_digest),
            (next, next_digest),
            (previous, previous_digest),
        ] {
            digests[usize::from(party)] = digest;
        }
        let common = batch.header.common(&digests);
        for channel in [&mut self.ring.previous, &mut self.ring.next] {
            channel.send(steps::PROOF_CHALLENGE, &common)?;
            channel.flush()?;
        }
        let challenge = first_challenge(&common, batch.variables);
        self.fold(batch, &challenge);

        self.tell_tail(batch, &common)?;
        let told = self.hear_tail(batch)?;
        let of_next = self.follow_next(batch, &common, first_claim(&challenge, left, &next_values), &told);
        let pads = self.pads_of_previous(batch, 0, first.len());
        let of_previous = self.follow_previous(batch, &common, first_claim(&challenge, right, &pads), &told);
        let agreed = self.agree(&common, &told, &of_next, &of_previous)?;
        self.open(agreed, &of_next, &of_previous)
    }

    /// The elements of all columns at the challenge.
    fn fold(&mut self, batch: &Batch<'_>, challenge: &[Block]) {
        let fold = Fold::new(fold_weights(challenge));
        let (log, rows) = (batch.log, batch.tiles << batch.variables);
        let Halves { own, next, previous } = &mut self.halves;
        let [first, second] = own;
        let of = |component: usize| (&log.x[component][..rows], &log.y[component][..rows]);
        let ((x, y), tiles) = (of(0), batch.tiles);
        first.begin(&fold, x, y, tiles);
        previous.begin_as(first);
        let (x, y) = of(1);
        next.begin(&fold, x, y, tiles);
        second.begin_as(next);
        for half in [first, next] {
            let [of_x, of_y] = half.vectors();
            batch.weights.weigh(of_x);
            batch.weights.weigh(of_y);
        }
    }

    /// Tells the rest of this party's proof, all steps at once, and to each verifier the value of its half.
    fn tell_tail(&mut self, batch: &Batch<'_>, common: &Hash) -> Result<()> {
        let mut transcript = Transcript::new(common, self.me);
        let mut values = Vec::with_capacity(QUARTER_POINTS * batch.steps + LAST_VALUES + 1);
        let mut digests: Vec<Hash> = Vec::with_capacity(batch.steps + 1);
        let mut tell = |this: &Self, step: usize, message: &[Block]| {
            let (sent, digest) = this.split(batch, step, message.to_vec());
            values.extend(sent);
            digests.push(digest);
            digest
        };
        for step in 1..=batch.steps {
            let [u, v] = &mut self.halves.own;
            let message = u.message(v);
            transcript.add(&tell(self, step, &message));
            let challenge = transcript.challenge();
            self.halves.own.iter_mut().for_each(|half| half.fold(&challenge));
        }
        // The left verifier has the first mask's key, the right one the second one's.
        let [left, right] = [0, 1].map(|side| self.mask(batch, side, side));
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

    fn hear_tail(&mut self, batch: &Batch<'_>) -> Result<Told> {
        let mut told = Told {
            words: [Hash::default(); 2],
            values: vec![Block::ZERO; QUARTER_POINTS * batch.steps + LAST_VALUES + 1],
            digests: vec![Hash::default(); batch.steps + 1],
            value: [0; 16],
        };
        let Ring { previous, next } = &mut self.ring;
        let [from_previous, from_next] = &mut told.words;
        previous.recv(steps::PROOF_CHALLENGE, from_previous)?;
        next.recv(steps::PROOF_CHALLENGE, from_next)?;
        next.recv(steps::PROOF_TAIL, as_bytes_mut(&mut told.values))?;
        let parts = &mut [told.digests.as_flattened_mut(), &mut told.value[..]];
        previous.recv_parts(steps::PROOF_DIGESTS, parts)?;
        Ok(told)
    }

    /// A message's part for the left verifier, and its digest for the right one, who derives the rest.
    fn split(&self, batch: &Batch<'_>, step: usize, mut message: Vec<Block>) -> (Vec<Block>, Hash) {
        let pads = self.stretch(1, batch.places.pads[step], message.len());
        message
            .iter_mut()
            .zip(pads)
            .for_each(|(value, pad)| *value ^= pad);
        let nonce = self.nonce(batch, 0, step);
        let digest = batch.header.message(self.me, step, &nonce, &message);
        (message, digest)
    }

    /// The nonce of a message of the prover that shares a component of the keys with its left verifier: this party's first with the previous party, its
    /// second with the next.
    pub(super) fn nonce(&self, batch: &Batch<'_>, component: usize, step: usize) -> Hash {
        let mut block = [Block512::ZERO];
        self.keys
            .component(component, batch.places.nonces[step], &mut block);
        std::array::from_fn(|i| as_bytes(&block)[i])
    }

    /// A mask of the first half (side 0) or of the second, from a component of the keys.
    pub(super) fn mask(&self, batch: &Batch<'_>, side: usize, component: usize) -> Block {
        self.stretch(component, batch.places.masks[side], 1)[0]
    }

    /// The share of a message of the previous party that its right verifier, this party, derives.
    pub(super) fn pads_of_previous(&self, batch: &Batch<'_>, step: usize, count: usize) -> Vec<Block> {
        self.stretch(0, batch.places.pads[step], count)
    }

    fn stretch(&self, component: usize, at: Position, count: usize) -> Vec<Block> {
        let mut blocks = vec![Block512::ZERO; count.div_ceil(4)];
        self.keys.component(component, at, &mut blocks);
        as_quarters(&blocks)[..count].to_vec()
    }
}
