//! What is done once for a session: the watch list, base OTs, the difference Δ and the start of the hashes.

use std::fmt;

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

/// What is used up once and for all: labels in the streams of the seeds, and numbers of gates. The same at both parties.
#[derive(Debug)]
pub(crate) struct Counters {
    /// The next unit of labels.
    units: u64,
    /// The number of the next gate.
    gates: u64,
    /// The number of the next coin.
    coins: u64,
    session: String,
}

impl Counters {
    fn new(session: &str) -> Self {
        Self {
            units: 0,
            gates: 0,
            coins: 0,
            session: session.into(),
        }
    }

    /// So many labels that no others were.
    pub(crate) fn labels(&mut self, labels: usize) -> Batch {
        let first = self.units;
        let batch = Batch { first, labels };
        self.units += batch.units() as u64;
        batch
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

/// What the garbler keeps of a session besides wires and gadgets.
pub(crate) struct GarblerKeys {
    pub(crate) code: Code,
    pub(crate) committer: Committer,
    pub(crate) delta: Zeroizing<Vec<Block>>,
    pub(crate) start: Start,
    /// Permutation bits.
    pub(crate) bits: BitReceiver<1>,
    /// Opens them.
    pub(crate) opener: Opener<1>,
    /// Transfers labels of the evaluator's inputs.
    pub(crate) transfers: DeltaSender,
    pub(crate) counters: Counters,
    pub(crate) entropy: Entropy,
}

/// What the evaluator keeps of a session besides wires and gadgets.
pub(crate) struct EvaluatorKeys {
    pub(crate) code: Code,
    pub(crate) watcher: Watcher,
    pub(crate) delta_hash: Zeroizing<Vec<Block>>,
    pub(crate) start: Start,
    /// Keys of permutation bits.
    pub(crate) bits: BitSender<1>,
    /// Verifies those that are opened.
    pub(crate) verifier: Verifier<1>,
    /// The difference of MACs. Bit 0 is 1.
    pub(crate) gamma: Zeroizing<u64>,
    /// Receives labels of this party's inputs.
    pub(crate) transfers: DeltaReceiver,
    pub(crate) counters: Counters,
    pub(crate) entropy: Entropy,
}

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
    let batches = [counters.labels(UNIT), counters.labels(UNIT)];
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
    let batches = [counters.labels(UNIT), counters.labels(UNIT)];
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
    pub(crate) fn setup(channel: &mut dyn Channel, config: &mut Config, sizes: &Sizes) -> Result<Self> {
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
        Ok(Self {
            opener: bits.opener(0),
            code,
            committer,
            delta,
            start,
            bits,
            transfers,
            counters,
            entropy,
        })
    }
}

impl EvaluatorKeys {
    /// Sets a session up with the garbler at the other end of `channel`.
    pub(crate) fn setup(channel: &mut dyn Channel, config: &mut Config, sizes: &Sizes) -> Result<Self> {
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
        Ok(Self {
            verifier: bits.verifier(0),
            gamma: Zeroizing::new(bits.gamma()[0]),
            code,
            watcher,
            delta_hash,
            start: start(coin, blocks),
            bits,
            transfers,
            counters,
            entropy,
        })
    }
}

/// Adds `addend` to `to` where `mask` is all ones; nothing where it is zero.
#[inline(always)]
pub(crate) fn add_if(to: &mut [Block], addend: &[Block], mask: u64) {
    for (to, addend) in to.iter_mut().zip(addend) {
        *to ^= *addend & Block([mask; 2]);
    }
}

/// Prints nothing but what it is.
impl fmt::Debug for GarblerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GarblerKeys")
    }
}

/// Prints nothing but what it is.
impl fmt::Debug for EvaluatorKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EvaluatorKeys")
    }
}

#[cfg(test)]
pub(crate) mod tests;
