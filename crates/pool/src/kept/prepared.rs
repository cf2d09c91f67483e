//! What is prepared with a pool's keys, each of it to be used once at most.
//!
//! It lies in states of the pool's own, and is gone when the pool is retired. The journal says what there is: it is struck off, on the disk,
//! before it is read. When a session begins, each party strikes off what the other one has not: so both have the same, in the same order,
//! wherever sessions were cut off.

use cenote_net::{Channel, Step};
use cenote_primitives::{as_bytes, as_bytes_mut};
use cenote_session::{Error, MESSAGE_FORM, Result};
use cenote_store::{Living, Stored};

use super::disk::KeptPool;
use super::journal::{Journal, MOST_PREPARED, MOST_SESSIONS, Prepared};

/// Numbers that there are, far more than are used.
const NUMBERS: u64 = 1 << 48;

/// Numbers that a peer may be ahead. However often it is as far ahead as that, sessions come to their end first.
const MOST_AHEAD: u64 = 1 << 24;

const _: () = assert!(MOST_SESSIONS * (MOST_AHEAD + MOST_PREPARED as u64) < NUMBERS);

/// The start of the name of a state in which something lies.
const STATE: &str = "prepared-";

/// The state in which number `number` lies.
fn state(number: u64) -> String {
    format!("{STATE}{number}")
}

/// How many things lie in stock that are prepared with a pool's keys.
pub fn prepared(stored: &Stored) -> u64 {
    let states = stored.states.iter();
    states.filter(|name| name.starts_with(STATE)).count() as u64
}

/// Strikes off what the other party has not.
pub(super) fn compare(
    channel: &mut dyn Channel,
    step: Step,
    journal: &mut Journal,
    living: &Living,
) -> Result<()> {
    let count = journal.prepared.len() as u64;
    channel.send(step, as_bytes(&[journal.numbered.to_le(), count.to_le()]))?;
    channel.send(step, as_bytes(&journal.prepared))?;
    let mut numbers = [0u64; 2];
    channel.recv(step, as_bytes_mut(&mut numbers))?;
    let [next, count] = numbers.map(u64::from_le);
    if next > journal.numbered + MOST_AHEAD || count > MOST_PREPARED as u64 {
        let detail = format!("it tells of {count} of {next} things prepared with the keys of a pool");
        return Err(Error::cheated(MESSAGE_FORM, channel.peer(), step, detail));
    }
    let mut theirs: Vec<Prepared> = vec![bytemuck::Zeroable::zeroed(); count as usize];
    channel.recv(step, as_bytes_mut(&mut theirs))?;
    let (kept, gone) = journal
        .prepared
        .iter()
        .partition::<Vec<Prepared>, _>(|prepared| theirs.contains(prepared));
    gone.iter()
        .for_each(|prepared| living.remove(&state(prepared.number())));
    // One may lie there that the journal never knew.
    living.remove(&state(journal.numbered));
    (journal.prepared, journal.numbered) = (kept, journal.numbered.max(next));
    Ok(())
}

impl KeptPool {
    /// How often `what` is prepared.
    pub fn prepared(&self, what: &[u8; 32]) -> usize {
        let journal = self.journal();
        journal
            .prepared
            .iter()
            .filter(|prepared| prepared.what == *what)
            .count()
    }

    /// Keeps what was prepared. The other party does the same.
    ///
    /// # Errors
    /// [`Error::Exhausted`] if there are [`MOST_PREPARED`] things already; [`Error::Storage`].
    pub fn put(&self, what: &[u8; 32], pieces: &[&[u8]]) -> Result<()> {
        let mut journal = self.journal();
        let number = journal.numbered;
        if journal.prepared.len() >= MOST_PREPARED || number >= NUMBERS {
            let reason = format!(
                "{MOST_PREPARED} things are prepared with the keys of a pool, and it has room for no more"
            );
            return Err(Error::Exhausted(reason));
        }
        self.living.write(&state(number), pieces)?;
        journal.numbered += 1;
        let prepared = Prepared {
            number: journal.numbered.to_le_bytes(),
            what: *what,
        };
        journal.prepared.push(prepared);
        self.write(&journal)
    }

    /// Takes what was prepared first, if there is such a thing, into `spaces`, which it exactly fills; for good, whatever happens then. The other
    /// party does the same.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be struck off or read; what is in `spaces` is to be wiped then.
    pub fn take(&self, what: &[u8; 32], spaces: &mut [&mut [u8]]) -> Result<bool> {
        let mut journal = self.journal();
        let Some(at) = journal
            .prepared
            .iter()
            .position(|prepared| prepared.what == *what)
        else {
            return Ok(false);
        };
        let number = journal.prepared.remove(at).number();
        self.write(&journal)?;
        drop(journal);
        self.used([PREPARED | number].into_iter())?;
        let read = self.living.read_into(&state(number), spaces);
        self.living.remove(&state(number));
        read.map(|()| true)
    }
}

/// What tells numbers of things that were prepared from those of gadgets, in an audit.
const PREPARED: u64 = 1 << 47;
