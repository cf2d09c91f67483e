//! Rows in piles, in memory while they are few, and else on the disk.

use std::path::{Path, PathBuf};

use cenote_store::{Scratch, Span};
use cenote_tables::{Field, Table};

use crate::{Error, Result};

/// Bytes of a table that are in memory at the most, in pieces of this part of that.
pub(super) const MOST: usize = 16 << 20;
const PIECES: usize = 8;

/// Rows of a piece at the most.
const PIECE: usize = 1 << 16;

/// Of what fits into memory, the least part that is written to the disk at a time.
const SPANS: usize = 1024;

/// What a column takes besides its values.
const COLUMN: usize = 160;

/// What is known of a span, in an array that grows.
const SPAN: u64 = 2 * size_of::<(Span, usize)>() as u64;

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

    /// How many rows of so many bytes are handled at once.
    pub(super) fn piece(&self, row: usize) -> usize {
        (self.most / PIECES / row).clamp(1, PIECE)
    }

    /// Bytes that so many piles have in memory before they are written to the disk.
    fn held(&self, piles: usize) -> usize {
        self.most.max(piles * (self.most / SPANS))
    }
}

/// Rows of one table in so many piles, in each in the order in which they came.
pub(super) struct Piles {
    fields: Vec<Field>,
    piles: Vec<Pile>,
    /// Rows in memory, and how many there may be.
    held: usize,
    most: usize,
    /// Rows that are handled at once.
    piece: usize,
    scratch: Scratch,
    /// Whether there may be more rows than fit into memory. If so, none stay there: what is on the disk tells nothing of how many there are.
    is_large: bool,
}

#[derive(Default)]
struct Pile {
    /// On the disk, with how many rows each has.
    spans: Vec<(Span, usize)>,
    /// In memory.
    rest: Option<Table>,
}

impl Pile {
    fn rows(&self) -> usize {
        let on_disk = self.spans.iter().map(|(_, rows)| rows);
        let rest = self.rest.as_ref().map_or(0, |rest| rest.rows);
        on_disk.sum::<usize>() + rest
    }
}

impl Piles {
    /// So many piles without rows, of which there will be at most `max_rows`.
    pub(super) fn new((fields, max_rows): (&[Field], usize), piles: usize, overflow: &Overflow) -> Self {
        let row = Table::bytes_of_row(fields);
        Piles {
            fields: fields.to_vec(),
            piles: (0..piles).map(|_| Pile::default()).collect(),
            held: 0,
            most: overflow.held(piles) / row,
            piece: overflow.piece(row),
            scratch: overflow.scratch(),
            is_large: max_rows.saturating_mul(row) > overflow.most,
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
                let rest = pile.rest.get_or_insert_with(|| Table::none(&self.fields));
                rest.append(rows, places);
            }
        }
        self.held += rows.rows;
        match self.is_large && self.held > self.most {
            true => self.spill(),
            false => Ok(()),
        }
    }

    /// Moves what is in memory to the disk.
    fn spill(&mut self) -> Result<()> {
        for Pile { spans, rest } in &mut self.piles {
            let Some(rows) = rest.take() else { continue };
            in_pieces(&rows, self.piece, &mut |piece| {
                spans.push((self.scratch.write(&piece.to_bytes(piece.rows))?, piece.rows));
                Ok(())
            })?;
        }
        self.held = 0;
        Ok(())
    }

    /// No more rows come.
    ///
    /// # Errors
    /// As [`Piles::push`].
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.is_large {
            return self.spill();
        }
        let rests = self.piles.iter_mut().filter_map(|pile| pile.rest.as_mut());
        rests.for_each(Table::shrink_to_fit);
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
        match rest {
            Some(rest) => in_pieces(rest, self.piece, each),
            None => Ok(()),
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

/// Calls `each` with so many rows of a table at a time.
pub(super) fn in_pieces(
    table: &Table,
    piece: usize,
    each: &mut dyn FnMut(&Table) -> Result<()>,
) -> Result<()> {
    if table.rows <= piece {
        return each(table);
    }
    (0..table.rows).step_by(piece).try_for_each(|from| {
        let places: Vec<usize> = (from..table.rows.min(from + piece)).collect();
        each(&table.gather(&places))
    })
}

/// What lies in a span: so many rows of these fields.
pub(super) fn read(scratch: &Scratch, span: Span, (fields, rows): (&[Field], usize)) -> Result<Table> {
    let bytes = scratch.read(span)?;
    Table::from_bytes(fields, rows, &bytes).ok_or_else(|| {
        let what = std::io::Error::other("they are not what was written");
        Error::local("reading rows that were moved to the disk", what)
    })
}

/// Bytes that a table takes of memory, of at most so many rows of these fields: on its pile and on one for each of so many shards, and besides while rows come.
pub(super) fn bytes((fields, max_rows): (&[Field], usize), shards: usize) -> (u64, u64) {
    let overflow = Overflow::to(Path::new(""));
    let row = Table::bytes_of_row(fields);
    let whole = (max_rows as u64).saturating_mul(row as u64);
    // As they were read, in the order of their piles, as bytes, sealed, and read again.
    let pieces = 5 * (overflow.piece(row).min(max_rows) * row) as u64;
    let columns = (shards * fields.len() * COLUMN) as u64;
    if whole <= MOST as u64 {
        // Room for twice as many while they come.
        return (2 * whole + columns, whole + pieces);
    }
    let in_order = whole / (overflow.piece(row) * row) as u64 + 1;
    let in_shards = (whole / overflow.held(shards) as u64 + 1) * shards as u64;
    let spans = (in_order + in_shards) * SPAN;
    (spans, 2 * overflow.held(shards) as u64 + columns + pieces)
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
            let mut piles = Piles::new((&fields(), 100), 3, &overflow(folder.path(), most));
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
            let is_on_disk = piles.piles.iter().all(|pile| pile.rest.is_none());
            assert_eq!((is_on_disk, piles.is_large), (most < 900, most < 900), "{most}");
        }
    }
}
