//! Whoever waits is woken when something ends.

use std::time::Instant;

use super::*;
use crate::Closer;

/// What a thread does that waits for the peer on a stream of its own.
type Wait = fn(&mut StreamLink) -> Result<(), Fault>;

/// It receives.
fn wait_data(link: &mut StreamLink) -> Result<(), Fault> {
    receive(link, 1).map(drop)
}

/// It sends more than the peer takes, which receives nothing.
fn wait_room(link: &mut StreamLink) -> Result<(), Fault> {
    send(link, &bytes(0, 20))
}

/// As [`wait_room`], past the queue.
fn wait_turn(link: &mut StreamLink) -> Result<(), Fault> {
    send(link, &bytes(0, 20 << 10))
}

/// It waits for the peer to take the last bytes; what became of them it does not know.
fn wait_drained(link: &mut StreamLink) -> Result<(), Fault> {
    send(link, &bytes(0, QUEUE))?;
    link.finish(LONG);
    Ok(())
}

const QUEUE: usize = 8;
/// A peer that receives nothing does not take all that is queued.
const WINDOW: usize = QUEUE - 2;

/// Has a thread wait in each of these ways, and something end: what it is told are the closer and the interrupter of each
/// stream, and the peer's streams. Gives what the threads say.
fn outcomes<const N: usize>(
    waits: [Wait; N],
    end: impl FnOnce(&Pair, [[Closer; 2]; N], &mut Vec<StreamLink>),
) -> [Result<(), Fault>; N] {
    let pair = Pair::new(WINDOW);
    let [ours, theirs] = pair.streams::<N>(QUEUE);
    let mut theirs = Vec::from(theirs);
    let handles = ours.each_ref().map(|link| [link.closer(), link.interrupter()]);
    let mut waits = waits.into_iter();
    let threads = ours.map(|mut link| {
        let wait = waits.next().expect("one for each");
        spawn(move || wait(&mut link))
    });
    end(&pair, handles, &mut theirs);
    let outcomes = threads.map(join);
    drop(theirs);
    pair.end();
    outcomes
}

fn is_lost(outcome: &Result<(), Fault>) -> bool {
    matches!(outcome, Err(Fault::Lost(_)))
}

fn all_are_lost(end: impl Fn(&Pair) + Send + Sync + 'static) {
    check(move || {
        let waits = [wait_data, wait_room, wait_turn, wait_drained];
        let [data, room, turn, _] = outcomes(waits, |pair, _, _| end(pair));
        assert!([data, room, turn].iter().all(is_lost));
    });
}

#[test]
fn a_trunk_that_breaks_leaves_nobody_asleep() {
    all_are_lost(|pair| pair.trunks[0].break_off(Fault::Lost("cut".into())));
}

#[test]
fn a_trunk_that_the_peer_breaks_leaves_nobody_asleep() {
    all_are_lost(|pair| pair.trunks[1].break_off(Fault::Lost("cut".into())));
}

#[test]
fn a_trunk_that_is_closed_leaves_nobody_asleep() {
    all_are_lost(|pair| pair.trunks[0].close_by(Instant::now()));
}

#[test]
fn a_trunk_that_the_peer_closes_leaves_nobody_asleep() {
    all_are_lost(|pair| pair.trunks[1].close_by(Instant::now()));
}

#[test]
fn a_goodbye_comes_to_those_that_receive() {
    check(|| {
        let end = |pair: &Pair, _: [_; 2], _: &mut _| pair.trunks[1].close_by(Instant::now() + LONG);
        let outcomes = outcomes([wait_data; 2], end);
        assert!(outcomes.iter().all(|outcome| {
            matches!(outcome, Err(Fault::Lost(reason)) if reason == "it ended the connection: it has shut down")
        }), "{outcomes:?}");
    });
}

#[test]
fn a_closer_leaves_nobody_asleep() {
    check(|| {
        let waits = [wait_data, wait_room, wait_turn, wait_drained];
        let end = |_: &Pair, handles: [[Closer; 2]; 4], _: &mut _| {
            handles.iter().for_each(|[closer, _]| closer.close());
        };
        let [data, room, turn, _] = outcomes(waits, end);
        assert_eq!([data, room, turn], [(); 3].map(|()| Err(Fault::Closed)));
    });
}

#[test]
fn an_interrupter_leaves_nobody_asleep() {
    check(|| {
        let end = |_: &Pair, handles: [[Closer; 2]; 3], _: &mut _| {
            handles.iter().for_each(|[_, interrupter]| interrupter.close());
        };
        let outcomes = outcomes([wait_data, wait_room, wait_turn], end);
        assert_eq!(outcomes, [(); 3].map(|()| Err(Fault::Closed)));
    });
}

/// The peer does something with its streams after which it neither sends nor receives.
fn all_end(end: impl Fn(&mut Vec<StreamLink>) + Send + Sync + 'static) {
    check(move || {
        let waits = [wait_data, wait_room, wait_turn, wait_drained];
        let [data, room, turn, _] = outcomes(waits, |_, _, theirs| end(theirs));
        assert_eq!(data, Ok(()), "the stream has ended");
        assert!([room, turn].iter().all(is_lost));
    });
}

#[test]
fn a_peer_that_drops_its_streams_leaves_nobody_asleep() {
    all_end(Vec::clear);
}

#[test]
fn a_peer_that_closes_its_streams_leaves_nobody_asleep() {
    all_end(|theirs| theirs.iter().for_each(|link| link.closer().close()));
}
