//! An engine without secrecy: the oracle that every protocol is compared with.

use std::ops::Range;
use std::time::Instant;

use cenote_circuit::Plan;
use cenote_net::{Channel, Meter, PartyId, Step};
use cenote_primitives::{BitMatrix, Block, LaneRun, Sampler, as_bytes, as_bytes_mut};

use crate::contract::does_not_shuffle;
use crate::{Costs, Engine, Error, Parties, Piece, Result, WireVector, compare_digests, selected};

const INPUT: Step = Step {
    code: 0xc1,
    name: "clear input",
};
const COMPARE: Step = Step {
    code: 0xc3,
    name: "compare programs",
};
const FINISH: Step = Step {
    code: 0xc2,
    name: "finish",
};

/// Computes in the clear: inputs are sent to everybody. For tests and for trying programs out, never for secrets.
pub struct ClearEngine {
    me: PartyId,
    peers: Vec<Box<dyn Channel>>,
    costs: Costs,
    /// The orders that were drawn, and from what, if it moves lanes.
    orders: Option<(u64, Vec<Vec<u32>>)>,
}

/// Wires of a [`ClearEngine`]: their bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearWires(BitMatrix);

impl ClearEngine {
    /// An engine for party `me` with one channel to each other party (none for a computation of one's own).
    pub fn new(me: PartyId, peers: Vec<Box<dyn Channel>>) -> Self {
        Self {
            me,
            peers,
            costs: Costs::default(),
            orders: None,
        }
    }

    /// One that moves lanes in orders ([`Engine::shuffle`]), which are drawn from `seed`.
    #[must_use]
    pub fn shuffling(mut self, seed: u64) -> Self {
        self.orders = Some((seed, Vec::new()));
        self
    }
}

impl WireVector for ClearWires {
    fn wires(&self) -> usize {
        self.0.rows()
    }

    fn lanes(&self) -> usize {
        self.0.lanes()
    }

    fn select(&self, range: Range<usize>) -> Self {
        let stride = self.0.stride();
        let mut bits = BitMatrix::zeros(range.len(), self.0.lanes());
        bits.words_mut()
            .copy_from_slice(&self.0.words()[range.start * stride..range.end * stride]);
        ClearWires(bits)
    }

    fn concat(parts: &[&Self]) -> Self {
        let lanes = parts[0].lanes();
        assert!(
            parts.iter().all(|part| part.lanes() == lanes),
            "all parts have the same lanes"
        );
        let words: Vec<u64> = parts.iter().flat_map(|part| part.0.words()).copied().collect();
        let mut bits = BitMatrix::zeros(parts.iter().map(|part| part.wires()).sum(), lanes);
        bits.words_mut().copy_from_slice(&words);
        ClearWires(bits)
    }
}

impl Engine for ClearEngine {
    type Wires = ClearWires;

    fn me(&self) -> PartyId {
        self.me
    }

    fn parties(&self) -> usize {
        self.peers.len() + 1
    }

    fn prepare(&mut self, _plan: &Plan, _lanes: usize) -> Result<()> {
        Ok(())
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<ClearWires> {
        check_input(self.me, self.parties(), owner, wires, lanes, bits)?;
        let mut values = BitMatrix::zeros(wires, lanes);
        if let Some(bits) = bits {
            values.clone_from(bits);
            for channel in &mut self.peers {
                channel.send(INPUT, as_bytes(values.words()))?;
                channel.flush()?;
            }
        } else {
            let channel = self.peers.iter_mut().find(|channel| channel.peer() == owner);
            channel
                .expect("the owner is a party")
                .recv(INPUT, as_bytes_mut(values.words_mut()))?;
            values.mask_padding();
        }
        Ok(ClearWires(values))
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<ClearWires> {
        Ok(ClearWires(bits.clone()))
    }

    fn run(&mut self, plan: &Plan, inputs: &ClearWires) -> Result<ClearWires> {
        check_run(plan, inputs.wires())?;
        let start = Instant::now();
        let outputs = plan
            .evaluate(&inputs.0)
            .map_err(|error| Error::BadInput(error.to_string()))?;
        self.costs.and_gates += plan.and_count() as u64 * inputs.lanes() as u64;
        self.costs.add_phase("evaluate", start.elapsed());
        Ok(ClearWires(outputs))
    }

    fn arrange(&mut self, parts: &[Piece<'_, ClearWires>], runs: &[LaneRun]) -> Result<ClearWires> {
        check_arrange(parts, runs)?;
        let parts = selected(parts);
        let parts: Vec<&BitMatrix> = parts.iter().map(|part| &part.0).collect();
        Ok(ClearWires(BitMatrix::arrange(&parts, runs)))
    }

    fn shuffles(&self) -> bool {
        self.orders.is_some()
    }

    fn draw(&mut self, lanes: usize) -> Result<u32> {
        let (seed, orders) = self.orders.as_mut().ok_or_else(does_not_shuffle)?;
        let number = u32::try_from(orders.len()).map_err(|_| does_not_shuffle())?;
        let mut order = vec![0; lanes];
        Sampler::new(Block([number.into(), *seed])).permutation(&mut order);
        orders.push(order);
        Ok(number)
    }

    fn shuffle(&mut self, wires: &ClearWires, order: u32, back: bool) -> Result<ClearWires> {
        let orders = self.orders.as_ref().map(|(_, orders)| orders);
        let order = orders.and_then(|orders| orders.get(order as usize));
        let order = order.filter(|order| order.len() == wires.lanes());
        let mut places = order.ok_or_else(does_not_shuffle)?.clone();
        if back {
            for (place, &lane) in (0..).zip(order.expect("it is there")) {
                places[lane as usize] = place;
            }
        }
        let runs: Vec<LaneRun> = places.iter().map(|&lane| LaneRun::new(0, lane, 1)).collect();
        self.arrange(&[wires.whole()], &runs)
    }

    fn reveal(&mut self, wires: &ClearWires, to: Parties) -> Result<Option<BitMatrix>> {
        Ok(to.contains(self.me).then(|| wires.0.clone()))
    }

    fn keeps(&self) -> bool {
        true
    }

    fn keep(&mut self, wires: &ClearWires) -> Result<BitMatrix> {
        Ok(wires.0.clone())
    }

    fn take(&mut self, _wires: usize, share: &BitMatrix) -> Result<ClearWires> {
        self.constant(share)
    }

    fn compare(&mut self, digest: &[u8; 32]) -> Result<()> {
        let mut peers: Vec<&mut dyn Channel> = self.peers.iter_mut().map(|peer| &mut **peer as _).collect();
        compare_digests(&mut peers, COMPARE, digest)
    }

    fn finish(&mut self) -> Result<()> {
        for channel in &mut self.peers {
            channel.send(FINISH, &[])?;
            channel.flush()?;
        }
        for channel in &mut self.peers {
            channel.recv(FINISH, &mut [])?;
        }
        Ok(())
    }

    fn costs(&self) -> Costs {
        let mut costs = self.costs.clone();
        costs.traffic = self.peers.iter().map(|channel| channel.meter()).sum::<Meter>();
        costs
    }
}

/// Checks the arguments of [`Engine::input`], for every engine.
///
/// # Errors
/// [`Error::BadInput`] if the owner is no party, there are no lanes, bits are given by another than the owner, or in another shape.
pub fn check_input(
    me: PartyId,
    parties: usize,
    owner: PartyId,
    wires: usize,
    lanes: usize,
    bits: Option<&BitMatrix>,
) -> Result<()> {
    check_owner(parties, owner)?;
    let reject = |reason: String| Err(Error::BadInput(reason));
    if lanes == 0 {
        return reject("an input needs at least one lane".into());
    }
    match bits {
        None if owner == me => reject(format!("{owner} owns the input and must give its bits")),
        Some(_) if owner != me => reject(format!("{me} gave bits for an input that {owner} owns")),
        Some(bits) if (bits.rows(), bits.lanes()) != (wires, lanes) => reject(format!(
            "the input has {} wires × {} lanes where {wires} × {lanes} are agreed",
            bits.rows(),
            bits.lanes()
        )),
        _ => Ok(()),
    }
}

/// Checks that the owner of an input is one of so many parties.
///
/// # Errors
/// [`Error::BadInput`] if not.
pub fn check_owner(parties: usize, owner: PartyId) -> Result<()> {
    match owner.index() < parties {
        true => Ok(()),
        false => Err(Error::BadInput(format!(
            "input of {owner}, but there are {parties} parties"
        ))),
    }
}

/// Checks the arguments of [`Engine::run`], for every engine.
///
/// # Errors
/// [`Error::BadInput`] if the number of wires is not the plan's.
pub fn check_run(plan: &Plan, wires: usize) -> Result<()> {
    match plan.input_slots().len() {
        needed if needed == wires => Ok(()),
        needed => Err(Error::BadInput(format!(
            "the circuit has {needed} input wires, but {wires} were given"
        ))),
    }
}

/// Checks the arguments of [`Engine::arrange`], for every engine.
///
/// # Errors
/// [`Error::BadInput`] if the wires of the parts differ, or a run is not within its part.
pub fn check_arrange(parts: &[Piece<'_, impl WireVector>], runs: &[LaneRun]) -> Result<()> {
    let wires = parts.first().map_or(0, |(_, range)| range.len());
    let beyond =
        |(part, range): &Piece<'_, _>| range.end > WireVector::wires(*part) || range.start > range.end;
    if parts.iter().any(beyond) {
        return Err(Error::BadInput("a vector has not so many wires".into()));
    }
    if parts.iter().any(|(_, range)| range.len() != wires) {
        return Err(Error::BadInput(
            "lanes of vectors with different numbers of wires".into(),
        ));
    }
    let within = |run: &LaneRun| {
        let lanes = parts.get(run.part as usize).map_or(0, |(part, _)| part.lanes());
        u64::from(run.start) + u64::from(run.len) <= lanes as u64
    };
    match runs.iter().find(|run| !within(run)) {
        None => Ok(()),
        Some(run) => Err(Error::BadInput(format!("there are no such lanes: {run:?}"))),
    }
}

/// Checks the arguments of [`Engine::digest`], for every engine.
///
/// # Errors
/// [`Error::BadInput`] if they have different wires or lanes.
pub fn check_digest(these: &impl WireVector, those: &impl WireVector) -> Result<()> {
    let [these, those] = [(these.wires(), these.lanes()), (those.wires(), those.lanes())];
    if these == those {
        return Ok(());
    }
    Err(Error::BadInput(format!(
        "{} wires × {} lanes are not to be compared with {} × {}",
        these.0, these.1, those.0, those.1
    )))
}
