//! The rows of a shard: whoever has the tables of a party places them, for itself or for workers elsewhere.

use std::sync::Arc;

use cenote_query::{Declared, HashKey, Placed, Placing};
use cenote_tables::{Field, Table};

use super::QueryInShards;
use super::own::{OwnTables, Parts};
use crate::shards::{Begun, Given};
use crate::{Error, Result};

impl QueryInShards {
    /// The tables of a shard: placed here, or by the coordinator.
    pub(super) fn tables_of(&self, begun: &Begun<'_>, shard: u32) -> Result<Vec<Option<Table>>> {
        self.sharded.in_shards().counts.check_shard(shard)?;
        let Given::Own(tables) = &self.rows else {
            return self.taken(begun, shard);
        };
        let Some(parts) = self.parts_of(begun, &|| false)? else {
            return Ok(Vec::new());
        };
        self.of_shard((tables, &parts), shard)
    }

    /// Places the rows of this party, unless that is done; nothing if `is_over` says meanwhile that nobody needs them.
    pub(super) fn parts_of(
        &self,
        begun: &Begun<'_>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Arc<Parts>>> {
        let known = self.parts().clone();
        if known.is_some() {
            return Ok(known);
        }
        let tables = self.rows.own()?;
        let key = HashKey::new(begun.coin);
        let Some(parts) = tables.placed(self.sharded.cut(), &key, is_over)? else {
            return Ok(None);
        };
        self.rehearse((tables, &parts), is_over)?;
        if is_over() {
            return Ok(None);
        }
        let parts = Arc::new(parts);
        *self.parts() = Some(Arc::clone(&parts));
        Ok(Some(parts))
    }

    /// The tables of this party that a shard reads.
    fn tables_read(&self) -> impl Iterator<Item = (usize, &Declared, Placed)> {
        let cut = self.sharded.cut();
        let read = cut.shard().tables().into_iter();
        let of = move |at: usize| (at, &cut.shard().schema().tables[at], cut.tables()[at]);
        read.map(of).filter(|(_, table, _)| table.party == self.me)
    }

    /// The tables of a shard, where rows were placed so.
    fn of_shard(&self, (tables, parts): (&OwnTables, &Parts), shard: u32) -> Result<Vec<Option<Table>>> {
        let mut own = vec![None; self.sharded.cut().tables().len()];
        for (at, _, placed) in self.tables_read() {
            own[at] = match placed.placing {
                Placing::Whole => tables.whole(at)?,
                _ => parts.of_shard(at, shard)?,
            };
        }
        Ok(own)
    }

    /// Those that the merge reads.
    pub(super) fn tables_of_merge(&self) -> Result<Vec<Option<Table>>> {
        let (merge, tables) = (self.sharded.cut().merge(), self.rows.own()?);
        let read = merge.tables();
        let of = |at: usize| match read.contains(&at) {
            true => tables.whole(at),
            false => Ok(None),
        };
        (0..merge.schema().tables.len()).map(of).collect()
    }

    /// Sees that this party's own calculations go through in all shards and in the merge, before there is an attempt at any: one that failed would tell peers in which shard
    /// the row is that it failed for.
    fn rehearse(&self, own: (&OwnTables, &Parts), is_over: &dyn Fn() -> bool) -> Result<()> {
        let cut = self.sharded.cut();
        if cut.shard().may_fail(self.me) {
            for shard in (0..cut.shards()).take_while(|_| !is_over()) {
                let tables = self.of_shard(own, shard)?;
                cut.shard().prepare_unchecked(self.me, &tables)?;
            }
        }
        if cut.merge().may_fail(self.me) {
            cut.merge().prepare_unchecked(self.me, &self.tables_of_merge()?)?;
        }
        Ok(())
    }

    /// The rows of a shard that the coordinator has placed.
    fn taken(&self, begun: &Begun<'_>, shard: u32) -> Result<Vec<Option<Table>>> {
        let mut own = vec![None; self.sharded.cut().tables().len()];
        for (at, table, placed) in self.tables_read() {
            let shard = (placed.placing != Placing::Whole).then_some(shard);
            own[at] = Some(read(begun, (at, shard), (&table.fields, table.max_rows))?);
        }
        Ok(own)
    }

    /// Places the rows of this party where its workers find them, until `is_over`, but for shards that are `done`.
    pub(super) fn place_rows(
        &self,
        begun: &Begun<'_>,
        done: &[u32],
        is_over: &dyn Fn() -> bool,
    ) -> Result<()> {
        let (tables, cut) = (self.rows.own()?, self.sharded.cut());
        let Some(parts) = self.parts_of(begun, is_over)? else {
            return Ok(());
        };
        for (at, _, placed) in self.tables_read() {
            if placed.placing == Placing::Whole {
                if let Some(rows) = tables.whole(at)? {
                    write(begun, (at, None), (&rows, placed.rows))?;
                }
                continue;
            }
            for shard in (0..cut.shards()).filter(|shard| !done.contains(shard)) {
                if is_over() {
                    return Ok(());
                }
                if let Some(rows) = parts.of_shard(at, shard)? {
                    write(begun, (at, Some(shard)), (&rows, placed.rows))?;
                }
            }
        }
        Ok(())
    }
}

/// The name of the rows that a shard has of the table in a place of the schema, or, without a shard, all have.
fn name((at, shard): (usize, Option<u32>)) -> String {
    match shard {
        Some(shard) => format!("table-{at}-shard-{shard}"),
        None => format!("table-{at}"),
    }
}

/// Writes rows, of which there may be so many. How many there are cannot be seen.
fn write(begun: &Begun<'_>, of: (usize, Option<u32>), (rows, max_rows): (&Table, usize)) -> Result<()> {
    begun
        .partials
        .write_given(&begun.job, &name(of), &rows.to_bytes(max_rows))
}

/// Those rows, of a table of these fields, at most so many.
///
/// # Errors
/// [`Error::Protocol`] if they are not there, were changed, or are another's.
fn read(begun: &Begun<'_>, of: (usize, Option<u32>), (fields, max_rows): (&[Field], usize)) -> Result<Table> {
    let most = Table::byte_count(fields, max_rows);
    let bytes = begun.partials.read_given(&begun.job, &name(of), most)?;
    let rows = Table::from_bytes(fields, max_rows, &bytes);
    rows.ok_or_else(|| {
        Error::local(
            format!("reading the rows of table {} that were placed", of.0),
            std::io::Error::other("they are of another table"),
        )
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use cenote_net::{Identity, PartyId};
    use cenote_shards::JobName;

    use super::*;
    use crate::query::QueryJob;
    use crate::query::shards::{Overflow, Sharded};
    use crate::shards::tests::partials;
    use crate::shards::{Partials, ShardedJob};

    /// Party 0 of a query in two shards over its table.
    pub(crate) fn query_of(folder: &Path, query: &str, rows: &str) -> QueryInShards {
        query_with("shards = 2", folder, query, rows)
    }

    fn query_with(head: &str, folder: &Path, query: &str, rows: &str) -> QueryInShards {
        let file = folder.join("job.toml");
        let text = format!(
            "{head}\nprotocol = \"three\"\nquery = \"{query}\"\n[answer]\nmax_rows = 1\n[[table]]\nname = \"a\"\n\
             party = 0\nfile = \"a.csv\"\ncolumns = {{ x = \"u8 not null\" }}\nmax_rows = 4\n"
        );
        std::fs::write(&file, text).unwrap();
        std::fs::write(folder.join("a.csv"), rows).unwrap();
        let job = QueryJob::load(&file).unwrap();
        let tables = OwnTables::read(&job, PartyId(0), &Overflow::to(folder)).unwrap();
        QueryInShards::new(Sharded::new(job).unwrap(), PartyId(0), Given::Own(tables))
    }

    /// The same with a query that counts its rows.
    pub(crate) fn query(folder: &Path) -> QueryInShards {
        query_of(folder, "SELECT COUNT(*) FROM a", "x\n1\n2\n3\n")
    }

    /// The same with more rows than two shards have room for.
    pub(crate) fn query_of_too_many(folder: &Path) -> QueryInShards {
        let mut query = query(folder);
        if let Given::Own(tables) = &mut query.rows {
            tables.repeat(0);
        }
        query
    }

    /// A party that would forget that the answer may have been opened could open another one for the same rows.
    #[test]
    fn a_job_that_is_cut_otherwise_has_the_same_folder() {
        let folder = tempfile::tempdir().unwrap();
        let digest = |head: &str, query: &str| {
            let query = query_with(head, folder.path(), query, "x\n1\n");
            ShardedJob::digest(&query)
        };
        let (count, sum) = ("SELECT COUNT(*) FROM a", "SELECT SUM(x) FROM a");
        let usual = digest("shards = 2", count);
        for head in [
            "shards = 2\nattempts = 9",
            "shards = 3",
            "shards = 2\nsecurity = 50",
        ] {
            assert_eq!(digest(head, count), usual, "{head}");
        }
        assert_ne!(digest("shards = 2", sum), usual);
    }

    fn job(byte: u8) -> JobName {
        postcard::from_bytes(&[byte; 32]).unwrap()
    }

    fn begun(partials: &Partials, byte: u8, coin: [u8; 32]) -> Begun<'_> {
        let job = job(byte);
        Begun { job, coin, partials }
    }

    /// Otherwise peers would see in which shard the row is that its owner cannot calculate with, and so what the hash of its key begins with.
    #[test]
    fn a_calculation_that_fails_in_one_shard_ends_the_first_that_is_computed() {
        let folder = tempfile::tempdir().unwrap();
        let query = query_of(folder.path(), "SELECT SUM(6 / x) AS s FROM a", "x\n1\n2\n0\n3\n");
        let partials = partials(folder.path(), &Identity::generate().unwrap(), &query);
        let begun = begun(&partials, 1, [1; 32]);
        for first in [0, 1] {
            query.begin();
            let error = query.tables_of(&begun, first).unwrap_err().to_string();
            assert!(error.contains("divides by zero"), "{error}");
        }
        let error = query.place(&begun, &[], &|| false).unwrap_err().to_string();
        assert!(error.contains("divides by zero"), "{error}");
    }

    /// It would be read, and held, for every shard.
    #[test]
    fn a_table_that_nobody_asks_for_is_in_no_shard() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("job.toml");
        let table = |name: &str| {
            format!(
                "[[table]]\nname = \"{name}\"\nparty = 0\nfile = \"a.csv\"\ncolumns = {{ x = \"u8 not null\" }}\nmax_rows = 4\n"
            )
        };
        let head =
            "shards = 2\nprotocol = \"three\"\nquery = \"SELECT COUNT(*) FROM a\"\n[answer]\nmax_rows = 1\n";
        std::fs::write(&file, format!("{head}{}{}", table("b"), table("a"))).unwrap();
        std::fs::write(folder.path().join("a.csv"), "x\n1\n2\n3\n").unwrap();
        let job = QueryJob::load(&file).unwrap();
        let tables = OwnTables::read(&job, PartyId(0), &Overflow::to(folder.path())).unwrap();
        let query = QueryInShards::new(Sharded::new(job).unwrap(), PartyId(0), Given::Own(tables));
        let partials = partials(folder.path(), &Identity::generate().unwrap(), &query);
        let begun = begun(&partials, 1, [1; 32]);
        let own = query.tables_of(&begun, 0).unwrap();
        assert!(own[0].is_none() && own[1].is_some());
        query.place(&begun, &[], &|| false).unwrap();
        let placed = std::fs::read_dir(folder.path().join("kept")).unwrap();
        assert_eq!(placed.count(), 2);
    }

    #[test]
    fn a_shard_that_there_is_not_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let query = query(folder.path());
        let partials = partials(folder.path(), &Identity::generate().unwrap(), &query);
        let begun = begun(&partials, 1, [1; 32]);
        let rows = |shard| query.tables_of(&begun, shard).unwrap()[0].as_ref().unwrap().rows;
        assert_eq!(rows(0) + rows(1), 3);
        let error = query.tables_of(&begun, 2).unwrap_err().to_string();
        assert!(error.contains("none is 2"), "{error}");
    }

    #[test]
    fn a_worker_takes_the_rows_that_were_placed_for_its_job_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let coordinator = query(folder.path());
        let own = partials(folder.path(), &Identity::generate().unwrap(), &coordinator);
        let others = partials(folder.path(), &Identity::generate().unwrap(), &coordinator);
        let first = begun(&own, 1, [1; 32]);
        coordinator.place(&first, &[], &|| false).unwrap();
        let worker = QueryInShards {
            rows: Given::Placed,
            ..query(folder.path())
        };
        // Of another key, as of another party.
        let error = worker
            .tables_of(&begun(&others, 1, [0; 32]), 0)
            .unwrap_err()
            .to_string();
        assert!(error.contains("not what its name says"), "{error}");
        for shard in [0, 1] {
            assert_eq!(
                worker.tables_of(&begun(&own, 1, [0; 32]), shard).unwrap(),
                query(folder.path()).tables_of(&first, shard).unwrap()
            );
        }
        // Another run of the same job has placed none, and those of this one are not taken in their place.
        let placed = |job: &JobName, shard: u32| {
            let kept = folder.path().join("kept");
            kept.join(format!("{job}-table-0-shard-{shard}"))
        };
        let second = begun(&own, 2, [0; 32]);
        worker.tables_of(&second, 0).unwrap_err();
        std::fs::copy(placed(&job(1), 0), placed(&job(2), 0)).unwrap();
        let error = worker.tables_of(&second, 0).unwrap_err().to_string();
        assert!(error.contains("not what its name says"), "{error}");
        // Nor those of another shard.
        std::fs::copy(placed(&job(1), 0), placed(&job(1), 1)).unwrap();
        let error = worker.tables_of(&first, 1).unwrap_err().to_string();
        assert!(error.contains("not what its name says"), "{error}");
        assert!(worker.rows.own().is_err());
    }
}
