//! What is recorded, and when it is compiled and run.

use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::Parties;

use super::{Core, Session};
use crate::choice::Plans;
use crate::error::Result;
use crate::machine::Wires;
use crate::node::{Held, Node, State};
use crate::op::Op;
use crate::segment::{Due, Recipe, Ref};
use crate::value::Value;

/// Some wires of a vector that is in use as long as this.
type InUse = (Rc<Held>, Range<usize>);

fn slots(wires: &[InUse]) -> Vec<Wires> {
    let slots = wires.iter().map(|(held, wires)| (held.slot(), wires.clone()));
    slots.collect()
}

impl Session {
    /// The result of an operation on nodes of `lanes` lanes, or constants: recorded, and run once there is reason to.
    pub(crate) fn record<'a>(
        &self,
        op: Op,
        operands: impl Iterator<Item = &'a Node>,
        width: u32,
        lanes: usize,
    ) -> Rc<Node> {
        let core = &mut *self.0.core.borrow_mut();
        if core.failure.is_some() {
            return Node::new(width, lanes, State::Lost);
        }
        let segment = core.open.entry(lanes).or_default();
        let operands: Option<Vec<_>> = operands
            .map(|operand| match &*operand.state.borrow() {
                State::Constant(bits) => Some(segment.constant(*bits, operand.width, core.step)),
                State::Wires(held, first) => Some(segment.input(held, *first, operand.width)),
                State::Pending(step) => Some(Ref::Step(*step)),
                State::Lost => None,
            })
            .collect();
        let Some(operands) = operands else {
            return Node::new(width, lanes, State::Lost);
        };
        let step = segment.push(op, operands, width, core.step);
        let node = Node::new(width, lanes, State::Pending(step));
        segment.belongs_to(Rc::downgrade(&node));
        if segment.is_full() && !core.recording {
            self.run(core, lanes);
        }
        node
    }

    /// The lanes of `runs` of `parts`.
    pub(crate) fn arranged<'a>(&self, parts: impl Iterator<Item = &'a Node>, runs: &[LaneRun]) -> State {
        let Some(wires) = self.wires(parts) else {
            return State::Lost;
        };
        let wires = slots(&wires);
        self.made(|machine| machine.arrange(&wires, runs))
    }

    /// How long a message takes from party to party, about, if each level of ANDs takes one.
    pub(crate) fn way(&self) -> Option<Duration> {
        let core = self.0.core.borrow();
        core.machine.levels_take_rounds().then_some(core.way)
    }

    /// Whether it only counts what a program takes: what it reveals has no meaning.
    pub(crate) fn foresees(&self) -> bool {
        self.0.core.borrow().machine.foresees()
    }

    /// Foresees more AND gates, which the program may or may not take.
    pub(crate) fn spare(&self, and_gates: u64) {
        self.0.core.borrow_mut().machine.spare(and_gates);
    }

    /// Whether the protocol moves lanes in orders that nobody knows.
    pub(crate) fn shuffles(&self) -> bool {
        self.0.core.borrow().machine.shuffles()
    }

    /// A new order of so many lanes; nothing if the session has failed.
    pub(crate) fn draw(&self, lanes: usize) -> Option<u32> {
        let core = &mut *self.0.core.borrow_mut();
        core.attempt(|machine| machine.draw(lanes))
    }

    /// The lanes of a node in this order, or back from it.
    pub(crate) fn shuffled(&self, node: &Node, order: u32, back: bool) -> State {
        let Some(wires) = self.wires(std::iter::once(node)) else {
            return State::Lost;
        };
        let wires = slots(&wires);
        self.made(|machine| machine.shuffle(&wires[0], order, back))
    }

    /// Whether the protocol compares tables by digests.
    pub(crate) fn digests(&self) -> bool {
        self.0.core.borrow().machine.digests()
    }

    /// The digest of the difference of nodes of as many lanes and, in all, as many bits.
    pub(crate) fn digested(&self, these: &[Value], those: &[Value]) -> State {
        let wires = |table: &[Value]| self.wires(table.iter().map(|column| &**column.node()));
        let (Some(these), Some(those)) = (wires(these), wires(those)) else {
            return State::Lost;
        };
        self.made(|machine| machine.digest(&slots(&these), &slots(&those)))
    }

    /// The wires of nodes, which are computed if they have not been. They are in use as long as what is returned.
    fn wires<'a>(&self, nodes: impl Iterator<Item = &'a Node>) -> Option<Vec<InUse>> {
        let core = &mut *self.0.core.borrow_mut();
        self.sweep(core);
        nodes
            .map(|node| {
                let width = node.width as usize;
                let pending = matches!(*node.state.borrow(), State::Pending(_));
                if pending {
                    self.run(core, node.lanes);
                }
                match &*node.state.borrow() {
                    State::Wires(held, first) => Some((held.clone(), *first..*first + width)),
                    State::Constant(bits) => {
                        let bits = BitMatrix::from_fn(width, 1, |row, _| row < 128 && bits >> row & 1 == 1);
                        let slot = core.attempt(|machine| machine.constant(&bits))?;
                        Some((Held::new(slot, &self.0.dropped), 0..width))
                    }
                    State::Pending(_) | State::Lost => None,
                }
            })
            .collect()
    }

    /// Opens nodes of as many lanes. If what is opened `tells` nothing of any secret, nobody has learnt anything.
    pub(crate) fn open_nodes<'a>(
        &self,
        nodes: impl Iterator<Item = &'a Node>,
        to: Parties,
        tells: bool,
    ) -> Result<Option<BitMatrix>> {
        let wires = self.wires(nodes);
        let core = &mut *self.0.core.borrow_mut();
        core.check()?;
        let wires = wires.unwrap_or_default();
        match core.machine.reveal(&slots(&wires), to) {
            Ok(bits) => {
                core.learnt |= tells && bits.is_some();
                Ok(bits)
            }
            Err(error) => {
                core.fail(error.into());
                core.check()?;
                unreachable!("a session that failed says so")
            }
        }
    }

    /// Whether shares can be kept as they are.
    pub(crate) fn keeps(&self) -> bool {
        self.0.core.borrow().machine.keeps()
    }

    /// This party's share of a node, verified.
    pub(crate) fn keep_node(&self, node: &Node) -> Result<BitMatrix> {
        let wires = self.wires(std::iter::once(node)).unwrap_or_default();
        let core = &mut *self.0.core.borrow_mut();
        let share = slots(&wires)
            .first()
            .and_then(|wires| core.attempt(|machine| machine.keep(wires)));
        core.check()?;
        Ok(share.expect("a session that failed says so"))
    }

    /// Compiles and runs what was recorded for so many lanes.
    pub(super) fn run(&self, core: &mut Core, lanes: usize) {
        self.sweep(core);
        let Some(segment) = core.open.remove(&lanes) else {
            return;
        };
        let Some(Due {
            recipe,
            inputs,
            results,
            of,
        }) = segment.into_due()
        else {
            return;
        };
        let widths: Vec<u32> = results.iter().map(|result| result.width).collect();
        let way = core.machine.levels_take_rounds().then_some(core.way);
        core.runs += 1;
        let shares = match core.machine.foresees() {
            true => shares(&recipe, &of),
            false => Vec::new(),
        };
        let (plan, new) = match core.plans.get_mut(&recipe) {
            Some((plans, used)) => {
                *used = core.runs;
                (plans.best(&recipe, lanes, way), false)
            }
            None => {
                let plans = Plans::new(&recipe);
                let plan = plans.best(&recipe, lanes, way);
                core.keep(recipe, plans);
                (plan, true)
            }
        };
        let wires: Vec<Wires> = inputs
            .iter()
            .map(|input| (input.held.slot(), input.first..input.first + input.width as usize))
            .collect();
        let held = core
            .attempt(|machine| {
                machine.share(shares);
                machine.run(&plan, new, lanes, &wires)
            })
            .map(|slot| Held::new(slot, &self.0.dropped));
        if held.is_some() {
            core.done += plan.and_count() as u64 * lanes as u64;
            if let Some(progress) = &mut core.progress {
                progress(core.done);
            }
        }
        let mut first = 0;
        for (result, width) in results.iter().zip(widths) {
            *result.state.borrow_mut() = match &held {
                Some(held) => State::Wires(held.clone(), first),
                None => State::Lost,
            };
            first += width as usize;
        }
    }
}

/// How much of the circuit of a recipe belongs to each step of the program, where `of` says which that is of each of its steps.
fn shares(recipe: &Recipe, of: &[usize]) -> Vec<(usize, u64)> {
    match of.first() {
        Some(first) if of.iter().any(|step| step != first) => recipe.shares(of),
        Some(first) => vec![(*first, 1)],
        None => Vec::new(),
    }
}
