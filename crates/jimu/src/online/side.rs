//! The sides of a session, to the engine.

use std::sync::Arc;

use cenote_net::Channel;
use cenote_pool::Role;
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::Result;

use super::circuit::Circuit;
use super::supply::Common;
use crate::wires::JimuWires;

/// What the engine asks of its party's side of the session. Both sides get the same calls in the same order.
pub(crate) trait Side: Send {
    fn common(&self) -> &Common;

    fn common_mut(&mut self) -> &mut Common;

    /// Wires with the bits of `owner`, which has `bits`.
    fn input(
        &mut self,
        owner: Role,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
        channel: &mut dyn Channel,
    ) -> Result<JimuWires>;

    /// Wires with public bits.
    fn constant(&mut self, bits: &BitMatrix) -> Result<JimuWires>;

    /// Lanes of wires, put together anew.
    fn arrange(&mut self, parts: &[&JimuWires], runs: Arc<[LaneRun]>) -> Result<JimuWires>;

    /// Solders circuits to wires, and evaluates them.
    fn run(
        &mut self,
        circuit: &Arc<Circuit>,
        inputs: &JimuWires,
        history: u64,
        channel: &mut dyn Channel,
    ) -> Result<JimuWires>;

    /// The same wires, so that nothing that they come from is needed any more: to be revealed, or anchored before they are used.
    fn settle(&mut self, wires: &JimuWires) -> Result<JimuWires>;

    /// The same wires, anchored, so that nothing that they come from is needed any more.
    fn anchor(&mut self, wires: &JimuWires, channel: &mut dyn Channel) -> Result<JimuWires>;

    /// Opens wires to one side. For the garbler they are anchored.
    fn open(&mut self, wires: &JimuWires, to: Role, channel: &mut dyn Channel) -> Result<Option<BitMatrix>>;

    /// Whether this side knows that the other has cheated.
    fn cheated(&self) -> bool;
}
