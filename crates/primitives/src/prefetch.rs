//! Asking for memory ahead of its use.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for element `index` of `array`, all of its cache lines, to be in cache soon. Nothing happens if there is no such
/// element. An index must be public: what is in cache shows which it was.
#[inline(always)]
pub fn prefetch<T>(array: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = array.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(element).cast::<i8>();
        let end = start.wrapping_byte_add(size_of::<T>());
        // The element may begin within a line, so its last byte may be one line further than its size tells.
        let mut at = start;
        while at < end {
            // SAFETY: a prefetch does not access memory architecturally, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
            at = at.map_addr(|address| (address / LINE + 1) * LINE);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, index, LINE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_index_will_do() {
        let array = [[7u8; 100]; 3];
        for index in [0, 1, 2, 3, usize::MAX] {
            prefetch(&array, index);
        }
        prefetch(&[(); 2], 1);
        assert_eq!(array, [[7; 100]; 3]);
    }
}
