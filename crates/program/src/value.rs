//! Secret values without a type: some bits in some lanes.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use cenote_primitives::LaneRun;

use crate::machine::Slot;
use crate::op::Op;
use crate::session::{Session, lengths_differ};

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

    /// Itself, or in each of `lanes` lanes if it is a single secret. A constant is left as it is.
    #[track_caller]
    pub(crate) fn spread(&self, lanes: usize) -> Value {
        let constant = matches!(*self.0.state.borrow(), State::Constant(_));
        if constant {
            self.clone()
        } else {
            self.filling(lanes)
        }
    }

    /// Itself, or in each of `lanes` lanes if it is a single secret or a constant.
    #[track_caller]
    pub(crate) fn filling(&self, lanes: usize) -> Value {
        match self.lanes() {
            own if own == lanes => self.clone(),
            1 => self.repeated(lanes),
            own => {
                let what = lengths_differ(own, lanes);
                let at = std::panic::Location::caller();
                self.session().misuse(what, at, self.width(), lanes)
            }
        }
    }

    /// All lanes `times` times over.
    #[track_caller]
    pub(crate) fn repeated(&self, times: usize) -> Value {
        let run = LaneRun {
            times: u32::try_from(times).expect("a row has fewer than 2^32 secrets"),
            ..LaneRun::new(0, 0, self.lanes() as u32)
        };
        Value::arrange(&[self], &[run])
    }

    /// The lanes of `runs`, one run after the other.
    #[track_caller]
    pub(crate) fn arrange(parts: &[&Value], runs: &[LaneRun]) -> Value {
        parts[0].session().arrange(parts, runs)
    }
}

/// Bits and lanes taken apart and put together.
impl Value {
    /// Bits `from..from + width`.
    #[track_caller]
    pub(crate) fn part(&self, from: u32, width: u32) -> Value {
        if (from, width) == (0, self.width()) {
            return self.clone();
        }
        Value::apply(Op::Part(from), &[self], width)
    }

    /// The bits of all `parts`, one above the other.
    #[track_caller]
    pub(crate) fn join(parts: &[&Value]) -> Value {
        if let [one] = parts {
            return (*one).clone();
        }
        Value::apply(Op::Join, parts, parts.iter().map(|part| part.width()).sum())
    }

    /// The lanes in these places.
    #[track_caller]
    pub(crate) fn gather(&self, places: &[usize]) -> Value {
        Value::arrange(&[self], &runs(places.iter().map(|&place| (0, place))))
    }

    /// Lanes `from..from + lanes`.
    #[track_caller]
    pub(crate) fn slice(&self, from: usize, lanes: usize) -> Value {
        if (from, lanes) == (0, self.lanes()) {
            return self.clone();
        }
        Value::arrange(&[self], &[LaneRun::new(0, from as u32, lanes as u32)])
    }

    /// The lanes of all `parts`, one part after the other.
    #[track_caller]
    pub(crate) fn concat(parts: &[&Value]) -> Value {
        let whole = (0..)
            .zip(parts)
            .map(|(part, value)| LaneRun::new(part, 0, value.lanes() as u32));
        Value::arrange(parts, &whole.collect::<Vec<_>>())
    }
}

/// Places of parts, those that follow one another together.
pub(crate) fn runs(places: impl IntoIterator<Item = (usize, usize)>) -> Vec<LaneRun> {
    let mut runs: Vec<LaneRun> = Vec::new();
    for (part, place) in places {
        let (part, place) = (part as u32, place as u32);
        match runs.last_mut() {
            Some(last) if last.part == part && last.start + last.len == place => last.len += 1,
            _ => runs.push(LaneRun::new(part, place, 1)),
        }
    }
    runs
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bits × {})", self.width(), self.lanes())
    }
}
