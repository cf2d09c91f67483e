//! Secret columns: values, and whether they are null.

use cenote_program::{Bits, Session};

use crate::expr::ValueKind;

/// A secret column, or a value that is the same in all rows.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// As many bits as the kind has. Nothing of meaning where it is null.
    pub(crate) value: Bits,
    /// Whether it is null; nothing if it never is.
    pub(crate) null: Option<Bits>,
}

/// The bits that a column takes in a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(super) width: u32,
    pub(super) nullable: bool,
}

impl Cell {
    pub(crate) fn layout(&self) -> Layout {
        Layout {
            width: self.value.width(),
            nullable: self.null.is_some(),
        }
    }

    /// The value, and zeros where it is null.
    pub(crate) fn or_zero(&self) -> Bits {
        match &self.null {
            None => self.value.clone(),
            Some(null) => self.value.where_chosen(&null.not()),
        }
    }

    /// Whether it is there.
    pub(crate) fn present(&self) -> Option<Bits> {
        self.null.as_ref().map(Bits::not)
    }

    /// Its bits, as they are laid out in a record.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Bits> {
        std::iter::once(&self.value).chain(&self.null)
    }

    /// A column of this layout, from a record: the inverse of [`Cell::parts`].
    pub(crate) fn from_record(record: &Bits, from: &mut u32, of: Layout) -> Cell {
        let mut take = |width: u32| {
            *from += width;
            record.part(*from - width, width)
        };
        let value = take(of.width);
        Cell {
            value,
            null: of.nullable.then(|| take(1)),
        }
    }

    pub(crate) fn filling(&self, rows: usize) -> Cell {
        Cell {
            value: self.value.filling(rows),
            null: self.null.as_ref().map(|null| null.filling(rows)),
        }
    }

    /// An unsigned number that orders as the value does, with nulls before or after all values.
    pub(crate) fn key(&self, kind: ValueKind, descending: bool, nulls_first: bool) -> Bits {
        let value = ordered(&self.or_zero(), kind);
        let value = if descending { value.not() } else { value };
        match &self.null {
            None => value,
            Some(null) => {
                // Nulls are equal whatever the order.
                let value = value.where_chosen(&null.not());
                let top = if nulls_first { null.not() } else { null.clone() };
                Bits::join(&[&value, &top])
            }
        }
    }
}

impl Cell {
    /// The column that a part of a key was made of: the inverse of [`Cell::key`].
    pub(crate) fn from_key(
        key: &Bits,
        from: &mut u32,
        (of, kind): (Layout, ValueKind),
        descending: bool,
        nulls_first: bool,
    ) -> Cell {
        let mut take = |width: u32, inverted: bool| {
            *from += width;
            let part = key.part(*from - width, width);
            if inverted { part.not() } else { part }
        };
        let value = ordered(&take(of.width, descending), kind);
        Cell {
            value,
            null: of.nullable.then(|| take(1, nulls_first)),
        }
    }
}

/// An unsigned number that orders as a value does; of that, the value.
pub(crate) fn ordered(value: &Bits, kind: ValueKind) -> Bits {
    if !kind.is_signed() {
        return value.clone();
    }
    let width = value.width();
    let top = value.part(width - 1, 1).not();
    match width {
        1 => top,
        _ => Bits::join(&[&value.part(0, width - 1), &top]),
    }
}

/// A public number in so many bits, in two's complement.
pub(crate) fn number(session: &Session, width: u32, value: i128) -> Bits {
    let low = session.public_bits(
        width.min(128),
        value as u128 & (u128::MAX >> (128 - width.min(128))),
    );
    low.resized(width, value < 0)
}

/// Public text, padded to so many bytes. The first byte counts most.
pub(crate) fn text(session: &Session, bytes: &[u8], width: u32) -> Bits {
    let mut parts: Vec<Bits> = (0..width as usize / 8)
        .map(|at| session.public_bits(8, bytes.get(at).copied().unwrap_or(0).into()))
        .collect();
    parts.reverse();
    Bits::join(&parts.iter().collect::<Vec<_>>())
}

/// Whether any bit of a row is 1: one bit for all.
pub(crate) fn any(bits: &Bits) -> Bits {
    bits.not().all().not()
}
