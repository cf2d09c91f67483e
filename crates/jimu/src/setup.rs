//! What is done once for a session: the watch list, base OTs, the difference Δ and the start of the hashes.

use std::sync::Arc;

use cenote_commit::ihash::{Batch, Code, Committer, UNIT, Watcher};
use cenote_garble::wide::Start;
use cenote_net::Channel;
use cenote_ot::bits::{BitReceiver, BitSender, Opener, Verifier};
use cenote_ot::{DeltaReceiver, DeltaSender, watch};
use cenote_pool::Tosser;
use cenote_primitives::{Block, Block512, Entropy, Position, Prg, as_bytes, as_bytes_mut};
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

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
    fn new(session: &str) -> Self {
        Self {
            labels: Labels::of_gadgets(),
            gates: 0,
            coins: 0,
            session: session.into(),
        }
    }

    /// The first of so many numbers of gates.
    pub(crate) fn gates(&mut self, count: usize) -> u64 {
        let first = self.gates;
        self.gates += count as u64;
        first
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
}

/// The stream of openings while computing, and that of checked gadgets.
const STREAMS: [u64; 2] = [0, 1];

/// The bit that tells the labels of a wire apart.
#[inline(always)]
pub(crate) fn colour(label: &[Block]) -> bool {
    label[0].0[0] & 1 == 1
}

fn code(sizes: &Sizes) -> Result<Code> {
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
    counters: &mut Counters,
    mut labels: Zeroizing<Vec<Block>>,
) -> Result<()> {
    let blocks = code.label_blocks();
    let batches = [counters.labels.take(UNIT), counters.labels.take(UNIT)];
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
    counters: &mut Counters,
    entropy: &mut Entropy,
) -> Result<Zeroizing<Vec<Block>>> {
    let (blocks, hash_blocks) = (code.label_blocks(), code.hash_blocks());
    let batches = [counters.labels.take(UNIT), counters.labels.take(UNIT)];
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

impl GarblerKeys {
    /// Sets a session up with the evaluator at the other end of `channel`.
    pub(crate) fn setup(
        channel: &mut dyn Channel,
        config: &mut Config,
        sizes: &Sizes,
    ) -> Result<(Self, GarblerMaker)> {
        let code = code(sizes)?;
        let blocks = code.label_blocks();
        let mut entropy = std::mem::replace(&mut config.entropy, Entropy::os());
        let session = config.session.as_bytes();
        let seeds = watch::send(channel, &mut entropy, session, code.length(), code.watched())?;
        let committer = Committer::new(&code, &seeds);
        let bits = BitReceiver::new(channel, &mut entropy, session)?;
        let transfers = DeltaSender::new(channel, &mut entropy, session)?;

        let mut counters = Counters::new(&config.session);
        let mut labels = Zeroizing::new(vec![Block::ZERO; UNIT * blocks]);
        entropy.fill(as_bytes_mut(&mut labels));
        labels[0].0[0] |= 1;
        let delta = Zeroizing::new(labels[..blocks].to_vec());
        show_difference(channel, &code, &committer, &mut counters, labels)?;

        let context = counters.coin();
        let tosser = Tosser::commit(channel, START, &mut entropy, context.as_bytes())?;
        let start = start(tosser.toss(channel, START, context.as_bytes())?, blocks);
        let secrets = Arc::new(GarblerSecrets {
            code,
            committer,
            delta,
            start,
        });
        let [opener, of_checks] = STREAMS.map(|stream| bits.opener(stream));
        let keys = Self {
            secrets: secrets.clone(),
            opener,
            transfers,
            labels: Labels::of_inputs(),
        };
        let maker = GarblerMaker {
            secrets,
            bits,
            opener: of_checks,
            counters,
            entropy,
        };
        Ok((keys, maker))
    }
}

impl EvaluatorKeys {
    /// Sets a session up with the garbler at the other end of `channel`.
    pub(crate) fn setup(
        channel: &mut dyn Channel,
        config: &mut Config,
        sizes: &Sizes,
    ) -> Result<(Self, EvaluatorMaker)> {
        let code = code(sizes)?;
        let blocks = code.label_blocks();
        let mut entropy = std::mem::replace(&mut config.entropy, Entropy::os());
        let session = config.session.as_bytes();
        let list = watch::receive(channel, &mut entropy, session, code.length(), code.watched())?;
        let watcher = Watcher::new(&code, &list.positions, &list.seeds);
        let bits = BitSender::new(channel, &mut entropy, session)?;
        let transfers = DeltaReceiver::new(channel, &mut entropy, session)?;

        let mut counters = Counters::new(&config.session);
        let delta_hash = see_difference(channel, &code, &watcher, &mut counters, &mut entropy)?;

        let context = counters.coin();
        let coin = cenote_pool::toss(channel, START, &mut entropy, context.as_bytes(), checks::COIN)?;
        let secrets = Arc::new(EvaluatorSecrets {
            code,
            watcher,
            delta_hash,
            start: start(coin, blocks),
            gamma: Zeroizing::new(bits.gamma()[0]),
        });
        let [verifier, of_checks] = STREAMS.map(|stream| bits.verifier(stream));
        let keys = Self {
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
            counters,
            entropy,
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
