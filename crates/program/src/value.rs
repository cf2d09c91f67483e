//! Secret values without a type: some bits in some lanes.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use cenote_primitives::LaneRun;

use crate::machine::Slot;
use crate::op::Op;
use crate::session::Session;

/// A secret of `width` bits in each of `lanes` lanes.
#[derive(Clone)]
pub(crate) struct Value(pub(crate) Rc<Node>);

/// A value and how far it has been computed.
pub(crate) struct Node {
    pub(crate) session: Session,
    pub(crate) width: u32,
    /// 1 for constants.
    pub(crate) lanes: usize,
    pub(crate) state: RefCell<State>,
}

pub(crate) enum State {
    /// The same public bits in every lane.
    Constant(u128),
    /// Wires from the one with this number on.
    Wires(Rc<Held>, usize),
    /// A step of the segment that is open for as many lanes.
    Pending(u32),
    /// The session failed before it was computed.
    Lost,
}

/// A vector of wires in use.
pub(crate) struct Held {
    slot: Slot,
    dropped: Rc<RefCell<Vec<Slot>>>,
}

impl Held {
    /// Vector `slot`, which goes to `dropped` when it is no longer used.
    pub(crate) fn new(slot: Slot, dropped: &Rc<RefCell<Vec<Slot>>>) -> Rc<Self> {
        Rc::new(Self {
            slot,
            dropped: dropped.clone(),
        })
    }

    pub(crate) fn slot(&self) -> Slot {
        self.slot
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.dropped.borrow_mut().push(self.slot);
    }
}

impl Value {
    pub(crate) fn width(&self) -> u32 {
        self.0.width
    }

    pub(crate) fn lanes(&self) -> usize {
        self.0.lanes
    }

    pub(crate) fn session(&self) -> &Session {
        &self.0.session
    }

    /// The result of `op`, `width` bits.
    #[track_caller]
    pub(crate) fn apply(op: Op, operands: &[&Value], width: u32) -> Value {
        operands[0].session().record(op, operands, width)
    }

    /// Itself, or in each of `lanes` lanes if it is a single secret.
    pub(crate) fn spread(&self, lanes: usize) -> Value {
        if self.lanes() == lanes || matches!(*self.0.state.borrow(), State::Constant(_)) {
            return self.clone();
        }
        let times = u32::try_from(lanes).expect("a row has fewer than 2^32 secrets");
        let run = LaneRun {
            times,
            ..LaneRun::new(0, 0, 1)
        };
        Value::arrange(&[self], &[run])
    }

    /// The lanes of `runs`, one run after the other.
    #[track_caller]
    pub(crate) fn arrange(parts: &[&Value], runs: &[LaneRun]) -> Value {
        parts[0].session().arrange(parts, runs)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bits × {})", self.width(), self.lanes())
    }
}
