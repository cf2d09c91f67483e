//! VerLeak: last bits of committed strings that the garbler tells (Figure 1, steps 5 to 7).
//!
//! The paper opens `s` random sums of the strings and compares their last bits with the sums of the bits told. The check
//! that commitments are codewords opens 128 such sums of all commitments of a batch, blinded too, so a batch of its own for
//! strings whose last bits are told needs no other: what it shows of the last bits must be the same sums of the bits told.

use crate::checks;
use cenote_net::{PartyId, Step};
use cenote_primitives::{Block, as_bytes_mut, gf128};
use cenote_session::{Error, Result};

/// The last bit of a string: bit 0.
#[inline(always)]
pub(crate) fn last_bit(block: Block) -> bool {
    block.0[0] & 1 == 1
}

/// Writes the last bits of `blocks`, eight in a byte, first one lowest.
pub(crate) fn pack_last_bits(blocks: &[Block], bits: &mut [u8]) {
    assert_eq!(blocks.len(), 8 * bits.len(), "eight bits in a byte");
    for (byte, blocks) in bits.iter_mut().zip(blocks.chunks_exact(8)) {
        *byte = blocks
            .iter()
            .enumerate()
            .fold(0, |byte, (i, block)| byte | ((block.0[0] & 1) as u8) << i);
    }
}

/// Replaces the first bits by `known` ones.
pub(crate) fn set_bits(bits: &mut [u8], known: impl Iterator<Item = bool>) {
    for (i, bit) in known.enumerate() {
        let byte = &mut bits[i / 8];
        *byte = *byte & !(1 << (i % 8)) | u8::from(bit) << (i % 8);
    }
}

/// The last bits of all columns of a batch, folded as the check of commitments folds them: `Σ bits_k alpha^(k + 1)` for
/// blocks of 128 columns.
fn fold(alpha: Block, bits: &[u8]) -> Block {
    let mut blocks = vec![Block::ZERO; bits.len() / size_of::<Block>()];
    as_bytes_mut(&mut blocks).copy_from_slice(bits);
    let mut powers = vec![Block::ZERO; blocks.len()];
    gf128::powers(alpha, &mut powers);
    gf128::inner_product(&blocks, &powers)
}

/// Compares the fold of the last bits of all commitments of a batch with that of the `bits` told, of all columns.
pub(crate) fn verify(folded: Block, alpha: Block, bits: &[u8], peer: PartyId, step: Step) -> Result<()> {
    if fold(alpha, bits) == folded {
        return Ok(());
    }
    Err(Error::cheated(
        checks::LEAKED_BITS,
        peer,
        step,
        "the last bits told are not those committed to",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_packed_low_to_high() {
        let blocks: Vec<Block> = (0..128u64).map(|i| Block([i % 3 % 2, !0])).collect();
        let mut bits = [0; 16];
        pack_last_bits(&blocks, &mut bits);
        for (i, &block) in blocks.iter().enumerate() {
            assert_eq!(bits[i / 8] >> (i % 8) & 1 == 1, last_bit(block));
        }
        set_bits(&mut bits, [false, true, true].into_iter());
        assert_eq!(bits[0] & 7, 6);
        assert_eq!(
            bits[1..],
            {
                let mut again = [0; 16];
                pack_last_bits(&blocks, &mut again);
                again
            }[1..]
        );
    }
}
