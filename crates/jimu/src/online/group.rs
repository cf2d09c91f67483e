//! What both sides do in groups, and how they pack bits.

/// Gates whose buckets are drawn, soldered and evaluated together, at most.
pub(super) const GROUP: usize = 256;

/// Solderings that one proof is for: as many as there are when a group ends with so many.
pub(super) const PROVED: usize = 2048;

/// What inputs and outputs take, where room for it is asked for.
pub(super) const INPUTS: &str = "inputs and outputs";

/// Eight bits in a byte, first one lowest.
pub(super) fn pack(bits: impl Iterator<Item = bool>, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count.div_ceil(8)];
    for (at, bit) in bits.enumerate() {
        bytes[at / 8] |= u8::from(bit) << (at % 8);
    }
    bytes
}

/// Bit `at` of what [`pack`] gave.
pub(super) fn packed(bytes: &[u8], at: usize) -> bool {
    bytes[at / 8] >> (at % 8) & 1 == 1
}
