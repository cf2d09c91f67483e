//! The keystream through the `aes` crate: constant-time bitsliced software, or the AES instructions of a CPU that we
//! have no path of our own for.

use aes::cipher::{BlockCipherEncrypt, KeyInit};

use super::Position;
use crate::{Block, Block512};

/// 512-bit blocks encrypted per call.
const BATCH: usize = 8;

/// The expanded key, wiped on drop by the `aes` crate.
pub(super) struct Key(aes::Aes128);

impl Key {
    pub(super) fn new(key: Block) -> Key {
        Key(aes::Aes128::new(&key.to_bytes().into()))
    }

    pub(super) fn run<const XOR: bool>(&self, at: Position, out: &mut [Block512]) {
        for (k, group) in out.chunks_mut(BATCH).enumerate() {
            self.group::<XOR>(|i| at.advance(k * BATCH + i), group);
        }
    }

    pub(super) fn gather(&self, at: &[Position], out: &mut [Block512]) {
        for (at, group) in at.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
            self.group::<false>(|i| at[i], group);
        }
    }

    /// The keystream of up to [`BATCH`] blocks, block `i` of the group at position `at(i)`.
    fn group<const XOR: bool>(&self, at: impl Fn(usize) -> Position, group: &mut [Block512]) {
        let mut stream = [aes::Block::default(); 4 * BATCH];
        let stream = &mut stream[..4 * group.len()];
        for (i, inputs) in stream.chunks_exact_mut(4).enumerate() {
            let at = at(i);
            for (j, input) in inputs.iter_mut().enumerate() {
                *input = Block([at.counter() + j as u64, at.stream].map(u64::to_le))
                    .to_bytes()
                    .into();
            }
        }
        self.0.encrypt_blocks(stream);
        for (out, stream) in group.iter_mut().zip(stream.chunks_exact(4)) {
            let words: [Block; 4] = std::array::from_fn(|j| Block::from_bytes(stream[j].into()));
            let words: Block512 = bytemuck::cast(words);
            *out = if XOR { *out ^ words } else { words };
        }
    }
}
