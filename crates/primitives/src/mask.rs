//! Masks of secret bits.

/// All ones if `bit`, else 0: what turns a choice by a secret bit into an `&`.
#[inline(always)]
pub fn mask_of(bit: bool) -> u64 {
    // The compiler must not know that there are two values only: it might branch.
    std::hint::black_box(u64::from(bit).wrapping_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_keep_all_or_nothing() {
        assert_eq!([false, true].map(mask_of), [0, u64::MAX]);
    }
}
