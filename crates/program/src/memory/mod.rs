//! Oblivious memory: blocks that are read and written at secret places.
//!
//! A small memory is a row of which each access reads every block. A larger one is a Circuit ORAM (Wang, Chan, Shi, CCS 2015): the blocks
//! lie in the buckets of a binary tree, each somewhere on the path from the root to the leaf that is its label, or in the stash. An access takes
//! the block's label from the position map and gives it a fresh one, reveals the old label, takes the block off that path, puts it into the stash,
//! and moves blocks down two paths, which are the next in reverse-lexicographic order. The position map is a memory of
//! the same kind with several labels to a block, until it is small enough for a row.
//!
//! What is revealed are old labels. Each was drawn at random by all parties together ([`Session::random`]) and is
//! revealed once, so whatever is accessed, everybody sees random numbers. Malicious parties cannot do more than in other programs on
//! the same engine. A stash holds what finds no place in the tree; that it overflows has a probability which
//! [`Settings`] bound (by the formula of [`cenote_params::memory`]). It is noticed secretly, and told by the next access before
//! anything that may be wrong comes out of it.
//!
//! An index that is not that of a block reads 0 and writes nothing, in every structure; nobody learns that there was one.
//!
//! An access by a secret operation and an index of 32 bits, to blocks of 32 bits, takes so many ANDs: by a scan, by
//! [`Structure::CIRCUIT_ORAM`], and by [`Structure::best`], which has so many labels to a block and so many labels in a row. The circuits are those with the fewest
//! ANDs; where levels cost messages, engines may run others with more.
//!
//! | blocks | scan | Circuit ORAM | best | labels | row |
//! |---|---|---|---|---|---|
//! | 256 | 16759 | 16283 | 16283 | 4 | 256 |
//! | 512 | 33422 | 35979 | 20334 | 4 | 512 |
//! | 1024 | 66741 | 41529 | 27759 | 4 | 1024 |
//! | 2048 | 133340 | 47847 | 41122 | 4 | 512 |
//! | 4096 | 266531 | 72493 | 51126 | 4 | 1024 |
//! | 8192 | 532846 | 82449 | 67755 | 8 | 1024 |
//! | 16384 | 1065465 | 93407 | 80795 | 4 | 1024 |
//! | 32768 | 2130564 | 122668 | 100450 | 4 | 512 |
//! | 65536 | 4260751 | 137716 | 116534 | 4 | 1024 |
//! | 131072 | 8520870 | 154000 | 139503 | 4 | 512 |
//! | 262144 | 17041085 | 188825 | 159043 | 4 | 1024 |
//! | 524288 | 34080980 | 209669 | 186673 | 4 | 2048 |
//! | 1048576 | 68160747 | 231991 | 210712 | 4 | 1024 |
//! | 10000 | 650414 | 92519 | 76403 | 4 | 625 |
//!
//! The scan is the best for up to 247 blocks and from 257 to 274. With the blocks of a row from the beginning, 10,000 of them take 88469 ANDs an access.

mod blocks;
mod bucket;
mod cost;
mod counted;
mod entry;
mod evict;
mod fill;
mod find;
mod index;
#[cfg(test)]
mod model;
mod oram;
mod plan;
mod positions;
mod scan;
mod settings;
#[cfg(test)]
mod tests;
mod tree;
mod wires;

use std::marker::PhantomData;

use cenote_primitives::Entropy;

pub(crate) use self::blocks::Blocks;
pub use self::cost::ands;
use self::index::IndexKind;
pub use self::settings::{Access, Settings, Structure};
use crate::error::Result;
use crate::secret::{Operand, Secret};
use crate::session::Session;
use crate::word::{Integer, Word};

/// The blocks of an oblivious memory, each a `T`.
///
/// ```
/// use cenote_program::{Memory, Result, Session};
///
/// /// How often each byte comes, by a table of 256 counters.
/// fn count(session: &Session, bytes: &cenote_program::Secret<u8>) -> Result<Memory<u32>> {
///     let mut counters = Memory::new(session, 256);
///     for at in 0..bytes.len() {
///         let byte = bytes.at(at);
///         let count = counters.read(&byte)?;
///         counters.write(&byte, count + 1)?;
///     }
///     Ok(counters)
/// }
/// # let counted = cenote_program::local::in_the_clear(1, |session| {
/// #     let bytes = session.input(session.me(), 3, Some(&[7u8, 3, 7]));
/// #     session.open(&count(session, &bytes)?.read(&session.public(7u8))?)
/// # });
/// # assert_eq!(counted.unwrap(), [[2]]);
/// ```
pub struct Memory<T> {
    blocks: Blocks,
    of: PhantomData<fn() -> T>,
}

impl<T: Word> Memory<T> {
    /// `blocks` blocks, all zero. It costs next to nothing.
    #[track_caller]
    pub fn new(session: &Session, blocks: usize) -> Self {
        Self::with(session, blocks, &Settings::default())
    }

    /// As [`Memory::new`], with settings.
    #[track_caller]
    pub fn with(session: &Session, blocks: usize, settings: &Settings) -> Self {
        Self::zeros(session, blocks, settings, Entropy::os())
    }

    /// The blocks of `row`. For a Circuit ORAM they are shuffled and sorted by random labels, which takes a few hundred messages back and
    /// forth, and bins that an access reads besides.
    ///
    /// # Errors
    /// Those of [`Session::reveal`].
    #[track_caller]
    pub fn of_row(row: &Secret<T>) -> Result<Self> {
        Self::of_row_with(row, &Settings::default())
    }

    /// As [`Memory::of_row`], with settings.
    ///
    /// # Errors
    /// As [`Memory::of_row`].
    #[track_caller]
    pub fn of_row_with(row: &Secret<T>, settings: &Settings) -> Result<Self> {
        Self::filled(row, settings, Entropy::os())
    }

    #[track_caller]
    fn filled(row: &Secret<T>, settings: &Settings, entropy: Entropy) -> Result<Self> {
        Ok(Self::of(Blocks::filled(row.value(), settings, entropy)?))
    }

    #[track_caller]
    fn zeros(session: &Session, blocks: usize, settings: &Settings, entropy: Entropy) -> Self {
        Self::of(Blocks::zeros(session, T::BITS, blocks, settings, entropy))
    }

    fn of(blocks: Blocks) -> Self {
        Self {
            blocks,
            of: PhantomData,
        }
    }

    /// Number of blocks.
    #[allow(clippy::len_without_is_empty, reason = "a memory is never empty")]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// How the blocks are kept.
    pub fn structure(&self) -> Structure {
        self.blocks.structure()
    }

    /// ANDs of an access by an index of type `I`, in the circuits that are run.
    pub fn ands<I: Integer>(&self, access: Access) -> u64 {
        self.blocks.ands(access, IndexKind::of::<I>())
    }

    /// The block at `index`.
    ///
    /// # Errors
    /// [`crate::Error::MemoryLost`]; [`crate::Error::Misuse`] if `index` is a row; those of [`Session::reveal`].
    #[track_caller]
    pub fn read<I: Integer>(&mut self, index: &Secret<I>) -> Result<Secret<T>> {
        Ok(Secret::of(self.blocks.read(index.value(), I::SIGNED)?))
    }

    /// Makes `value` the block at `index`.
    ///
    /// # Errors
    /// As [`Memory::read`], for `value` as well.
    #[track_caller]
    pub fn write<I: Integer>(&mut self, index: &Secret<I>, value: impl Operand<T>) -> Result<()> {
        let value = value.secret(self.blocks.session());
        self.blocks.write(index.value(), I::SIGNED, value.value())
    }

    /// The block at `index` as it was, and from then on, where `write` is set, `value`.
    ///
    /// # Errors
    /// As [`Memory::read`], for `write` and `value` as well.
    #[track_caller]
    pub fn access<I: Integer>(
        &mut self,
        write: &Secret<bool>,
        index: &Secret<I>,
        value: impl Operand<T>,
    ) -> Result<Secret<T>> {
        let value = value.secret(self.blocks.session());
        let index = (index.value(), I::SIGNED);
        Ok(Secret::of(self.blocks.access(
            write.value(),
            index,
            value.value(),
        )?))
    }

    /// Verifies that nothing has been lost so far. The next access does it, too.
    ///
    /// # Errors
    /// [`crate::Error::MemoryLost`]; those of [`Session::reveal`].
    pub fn check(&mut self) -> Result<()> {
        self.blocks.check()
    }
}
