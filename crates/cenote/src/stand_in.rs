//! TEMPORARY
use cenote_engine::{ClearEngine, Engine};
use cenote_net::{Channel, PartyId};
pub(crate) struct LegoEngine(ClearEngine);
impl LegoEngine {
    pub(crate) fn start(me: PartyId, channels: Vec<Box<dyn Channel>>, _g: PartyId) -> crate::Result<Self> {
        Ok(Self(ClearEngine::new(me, channels.into_iter().take(1).collect())))
    }
    pub(crate) fn peer_cheated(&self) -> bool {
        false
    }
}
impl Engine for LegoEngine {
    type Wires = <ClearEngine as Engine>::Wires;
    fn me(&self) -> PartyId {
        self.0.me()
    }
    fn parties(&self) -> usize {
        self.0.parties()
    }
    fn prepare(&mut self, plan: &cenote_circuit::Plan, lanes: usize) -> cenote_engine::Result<()> {
        self.0.prepare(plan, lanes)
    }
    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&cenote_primitives::BitMatrix>,
    ) -> cenote_engine::Result<Self::Wires> {
        self.0.input(owner, wires, lanes, bits)
    }
    fn constant(&mut self, bits: &cenote_primitives::BitMatrix) -> cenote_engine::Result<Self::Wires> {
        self.0.constant(bits)
    }
    fn run(
        &mut self,
        plan: &cenote_circuit::Plan,
        inputs: &Self::Wires,
    ) -> cenote_engine::Result<Self::Wires> {
        self.0.run(plan, inputs)
    }
    fn reveal(
        &mut self,
        wires: &Self::Wires,
        to: cenote_engine::Parties,
    ) -> cenote_engine::Result<Option<cenote_primitives::BitMatrix>> {
        self.0.reveal(wires, to)
    }
    fn finish(&mut self) -> cenote_engine::Result<()> {
        self.0.finish()
    }
    fn costs(&self) -> cenote_engine::Costs {
        self.0.costs()
    }
}
