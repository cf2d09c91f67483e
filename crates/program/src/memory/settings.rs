//! What a memory can be told.

use cenote_params::memory::BUCKET;

use super::{counted, kind};

/// How blocks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Structure {
    /// In a row, of which each access reads every block. Nothing is revealed.
    Scan,
    /// In a Circuit ORAM.
    CircuitOram {
        /// Labels to a block of the position map, as a power of 2: 3 for 8 of them. At least 1, at most 6.
        factor_bits: u32,
        /// A position map of at most so many labels is a row.
        cutoff: usize,
    },
}

impl Structure {
    /// A Circuit ORAM as in the literature: 8 labels to a block, at most 256 in a row.
    pub const CIRCUIT_ORAM: Self = Structure::CircuitOram {
        factor_bits: 3,
        cutoff: 256,
    };

    /// The structures that are compared for so many blocks.
    fn candidates(blocks: usize) -> impl Iterator<Item = Self> {
        let orams = [2, 3].into_iter().flat_map(move |factor_bits| {
            let rows = (0..).map(move |trees| blocks.div_ceil(1 << (trees * factor_bits)));
            rows.skip_while(|&row| row > 4096)
                .take_while(|&row| row >= 64)
                .map(move |cutoff| Structure::CircuitOram { factor_bits, cutoff })
        });
        std::iter::once(Structure::Scan).chain(orams)
    }

    /// The structure with the fewest ANDs in an access whose operation is secret, to so many blocks of `width` bits: the scan, or a Circuit
    /// ORAM with 4 or 8 labels to a block and between 64 and 4096 of them in a row.
    ///
    /// # Panics
    /// If there is no memory with these settings.
    pub fn best(blocks: usize, width: u32, settings: &Settings) -> Self {
        assert_eq!(settings.refuse(), None, "settings of a memory");
        best(blocks, width, settings, false)
    }
}

/// [`Structure::best`], of a memory that begins with the blocks of a row, or with zeros.
pub(super) fn best(blocks: usize, width: u32, settings: &Settings, of_row: bool) -> Structure {
    let ands = |structure: &Structure| {
        let index = kind::<u32>();
        counted(blocks, width, *structure, Access::Secret, index, settings, of_row)
    };
    Structure::candidates(blocks)
        .min_by_key(ands)
        .unwrap_or(Structure::Scan)
}

/// How an access is used, which it does not hide unless it is [`Access::Secret`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// [`super::Memory::read`].
    Read,
    /// [`super::Memory::write`].
    Write,
    /// [`super::Memory::access`].
    Secret,
}

/// The structure of a memory, and how sure it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The structure; `None` for [`Structure::best`].
    pub structure: Option<Structure>,
    /// Blocks of a bucket. The stash is large enough for the bound of [`cenote_params::memory`] from 4 on.
    pub bucket: u32,
    /// Blocks of the stash; `None` for what [`Settings::security`] and [`Settings::accesses`] ask for. With any other number no bound
    /// holds: the memory may be lost, and when it is tells of what was accessed. A bucket of fewer than 4 blocks needs one.
    pub stash: Option<u32>,
    /// `s`: the memory is lost with probability `2^-s` at most.
    pub security: u32,
    /// Accesses that this holds for, as a power of 2.
    pub accesses: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            structure: None,
            bucket: BUCKET,
            stash: None,
            security: 40,
            accesses: 20,
        }
    }
}

impl Settings {
    /// What is wrong with them, if anything is.
    pub(super) fn refuse(&self) -> Option<String> {
        let factor = match self.structure {
            Some(Structure::CircuitOram { factor_bits, .. }) => factor_bits,
            _ => 1,
        };
        let sane = (1..=6).contains(&factor)
            && (1..=64).contains(&self.bucket)
            && (self.bucket >= BUCKET || self.stash.is_some())
            && (1..=1024).contains(&self.stash.unwrap_or(1))
            && self.security <= 128
            && self.accesses <= 64;
        (!sane).then(|| format!("there is no memory with these settings: {self:?}"))
    }
}
