//! What an owner gives, bit by bit, and how it is laid out.

use std::collections::VecDeque;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_tables::{Column, Values};

use crate::error::Result;
use crate::local::{Own, Rows};
use crate::plan::physical::{Physical, Step};

/// Rows that a party gives.
pub(crate) struct Upload<'a> {
    pub(crate) input: &'a Physical,
    pub(crate) shape: Shape<'a>,
}

/// How rows are laid out. There are as many as the input has at most, whatever there are.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// Whether the row counts, and its columns; in the order of some of them.
    Plain { keys: &'a [usize] },
    /// Whether the row is absent, and counts, and its columns, in the order of one of them.
    Paired { key: usize, counts: Option<usize> },
    /// The keys, and so many times whether there is a row, and its other columns.
    Wide { keys: &'a [usize], slots: usize },
}

impl Upload<'_> {
    pub(crate) fn owner(&self) -> PartyId {
        self.input.owner.expect("what is given has an owner")
    }

    /// Bits of the fields of a row.
    pub(crate) fn widths(&self) -> Vec<u32> {
        let of = |column: usize| {
            let info = &self.input.columns[column];
            let both = [info.kind.width(), 1]
                .into_iter()
                .take(1 + usize::from(info.nullable));
            // All know a constant.
            both.filter(move |_| self.input.constant(column).is_none())
        };
        let all = 0..self.input.columns.len();
        match self.shape {
            Shape::Plain { .. } => std::iter::once(1).chain(all.flat_map(of)).collect(),
            Shape::Paired { counts, .. } => {
                let told = all.filter(|column| Some(*column) != counts);
                [1, 1].into_iter().chain(told.flat_map(of)).collect()
            }
            Shape::Wide { keys, slots } => {
                let others: Vec<u32> = all.filter(|column| !keys.contains(column)).flat_map(of).collect();
                let slot = || std::iter::once(1).chain(others.iter().copied());
                let keys = keys.iter().map(|&key| self.input.columns[key].kind.width());
                keys.chain((0..slots).flat_map(|_| slot())).collect()
            }
        }
    }

    /// The bits of the rows.
    fn bits(&self, rows: &Rows) -> BitMatrix {
        let widths = self.widths();
        let width: u32 = widths.iter().sum();
        let mut bits = BitMatrix::zeros(self.input.rows, width as usize);
        let columns = &self.input.columns;
        let mut put = Writer {
            bits: &mut bits,
            row: 0,
            at: 0,
        };
        let known: Vec<bool> = (0..columns.len())
            .map(|column| self.input.constant(column).is_some())
            .collect();
        let cell = |put: &mut Writer<'_>, of: &Column, column: usize, row: usize| {
            if known[column] {
                return;
            }
            put.value(&of.values, columns[column].kind.width(), row);
            if columns[column].nullable {
                put.bit(of.is_null(row));
            }
        };
        match self.shape {
            Shape::Plain { keys } => {
                let sorted = if keys.is_empty() {
                    rows.clone()
                } else {
                    rows.sorted(keys).0
                };
                for row in 0..sorted.count {
                    put.start(row);
                    put.bit(true);
                    for (column, of) in sorted.columns.iter().enumerate() {
                        cell(&mut put, of, column, row);
                    }
                }
            }
            Shape::Paired { key, counts } => {
                let (sorted, whole) = rows.sorted(&[key]);
                for row in 0..self.input.rows {
                    put.start(row);
                    let there = row < whole;
                    put.bit(!there);
                    if !there {
                        continue;
                    }
                    put.bit(counts.is_none_or(|column| is_true(&sorted.columns[column], row)));
                    for (column, of) in sorted.columns.iter().enumerate() {
                        if Some(column) != counts {
                            cell(&mut put, of, column, row);
                        }
                    }
                }
            }
            Shape::Wide { keys, slots } => {
                // Rows without a key go together with nothing.
                let (sorted, whole) = rows.sorted(keys);
                let same = |one: usize, other: usize| {
                    keys.iter()
                        .all(|&key| sorted.columns[key].compare(one, other).is_eq())
                };
                let (mut row, mut place) = (0, 0);
                while row < whole {
                    let count = (row..whole).take_while(|&other| same(row, other)).count();
                    put.start(place);
                    for &key in keys {
                        put.value(&sorted.columns[key].values, columns[key].kind.width(), row);
                    }
                    for slot in 0..count.min(slots) {
                        put.bit(true);
                        for (column, of) in sorted.columns.iter().enumerate() {
                            if !keys.contains(&column) {
                                cell(&mut put, of, column, row + slot);
                            }
                        }
                    }
                    (row, place) = (row + count, place + 1);
                }
            }
        }
        bits.transpose()
    }
}

fn is_true(column: &Column, row: usize) -> bool {
    match &column.values {
        Values::Numbers(numbers) => numbers[row] == 1 && !column.is_null(row),
        Values::Text(..) => false,
    }
}

/// Writes the bits of a row, one field after the other.
struct Writer<'a> {
    bits: &'a mut BitMatrix,
    row: usize,
    at: usize,
}

impl Writer<'_> {
    fn start(&mut self, row: usize) {
        (self.row, self.at) = (row, 0);
    }

    fn bit(&mut self, bit: bool) {
        self.put(bit.into(), 1);
    }

    /// The low `width` bits of `value`, at most 128.
    fn put(&mut self, value: u128, width: u32) {
        let words = self.bits.row_mut(self.row);
        let value = if width < 128 {
            value & ((1 << width) - 1)
        } else {
            value
        };
        let (word, shift) = (self.at / 64, self.at % 64);
        let low = value << shift;
        words[word] |= low as u64;
        let ends = shift + width as usize;
        if ends > 64 {
            words[word + 1] |= (low >> 64) as u64;
        }
        if ends > 128 {
            words[word + 2] |= (value >> (128 - shift)) as u64;
        }
        self.at += width as usize;
    }

    fn value(&mut self, values: &Values, width: u32, row: usize) {
        match values {
            Values::Numbers(numbers) => self.put(numbers[row] as u128, width),
            // The last byte is the lowest.
            Values::Text(bytes, text) => {
                let own = &text[row * bytes..][..*bytes];
                (0..(width as usize / 8).saturating_sub(*bytes)).for_each(|_| self.put(0, 8));
                own.iter().rev().for_each(|&byte| self.put(byte.into(), 8));
            }
        }
    }
}

/// Calls `each` with all that is given, in the order in which it is.
pub(crate) fn uploads<'a>(
    physical: &'a Physical,
    each: &mut impl FnMut(&Upload<'a>) -> Result<()>,
) -> Result<()> {
    match &physical.step {
        Step::Share(input, keys) => each(&Upload {
            input,
            shape: Shape::Plain { keys },
        }),
        Step::Paired(parts) => parts.iter().try_for_each(|part| {
            let shape = Shape::Paired {
                key: part.key,
                counts: part.counts,
            };
            each(&Upload {
                input: &part.input,
                shape,
            })
        }),
        Step::Join(join) => {
            uploads(&join.probe, each)?;
            match join.slots {
                1 => uploads(&join.lookup, each),
                slots => each(&Upload {
                    input: &join.lookup,
                    shape: Shape::Wide {
                        keys: &join.lookup_keys,
                        slots,
                    },
                }),
            }
        }
        Step::Project(input, _) | Step::Filter(input, _) => uploads(input, each),
        Step::Group { input, .. } | Step::First { input, .. } | Step::Verify { input, .. } => {
            uploads(input, each)
        }
        Step::Union(inputs) => inputs.iter().try_for_each(|input| match input.owner {
            None => uploads(input, each),
            Some(_) => each(&Upload {
                input,
                shape: Shape::Plain { keys: &[] },
            }),
        }),
        Step::Scan { .. } => Ok(()),
    }
}

/// What `me` gives, in order.
///
/// # Errors
/// As [`Own::rows`].
pub(crate) fn given(physical: &Physical, me: PartyId, own: &Own<'_>) -> Result<VecDeque<BitMatrix>> {
    let mut all = VecDeque::new();
    uploads(physical, &mut |upload| {
        if upload.owner() == me {
            all.push_back(upload.bits(&own.rows(upload.input)?));
        }
        Ok(())
    })?;
    Ok(all)
}
