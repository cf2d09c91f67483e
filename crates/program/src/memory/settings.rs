//! What a memory can be told.

use cenote_params::memory::BUCKET;

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
