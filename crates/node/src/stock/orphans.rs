//! Stock that others lack, as after a crash, or where a folder was lost or put back.
//!
//! A party asks its peers now and then which of the items on a shelf they lack. A peer answers for a shelf only that is in use by nobody there, and that it
//! could read: what it is making, using or has not looked at yet it does not lack. Its word holds while it is here. The shelf is counted again with it as
//! soon as it is free, by the thread that keeps stock. What all others that must have an item lack is dropped, within limits; of three parties' stock also
//! what one lacks that has told both others so. What only this party has heard of one of two peers stays, since that peer may lie. Of whatever stays that
//! a peer lacks there is an alarm.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cenote::stock::ItemId;
use cenote_service::job::Digest;
use cenote_service::live::AlarmKind;

use super::{SHELVES, State, Stock};
use crate::message::{LACKS, Message};

/// How often a peer is asked.
const ASK: Duration = Duration::from_secs(60);
/// How long something may stay that a peer lacks without an alarm.
const STAY: Duration = Duration::from_secs(60);

/// What a peer has said that it lacks, since it is here.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    lacks: BTreeSet<(u8, ItemId)>,
    /// The shelves that it was asked about and has not answered for, and those that it has answered for.
    pub(super) open: BTreeSet<u8>,
    pub(super) answered: BTreeSet<u8>,
    /// When it was last asked.
    pub(super) asked: Option<Instant>,
    /// Since when something stays that it lacks.
    stays: Option<Instant>,
}

impl Words {
    pub(super) fn lacks(&self, shelf: u8, item: ItemId) -> bool {
        self.lacks.contains(&(shelf, item))
    }

    /// What it lacks of a shelf is this now. Whether that is news; what it said when it was here before is forgotten.
    fn say(&mut self, shelf: u8, items: BTreeSet<(u8, ItemId)>) -> bool {
        let known = self.lacks.iter().filter(|(of, _)| *of == shelf);
        let is_news = self.answered.insert(shelf) || known.ne(&items);
        self.lacks.retain(|(of, _)| *of != shelf);
        self.lacks.extend(items);
        is_news
    }

    fn is_due(&self, now: Instant) -> bool {
        self.asked.is_none_or(|asked| now.duration_since(asked) >= ASK)
    }

    /// Whether something that it lacks has stayed for long.
    fn is_doubtful(&mut self, stays: bool, now: Instant) -> bool {
        if !stays {
            self.stays = None;
            return false;
        }
        now.duration_since(*self.stays.get_or_insert(now)) >= STAY
    }
}

impl State {
    /// The items on each shelf of which a peer is asked now which it lacks. Shelves that are in use or have none that it must have are left
    /// out.
    fn questions(&mut self, party: u8, now: Instant) -> BTreeMap<u8, Vec<Digest>> {
        let items_on = |shelf: u8| -> Vec<Digest> {
            let held = self.held[usize::from(shelf)].as_ref();
            let held = held.filter(|_| !self.busy[usize::from(shelf)]);
            let held = held.into_iter().flatten();
            let of_peer = held.filter(|(_, parties)| party < **parties);
            of_peer.map(|(id, _)| Digest(id.0)).take(LACKS).collect()
        };
        let questions = (0..SHELVES).map(|shelf| (shelf, items_on(shelf)));
        let questions: BTreeMap<_, _> = questions.filter(|(_, items)| !items.is_empty()).collect();
        let words = self.words.entry(party).or_default();
        words.asked = Some(now);
        words.open.extend(questions.keys());
        questions
    }
}

impl Stock {
    /// Asks peers that are here what they lack, each once a minute.
    pub(super) fn look_for_orphans(&self, now: Instant) {
        for party in 0..self.peers.count() {
            let Some(peer) = self.peers.get(party) else {
                continue;
            };
            let is_here = peer.known().listens();
            let (key, name) = (format!("lacks {party}"), self.peers.name(party));
            if !is_here || self.stores.is_empty() {
                self.monitor.end_alarm(AlarmKind::StockLow, &key);
                continue;
            }
            let (questions, doubtful) = {
                let mut state = self.state();
                let stays = state.stays.iter().filter(|lack| lack.by == party).count();
                let words = state.words.entry(party).or_default();
                let is_due = words.is_due(now);
                let doubtful = words.is_doubtful(stays > 0, now).then_some(stays);
                let questions = match is_due {
                    true => state.questions(party, now),
                    false => BTreeMap::new(),
                };
                (questions, doubtful)
            };
            for (shelf, items) in questions {
                self.peers.tell(party, &Message::Compare { shelf, items });
            }
            match doubtful {
                Some(items) => self.monitor.alarm(
                    AlarmKind::StockLow,
                    &key,
                    format!("Party {party} ({name}) says here that it lacks {items} items of stock that this party has."),
                    "Find out with the others whether it does. The items stay meanwhile, and jobs do not use them. If it does, stop the service and \
                     remove them with `cenote stock drop`.",
                ),
                None => self.monitor.end_alarm(AlarmKind::StockLow, &key),
            }
        }
    }

    /// A peer asks which of these items this party lacks.
    pub(crate) fn hear_compare(&self, from: u8, shelf: u8, items: &[Digest]) {
        let at = usize::from(shelf);
        let lacking: Vec<Digest> = {
            let state = self.state();
            let Some(Some(held)) = state.held.get(at) else {
                return;
            };
            if state.busy[at] {
                return;
            }
            let lacks = |item: &&Digest| !held.contains_key(&ItemId(item.0));
            items.iter().filter(lacks).copied().collect()
        };
        self.peers.tell(
            from,
            &Message::Lacking {
                shelf,
                items: lacking,
            },
        );
    }

    /// A peer says which items it lacks of those that it was asked about.
    pub(crate) fn hear_lacking(&self, from: u8, shelf: u8, items: &[Digest]) {
        let mut state = self.state();
        let words = state.words.get_mut(&from);
        if !words.is_some_and(|words| words.open.remove(&shelf)) {
            drop(state);
            self.monitor.refused(from);
            return;
        }
        let Some(Some(held)) = state.held.get(usize::from(shelf)) else {
            return;
        };
        let ids = items.iter().map(|item| ItemId(item.0));
        let ours = ids.filter(|id| held.get(id).is_some_and(|parties| from < *parties));
        let ours = ours.map(|id| (shelf, id)).collect();
        if state.words.entry(from).or_default().say(shelf, ours) {
            state.news.insert(shelf);
            drop(state);
            self.moved.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_until_another_is_said_and_is_doubted_after_a_while() {
        let of = |items: &[u8]| items.iter().map(|item| (1, ItemId([*item; 32]))).collect();
        let mut words = Words::default();
        assert!(words.say(1, of(&[])) && words.say(1, of(&[3, 4])) && !words.say(1, of(&[3, 4])));
        assert!(words.say(1, of(&[4])) && words.say(2, BTreeSet::new()) && !words.say(2, BTreeSet::new()));
        assert!(words.lacks(1, ItemId([4; 32])) && !words.lacks(1, ItemId([3; 32])));
        assert!(!words.lacks(2, ItemId([4; 32])));

        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        assert!(words.is_due(start));
        words.asked = Some(start);
        assert!(!words.is_due(later(59)) && words.is_due(later(60)));
        assert!(!words.is_doubtful(true, start) && words.is_doubtful(true, later(60)));
        assert!(!words.is_doubtful(false, later(61)) && !words.is_doubtful(true, later(62)));
    }
}
