//! Engines of any protocol behind one type, for those who choose the protocol while they run.

use std::any::Any;
use std::ops::Range;

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, LaneRun};

use crate::{Costs, Engine, Error, Parties, Piece, Result, Warning, WireVector};

/// An engine, whatever its protocol is.
pub type AnyEngine = Box<dyn Engine<Wires = AnyWires>>;

/// Hides what protocol `engine` is of. A call costs one more allocation for each vector of wires that it returns.
pub fn erased<E: Engine + 'static>(engine: E) -> AnyEngine {
    Box::new(Erased(engine))
}

/// Secret wires of an [`AnyEngine`].
pub struct AnyWires(Box<dyn Vector>);

/// [`WireVector`] as an object.
trait Vector: Any + Send {
    fn copy(&self) -> AnyWires;
    fn wires(&self) -> usize;
    fn lanes(&self) -> usize;
    fn select(&self, range: Range<usize>) -> AnyWires;
    /// The wires of all `parts`, of which this is one.
    fn concat(&self, parts: &[&AnyWires]) -> AnyWires;
}

impl<W: WireVector + 'static> Vector for W {
    fn copy(&self) -> AnyWires {
        AnyWires::of(self.clone())
    }

    fn wires(&self) -> usize {
        WireVector::wires(self)
    }

    fn lanes(&self) -> usize {
        WireVector::lanes(self)
    }

    fn select(&self, range: Range<usize>) -> AnyWires {
        AnyWires::of(WireVector::select(self, range))
    }

    fn concat(&self, parts: &[&AnyWires]) -> AnyWires {
        let parts: Option<Vec<&W>> = parts.iter().map(|part| part.get()).collect();
        AnyWires::of(W::concat(&parts.expect("all parts are of one session")))
    }
}

impl AnyWires {
    fn of(wires: impl WireVector + 'static) -> Self {
        AnyWires(Box::new(wires))
    }

    /// The wires as the engine knows them; nothing if they are another protocol's.
    fn get<W: 'static>(&self) -> Option<&W> {
        let wires: &dyn Any = &*self.0;
        wires.downcast_ref()
    }

    /// As [`AnyWires::get`], for engines.
    fn own<W: 'static>(&self) -> Result<&W> {
        self.get().ok_or_else(of_another)
    }
}

fn of_another() -> Error {
    Error::BadInput("these wires are of a session of another protocol".into())
}

impl Clone for AnyWires {
    fn clone(&self) -> Self {
        self.0.copy()
    }
}

impl WireVector for AnyWires {
    fn wires(&self) -> usize {
        self.0.wires()
    }

    fn lanes(&self) -> usize {
        self.0.lanes()
    }

    fn select(&self, range: Range<usize>) -> Self {
        self.0.select(range)
    }

    fn concat(parts: &[&Self]) -> Self {
        let first = parts.first().expect("there are parts");
        first.0.concat(parts)
    }
}

/// An engine whose wires are [`AnyWires`].
struct Erased<E>(E);

impl<E: Engine + 'static> Engine for Erased<E> {
    type Wires = AnyWires;

    fn me(&self) -> PartyId {
        self.0.me()
    }

    fn parties(&self) -> usize {
        self.0.parties()
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        self.0.prepare(plan, lanes)
    }

    fn prepare_values(&mut self, inputs: &[(PartyId, usize)], outputs: &[(Parties, usize)]) -> Result<()> {
        self.0.prepare_values(inputs, outputs)
    }

    fn prepare_gates(&mut self, count: u64) -> Result<()> {
        self.0.prepare_gates(count)
    }

    fn make_ahead(&mut self, told: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.0.make_ahead(told)
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<AnyWires> {
        self.0.input(owner, wires, lanes, bits).map(AnyWires::of)
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<AnyWires> {
        self.0.constant(bits).map(AnyWires::of)
    }

    fn run(&mut self, plan: &Plan, inputs: &AnyWires) -> Result<AnyWires> {
        self.0.run(plan, inputs.own()?).map(AnyWires::of)
    }

    fn run_pieces(&mut self, plan: &Plan, inputs: &[Piece<'_, AnyWires>]) -> Result<AnyWires> {
        self.0.run_pieces(plan, &own_pieces(inputs)?).map(AnyWires::of)
    }

    fn arrange(&mut self, parts: &[Piece<'_, AnyWires>], runs: &[LaneRun]) -> Result<AnyWires> {
        self.0.arrange(&own_pieces(parts)?, runs).map(AnyWires::of)
    }

    fn shuffles(&self) -> bool {
        self.0.shuffles()
    }

    fn draw(&mut self, lanes: usize) -> Result<u32> {
        self.0.draw(lanes)
    }

    fn shuffle(&mut self, wires: &AnyWires, order: u32, back: bool) -> Result<AnyWires> {
        self.0.shuffle(wires.own()?, order, back).map(AnyWires::of)
    }

    fn digests(&self) -> bool {
        self.0.digests()
    }

    fn digest(&mut self, these: &AnyWires, those: &AnyWires) -> Result<AnyWires> {
        self.0.digest(these.own()?, those.own()?).map(AnyWires::of)
    }

    fn levels_take_rounds(&self) -> bool {
        self.0.levels_take_rounds()
    }

    fn most_lanes(&self, plan: &Plan) -> usize {
        self.0.most_lanes(plan)
    }

    fn settle(&mut self, wires: AnyWires) -> Result<AnyWires> {
        let wires: Box<dyn Any> = wires.0;
        let wires: Box<E::Wires> = wires.downcast().map_err(|_| of_another())?;
        self.0.settle(*wires).map(AnyWires::of)
    }

    fn reveal(&mut self, wires: &AnyWires, to: Parties) -> Result<Option<BitMatrix>> {
        self.0.reveal(wires.own()?, to)
    }

    fn keeps(&self) -> bool {
        self.0.keeps()
    }

    fn keep(&mut self, wires: &AnyWires) -> Result<BitMatrix> {
        self.0.keep(wires.own()?)
    }

    fn take(&mut self, wires: usize, share: &BitMatrix) -> Result<AnyWires> {
        self.0.take(wires, share).map(AnyWires::of)
    }

    fn compare(&mut self, digest: &[u8; 32]) -> Result<()> {
        self.0.compare(digest)
    }

    fn finish(&mut self) -> Result<()> {
        self.0.finish()
    }

    fn costs(&self) -> Costs {
        self.0.costs()
    }

    fn error_bound(&self) -> f64 {
        self.0.error_bound()
    }

    fn computational_bits(&self) -> f64 {
        self.0.computational_bits()
    }

    fn warnings(&self) -> Vec<Warning> {
        self.0.warnings()
    }
}

/// The pieces as those of the engine's own wires.
fn own_pieces<'a, W: WireVector + 'static>(pieces: &'a [Piece<'_, AnyWires>]) -> Result<Vec<Piece<'a, W>>> {
    let own = |(wires, range): &'a Piece<'_, AnyWires>| Ok((wires.own()?, range.clone()));
    pieces.iter().map(own).collect()
}
