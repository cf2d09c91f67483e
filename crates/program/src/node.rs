//! What has been computed of a secret: what sessions and segments know of it.

use std::cell::RefCell;
use std::rc::Rc;

use crate::machine::Slot;

/// A secret of `width` bits in each of `lanes` lanes, and how far it has been computed.
pub(crate) struct Node {
    pub(crate) width: u32,
    /// 1 for constants.
    pub(crate) lanes: usize,
    pub(crate) state: RefCell<State>,
}

impl Node {
    pub(crate) fn new(width: u32, lanes: usize, state: State) -> Rc<Self> {
        Rc::new(Self {
            width,
            lanes,
            state: RefCell::new(state),
        })
    }
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
