//! Bits of wires, packed.

use cenote_primitives::BitMatrix;
use cenote_session::Result;
use zeroize::{Zeroize, Zeroizing};

use crate::room::{self, INPUTS};

/// `items`, of which there are `count`, one for each bit of some wires.
pub(super) fn secret<T: Zeroize>(count: usize, items: impl Iterator<Item = T>) -> Result<Zeroizing<Vec<T>>> {
    room::collected(INPUTS, count, items)
}

/// Eight bits in a byte, first one lowest.
pub(super) fn pack(bits: impl Iterator<Item = bool>, count: usize) -> Result<Vec<u8>> {
    let mut bytes = room::zeroed::<u8>(INPUTS, count.div_ceil(8))?;
    for (at, bit) in bits.enumerate() {
        bytes[at / 8] |= u8::from(bit) << (at % 8);
    }
    Ok(bytes)
}

/// Bit `at` of what [`pack`] gave.
pub(super) fn packed(bytes: &[u8], at: usize) -> bool {
    bytes[at / 8] >> (at % 8) & 1 == 1
}

/// The inverse of [`BitMatrix::bits`].
pub(super) fn unpack(wires: usize, lanes: usize, bit: impl Fn(usize) -> bool) -> Result<BitMatrix> {
    let mut bits = room::bits(INPUTS, wires, lanes)?;
    (0..wires).for_each(|wire| (0..lanes).for_each(|lane| bits.set(wire, lane, bit(wire * lanes + lane))));
    Ok(bits)
}
