//! How a corrupted party deviates, and in which message.

use std::sync::Arc;
use std::time::Duration;

use crate::common::intercept::{Message, Spy, Wire};
use cenote_net::Step;
use cenote_primitives::Entropy;
use cenote_three::steps;

/// What the corrupted party does to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deviation {
    FlipFirst,
    FlipMiddle,
    FlipLast,
    /// Random bytes instead, as many.
    Random,
    Truncate,
    Extend,
    Empty,
    /// The same bytes as a message of another step.
    OtherStep,
    Duplicate,
    /// This message is not sent; later ones are.
    Drop,
    /// Nothing is sent on this wire from here on.
    Silence,
    /// This message comes after the next one on its wire.
    Swap,
    /// The message comes late, but before the deadline.
    Delay,
}

impl Deviation {
    pub(super) const ALL: [Deviation; 13] = [
        Deviation::FlipFirst,
        Deviation::FlipMiddle,
        Deviation::FlipLast,
        Deviation::Random,
        Deviation::Truncate,
        Deviation::Extend,
        Deviation::Empty,
        Deviation::OtherStep,
        Deviation::Duplicate,
        Deviation::Drop,
        Deviation::Silence,
        Deviation::Swap,
        Deviation::Delay,
    ];
}

/// A message of the honest session, to be attacked.
#[derive(Clone, Debug)]
pub(super) struct Position {
    pub(super) wire: Wire,
    pub(super) step: Step,
    pub(super) occurrence: usize,
    /// Nothing follows on the wire.
    pub(super) last: bool,
}

/// The adversary that does `deviation` at `position`.
pub(super) fn adversary(position: &Position, deviation: Deviation) -> Arc<Spy> {
    let position = position.clone();
    let mut entropy = Entropy::for_tests(99);
    let mut silent = false;
    let mut held: Option<(Step, Vec<u8>)> = None;
    Spy::corrupting(move |message: &Message| {
        if message.wire != position.wire {
            return None;
        }
        let (step, mut body) = (message.step, message.body.clone());
        if silent {
            return Some(Vec::new());
        }
        if let Some(held) = held.take() {
            return Some(vec![(step, body), held]);
        }
        if (step, message.occurrence) != (position.step, position.occurrence) {
            return None;
        }
        let (last, middle) = (body.len() - 1, body.len() / 2);
        Some(match deviation {
            Deviation::FlipFirst => {
                body[0] ^= 1;
                vec![(step, body)]
            }
            Deviation::FlipMiddle => {
                body[middle] ^= 0x10;
                vec![(step, body)]
            }
            Deviation::FlipLast => {
                body[last] ^= 0x80;
                vec![(step, body)]
            }
            Deviation::Random => {
                entropy.fill(&mut body);
                vec![(step, body)]
            }
            Deviation::Truncate => {
                body.truncate(last);
                vec![(step, body)]
            }
            Deviation::Extend => {
                body.push(0);
                vec![(step, body)]
            }
            Deviation::Empty => vec![(step, Vec::new())],
            Deviation::OtherStep => {
                let other = if step == steps::COIN {
                    steps::BARRIER
                } else {
                    steps::COIN
                };
                vec![(other, body)]
            }
            Deviation::Duplicate => vec![(step, body.clone()), (step, body)],
            Deviation::Drop => Vec::new(),
            Deviation::Silence => {
                silent = true;
                Vec::new()
            }
            Deviation::Swap => {
                held = Some((step, body));
                Vec::new()
            }
            Deviation::Delay => {
                std::thread::sleep(Duration::from_millis(20));
                vec![(step, body)]
            }
        })
    })
}
