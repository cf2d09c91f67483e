//! Both sides of the hashes in one process.

mod cheating;
mod golden;
mod hiding;
mod round_trip;
mod speed;

use cenote_params::ihash::{InteractiveHash, for_labels};
use cenote_primitives::{Block, Entropy, Sampler, as_bytes, as_bytes_mut};

use super::*;

/// Both sides after the set-up.
struct Pair {
    code: Code,
    committer: Committer,
    watcher: Watcher,
    /// The watch list, which no committer knows.
    positions: Vec<usize>,
}

fn code(length: u32, message: u32) -> Code {
    Code::new(InteractiveHash::new(length, message, message - 16, 8).unwrap()).unwrap()
}

/// The code of 40-bit security.
fn usual() -> Code {
    Code::new(for_labels(40).unwrap()).unwrap()
}

impl Pair {
    fn new(code: &Code, entropy: &mut Entropy) -> Pair {
        let seeds: Vec<Block> = (0..code.length()).map(|_| entropy.block()).collect();
        let mut all: Vec<u32> = (0..code.length() as u32).collect();
        Sampler::new(entropy.block()).shuffle(&mut all);
        let mut positions: Vec<usize> = all[..code.watched()].iter().map(|&i| i as usize).collect();
        positions.sort_unstable();
        let watched: Vec<Block> = positions.iter().map(|&i| seeds[i]).collect();
        Pair {
            code: code.clone(),
            committer: Committer::new(code, &seeds),
            watcher: Watcher::new(code, &positions, &watched),
            positions,
        }
    }

    fn watches(&self, position: usize) -> bool {
        self.positions.contains(&position)
    }

    /// Random labels and the message, of units from `first` on.
    fn make(&self, first: u64, labels: usize) -> (Batch, Vec<Block>, Vec<u8>) {
        let batch = Batch { first, labels };
        let mut made = vec![Block::ZERO; labels * self.code.label_blocks()];
        let mut message = vec![0; self.code.random_bytes(batch)];
        self.committer.random(batch, &mut made, &mut message);
        (batch, made, message)
    }

    /// The message for `labels`, in units from `first` on.
    fn choose(&self, first: u64, labels: &[Block]) -> (Batch, Vec<u8>) {
        let batch = Batch {
            first,
            labels: labels.len() / self.code.label_blocks(),
        };
        let mut message = vec![0; self.code.chosen_bytes(batch)];
        self.committer.chosen(batch, labels, &mut message);
        (batch, message)
    }

    fn receive_random(&self, batch: Batch, message: &[u8]) -> Vec<Block> {
        let mut hashes = vec![Block::ZERO; batch.labels * self.code.hash_blocks()];
        assert_eq!(self.watcher.random(batch, message, &mut hashes), Ok(()));
        hashes
    }

    fn receive_chosen(&self, batch: Batch, message: &[u8]) -> Vec<Block> {
        let mut hashes = vec![Block::ZERO; batch.labels * self.code.hash_blocks()];
        assert_eq!(self.watcher.chosen(batch, message, &mut hashes), Ok(()));
        hashes
    }

    fn hash(&self, labels: &[Block]) -> Vec<Block> {
        let count = labels.len() / self.code.label_blocks();
        let mut hashes = vec![Block::ZERO; count * self.code.hash_blocks()];
        self.watcher.hash(labels, &mut hashes);
        hashes
    }
}

fn random_labels(code: &Code, count: usize, entropy: &mut Entropy) -> Vec<Block> {
    let mut labels = vec![Block::ZERO; count * code.label_blocks()];
    entropy.fill(as_bytes_mut(&mut labels));
    labels
}

fn xor(a: &[Block], b: &[Block]) -> Vec<Block> {
    a.iter().zip(b).map(|(&a, &b)| a ^ b).collect()
}

/// Adds `error` to the symbol that is sent in `row` of label `label`, of `rows` rows.
fn tamper(message: &mut [u8], rows: usize, row: usize, label: usize, error: u8) {
    message[(label / UNIT * rows + row) * UNIT + label % UNIT] ^= error;
}

fn codes() -> [Code; 4] {
    [usual(), code(34, 32), code(142, 64), code(255, 240)]
}
