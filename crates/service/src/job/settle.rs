//! What is on record against peers: looked at, added to, and settled.

use super::{JobId, Jobs, Tried, Unsettled, tries};
use crate::audit::{Actor, Event};
use crate::database::{Flush, Value};
use crate::{Error, Result, Timestamp};

impl Jobs {
    /// What is on record against each peer, in order.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn unsettled(&self) -> Result<Vec<Unsettled>> {
        self.unsettled_among(u8::MAX)
    }

    /// What of it counts for jobs of so many parties.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn unsettled_among(&self, parties: u8) -> Result<Vec<Unsettled>> {
        self.database
            .read(move |connection| tries::against(connection, parties))
    }

    /// A job's run, by its number on record, has ended before any peer could try anything in it, or in agreement of all parties that it gives nothing.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn drop_run(&self, run: i64) -> Result<()> {
        self.database
            .write_soon(move |transaction| tries::drop_run(transaction, run))
    }

    /// A job's run has broken off, and its peers may have tried something in it, however the job ends.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn break_off(&self, job: JobId) -> Result<()> {
        self.database
            .write_soon(move |transaction| tries::break_off(transaction, job))
    }

    /// Holds against a peer what is to be noted of a session of so many parties in the audit log; the others that took part in it have no blame. Without a peer
    /// it is held against all of them, and counts for jobs of as many parties only. A bound that is no worse than one that was held against them
    /// before is only noted.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn hold_against(
        &self,
        tried: Tried,
        parties: u8,
        peer: Option<u8>,
        event: Event,
        now: Timestamp,
    ) -> Result<()> {
        let me = self.settings.me;
        self.database
            .begin_write(Flush::Now, move |transaction| {
                if let Some(run) = tries::last_run(transaction.connection(), tried)? {
                    tries::drop_run(transaction, run)?;
                }
                tries::hold(transaction, me, tried, parties, peer)?;
                transaction.audit(now, &event)
            })?
            .wait()
    }

    /// A person has looked into what is on record against a peer, and has `seen` this: rules decide again. Gives whether there was anything. What a session's
    /// bound was is held against the peer again only if it gets worse.
    ///
    /// # Errors
    /// [`Error::OtherUnsettled`] where something else is on record; where the database cannot be read or written.
    pub fn settle(&self, seen: Unsettled, by: Actor, now: Timestamp) -> Result<bool> {
        self.database.write(move |transaction| {
            let all = tries::against(transaction.connection(), u8::MAX)?;
            let Some(known) = all.into_iter().find(|known| known.peer == seen.peer) else {
                return Ok(false);
            };
            if known != seen {
                return Err(Error::OtherUnsettled(known));
            }
            let Unsettled { peer, times, grave } = known;
            let of = [Value::from(i64::from(peer))];
            transaction.run(
                "UPDATE unsettled SET ended = NULL, grave = 0 WHERE peer = $1 AND bits IS NOT NULL",
                &of,
            )?;
            transaction.run("DELETE FROM unsettled WHERE peer = $1 AND ended IS NOT NULL", &of)?;
            let event = Event::Settled {
                peer,
                times,
                grave,
                by,
            };
            transaction.audit(now, &event)?;
            Ok(true)
        })
    }
}
