//! Which catalogues were published to whom, and which came from whom: versions and digests, and the last text of each peer's.
//!
//! Versions of what a party publishes to another only grow, whatever is restarted. There is a row for each party, so all is bounded.

use std::collections::BTreeMap;

use crate::audit::Event;
use crate::database::{Row, Value};
use crate::job::Digest;
use crate::{Database, Error, Result, Timestamp};

/// A version of a catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edition {
    /// Its number, from 1.
    pub version: u64,
    /// The digest of its text.
    pub digest: Digest,
    /// Since when this party knows it.
    pub at: Timestamp,
}

/// The catalogue of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Its version.
    pub edition: Edition,
    /// Its text.
    pub text: String,
}

/// The record of catalogues.
#[derive(Debug, Clone)]
pub struct Catalogues(Database);

impl Catalogues {
    /// That in a database.
    pub fn new(database: Database) -> Self {
        Catalogues(database)
    }

    /// What was published to each party last, and to this one all.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn told(&self) -> Result<BTreeMap<u8, Edition>> {
        self.0.read(|connection| {
            let sql = "SELECT party, version, digest, known_at FROM catalogue_told";
            let rows = connection.rows(sql, &[])?;
            rows.iter().map(|row| Ok((party(row)?, edition(row)?))).collect()
        })
    }

    /// Publishes what has these digests to these parties; that of `me` is of all. What has changed gets the next version and, but for that of `me`, a line in
    /// the audit log. Gives all versions.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn publish(&self, parts: Vec<(u8, Digest)>, me: u8, now: Timestamp) -> Result<BTreeMap<u8, Edition>> {
        self.0.write(move |transaction| {
            let sql = "SELECT party, version, digest, known_at FROM catalogue_told";
            let rows = transaction.connection().rows(sql, &[])?;
            let told = rows.iter().map(|row| Ok((party(row)?, edition(row)?)));
            let mut told = told.collect::<Result<BTreeMap<u8, Edition>>>()?;
            for (to, digest) in parts {
                let before = told.get(&to);
                if before.is_some_and(|before| before.digest == digest) {
                    continue;
                }
                let next = Edition {
                    version: before.map_or(1, |before| before.version + 1),
                    digest,
                    at: now,
                };
                transaction.run(
                    "INSERT INTO catalogue_told (party, version, digest, known_at) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (party) DO UPDATE SET version = $2, digest = $3, known_at = $4",
                    &values(to, &next)?,
                )?;
                if to != me {
                    let version = next.version;
                    transaction.audit(now, &Event::CataloguePublished { to, version, digest })?;
                }
                told.insert(to, next);
            }
            Ok(told)
        })
    }

    /// What each peer has published last.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn heard(&self) -> Result<BTreeMap<u8, Heard>> {
        self.0.read(|connection| {
            let sql = "SELECT party, version, digest, known_at, body FROM catalogue_heard";
            let heard = |row: &Row| {
                let text = row.text(4)?.to_owned();
                let edition = edition(row)?;
                Ok((party(row)?, Heard { edition, text }))
            };
            connection.rows(sql, &[])?.iter().map(heard).collect()
        })
    }

    /// Keeps what a peer has published, in the place of what it published before.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn hear(&self, from: u8, heard: Heard) -> Result<()> {
        self.0.write(move |transaction| {
            let Edition { version, digest, at } = heard.edition;
            let mut row = values(from, &heard.edition)?.to_vec();
            row.push(Value::from(heard.text));
            transaction.run(
                "INSERT INTO catalogue_heard (party, version, digest, known_at, body) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (party) DO UPDATE SET version = $2, digest = $3, known_at = $4, body = $5",
                &row,
            )?;
            transaction.audit(at, &Event::CatalogueHeard { from, version, digest })
        })
    }
}

fn values(party: u8, edition: &Edition) -> Result<[Value; 4]> {
    let version = i64::try_from(edition.version).map_err(|_| wrong("version"))?;
    Ok([
        Value::from(i64::from(party)),
        Value::from(version),
        Value::from(edition.digest.to_string()),
        Value::from(edition.at.column()),
    ])
}

fn party(row: &Row) -> Result<u8> {
    u8::try_from(row.integer(0)?).map_err(|_| wrong("party"))
}

fn edition(row: &Row) -> Result<Edition> {
    Ok(Edition {
        version: row.count(1)?,
        digest: row.text(2)?.parse().map_err(|_| wrong("digest"))?,
        at: Timestamp::from_column(row.integer(3)?),
    })
}

fn wrong(what: &str) -> Error {
    Error::Corrupt(format!("a catalogue with a wrong {what}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{World, at, suite};

    suite![versions_only_grow, what_a_peer_publishes_is_kept];

    fn digest(of: u8) -> Digest {
        Digest([of; 32])
    }

    fn versions_only_grow(mut world: World) {
        let publish = |world: &World, parts: &[(u8, u8)], now| {
            let parts = parts.iter().map(|(to, of)| (*to, digest(*of))).collect();
            let told = Catalogues::new(world.database())
                .publish(parts, 0, at(now))
                .expect("written");
            told.into_iter()
                .map(|(to, edition)| (to, edition.version, edition.at))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            publish(&world, &[(0, 1), (1, 1)], 1),
            [(0, 1, at(1)), (1, 1, at(1))]
        );
        assert_eq!(
            publish(&world, &[(0, 2), (1, 1), (2, 3)], 2),
            [(0, 2, at(2)), (1, 1, at(1)), (2, 1, at(2))]
        );
        world.reopen();
        // What was there before comes back as another version.
        assert_eq!(
            publish(&world, &[(0, 1), (1, 4), (2, 3)], 3),
            [(0, 3, at(3)), (1, 2, at(3)), (2, 1, at(2))]
        );
        let told = Catalogues::new(world.database()).told().expect("read");
        assert_eq!(
            told[&1],
            Edition {
                version: 2,
                digest: digest(4),
                at: at(3)
            }
        );
        let log = std::fs::read_to_string(world.database().audit_file()).expect("a log");
        let lines: Vec<&str> = log
            .lines()
            .filter(|line| line.contains("\"catalogue-published\""))
            .collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(
            lines[2].contains("\"to\":1") && lines[2].contains("\"version\":2"),
            "{}",
            lines[2]
        );
        assert!(lines[2].contains(&digest(4).to_string()));
    }

    fn what_a_peer_publishes_is_kept(mut world: World) {
        let heard = |version, of: u8, text: &str| Heard {
            edition: Edition {
                version,
                digest: digest(of),
                at: at(version.min(9)),
            },
            text: text.into(),
        };
        let hear = |world: &World, from, heard| {
            Catalogues::new(world.database())
                .hear(from, heard)
                .expect("written")
        };
        hear(&world, 1, heard(1, 1, "first"));
        hear(&world, 2, heard(9, 2, "other"));
        hear(&world, 1, heard(4, 3, "söcond"));
        world.reopen();
        let all = Catalogues::new(world.database()).heard().expect("read");
        assert_eq!(
            all,
            BTreeMap::from([(1, heard(4, 3, "söcond")), (2, heard(9, 2, "other"))])
        );
        assert!(
            Catalogues::new(world.database())
                .hear(1, heard(u64::MAX, 1, ""))
                .is_err()
        );
        let log = std::fs::read_to_string(world.database().audit_file()).expect("a log");
        assert_eq!(log.matches("\"catalogue-heard\"").count(), 3);
    }
}
