//! How often values come in columns of a table that does not fit into memory: sorted in runs, each of which fits, and these side by side.

use std::cmp::Ordering;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use cenote_query::{Promise, Repeats};
use cenote_store::{Scratch, Span};
use cenote_tables::{Column, Field, Numbers, Table, Values};

use super::piles::{MOST, Overflow, Piles, read};
use crate::Result;

/// Bytes of what is sorted in memory at the least, and of a run that are read at once, as parts of what fits there.
const RUN: usize = 2;
const BLOCK: usize = 256;

/// How many rows a run has of a table of at most so many rows, and how many of them are read at once. Runs grow with the square root of the table, so all of them can be read
/// side by side in the memory of one.
fn rows_of_run(fields: &[Field], max_rows: usize, most: usize) -> [usize; 2] {
    // And the place of each.
    let row = Table::bytes_of_row(fields) + size_of::<usize>();
    let block = most / BLOCK;
    let run = (most / RUN).max(max_rows.saturating_mul(row).saturating_mul(block).isqrt());
    [run, block].map(|bytes| bytes / row + 1)
}

/// Bytes that [`repeats`] takes of memory, of a table of at most so many rows, in columns of these fields.
pub(super) fn bytes(fields: &[Field], max_rows: usize) -> u64 {
    let row = Table::bytes_of_row(fields) + size_of::<usize>();
    let [run, block] = rows_of_run(fields, max_rows, MOST);
    let blocks = if run < max_rows {
        max_rows.div_ceil(run) * block
    } else {
        0
    };
    // Rows of a run are there three times: as they came, in room for twice as many, and sorted. A block is as it was read, and decrypted on the way.
    (row as u64).saturating_mul((3 * run.min(max_rows) + 2 * blocks) as u64)
}

/// How often values come in the columns of a promise, in a table of at most so many rows that lies on the first of `piles`.
pub(super) fn repeats(
    piles: &Piles,
    max_rows: usize,
    promise: &Promise,
    overflow: &Overflow,
) -> Result<Repeats> {
    let mut runs: Option<Runs> = None;
    piles.each(0, &mut |rows| {
        let rows = rows.project(promise.columns());
        let runs = runs.get_or_insert_with(|| Runs::new((&rows.fields, max_rows), overflow));
        runs.push(&rows)
    })?;
    runs.map_or(Ok(Repeats::default()), Runs::repeats)
}

/// Rows in runs, each of which is sorted.
struct Runs {
    fields: Vec<Field>,
    scratch: Scratch,
    /// Where the blocks of each run lie, with how many rows each has.
    runs: Vec<VecDeque<(Span, usize)>>,
    /// Rows of the next run, as they came.
    next: Table,
    /// Rows of a run, and of a block of it.
    most: usize,
    block: usize,
}

impl Runs {
    fn new((fields, max_rows): (&[Field], usize), overflow: &Overflow) -> Self {
        let [most, block] = rows_of_run(fields, max_rows, overflow.most);
        Runs {
            fields: fields.to_vec(),
            scratch: overflow.scratch(),
            runs: Vec::new(),
            next: Table::none(fields),
            most,
            block,
        }
    }

    /// Adds those of `rows` that have no nulls.
    fn push(&mut self, rows: &Table) -> Result<()> {
        let is_whole = |row: &usize| !rows.columns.iter().any(|column| column.is_null(*row));
        let whole: Vec<usize> = (0..rows.rows).filter(is_whole).collect();
        let mut left = &whole[..];
        while !left.is_empty() {
            if self.next.rows == self.most {
                self.end_run()?;
            }
            let (now, later) = left.split_at(left.len().min(self.most - self.next.rows));
            self.next.append(rows, now);
            left = later;
        }
        Ok(())
    }

    /// The rows of the next run in their order.
    fn sorted(&mut self) -> Table {
        let mut rows = std::mem::replace(&mut self.next, Table::none(&self.fields));
        if let [
            Column {
                values: Values::Numbers(numbers),
                ..
            },
        ] = &mut *rows.columns
        {
            let unsorted = std::mem::replace(numbers, Numbers::within(0, 0));
            *numbers = unsorted.sorted();
            return rows;
        }
        let mut places: Vec<usize> = (0..rows.rows).collect();
        places.sort_unstable_by(|&one, &other| {
            let columns = rows.columns.iter();
            let each = columns.map(|column| column.values.compare(one, other));
            each.fold(Ordering::Equal, Ordering::then)
        });
        rows.gather(&places)
    }

    fn end_run(&mut self) -> Result<()> {
        let rows = self.sorted();
        let places: Vec<usize> = (0..rows.rows).collect();
        let mut run = VecDeque::new();
        for block in places.chunks(self.block) {
            let bytes = rows.gather(block).to_bytes(block.len());
            run.push_back((self.scratch.write(&bytes)?, block.len()));
        }
        self.runs.push(run);
        Ok(())
    }

    /// How often values come in all of them.
    fn repeats(mut self) -> Result<Repeats> {
        let last = self.sorted();
        let runs = std::mem::take(&mut self.runs).into_iter();
        let mut heap = BinaryHeap::new();
        for (rows, run) in runs.map(|run| (None, run)).chain([(Some(last), VecDeque::new())]) {
            heap.extend(Head::new(&self, rows, run)?);
        }
        let mut found = Repeats::default();
        let mut before = Vec::new();
        let mut is_first = true;
        while let Some(mut least) = heap.peek_mut() {
            let is_same = !is_first && before == least.key;
            found.add(is_same);
            if !is_same {
                std::mem::swap(&mut before, &mut least.key);
            }
            is_first = false;
            if !least.next(&self)? {
                PeekMut::pop(least);
            }
        }
        Ok(found)
    }
}

/// The next row of a run. The greatest in the order of heaps is the least row.
struct Head {
    /// Bytes that come in the order of its values.
    key: Vec<u8>,
    rows: Table,
    /// Where the row is in them.
    row: usize,
    run: VecDeque<(Span, usize)>,
}

impl Head {
    /// Of a run that begins with `rows`, if it has any.
    fn new(of: &Runs, rows: Option<Table>, run: VecDeque<(Span, usize)>) -> Result<Option<Self>> {
        let mut head = Head {
            key: Vec::new(),
            rows: rows.unwrap_or_else(|| Table::none(&of.fields)),
            row: 0,
            run,
        };
        Ok(head.is_there(of)?.then_some(head))
    }

    /// Goes on to the next row. Gives whether there is one.
    fn next(&mut self, of: &Runs) -> Result<bool> {
        self.row += 1;
        self.is_there(of)
    }

    /// Reads the row where it is, if there is one.
    fn is_there(&mut self, of: &Runs) -> Result<bool> {
        if self.row == self.rows.rows {
            let Some((span, rows)) = self.run.pop_front() else {
                return Ok(false);
            };
            (self.rows, self.row) = (read(&of.scratch, span, (&of.fields, rows))?, 0);
        }
        self.key.clear();
        for column in &self.rows.columns {
            match &column.values {
                Values::Numbers(numbers) => {
                    let number = numbers.get(self.row) as u128 ^ 1 << 127;
                    self.key.extend_from_slice(&number.to_be_bytes());
                }
                Values::Text(width, text) => self.key.extend_from_slice(&text[self.row * width..][..*width]),
            }
        }
        Ok(true)
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Head {}
