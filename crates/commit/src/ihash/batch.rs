//! Runs of labels.

/// Labels of a unit: as many as rows have symbols.
pub const UNIT: usize = 64;

/// Units worked on at once: as many as make the generators fast and the rows still fit into the second cache.
pub(super) const UNITS: usize = 8;

/// Where a run of labels lies in the streams of the seeds: from `UNIT * first` on. No two runs of one set-up may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// In units of [`UNIT`] labels.
    pub first: u64,
    /// Number of labels. The last unit may be used in part; the rest of it is lost.
    pub labels: usize,
}

impl Batch {
    /// Number of units that the batch takes.
    pub fn units(self) -> usize {
        self.labels.div_ceil(UNIT)
    }

    /// The units to work on, a few at once: the first, and how many.
    pub(super) fn pieces(self) -> impl Iterator<Item = (u64, usize)> {
        let units = self.units();
        (0..units)
            .step_by(UNITS)
            .map(move |done| (self.first + done as u64, UNITS.min(units - done)))
    }
}
