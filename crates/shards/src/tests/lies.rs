//! Coordinators that lie about attempts, or talk nonsense.

use cenote_session::{Check, Error as SessionError, MESSAGE_FORM, handshake};

use super::*;
use crate::Error;
use crate::all::All;
use crate::checks::ATTEMPTS;
use crate::message::{self, Word};
use crate::resume::resume;
use crate::steps::{LENGTH, WORD};

/// What a coordinator does that lies.
type Script = fn(&mut Puppet);

/// A coordinator that says what the test wants, once it has met the others.
pub(super) struct Puppet(pub(super) All);

impl Puppet {
    fn new(world: &World, me: u8, mut connections: Connections) -> Self {
        let run = handshake(PartyId(me), &mut connections, &world.job.all_terms(), &()).unwrap();
        let mut all = All::new(PartyId(me), connections).unwrap();
        let mut ledger = world.ledger(usize::from(me));
        resume(&mut all, &run, &[me; 32], &mut ledger, &mut Entropy::os()).unwrap();
        Puppet(all)
    }

    pub(super) fn say_to(&mut self, peer: PartyId, word: &Word) {
        let pair = self.0.pairs.iter_mut().find(|pair| pair.peer == peer).unwrap();
        message::send(&mut *pair.out, &word.encode()).unwrap();
    }

    pub(super) fn say(&mut self, word: &Word) {
        for peer in self.peers() {
            self.say_to(peer, word);
        }
    }

    /// Bytes that are no word.
    fn say_bytes(&mut self, length: u32, bytes: &[u8]) {
        for pair in &mut self.0.pairs {
            pair.out.send(LENGTH, &length.to_le_bytes()).unwrap();
            pair.out.send(WORD, bytes).unwrap();
            pair.out.flush().unwrap();
        }
    }

    fn peers(&self) -> Vec<PartyId> {
        self.0.pairs.iter().map(|pair| pair.peer).collect()
    }

    /// Waits until all peers have said `word`.
    pub(super) fn hear(&mut self, word: &Word) {
        for pair in &mut self.0.pairs {
            while message::receive(&mut *pair.into).unwrap() != *word {}
        }
    }

    /// Waits until a peer has said such a word.
    pub(super) fn hear_from(&mut self, peer: PartyId, wanted: impl Fn(&Word) -> bool) {
        let pair = self.0.pairs.iter_mut().find(|pair| pair.peer == peer).unwrap();
        while !wanted(&message::receive(&mut *pair.into).unwrap()) {}
    }

    /// The same for their word that a worker listens.
    pub(super) fn hear_listens(&mut self, wanted: Attempt) {
        for pair in &mut self.0.pairs {
            loop {
                match message::receive(&mut *pair.into).unwrap() {
                    Word::Listens { attempt, .. } if attempt == wanted => break,
                    _ => {}
                }
            }
        }
    }

    pub(super) fn listens(&mut self, attempt: Attempt) {
        let fingerprint = "07".repeat(32).parse().unwrap();
        let place = crate::Place {
            address: "puppet:1".into(),
            fingerprint,
        };
        self.say(&Word::Listens { attempt, place });
    }

    pub(super) fn ended(&mut self, attempt: Attempt, outcome: Outcome) {
        self.say(&Word::Ended { attempt, outcome });
    }

    fn settled(&mut self, attempt: Attempt, done: bool) {
        self.say(&Word::Settled { attempt, done });
    }

    /// Does an attempt as it should be done, as the leader.
    fn does(&mut self, attempt: Attempt, outcome: &Outcome) {
        self.say(&Word::Start(attempt));
        self.listens(attempt);
        self.hear_listens(attempt);
        self.ended(attempt, outcome.clone());
        let done = *outcome == Outcome::Done;
        self.hear(&Word::Settled { attempt, done });
        self.settled(attempt, done);
    }
}

/// What comes of the job at the honest parties while `liar` follows the script.
pub(super) fn against(world: &World, liar: u8, script: impl FnOnce(&mut Puppet) + Send) -> Vec<Result<Done>> {
    let parties = world.folders.len() as u8;
    let mut all: Vec<_> = (0..).zip(connections(parties)).collect();
    let (_, strings) = all.remove(usize::from(liar));
    std::thread::scope(|scope| {
        let puppet = scope.spawn(move || {
            let mut puppet = Puppet::new(world, liar, strings);
            script(&mut puppet);
            puppet
        });
        let honest = |(me, connections)| {
            scope.spawn(move || world.one(me, world.ledger(usize::from(me)), connections))
        };
        let honest: Vec<_> = all.into_iter().map(honest).collect();
        let results = honest.into_iter().map(|thread| thread.join().unwrap()).collect();
        drop(puppet.join().unwrap());
        results
    })
}

/// The lie is noticed by that check, and these words are said of it. `blamed` is whom the check names.
#[track_caller]
fn noticed(result: &Result<Done>, wanted: Check, blamed: Option<u8>, words: &str) {
    let Err(Error::Session(SessionError::Aborted {
        check, peer, detail, ..
    })) = result
    else {
        panic!("{result:?}");
    };
    assert_eq!((*check, *peer), (wanted, blamed.map(PartyId)), "{detail}");
    assert!(detail.contains(words), "{detail}");
}

/// Workers that run until they are ended.
fn endless(parties: u8) -> World {
    World::new(parties, job(3, 9)).with_fates(|_, _| None)
}

#[test]
fn a_leader_that_hands_out_what_may_not_be_is_caught() {
    let (first, lost) = (shard(0, 1), Outcome::Lost("gone".into()));
    let starts: [(&[Attempt], &str); 7] = [
        (&[first, first], "still runs"),
        (&[first, shard(0, 2)], "still runs"),
        (&[shard(0, 2)], "number 0"),
        (&[shard(0, 0)], "number 0"),
        (&[shard(3, 1)], "none is shard 3"),
        (&[first, merge(1)], "3 shards are not done"),
        (&[merge(1)], "3 shards are not done"),
    ];
    for (starts, words) in starts {
        let results = against(&endless(2), 0, |puppet| {
            starts
                .iter()
                .for_each(|&attempt| puppet.say(&Word::Start(attempt)));
        });
        noticed(&results[0], ATTEMPTS, Some(0), words);
    }
    let again = [(1, "number 1"), (3, "number 1"), (u32::MAX, "number 1")];
    for (number, words) in again {
        let results = against(&endless(2), 0, |puppet| {
            puppet.does(first, &lost);
            puppet.say(&Word::Start(shard(0, number)));
        });
        noticed(&results[0], ATTEMPTS, Some(0), words);
    }
    let done = World::new(2, job(3, 9));
    let results = against(&done, 0, |puppet| {
        puppet.does(first, &Outcome::Done);
        puppet.say(&Word::Start(shard(0, 2)));
    });
    noticed(&results[0], ATTEMPTS, Some(0), "is done");
}

/// A follower counts for itself: it ends the job before a leader could hand out more than there may be.
#[test]
fn a_leader_cannot_go_beyond_the_attempts_of_the_job() {
    let world = World::new(2, job(1, 3)).with_fates(|_, _| None);
    let results = against(&world, 0, |puppet| {
        for number in 1..=2 {
            puppet.say(&Word::Start(shard(0, number)));
            puppet.listens(shard(0, number));
            puppet.ended(shard(0, number), Outcome::Lost("gone".into()));
            puppet.settled(shard(0, number), false);
        }
        puppet.say(&Word::Start(shard(0, 3)));
    });
    assert!(
        matches!(
            results[0],
            Err(Error::UsedUp {
                times: 2,
                left: 1,
                ..
            })
        ),
        "{results:?}"
    );
    assert_eq!(world.shared.lock().unwrap().asked(PartyId(1)), 2);
}

#[test]
fn only_the_leader_hands_out() {
    for parties in [2, 3] {
        let results = against(&endless(parties), 1, |puppet| {
            puppet.say(&Word::Start(shard(0, 1)))
        });
        noticed(&results[0], ATTEMPTS, Some(1), "as only party 0 may");
    }
}

#[test]
fn what_cannot_be_said_of_an_attempt_is_caught() {
    let one = shard(0, 1);
    let scripts: [(Script, &str); 9] = [
        (|puppet| puppet.listens(shard(0, 1)), "was not handed out"),
        (|puppet| puppet.ended(shard(2, 9), Outcome::Done), "number 0"),
        (
            |puppet| puppet.ended(shard(77, 1), Outcome::Done),
            "none is shard 77",
        ),
        (|puppet| puppet.settled(shard(0, 1), true), "has not ended there"),
        (
            |puppet| {
                puppet.say(&Word::Start(shard(0, 1)));
                puppet.listens(shard(0, 1));
                puppet.listens(shard(0, 1));
            },
            "says twice where",
        ),
        (
            |puppet| {
                puppet.say(&Word::Start(shard(0, 1)));
                puppet.ended(shard(0, 1), Outcome::Done);
            },
            "before its worker listened",
        ),
        (
            |puppet| {
                puppet.say(&Word::Start(shard(0, 1)));
                puppet.listens(shard(0, 1));
                puppet.ended(shard(0, 1), Outcome::Done);
                puppet.ended(shard(0, 1), Outcome::Lost("no".into()));
            },
            "ends twice there",
        ),
        (
            |puppet| {
                puppet.say(&Word::Start(shard(0, 1)));
                puppet.settled(shard(0, 1), false);
            },
            "has not ended there",
        ),
        (
            |puppet| {
                puppet.say(&Word::Start(shard(0, 1)));
                puppet.listens(shard(0, 1));
                puppet.ended(shard(0, 1), Outcome::Lost("no".into()));
                puppet.settled(shard(0, 1), true);
            },
            "was done somewhere",
        ),
    ];
    for (script, words) in scripts {
        let world = endless(2);
        let results = against(&world, 0, script);
        noticed(&results[0], ATTEMPTS, Some(0), words);
        let asked = world.shared.lock().unwrap().asked(PartyId(1));
        let recorded = world.lines(1).len();
        assert!(asked <= 1 && recorded >= asked, "{one}: {asked} {recorded}");
    }
}

/// The same lies of a follower, to its leader.
#[test]
fn a_follower_that_lies_is_caught() {
    let scripts: [(Script, Check, &str); 3] = [
        (
            |puppet| puppet.listens(shard(2, 1)),
            ATTEMPTS,
            "was not handed out",
        ),
        (
            |puppet| puppet.ended(merge(1), Outcome::Done),
            ATTEMPTS,
            "3 shards are not done",
        ),
        (
            |puppet| puppet.say(&Word::Free { free: 1, started: 9 }),
            MESSAGE_FORM,
            "9 attempts have started",
        ),
    ];
    for (script, check, words) in scripts {
        for parties in [2, 3] {
            let mut world = endless(parties);
            world.slots = 0;
            let results = against(&world, 1, script);
            noticed(&results[0], check, Some(1), words);
        }
    }
}

/// One of three says to one that its worker was done, and to the other that it was not.
#[test]
fn different_words_on_the_end_of_an_attempt_are_caught() {
    let one = shard(0, 1);
    let mut world = World::new(3, job(1, 9));
    world.slots = 1;
    let results = against(&world, 2, |puppet| {
        puppet.say(&Word::Free { free: 1, started: 0 });
        puppet.hear_listens(one);
        puppet.listens(one);
        let ended = |outcome| Word::Ended {
            attempt: one,
            outcome,
        };
        puppet.say_to(PartyId(0), &ended(Outcome::Done));
        puppet.say_to(PartyId(1), &ended(Outcome::Lost("no".into())));
        puppet.hear(&ended(Outcome::Done));
    });
    // Whether party 1's worker was done before it heard that party 2 had lost it, or not: the two settle it differently, or it is lost at both.
    let caught: Vec<&Result<Done>> = results
        .iter()
        .filter(|result| matches!(result, Err(Error::Session(SessionError::Aborted { .. }))))
        .collect();
    assert!(!caught.is_empty(), "{results:?}");
    for result in caught {
        noticed(result, ATTEMPTS, None, "everywhere, by what this party has heard");
    }
}

#[test]
fn nonsense_ends_the_job() {
    let scripts: [Script; 5] = [
        |puppet| puppet.say_bytes(u32::MAX, &[]),
        |puppet| puppet.say_bytes(3 << 10, &[0; 3 << 10]),
        |puppet| puppet.say_bytes(5, &[250; 5]),
        |puppet| puppet.say_bytes(0, &[]),
        |puppet| puppet.say_bytes(5, &[0; 4]),
    ];
    for script in scripts {
        let results = against(&endless(2), 1, script);
        noticed(&results[0], MESSAGE_FORM, Some(1), "");
    }
}

/// A peer that is there, but never says that it has ended.
#[test]
fn a_peer_that_never_ends_is_named() {
    let world = World::new(2, job(1, 9)).with_fates(|_, _| Some(Outcome::Lost("gone".into())));
    let [first, second] = <[_; 2]>::try_from(connections(2)).ok().unwrap();
    let result = std::thread::scope(|scope| {
        let world = &world;
        let puppet = scope.spawn(move || {
            let mut puppet = Puppet::new(world, 0, first);
            puppet.say(&Word::Start(shard(0, 1)));
            puppet.listens(shard(0, 1));
            puppet
        });
        let (events, inbox) = events();
        let limits = Limits {
            end: Duration::from_millis(20),
            ..limits()
        };
        let party = Party { limits, ..party(1) };
        let mut crew = world.crew(1, events);
        let result = coordinate(
            &party,
            second,
            &mut world.ledger(1),
            &mut crew,
            inbox,
            &mut |_| {},
        );
        drop(puppet.join().unwrap());
        result
    });
    let Err(Error::Late { peer, awaited, .. }) = &result else {
        panic!("{result:?}");
    };
    assert_eq!(
        (*peer, awaited.as_str()),
        (PartyId(0), "the end of shard 0 (attempt 1)")
    );
}

/// A coordinator that says nothing at all any more, while its connection stays.
#[test]
fn a_silent_peer_is_named_with_what_it_should_have_said() {
    let world = endless(2);
    let short = Duration::from_millis(300);
    let [first, second] = <[_; 2]>::try_from(Connections::in_memory(&topology(2), short))
        .ok()
        .unwrap();
    let result = std::thread::scope(|scope| {
        let world = &world;
        let puppet = scope.spawn(move || {
            let mut puppet = Puppet::new(world, 0, first);
            puppet.say(&Word::Start(shard(0, 1)));
            puppet.listens(shard(0, 1));
            puppet
        });
        let (events, inbox) = events();
        let limits = Limits {
            silence: short,
            ..limits()
        };
        let party = Party { limits, ..party(1) };
        let mut crew = world.crew(1, events);
        let result = coordinate(
            &party,
            second,
            &mut world.ledger(1),
            &mut crew,
            inbox,
            &mut |_| {},
        );
        drop(puppet.join().unwrap());
        result
    });
    let Err(Error::Silent { peer, awaited, .. }) = &result else {
        panic!("{result:?}");
    };
    assert_eq!(
        (*peer, awaited.as_str()),
        (PartyId(0), "the end of shard 0 (attempt 1)")
    );
}
