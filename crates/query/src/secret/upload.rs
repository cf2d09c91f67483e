//! What an owner gives, bit by bit, and how it is laid out.

use std::collections::VecDeque;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_tables::{Column as TableColumn, Values as TableValues};

use crate::error::Result;
use crate::local::column::Values;
use crate::local::{AllRows, OwnTables};
use crate::plan::physical::{Column, Part, Physical, Step};
use crate::segment::Segments;

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
    Paired {
        key: usize,
        counts: Option<usize>,
        /// Bits of a row of all tables that go together.
        together: u64,
    },
    /// The keys, and so many times whether there is a row, and its other columns. If all are `kept`, also rows of which a key is null, one by one.
    Wide {
        keys: &'a [usize],
        slots: usize,
        kept: bool,
    },
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
            Shape::Wide { keys, slots, kept } => {
                let others: Vec<u32> = all.filter(|column| !keys.contains(column)).flat_map(of).collect();
                let slot = || std::iter::once(1).chain(others.iter().copied());
                let keys = keys.iter().flat_map(|&key| {
                    let Column { kind, nullable } = self.input.columns[key];
                    std::iter::once(kind.width()).chain((kept && nullable).then_some(1))
                });
                keys.chain((0..slots).flat_map(|_| slot())).collect()
            }
        }
    }

    /// Rows that are given at once.
    pub(crate) fn segment(&self, segments: Segments) -> usize {
        match self.shape {
            Shape::Paired { together, .. } => segments.rows(together),
            _ => segments.rows(self.widths().iter().copied().map(u64::from).sum()),
        }
    }

    /// The bits of the rows, so many at a time.
    ///
    /// # Errors
    /// As [`OwnTables::each`].
    fn bits(&self, own: &OwnTables<'_>) -> Result<VecDeque<BitMatrix>> {
        let width: u32 = self.widths().iter().sum();
        let columns = 0..self.input.columns.len();
        let mut put = Cells {
            to: Writer::new(self.input.rows, self.segment(own.segments), width as usize),
            columns: &self.input.columns,
            known: columns
                .map(|column| self.input.constant(column).is_some())
                .collect(),
        };
        match self.shape {
            Shape::Plain { keys: [] } => own.each(self.input, &mut |rows| {
                for row in 0..rows.count {
                    put.to.start();
                    put.to.bit(true);
                    for (column, of) in rows.columns.iter().enumerate() {
                        let value = match &of.values {
                            Values::Numbers(numbers) => Value::Number(numbers[row]),
                            Values::Text(width, text) => Value::Text(&text[row * width..][..*width]),
                        };
                        put.cell(column, value, of.is_null(row));
                    }
                }
                Ok(())
            })?,
            Shape::Plain { keys } => {
                let rows = own.all_rows(self.input)?;
                for &row in &rows.sorted(keys).0 {
                    put.to.start();
                    put.to.bit(true);
                    put.row(&rows, row as usize, |_| true);
                }
                for _ in rows.count..self.input.rows {
                    put.to.start();
                    put.to.bit(false);
                    put.last(keys);
                }
            }
            Shape::Paired { key, counts, .. } => {
                let rows = own.all_rows(self.input)?;
                let (order, whole) = rows.sorted(&[key]);
                for &row in &order[..whole] {
                    let row = row as usize;
                    put.to.start();
                    put.to.bit(false);
                    let counts_now = counts.is_none_or(|column| is_true(&rows.columns[column], row));
                    put.to.bit(counts_now);
                    put.row(&rows, row, |column| Some(column) != counts);
                }
                for _ in whole..self.input.rows {
                    put.to.start();
                    put.to.bit(true);
                }
            }
            Shape::Wide { keys, slots, kept } => put.runs(&own.all_rows(self.input)?, keys, slots, kept),
        }
        Ok(put.to.finish())
    }
}

/// Writes cells of columns, but for those that are constants.
struct Cells<'a> {
    to: Writer,
    columns: &'a [Column],
    /// Whether all know what each is.
    known: Vec<bool>,
}

impl Cells<'_> {
    fn cell(&mut self, column: usize, value: Value<'_>, null: bool) {
        if self.known[column] {
            return;
        }
        self.to.value(value, self.columns[column].kind.width());
        if self.columns[column].nullable {
            self.to.bit(null);
        }
    }

    /// A row that comes last by these keys, unless they may be null: all rows are sorted by them, and not only those that count.
    fn last(&mut self, keys: &[usize]) {
        for (column, of) in self.columns.iter().enumerate() {
            let width = of.kind.width();
            let ones = match keys.contains(&column) && !of.nullable {
                true => width - u32::from(of.kind.is_signed()),
                false => 0,
            };
            if !self.known[column] {
                self.to.ones(ones);
                self.to.skip(width - ones + u32::from(of.nullable));
            }
        }
    }

    /// The cells of a row in the columns that are `wanted`.
    fn row(&mut self, rows: &AllRows, row: usize, wanted: impl Fn(usize) -> bool) {
        for (column, of) in rows.columns.iter().enumerate() {
            if wanted(column) {
                self.cell(column, Value::of(of, row), of.is_null(row));
            }
        }
    }

    /// The rows with the same keys side by side, as many of them as there are slots. Rows without a key go together with nothing; they are left out unless all are `kept`.
    fn runs(&mut self, rows: &AllRows, keys: &[usize], slots: usize, kept: bool) {
        let (order, whole) = rows.sorted(keys);
        let (keyed, keyless) = order.split_at(whole);
        let same = |one: &u32, other: &u32| rows.same(keys, *one as usize, *other as usize);
        let keyless = if kept { keyless } else { &[] };
        for run in keyed.chunk_by(same).chain(keyless.chunks(1)) {
            self.to.start();
            let first = run[0] as usize;
            for &key in keys {
                let (column, info) = (&rows.columns[key], self.columns[key]);
                self.to.value(Value::of(column, first), info.kind.width());
                if kept && info.nullable {
                    self.to.bit(column.is_null(first));
                }
            }
            for &row in run.iter().take(slots) {
                self.to.bit(true);
                self.row(rows, row as usize, |column| !keys.contains(&column));
            }
        }
    }
}

fn is_true(column: &TableColumn, row: usize) -> bool {
    match &column.values {
        TableValues::Numbers(numbers) => numbers.get(row) == 1 && !column.is_null(row),
        TableValues::Text(..) => false,
    }
}

/// A value that is given.
enum Value<'a> {
    Number(i128),
    Text(&'a [u8]),
}

impl<'a> Value<'a> {
    fn of(column: &'a TableColumn, row: usize) -> Self {
        match &column.values {
            TableValues::Numbers(numbers) => Value::Number(numbers.get(row)),
            TableValues::Text(width, text) => Value::Text(&text[row * width..][..*width]),
        }
    }
}

/// Writes the bits of rows, one field after the other, and turns each segment of them over when it is full.
struct Writer {
    done: VecDeque<BitMatrix>,
    /// A segment, a row for each of its rows.
    bits: BitMatrix,
    /// Rows of a segment, and bits of a row.
    segment: usize,
    width: usize,
    /// Rows that no segment has room for yet.
    left: usize,
    /// Rows of this segment that were begun, and bits of the last of them that were written.
    begun: usize,
    at: usize,
}

impl Writer {
    fn new(rows: usize, segment: usize, width: usize) -> Self {
        let first = rows.min(segment);
        Writer {
            done: VecDeque::new(),
            bits: BitMatrix::zeros(first, width),
            segment,
            width,
            left: rows - first,
            begun: 0,
            at: 0,
        }
    }

    /// Begins the next row.
    fn start(&mut self) {
        if self.begun == self.bits.rows() {
            self.turn();
        }
        self.begun += 1;
        self.at = 0;
    }

    /// Goes on to the next segment.
    fn turn(&mut self) {
        self.done.push_back(self.bits.transpose());
        let next = self.left.min(self.segment);
        self.left -= next;
        self.begun = 0;
        match next == self.bits.rows() {
            true => self.bits.words_mut().fill(0),
            false => self.bits = BitMatrix::zeros(next, self.width),
        }
    }

    /// All segments, with zeros for rows that were not begun.
    fn finish(mut self) -> VecDeque<BitMatrix> {
        while self.bits.rows() > 0 {
            self.turn();
        }
        self.done
    }

    fn bit(&mut self, bit: bool) {
        self.put(bit.into(), 1);
    }

    fn ones(&mut self, count: u32) {
        for from in (0..count).step_by(128) {
            self.put(u128::MAX, (count - from).min(128));
        }
    }

    /// Zeros.
    fn skip(&mut self, count: u32) {
        self.at += count as usize;
    }

    /// The low `width` bits of `value`, at most 128.
    fn put(&mut self, value: u128, width: u32) {
        let words = self.bits.row_mut(self.begun - 1);
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

    fn value(&mut self, value: Value<'_>, width: u32) {
        match value {
            Value::Number(number) => self.put(number as u128, width),
            // The last byte is the lowest.
            Value::Text(text) => {
                (0..(width as usize / 8).saturating_sub(text.len())).for_each(|_| self.put(0, 8));
                text.iter().rev().for_each(|&byte| self.put(byte.into(), 8));
            }
        }
    }
}

/// What is given of tables that go together row by row.
pub(crate) fn of_parts(parts: &[Part]) -> impl Iterator<Item = Upload<'_>> {
    let together = parts.iter().map(|part| part.input.width() + 1).sum();
    parts.iter().map(move |part| Upload {
        input: &part.input,
        shape: Shape::Paired {
            key: part.key,
            counts: part.counts,
            together,
        },
    })
}

/// Calls `each` with all that is given, in the order in which it is.
pub(crate) fn uploads<'a>(
    physical: &'a Physical,
    each: &mut impl FnMut(&Upload<'a>) -> Result<()>,
) -> Result<()> {
    match &*physical.step {
        Step::Share(input, keys) => each(&Upload {
            input,
            shape: Shape::Plain { keys },
        }),
        Step::Paired(parts) => of_parts(parts).try_for_each(|upload| each(&upload)),
        Step::Join(join) => {
            uploads(&join.probe, each)?;
            match join.slots {
                1 => uploads(&join.lookup, each),
                slots => each(&Upload {
                    input: &join.lookup,
                    shape: Shape::Wide {
                        keys: &join.lookup_keys,
                        slots,
                        kept: join.rest,
                    },
                }),
            }
        }
        Step::Project(input, _) | Step::Filter(input, _) => uploads(input, each),
        Step::Group { input, .. } | Step::Verify { input, .. } => uploads(input, each),
        Step::First { input, .. } | Step::Window { input, .. } | Step::Repeat { input, .. } => {
            uploads(input, each)
        }
        Step::Union(inputs) => inputs.iter().try_for_each(|input| match input.owner {
            None => uploads(input, each),
            Some(_) => each(&Upload {
                input,
                shape: Shape::Plain { keys: &[] },
            }),
        }),
        Step::Scan { .. } | Step::Kept { .. } => Ok(()),
    }
}

/// What `me` gives: of each upload, in order, the segments.
///
/// # Errors
/// As [`OwnTables::each`].
pub(crate) fn given(
    physical: &Physical,
    me: PartyId,
    own: &OwnTables<'_>,
) -> Result<VecDeque<VecDeque<BitMatrix>>> {
    let mut all = VecDeque::new();
    uploads(physical, &mut |upload| {
        if upload.owner() == me {
            all.push_back(upload.bits(own)?);
        }
        Ok(())
    })?;
    Ok(all)
}
