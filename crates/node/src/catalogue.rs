//! Catalogues: what this party publishes to each peer of its tables, and what each peer has published to it.
//!
//! A party offers the version that it has for a peer whenever they meet, when it changes, and now and then. The peer asks for it if it has another. What comes is
//! checked as a whole before anything of it is kept: see [`Check`]. A catalogue is its party's word, and nothing here relies on it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use cenote::catalogue::{Check, OwnCatalogue, Published, Refused, party_of};
use cenote::query::{Declared, Policy};
use cenote_service::audit::Event;
use cenote_service::job::{Binding, Digest, Proposal, Source};
use cenote_service::live::{AlarmKind, Approval, Happened};
use cenote_service::{self as service, Database, Edition, Heard, Timestamp};

use crate::compiled::Compiled;
use crate::error::Error;
use crate::locks::{Mutex, lock};
use crate::message::Message;
use crate::monitor::Monitor;
use crate::own_data::OwnData;
use crate::peer::Bucket;
use crate::peers::Peers;
use crate::settings::Settings;

mod view;

/// What this party publishes, and what is published to it.
pub(crate) struct Catalogues {
    settings: Arc<Settings>,
    database: Database,
    record: service::Catalogues,
    data: Arc<OwnData>,
    monitor: Arc<Monitor>,
    peers: Arc<Peers>,
    /// One at a time publishes.
    turn: Mutex<()>,
    state: Mutex<State>,
}

/// Refusals of a peer's catalogues that are told, a second.
const REFUSALS: f64 = 1.0 / 600.0;
/// New versions of a peer's catalogue that are asked for, a second.
const EDITIONS: f64 = 1.0 / 60.0;
/// How many of either may come at once.
const BURST: f64 = 20.0;

#[derive(Default)]
struct State {
    own: OwnCatalogue,
    /// All that this party publishes.
    whole: Published,
    /// What was published to each party last, and to this one all.
    told: BTreeMap<u8, Edition>,
    /// The texts for the peers.
    texts: BTreeMap<u8, String>,
    heard: BTreeMap<u8, Known>,
    /// What was offered by a peer and asked for.
    asked: BTreeMap<u8, (u64, Digest)>,
    /// What a peer has offered and was refused last.
    refused: BTreeMap<u8, (u64, Digest)>,
    /// How many refusals of a peer's are told yet.
    refusals: BTreeMap<u8, Bucket>,
    /// How many new versions of a peer's are asked for yet.
    editions: BTreeMap<u8, Bucket>,
    /// Why the rules of tables could not be read last.
    fault: Option<String>,
}

/// The catalogue of a peer.
#[derive(Clone)]
struct Known {
    edition: Edition,
    published: Published,
}

impl Catalogues {
    /// Reads what this party publishes, and what is on record.
    ///
    /// # Errors
    /// What is wrong with the file of the catalogue, or with the rules of the tables that it publishes; where the record cannot be read or written.
    pub(crate) fn open(
        settings: &Arc<Settings>,
        database: &Database,
        data: &Arc<OwnData>,
        monitor: &Arc<Monitor>,
        peers: &Arc<Peers>,
    ) -> Result<Self, Error> {
        let record = service::Catalogues::new(database.clone());
        let mut heard = BTreeMap::new();
        for (party, Heard { edition, text }) in record.heard()? {
            match Published::parse(&text, party) {
                Ok(published) => drop(heard.insert(party, Known { edition, published })),
                // Another version of the program has kept it, or the party is another one by now: it comes again.
                Err(refused) => {
                    tracing::warn!(party, %refused, "the catalogue on record of a peer is left out")
                }
            }
        }
        let catalogues = Catalogues {
            settings: Arc::clone(settings),
            database: database.clone(),
            data: Arc::clone(data),
            monitor: Arc::clone(monitor),
            peers: Arc::clone(peers),
            turn: Mutex::default(),
            state: Mutex::new(State {
                told: record.told()?,
                heard,
                ..State::default()
            }),
            record,
        };
        catalogues.reload()?;
        Ok(catalogues)
    }

    /// Reads again what this party publishes, and publishes it. Where it is wrong, what was published before stays.
    ///
    /// # Errors
    /// What is wrong with it; where it cannot be recorded.
    pub(crate) fn reload(&self) -> Result<(), Error> {
        let _turn = lock(&self.turn);
        let own = OwnCatalogue::load(&self.settings.catalogue, self.settings.me, &self.settings.names)?;
        let policy = self.rules(&own)?;
        let usual = |name: &str| self.data.folder.named_as(name);
        for warning in own.warnings(policy.as_ref(), &usual) {
            tracing::warn!("catalogue: {warning}");
        }
        self.look_at_data(&own);
        self.publish(own, policy.as_ref())
    }

    /// Warns of data that cannot stand for its table. To read it takes a while, for which nobody waits.
    fn look_at_data(&self, own: &OwnCatalogue) {
        if own.tables().is_empty() {
            return;
        }
        let (data, tables) = (Arc::clone(&self.data), own.tables().to_vec());
        let look = move || {
            for table in tables {
                if let Some(what) = data.misfit(&table) {
                    tracing::warn!(
                        "catalogue: the data of table {} does not fit: {what}",
                        table.declared.name
                    );
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name("catalogue".into()).spawn(look) {
            tracing::warn!(%error, "catalogue: whether the data fits was not looked at");
        }
    }

    /// The rules of the tables, where any are published.
    fn rules(&self, own: &OwnCatalogue) -> Result<Option<Policy>, Error> {
        if own.tables().is_empty() {
            return Ok(None);
        }
        Ok(self.data.rules_of_tables()?)
    }

    /// Publishes what the rules make of this catalogue, where it has changed.
    fn publish(&self, own: OwnCatalogue, policy: Option<&Policy>) -> Result<(), Error> {
        let me = self.settings.me;
        let whole = own.whole(policy);
        // The rules of tables make it longer.
        whole.check(me).map_err(|refused| {
            Error::Settings(format!("the catalogue with the rules of its tables: {refused}"))
        })?;
        let mut texts = BTreeMap::from([(me, whole.text())]);
        for party in (0..self.peers.count()).filter(|party| *party != me) {
            texts.insert(party, own.for_party(party, policy).text());
        }
        let nothing = Published::default().text();
        let before = lock(&self.state).told.clone();
        let parts: Vec<(u8, Digest)> = texts
            .iter()
            // Who was never told anything, and is told nothing, needs no version.
            .filter(|(party, text)| **text != nothing || before.contains_key(party))
            .map(|(party, text)| (*party, Digest::of(text.as_bytes())))
            .collect();
        let is_changed =
            |(party, digest): &(u8, Digest)| before.get(party).map(|before| before.digest) != Some(*digest);
        let changed: Vec<u8> = parts
            .iter()
            .filter(|part| is_changed(part))
            .map(|(party, _)| *party)
            .collect();
        let told = match changed.is_empty() {
            true => before,
            false => self.record.publish(parts, me, Timestamp::now())?,
        };
        {
            let state = &mut *lock(&self.state);
            (state.own, state.whole, state.told, state.texts) = (own, whole, told, texts);
        }
        for party in &changed {
            match *party == me {
                true => self.monitor.tell(&Happened::Catalogue { party: me }),
                false => {
                    let version = lock(&self.state).told.get(party).map(|told| told.version);
                    tracing::info!(to = party, version, "the catalogue for a peer has changed");
                    self.offer(*party);
                }
            }
        }
        Ok(())
    }

    /// By the clock: publishes again where the rules of tables have changed, and offers each peer what there is for it.
    pub(crate) fn look(&self) {
        let turn = lock(&self.turn);
        let own = lock(&self.state).own.clone();
        let published = self
            .rules(&own)
            .and_then(|policy| self.publish(own, policy.as_ref()));
        let fault = published.err().map(|error| error.to_string());
        if let Some(fault) = fault.as_ref().filter(|_| lock(&self.state).fault != fault) {
            tracing::warn!(%fault, "the catalogue stays as it was published last");
        }
        lock(&self.state).fault = fault;
        drop(turn);
        (0..self.peers.count()).for_each(|peer| self.offer(peer));
    }

    /// Tells a peer which version there is for it.
    pub(crate) fn offer(&self, peer: u8) {
        let told = lock(&self.state).told.get(&peer).copied();
        let listens = self.peers.get(peer).is_some_and(|peer| peer.known().listens());
        if let Some(Edition { version, digest, .. }) = told.filter(|_| listens) {
            self.peers.tell(peer, &Message::Catalogue { version, digest });
        }
    }

    /// A peer says which version it has for this party.
    pub(crate) fn hear_offer(&self, from: u8, version: u64, digest: Digest) {
        let wanted = {
            let state = &mut *lock(&self.state);
            let known = state
                .heard
                .get(&from)
                .map(|known| (known.edition.version, known.edition.digest));
            let offered = (version, digest);
            if known == Some(offered) || state.refused.get(&from) == Some(&offered) {
                return;
            }
            match known {
                _ if version == 0 || i64::try_from(version).is_err() => Err(Refused::new(
                    Check::Version,
                    format!("it is of version {version}"),
                )),
                Some((before, _)) if version <= before => Err(Refused::new(
                    Check::Version,
                    format!(
                        "it is of version {version}, and a catalogue of version {before} with other content has come before"
                    ),
                )),
                _ => {
                    let editions = state
                        .editions
                        .entry(from)
                        .or_insert_with(|| Bucket::with(EDITIONS, BURST));
                    // It is offered again.
                    if !editions.take(Instant::now()) {
                        return self.monitor.refused(from);
                    }
                    state.asked.insert(from, offered);
                    Ok(())
                }
            }
        };
        match wanted {
            Ok(()) => self.peers.tell(from, &Message::ShowCatalogue { version }),
            Err(refused) => self.refuse(from, (version, digest), &refused),
        }
    }

    /// A peer asks for what there is for it.
    pub(crate) fn show(&self, to: u8, version: u64) {
        let text = {
            let state = lock(&self.state);
            let told = state.told.get(&to).filter(|told| told.version == version);
            told.and_then(|_| state.texts.get(&to).cloned())
        };
        match text {
            Some(text) => self.peers.tell(to, &Message::CatalogueText { version, text }),
            // There is another by now.
            None => self.offer(to),
        }
    }

    /// What a peer publishes has come.
    pub(crate) fn hear(&self, from: u8, version: u64, text: String) {
        let asked = lock(&self.state).asked.remove(&from);
        let Some((_, digest)) = asked.filter(|(asked, _)| *asked == version) else {
            return self.monitor.refused(from);
        };
        let parsed = Published::parse(&text, from).and_then(|published| {
            let is_offered = Digest::of(text.as_bytes()) == digest;
            is_offered
                .then_some(published)
                .ok_or_else(|| Refused::new(Check::Form, "it is not what was offered"))
        });
        let published = match parsed {
            Ok(published) => published,
            Err(refused) => return self.refuse(from, (version, digest), &refused),
        };
        let edition = Edition {
            version,
            digest,
            at: Timestamp::now(),
        };
        if let Err(error) = self.record.hear(from, Heard { edition, text }) {
            // It is offered again.
            tracing::error!(from, %error, "the catalogue of a peer cannot be recorded");
            return;
        }
        let tables = published.tables.len();
        {
            let state = &mut *lock(&self.state);
            state.heard.insert(from, Known { edition, published });
            state.refused.remove(&from);
        }
        self.monitor.end_alarm(AlarmKind::Warning, &alarm(from));
        tracing::info!(from, version, %digest, tables, "the catalogue of a peer has changed");
        self.monitor.tell(&Happened::Catalogue { party: from });
    }

    /// What a peer publishes does not pass a check.
    fn refuse(&self, from: u8, offered: (u64, Digest), refused: &Refused) {
        self.monitor.refused(from);
        {
            let state = &mut *lock(&self.state);
            state.refused.insert(from, offered);
            // A peer that is refused again and again does not fill the audit log.
            let refusals = state
                .refusals
                .entry(from)
                .or_insert_with(|| Bucket::with(REFUSALS, BURST));
            if !refusals.take(Instant::now()) {
                return;
            }
        }
        if let Some(unsaid) = self.peers.line_on(from) {
            tracing::warn!(from, %refused, unsaid, "the catalogue of a peer is refused");
        }
        self.monitor.alarm(
            AlarmKind::Warning,
            &alarm(from),
            format!(
                "The catalogue that party {from} ({}) publishes was refused, and nothing of it is kept. {refused}.",
                self.peers.name(from)
            ),
            "Ask the party's operator what its catalogue.toml says, and which version of Cenote its service is. What it published before is still shown.",
        );
        let event = Event::CatalogueRefused {
            from,
            version: offered.0,
            check: refused.check.name().into(),
        };
        if let Err(error) = self.database.audit(Timestamp::now(), event) {
            tracing::error!(from, %error, "that a catalogue was refused cannot be noted in the audit log");
        }
    }

    /// The catalogue of a peer counts no more: its versions may begin anew.
    pub(crate) fn forget(&self, party: u8) {
        {
            let state = &mut *lock(&self.state);
            state.heard.remove(&party);
            state.refused.remove(&party);
        }
        self.monitor.end_alarm(AlarmKind::Warning, &alarm(party));
        self.monitor.tell(&Happened::Catalogue { party });
    }

    /// The approval, with the data of the catalogue for those of this party's tables for which it names none.
    pub(crate) fn completed(&self, compiled: &Compiled, mut approval: Approval) -> Approval {
        for (table, data) in self.data_for(compiled.tables()) {
            if !approval.binding.iter().any(|bound| bound.input == table) {
                approval.binding.push(Binding::new(table, Source::Data(data)));
            }
        }
        approval
    }

    /// The data that goes with this party's inputs of a job where nobody chooses, if there is some for each: what the catalogue names, or what is called as they are.
    pub(crate) fn usual_binding(&self, proposal: &Proposal, compiled: &Compiled) -> Option<Vec<Binding>> {
        let named = self.data_for(compiled.tables());
        self.data.usual_binding(proposal, &named)
    }

    /// The data that goes with these tables of this party, where a job declares them as they were published.
    pub(crate) fn data_for<'a>(
        &self,
        tables: impl Iterator<Item = &'a Declared>,
    ) -> BTreeMap<String, String> {
        let state = lock(&self.state);
        let own = &self.settings.names[usize::from(self.settings.me)];
        let tables = tables.filter(|table| party_of(&table.name).is_none_or(|party| party == own));
        let data =
            tables.filter_map(|table| Some((table.name.clone(), state.own.data_for(table)?.to_owned())));
        data.collect()
    }
}

/// What the alarm on the catalogue of a party is kept under.
fn alarm(party: u8) -> String {
    format!("catalogue of party {party}")
}
