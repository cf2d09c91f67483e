//! The parts of its tables that an owner gives to shards.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cenote_tables::{Column, Table, Type, Values};

use super::{Cut, Placing};
use crate::error::{Error, Result};

/// The key of the hash that places rows: a coin of all parties, tossed once all owners are committed to their tables.
#[derive(Clone)]
pub struct HashKey([u8; 32]);

impl HashKey {
    /// The key.
    pub fn new(coin: [u8; 32]) -> Self {
        HashKey(coin)
    }
}

/// Places the rows of a table in shards, some rows at a time, in their order.
pub struct Placer<'a> {
    cut: &'a Cut,
    key: &'a HashKey,
    at: usize,
    /// Rows that were placed.
    rows: usize,
    /// How many are in each shard.
    in_shards: Vec<usize>,
}

impl Cut {
    /// Places the rows of the table in place `at` of the schema, if each of them is in one shard.
    pub fn placer<'a>(&'a self, key: &'a HashKey, at: usize) -> Option<Placer<'a>> {
        let is_in_parts = matches!(self.tables[at].placing, Placing::Rows | Placing::Key(_));
        is_in_parts.then(|| Placer {
            cut: self,
            key,
            at,
            rows: 0,
            in_shards: vec![0; self.shards as usize],
        })
    }

    /// The tables of each shard, of `tables` in the places of those of the schema: for tests.
    ///
    /// # Errors
    /// As [`Placer::check`].
    #[doc(hidden)]
    pub fn in_shards(&self, key: &HashKey, tables: &[Option<Table>]) -> Result<Vec<Vec<Option<Table>>>> {
        let mut shards = vec![vec![None; tables.len()]; self.shards as usize];
        for (at, table) in tables.iter().enumerate() {
            let Some(table) = table else { continue };
            let Some(mut placer) = self.placer(key, at) else {
                let is_whole = self.tables[at].placing == Placing::Whole;
                let whole = is_whole.then(|| table.clone());
                shards.iter_mut().for_each(|shard| shard[at].clone_from(&whole));
                continue;
            };
            let mut places = vec![Vec::new(); shards.len()];
            let (mut row, mut without) = (0, Vec::new());
            placer.place(table, &mut |shard| {
                match shard {
                    Some(shard) => places[shard].push(row),
                    None => without.push(row),
                }
                row += 1;
            });
            let mut without = without.into_iter();
            placer.place_rest(without.len(), &mut |shard| places[shard].extend(without.next()));
            placer.check()?;
            for (shard, places) in shards.iter_mut().zip(places) {
                shard[at] = Some(table.gather(&places));
            }
        }
        Ok(shards)
    }
}

impl Placer<'_> {
    /// Tells the shard of each of `rows`, in their order; nothing for those without a value of the key, which meet no others and are placed last.
    pub fn place(&mut self, rows: &Table, told: &mut dyn FnMut(Option<usize>)) {
        let shards = self.in_shards.len();
        for row in 0..rows.rows {
            let shard = match self.cut.tables[self.at].placing {
                Placing::Key(column) => {
                    let (kind, column) = (rows.fields[column].kind, &rows.columns[column]);
                    let is_there = !column.is_null(row);
                    is_there.then(|| shard_of(self.key, kind, column, row, shards))
                }
                _ => Some((self.rows + row) % shards),
            };
            if let Some(shard) = shard {
                self.in_shards[shard] += 1;
            }
            told(shard);
        }
        self.rows += rows.rows;
    }

    /// Tells the shard of each of so many rows without a value: where there is most room.
    pub fn place_rest(&mut self, rows: usize, told: &mut dyn FnMut(usize)) {
        let shards = self.in_shards.iter().enumerate();
        let mut by_room: BinaryHeap<_> = shards.map(|(shard, &rows)| Reverse((rows, shard))).collect();
        for _ in 0..rows {
            if let Some(mut emptiest) = by_room.peek_mut() {
                let Reverse((rows, shard)) = *emptiest;
                self.in_shards[shard] += 1;
                *emptiest = Reverse((rows + 1, shard));
                told(shard);
            }
        }
    }

    /// Sees that no shard has more rows than there is room for.
    ///
    /// # Errors
    /// [`Error::Rows`] if one has.
    pub fn check(&self) -> Result<()> {
        let room = self.cut.tables[self.at].rows;
        if self.in_shards.iter().all(|&rows| rows <= room) {
            return Ok(());
        }
        let what = format!(
            "more of its rows fall into one shard than the {room} that there is room for, which is very unlikely; begin the job anew, without what its shards have left"
        );
        Err(Error::rows(&self.cut.shard.schema().tables[self.at].name, what))
    }
}

/// The shard of a row. Numbers and texts that are equal have one hash, whatever their types.
fn shard_of(key: &HashKey, kind: Type, column: &Column, row: usize, shards: usize) -> usize {
    let mut hasher = blake3::Hasher::new_keyed(&key.0);
    match &column.values {
        Values::Numbers(numbers) => {
            let (mut value, mut scale) = (numbers.get(row), scale(kind));
            while scale > 0 && value % 10 == 0 {
                (value, scale) = (value / 10, scale - 1);
            }
            hasher.update(&value.to_le_bytes()).update(&[scale]);
        }
        Values::Text(width, text) => {
            let own = &text[row * width..][..*width];
            let end = own.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            hasher.update(&own[..end]);
        }
    }
    let mut hash = [0; 8];
    hasher.finalize_xof().fill(&mut hash);
    ((u128::from(u64::from_le_bytes(hash)) * shards as u128) >> 64) as usize
}

fn scale(kind: Type) -> u8 {
    match kind {
        Type::Decimal { scale, .. } => scale,
        _ => 0,
    }
}
