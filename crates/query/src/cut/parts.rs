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

/// In which shard each row of a party's tables is.
pub struct Parts(
    /// Of each table the places of the rows of each shard; nothing where every shard has all, or they are another party's.
    Vec<Option<Vec<Vec<u32>>>>,
);

impl Cut {
    /// Places the rows of a party's `tables`, which are in the places of those of the schema; nothing for those of others.
    ///
    /// # Errors
    /// [`Error::Rows`] if there are more rows for a shard than it has room for.
    pub fn parts(&self, key: &HashKey, tables: &[Option<Table>]) -> Result<Parts> {
        let schema = self.shard.schema();
        let mut places = Vec::new();
        for (at, placed) in self.tables.iter().enumerate() {
            let table = tables.get(at).and_then(Option::as_ref);
            let (Some(table), true) = (table, placed.placing != Placing::Whole) else {
                places.push(None);
                continue;
            };
            let parts = match placed.placing {
                Placing::Key(column) => by_key(key, table, column, self.shards as usize),
                Placing::Merge => vec![Vec::new(); self.shards as usize],
                _ => anyhow(table, self.shards as usize),
            };
            if parts.iter().any(|part| part.len() > placed.rows) {
                let what = format!(
                    "more of its rows fall into one shard than the {} that there is room for, which is very unlikely; begin the job anew, without what its shards have left",
                    placed.rows
                );
                return Err(Error::rows(&schema.tables[at].name, what));
            }
            places.push(Some(parts));
        }
        Ok(Parts(places))
    }
}

impl Parts {
    /// The tables of one shard, of the `tables` whose rows were placed.
    pub fn of_shard(&self, tables: &[Option<Table>], shard: u32) -> Vec<Option<Table>> {
        let tables = tables.iter().enumerate();
        tables
            .map(|(at, table)| {
                let table = table.as_ref()?;
                Some(self.of_table(at, table, shard).unwrap_or_else(|| table.clone()))
            })
            .collect()
    }

    /// The rows of the table in place `at` that one shard has, unless every shard has all.
    pub fn of_table(&self, at: usize, table: &Table, shard: u32) -> Option<Table> {
        let places = &self.0.get(at)?.as_ref()?[shard as usize];
        let places: Vec<usize> = places.iter().map(|&place| place as usize).collect();
        Some(table.gather(&places))
    }
}

/// As many rows in each shard, but for one.
fn anyhow(table: &Table, shards: usize) -> Vec<Vec<u32>> {
    (0..shards)
        .map(|shard| {
            (shard..table.rows)
                .step_by(shards)
                .map(|row| row as u32)
                .collect()
        })
        .collect()
}

/// By the hash of a column. Rows without a value, which meet no others, go where there is most room.
fn by_key(key: &HashKey, table: &Table, column: usize, shards: usize) -> Vec<Vec<u32>> {
    let (kind, column) = (table.fields[column].kind, &table.columns[column]);
    let mut parts: Vec<Vec<u32>> = (0..shards)
        .map(|_| Vec::with_capacity(table.rows.div_ceil(shards)))
        .collect();
    for row in (0..table.rows).filter(|&row| !column.is_null(row)) {
        parts[shard_of(key, kind, column, row, shards)].push(row as u32);
    }
    let mut by_room: BinaryHeap<Reverse<(usize, usize)>> = (0..shards)
        .map(|shard| Reverse((parts[shard].len(), shard)))
        .collect();
    for row in (0..table.rows).filter(|&row| column.is_null(row)) {
        if let Some(mut emptiest) = by_room.peek_mut() {
            let Reverse((rows, shard)) = *emptiest;
            parts[shard].push(row as u32);
            *emptiest = Reverse((rows + 1, shard));
        }
    }
    parts
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
