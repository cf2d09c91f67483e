//! Catalogues as callers see them, and jobs that are made of them.

use cenote::catalogue::{Known as Named, Published, PublishedTable, Wanted, compose};
use cenote::query;
use cenote_service::live::{
    Catalogue, CatalogueColumn, CatalogueParty, CatalogueTable, Compose, Composed, Place,
};
use cenote_service::{Edition, Error, Result};

use super::{Catalogues, State};
use crate::locks::lock;

impl Catalogues {
    /// All that this party knows.
    pub(crate) fn seen(&self) -> Catalogue {
        let connected = |party: u8| self.peers.get(party).is_none_or(|peer| peer.known().is_with_us());
        let connected: Vec<bool> = (0..self.peers.count()).map(connected).collect();
        let state = lock(&self.state);
        let parties = (0..).zip(connected).map(|(party, connected)| {
            let own = party == self.settings.me;
            let edition = edition_of(&state, party, own);
            let none = Published::default();
            let published = published_of(&state, party, own).unwrap_or(&none);
            CatalogueParty {
                party,
                name: self.peers.name(party).to_owned(),
                own,
                version: edition.map_or(0, |edition| edition.version),
                digest: edition.map_or_else(String::new, |edition| edition.digest.to_string()),
                at: edition.map(|edition| edition.at),
                connected,
                tables: published
                    .tables
                    .iter()
                    .map(|table| self.table(&state, party, table))
                    .collect(),
            }
        });
        Catalogue {
            parties: parties.collect(),
        }
    }

    fn table(&self, state: &State, party: u8, table: &PublishedTable) -> CatalogueTable {
        let mut own = state.own.tables().iter();
        let own = own.find(|own| party == self.settings.me && own.declared.name == table.name);
        let name = |party: &u8| self.peers.name(*party).to_owned();
        CatalogueTable {
            name: table.name.clone(),
            data: own.map(|own| own.data.clone()),
            to: own.map_or_else(Vec::new, |own| own.to.iter().map(name).collect()),
            max_rows: table.max_rows,
            columns: table
                .columns
                .iter()
                .map(|(name, kind)| CatalogueColumn {
                    name: name.clone(),
                    kind: kind.clone(),
                    promises: table.promises_of(name),
                })
                .collect(),
            promises: table.promises(),
            rules: table.limits.words(),
            declaration: table.declaration(&table.name, party, table.same_rows_as.as_deref()),
        }
    }

    /// Makes a job of a query.
    ///
    /// # Errors
    /// [`Error::Query`], with the place.
    pub(crate) fn compose(&self, wanted: Compose) -> Result<Composed> {
        let all: Vec<(u8, Published)> = {
            let state = lock(&self.state);
            let of = |party: u8| {
                Some((
                    party,
                    published_of(&state, party, party == self.settings.me)?.clone(),
                ))
            };
            (0..self.peers.count()).filter_map(of).collect()
        };
        let known: Vec<Named<'_>> = all
            .iter()
            .map(|(party, published)| Named {
                party: *party,
                published,
            })
            .collect();
        let asked = Wanted {
            sql: &wanted.sql,
            receivers: &wanted.receivers,
            protocol: wanted.protocol.as_deref(),
            name: wanted.name.as_deref(),
            min_group: wanted.min_group,
            max_rows: wanted.max_rows,
        };
        let made = compose(self.settings.me, &self.settings.names, &known, &asked);
        let made = made.map_err(|unfit| Error::Query {
            place: unfit
                .place
                .map(|query::Place { line, column }| Place { line, column }),
            what: unfit.what,
        })?;
        let state = lock(&self.state);
        let own = made
            .tables
            .into_iter()
            .filter(|table| table.party == self.settings.me);
        let data = own.filter_map(|table| {
            let own = state
                .own
                .tables()
                .iter()
                .find(|own| own.declared.name == table.published)?;
            Some((table.name, own.data.clone()))
        });
        Ok(Composed {
            data: data.collect(),
            job: made.job,
            deadline_seconds: wanted.deadline_seconds,
        })
    }
}

fn edition_of(state: &State, party: u8, own: bool) -> Option<Edition> {
    match own {
        true => state.told.get(&party).copied(),
        false => state.heard.get(&party).map(|known| known.edition),
    }
}

fn published_of(state: &State, party: u8, own: bool) -> Option<&Published> {
    match own {
        true => Some(&state.whole),
        false => state.heard.get(&party).map(|known| &known.published),
    }
}
