//! How a party joins a session over its trunks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::link::StreamLink;
use super::peer::Slot;
use super::sessions::{Gathering, Met, Offer};
use super::shared::{Keep, Shared};
use super::wire::{Join, labels_digest, session_hash};
use crate::config::check_labels;
use crate::deadline::Deadline;
use crate::roll::ROLL_CALL;
use crate::{Awaited, Channel, ChannelOptions, Error, Framed, Label, Mesh, Result, Waiting};

/// The longest sleep while a peer is awaited.
const LOOK: Duration = Duration::from_millis(200);
/// How long the others are still awaited when a peer has given up: who gives up first does so because of another, perhaps,
/// which is then named by all.
const GRACE: Duration = Duration::from_secs(1);

/// Joins the session with the first `parties` parties.
pub(super) fn join(
    keep: &Arc<Keep>,
    session: &str,
    parties: u8,
    labels: &[Label],
    options: &ChannelOptions,
    timeout: Duration,
) -> Result<Mesh> {
    let shared = &keep.0;
    check_labels(labels)?;
    if usize::from(parties) > shared.parties.len() || shared.me.0 >= parties {
        return Err(Error::Local {
            what: "joining a session".into(),
            reason: format!("{} of {parties} parties", shared.me),
        });
    }
    let mut labels = labels.to_vec();
    labels.sort();
    let join = Join {
        session: session_hash(session),
        labels: labels_digest(&labels),
        answers: 0,
        window: 0,
        channels: labels.len() as u16,
        parties,
    };
    let mut wait = Wait {
        shared,
        offers: Vec::new(),
        gathering: Arc::default(),
        deadline: Deadline::new(timeout),
        options,
    };
    match wait.gather(join) {
        Ok(met) => {
            wait.end(None);
            channels(keep, &labels, options, met)
        }
        Err(error) => {
            // What the others hear is this party's word only.
            wait.end(Some(&error.to_string()));
            Err(error)
        }
    }
}

/// The wait for all peers.
struct Wait<'a> {
    shared: &'a Shared,
    offers: Vec<(&'a Slot, Arc<Offer>)>,
    gathering: Arc<Gathering>,
    deadline: Deadline,
    options: &'a ChannelOptions,
}

impl Wait<'_> {
    fn gather(&mut self, join: Join) -> Result<Vec<Met>> {
        for slot in self.shared.slots.iter().filter(|slot| slot.peer.0 < join.parties) {
            let offer = Arc::new(Offer {
                peer: slot.peer,
                join,
                queue_bytes: self.options.queue_bytes,
                outcome: Mutex::default(),
                gathering: self.gathering.clone(),
            });
            slot.offer(&offer)?;
            self.offers.push((slot, offer));
        }
        let after = self.options.on_wait.after();
        let mut told = false;
        let mut lost: Option<(Error, Deadline)> = None;
        loop {
            match self.met() {
                Ok(Some(met)) => return Ok(met),
                Ok(None) => {}
                Err(error @ Error::PeerLost { .. }) if self.unmet().next().is_some() => {
                    lost.get_or_insert_with(|| (error, Deadline::new(GRACE)));
                }
                Err(error) => return Err(error),
            }
            let grace = match &lost {
                None => LOOK,
                Some((error, grace)) => grace.remaining().ok_or_else(|| error.clone())?,
            };
            let left = self.deadline.remaining();
            let Some(left) = left.filter(|_| !self.options.patience.is_over()) else {
                return Err(self.missing());
            };
            let waited = self.deadline.waited();
            if !told && waited >= after {
                told = true;
                self.tell(waited, left);
            }
            let sleep = if told { left } else { left.min(after - waited) };
            self.gathering.wait(sleep.min(grace));
        }
    }

    /// What all offers have come to, once it is known.
    fn met(&self) -> Result<Option<Vec<Met>>> {
        let outcomes = self.offers.iter().map(|(_, offer)| offer.latest());
        let outcomes: Vec<_> = outcomes.collect();
        if let Some(error) = outcomes
            .iter()
            .flatten()
            .find_map(|outcome| outcome.as_ref().err())
        {
            return Err(error.clone());
        }
        Ok(outcomes
            .into_iter()
            .map(|outcome| outcome.and_then(std::result::Result::ok))
            .collect())
    }

    fn unmet(&self) -> impl Iterator<Item = &Slot> {
        let unmet = |offer: &Offer| offer.outcome().is_none();
        (self.offers.iter()).filter_map(move |(slot, offer)| unmet(offer).then_some(*slot))
    }

    fn missing(&self) -> Error {
        let Some(slot) = self.unmet().next() else {
            return Error::Closed { peer: self.shared.me };
        };
        let pinned = self.shared.parties[slot.peer.index()].fingerprint;
        slot.missing(
            pinned.filter(|_| slot.peer > self.shared.me),
            self.deadline.waited(),
        )
    }

    /// Tells of the peers that are missing for long.
    fn tell(&self, waited: Duration, left: Duration) {
        for slot in self.unmet() {
            self.options.on_wait.tell(&Waiting {
                peer: slot.peer,
                awaited: Awaited::Join,
                waited,
                left,
            });
        }
    }

    fn end(&self, failure: Option<&str>) {
        for (slot, offer) in &self.offers {
            slot.end_offer(offer, failure);
        }
    }
}

/// Makes channels of the streams.
fn channels(keep: &Arc<Keep>, labels: &[Label], options: &ChannelOptions, met: Vec<Met>) -> Result<Mesh> {
    let (mut calls, mut channels) = (Vec::new(), Vec::new());
    for met in met {
        for (label, stream) in labels.iter().zip(met.streams) {
            let peer = met.trunk.peer;
            let link = StreamLink::new(stream, met.trunk.clone(), keep.clone());
            let channel: Box<dyn Channel> = Box::new(Framed::new(peer, link, options.of(label)));
            if label.as_str() == ROLL_CALL {
                calls.push(channel);
            } else {
                channels.push((label.clone(), channel));
            }
        }
    }
    options.roll.begin(calls, options.timeout)?;
    Ok(Mesh::from_channels(channels))
}
