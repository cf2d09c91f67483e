//! What the engine asks of its party's side of the session, the same of both.

use std::any::Any;
use std::sync::Arc;

use cenote_circuit::Plan;
use cenote_net::{Channel, PartyId};
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::{Parties, Result};

use crate::online::supply::Supplies;
use crate::wires::{Bundle, LegoWires};

/// One side of a session: a [`Garbler`](super::Garbler) or an [`Evaluator`](super::Evaluator). Parties are named by their
/// roles, and both sides get the same calls in the same order.
pub(crate) trait Side: Any + Send {
    /// Receives what the peer has sent already: it comes before everything else from it.
    fn clear_line(&mut self, channel: &mut dyn Channel) -> Result<()>;

    /// This side's keys and material.
    fn supply(&self) -> &dyn Supplies;

    /// The same.
    fn supply_mut(&mut self) -> &mut dyn Supplies;

    /// Most threads that evaluate one circuit.
    fn threads(&self) -> usize;

    /// Sets [`Side::threads`], where it matters.
    fn set_threads(&mut self, threads: usize);

    /// Whether this side knows that the garbler has cheated.
    fn cheated(&self) -> bool;

    /// Wires for inputs of `owner` that come later.
    fn reserve(&mut self, owner: PartyId, wires: usize, lanes: usize) -> Result<LegoWires>;

    /// The input that is to be given next, and whose it is.
    fn reserved(&self) -> Option<(&Arc<Bundle>, PartyId)>;

    /// Takes the bits of the input that was reserved first, or notes that the peer has them.
    fn give(&mut self, own: Option<&BitMatrix>, channel: &mut dyn Channel) -> Result<()>;

    /// Wires with public bits.
    fn constant(&mut self, values: &BitMatrix) -> Result<LegoWires>;

    /// Lanes of wires, put together anew.
    fn arrange(&mut self, parts: &[&LegoWires], runs: &[LaneRun]) -> Result<LegoWires>;

    /// Builds a circuit ahead of its inputs (Build).
    fn prepare(&mut self, plan: &Plan, lanes: usize, channel: &mut dyn Channel) -> Result<()>;

    /// Whether [`Side::run`] has this circuit from [`Side::prepare`].
    fn is_built(&self, plan: &Plan, lanes: usize) -> bool;

    /// Attaches a circuit that was built ahead to `inputs`, or builds it on them.
    fn run(&mut self, plan: &Plan, inputs: &LegoWires, channel: &mut dyn Channel) -> Result<LegoWires>;

    /// The same labels without what they come from, all of which was computed: see [`cenote_session::Engine::settle`].
    fn settle(&mut self, wires: LegoWires) -> Result<LegoWires>;

    /// Drops what is kept of a circuit so that it can be run again.
    fn forget(&mut self, plan: &Plan);

    /// Waits until memory that was given up is free.
    fn rest(&mut self);

    /// Eval: computes everything that was run, and opens `wires` to the parties of `to`. Says how many rounds it took, each
    /// a message or several one way.
    fn reveal(
        &mut self,
        wires: &LegoWires,
        to: Parties,
        channel: &mut dyn Channel,
    ) -> Result<(Option<BitMatrix>, u64)>;
}
