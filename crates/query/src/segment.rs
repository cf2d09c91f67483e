//! How many rows are worked on at once, so that what they take does not grow with a table.

/// Bits of rows that are secrets at once, about.
const BITS: u64 = 1 << 26;

/// Fewest and most rows of a segment, whatever their width.
const ROWS: std::ops::RangeInclusive<u64> = 1 << 12..=1 << 18;

/// Rows of a party that it works on at once in the clear.
const CLEAR: usize = 1 << 13;

/// How long segments are. It is public, and all parties have the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segments {
    /// So many rows, for tests.
    pub(crate) most: Option<usize>,
}

impl Segments {
    /// Rows of a segment of secrets, of so many bits each.
    pub(crate) fn rows(self, width: u64) -> usize {
        self.most.unwrap_or_else(|| {
            // Whole words of bits.
            let rows = (BITS / width.max(1)).clamp(*ROWS.start(), *ROWS.end());
            (rows / 64 * 64) as usize
        })
    }

    /// Rows of a segment in the clear.
    pub(crate) fn clear(self) -> usize {
        self.most.unwrap_or(CLEAR)
    }
}
