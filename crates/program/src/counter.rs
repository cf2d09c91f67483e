//! What a program takes, counted without computing anything.

use std::cell::RefCell;
use std::rc::Rc;

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::{Demand, Moves, Parties, Result};
use serde::{Deserialize, Serialize};

use crate::machine::{Machine, Slot, Wires};
use crate::session::Session;

/// What a program takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// AND gates, of all lanes.
    pub and_gates: u64,
    /// Gates of one lane of each circuit that is run, free ones too.
    pub gates: u64,
    /// Levels of ANDs that are evaluated one after another.
    pub levels: u64,
    /// Messages one after another in which rows are moved, compared by digests, or verified and revealed, about.
    pub messages: u64,
    /// Bits that each party gives.
    pub inputs: Vec<(u8, u64)>,
    /// Bits that parties learn.
    pub outputs: Vec<(Vec<u8>, u64)>,
    /// The most wires that are kept at a time, each in all of its lanes, and those within a circuit that is run.
    pub wires: u64,
    /// The most pieces that a row is put together from at once: half of its lanes, in a network that sorts.
    pub pieces: u64,
    /// Rows that are moved in secret orders.
    pub moves: Moves,
}

/// What a protocol can do, as far as it decides how a program is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Whether each level of ANDs takes a round, so that circuits with fewer levels may be chosen.
    pub levels_take_rounds: bool,
    /// Whether it moves rows in secret orders.
    pub shuffles: bool,
    /// Whether it compares rows by digests.
    pub digests: bool,
}

impl Abilities {
    /// Those of three parties.
    pub const THREE: Self = Self {
        levels_take_rounds: true,
        shuffles: true,
        digests: true,
    };
}

/// Wires of a digest.
const DIGEST: usize = 64;

/// Bytes for a piece of a row: of two records, where they are, were and go, and the gate that takes them.
const PIECE: u64 = 144;

/// Messages one after another in which rows are moved.
const MOVE: u64 = 4;
/// Messages for a digest.
const COMPARE: u64 = 3;
/// Messages in which gates are verified, and outputs revealed.
const REVEAL: u64 = 7;

impl Tally {
    /// Bytes that a party takes to find its way through networks, besides those of its session.
    pub fn network_bytes(&self) -> u64 {
        self.pieces.saturating_mul(PIECE)
    }

    /// What it asks of a protocol.
    pub fn demand(&self) -> Demand<'static> {
        let demand = Demand::new()
            .and_gates(self.and_gates)
            .and_wires(self.wires)
            .and_moves(self.moves);
        let demand = self.inputs.iter().fold(demand, |demand, &(owner, bits)| {
            demand.and_input(PartyId(owner), bits)
        });
        let set = |to: &[u8]| {
            to.iter()
                .fold(Parties::NONE, |all, &party| all.with(PartyId(party)))
        };
        self.outputs
            .iter()
            .fold(demand, |demand, (to, bits)| demand.and_output(set(to), *bits))
    }
}

/// Runs `program` as one of `parties` parties of a protocol with these abilities without any values: everything that is revealed is zero.
/// Sorts that reveal comparisons are counted as for random keys, with six standard deviations more.
///
/// # Errors
/// The program's.
pub fn tally<T>(
    parties: usize,
    abilities: Abilities,
    program: impl FnOnce(&Session) -> crate::Result<T>,
) -> crate::Result<Tally> {
    let tally = Rc::new(RefCell::new(Tally::default()));
    let counter = Counter {
        parties,
        abilities,
        slots: Vec::new(),
        kept: 0,
        tally: Rc::clone(&tally),
    };
    program(&Session::over(Box::new(counter), false))?;
    let counted = tally.borrow().clone();
    Ok(counted)
}

struct Counter {
    parties: usize,
    abilities: Abilities,
    /// Lanes and wires of each vector.
    slots: Vec<(usize, usize)>,
    /// Wires that are kept, each in all of its lanes.
    kept: u64,
    tally: Rc<RefCell<Tally>>,
}

impl Counter {
    fn keep(&mut self, wires: usize, lanes: usize) -> Slot {
        self.slots.push((wires, lanes));
        self.kept += (wires * lanes) as u64;
        self.peak(0);
        self.slots.len() - 1
    }

    fn peak(&self, besides: u64) {
        let tally = &mut *self.tally.borrow_mut();
        tally.wires = tally.wires.max(self.kept + besides);
    }

    fn lanes(&self, wires: &[Wires]) -> usize {
        wires.first().map_or(0, |(slot, _)| self.slots[*slot].1)
    }
}

fn width(wires: &[Wires]) -> usize {
    wires.iter().map(|(_, range)| range.len()).sum()
}

/// Adds to what is counted for `of`.
fn add<K: PartialEq>(counts: &mut Vec<(K, u64)>, of: K, bits: u64) {
    match counts.iter_mut().find(|(known, _)| *known == of) {
        Some((_, count)) => *count += bits,
        None => counts.push((of, bits)),
    }
}

impl Machine for Counter {
    fn me(&self) -> PartyId {
        PartyId(0)
    }

    fn parties(&self) -> usize {
        self.parties
    }

    fn levels_take_rounds(&self) -> bool {
        self.abilities.levels_take_rounds
    }

    fn shuffles(&self) -> bool {
        self.abilities.shuffles
    }

    fn foresees(&self) -> bool {
        true
    }

    fn spare(&mut self, and_gates: u64) {
        self.tally.borrow_mut().and_gates += and_gates;
    }

    fn draw(&mut self, _: usize) -> Result<u32> {
        Ok(0)
    }

    fn shuffle(&mut self, wires: &Wires, _: u32, _: bool) -> Result<Slot> {
        let (width, lanes) = (wires.1.len(), self.slots[wires.0].1);
        {
            let tally = &mut *self.tally.borrow_mut();
            tally.moves = tally.moves.and(Moves::once(lanes as u64, width as u64));
            tally.messages += MOVE;
        }
        Ok(self.keep(width, lanes))
    }

    fn input(&mut self, owner: PartyId, wires: usize, lanes: usize, _: Option<&BitMatrix>) -> Result<Slot> {
        add(
            &mut self.tally.borrow_mut().inputs,
            owner.0,
            (wires * lanes) as u64,
        );
        Ok(self.keep(wires, lanes))
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<Slot> {
        Ok(self.keep(bits.rows(), bits.lanes()))
    }

    fn run(&mut self, plan: &Plan, _: bool, lanes: usize, inputs: &[Wires]) -> Result<Slot> {
        {
            let tally = &mut *self.tally.borrow_mut();
            tally.and_gates += (plan.and_count() * lanes) as u64;
            tally.gates += (plan.local_ops().len() + plan.and_ops().len()) as u64;
            tally.levels += plan.and_depth() as u64;
        }
        let own = width(inputs) + plan.slots();
        self.peak((own * lanes) as u64);
        Ok(self.keep(plan.output_wires(), lanes))
    }

    fn arrange(&mut self, parts: &[Wires], runs: &[LaneRun]) -> Result<Slot> {
        let wires = parts.first().map_or(0, |(_, range)| range.len());
        {
            let most = &mut self.tally.borrow_mut().pieces;
            *most = (*most).max(runs.len() as u64);
        }
        Ok(self.keep(wires, runs.iter().map(LaneRun::lanes).sum()))
    }

    fn digests(&self) -> bool {
        self.abilities.digests
    }

    fn digest(&mut self, these: &[Wires], those: &[Wires]) -> Result<Slot> {
        // Both are put together from their parts.
        self.peak(((width(these) + width(those)) * self.lanes(these)) as u64);
        self.tally.borrow_mut().messages += COMPARE;
        Ok(self.keep(DIGEST, 1))
    }

    fn reveal(&mut self, wires: &[Wires], to: Parties) -> Result<Option<BitMatrix>> {
        let (width, lanes) = (width(wires), self.lanes(wires));
        self.tally.borrow_mut().messages += REVEAL;
        add(
            &mut self.tally.borrow_mut().outputs,
            to.iter().map(|party| party.0).collect(),
            (width * lanes) as u64,
        );
        Ok(to.contains(self.me()).then(|| BitMatrix::zeros(width, lanes)))
    }

    fn forget(&mut self, slot: Slot) {
        let (wires, lanes) = std::mem::take(&mut self.slots[slot]);
        self.kept -= (wires * lanes) as u64;
    }
}
