//! A party's own tables, which need not fit into memory.

use cenote_net::PartyId;
use cenote_query::{Cut, Declared, HashKey, Placer, Query};
use cenote_tables::{Field, Pieces, Table};
use sha2::{Digest as _, Sha256};

use super::piles::{self, Overflow, Piles, in_pieces};
use super::sorted::{self, repeats};
use crate::query::file::QueryJob;
use crate::{Error, Result};

/// Tables that keep what is declared of them, in the places of those of the schema; nothing for those of others.
pub struct OwnTables {
    tables: Vec<Option<OwnTable>>,
    overflow: Overflow,
}

struct OwnTable {
    fields: Vec<Field>,
    max_rows: usize,
    /// On one pile.
    rows: Piles,
    digest: [u8; 32],
}

impl OwnTables {
    /// The tables of `me`, read from the files that the job names.
    ///
    /// # Errors
    /// As [`QueryJob::tables`] and [`Query::check`]; [`Error::Protocol`] if the disk is full.
    pub fn read(job: &QueryJob, me: PartyId, overflow: &Overflow) -> Result<Self> {
        Self::each(job.query(), me, overflow, |at, declared, reading| {
            let mut pieces = Pieces::open(job.file_of(at)?, &declared.fields, declared.max_rows)?;
            let piece = overflow.piece(Table::bytes_of_row(&declared.fields));
            while let Some(rows) = pieces.next(piece)? {
                reading.add(&rows)?;
            }
            Ok(())
        })
    }

    /// The same of `tables` that are in memory.
    ///
    /// # Errors
    /// As [`OwnTables::read`]; that a table is missing.
    pub(in crate::query) fn of(
        query: &Query,
        me: PartyId,
        mut tables: Vec<Option<Table>>,
        overflow: &Overflow,
    ) -> Result<Self> {
        Self::each(query, me, overflow, |at, declared, reading| {
            let table = tables.get_mut(at).and_then(Option::take);
            let missing = || Error::Usage(format!("the rows of table {} are missing", declared.name));
            let piece = overflow.piece(Table::bytes_of_row(&declared.fields));
            in_pieces(&table.ok_or_else(missing)?, piece, &mut |rows| reading.add(rows))
        })
    }

    fn each(
        query: &Query,
        me: PartyId,
        overflow: &Overflow,
        mut read: impl FnMut(usize, &Declared, &mut Reading<'_>) -> Result<()>,
    ) -> Result<Self> {
        let of = |(at, declared): (usize, &Declared)| {
            if declared.party != me {
                return Ok(None);
            }
            let mut reading = Reading::new((query, at), overflow);
            read(at, declared, &mut reading)?;
            reading.finish(overflow).map(Some)
        };
        let tables = query.schema().tables.iter().enumerate().map(of);
        Ok(OwnTables {
            tables: tables.collect::<Result<_>>()?,
            overflow: overflow.clone(),
        })
    }

    /// Adds the tables to a digest.
    pub(super) fn commit(&self, hash: &mut Sha256) {
        for (at, table) in self.tables.iter().enumerate() {
            let Some(table) = table else { continue };
            hash.update((at as u64).to_le_bytes());
            hash.update((table.rows.rows(0) as u64).to_le_bytes());
            hash.update(table.digest);
        }
    }

    /// All rows of the table in place `at`, if it is this party's.
    ///
    /// # Errors
    /// [`Error::Protocol`] if they cannot be read from the disk.
    pub fn whole(&self, at: usize) -> Result<Option<Table>> {
        let table = self.tables[at].as_ref();
        table.map(|table| table.rows.whole(0)).transpose()
    }

    /// Places the rows in shards; nothing if `is_over` says meanwhile that nobody needs them.
    ///
    /// # Errors
    /// As [`Placer::check`](cenote_query::Placer::check), and as [`OwnTables::read`].
    pub fn placed(&self, cut: &Cut, key: &HashKey, is_over: &dyn Fn() -> bool) -> Result<Option<Parts>> {
        let mut parts = Vec::with_capacity(self.tables.len());
        for (at, table) in self.tables.iter().enumerate() {
            let placer = table.as_ref().zip(cut.placer(key, at));
            let placed = placer.map(|(table, placer)| {
                let shards = cut.shards() as usize;
                table.placed(placer, shards, &self.overflow, is_over)
            });
            parts.push(placed.transpose()?);
            if is_over() {
                return Ok(None);
            }
        }
        Ok(Some(Parts(parts)))
    }
}

#[cfg(test)]
impl OwnTables {
    /// Has all rows of the table in place `at` twice, whatever is declared.
    pub(super) fn repeat(&mut self, at: usize) {
        if let Some(table) = &mut self.tables[at] {
            let rows = table.rows.whole(0).unwrap();
            table.rows.push(&rows, |_| 0).unwrap();
        }
    }
}

impl OwnTable {
    fn placed(
        &self,
        mut placer: Placer<'_>,
        shards: usize,
        overflow: &Overflow,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Piles> {
        let table = (&*self.fields, self.max_rows);
        let mut piles = Piles::new(table, shards, overflow);
        let mut without = Piles::new(table, 1, overflow);
        self.rows.each(0, &mut |rows| {
            if is_over() {
                return Ok(());
            }
            let (mut keyed, mut shards, mut unkeyed) = (Vec::new(), Vec::new(), Vec::new());
            let mut row = 0;
            placer.place(rows, &mut |shard| {
                match shard {
                    Some(shard) => {
                        keyed.push(row);
                        shards.push(shard);
                    }
                    None => unkeyed.push(row),
                }
                row += 1;
            });
            if unkeyed.is_empty() {
                return piles.push(rows, |row| shards[row]);
            }
            without.push(&rows.gather(&unkeyed), |_| 0)?;
            piles.push(&rows.gather(&keyed), |row| shards[row])
        })?;
        without.finish()?;
        without.each(0, &mut |rows| {
            let mut shards = Vec::with_capacity(rows.rows);
            placer.place_rest(rows.rows, &mut |shard| shards.push(shard));
            piles.push(rows, |row| shards[row])
        })?;
        placer.check()?;
        piles.finish()?;
        Ok(piles)
    }
}

/// The rows of each table that is cut, a pile for each shard.
pub struct Parts(Vec<Option<Piles>>);

impl Parts {
    /// The rows that a shard has of the table in place `at`, if each of its rows is in one shard.
    ///
    /// # Errors
    /// [`Error::Protocol`] if they cannot be read from the disk.
    pub fn of_shard(&self, at: usize, shard: u32) -> Result<Option<Table>> {
        let piles = self.0[at].as_ref();
        piles.map(|piles| piles.whole(shard as usize)).transpose()
    }
}

/// A table while it is read.
struct Reading<'a> {
    query: &'a Query,
    at: usize,
    rows: Piles,
    /// Of each column one of its values, and one of its nulls: the same however many rows come at a time.
    digests: Vec<[Sha256; 2]>,
}

impl<'a> Reading<'a> {
    fn new((query, at): (&'a Query, usize), overflow: &Overflow) -> Self {
        let Declared { fields, max_rows, .. } = &query.schema().tables[at];
        Reading {
            query,
            at,
            rows: Piles::new((fields, *max_rows), 1, overflow),
            digests: fields.iter().map(|_| [Sha256::new(), Sha256::new()]).collect(),
        }
    }

    fn declared(&self) -> &'a Declared {
        &self.query.schema().tables[self.at]
    }

    /// Adds the next rows, which are as declared.
    fn add(&mut self, rows: &Table) -> Result<()> {
        self.query.check_rows(self.at, self.rows.rows(0), rows)?;
        let columns = self.declared().fields.iter().zip(&rows.columns);
        let mut bytes = Vec::new();
        for ((field, column), [values, nulls]) in columns.zip(&mut self.digests) {
            bytes.clear();
            column.put_values(field, &mut bytes);
            values.update(&bytes);
            bytes.clear();
            bytes.extend((0..rows.rows).map(|row| u8::from(column.is_null(row))));
            nulls.update(&bytes);
        }
        drop(bytes);
        self.rows.push(rows, |_| 0)
    }

    /// No more rows come: sees that all of them together are as promised.
    fn finish(mut self, overflow: &Overflow) -> Result<OwnTable> {
        self.rows.finish()?;
        for promise in self.query.promises(self.at) {
            let found = repeats(&self.rows, self.declared().max_rows, &promise, overflow)?;
            self.query.check_promise(self.at, &promise, &found)?;
        }
        let mut digest = Sha256::new();
        for column in self.digests.into_iter().flatten() {
            digest.update(column.finalize());
        }
        let Declared { fields, max_rows, .. } = self.query.schema().tables[self.at].clone();
        Ok(OwnTable {
            fields,
            max_rows,
            rows: self.rows,
            digest: digest.finalize().into(),
        })
    }
}

/// The most bytes that the tables of `party` take while a session is computed in so many shards, or they are read.
pub(super) fn bytes(query: &Query, shards: u32, party: PartyId) -> u64 {
    let (mut held, mut most) = (0u64, 0);
    let tables = query.schema().tables.iter().enumerate();
    for (at, declared) in tables.filter(|(_, table)| table.party == party) {
        let (lying, handled) = piles::bytes((&declared.fields, declared.max_rows), shards as usize);
        held = held.saturating_add(lying);
        let checked = query.promises(at).map(|promise| {
            let fields = promise.columns().iter().map(|&at| declared.fields[at].clone());
            sorted::bytes(&fields.collect::<Vec<_>>(), declared.max_rows)
        });
        most = most.max(checked.fold(handled, u64::max));
    }
    held.saturating_add(most)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::super::piles::MOST;
    use super::super::piles::tests::overflow;
    use super::*;

    /// A job of party 0 with a table of these columns and rows.
    fn job(folder: &Path, columns: &str, promises: &str, rows: &str) -> QueryJob {
        let file = folder.join("job.toml");
        let text = format!(
            "shards = 3\nprotocol = \"three\"\nquery = \"SELECT COUNT(*) FROM a JOIN b ON a.k = b.k\"\n[answer]\nmax_rows = 1\n\
             [[table]]\nname = \"a\"\nparty = 0\nfile = \"a.csv\"\ncolumns = {{ {columns} }}\nmax_rows = 500\n{promises}\n\
             [[table]]\nname = \"b\"\nparty = 1\ncolumns = {{ k = \"u16 not null\" }}\nmax_rows = 900\nunique = [\"k\"]\n"
        );
        std::fs::write(&file, text).unwrap();
        std::fs::write(folder.join("a.csv"), rows).unwrap();
        QueryJob::load(&file).unwrap()
    }

    /// Rows of `k` and `s`, some of whose `k` are null.
    fn rows(count: usize, of: impl Fn(usize) -> String) -> String {
        (0..count).fold("k,s\n".to_owned(), |text, row| text + &of(row) + "\n")
    }

    const COLUMNS: &str = "k = \"u16\", s = \"char(4) not null\"";

    #[test]
    fn rows_are_in_the_same_shards_wherever_they_lie_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let text = rows(400, |row| match row % 7 {
            0 => format!(",{row}"),
            _ => format!("{row},{}", row % 90),
        });
        let job = job(folder.path(), COLUMNS, "unique = [\"k\"]", &text);
        let cut = &job.in_shards().unwrap().cut;
        let key = HashKey::new([7; 32]);
        let expected = cut.in_shards(&key, &job.tables(PartyId(0)).unwrap()).unwrap();
        let mut digests = Vec::new();
        for most in [0, 100, 2000, MOST] {
            let tables = OwnTables::read(&job, PartyId(0), &overflow(folder.path(), most)).unwrap();
            let parts = tables.placed(cut, &key, &|| false).unwrap().unwrap();
            for (shard, expected) in (0..).zip(&expected) {
                let (own, expected) = (
                    parts.of_shard(0, shard).unwrap().unwrap(),
                    expected[0].as_ref().unwrap(),
                );
                assert_eq!(own.to_bytes(500), expected.to_bytes(500), "{most} {shard}");
            }
            assert!(parts.of_shard(1, 0).unwrap().is_none());
            let mut digest = Sha256::new();
            tables.commit(&mut digest);
            digests.push(digest.finalize());
        }
        assert!(digests.windows(2).all(|pair| pair[0] == pair[1]));
        // Another value is another digest, and so are two values the other way round.
        for changed in [
            text.replacen("1,1\n", "1,2\n", 1),
            text.replacen("1,1\n2,2\n", "2,2\n1,1\n", 1),
        ] {
            assert_ne!(changed, text);
            std::fs::write(folder.path().join("a.csv"), changed).unwrap();
            let tables = OwnTables::read(&job, PartyId(0), &overflow(folder.path(), 100)).unwrap();
            let mut digest = Sha256::new();
            tables.commit(&mut digest);
            assert_ne!(digest.finalize(), digests[0]);
        }
    }

    /// All parties place rows as they did when they were counted: a row is where its key says, those without one where there is most room.
    #[test]
    fn rows_are_where_their_keys_say() {
        let folder = tempfile::tempdir().unwrap();
        let text = rows(12, |row| match row % 4 {
            3 => format!(",{row}"),
            _ => format!("{row},{row}"),
        });
        let job = job(folder.path(), COLUMNS, "unique = [\"k\"]", &text);
        let cut = &job.in_shards().unwrap().cut;
        for most in [64, MOST] {
            let tables = OwnTables::read(&job, PartyId(0), &overflow(folder.path(), most)).unwrap();
            let parts = tables
                .placed(cut, &HashKey::new([7; 32]), &|| false)
                .unwrap()
                .unwrap();
            let texts = |shard| {
                let rows = parts.of_shard(0, shard).unwrap().unwrap();
                let text = |row| cenote_tables::cell(&rows.columns[1], &rows.fields[1], row);
                (0..rows.rows).map(text).collect::<Vec<_>>().join(" ")
            };
            assert_eq!([0, 1, 2].map(texts), ["5 3 7 11", "0 1 2 4 8", "6 9 10"]);
            // Nobody needs them.
            assert!(
                tables
                    .placed(cut, &HashKey::new([7; 32]), &|| true)
                    .unwrap()
                    .is_none()
            );
        }
    }

    /// What is said of promises of a table of which so many bytes fit into memory.
    fn said(columns: &str, promises: &str, rows: &str, most: usize) -> std::result::Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let job = job(folder.path(), columns, promises, rows);
        let tables = OwnTables::read(&job, PartyId(0), &overflow(folder.path(), most));
        tables.map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn promises_are_seen_to_be_kept_wherever_rows_lie() {
        let together = "unique = [[\"k\", \"s\"]]";
        let ordinary = |row: usize| format!("{row},{}", row % 90);
        for (promise, text, broken) in [
            ("unique = [\"k\"]", rows(400, ordinary), None),
            (
                "unique = [\"k\"]",
                rows(400, ordinary) + "399,x\n",
                Some("occurs 2 times"),
            ),
            ("unique = [\"s\"]", rows(90, ordinary), None),
            ("unique = [\"s\"]", rows(91, ordinary), Some("occurs 2 times")),
            ("at_most = { s = 5 }", rows(400, ordinary), None),
            ("at_most = { s = 4 }", rows(400, ordinary), Some("occurs 5 times")),
            ("distinct = { s = 90 }", rows(400, ordinary), None),
            (
                "distinct = { s = 89 }",
                rows(400, ordinary),
                Some("90 different values"),
            ),
            ("distinct = { k = 1 }", rows(400, |row| format!("3,{row}")), None),
            (together, rows(400, ordinary), None),
            (together, rows(400, ordinary) + "17,17\n", Some("same values")),
            // Nulls are no values.
            (together, rows(400, ordinary) + ",17\n,17\n", None),
            ("unique = [\"k\"]", rows(400, |row| format!(",{row}")), None),
        ] {
            for most in [0, 64, 300, 2000, MOST] {
                let said = said(COLUMNS, promise, &text, most);
                match (broken, &said) {
                    (None, Ok(())) => (),
                    (Some(broken), Err(what)) if what.contains(broken) => (),
                    _ => panic!("{promise} {most}: {said:?}"),
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_with_a_row_is_said_with_its_place_wherever_it_lies() {
        let below = "below = { k = 398 }";
        for most in [64, MOST] {
            let text = rows(400, |row| format!("{row},{}", row % 90));
            let error = said(COLUMNS, below, &text, most).unwrap_err();
            assert!(error.contains("`below` promises"), "{error}");
            let error = said(COLUMNS, "", &text.replace("\n333,", "\nthis,"), most).unwrap_err();
            assert!(error.contains("row 334") && error.contains('k'), "{error}");
            let error = said(COLUMNS, "", &rows(501, |row| format!("{row},1")), most).unwrap_err();
            assert!(error.contains("500"), "{error}");
        }
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        // A file is where the folder should be.
        std::fs::write(folder.path().join("scratch"), "").unwrap();
        let job = job(folder.path(), COLUMNS, "", &rows(400, |row| format!("{row},1")));
        let error = OwnTables::read(&job, PartyId(0), &overflow(folder.path(), 64))
            .err()
            .unwrap();
        assert!(error.to_string().contains("scratch"), "{error}");
    }

    /// Counting in sorted runs is compared with counting in a map.
    #[test]
    fn values_are_counted_as_in_a_map() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = 1u64;
        for round in 0..20 {
            let values: Vec<u64> = (0..300)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 40) % (1 + 13 * round)
                })
                .collect();
            let mut counts = BTreeMap::new();
            values
                .iter()
                .for_each(|value| *counts.entry(value).or_insert(0) += 1);
            let (most, distinct) = (counts.values().max().copied().unwrap_or(0), counts.len());
            let text = rows(300, |row| format!("{},x", values[row]));
            for (slack, kept) in [(0, true), (1, false)] {
                for promise in [
                    format!("at_most = {{ k = {} }}", most - slack),
                    format!("distinct = {{ k = {} }}", distinct - slack),
                ] {
                    if promise.contains("= 0") {
                        continue;
                    }
                    let said = said(COLUMNS, &promise, &text, 200);
                    assert_eq!(said.is_ok(), kept, "{promise}: {said:?}");
                }
            }
        }
        drop(folder);
    }
}
