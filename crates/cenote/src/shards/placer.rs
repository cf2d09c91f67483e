//! What a party gives to its shards is placed for its workers, or made ready for those that this process computes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use cenote_shards::Event;

use super::attempt::Work;
use super::crew::{Tell, caught, may_go_better};
use crate::{Error, Result};

impl Work {
    /// Makes ready what this party gives to shards that are computed in this process, until `is_over` says that nobody needs it any more.
    pub(super) fn prepare(&self, is_over: &dyn Fn() -> bool) -> Result<()> {
        self.job.prepare(&self.begun()?, is_over)
    }

    /// Places what this party gives where its workers find it, until `is_over` says that nobody needs it any more. Shards that are done need none.
    pub(super) fn place(&self, is_over: &dyn Fn() -> bool) -> Result<()> {
        let begun = self.begun()?;
        let done: Vec<u32> = self.state().kept.keys().copied().collect();
        self.job.place(&begun, &done, is_over)
    }
}

/// How rows are placed.
pub(super) type Place = fn(&Work, &dyn Fn() -> bool) -> Result<()>;

/// Places the rows of a party, on a thread of its own, once they are needed.
pub(super) struct Placer {
    work: Arc<Work>,
    place: Place,
    /// Who hears that there are rows, or none.
    tell: Tell,
    are_placed: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Placer {
    pub(super) fn new(work: Arc<Work>, place: Place, tell: Tell) -> Self {
        Placer {
            work,
            place,
            tell,
            are_placed: Arc::default(),
            is_over: Arc::default(),
            thread: Mutex::default(),
        }
    }

    /// Whether shards find their rows. If nobody has begun to place them, this does.
    pub(super) fn are_placed(&self) -> bool {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (work, tell) = (Arc::clone(&self.work), Arc::clone(&self.tell));
            let (are_placed, is_over) = (Arc::clone(&self.are_placed), Arc::clone(&self.is_over));
            let place = self.place;
            let place = move || match caught("placing rows", || {
                place(&work, &|| is_over.load(Ordering::Acquire))
            }) {
                Ok(()) => {
                    are_placed.store(true, Ordering::Release);
                    tell(Event::Free);
                }
                Err(error) => failed(&work, &tell, error),
            };
            match std::thread::Builder::new().name("rows".into()).spawn(place) {
                Ok(started) => *thread = Some(started),
                Err(error) => {
                    let error = Error::local("starting a thread for rows", error);
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
    use crate::query::shards::rows::tests::{query, query_of_too_many};
    use crate::shards::tests::work;

    /// What a placer of `work` says once it is asked for rows.
    fn told_of(work: Arc<Work>) -> Event {
        let (sender, events) = std::sync::mpsc::channel();
        let placer = Placer::new(work, Work::place, Arc::new(move |event| drop(sender.send(event))));
        assert!(!placer.are_placed());
        let told = events.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        assert!(!placer.are_placed());
        told
    }

    #[test]
    fn a_party_whose_rows_find_no_room_says_so_when_it_is_to_compute_a_shard() {
        let folder = tempfile::tempdir().unwrap();
        // Six rows, and each of two shards has room for two.
        let work = Arc::new(work(folder.path(), query_of_too_many(folder.path())));
        work.begin(&postcard::from_bytes(&[1; 32]).unwrap(), &[1; 32]);
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
        let work = work(folder.path(), query(folder.path()));
        work.begin(&postcard::from_bytes(&[1; 32]).unwrap(), &[1; 32]);
        // A file is where the folder was.
        std::fs::remove_dir(folder.path().join("kept")).unwrap();
        std::fs::write(folder.path().join("kept"), "").unwrap();
        let work = Arc::new(work);
        assert_eq!(told_of(Arc::clone(&work)), Event::Stop);
        let failure = work.state().failure.take().unwrap().to_string();
        assert!(failure.contains("cannot be written"), "{failure}");
    }
}
