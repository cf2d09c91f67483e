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
        places.sort_unstable_by(|&one, &other| compare((&rows, one), (&rows, other)));
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
        let last = Head {
            rows: self.sorted(),
            row: 0,
            run: VecDeque::new(),
        };
        let runs = std::mem::take(&mut self.runs).into_iter();
        let mut heap: BinaryHeap<Head> = (last.rows.rows > 0).then_some(last).into_iter().collect();
        for run in runs {
            let (rows, row) = (Table::none(&self.fields), 0);
            let mut head = Head { rows, row, run };
            if head.read(&self)? {
                heap.push(head);
            }
        }
        let mut found = Repeats::default();
        let (mut value, mut before) = (Vec::new(), None);
        while let Some(mut least) = heap.peek_mut() {
            value.clear();
            least.put(&mut value);
            let is_the_last = before.as_ref() == Some(&value);
            found.add(is_the_last);
            if !is_the_last {
                value = before.replace(value).unwrap_or_default();
            }
            least.row += 1;
            if least.row == least.rows.rows && !least.read(&self)? {
                PeekMut::pop(least);
            }
        }
        Ok(found)
    }
}

/// The next row of a run. The greatest in the order of heaps is the least row.
struct Head {
    rows: Table,
    row: usize,
    run: VecDeque<(Span, usize)>,
}

impl Head {
    /// Adds the values of the row to `bytes`.
    fn put(&self, bytes: &mut Vec<u8>) {
        for column in &self.rows.columns {
            match &column.values {
                Values::Numbers(numbers) => bytes.extend_from_slice(&numbers.get(self.row).to_le_bytes()),
                Values::Text(width, text) => bytes.extend_from_slice(&text[self.row * width..][..*width]),
            }
        }
    }

    /// Reads the next block. Gives whether there is one.
    fn read(&mut self, of: &Runs) -> Result<bool> {
        let Some((span, rows)) = self.run.pop_front() else {
            return Ok(false);
        };
        (self.rows, self.row) = (read(&of.scratch, span, (&of.fields, rows))?, 0);
        Ok(true)
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        compare((&other.rows, other.row), (&self.rows, self.row))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

/// How two rows without nulls compare, the first column counting most.
fn compare((one, row): (&Table, usize), (other, other_row): (&Table, usize)) -> Ordering {
    let columns = one.columns.iter().zip(&other.columns);
    let each = columns.map(|(one, other)| compare_values((one, row), (other, other_row)));
    each.fold(Ordering::Equal, Ordering::then)
}

fn compare_values((one, row): (&Column, usize), (other, other_row): (&Column, usize)) -> Ordering {
    match (&one.values, &other.values) {
        (Values::Numbers(one), Values::Numbers(other)) => one.get(row).cmp(&other.get(other_row)),
        (Values::Text(width, one), Values::Text(other_width, other)) => {
            let own = &one[row * width..][..*width];
            own.cmp(&other[other_row * other_width..][..*other_width])
        }
        _ => Ordering::Equal,
    }
}
