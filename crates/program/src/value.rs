//! Secret values without a type: some bits in some lanes.

use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::Parties;

use crate::error::Result;
use crate::machine::{Machine, Slot};
use crate::node::{Node, State};
use crate::op::Op;
use crate::session::Session;

/// A secret of `width` bits in each of `lanes` lanes, and the session that it belongs to.
#[derive(Clone)]
pub(crate) struct Value {
    session: Session,
    node: Rc<Node>,
}

impl Value {
    pub(crate) fn width(&self) -> u32 {
        self.node.width
    }

    pub(crate) fn lanes(&self) -> usize {
        self.node.lanes
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn node(&self) -> &Rc<Node> {
        &self.node
    }

    /// Wires `from..from + width` as a value of their own, if the value has been computed.
    pub(crate) fn wires(&self, from: u32, width: u32) -> Option<Value> {
        let state = match &*self.node.state.borrow() {
            State::Wires(held, first) => State::Wires(Rc::clone(held), first + from as usize),
            _ => return None,
        };
        Some(self.session.value(width, self.lanes(), state))
    }

    /// The result of `op`, `width` bits.
    #[track_caller]
    pub(crate) fn apply(op: Op, operands: &[&Value], width: u32) -> Value {
        let at = Location::caller();
        let session = operands[0].session();
        if operands.iter().any(|operand| !session.is(operand.session())) {
            let what = "secrets of different sessions are mixed";
            operands
                .iter()
                .for_each(|operand| operand.session().fail_at(what, at));
            return session.value(width, 1, State::Lost);
        }
        let several = operands
            .iter()
            .map(|operand| operand.lanes())
            .filter(|&lanes| lanes != 1);
        let lanes = several.clone().next().unwrap_or(1);
        if let Some(other) = several.clone().find(|&other| other != lanes) {
            return session.misuse(lengths_differ(lanes, other), at, width, lanes);
        }
        let spread: Vec<Value> = operands.iter().map(|operand| operand.spread(lanes)).collect();
        let nodes = spread.iter().map(|operand| &*operand.node);
        Value {
            session: session.clone(),
            node: session.record(op, nodes, width, lanes),
        }
    }

    /// Itself, or in each of `lanes` lanes if it is a single secret. A constant is left as it is.
    #[track_caller]
    pub(crate) fn spread(&self, lanes: usize) -> Value {
        let constant = matches!(*self.node.state.borrow(), State::Constant(_));
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
                let at = Location::caller();
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
        let (session, width) = (parts[0].session(), parts[0].width());
        let lanes = runs.iter().map(LaneRun::lanes).sum();
        let at = Location::caller();
        if parts.iter().any(|part| !session.is(part.session())) {
            return session.misuse("secrets of different sessions are mixed", at, width, lanes);
        }
        let nodes = parts.iter().map(|part| &*part.node);
        session.value(width, lanes, session.arranged(nodes, runs))
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

    /// Itself, computed now, so that what it is computed from may be given up.
    pub(crate) fn computed(self) -> Value {
        Value::concat(&[&self])
    }

    /// The lanes in this order of the protocol's, or back from it.
    pub(crate) fn shuffled(&self, order: u32, back: bool) -> Value {
        let state = self.session.shuffled(&self.node, order, back);
        self.session.value(self.width(), self.lanes(), state)
    }

    /// Lanes `from..from + lanes`.
    #[track_caller]
    pub(crate) fn slice(&self, from: usize, lanes: usize) -> Value {
        if (from, lanes) == (0, self.lanes()) {
            return self.clone();
        }
        Value::arrange(&[self], &[LaneRun::new(0, from as u32, lanes as u32)])
    }

    /// Blocks of `block` lanes, one after the other, put together place by place by `combine`, which is associative and commutative and may give more bits than it
    /// takes: then `widened` makes a block that was left over as wide.
    #[track_caller]
    pub(crate) fn folded(
        &self,
        block: usize,
        combine: impl Fn(&Value, &Value) -> Value,
        widened: impl Fn(&Value, u32) -> Value,
    ) -> Value {
        let mut row = self.clone();
        while row.lanes() > block {
            let blocks = row.lanes() / block;
            let half = blocks / 2 * block;
            let both = combine(&row.slice(0, half), &row.slice(half, half));
            row = match blocks % 2 {
                0 => both,
                _ => Value::concat(&[&both, &widened(&row.slice(2 * half, block), both.width())]),
            };
        }
        row
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

impl Session {
    pub(crate) fn value(&self, width: u32, lanes: usize, state: State) -> Value {
        Value {
            session: self.clone(),
            node: Node::new(width, lanes, state),
        }
    }

    /// A value of new wires, which `make` makes.
    pub(crate) fn make(
        &self,
        width: u32,
        lanes: usize,
        make: impl FnOnce(&mut dyn Machine) -> cenote_session::Result<Slot>,
    ) -> Value {
        self.value(width, lanes, self.made(make))
    }

    /// The same public bits in every lane that they meet.
    pub(crate) fn constant(&self, width: u32, bits: u128) -> Value {
        self.value(width, 1, State::Constant(bits))
    }

    /// Public bits in each lane.
    pub(crate) fn constant_row(&self, width: u32, values: &[u128]) -> Value {
        let bits = to_matrix(values, width);
        self.make(width, values.len(), |machine| machine.constant(&bits))
    }

    /// A new input of a function that is recorded.
    pub(crate) fn argument(&self, width: u32) -> Value {
        self.make(width, 1, |machine| {
            machine.input(PartyId(0), width as usize, 1, None)
        })
    }

    /// Notes what the program did wrong, and gives a value without bits.
    pub(crate) fn misuse(
        &self,
        what: impl Into<String>,
        at: &'static Location<'static>,
        width: u32,
        lanes: usize,
    ) -> Value {
        self.fail_at(what, at);
        self.value(width, lanes.max(1), State::Lost)
    }

    /// Opens values of as many lanes.
    pub(crate) fn open_values(&self, values: &[Value], to: Parties) -> Result<Option<BitMatrix>> {
        self.open_nodes(values.iter().map(|value| &*value.node), to, true)
    }

    /// Opens values, which it gives one by one: those with as many lanes together.
    pub(crate) fn open_each(&self, values: &[Value], to: Parties) -> Result<Option<Vec<BitMatrix>>> {
        let mut opened = Vec::with_capacity(values.len());
        for same in values.chunk_by(|one, other| one.lanes() == other.lanes()) {
            let Some(bits) = self.open_values(same, to)? else {
                continue;
            };
            let mut first = 0;
            for value in same {
                let (width, stride) = (value.width() as usize, bits.stride());
                let mut own = BitMatrix::zeros(width, bits.lanes());
                own.words_mut()
                    .copy_from_slice(&bits.words()[first * stride..(first + width) * stride]);
                opened.push(own);
                first += width;
            }
        }
        Ok(to.contains(self.me()).then_some(opened))
    }

    /// Opens a value to all, of which the program knows that it tells nothing of any secret.
    pub(crate) fn open_untelling(&self, value: &Value) -> Result<BitMatrix> {
        let all = Parties::all(self.parties());
        let opened = self.open_nodes(std::iter::once(&*value.node), all, false)?;
        Ok(opened.expect("all parties learn it"))
    }
}

/// Places of parts, those that follow one another together, and those that come several times.
pub(crate) fn runs(places: impl IntoIterator<Item = (usize, usize)>) -> Vec<LaneRun> {
    let mut runs: Vec<LaneRun> = Vec::new();
    for (part, place) in places {
        let (part, place) = (part as u32, place as u32);
        match runs.last_mut() {
            Some(last) if last.part == part && last.times == 1 && last.start + last.len == place => {
                last.len += 1;
            }
            Some(last) if (last.part, last.start, last.len) == (part, place, 1) => last.times += 1,
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

/// Why rows of `one` and of `other` secrets cannot be calculated with.
pub(crate) fn lengths_differ(one: usize, other: usize) -> String {
    format!(
        "a row of {one} secrets meets a row of {other}: rows must be of one length, or one of them a single secret"
    )
}

/// Why there is no row of `len` secrets.
pub(crate) fn no_row(len: usize) -> Option<String> {
    match u32::try_from(len) {
        Ok(0) => Some("a row of no secrets".into()),
        Ok(_) => None,
        Err(_) => Some(format!("a row of {len} secrets: it has fewer than 2^32")),
    }
}

/// The low `width` bits of `values`, one value in each lane.
pub(crate) fn to_matrix(values: &[u128], width: u32) -> BitMatrix {
    let mut rows = BitMatrix::zeros(values.len(), width as usize);
    for (lane, bits) in values.iter().enumerate() {
        for (word, at) in rows.row_mut(lane).iter_mut().zip([0, 64]) {
            *word = (bits >> at) as u64;
        }
    }
    rows.mask_padding();
    rows.transpose()
}
