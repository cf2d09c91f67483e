//! Values that are kept between jobs, authenticated in the circuit over GF(2^64).

use crate::LogProb;

/// Bits of a tag, a key and a block of what is authenticated.
pub const TAG_BITS: u32 = 64;

/// The probability at most that in one job a party changes what it holds of kept values of up to `bits` bits in `lanes` instances, or a key of its
/// own, and the check passes in some instance. Tags are values of a polynomial under a secret key, one coefficient a block: two different messages
/// of `n` blocks have the same tag under at most `n` of 2^64 keys. A key is authenticated itself, as a message of one block. Each instance has keys of
/// its own, and all that is taken in one passes or fails together.
pub fn error(bits: u64, lanes: u64) -> LogProb {
    let blocks = bits.div_ceil(u64::from(TAG_BITS)) + 1;
    LogProb::from_log2((blocks as f64).log2() + (lanes.max(1) as f64).log2() - f64::from(TAG_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_values_and_many_are_worth_less() {
        assert!(error(1, 1).meets(63) && !error(1, 1).meets(64));
        assert_eq!(error(64, 1), error(1, 1));
        assert!(error(65, 1).log2() > error(64, 1).log2());
        // 2^20 - 1 blocks.
        let wide = ((1 << 20) - 1) * 64;
        assert!(error(wide, 1).meets(44) && !error(wide, 1).meets(45));
        assert!(error(64, 1 << 20).meets(43) && !error(64, 1 << 20).meets(44));
    }
}
