//! One of several labels in a block of them, exchanged for another.

use cenote_circuit::{Bit, Builder};

use super::bucket::{add_to, masked};
use super::counted::Counted;
use super::index::one_hot;

/// From whether a block of labels was found, the block, random labels for one that was not, the place in it, and a label: the label
/// that was in that place, and the block with the other one there.
pub(super) fn entry(factor_bits: u32, width: u32) -> Counted {
    let data = width << factor_bits;
    Counted::new(
        format!("memory label {factor_bits} {width}"),
        &[1, data, data, factor_bits, width],
        Box::new(move |b: &mut Builder, operands: &[&[Bit]], _| {
            let [found, data, fill, place, fresh] = operands else {
                unreachable!("five operands are given")
            };
            let mut data = data.to_vec();
            let fill = masked(b, !found[0], fill);
            add_to(b, &mut data, &fill);
            let mut old = fresh.to_vec();
            let places = one_hot(b, place);
            for (label, here) in data.chunks_mut(width as usize).zip(places) {
                let mut change = label.to_vec();
                add_to(b, &mut change, fresh);
                let change = masked(b, here, &change);
                add_to(b, label, &change);
                add_to(b, &mut old, &change);
            }
            old.extend(data);
            old
        }),
    )
}
