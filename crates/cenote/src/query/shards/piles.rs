//! Rows in piles, in memory while they are few, and else on the disk.

use std::path::{Path, PathBuf};

use cenote_store::{Scratch, Span};
use cenote_tables::{Field, Table};

use crate::{Error, Result};

/// Rows that are handled at once.
pub(super) const PIECE: usize = 1 << 16;

/// Bytes of a table that are in memory at the most.
pub(super) const MOST: usize = 16 << 20;

/// Where rows go that do not fit into memory.
#[derive(Clone)]
pub struct Overflow {
    folder: PathBuf,
    /// Bytes of a table that fit.
    pub(super) most: usize,
}

impl Overflow {
    /// To the disk, in the folder at `folder`.
    pub fn to(folder: &Path) -> Self {
        Overflow {
            folder: folder.to_owned(),
            most: MOST,
        }
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch::within(&self.folder)
    }
}

/// Rows of one table in so many piles, in each in the order in which they came.
pub(super) struct Piles {
    fields: Vec<Field>,
    piles: Vec<Pile>,
    /// Bytes of a row.
    row: usize,
    /// Rows in memory.
    held: usize,
    /// Bytes that are in memory at the most.
    most: usize,
    scratch: Scratch,
    is_spilt: bool,
}

struct Pile {
    /// On the disk, with how many rows each has.
    spans: Vec<(Span, usize)>,
    /// In memory.
    rest: Table,
}

impl Pile {
    fn rows(&self) -> usize {
        let on_disk = self.spans.iter().map(|(_, rows)| rows);
        on_disk.sum::<usize>() + self.rest.rows
    }
}

impl Piles {
    /// So many piles without rows.
    pub(super) fn new(fields: &[Field], piles: usize, overflow: &Overflow) -> Self {
        let pile = || Pile {
            spans: Vec::new(),
            rest: Table::none(fields),
        };
        Piles {
            fields: fields.to_vec(),
            piles: (0..piles).map(|_| pile()).collect(),
            row: bytes_of_row(fields),
            held: 0,
            most: overflow.most,
            scratch: overflow.scratch(),
            is_spilt: false,
        }
    }

    /// Puts each of `rows` on the pile that `pile_of` it says.
    ///
    /// # Errors
    /// [`Error::Protocol`] if the disk is full, or nothing can be written there.
    pub(super) fn push(&mut self, rows: &Table, mut pile_of: impl FnMut(usize) -> usize) -> Result<()> {
        let mut places = vec![Vec::new(); self.piles.len()];
        (0..rows.rows).for_each(|row| places[pile_of(row)].push(row));
        for (pile, places) in self.piles.iter_mut().zip(&places) {
            if !places.is_empty() {
                pile.rest.append(rows, places);
            }
        }
        self.held += rows.rows;
        match self.held * self.row > self.most {
            true => self.spill(),
            false => Ok(()),
        }
    }

    /// Moves what is in memory to the disk.
    fn spill(&mut self) -> Result<()> {
        for Pile { spans, rest } in &mut self.piles {
            let rows = std::mem::replace(rest, Table::none(&self.fields));
            let mut from = 0;
            while from < rows.rows {
                let to = rows.rows.min(from + PIECE);
                let piece = rows.gather(&(from..to).collect::<Vec<_>>());
                spans.push((self.scratch.write(&piece.to_bytes(piece.rows))?, piece.rows));
                from = to;
            }
        }
        (self.held, self.is_spilt) = (0, true);
        Ok(())
    }

    /// No more rows come: what was too much for the memory leaves nothing there.
    ///
    /// # Errors
    /// As [`Piles::push`].
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.is_spilt {
            return self.spill();
        }
        self.piles.iter_mut().for_each(|pile| pile.rest.shrink_to_fit());
        Ok(())
    }

    /// How many rows are on a pile.
    pub(super) fn rows(&self, pile: usize) -> usize {
        self.piles[pile].rows()
    }

    /// Calls `each` with the rows of a pile, some at a time.
    ///
    /// # Errors
    /// [`Error::Protocol`] if they cannot be read; those of `each`.
    pub(super) fn each(&self, pile: usize, each: &mut dyn FnMut(&Table) -> Result<()>) -> Result<()> {
        let Pile { spans, rest } = &self.piles[pile];
        for &(span, rows) in spans {
            each(&read(&self.scratch, span, (&self.fields, rows))?)?;
        }
        match rest.rows {
            0 => Ok(()),
            _ => each(rest),
        }
    }

    /// All rows of a pile.
    ///
    /// # Errors
    /// As [`Piles::each`].
    pub(super) fn whole(&self, pile: usize) -> Result<Table> {
        let mut whole = Table::none(&self.fields);
        whole.make_room(self.rows(pile));
        self.each(pile, &mut |rows| {
            whole.append(rows, &(0..rows.rows).collect::<Vec<_>>());
            Ok(())
        })?;
        Ok(whole)
    }
}

/// Bytes of a row of these fields.
pub(super) fn bytes_of_row(fields: &[Field]) -> usize {
    Table::byte_count(fields, 1) - Table::byte_count(fields, 0)
}

/// What lies in a span: so many rows of these fields.
pub(super) fn read(scratch: &Scratch, span: Span, (fields, rows): (&[Field], usize)) -> Result<Table> {
    let bytes = scratch.read(span)?;
    Table::from_bytes(fields, rows, &bytes).ok_or_else(|| {
        let what = std::io::Error::other("they are not what was written");
        Error::local("reading rows that were moved to the disk", what)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use cenote_tables::Column;

    use super::*;

    /// Tables of which so many bytes fit into memory.
    pub(in super::super) fn overflow(folder: &Path, most: usize) -> Overflow {
        let folder = folder.join("scratch");
        Overflow { folder, most }
    }

    fn fields() -> Vec<Field> {
        let field = |name: &str, kind: &str, nullable| Field {
            name: name.into(),
            kind: kind.parse().unwrap(),
            nullable,
        };
        vec![field("x", "i32", true), field("s", "char(3)", false)]
    }

    /// Rows of these numbers; some are null.
    fn rows(numbers: std::ops::Range<usize>) -> Table {
        let text = "x,s\n".to_owned();
        let text = numbers.fold(text, |text, number| match number % 5 {
            0 => text + &format!(",{}\n", number % 1000),
            _ => text + &format!("{number},{}\n", number % 1000),
        });
        cenote_tables::read_csv(text.as_bytes(), "rows", &fields(), usize::MAX).unwrap()
    }

    fn same(one: &Table, other: &Table) -> bool {
        let nulls = |column: &Column| (0..one.rows).map(|row| column.is_null(row)).collect::<Vec<_>>();
        let columns = one.columns.iter().zip(&other.columns);
        one.rows == other.rows
            && columns
                .clone()
                .all(|(one, other)| one.values == other.values && nulls(one) == nulls(other))
    }

    #[test]
    fn piles_have_their_rows_in_order_wherever_they_lie() {
        let folder = tempfile::tempdir().unwrap();
        for most in [0, 40, 100, 5000, MOST] {
            let mut piles = Piles::new(&fields(), 3, &overflow(folder.path(), most));
            for (from, to) in [(0, 7), (7, 7), (7, 30), (30, 31), (31, 100)] {
                piles.push(&rows(from..to), |row| (from + row) % 4 % 3).unwrap();
            }
            piles.finish().unwrap();
            let all = rows(0..100);
            for pile in 0..3 {
                let places: Vec<usize> = (0..100).filter(|row| row % 4 % 3 == pile).collect();
                assert_eq!(piles.rows(pile), places.len());
                assert!(
                    same(&piles.whole(pile).unwrap(), &all.gather(&places)),
                    "{most} {pile}"
                );
                let mut seen = 0;
                let mut each = |rows: &Table| {
                    assert!(same(rows, &all.gather(&places[seen..seen + rows.rows])));
                    seen += rows.rows;
                    Ok(())
                };
                piles.each(pile, &mut each).unwrap();
                assert_eq!(seen, places.len());
            }
            assert_eq!(piles.is_spilt, most < 1100, "{most}");
            assert!(!piles.is_spilt || piles.held == 0);
        }
    }
}
