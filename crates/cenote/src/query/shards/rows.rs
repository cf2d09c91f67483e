//! The rows of a shard: whoever has the tables of a party places them, for itself or for workers elsewhere.

use std::sync::Arc;

use cenote_query::{HashKey, Placed, Placing};
use cenote_tables::{Field, Table};

use super::QueryInShards;
use super::own::{OwnTables, Parts};
use crate::shards::{Begun, Given};
use crate::{Error, Result};

impl QueryInShards {
    /// The tables of a shard. The first that is computed here places the rows of all, unless the coordinator has done it.
    pub(super) fn tables_of(&self, begun: &Begun<'_>, shard: u32) -> Result<Vec<Option<Table>>> {
        self.sharded.in_shards().counts.check_shard(shard)?;
        let Given::Own(tables) = &self.rows else {
            return self.taken(begun, shard);
        };
        let known = self.parts().clone();
        let parts = match known {
            Some(parts) => parts,
            None => {
                let parts = Arc::new(self.place_own(begun)?);
                *self.parts() = Some(Arc::clone(&parts));
                parts
            }
        };
        self.of_shard((tables, &parts), shard)
    }

    /// Places the rows of this party.
    fn place_own(&self, begun: &Begun<'_>) -> Result<Parts> {
        let tables = self.rows.own()?;
        let parts = tables.placed(self.sharded.cut(), &HashKey::new(begun.coin))?;
        self.rehearse((tables, &parts))?;
        Ok(parts)
    }

    /// The tables of a shard, where rows were placed so.
    fn of_shard(&self, (tables, parts): (&OwnTables, &Parts), shard: u32) -> Result<Vec<Option<Table>>> {
        let of = |(at, table): (usize, &Placed)| match table.placing {
            Placing::Whole => tables.whole(at),
            _ => parts.of_shard(at, shard),
        };
        let cut = self.sharded.cut();
        cut.tables().iter().enumerate().map(of).collect()
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
    fn rehearse(&self, own: (&OwnTables, &Parts)) -> Result<()> {
        let cut = self.sharded.cut();
        if cut.shard().may_fail(self.me) {
            for shard in 0..cut.shards() {
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
        let cut = self.sharded.cut();
        let tables = cut.shard().schema().tables.iter().zip(cut.tables()).enumerate();
        tables
            .map(|(at, (table, placed))| {
                if table.party != self.me || placed.placing == Placing::Merge {
                    return Ok(None);
                }
                let shard = (placed.placing != Placing::Whole).then_some(shard);
                let form = (&*table.fields, table.max_rows);
                Ok(Some(read(begun, (at, shard), form)?))
            })
            .collect()
    }

    /// Places the rows of this party where its workers find them, until `is_over`, but for shards that are `done`.
    pub(super) fn place_rows(
        &self,
        begun: &Begun<'_>,
        done: &[u32],
        is_over: &dyn Fn() -> bool,
    ) -> Result<()> {
        let (tables, cut) = (self.rows.own()?, self.sharded.cut());
        let parts = self.place_own(begun)?;
        for (at, placed) in cut.tables().iter().enumerate() {
            if placed.placing == Placing::Whole
                && let Some(table) = tables.whole(at)?
            {
                write(begun, (at, None), (&table, placed.rows))?;
            }
            for shard in (0..cut.shards()).filter(|shard| !done.contains(shard)) {
                if is_over() {
                    return Ok(());
                }
                match parts.of_shard(at, shard)? {
                    Some(rows) => write(begun, (at, Some(shard)), (&rows, placed.rows))?,
                    None => break,
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
