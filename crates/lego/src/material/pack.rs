//! Material as bytes: arrays one after the other, whose lengths follow from the number of items and the sizes of gadgets.

use std::ops::Range;

use cenote_primitives::{Block, Block512};
use cenote_session::{Error, Result};
use zeroize::{Zeroize, Zeroizing};

use super::{
    AnchorWires, AndBuckets, Commitments, EvaluatorInputs, Gadgets, GarblerAnds, GarblerInputs,
    GarblerStrings, Masks,
};
use crate::room::{self, MATERIAL};
use cenote_commit::Share;
use cenote_garble::{Base, Buckets};

/// Bytes being written.
pub struct Packed(Zeroizing<Vec<u8>>);

impl Packed {
    fn array<T: bytemuck::NoUninit>(&mut self, items: &[T]) {
        self.0.extend_from_slice(bytemuck::cast_slice(items));
    }

    fn number(&mut self, number: u64) {
        self.array(&number.to_le_bytes());
    }

    fn base(&mut self, base: Base) {
        self.array(&base.start.to_bytes());
        self.number(base.number);
    }
}

/// The bytes are not those of so many items.
fn malformed() -> Error {
    Error::Storage("a piece of material is malformed".into())
}

/// Bytes being read.
pub struct Unpacked<'a>(&'a [u8]);

impl Unpacked<'_> {
    fn array<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(&mut self, count: usize) -> Result<Vec<T>> {
        let bytes = count.checked_mul(size_of::<T>()).ok_or_else(malformed)?;
        let (now, later) = self.0.split_at_checked(bytes).ok_or_else(malformed)?;
        self.0 = later;
        let mut items: Vec<T> = room::zeroed(MATERIAL, count)?;
        bytemuck::cast_slice_mut(&mut items).copy_from_slice(now);
        Ok(items)
    }

    fn number(&mut self) -> Result<u64> {
        let (bytes, later) = self.0.split_first_chunk().ok_or_else(malformed)?;
        self.0 = later;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn base(&mut self) -> Result<Base> {
        let (start, later) = self.0.split_first_chunk().ok_or_else(malformed)?;
        self.0 = later;
        Ok(Base {
            start: Block::from_bytes(*start),
            number: self.number()?,
        })
    }

    /// A size of gadgets.
    fn size(&mut self) -> Result<usize> {
        match self.number()? {
            size @ ..=0x1_0000 => Ok(size as usize),
            _ => Err(malformed()),
        }
    }
}

/// Material of one kind that can be cut in pieces and written.
pub trait Pack: Default {
    /// Number of items.
    fn count(&self) -> usize;
    /// Bytes of one item, about.
    fn item_bytes(&self) -> usize;
    /// Writes the items of `range`.
    fn write(&self, range: Range<usize>, to: &mut Packed);
    /// Reads `count` items.
    ///
    /// # Errors
    /// [`Error::Storage`] if the bytes are not of so many; [`Error::OutOfMemory`] if there is no memory for them.
    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self>;
}

/// The bytes of the items of `range`.
///
/// # Errors
/// [`Error::OutOfMemory`] if there is no memory for them.
pub(super) fn pack(items: &impl Pack, range: Range<usize>) -> Result<Zeroizing<Vec<u8>>> {
    // With room for all from the start: growing would leave an old copy in memory unwiped.
    let bytes = (range.len() + GROUP) * items.item_bytes() + HEADERS;
    let mut packed = Packed(room::empty(MATERIAL, bytes)?);
    items.write(range, &mut packed);
    Ok(packed.0)
}

/// The inverse of [`pack`].
///
/// # Errors
/// As [`Pack::read`].
pub(super) fn unpack<T: Pack>(bytes: &[u8], count: usize) -> Result<T> {
    let mut unpacked = Unpacked(bytes);
    let items = T::read(&mut unpacked, count)?;
    if unpacked.0.is_empty() {
        Ok(items)
    } else {
        Err(malformed())
    }
}

fn scaled(range: &Range<usize>, size: usize) -> Range<usize> {
    range.start * size..range.end * size
}

impl<T> Pack for Zeroizing<Vec<T>>
where
    T: bytemuck::AnyBitPattern + bytemuck::NoUninit + Zeroize,
{
    fn count(&self) -> usize {
        self.len()
    }

    fn item_bytes(&self) -> usize {
        size_of::<T>()
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        to.array(&self[range]);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        from.array(count).map(Zeroizing::new)
    }
}

/// Structures whose fields have as many items each: one field after the other.
macro_rules! fields {
    ($($of:ident: $first:ident $(, $next:ident)*;)*) => {$(
        impl Pack for $of {
            fn count(&self) -> usize {
                self.$first.count()
            }

            fn item_bytes(&self) -> usize {
                self.$first.item_bytes() $(+ self.$next.item_bytes())*
            }

            fn write(&self, range: Range<usize>, to: &mut Packed) {
                self.$first.write(range.clone(), to);
                $(self.$next.write(range.clone(), to);)*
            }

            fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
                let $first = Pack::read(from, count)?;
                $(let $next = Pack::read(from, count)?;)*
                Ok(Self { $first $(, $next)* })
            }
        }
    )*};
}

fields! {
    Commitments: messages, shares;
    GarblerAnds: messages, shares;
    GarblerStrings: labels, strings;
    GarblerInputs: shares, anchors, authenticators;
    EvaluatorInputs: shares, string_shares, strings, authenticators;
    AnchorWires: shares, anchors;
    Masks: shares, bits;
}

impl<P, S> Pack for Gadgets<P, S>
where
    P: bytemuck::AnyBitPattern + bytemuck::NoUninit + Default,
    S: bytemuck::AnyBitPattern + bytemuck::NoUninit + Default,
{
    fn count(&self) -> usize {
        self.numbers.len().checked_div(self.size).unwrap_or(0)
    }

    fn item_bytes(&self) -> usize {
        self.size * (4 + size_of::<P>() + size_of::<S>())
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        let all = scaled(&range, self.size);
        to.number(self.size as u64);
        to.base(self.base);
        to.array(&self.numbers[all.clone()]);
        to.array(&self.parts[all.clone()]);
        to.array(&self.solderings[all]);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        let (size, base) = (from.size()?, from.base()?);
        let all = count.checked_mul(size).ok_or_else(malformed)?;
        Ok(Self {
            size,
            base,
            numbers: from.array(all)?,
            parts: from.array(all)?,
            solderings: from.array(all)?,
        })
    }
}

/// More than the sizes of gadgets take.
const HEADERS: usize = 256;

/// Buckets that share a line of [`Buckets::blocks`]: pieces begin at multiples of this.
pub(crate) const GROUP: usize = 4;

impl Pack for AndBuckets {
    fn count(&self) -> usize {
        self.shares.len()
    }

    fn item_bytes(&self) -> usize {
        3 * size_of::<Share>()
            + self.gates.beta() * (4 + 5 * size_of::<Block>())
            + self.authenticators.item_bytes()
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        to.array(&self.shares[range.clone()]);
        let beta = self.gates.beta();
        to.number(beta as u64);
        to.base(self.gates.base());
        let groups = range.start / GROUP..range.end.div_ceil(GROUP);
        to.array(&self.gates.numbers()[scaled(&groups, GROUP * beta)]);
        to.array(&self.gates.blocks()[scaled(&groups, 5 * beta - 3)]);
        self.authenticators.write(range, to);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        let shares = Pack::read(from, count)?;
        let (beta, base) = (from.size()?.max(1), from.base()?);
        let [numbers, blocks] = Buckets::lengths(beta, count);
        let (numbers, blocks): (Vec<u32>, Vec<Block512>) = (from.array(numbers)?, from.array(blocks)?);
        Ok(Self {
            shares,
            gates: Buckets::from_parts(beta, base, count, numbers, blocks),
            authenticators: Pack::read(from, count)?,
        })
    }
}
