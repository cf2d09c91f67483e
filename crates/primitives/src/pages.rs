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
