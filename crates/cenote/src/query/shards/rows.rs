//! The rows of a shard: whoever has the tables of a party places them, for itself or for workers elsewhere.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use cenote_query::{HashKey, Parts, Placing};
use cenote_shards::{Event, JobName};
use cenote_tables::Table;

use super::attempt::Work;
use super::crew::{Tell, may_go_better};
use crate::{Error, Result};

/// Where the rows of shards come from.
pub(super) enum Rows {
    /// Of all tables of the party, which this process has.
    Own(Vec<Option<Table>>),
    /// They were placed by its coordinator.
    Placed,
}

impl Work {
    /// All tables of this party.
    pub(super) fn own_tables(&self) -> Result<&[Option<Table>]> {
        match &self.rows {
            Rows::Own(tables) => Ok(tables),
            Rows::Placed => {
                let what = std::io::Error::other("its coordinator has them");
                Err(Error::local("reading the tables of a party", what))
            }
        }
    }

    /// The tables of a shard. The first that is computed here places the rows of all, unless the coordinator has done it.
    pub(super) fn tables_of(&self, shard: u32) -> Result<Vec<Option<Table>>> {
        let (cut, (job, coin)) = (self.sharded.cut(), self.begun()?);
        if shard >= cut.shards() {
            let what = format!("there are {} shards, and none is {shard}", cut.shards());
            return Err(Error::local("starting a shard", std::io::Error::other(what)));
        }
        let Rows::Own(tables) = &self.rows else {
            return self.placed(&job, shard);
        };
        let known = self.state().parts.clone();
        let parts = match known {
            Some(parts) => parts,
            None => {
                let parts = Arc::new(cut.parts(&HashKey::new(coin), tables)?);
                self.rehearse(&parts, tables)?;
                self.state().parts = Some(Arc::clone(&parts));
                parts
            }
        };
        Ok(parts.of_shard(tables, shard))
    }

    /// Sees that this party's own calculations go through in all shards and in the merge, before there is an attempt at any: one that failed would tell peers in which shard
    /// the row is that it failed for.
    fn rehearse(&self, parts: &Parts, tables: &[Option<Table>]) -> Result<()> {
        let cut = self.sharded.cut();
        for shard in 0..cut.shards() {
            let own = parts.of_shard(tables, shard);
            cut.shard().prepare_unchecked(self.me, &own)?;
        }
        cut.merge().prepare_unchecked(self.me, tables)?;
        Ok(())
    }

    /// The rows of a shard that the coordinator has placed.
    fn placed(&self, job: &JobName, shard: u32) -> Result<Vec<Option<Table>>> {
        let cut = self.sharded.cut();
        let tables = cut.shard().schema().tables.iter().zip(cut.tables()).enumerate();
        tables
            .map(|(at, (table, placed))| {
                if table.party != self.me {
                    return Ok(None);
                }
                let shard = (placed.placing != Placing::Whole).then_some(shard);
                let form = (&*table.fields, table.max_rows);
                Ok(Some(self.partials.read_rows(job, (at, shard), form)?))
            })
            .collect()
    }

    /// Places the rows of this party where its workers find them, until `is_over` says that nobody needs them any more. Shards that are done need none.
    pub(super) fn place(&self, is_over: &dyn Fn() -> bool) -> Result<()> {
        let (tables, (job, coin)) = (self.own_tables()?, self.begun()?);
        let cut = self.sharded.cut();
        let parts = cut.parts(&HashKey::new(coin), tables)?;
        self.rehearse(&parts, tables)?;
        let done: Vec<u32> = self.state().kept.keys().copied().collect();
        let own = tables.iter().zip(cut.tables()).enumerate();
        for (at, (table, placed)) in own {
            let Some(table) = table else { continue };
            if placed.placing == Placing::Whole {
                self.partials.write_rows(&job, (at, None), (table, placed.rows))?;
            }
            for shard in (0..cut.shards()).filter(|shard| !done.contains(shard)) {
                if is_over() {
                    return Ok(());
                }
                if let Some(rows) = parts.of_table(at, table, shard) {
                    self.partials
                        .write_rows(&job, (at, Some(shard)), (&rows, placed.rows))?;
                }
            }
        }
        Ok(())
    }
}

/// Places the rows of a party for its workers, on a thread of its own, once they are needed.
pub(super) struct Placer {
    work: Arc<Work>,
    /// Who hears that there are rows, or none.
    tell: Tell,
    are_placed: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Placer {
    pub(super) fn new(work: Arc<Work>, tell: Tell) -> Self {
        Placer {
            work,
            tell,
            are_placed: Arc::default(),
            is_over: Arc::default(),
            thread: Mutex::default(),
        }
    }

    /// Whether workers find their rows. If nobody has begun to place them, this does.
    pub(super) fn are_placed(&self) -> bool {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (work, tell) = (Arc::clone(&self.work), Arc::clone(&self.tell));
            let (are_placed, is_over) = (Arc::clone(&self.are_placed), Arc::clone(&self.is_over));
            let place = move || match work.place(&|| is_over.load(Ordering::Acquire)) {
                Ok(()) => {
                    are_placed.store(true, Ordering::Release);
                    tell(Event::Free);
                }
                Err(error) => failed(&work, &tell, error),
            };
            match std::thread::Builder::new().name("rows".into()).spawn(place) {
                Ok(started) => *thread = Some(started),
                Err(error) => {
                    let error = Error::local("starting a thread for the rows of workers", error);
                    failed(&self.work, &self.tell, error);
                }
            }
        }
        self.are_placed.load(Ordering::Acquire)
    }
}

/// This party has no rows for its workers. If that may change, the job can go on later.
fn failed(work: &Work, tell: &Tell, error: Error) {
    let may_change = may_go_better(&error);
    work.state().failure.get_or_insert(error);
    tell(match may_change {
        true => Event::Stop,
        false => Event::Free,
    });
}

impl Drop for Placer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // It has told what became of it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::shards::attempt::tests::{work, work_of};

    impl Work {
        fn tables_with(&self, coin: &[u8; 32], shard: u32) -> Vec<Option<Table>> {
            self.begin(&job(1), coin);
            self.tables_of(shard).unwrap()
        }
    }

    fn job(byte: u8) -> JobName {
        postcard::from_bytes(&[byte; 32]).unwrap()
    }

    /// What a placer of `work` says once it is asked for rows.
    fn told_of(work: Arc<Work>) -> Event {
        let (sender, events) = std::sync::mpsc::channel();
        let placer = Placer::new(work, Arc::new(move |event| drop(sender.send(event))));
        assert!(!placer.are_placed());
        let told = events.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        assert!(!placer.are_placed());
        told
    }

    #[test]
    fn a_party_whose_rows_find_no_room_says_so_when_it_is_to_compute_a_shard() {
        let folder = tempfile::tempdir().unwrap();
        let mut work = work(folder.path());
        work.begin(&job(1), &[1; 32]);
        // Six rows, and each of two shards has room for two.
        let Rows::Own(tables) = &mut work.rows else {
            panic!("it has its tables");
        };
        *tables = vec![tables[0].as_ref().map(|table| table.gather(&[0, 1, 2, 0, 1, 2]))];
        let work = Arc::new(work);
        assert_eq!(told_of(Arc::clone(&work)), Event::Free);
        let shard = cenote_shards::Attempt {
            piece: cenote_shards::Piece::Shard(0),
            number: 1,
        };
        let outcome = work.cannot(&shard);
        assert!(
            matches!(outcome, Some(cenote_shards::Outcome::Failed(_))),
            "{outcome:?}"
        );
        let failure = work.state().failure.take().unwrap().to_string();
        assert!(failure.contains("than the 2 that there is room for"), "{failure}");
    }

    #[test]
    fn a_job_whose_rows_cannot_be_written_can_go_on_later() {
        let folder = tempfile::tempdir().unwrap();
        let work = work(folder.path());
        work.begin(&job(1), &[1; 32]);
        // A file is where the folder was.
        std::fs::remove_dir(folder.path().join("kept")).unwrap();
        std::fs::write(folder.path().join("kept"), "").unwrap();
        let work = Arc::new(work);
        assert_eq!(told_of(Arc::clone(&work)), Event::Stop);
        let failure = work.state().failure.take().unwrap().to_string();
        assert!(failure.contains("cannot be written"), "{failure}");
    }

    /// Otherwise peers would see in which shard the row is that its owner cannot calculate with, and so what the hash of its key begins with.
    #[test]
    fn a_calculation_that_fails_in_one_shard_ends_the_first_that_is_computed() {
        let folder = tempfile::tempdir().unwrap();
        let work = work_of(folder.path(), "SELECT SUM(6 / x) AS s FROM a", "x\n1\n2\n0\n3\n");
        for first in [0, 1] {
            work.begin(&job(1), &[1; 32]);
            let error = work.tables_of(first).unwrap_err().to_string();
            assert!(error.contains("divides by zero"), "{error}");
        }
        let error = work.place(&|| false).unwrap_err().to_string();
        assert!(error.contains("divides by zero"), "{error}");
    }

    #[test]
    fn a_shard_that_there_is_not_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let work = work(folder.path());
        work.begin(&job(1), &[1; 32]);
        let rows: usize = (0..2)
            .map(|shard| work.tables_of(shard).unwrap()[0].as_ref().unwrap().rows)
            .sum();
        assert_eq!(rows, 3);
        let error = work.tables_of(2).unwrap_err().to_string();
        assert!(error.contains("none is 2"), "{error}");
    }

    #[test]
    fn a_worker_takes_the_rows_that_were_placed_for_its_job_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let coordinator = work(folder.path());
        coordinator.begin(&job(1), &[1; 32]);
        coordinator.place(&|| false).unwrap();
        let worker = Work {
            rows: Rows::Placed,
            ..work(folder.path())
        };
        // Of another key, as of another party.
        worker.begin(&job(1), &[0; 32]);
        let error = worker.tables_of(0).unwrap_err().to_string();
        assert!(error.contains("not what its name says"), "{error}");
        let worker = Work {
            partials: coordinator.partials,
            ..worker
        };
        for shard in [0, 1] {
            assert_eq!(
                worker.tables_of(shard).unwrap(),
                work(folder.path()).tables_with(&[1; 32], shard)
            );
        }
        // Another run of the same job has placed none, and those of this one are not taken in their place.
        let placed = |job: &JobName, shard: u32| {
            let kept = folder.path().join("kept");
            kept.join(format!("{job}-table-0-shard-{shard}"))
        };
        worker.begin(&job(2), &[1; 32]);
        worker.tables_of(0).unwrap_err();
        std::fs::copy(placed(&job(1), 0), placed(&job(2), 0)).unwrap();
        let error = worker.tables_of(0).unwrap_err().to_string();
        assert!(error.contains("not what its name says"), "{error}");
        // Nor those of another shard.
        worker.begin(&job(1), &[1; 32]);
        std::fs::copy(placed(&job(1), 0), placed(&job(1), 1)).unwrap();
        let error = worker.tables_of(1).unwrap_err().to_string();
        assert!(error.contains("not what its name says"), "{error}");
        assert!(worker.own_tables().is_err());
    }
}
