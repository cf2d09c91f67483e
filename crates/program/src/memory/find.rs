//! Taking a block off a path (ReadAndRm of the paper): its slot is left empty.

use cenote_circuit::library;
use cenote_circuit::{Bit, Builder};

use super::bucket::{Shape, add_to, masked};

/// From the stash, the buckets of a path from the root on, the bin if there is one, and an address: all of them without the block,
/// whether it was there, and the block, zeros if it was not.
pub(super) fn find(b: &mut Builder, shape: &Shape, operands: &[&[Bit]]) -> Vec<Bit> {
    let (address, path) = operands.split_last().expect("an address is given");
    let mut found = Bit::FALSE;
    let mut data = vec![Bit::FALSE; shape.data as usize];
    let mut after = Vec::new();
    for (at, bits) in (0..).zip(path) {
        // The stash comes before the root.
        let level = u32::checked_sub(at, 1);
        for mut slot in shape.slots(bits, level) {
            let same = library::equal(b, shape.address_of(&slot), address);
            let here = b.and(slot[0], same);
            let block = masked(b, here, shape.data_of(&slot));
            add_to(b, &mut data, &block);
            found = b.xor(found, here);
            slot[0] = b.xor(slot[0], here);
            after.extend(slot);
        }
    }
    after.push(found);
    after.extend(data);
    after
}
