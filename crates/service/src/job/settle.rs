//! What is on record against peers: looked at, added to, and settled.

use super::{JobId, Jobs, Unsettled, tries};
use crate::audit::{Actor, Event};
use crate::database::{Flush, Value};
use crate::{Result, Timestamp};

impl Jobs {
    /// What is on record against each peer, in order.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn unsettled(&self) -> Result<Vec<Unsettled>> {
        self.database
            .read(|connection| tries::against(connection, u8::MAX))
    }

    /// A job has ended before any peer could try anything in it, or in agreement of all parties that it gives nothing.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn drop_unsettled(&self, job: JobId) -> Result<()> {
        self.database.write_soon(move |transaction| {
            let id = Value::from(job.to_string());
            transaction.run("DELETE FROM unsettled WHERE session = $1 AND grave = 0", &[id])?;
            Ok(())
        })
    }

    /// A job that runs has broken off, whatever is recorded of it later: this party may have its outputs all the same.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn break_off(&self, job: JobId) -> Result<()> {
        self.database
            .write(move |transaction| tries::break_off(transaction, job).map(drop))
    }

    /// Holds against these peers what is to be noted of a session in the audit log. The others that took part in it have no blame.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn hold_against(&self, peers: Vec<u8>, session: JobId, event: Event, now: Timestamp) -> Result<()> {
        self.database
            .begin_write(Flush::Now, move |transaction| {
                let id = Value::from(session.to_string());
                transaction.run("DELETE FROM unsettled WHERE session = $1", &[id])?;
                for peer in peers {
                    tries::insert(transaction, session, peer, true)?;
                }
                transaction.audit(now, &event)
            })?
            .wait()
    }

    /// A person has looked into what is on record against a peer: rules decide again. Gives what it was.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn settle(&self, peer: u8, by: Actor, now: Timestamp) -> Result<Option<Unsettled>> {
        self.database.write(move |transaction| {
            let all = tries::against(transaction.connection(), u8::MAX)?;
            let Some(known) = all.into_iter().find(|known| known.peer == peer) else {
                return Ok(None);
            };
            transaction.run(
                "DELETE FROM unsettled WHERE peer = $1 AND ended IS NOT NULL",
                &[Value::from(i64::from(peer))],
            )?;
            let times = known.times;
            transaction.audit(now, &Event::Settled { peer, times, by })?;
            Ok(Some(known))
        })
    }
}
