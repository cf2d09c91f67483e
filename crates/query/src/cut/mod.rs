//! A query in shards: each computes it of some of the rows and keeps what comes of it as secrets, and a merge computes the answer of that.
//!
//! The rows of a table are placed in shards by the value of a column (rows with one value are in one shard), or anyhow, or every shard has all of them. A join is
//! computed shard by shard where rows that meet are in one shard. Sums, counts, the least and the greatest of groups are made of those of each shard; so are the first rows in an order. What is
//! done above these, the merge does. Where rows meet that are in different shards, each shard keeps one relation for each side, and the merge joins them.
//!
//! **What a cheating owner can do** by placing its rows elsewhere: its rows do not meet those of others, or rows of one key of its own count as those of
//! several keys. Nobody verifies where it places them.

mod choice;
mod conditions;
mod merge;
mod parts;
mod placing;

use std::collections::BTreeSet;
use std::num::NonZero;

use cenote_net::PartyId;

use self::choice::candidates;
use self::merge::{Halves, halves, kept_of, refused};
pub use self::parts::{HashKey, Placer};
use self::placing::Places;
pub use self::placing::Placing;
use crate::error::{Error, Result};
use crate::listed::places;
use crate::memory::bytes_of_table;
use crate::plan::Planner;
use crate::query::{Query, Root};
use crate::relation::{Kept, Relation};
use crate::schema::{Count, Declared, Schema};
use crate::secret::shards::width;
use crate::work::Work;

/// Most shards of a query.
pub const MAX_SHARDS: u32 = 4096;

/// Most ways to place rows that are planned.
const MAX_PLANNED: usize = 12;

/// Most ways of one kind of which it is seen whether shards can compute anything.
const MAX_TRIED: usize = 2 * MAX_PLANNED;

/// A query in shards.
#[derive(Debug)]
pub struct Cut {
    shards: u32,
    tables: Vec<Placed>,
    /// The tables that the query asks for.
    asked: BTreeSet<usize>,
    shard: Query,
    merge: Query,
}

/// The rows of a table in shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// In which shards they are.
    pub placing: Placing,
    /// The most of them that a shard has.
    pub rows: usize,
}

impl Cut {
    /// How many shards there are.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// Where the rows of each table are, in the order of the schema.
    pub fn tables(&self) -> &[Placed] {
        &self.tables
    }

    /// What each shard computes, of its part of the tables: [`Query::keep`] runs it.
    pub fn shard(&self) -> &Query {
        &self.shard
    }

    /// A table of another party that every shard has whole, beside rows of `me` that are in parts: its owner may give other rows in each shard, and so choose which rows of `me` it
    /// tells of.
    pub fn varies_beside(&self, me: PartyId) -> Option<&str> {
        let tables = || self.asked();
        let in_parts = |placing| matches!(placing, Placing::Rows | Placing::Key(_));
        let is_in_parts = tables().any(|(table, placed)| table.party == me && in_parts(placed.placing));
        let whole = tables().find(|(table, placed)| table.party != me && placed.placing == Placing::Whole);
        whole
            .filter(|_| is_in_parts)
            .map(|(table, _)| table.name.as_str())
    }

    /// The tables that the query asks for, and where their rows are.
    pub fn asked(&self) -> impl Iterator<Item = (&Declared, &Placed)> {
        let tables = self.merge.schema().tables.iter().zip(&self.tables);
        let tables = tables.enumerate();
        tables
            .filter(|(at, _)| self.asked.contains(at))
            .map(|(_, table)| table)
    }

    /// Of each relation that a shard keeps, in the order of [`Query::keep`]: bits of a row, and how many rows.
    pub fn kept(&self) -> impl Iterator<Item = (u32, usize)> {
        let steps = self.shard.roots().iter().map(|root| &root.physical);
        steps.map(|steps| (width(&steps.columns), steps.rows))
    }

    /// Bytes of the part of the tables of `party` that a shard has.
    pub fn bytes_of_part(&self, party: PartyId) -> u64 {
        let tables = self.shard.schema().tables.iter().zip(&self.tables);
        tables
            .filter(|(table, placed)| table.party == party && placed.placing != Placing::Merge)
            .map(|(table, _)| bytes_of_table(table))
            .sum()
    }

    /// Where the rows of each table are, in words: a term that parties compare.
    pub fn told(&self) -> String {
        let of = |(table, placed): (&Declared, &Placed)| {
            let name = &table.name;
            match placed.placing {
                Placing::Whole => format!("{name} whole"),
                Placing::Merge => format!("{name} in the merge alone"),
                Placing::Rows => format!("{name} anyhow, {} rows", placed.rows),
                Placing::Key(column) => {
                    format!("{name} by {}, {} rows", table.fields[column].name, placed.rows)
                }
            }
        };
        self.asked().map(of).collect::<Vec<_>>().join("; ")
    }

    /// What is computed of all that the shards have kept: [`Query::run`] runs it.
    pub fn merge(&self) -> &Query {
        &self.merge
    }
}

impl Query {
    /// Cuts it into so many shards, in the way that is done soonest by a few workers. That an honest owner has more rows for a shard than there is room for has at most the
    /// probability `2^-security`, whatever the rows are.
    ///
    /// # Errors
    /// [`Error::Query`](crate::Error::Query) if no part of it can be computed in shards, [`Error::Declared`](crate::Error::Declared) if there are too many.
    pub fn cut(&self, shards: NonZero<u32>, security: u32) -> Result<Cut> {
        let mut best: Option<Cut> = None;
        self.for_each_way(shards, security, |cut| {
            if best
                .as_ref()
                .is_none_or(|best| cut.exchanges() < best.exchanges())
            {
                best = Some(cut);
            }
        })?;
        best.ok_or_else(|| refused(self.relation()))
    }

    /// All ways that are tried, so that tests see the answer of each.
    ///
    /// # Errors
    /// As [`Query::cut`].
    #[doc(hidden)]
    pub fn ways_to_cut(&self, shards: NonZero<u32>, security: u32) -> Result<Vec<Cut>> {
        let mut ways = Vec::new();
        self.for_each_way(shards, security, |cut| ways.push(cut))?;
        Ok(ways)
    }

    /// Tells of all ways that are tried, one at a time: plans are large.
    fn for_each_way(&self, shards: NonZero<u32>, security: u32, mut told: impl FnMut(Cut)) -> Result<()> {
        let shards = shards.get();
        if shards > MAX_SHARDS {
            let what = format!("`shards` is {shards}, and {MAX_SHARDS} is the most");
            return Err(Error::Declared(what));
        }
        let work = Work::default();
        let relation = places(self.relation(), self.schema(), &work)?;
        let (mut planned, mut is_cut, mut failed) = (BTreeSet::new(), false, None);
        for mut placings in candidates(&relation, self.schema()) {
            if planned.len() == MAX_PLANNED {
                break;
            }
            let places = Places {
                schema: self.schema(),
                placings: &placings,
            };
            let Some(halves) = halves(&relation, &places) else {
                continue;
            };
            let read: BTreeSet<usize> = halves.shard.iter().flat_map(Relation::scanned).collect();
            for table in relation.scanned().difference(&read) {
                placings[*table] = Placing::Merge;
            }
            if !planned.insert(placings.clone()) {
                continue;
            }
            let tables = placed(self.schema(), &placings, shards, security)?;
            match self.cut_so(shards, (tables, relation.scanned()), halves) {
                Ok(cut) => {
                    is_cut = true;
                    told(cut);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) if !is_cut => Err(error),
            _ => Ok(()),
        }
    }

    fn cut_so(
        &self,
        shards: u32,
        (tables, asked): (Vec<Placed>, BTreeSet<usize>),
        halves: Halves,
    ) -> Result<Cut> {
        let Halves {
            shard: relations,
            mut merge,
        } = halves;
        let own = of_shard(self.schema(), &tables);
        let shard = Query::of_shard(relations, own)?;
        for place in kept_of(&mut merge) {
            let Root { relation, physical } = &shard.roots()[place.relation];
            *place = Kept {
                relation: place.relation,
                shards: shards as usize,
                rows: physical.rows,
                distinct: self.distinct(relation)?,
            };
        }
        let merge = self.merging(merge)?;
        Ok(Cut {
            shards,
            tables,
            asked,
            shard,
            merge,
        })
    }

    /// How many different values each column of a relation has at most, of all rows of the tables.
    fn distinct(&self, relation: &Relation) -> Result<Vec<Option<u64>>> {
        let work = Work::default();
        let planner = Planner {
            schema: self.schema(),
            work: &work,
        };
        Ok(planner.all(relation)?.facts.distinct)
    }
}

impl Cut {
    /// About how many exchanges of records take place one after another at a party that has as many workers as the square root of the shards. For one worker, the best
    /// way would often be one in which the merge does nearly everything, in the memory of one machine; for a worker for each shard, one in which each shard does.
    fn exchanges(&self) -> u64 {
        let each_has = f64::from(self.shards).sqrt().ceil() as u64;
        let shards = self.shard.exchanges().saturating_mul(each_has);
        shards.saturating_add(self.merge.exchanges())
    }
}

/// The rows of tables in shards.
fn placed(schema: &Schema, placings: &[Placing], shards: u32, security: u32) -> Result<Vec<Placed>> {
    let by_key = placings
        .iter()
        .filter(|placing| matches!(placing, Placing::Key(_)));
    // Each of them has a chance of its own.
    let security = cenote_params::shards::of_attempt(security, by_key.count() as u64);
    let of = |(table, &placing): (&Declared, &Placing)| {
        let rows = match placing {
            Placing::Whole | Placing::Merge => table.max_rows,
            Placing::Rows => table.max_rows.div_ceil(shards as usize),
            Placing::Key(column) => {
                let most = most_of_key(table, column);
                let rows = cenote_params::shards::capacity(
                    table.max_rows as u64,
                    most as u64,
                    shards.into(),
                    security.min(128),
                );
                let rows = rows.map_err(|error| Error::Declared(error.to_string()))?;
                usize::try_from(rows).map_or(table.max_rows, |rows| rows.min(table.max_rows))
            }
        };
        Ok(Placed { placing, rows })
    };
    schema.tables.iter().zip(placings).map(of).collect()
}

/// The most rows of a table with one value in a column, as far as that is promised.
fn most_of_key(table: &Declared, column: usize) -> usize {
    let name = &table.fields[column].name;
    match table.is_unique(name) {
        true => 1,
        false => table.at_most.get(name).copied().unwrap_or(table.max_rows),
    }
}

/// What the parties agree on of a shard's tables.
fn of_shard(schema: &Schema, tables: &[Placed]) -> Schema {
    let mut own = schema.clone();
    for (table, placed) in own.tables.iter_mut().zip(tables) {
        table.max_rows = placed.rows;
        // How often values come in all shards together is verified in none of them, but of the column that places rows: rows of others that they meet are in one shard.
        let key = match placed.placing {
            Placing::Whole | Placing::Merge => continue,
            Placing::Rows => None,
            Placing::Key(column) => Some(table.fields[column].name.clone()),
        };
        let is_key = |name: &String| Some(name) == key.as_ref();
        table.unique.retain(|names| names.iter().any(is_key));
        table.at_most.retain(|name, _| is_key(name));
    }
    for at in 0..own.tables.len() {
        let other = own.tables[at].same_rows_as.as_deref();
        let other = other.and_then(|name| own.table(name));
        if other.is_some_and(|other| !same_rows(schema, tables, at, other)) {
            own.tables[at].same_rows_as = None;
        }
    }
    // How many rows the answer has says nothing of those of a shard.
    own.answer.count = Count::Revealed;
    own
}

/// Whether two tables have the same rows in each shard, if they have the same rows.
fn same_rows(schema: &Schema, tables: &[Placed], one: usize, other: usize) -> bool {
    let of = |at: usize| (&schema.tables[at], tables[at].placing);
    let ((table, placing), (other_table, other_placing)) = (of(one), of(other));
    match (placing, other_placing) {
        (Placing::Whole, Placing::Whole) => true,
        (Placing::Key(column), Placing::Key(other_column)) => {
            let name = |table: &Declared, column: usize| table.fields[column].name.clone();
            let (own, others) = (name(table, column), name(other_table, other_column));
            let only = table.unique.len() == 1 && other_table.unique.len() == 1;
            table.is_unique(&own) && other_table.is_unique(&others) && (own == others || only)
        }
        _ => false,
    }
}
