//! The code: a binary BCH code of length 511 and designed distance 41, shortened to 128 message bits, systematic.
//!
//! As a polynomial a codeword is `m(x) x^171 + (m(x) x^171 mod g(x))`, with `g` the generator polynomial. Message bit `i` is
//! the coefficient of `x^(171 + i)` and comes first in shares; parity bit `j` is that of `x^j`.

use std::sync::OnceLock;

use cenote_primitives::kernels::{LINEAR_SCRATCH, LinearMap, add_image, columns_to_rows, rows_to_columns};
use cenote_primitives::{BLOCK_BITS, BitMatrix, Block, Block512, bch};

use super::{CODE_BITS, MESSAGE_BITS, PARITY_BITS, SHARE_WORDS, Share};

/// Words of the message in a share.
const MESSAGE_WORDS: usize = MESSAGE_BITS / 64;
/// Words of parity in a share.
const PARITY_WORDS: usize = SHARE_WORDS - MESSAGE_WORDS;

/// The blocks of memory that [`encode_columns`] needs.
pub(super) const ENCODE_SCRATCH: usize = CODE_BITS + PARITY_WORDS * 64 + LINEAR_SCRATCH;

/// The map from message rows to parity rows.
fn parity_map() -> &'static LinearMap {
    static MAP: OnceLock<LinearMap> = OnceLock::new();
    MAP.get_or_init(|| {
        // The remainder of x^(171 + i) by `g`, one i after another: times x, less `g` if that reaches x^171.
        let generator = bch::generator_polynomial();
        let bit = |words: &[u64; PARITY_WORDS], i: usize| words[i / 64] >> (i % 64) & 1 == 1;
        let mut matrix = BitMatrix::zeros(PARITY_BITS, MESSAGE_BITS);
        let mut remainder = generator;
        remainder[PARITY_BITS / 64] ^= 1 << (PARITY_BITS % 64);
        for i in 0..MESSAGE_BITS {
            for j in 0..PARITY_BITS {
                matrix.set(j, i, bit(&remainder, j));
            }
            remainder =
                std::array::from_fn(|w| remainder[w] << 1 | if w > 0 { remainder[w - 1] >> 63 } else { 0 });
            if bit(&remainder, PARITY_BITS) {
                remainder = std::array::from_fn(|w| remainder[w] ^ generator[w]);
            }
        }
        LinearMap::new(&matrix)
    })
}

/// Adds the parity of 128 message rows to `parity` rows, for 512 columns at once.
pub(super) fn add_parity(
    messages: &[Block512],
    parity: &mut [Block512],
    scratch: &mut [Block512; LINEAR_SCRATCH],
) {
    add_image(parity_map(), messages, parity, scratch);
}

/// The rows of the codewords of 128 columns, of which `messages` are the first 128 rows.
pub(super) fn encode_rows(messages: &[Block]) -> Vec<Block> {
    let mut rows = vec![Block512::ZERO; CODE_BITS];
    for (row, message) in rows.iter_mut().zip(messages) {
        row.0[..2].copy_from_slice(&message.0);
    }
    let (messages, parity) = rows.split_at_mut(MESSAGE_BITS);
    add_parity(messages, parity, &mut [Block512::ZERO; LINEAR_SCRATCH]);
    rows.iter().map(|row| Block([row.0[0], row.0[1]])).collect()
}

/// Calls `each` with the number and the codeword of each of `messages`. `scratch` has [`ENCODE_SCRATCH`] blocks.
pub(super) fn encode_columns(
    messages: &[Block],
    scratch: &mut [Block512],
    mut each: impl FnMut(usize, Share),
) {
    let (rows, scratch) = scratch.split_at_mut(CODE_BITS);
    let (parity_columns, tables) = scratch.split_at_mut(PARITY_WORDS * 64);
    let (tables, _) = tables.as_chunks_mut();
    let tables = &mut tables[0];
    let (message_rows, parity_rows) = rows.split_at_mut(MESSAGE_BITS);
    let parity_columns: &mut [[u64; PARITY_WORDS]] = bytemuck::cast_slice_mut(parity_columns);
    for (unit, messages) in messages.chunks(BLOCK_BITS).enumerate() {
        columns_to_rows::<MESSAGE_WORDS>(bytemuck::cast_slice(messages), message_rows);
        parity_rows.fill(Block512::ZERO);
        add_parity(message_rows, parity_rows, tables);
        rows_to_columns::<PARITY_WORDS>(parity_rows, parity_columns);
        for (i, (message, parity)) in messages.iter().zip(&*parity_columns).enumerate() {
            let [m0, m1] = message.0;
            let [p0, p1, p2] = *parity;
            each(unit * BLOCK_BITS + i, Share([m0, m1, p0, p1, p2]));
        }
    }
}

#[cfg(test)]
mod tests;
