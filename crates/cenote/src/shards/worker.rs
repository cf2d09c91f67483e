//! A worker that is a process of its own: it asks its coordinator for work until there is none.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cenote_net::{Channel, ChannelOptions, Identity, Relayed, dial_own};
use cenote_shards::{Attempt, Crew as _, Event, Outcome, Place};

use super::attempt::Work;
use super::crew::{Listening, Threads};
use super::job_digest;
use super::wire::{Listens, Said, Told, receive, send, strange};
use crate::stop;
use crate::{Error, Result};

/// How often a worker that waits asks its coordinator.
pub const WORKER_PAUSE: Duration = Duration::from_millis(40);

/// How often a worker that computes says how far it is.
const NOW_AND_THEN: Duration = Duration::from_millis(300);

/// How long it waits before it tries again to reach its coordinator.
const AGAIN: Duration = Duration::from_millis(200);

/// A worker and the channel to its coordinator.
pub(super) struct Worker {
    work: Arc<Work>,
    crew: Threads,
    events: Receiver<Event>,
    channel: Box<dyn Channel>,
    /// The host of the coordinator, whose relay peers reach it through, if they do.
    relay: Option<String>,
}

impl Worker {
    /// Connects to the coordinator at `address`, for as long as one waits for a party to appear.
    pub(super) fn connect(
        work: Arc<Work>,
        (listening, relayed): (Listening, bool),
        address: &str,
        identity: &Identity,
    ) -> Result<Self> {
        let until = Instant::now() + work.meeting.connect_timeout;
        let options = ChannelOptions::with_timeout(work.meeting.timeout);
        let channel_to = loop {
            if let Some(word) = stop::word() {
                return Err(Error::Stopped {
                    word,
                    what: "the worker had not met its coordinator".into(),
                });
            }
            match dial_own(work.me, identity, address, &options, work.meeting.timeout) {
                Ok(channel) => break channel,
                Err(error @ cenote_net::Error::Identity { .. }) => return Err(error.into()),
                Err(error) if Instant::now() >= until => {
                    return Err(Error::Service {
                        kind: crate::Kind::Network,
                        what: format!(
                            "the coordinator at {address} was not reached within {:.0} s: {error}; start it with `cenote party … --coordinate {address}`",
                            work.meeting.connect_timeout.as_secs_f64()
                        ),
                    });
                }
                Err(_) => sleep(AGAIN),
            }
        };
        let (sender, events) = channel();
        // Nobody listens any more once the worker ends.
        let tell = move |event| drop(sender.send(event));
        Ok(Worker {
            crew: Threads::new(Arc::clone(&work), Arc::new(tell), listening),
            work,
            events,
            channel: channel_to,
            relay: relayed.then(|| host_of(address)),
        })
    }

    fn say(&mut self, said: &Said) -> Result<Told> {
        send(&mut *self.channel, said)?;
        receive(&mut *self.channel)
    }

    /// Does what the coordinator says until there is nothing more to do. `told` hears of each attempt, and what has become of it.
    pub(super) fn run(mut self, told: &mut dyn FnMut(&Attempt, &Outcome)) -> Result<()> {
        let mut answer = self.say(&Said::Hello(job_digest(&*self.work.job), self.relay.is_some()))?;
        loop {
            match answer {
                Told::Wait => sleep(WORKER_PAUSE),
                Told::Begin(name, coin) => self.crew.begin(&name, &coin),
                Told::Listen(attempt) => {
                    let outcome = self.attempt(&attempt)?;
                    told(&attempt, &outcome);
                    let report = self.work.state().report.take();
                    let report = report.filter(|_| outcome == Outcome::Done);
                    let report = report.and_then(|report| serde_json::to_string(&report).ok());
                    self.say(&Said::Ended(outcome.clone(), report))?;
                    if let Outcome::Failed(_) = outcome {
                        let failure = self.work.state().failure.take();
                        return Err(failure.unwrap_or_else(|| Error::Usage("the shard failed".into())));
                    }
                }
                Told::Over => return Ok(()),
                Told::Gone => return Err(gone()),
                Told::Refused(why) => return Err(Error::Usage(why)),
                Told::Meet(..) | Told::Relay(..) | Told::Go | Told::End => {}
            }
            if let Some(word) = stop::word() {
                return Err(Error::Stopped {
                    word,
                    what: "the worker has ended, and its coordinator hands its shard to another".into(),
                });
            }
            answer = self.say(&Said::Free)?;
        }
    }

    /// Makes an attempt at a part.
    fn attempt(&mut self, attempt: &Attempt) -> Result<Outcome> {
        self.crew.listen(attempt);
        let (mut is_ended, mut relayed) = (false, None);
        loop {
            let said = match self.events.recv_timeout(NOW_AND_THEN) {
                Ok(Event::Listens { place, .. }) => {
                    let mut answer = self.say(&Said::Listens(Listens::from(&place)))?;
                    if let (Told::Relay(port, ticket), Some(host)) = (&answer, &self.relay) {
                        let own = place.address.parse().map_err(|_| strange("where it listens"))?;
                        relayed = Some(Relayed::start(format!("{host}:{port}"), *ticket, own)?);
                        answer = Told::Wait;
                    }
                    while let Told::Wait = answer {
                        sleep(WORKER_PAUSE);
                        answer = self.say(&Said::Waits)?;
                    }
                    let Told::Meet(name, places) = answer else {
                        self.crew.end(attempt);
                        return Ok(Outcome::Lost("it does not count".into()));
                    };
                    let places: Vec<Place> =
                        places.into_iter().map(Place::try_from).collect::<Result<_>>()?;
                    self.crew.meet(attempt, &name, &places);
                    continue;
                }
                Ok(Event::Ended { outcome, .. }) => {
                    drop(relayed);
                    return Ok(outcome);
                }
                Ok(Event::Progress { done, total, .. }) => Said::Works(done, total),
                Ok(Event::Free | Event::Stop) => continue,
                Err(RecvTimeoutError::Timeout) => Said::Works(0, 0),
                Err(RecvTimeoutError::Disconnected) => return Ok(Outcome::Lost("it ended".into())),
            };
            if !is_ended && matches!(self.say(&said)?, Told::End) {
                is_ended = true;
                self.crew.end(attempt);
            }
        }
    }
}

/// The host of `host:port`.
fn host_of(address: &str) -> String {
    address
        .rsplit_once(':')
        .map_or(address, |(host, _)| host)
        .to_owned()
}

/// The coordinator goes before the job is done.
fn gone() -> Error {
    Error::Service {
        kind: crate::Kind::Network,
        what: "the coordinator has ended, and the job is not done; its own messages say why. Start it again, and this worker".into(),
    }
}
