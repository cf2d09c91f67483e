//! The adversary at the channels of a party of three.

use std::sync::Arc;

use cenote_net::{Channel, Step};
use cenote_testkit as testkit;
use cenote_three::{Links, Ring};

/// Which of a party's threads a channel belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thread {
    Generator,
    Evaluator,
}

pub(crate) type Wire = testkit::Line<Thread>;
pub(crate) type Message = testkit::Passing<Thread>;
pub(crate) type Hook = testkit::Hook<Thread>;
pub(crate) type Stall = testkit::Stall<Thread>;
pub(crate) type Spy = testkit::Spy<Thread>;

/// `message` with a bit flipped, or without its last byte.
pub(crate) fn spoilt(message: &Message, truncate: bool) -> Vec<(Step, Vec<u8>)> {
    let mut body = message.body.clone();
    if truncate {
        body.pop();
    } else {
        body[0] ^= 1;
    }
    vec![(message.step, body)]
}

/// The channels of party `me` with `spy` in between.
pub(crate) fn tap(spy: &Arc<Spy>, me: u8, links: Links) -> Links {
    let ring = |ring: Ring, thread| {
        let tap = |channel: Box<dyn Channel>| spy.tap(me, thread, channel);
        Ring {
            previous: tap(ring.previous),
            next: tap(ring.next),
        }
    };
    Links {
        generator: ring(links.generator, Thread::Generator),
        evaluator: ring(links.evaluator, Thread::Evaluator),
    }
}
