//! What is done once for a pool: the watch list, the difference Δ and the start of the hashes. And what is done for each session over it:
//! base OTs, and seeds for the labels of this session alone, so that what a session that was cut off has used is never used again.

use std::sync::Arc;

use cenote_commit::ihash::{Batch, Code, Committer, UNIT, Watcher};
use cenote_garble::wide::Start;
use cenote_net::Channel;
use cenote_ot::bits::{BitReceiver, BitSender, Opener, Verifier};
use cenote_ot::{DeltaReceiver, DeltaSender, watch};
use cenote_pool::Tosser;
use cenote_pool::kept::{KeptPool, Which};
use cenote_primitives::{Block, Block512, Entropy, Position, Prg, as_bytes, as_bytes_mut};
use cenote_session::{Error, Result};
use zeroize::{Zeroize, Zeroizing};

use crate::checks;
use crate::settings::{Config, Sizes};
use crate::steps::{DIFFERENCE_CHALLENGE, HASH_DIFFERENCE, OPEN_DIFFERENCE, START};

/// Labels in the streams of the seeds. The same at both parties.
#[derive(Debug)]
pub(crate) struct Labels {
    /// The next unit.
    next: u64,
}

impl Labels {
    /// Those of gadgets.
    fn of_gadgets() -> Self {
        Self { next: 0 }
    }

    /// The difference and what it is shown with, in streams of their own.
    fn of_difference() -> [Batch; 2] {
        let mut labels = Self { next: 0 };
        [(); 2].map(|()| labels.take(UNIT))
    }

    /// Those of inputs: far beyond all gadgets that are ever made.
    fn of_inputs() -> Self {
        Self { next: 1 << 48 }
    }

    /// So many labels that no others were.
    pub(crate) fn take(&mut self, labels: usize) -> Batch {
        let batch = Batch {
            first: self.next,
            labels,
        };
        self.next += batch.units() as u64;
        batch
    }
}

/// Numbers of gates that a session has: at a million gates a second they last for twelve days, and then the next session begins. No
/// two sessions over a pool have one in common.
pub(crate) const GATES_LOG2: u32 = 40;

/// What making gadgets uses up once and for all. The same at both parties.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) labels: Labels,
    /// The number of the next gate.
    gates: u64,
    /// The number of the next coin.
    coins: u64,
    session: String,
}

impl Counters {
    /// Of the session of this `number` over a pool.
    fn new(session: &str, number: u64) -> Self {
        Self {
            labels: Labels::of_gadgets(),
            gates: number << GATES_LOG2,
            coins: 0,
            session: session.into(),
        }
    }

    /// The first of so many numbers of gates.
    ///
    /// # Errors
    /// [`Error::Exhausted`] if the session has had all of its numbers.
    pub(crate) fn gates(&mut self, count: usize) -> Result<u64> {
        let first = self.gates;
        self.gates += count as u64;
        if first >> GATES_LOG2 != self.gates >> GATES_LOG2 {
            let reason = format!("this session has made 2^{GATES_LOG2} gates; start another");
            return Err(Error::Exhausted(reason));
        }
        Ok(first)
    }

    /// The context of a coin.
    pub(crate) fn coin(&mut self) -> String {
        self.coins += 1;
        format!("{} {}", self.coins, self.session)
    }
}

/// What the garbler needs to make gadgets and to compute with them.
pub(crate) struct GarblerSecrets {
    pub(crate) code: Code,
    pub(crate) committer: Committer,
    pub(crate) delta: Zeroizing<Vec<Block>>,
    pub(crate) start: Start,
}

/// What the garbler computes with, besides wires and gadgets.
pub(crate) struct GarblerKeys {
    pub(crate) secrets: Arc<GarblerSecrets>,
    /// Opens permutation bits.
    pub(crate) opener: Opener<1>,
    /// Transfers labels of the evaluator's inputs.
    pub(crate) transfers: DeltaSender,
    pub(crate) labels: Labels,
}

/// What the garbler makes gadgets with.
pub(crate) struct GarblerMaker {
    pub(crate) secrets: Arc<GarblerSecrets>,
    /// Permutation bits.
    pub(crate) bits: BitReceiver<1>,
    /// Opens those of checked gadgets.
    pub(crate) opener: Opener<1>,
    pub(crate) counters: Counters,
    pub(crate) entropy: Entropy,
    /// What is on disk, if the pool is kept.
    pub(crate) kept: Option<Arc<KeptPool>>,
}

/// What the evaluator needs to check gadgets and to compute with them.
pub(crate) struct EvaluatorSecrets {
    pub(crate) code: Code,
    pub(crate) watcher: Watcher,
    pub(crate) delta_hash: Zeroizing<Vec<Block>>,
    pub(crate) start: Start,
    /// The difference of MACs. Bit 0 is 1.
    pub(crate) gamma: Zeroizing<u64>,
}

/// What the evaluator computes with, besides wires and gadgets.
pub(crate) struct EvaluatorKeys {
    pub(crate) secrets: Arc<EvaluatorSecrets>,
    /// Verifies permutation bits that are opened.
    pub(crate) verifier: Verifier<1>,
    /// Receives labels of this party's inputs.
    pub(crate) transfers: DeltaReceiver,
    pub(crate) labels: Labels,
    pub(crate) entropy: Entropy,
}

/// What the evaluator checks gadgets with.
pub(crate) struct EvaluatorMaker {
    pub(crate) secrets: Arc<EvaluatorSecrets>,
    /// Keys of permutation bits.
    pub(crate) bits: BitSender<1>,
    /// Verifies those of checked gadgets.
    pub(crate) verifier: Verifier<1>,
    pub(crate) counters: Counters,
    pub(crate) entropy: Entropy,
    /// What is on disk, if the pool is kept.
    pub(crate) kept: Option<Arc<KeptPool>>,
}

/// The stream of openings while computing, and that of checked gadgets.
const STREAMS: [u64; 2] = [0, 1];

/// The bit that tells the labels of a wire apart.
#[inline(always)]
pub(crate) fn colour(label: &[Block]) -> bool {
    label[0].0[0] & 1 == 1
}

pub(crate) fn code(sizes: &Sizes) -> Result<Code> {
    Code::new(sizes.labels).map_err(|refusal| Error::Internal(refusal.to_string()))
}

/// The start of the hashes that a coin gives.
fn start(coin: Block, blocks: usize) -> Start {
    let mut stream = [Block512::ZERO; 3];
    Prg::new(coin).fill(Position { stream: 0, index: 0 }, &mut stream);
    let random: &[Block] = bytemuck::cast_slice(&stream);
    Start {
        key: random[0],
        map: random[1..=blocks].to_vec(),
    }
}

/// Hashes the first of `labels`, Δ, and shows that its last bit is 1: of sums of random labels with Δ, or without it as the evaluator
/// chooses, the last bits are as was told before it chose.
fn show_difference(
    channel: &mut dyn Channel,
    code: &Code,
    committer: &Committer,
    mut labels: Zeroizing<Vec<Block>>,
) -> Result<()> {
    let blocks = code.label_blocks();
    let batches = Labels::of_difference();
    let delta = Zeroizing::new(labels[..blocks].to_vec());
    let mut chosen = vec![0; code.chosen_bytes(batches[0])];
    committer.chosen(batches[0], &labels, &mut chosen);
    let mut random = vec![0; code.random_bytes(batches[1])];
    committer.random(batches[1], &mut labels, &mut random);
    let last = last_bits(&labels, blocks).to_le_bytes();
    channel.send_parts(HASH_DIFFERENCE, &[&chosen, &random, &last])?;
    let mut challenge = [0; 8];
    channel.recv(DIFFERENCE_CHALLENGE, &mut challenge)?;
    for (at, label) in labels.chunks_exact_mut(blocks).enumerate() {
        add_if(
            label,
            &delta,
            (u64::from_le_bytes(challenge) >> at & 1).wrapping_neg(),
        );
    }
    Ok(channel.send(OPEN_DIFFERENCE, as_bytes(&labels))?)
}

/// What [`show_difference`] shows: the i-hash of Δ.
fn see_difference(
    channel: &mut dyn Channel,
    code: &Code,
    watcher: &Watcher,
    entropy: &mut Entropy,
) -> Result<Zeroizing<Vec<Block>>> {
    let (blocks, hash_blocks) = (code.label_blocks(), code.hash_blocks());
    let batches = Labels::of_difference();
    let mut chosen = vec![0; code.chosen_bytes(batches[0])];
    let mut random = vec![0; code.random_bytes(batches[1])];
    let mut last = [0; 8];
    channel.recv_parts(HASH_DIFFERENCE, &mut [&mut chosen, &mut random, &mut last])?;
    let mut delta_hash = Zeroizing::new(vec![Block::ZERO; UNIT * hash_blocks]);
    let mut hashes = Zeroizing::new(vec![Block::ZERO; UNIT * hash_blocks]);
    let received = watcher.chosen(batches[0], &chosen, &mut delta_hash);
    let received = received.and_then(|()| watcher.random(batches[1], &random, &mut hashes));
    received.map_err(|mismatch| Error::Internal(mismatch.to_string()))?;
    delta_hash.truncate(hash_blocks);

    let challenge: [u8; 8] = entropy.bytes();
    channel.send(DIFFERENCE_CHALLENGE, &challenge)?;
    let challenge = u64::from_le_bytes(challenge);
    let mut sums = vec![Block::ZERO; UNIT * blocks];
    channel.recv(OPEN_DIFFERENCE, as_bytes_mut(&mut sums))?;
    let peer = channel.peer();
    let refuse = |detail: String| Error::cheated(checks::DIFFERENCE, peer, OPEN_DIFFERENCE, detail);
    for (at, hash) in hashes.chunks_exact_mut(hash_blocks).enumerate() {
        add_if(hash, &delta_hash, (challenge >> at & 1).wrapping_neg());
    }
    let verified = watcher.verify(&sums, &hashes);
    verified.map_err(|mismatch| refuse(mismatch.to_string()))?;
    if last_bits(&sums, blocks) != u64::from_le_bytes(last) ^ challenge {
        return Err(refuse("its last bit is not 1".into()));
    }
    Ok(delta_hash)
}

/// The last bits of up to 64 labels.
fn last_bits(labels: &[Block], blocks: usize) -> u64 {
    let labels = labels.chunks_exact(blocks).enumerate();
    labels.fold(0, |bits, (at, label)| bits | u64::from(colour(label)) << at)
}

/// What the garbler keeps of a pool, besides gadgets, for as long as the pool lives.
pub(crate) struct GarblerBase {
    /// Of each position of the code.
    pub(crate) seeds: Zeroizing<Vec<Block>>,
    pub(crate) delta: Zeroizing<Vec<Block>>,
    pub(crate) coin: Block,
}

/// What the evaluator keeps of a pool, besides gadgets, for as long as the pool lives.
pub(crate) struct EvaluatorBase {
    pub(crate) positions: Zeroizing<Vec<usize>>,
    /// Of each watched position.
    pub(crate) seeds: Zeroizing<Vec<Block>>,
    pub(crate) delta_hash: Zeroizing<Vec<Block>>,
    pub(crate) coin: Block,
    pub(crate) gamma: Zeroizing<[u64; 1]>,
}

/// The seeds of the labels of one session over a pool, or of Δ.
fn seeds_of(base: &[Block], session: Option<Which>) -> Zeroizing<Vec<Block>> {
    let derived = base.iter().map(|seed| {
        let mut hasher = blake3::Hasher::new_derive_key("Cenote 2026 jimu: seeds of a session's labels");
        hasher.update(&Zeroizing::new(seed.to_bytes())[..]);
        if let Some(Which { number, nonce }) = session {
            hasher.update(&number.to_le_bytes()).update(nonce.as_flattened());
        }
        let seed = Zeroizing::new(*hasher.finalize().as_bytes());
        hasher.zeroize();
        Block::from_bytes(*seed.first_chunk().expect("a hash has 32 bytes"))
    });
    let mut seeds = Zeroizing::new(Vec::with_capacity(base.len()));
    seeds.extend(derived);
    seeds
}

/// The context of the coin of a pool's start.
fn start_context(session: &str) -> String {
    format!("start {session}")
}

impl GarblerBase {
    /// Sets a pool up with the evaluator at the other end of `channel`.
    pub(crate) fn establish(channel: &mut dyn Channel, config: &mut Config, sizes: &Sizes) -> Result<Self> {
        let code = code(sizes)?;
        let blocks = code.label_blocks();
        let (entropy, session) = (&mut config.entropy, config.session.as_bytes());
        let seeds = watch::send(channel, entropy, session, code.length(), code.watched())?;
        let mut labels = Zeroizing::new(vec![Block::ZERO; UNIT * blocks]);
        entropy.fill(as_bytes_mut(&mut labels));
        labels[0].0[0] |= 1;
        let delta = Zeroizing::new(labels[..blocks].to_vec());
        let committer = Committer::new(&code, &seeds_of(&seeds, None));
        show_difference(channel, &code, &committer, labels)?;
        let context = start_context(&config.session);
        let tosser = Tosser::commit(channel, START, entropy, context.as_bytes())?;
        let coin = tosser.toss(channel, START, context.as_bytes())?;
        Ok(Self { seeds, delta, coin })
    }

    /// Begins a session over the pool.
    pub(crate) fn begin(
        &self,
        channel: &mut dyn Channel,
        config: &mut Config,
        sizes: &Sizes,
        which: Which,
    ) -> Result<(GarblerKeys, GarblerMaker)> {
        let code = code(sizes)?;
        let mut entropy = std::mem::replace(&mut config.entropy, Entropy::os());
        let session = config.session.as_bytes();
        let bits = BitReceiver::new(channel, &mut entropy, session)?;
        let transfers = DeltaSender::new(channel, &mut entropy, session)?;
        let secrets = Arc::new(GarblerSecrets {
            committer: Committer::new(&code, &seeds_of(&self.seeds, Some(which))),
            delta: self.delta.clone(),
            start: start(self.coin, code.label_blocks()),
            code,
        });
        let [opener, of_checks] = STREAMS.map(|stream| bits.opener(stream));
        let keys = GarblerKeys {
            secrets: secrets.clone(),
            opener,
            transfers,
            labels: Labels::of_inputs(),
        };
        let maker = GarblerMaker {
            secrets,
            bits,
            opener: of_checks,
            counters: Counters::new(&config.session, which.number),
            entropy,
            kept: None,
        };
        Ok((keys, maker))
    }
}

impl EvaluatorBase {
    /// Sets a pool up with the garbler at the other end of `channel`.
    pub(crate) fn establish(channel: &mut dyn Channel, config: &mut Config, sizes: &Sizes) -> Result<Self> {
        let code = code(sizes)?;
        let (entropy, session) = (&mut config.entropy, config.session.as_bytes());
        let list = watch::receive(channel, entropy, session, code.length(), code.watched())?;
        let watcher = Watcher::new(&code, &list.positions, &seeds_of(&list.seeds, None));
        let delta_hash = see_difference(channel, &code, &watcher, entropy)?;
        let context = start_context(&config.session);
        let coin = cenote_pool::toss(channel, START, entropy, context.as_bytes(), checks::COIN)?;
        Ok(Self {
            positions: Zeroizing::new(list.positions.to_vec()),
            seeds: Zeroizing::new(list.seeds.to_vec()),
            delta_hash,
            coin,
            gamma: BitSender::draw_gamma(entropy),
        })
    }

    /// Begins a session over the pool.
    pub(crate) fn begin(
        &self,
        channel: &mut dyn Channel,
        config: &mut Config,
        sizes: &Sizes,
        which: Which,
    ) -> Result<(EvaluatorKeys, EvaluatorMaker)> {
        let code = code(sizes)?;
        let mut entropy = std::mem::replace(&mut config.entropy, Entropy::os());
        let session = config.session.as_bytes();
        let bits = BitSender::with_gamma(channel, &mut entropy, session, &self.gamma)?;
        let transfers = DeltaReceiver::new(channel, &mut entropy, session)?;
        let secrets = Arc::new(EvaluatorSecrets {
            watcher: Watcher::new(&code, &self.positions, &seeds_of(&self.seeds, Some(which))),
            delta_hash: self.delta_hash.clone(),
            start: start(self.coin, code.label_blocks()),
            gamma: Zeroizing::new(self.gamma[0]),
            code,
        });
        let [verifier, of_checks] = STREAMS.map(|stream| bits.verifier(stream));
        let keys = EvaluatorKeys {
            secrets: secrets.clone(),
            verifier,
            transfers,
            labels: Labels::of_inputs(),
            entropy: entropy.fork(),
        };
        let maker = EvaluatorMaker {
            secrets,
            bits,
            verifier: of_checks,
            counters: Counters::new(&config.session, which.number),
            entropy,
            kept: None,
        };
        Ok((keys, maker))
    }
}

/// Adds `addend` to `to` where `mask` is all ones; nothing where it is zero.
#[inline(always)]
pub(crate) fn add_if(to: &mut [Block], addend: &[Block], mask: u64) {
    for (to, addend) in to.iter_mut().zip(addend) {
        *to ^= *addend & Block([mask; 2]);
    }
}

#[cfg(test)]
pub(crate) mod tests;
