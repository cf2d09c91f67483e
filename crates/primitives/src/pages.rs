//! Large pages for large memory.

/// Asks the operating system to back `memory` with huge pages where it lies in whole ones. Worth it for memory of many
/// megabytes that is read once, where looking up small pages costs more than reading them; call it before the memory is
/// first written. Its contents stay as they are, and if the system declines, nothing happens.
pub fn prefer_huge_pages<T>(memory: &[T]) {
    #[cfg(target_os = "linux")]
    {
        /// Memory is advised in whole pages of this size.
        const HUGE: usize = 2 << 20;
        let start = memory.as_ptr().addr().next_multiple_of(HUGE);
        let end = (memory.as_ptr().addr() + size_of_val(memory)) / HUGE * HUGE;
        if start < end {
            let address = memory.as_ptr().with_addr(start).cast_mut().cast();
            // SAFETY: the range is part of `memory`, and the advice changes no contents.
            let _ = unsafe { rustix::mm::madvise(address, end - start, rustix::mm::Advice::LinuxHugepage) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_stay_whatever_the_size() {
        for len in [0, 1, 1 << 12, (2 << 20) - 1, 2 << 20, 5 << 20] {
            let memory: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            prefer_huge_pages(&memory);
            assert!(
                memory
                    .iter()
                    .enumerate()
                    .all(|(i, byte)| *byte == (i % 251) as u8),
                "{len}"
            );
        }
    }
}
