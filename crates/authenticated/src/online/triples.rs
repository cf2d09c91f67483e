//! From leaky ANDs to products of masks (steps 3 and 4 of the specification): what is opened, and what is made of it.
//!
//! For each gate the leaky ANDs i of a bucket become one triple, x = Σ x_i, y = y_1, z = Σ z_i ⊕ Σ d_i x_i with d_i = y_1 ⊕ y_i opened; and with
//! e = λ_α ⊕ x and f = λ_β ⊕ y opened, λ_αλ_β = z ⊕ e y ⊕ f x ⊕ e f. Nothing that is opened needs another: all of it is one message each way.

use cenote_primitives::Block;
use cenote_session::{Result, room};
use zeroize::Zeroizing;

use crate::offline::Record;
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
    records: &[Record],
    masks: [&[Block]; 2],
    out: &mut Zeroizing<Vec<Block>>,
) -> Result<()> {
    let count = masks[0].len();
    let of = of as usize;
    let all = (bucket + 1) * count;
    out.clear();
    room::grow("what is opened of gates", out, all)?;
    out.resize(all, Block::ZERO);
    let (e, rest) = out.split_at_mut(count);
    let (f, d) = rest.split_at_mut(count);
    for (gate, records) in records.chunks_exact(bucket).enumerate() {
        let y = records[0][of + 1];
        e[gate] = records
            .iter()
            .fold(masks[0][gate], |sum, record| sum ^ record[of]);
        f[gate] = masks[1][gate] ^ y;
        for (i, record) in records[1..].iter().enumerate() {
            d[i * count + gate] = y ^ record[of + 1];
        }
    }
    Ok(())
}

/// Adds to `sums`, MACs or keys of the masks of outputs, those of the products of the operands' masks. `bits` are all that was opened, in
/// the order of [`opened`], and `constant` is what makes the sum of a bit and 1 of a bit.
pub(super) fn multiply(
    of: Of,
    bucket: usize,
    records: &[Record],
    bits: &[u64],
    constant: Block,
    sums: &mut [Block],
) {
    let count = sums.len();
    let of = of as usize;
    for (gate, (sum, records)) in sums.iter_mut().zip(records.chunks_exact(bucket)).enumerate() {
        let [e, f] = [0, 1].map(|kind| spread(bits, kind * count + gate));
        let [first, rest @ ..] = records else {
            continue;
        };
        let mut product = *sum ^ first[of + 1] & e ^ constant & e & f ^ first[of + 2] ^ first[of] & f;
        for (i, record) in rest.iter().enumerate() {
            // d_i x_i is part of z, and f x_i of f x.
            let times = f ^ spread(bits, (i + 2) * count + gate);
            product ^= record[of + 2] ^ record[of] & times;
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
