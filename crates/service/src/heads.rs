//! What parties remember of each other's audit logs, so that a folder that was put back to an earlier state is noticed.
//!
//! A party tells each peer the [`Head`](crate::audit::Head) of its log as far as it is on the disk, veiled, and the peer keeps the latest ([`Told`]). When they meet
//! again, the peer says what it remembers, and the party looks whether that line is still in its log ([`Heads::check`]). A log that goes on holds every
//! head that was ever told of it.
//!
//! A peer may lie. So a head carries a mark that only the party itself can make, under a key of its identity: what the party never told
//! proves nothing to it. A peer may also keep many heads of a time that was lost and come with one after another. So heads belong to an era, and a person who
//! [acknowledges](Heads::acknowledge) that the folder was put back ends the era of all of them.
//!
//! All bounds are small: a head for each peer, a row for each party that was put back, and an era for each acknowledgement.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_api::view;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::audit::{self, Actor, Event};
use crate::database::{Row, Transaction, Value};
use crate::job::Digest;
use crate::{Database, Error, Result, Timestamp, random};

/// The end of a party's audit log, as it has told it to one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// The era of the log in which it was told.
    pub era: Digest,
    /// Lines of the log.
    pub number: u64,
    /// Where the last line ends in the file, masked: how long lines are is nobody else's business.
    pub place: u64,
    /// Stands for the hash of the last line. It is keyed: whoever knew the hashes of two lines could try what stands between them.
    pub hash: Digest,
    /// Shows the party that it has told this peer so.
    pub mark: Digest,
}

impl Told {
    /// Whether it can be recorded, and is of a log with a line.
    pub fn is_possible(&self) -> bool {
        self.number > 0 && i64::try_from(self.number).is_ok()
    }
}

/// What a peer's memory of this party's log means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The log holds it.
    There,
    /// The log lacks it, and a person has acknowledged that.
    Acknowledged,
    /// This party has told it, and its log lacks it.
    Lost,
    /// This party has not told it, or had another key then.
    NotOurs,
}

/// A party whose folder was put back to an earlier state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutBack {
    /// The party, which may be this one.
    pub party: u8,
    /// Lines that its audit log had, at the least.
    pub lines: u64,
    /// The parties that remember it.
    pub told_by: Vec<u8>,
}

impl From<PutBack> for view::PutBack {
    fn from(known: PutBack) -> Self {
        view::PutBack {
            party: known.party,
            lines: known.lines,
            told_by: known.told_by,
        }
    }
}

impl fmt::Display for PutBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the folder of party {} was put back to an earlier state: its audit log had {} lines, and does not hold the last of them any more",
            self.party, self.lines
        )
    }
}

/// What this party remembers of others' logs and has told of its own.
pub struct Heads {
    database: Database,
    me: u8,
    /// Makes marks.
    key: Zeroizing<[u8; 32]>,
    era: Mutex<Digest>,
}

impl fmt::Debug for Heads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Heads")
    }
}

impl Heads {
    /// Of party `me`. Its marks are made under `key`, which lies elsewhere than the database.
    ///
    /// # Errors
    /// Where the database cannot be read or written.
    pub fn open(database: Database, me: u8, key: Zeroizing<[u8; 32]>) -> Result<Self> {
        let era = database.write(|transaction| {
            match transaction.one("SELECT era FROM log_era WHERE is_current = 1", &[])? {
                Some(row) => digest(&row, 0),
                None => begin_era(transaction),
            }
        })?;
        Ok(Heads {
            database,
            me,
            key,
            era: Mutex::new(era),
        })
    }

    fn era(&self) -> MutexGuard<'_, Digest> {
        self.era.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of this party's log that is on the disk, for this peer.
    pub fn tell(&self, peer: u8) -> Told {
        let head = self.database.durable_head();
        let mut told = Told {
            era: *self.era(),
            number: head.number,
            place: 0,
            hash: self.keyed(b"hash", &[head.hash.as_bytes()]),
            mark: Digest([0; 32]),
        };
        told.place = self.mask(&told) ^ head.length;
        told.mark = self.mark(peer, &told);
        told
    }

    fn keyed(&self, purpose: &[u8], parts: &[&[u8]]) -> Digest {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(purpose);
        for part in parts {
            hasher.update(part);
        }
        Digest(*hasher.finalize().as_bytes())
    }

    /// Hides where the line ends: no two lines have the same hash.
    fn mask(&self, told: &Told) -> u64 {
        let Digest(bytes) = self.keyed(b"place", &[&told.hash.0]);
        let (mask, _) = bytes.split_first_chunk().unwrap_or((&[0; 8], &[]));
        u64::from_le_bytes(*mask)
    }

    fn mark(&self, peer: u8, told: &Told) -> Digest {
        let (number, place) = (told.number.to_le_bytes(), told.place.to_le_bytes());
        self.keyed(b"mark", &[&[peer], &told.era.0, &number, &place, &told.hash.0])
    }

    /// What it means that `peer` remembers this of this party's log.
    ///
    /// # Errors
    /// Where the log or the database cannot be read.
    pub fn check(&self, peer: u8, told: &Told) -> Result<Claim> {
        if !bool::from(self.mark(peer, told).0.ct_eq(&told.mark.0)) {
            return Ok(Claim::NotOurs);
        }
        let length = told.place ^ self.mask(told);
        let there = audit::hash_at(&self.database.audit_file(), length)?;
        if there.is_some_and(|hash| self.keyed(b"hash", &[hash.as_bytes()]) == told.hash) {
            return Ok(Claim::There);
        }
        let era = told.era.to_string();
        let ended = self.database.read(move |connection| {
            let sql = "SELECT era FROM log_era WHERE era = $1 AND is_current = 0";
            connection.one(sql, &[Value::from(era)])
        })?;
        Ok(match ended {
            Some(_) => Claim::Acknowledged,
            None => Claim::Lost,
        })
    }

    /// What each peer has told last.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn remembered(&self) -> Result<BTreeMap<u8, Told>> {
        self.database.read(|connection| {
            let sql = "SELECT peer, era, number, place, hash, mark FROM peer_head";
            let rows = connection.rows(sql, &[])?;
            let told = |row: &Row| {
                let told = Told {
                    era: digest(row, 1)?,
                    number: row.count(2)?,
                    place: row.integer(3)?.cast_unsigned(),
                    hash: digest(row, 4)?,
                    mark: digest(row, 5)?,
                };
                Ok((party(row.integer(0)?)?, told))
            };
            rows.iter().map(told).collect()
        })
    }

    /// Remembers what peers have told, in the place of what they told before. It may be on the disk a moment later.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn remember(&self, all: Vec<(u8, Told)>) -> Result<()> {
        self.database.write_soon(move |transaction| {
            for (peer, told) in &all {
                transaction.run(
                    "INSERT INTO peer_head (peer, era, number, place, hash, mark) VALUES ($1, $2, $3, $4, $5, $6)
                     ON CONFLICT (peer) DO UPDATE SET era = $2, number = $3, place = $4, hash = $5, mark = $6",
                    &[
                        Value::from(i64::from(*peer)),
                        Value::from(told.era.to_string()),
                        column(told.number)?,
                        Value::from(told.place.cast_signed()),
                        Value::from(told.hash.to_string()),
                        Value::from(told.mark.to_string()),
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Notes that the log of `party` lacks what `told_by` remembers of it, unless that is known.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn note_put_back(&self, party: u8, told_by: u8, told: Told, now: Timestamp) -> Result<()> {
        self.database.write(move |transaction| {
            let before = put_back(transaction.connection())?;
            let before = before.iter().find(|known| known.party == party);
            let is_known = before.is_some_and(|known| known.told_by.contains(&told_by));
            transaction.run(
                "INSERT INTO put_back (party, told_by, era, number) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (party, told_by, era) DO UPDATE SET number = $4 WHERE put_back.number < $4",
                &[
                    Value::from(i64::from(party)),
                    Value::from(i64::from(told_by)),
                    Value::from(told.era.to_string()),
                    column(told.number)?,
                ],
            )?;
            let lines = told.number;
            let event = Event::PutBack {
                party,
                told_by,
                lines,
            };
            match is_known {
                true => Ok(()),
                false => transaction.audit(now, &event),
            }
        })
    }

    /// The parties that were put back, in order.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn put_back(&self) -> Result<Vec<PutBack>> {
        self.database.read(put_back)
    }

    /// A person has `seen` that a party was put back, and goes on all the same. Gives whether it was on record. What the peers remember of this party up to now
    /// counts no more; of another party, what it tells next is remembered.
    ///
    /// # Errors
    /// [`Error::OtherPutBack`] where something else is on record; where the database cannot be read or written.
    pub fn acknowledge(&self, seen: (u8, u64), by: Actor, now: Timestamp) -> Result<bool> {
        let ((party, lines), me) = (seen, self.me);
        let mut era = self.era();
        let acknowledged = self.database.write(move |transaction| {
            let all = put_back(transaction.connection())?;
            let Some(known) = all.into_iter().find(|known| known.party == party) else {
                return Ok(None);
            };
            if known.lines != lines {
                return Err(Error::OtherPutBack(known));
            }
            let of = [Value::from(i64::from(party))];
            let next = match party == me {
                true => Some(end_eras(transaction, &of)?),
                false => {
                    transaction.run("DELETE FROM peer_head WHERE peer = $1", &of)?;
                    // Its versions may begin anew.
                    transaction.run("DELETE FROM catalogue_heard WHERE party = $1", &of)?;
                    None
                }
            };
            transaction.run("DELETE FROM put_back WHERE party = $1", &of)?;
            transaction.audit(now, &Event::PutBackAcknowledged { party, lines, by })?;
            Ok(Some(next))
        })?;
        if let Some(Some(next)) = acknowledged {
            *era = next;
        }
        Ok(acknowledged.is_some())
    }
}

/// Ends this party's era, and those of which peers remember what is lost. Gives the next.
fn end_eras(transaction: &mut Transaction<'_>, me: &[Value]) -> Result<Digest> {
    transaction.run(
        "INSERT INTO log_era (era, is_current) SELECT DISTINCT era, 0 FROM put_back WHERE party = $1
         ON CONFLICT (era) DO NOTHING",
        me,
    )?;
    transaction.run("UPDATE log_era SET is_current = 0", &[])?;
    begin_era(transaction)
}

fn begin_era(transaction: &mut Transaction<'_>) -> Result<Digest> {
    let era = Digest(random()?);
    transaction.run(
        "INSERT INTO log_era (era, is_current) VALUES ($1, 1)",
        &[Value::from(era.to_string())],
    )?;
    Ok(era)
}

fn put_back(connection: &mut crate::database::Connection) -> Result<Vec<PutBack>> {
    let sql = "SELECT party, told_by, number FROM put_back ORDER BY party, told_by";
    let mut all: Vec<PutBack> = Vec::new();
    for row in &connection.rows(sql, &[])? {
        let (of, told_by, lines) = (party(row.integer(0)?)?, party(row.integer(1)?)?, row.count(2)?);
        match all.last_mut().filter(|known| known.party == of) {
            Some(known) => {
                known.lines = known.lines.max(lines);
                if known.told_by.last() != Some(&told_by) {
                    known.told_by.push(told_by);
                }
            }
            None => all.push(PutBack {
                party: of,
                lines,
                told_by: vec![told_by],
            }),
        }
    }
    Ok(all)
}

fn digest(row: &Row, column: usize) -> Result<Digest> {
    row.text(column)?.parse().map_err(|_| wrong("digest"))
}

fn party(number: i64) -> Result<u8> {
    u8::try_from(number).map_err(|_| wrong("party"))
}

fn column(value: u64) -> Result<Value> {
    i64::try_from(value).map(Value::from).map_err(|_| wrong("number"))
}

fn wrong(what: &str) -> Error {
    Error::Corrupt(format!("an end of an audit log with a wrong {what}"))
}

#[cfg(test)]
pub(crate) mod tests;
