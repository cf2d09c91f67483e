//! What the parties remember of each other's audit logs, compared whenever they meet: whoever is back at an earlier state runs nothing until a person
//! acknowledges it.
//!
//! Over each connection a party says what it remembers of the other's log, and the other answers whether its log still holds that. Nothing else is said before
//! both have done so. Then each tells the other how far its log has grown, now and then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use cenote_service::audit::{Actor, Event};
use cenote_service::live::{AlarmKind, Happened};
use cenote_service::{Claim, Database, Heads, PutBack, Result, Timestamp, Told};

use crate::locks::{Mutex, lock};
use crate::message::Message;
use crate::monitor::Monitor;
use crate::peer::{Answer, Greeting};
use crate::peers::{Peers, Task};
use crate::scheduler::Scheduler;
use crate::settings::Settings;

/// What this party remembers of the others' audit logs, and they of its own.
pub(crate) struct Witness {
    me: u8,
    database: Database,
    heads: Heads,
    monitor: Arc<Monitor>,
    peers: Arc<Peers>,
    scheduler: Arc<Scheduler>,
    /// One at a time tells and stores heads, or acknowledges.
    pub(crate) turn: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What each peer has told last.
    remembered: BTreeMap<u8, Told>,
    /// Peers of which that is not on record yet.
    unstored: BTreeSet<u8>,
    /// Lines of this party's log that each peer was told of.
    told: BTreeMap<u8, u64>,
    /// Parties that were put back.
    put_back: Vec<PutBack>,
    /// What could not be recorded, and is tried again.
    unnoted: Vec<(u8, u8, Told)>,
    /// Peers that have claimed what this party never told them.
    refused: BTreeSet<u8>,
}

impl Witness {
    /// # Errors
    /// Where the record cannot be read or written.
    pub(crate) fn open(
        settings: &Settings,
        database: &Database,
        monitor: &Arc<Monitor>,
        peers: &Arc<Peers>,
        scheduler: &Arc<Scheduler>,
    ) -> Result<Self> {
        let key = settings.identity.derived("marks of audit log heads");
        let heads = Heads::open(database.clone(), settings.me, key)?;
        let state = State {
            remembered: heads.remembered()?,
            put_back: heads.put_back()?,
            ..State::default()
        };
        let witness = Witness {
            me: settings.me,
            database: database.clone(),
            heads,
            monitor: Arc::clone(monitor),
            peers: Arc::clone(peers),
            scheduler: Arc::clone(scheduler),
            turn: Mutex::default(),
            state: Mutex::new(state),
        };
        witness.show();
        Ok(witness)
    }

    /// A party of so many that was put back, this one first.
    pub(crate) fn put_back_among(&self, parties: u8) -> Option<PutBack> {
        let state = lock(&self.state);
        let mut among = state.put_back.iter().filter(|known| known.party < parties);
        let own = state.put_back.iter().find(|known| known.party == self.me);
        own.or_else(|| among.next()).cloned()
    }

    /// What is on record of a party.
    pub(crate) fn put_back(&self, party: u8) -> Option<PutBack> {
        let state = lock(&self.state);
        state.put_back.iter().find(|known| known.party == party).cloned()
    }

    /// Says what this party remembers of a peer's log, and answers what the peer has asked. Gives whether all is on its way.
    pub(crate) fn greet(&self, peer: u8) -> bool {
        let Some(known) = self.peers.get(peer) else {
            return false;
        };
        let told = lock(&self.state).remembered.get(&peer).copied();
        let asks = {
            let past = &mut known.known().past;
            let asks = !past.is_confirmed();
            if asks {
                past.asked = Some(told.map_or(0, |told| told.number));
            }
            asks
        };
        if asks && !self.peers.is_told(peer, &Message::Remembers { told }) {
            known.known().past.asked = None;
            return false;
        }
        self.answer(peer)
    }

    /// Answers a peer's question, if one is open. Gives whether none is any more.
    fn answer(&self, peer: u8) -> bool {
        let Some(known) = self.peers.get(peer) else {
            return false;
        };
        let (question, answer) = {
            let past = &known.known().past;
            (past.question, past.answer)
        };
        let answer = match (answer, question) {
            (Some(answer), _) if answer.is_told => return true,
            (Some(answer), _) => answer,
            (None, None) => return true,
            (None, Some(told)) => {
                // As often as it may ask for other work; a question that comes too often is answered later.
                let may_ask = known.known().rounds.take(Instant::now());
                let Some(answer) = may_ask.then(|| self.look_up(peer, &told)).flatten() else {
                    return false;
                };
                known.known().past.answer = Some(answer);
                answer
            }
        };
        let Answer { number, there, .. } = answer;
        let is_told = self.peers.is_told(peer, &Message::Recalls { number, there });
        if let Some(answer) = known.known().past.answer.as_mut() {
            answer.is_told |= is_told && answer.number == number;
        }
        is_told
    }

    /// Looks up in this party's log what a peer remembers of it. Gives nothing where it cannot be read.
    fn look_up(&self, peer: u8, told: &Told) -> Option<Answer> {
        let claim = match self.heads.check(peer, told) {
            Ok(claim) => claim,
            Err(error) => {
                if let Some(unsaid) = self.peers.line_on(peer) {
                    tracing::error!(peer, %error, unsaid, "what a peer remembers of this party's audit log cannot be looked up; it is tried again");
                }
                return None;
            }
        };
        match claim {
            Claim::There | Claim::Acknowledged => {}
            Claim::Lost => self.note(self.me, peer, *told),
            Claim::NotOurs => self.refuse(peer, told),
        }
        Some(Answer {
            number: told.number,
            there: claim == Claim::There,
            is_told: false,
        })
    }

    /// A peer says what it remembers of this party's log.
    pub(crate) fn hear_remembers(&self, from: u8, told: Option<Told>) {
        let Some(peer) = self.peers.get(from) else { return };
        {
            let past = &mut peer.known().past;
            past.question = told;
            past.answer = told.is_none().then_some(Answer {
                number: 0,
                there: true,
                is_told: true,
            });
        }
        if !self.answer(from) {
            // The clock greets the peer again, and answers it then.
            peer.known().greeting = Greeting::Due;
        }
        self.look_at(from);
    }

    /// A peer says whether its log still holds what this party remembers.
    pub(crate) fn hear_recalls(&self, from: u8, number: u64, there: bool) {
        let Some(peer) = self.peers.get(from) else { return };
        let told = lock(&self.state).remembered.get(&from).copied();
        let told = told.filter(|told| told.number == number);
        let asked = peer.known().past.asked == Some(number);
        let Some(told) = told.filter(|_| asked) else {
            return self.monitor.refused(from);
        };
        if there {
            peer.known().past.is_there = true;
            self.look_at(from);
        } else if self.put_back(from).is_none() {
            self.note(from, self.me, told);
        }
    }

    /// A peer says how far its log has grown.
    pub(crate) fn hear_head(&self, from: u8, told: Told) {
        if !self.peers.get(from).is_some_and(|peer| peer.known().is_with_us()) {
            return;
        }
        let mut state = lock(&self.state);
        let before = state.remembered.get(&from).map_or(0, |before| before.number);
        if told.number > before {
            state.remembered.insert(from, told);
            state.unstored.insert(from);
        }
    }

    /// Something is new of a peer: where it can be worked with from now on, both say where their jobs stand.
    pub(crate) fn look_at(&self, party: u8) {
        let Some(peer) = self.peers.get(party) else { return };
        let has_come = {
            let mut known = peer.known();
            let is_with_us = known.is_with_us();
            if is_with_us {
                known.lost = None;
            }
            is_with_us && !std::mem::replace(&mut known.was_with_us, is_with_us)
        };
        if has_come {
            self.monitor.end_alarm(AlarmKind::PeerLost, &party.to_string());
            self.monitor.tell(&Happened::Peer { party });
            self.peers.put(party, 0, Task::Statuses);
            self.scheduler.start_ready();
        }
    }

    /// The log of a party lacks what another remembers.
    fn note(&self, party: u8, told_by: u8, told: Told) {
        {
            let mut state = lock(&self.state);
            match state.put_back.iter_mut().find(|known| known.party == party) {
                Some(known) => {
                    known.lines = known.lines.max(told.number);
                    if !known.told_by.contains(&told_by) {
                        known.told_by.push(told_by);
                    }
                }
                None => state.put_back.push(PutBack {
                    party,
                    lines: told.number,
                    told_by: vec![told_by],
                }),
            }
        }
        self.record((party, told_by, told));
        self.show();
        self.monitor.tell(&Happened::Peer { party });
    }

    fn record(&self, (party, told_by, told): (u8, u8, Told)) -> bool {
        let noted = self.heads.note_put_back(party, told_by, told, Timestamp::now());
        if let Err(error) = &noted {
            tracing::error!(party, %error, "that a party was put back cannot be recorded; it is tried again");
            lock(&self.state).unnoted.push((party, told_by, told));
        }
        noted.is_ok()
    }

    /// A peer claims what this party never told it. That stops nothing: else any peer could stop this party.
    fn refuse(&self, from: u8, told: &Told) {
        self.monitor.refused(from);
        if !lock(&self.state).refused.insert(from) {
            return;
        }
        let lines = told.number;
        self.monitor.alarm(
            AlarmKind::Warning,
            &format!("claim of party {from}"),
            format!(
                "Party {from} ({}) claims that this party's audit log had {lines} lines, and cannot show that this party has told it so. The claim proves nothing: \
                 it is false, or this party had another identity then.",
                self.peers.name(from)
            ),
            "Compare the number of lines in the audit log with your last note of it, and ask the party's operator how it came to that claim.",
        );
        let event = Event::ClaimRefused { peer: from, lines };
        if let Err(error) = self.database.audit(Timestamp::now(), event) {
            tracing::error!(from, %error, "a false claim cannot be noted in the audit log");
        }
    }

    /// Raises or ends the alarms, and sees that nothing is done with who was put back.
    fn show(&self) {
        for party in 0..self.peers.count() {
            let known = self.put_back(party);
            let name = self.peers.name(party);
            if let Some(peer) = self.peers.get(party) {
                let command = known.as_ref().map(|known| {
                    format!(
                        "its folder was put back to an earlier state, see `{}`",
                        command(known)
                    )
                });
                let mut peer = peer.known();
                peer.put_back = command;
                peer.was_with_us &= peer.is_with_us();
            }
            match known {
                Some(known) if party == self.me => self.monitor.alarm(
                    AlarmKind::PutBack,
                    &party.to_string(),
                    self.own_text(&known),
                    &format!(
                        "Find out who put the folder back, and what was done since: jobs, approvals and disclosures of that time are forgotten here. If the stock was put \
                         back with it, `cenote stock drop` deletes it. Then `{}` lets this service go on.",
                        command(&known)
                    ),
                ),
                Some(known) => self.monitor.alarm(
                    AlarmKind::PutBack,
                    &party.to_string(),
                    format!(
                        "The folder of party {party} ({name}) was put back to an earlier state: its audit log had {} lines, by its own word, and does not hold the last \
                         of them any more. Nothing is done with it: it may have forgotten what it has disclosed and used.",
                        known.lines
                    ),
                    &format!(
                        "Speak with its operator. When both of you know what was forgotten, `{}` goes on with it.",
                        command(&known)
                    ),
                ),
                None => self.monitor.end_alarm(AlarmKind::PutBack, &party.to_string()),
            }
        }
    }

    fn own_text(&self, known: &PutBack) -> String {
        let names = known.told_by.iter();
        let names: Vec<String> = names
            .map(|party| format!("party {party} ({})", self.peers.name(*party)))
            .collect();
        format!(
            "This party's folder was put back to an earlier state: {} can show that its audit log had {} lines, and it does not hold the last of them any more. \
             Disclosures that were used up since could be given again. No job begins here, and no rule approves one.",
            names.join(" and "),
            known.lines
        )
    }

    /// A person has `seen` that a party was put back, and goes on all the same.
    pub(crate) fn acknowledge(&self, seen: (u8, u64), by: Actor) -> Result<bool> {
        let turn = lock(&self.turn);
        self.record_again();
        let acknowledged = self.heads.acknowledge(seen, by, Timestamp::now())?;
        let put_back = self.heads.put_back()?;
        let party = seen.0;
        {
            let mut state = lock(&self.state);
            state.put_back = put_back;
            if acknowledged {
                state.remembered.remove(&party);
                state.unstored.remove(&party);
            }
        }
        drop(turn);
        if let Some(peer) = self.peers.get(party).filter(|_| acknowledged) {
            let past = &mut peer.known().past;
            past.asked = past.asked.map(|_| 0);
        }
        self.show();
        self.look_at(party);
        self.scheduler.start_ready();
        Ok(acknowledged)
    }

    fn record_again(&self) {
        let unnoted = std::mem::take(&mut lock(&self.state).unnoted);
        unnoted.into_iter().for_each(|one| {
            self.record(one);
        });
    }

    /// By the clock: records what peers have told, and tells them how far this party's log has grown.
    pub(crate) fn look(&self) {
        let _turn = lock(&self.turn);
        // Whether anything can be recorded again is tried elsewhere.
        if self.database.fault().is_none() {
            self.record_again();
            self.store();
        }
        self.tell();
    }

    /// Records what peers have told.
    fn store(&self) {
        let all: Vec<(u8, Told)> = {
            let mut state = lock(&self.state);
            let peers = std::mem::take(&mut state.unstored);
            let told = peers.into_iter();
            told.filter_map(|peer| Some((peer, *state.remembered.get(&peer)?)))
                .collect()
        };
        let peers: Vec<u8> = all.iter().map(|(peer, _)| *peer).collect();
        if !all.is_empty()
            && let Err(error) = self.heads.remember(all)
        {
            tracing::error!(%error, "what peers tell of their audit logs cannot be recorded; it is tried again");
            lock(&self.state).unstored.extend(peers);
        }
    }

    fn tell(&self) {
        for peer in 0..self.peers.count() {
            if !self.peers.get(peer).is_some_and(|known| known.known().listens()) {
                continue;
            }
            let told = self.heads.tell(peer);
            let before = lock(&self.state).told.get(&peer).copied();
            if before != Some(told.number) && self.peers.is_told(peer, &Message::Head { told }) {
                lock(&self.state).told.insert(peer, told.number);
            }
        }
    }

    /// Peers are told again how far this party's log has grown.
    pub(crate) fn tell_again(&self) {
        lock(&self.state).told.clear();
    }
}

#[cfg(test)]
impl Witness {
    /// The line of a peer's log that is remembered, on record too.
    pub(crate) fn line_of(&self, peer: u8) -> Option<u64> {
        let _turn = lock(&self.turn);
        let on_record = self.heads.remembered().expect("read");
        let told = lock(&self.state).remembered.get(&peer).copied();
        told.filter(|told| on_record.get(&peer) == Some(told))
            .map(|told| told.number)
    }
}

fn command(known: &PutBack) -> String {
    format!("cenote peer acknowledge {} --lines {}", known.party, known.lines)
}
