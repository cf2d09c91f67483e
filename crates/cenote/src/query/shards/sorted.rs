//! How often values come in columns of a table that does not fit into memory: sorted in runs, each of which fits, and these side by side.

use std::cmp::Ordering;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use cenote_query::{Promise, Repeats};
use cenote_store::{Scratch, Span};
use cenote_tables::{Column, Field, Numbers, Table, Values};

use super::piles::{MOST, Overflow, Piles, bytes_of_row, read};
use crate::Result;

/// Bytes of a run that is sorted in memory, where so many fit.
const fn bytes_of_run(most: usize) -> usize {
    most / 2
}

/// Rows of a run that are read at once.
const BLOCK: usize = 1 << 12;

/// Bytes that [`repeats`] takes of memory, of a table of so many rows, in columns of these fields.
pub(super) fn bytes(fields: &[Field], max_rows: usize) -> u64 {
    let row = bytes_of_sorted(fields);
    let rows = max_rows.min(bytes_of_run(MOST) / row + 1);
    let runs = max_rows.div_ceil(rows.max(1));
    let blocks = if runs > 1 { runs * BLOCK } else { 0 };
    // Rows may be there three times: as they came, in room for twice as many, and sorted.
    (3 * row as u64).saturating_mul((rows + blocks) as u64)
}

/// Bytes of a row while it is sorted: its own, and its place.
fn bytes_of_sorted(fields: &[Field]) -> usize {
    bytes_of_row(fields) + size_of::<usize>()
}

/// How often values come in the columns of a promise, in a table that lies on the first of `piles`.
pub(super) fn repeats(piles: &Piles, promise: &Promise, overflow: &Overflow) -> Result<Repeats> {
    let mut runs: Option<Runs> = None;
    piles.each(0, &mut |rows| {
        let rows = rows.project(promise.columns());
        let runs = runs.get_or_insert_with(|| Runs::new(&rows.fields, overflow));
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
    /// Rows of a run.
    most: usize,
}

impl Runs {
    fn new(fields: &[Field], overflow: &Overflow) -> Self {
        Runs {
            fields: fields.to_vec(),
            scratch: overflow.scratch(),
            runs: Vec::new(),
            next: Table::none(fields),
            most: bytes_of_run(overflow.most) / bytes_of_sorted(fields) + 1,
        }
    }

    /// Adds those of `rows` that have no nulls.
    fn push(&mut self, rows: &Table) -> Result<()> {
        let is_whole = |row: &usize| !rows.columns.iter().any(|column| column.is_null(*row));
        let whole: Vec<usize> = (0..rows.rows).filter(is_whole).collect();
        for places in whole.chunks(self.most) {
            if self.next.rows + places.len() > self.most {
                self.end_run()?;
            }
            self.next.append(rows, places);
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
        for block in places.chunks(BLOCK) {
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
            let is_the_last = !is_first && before == least.key;
            found.add(is_the_last);
            if !is_the_last {
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
