//! Material as bytes: arrays one after the other, whose lengths follow from the number of items and the sizes of gadgets.

use std::ops::Range;

use cenote_primitives::{Block, Block512};
use zeroize::Zeroizing;

use crate::material::{
    AnchorWires, Anchors, AndBuckets, Authenticators, Commitments, EvaluatorEpoch, EvaluatorInputs,
    GarblerAnds, GarblerEpoch, GarblerInputs, GarblerStrings, Masks,
};
use cenote_commit::Share;
use cenote_garble::{Authenticator, Base, Buckets, GateTable};

/// Bytes being written.
#[derive(Default)]
pub(super) struct Packed(Zeroizing<Vec<u8>>);

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
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

type Result<T> = std::result::Result<T, Malformed>;

/// Bytes being read.
pub(super) struct Unpacked<'a>(&'a [u8]);

impl Unpacked<'_> {
    fn array<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(&mut self, count: usize) -> Result<Vec<T>> {
        let bytes = count.checked_mul(size_of::<T>()).ok_or(Malformed)?;
        let (now, later) = self.0.split_at_checked(bytes).ok_or(Malformed)?;
        self.0 = later;
        let mut items: Vec<T> = bytemuck::zeroed_vec(count);
        bytemuck::cast_slice_mut(&mut items).copy_from_slice(now);
        Ok(items)
    }

    fn secret<T: bytemuck::AnyBitPattern + bytemuck::NoUninit + zeroize::Zeroize>(
        &mut self,
        count: usize,
    ) -> Result<Zeroizing<Vec<T>>> {
        self.array(count).map(Zeroizing::new)
    }

    fn number(&mut self) -> Result<u64> {
        let (bytes, later) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = later;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn base(&mut self) -> Result<Base> {
        let (start, later) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = later;
        Ok(Base {
            start: Block::from_bytes(*start),
            number: self.number()?,
        })
    }

    /// A size of gadgets.
    fn size(&mut self) -> Result<usize> {
        let size = self.number()?;
        if size > 1 << 16 {
            Err(Malformed)
        } else {
            Ok(size as usize)
        }
    }
}

/// Material of one kind that can be cut in pieces and written.
pub(super) trait Pack: Sized {
    /// Number of items.
    fn count(&self) -> usize;
    /// Bytes of one item, about.
    fn item_bytes(&self) -> usize;
    /// Writes the items of `range`.
    fn write(&self, range: Range<usize>, to: &mut Packed);
    /// Reads `count` items.
    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self>;
}

/// The bytes of the items of `range`.
pub(super) fn pack(items: &impl Pack, range: Range<usize>) -> Zeroizing<Vec<u8>> {
    let mut packed = Packed::default();
    // With room for all from the start: growing would leave an old copy in memory unwiped.
    packed
        .0
        .reserve((range.len() + GROUP) * items.item_bytes() + HEADERS);
    items.write(range, &mut packed);
    packed.0
}

/// The inverse of [`pack`].
pub(super) fn unpack<T: Pack>(bytes: &[u8], count: usize) -> Result<T> {
    let mut unpacked = Unpacked(bytes);
    let items = T::read(&mut unpacked, count)?;
    if unpacked.0.is_empty() {
        Ok(items)
    } else {
        Err(Malformed)
    }
}

fn scaled(range: &Range<usize>, size: usize) -> Range<usize> {
    range.start * size..range.end * size
}

impl Pack for Commitments {
    fn count(&self) -> usize {
        self.len()
    }

    fn item_bytes(&self) -> usize {
        size_of::<Block>() + size_of::<Share>()
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        to.array(&self.messages[range.clone()]);
        to.array(&self.shares[range]);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        Ok(Self {
            messages: from.secret(count)?,
            shares: from.secret(count)?,
        })
    }
}

impl Pack for GarblerAnds {
    fn count(&self) -> usize {
        self.messages.len()
    }

    fn item_bytes(&self) -> usize {
        3 * (size_of::<Block>() + size_of::<Share>())
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        to.array(&self.messages[range.clone()]);
        to.array(&self.shares[range]);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        Ok(Self {
            messages: from.secret(count)?,
            shares: from.secret(count)?,
        })
    }
}

impl Pack for GarblerStrings {
    fn count(&self) -> usize {
        self.labels.len()
    }

    fn item_bytes(&self) -> usize {
        2 * self.labels.item_bytes()
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        self.labels.write(range.clone(), to);
        self.strings.write(range, to);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        Ok(Self {
            labels: Commitments::read(from, count)?,
            strings: Commitments::read(from, count)?,
        })
    }
}

impl Pack for Authenticators {
    fn count(&self) -> usize {
        self.numbers.len().checked_div(self.size).unwrap_or(0)
    }

    fn item_bytes(&self) -> usize {
        self.size * (4 + size_of::<Authenticator>() + size_of::<Block>())
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        let all = scaled(&range, self.size);
        to.number(self.size as u64);
        to.base(self.base);
        to.array(&self.numbers[all.clone()]);
        to.array(&self.authenticators[all.clone()]);
        to.array(&self.solderings[all]);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        let (size, base) = (from.size()?, from.base()?);
        let all = count.checked_mul(size).ok_or(Malformed)?;
        Ok(Self {
            size,
            base,
            numbers: from.array(all)?,
            authenticators: from.array(all)?,
            solderings: from.array(all)?,
        })
    }
}

impl Pack for Anchors {
    fn count(&self) -> usize {
        self.numbers.len().checked_div(self.size).unwrap_or(0)
    }

    fn item_bytes(&self) -> usize {
        self.size * (4 + size_of::<GateTable>() + 2 * size_of::<Block>())
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        let all = scaled(&range, self.size);
        to.number(self.size as u64);
        to.base(self.base);
        to.array(&self.numbers[all.clone()]);
        to.array(&self.tables[all.clone()]);
        to.array(&self.solderings[all]);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        let (size, base) = (from.size()?, from.base()?);
        let all = count.checked_mul(size).ok_or(Malformed)?;
        Ok(Self {
            size,
            base,
            numbers: from.array(all)?,
            tables: from.array(all)?,
            solderings: from.array(all)?,
        })
    }
}

/// More than the sizes of gadgets take.
const HEADERS: usize = 256;

/// Buckets that share a line of [`Buckets::blocks`]: pieces begin at multiples of this.
pub(super) const GROUP: usize = 4;

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
        let shares = from.secret(count)?;
        let (beta, base) = (from.size()?.max(1), from.base()?);
        let [numbers, blocks] = Buckets::lengths(beta, count);
        let (numbers, blocks): (Vec<u32>, Vec<Block512>) = (from.array(numbers)?, from.array(blocks)?);
        Ok(Self {
            shares,
            gates: Buckets::from_parts(beta, base, count, numbers, blocks),
            authenticators: Authenticators::read(from, count)?,
        })
    }
}

impl Pack for GarblerInputs {
    fn count(&self) -> usize {
        self.shares.len()
    }

    fn item_bytes(&self) -> usize {
        size_of::<Share>() + self.anchors.item_bytes() + self.authenticators.item_bytes()
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        to.array(&self.shares[range.clone()]);
        self.anchors.write(range.clone(), to);
        self.authenticators.write(range, to);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        Ok(Self {
            shares: from.secret(count)?,
            anchors: Anchors::read(from, count)?,
            authenticators: Authenticators::read(from, count)?,
        })
    }
}

impl Pack for EvaluatorInputs {
    fn count(&self) -> usize {
        self.shares.len()
    }

    fn item_bytes(&self) -> usize {
        2 * size_of::<Share>() + size_of::<Block>() + self.authenticators.item_bytes()
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        to.array(&self.shares[range.clone()]);
        to.array(&self.string_shares[range.clone()]);
        to.array(&self.strings[range.clone()]);
        self.authenticators.write(range, to);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        Ok(Self {
            shares: from.secret(count)?,
            string_shares: from.secret(count)?,
            strings: from.secret(count)?,
            authenticators: Authenticators::read(from, count)?,
        })
    }
}

impl Pack for AnchorWires {
    fn count(&self) -> usize {
        self.shares.len()
    }

    fn item_bytes(&self) -> usize {
        size_of::<Share>() + self.anchors.item_bytes()
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        to.array(&self.shares[range.clone()]);
        self.anchors.write(range, to);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        Ok(Self {
            shares: from.secret(count)?,
            anchors: Anchors::read(from, count)?,
        })
    }
}

impl Pack for Masks {
    fn count(&self) -> usize {
        self.shares.len()
    }

    fn item_bytes(&self) -> usize {
        size_of::<Share>() + 1
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        to.array(&self.shares[range.clone()]);
        to.array(&self.bits[range]);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        Ok(Self {
            shares: from.secret(count)?,
            bits: from.secret(count)?,
        })
    }
}

impl Pack for Zeroizing<Vec<Share>> {
    fn count(&self) -> usize {
        self.len()
    }

    fn item_bytes(&self) -> usize {
        size_of::<Share>()
    }

    fn write(&self, range: Range<usize>, to: &mut Packed) {
        to.array(&self[range]);
    }

    fn read(from: &mut Unpacked<'_>, count: usize) -> Result<Self> {
        from.secret(count)
    }
}

/// An epoch as its six kinds of material.
pub(crate) trait Kinds: Default {
    /// Number and bytes of one item of a kind.
    fn size(&self, kind: usize) -> (usize, usize);
    /// The bytes of some items of a kind.
    fn pack(&self, kind: usize, range: Range<usize>) -> Zeroizing<Vec<u8>>;
    /// Sets the items of a kind.
    fn unpack(&mut self, kind: usize, bytes: &[u8], count: usize) -> Result<()>;
}

macro_rules! kinds {
    ($epoch:ty: $($kind:literal => $field:ident),*) => {
        impl Kinds for $epoch {
            fn size(&self, kind: usize) -> (usize, usize) {
                match kind {
                    $($kind => (self.$field.count(), self.$field.item_bytes()),)*
                    _ => (0, 0),
                }
            }

            fn pack(&self, kind: usize, range: Range<usize>) -> Zeroizing<Vec<u8>> {
                match kind {
                    $($kind => pack(&self.$field, range),)*
                    _ => Zeroizing::default(),
                }
            }

            fn unpack(&mut self, kind: usize, bytes: &[u8], count: usize) -> Result<()> {
                match kind {
                    $($kind => self.$field = unpack(bytes, count)?,)*
                    _ => return Err(Malformed),
                }
                Ok(())
            }
        }
    };
}

kinds!(GarblerEpoch: 0 => ands, 1 => garbler_inputs, 2 => evaluator_inputs, 3 => anchors, 4 => masks, 5 => ports);
kinds!(EvaluatorEpoch: 0 => ands, 1 => garbler_inputs, 2 => evaluator_inputs, 3 => anchors, 4 => masks, 5 => ports);
