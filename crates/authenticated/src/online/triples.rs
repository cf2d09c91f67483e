//! From leaky ANDs to products of masks (steps 3 and 4 of the specification): what is opened, and what is made of it.
//!
//! For each gate the leaky ANDs i of a bucket become one triple, x = Σ x_i, y = y_1, z = Σ z_i ⊕ Σ d_i x_i with d_i = y_1 ⊕ y_i opened; and with
//! e = λ_α ⊕ x and f = λ_β ⊕ y opened, λ_αλ_β = z ⊕ e y ⊕ f x ⊕ e f. Nothing that is opened needs another: all of it is one message each way.

use cenote_primitives::Block;
use zeroize::Zeroizing;

use crate::offline::RECORD;
use crate::setup::{ONE, spread};

/// Where a record has this party's MACs, or its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Macs = 0,
    Keys = 3,
}

/// What is opened of gates with these leaky ANDs, `bucket` each, and these masks of operands, by its MACs or keys: all e, all f, all d_2, ….
pub(super) fn opened(
    of: Of,
    bucket: usize,
    records: &[Block],
    masks: [&[Block]; 2],
    out: &mut Zeroizing<Vec<Block>>,
) {
    let count = masks[0].len();
    let of = of as usize;
    out.resize((bucket + 1) * count, Block::ZERO);
    let (e, rest) = out.split_at_mut(count);
    let (f, d) = rest.split_at_mut(count);
    for (gate, record) in records.chunks_exact(bucket * RECORD).enumerate() {
        let x = |i: usize| record[i * RECORD + of];
        let y = |i: usize| record[i * RECORD + of + 1];
        e[gate] = (0..bucket).fold(masks[0][gate], |sum, i| sum ^ x(i));
        f[gate] = masks[1][gate] ^ y(0);
        for i in 1..bucket {
            d[(i - 1) * count + gate] = y(0) ^ y(i);
        }
    }
}

/// Adds to `sums`, MACs or keys of the masks of outputs, those of the products of the operands' masks. `bits` are all that was opened, in
/// the order of [`opened`], and `constant` is what makes the sum of a bit and 1 of a bit.
pub(super) fn multiply(
    of: Of,
    bucket: usize,
    records: &[Block],
    bits: &[u64],
    constant: Block,
    sums: &mut [Block],
) {
    let count = sums.len();
    let of = of as usize;
    for (gate, (sum, record)) in sums
        .iter_mut()
        .zip(records.chunks_exact(bucket * RECORD))
        .enumerate()
    {
        let [e, f] = [0, 1].map(|kind| spread(bits, kind * count + gate));
        let y = record[of + 1];
        let mut product = *sum ^ y & e ^ constant & e & f;
        for i in 0..bucket {
            let record = &record[i * RECORD + of..];
            // d_i x_i is part of z, and f x_i of f x.
            let times = match i {
                0 => f,
                _ => f ^ spread(bits, (i + 1) * count + gate),
            };
            product ^= record[2] ^ record[0] & times;
        }
        *sum = product;
    }
}

/// What makes the sum of a shared bit and 1: the garbler's share is negated.
pub(super) fn constant(of: Of, garbler: bool, negation: Block) -> Block {
    match (of, garbler) {
        (Of::Macs, true) => ONE,
        (Of::Keys, false) => negation,
        _ => Block::ZERO,
    }
}
