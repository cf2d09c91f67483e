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

/// What a step of a program takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTally {
    /// AND gates, of all lanes: about, where a circuit does the work of several steps.
    pub and_gates: u64,
    /// Levels of ANDs that are evaluated one after another. Those of such a circuit count for the step that has most of its ANDs.
    pub levels: u64,
    /// Messages one after another, about.
    pub messages: u64,
}

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
    /// The AND gates, levels and messages of each step that the program [entered](Session::enter); the first has those of no other.
    pub steps: Vec<StepTally>,
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
    /// Whether shares can be used after their session.
    pub keeps: bool,
}

impl Abilities {
    /// Those of three parties.
    pub const THREE: Self = Self {
        levels_take_rounds: true,
        shuffles: true,
        digests: true,
        keeps: true,
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
        step: 0,
        shares: Vec::new(),
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
    /// The step that the program is in.
    step: usize,
    /// How much of the circuit that is run next belongs to each step, about.
    shares: Vec<(usize, u64)>,
    tally: Rc<RefCell<Tally>>,
}

impl Tally {
    fn step(&mut self, step: usize) -> &mut StepTally {
        let count = self.steps.len().max(step + 1);
        self.steps.resize(count, StepTally::default());
        &mut self.steps[step]
    }

    fn add_and_gates(&mut self, step: usize, and_gates: u64) {
        self.and_gates += and_gates;
        self.step(step).and_gates += and_gates;
    }

    fn add_messages(&mut self, step: usize, messages: u64) {
        self.messages += messages;
        self.step(step).messages += messages;
    }
}

impl Counter {
    fn hold(&mut self, wires: usize, lanes: usize) -> Slot {
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

/// Splits `count` as `shares` says; all of it is `own` if they are nothing.
fn split(count: u64, shares: &[(usize, u64)], own: usize) -> Vec<(usize, u64)> {
    let all: u64 = shares.iter().map(|(_, share)| share).sum();
    if all == 0 {
        return vec![(own, count)];
    }
    let (mut before, mut given) = (0, 0);
    let part = |&(step, share): &(usize, u64)| {
        before += share;
        let until = (u128::from(count) * u128::from(before) / u128::from(all)) as u64;
        let part = until - given;
        given = until;
        (step, part)
    };
    shares.iter().map(part).collect()
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
        self.tally.borrow_mut().add_and_gates(self.step, and_gates);
    }

    fn enter(&mut self, step: usize) {
        self.step = step;
    }

    fn share(&mut self, shares: Vec<(usize, u64)>) {
        self.shares = shares;
    }

    fn draw(&mut self, _: usize) -> Result<u32> {
        Ok(0)
    }

    fn shuffle(&mut self, wires: &Wires, _: u32, _: bool) -> Result<Slot> {
        let (width, lanes) = (wires.1.len(), self.slots[wires.0].1);
        {
            let tally = &mut *self.tally.borrow_mut();
            tally.moves = tally.moves.and(Moves::once(lanes as u64, width as u64));
            tally.add_messages(self.step, MOVE);
        }
        Ok(self.hold(width, lanes))
    }

    fn input(&mut self, owner: PartyId, wires: usize, lanes: usize, _: Option<&BitMatrix>) -> Result<Slot> {
        add(
            &mut self.tally.borrow_mut().inputs,
            owner.0,
            (wires * lanes) as u64,
        );
        Ok(self.hold(wires, lanes))
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<Slot> {
        Ok(self.hold(bits.rows(), bits.lanes()))
    }

    fn run(&mut self, plan: &Plan, _: bool, lanes: usize, inputs: &[Wires]) -> Result<Slot> {
        {
            let tally = &mut *self.tally.borrow_mut();
            let and_gates = (plan.and_count() * lanes) as u64;
            let shares = std::mem::take(&mut self.shares);
            for (step, own) in split(and_gates, &shares, self.step) {
                tally.add_and_gates(step, own);
            }
            let most = shares.iter().max_by_key(|(_, share)| *share);
            let most = most.map_or(self.step, |(step, _)| *step);
            tally.step(most).levels += plan.and_depth() as u64;
            tally.gates += (plan.local_ops().len() + plan.and_ops().len()) as u64;
            tally.levels += plan.and_depth() as u64;
        }
        let own = width(inputs) + plan.slots();
        self.peak((own * lanes) as u64);
        Ok(self.hold(plan.output_wires(), lanes))
    }

    fn arrange(&mut self, parts: &[Wires], runs: &[LaneRun]) -> Result<Slot> {
        let wires = parts.first().map_or(0, |(_, range)| range.len());
        {
            let most = &mut self.tally.borrow_mut().pieces;
            *most = (*most).max(runs.len() as u64);
        }
        Ok(self.hold(wires, runs.iter().map(LaneRun::lanes).sum()))
    }

    fn digests(&self) -> bool {
        self.abilities.digests
    }

    fn digest(&mut self, these: &[Wires], those: &[Wires]) -> Result<Slot> {
        // Both are put together from their parts.
        self.peak(((width(these) + width(those)) * self.lanes(these)) as u64);
        self.tally.borrow_mut().add_messages(self.step, COMPARE);
        Ok(self.hold(DIGEST, 1))
    }

    fn reveal(&mut self, wires: &[Wires], to: Parties) -> Result<Option<BitMatrix>> {
        let (width, lanes) = (width(wires), self.lanes(wires));
        self.tally.borrow_mut().add_messages(self.step, REVEAL);
        add(
            &mut self.tally.borrow_mut().outputs,
            to.iter().map(|party| party.0).collect(),
            (width * lanes) as u64,
        );
        Ok(to.contains(self.me()).then(|| BitMatrix::zeros(width, lanes)))
    }

    fn keeps(&self) -> bool {
        self.abilities.keeps
    }

    fn keep(&mut self, wires: &Wires) -> Result<BitMatrix> {
        self.tally.borrow_mut().add_messages(self.step, REVEAL);
        Ok(BitMatrix::zeros(0, self.slots[wires.0].1))
    }

    fn take(&mut self, wires: usize, lanes: usize, _: &BitMatrix) -> Result<Slot> {
        self.tally.borrow_mut().add_messages(self.step, COMPARE);
        Ok(self.hold(wires, lanes))
    }

    fn forget(&mut self, slot: Slot) {
        let (wires, lanes) = std::mem::take(&mut self.slots[slot]);
        self.kept -= (wires * lanes) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A circuit that does the work of two steps is split between them, and what is revealed is of the step that does it.
    #[test]
    fn each_step_has_what_it_takes() {
        const LANES: u64 = 10;
        let product_and_sum = |steps: [usize; 3]| {
            let program = |session: &Session| {
                let [x, y, z] = [(); 3].map(|()| {
                    let bits = session.input_bits(PartyId(0), &[16], LANES as usize, None);
                    bits.into_iter().next().expect("one for each width")
                });
                session.enter(steps[0]);
                let product = x.multiply(&y);
                session.enter(steps[1]);
                let sum = product.add(&z);
                assert_eq!(session.enter(steps[2]), steps[1]);
                session.reveal_bits(&[sum], Parties::all(2))
            };
            tally(2, Abilities::default(), program).unwrap()
        };
        let tally = product_and_sum([1, 3, 2]);
        let [none, product, open, sum] = tally.steps[..] else {
            panic!("{:?}", tally.steps)
        };
        assert_eq!(none, StepTally::default());
        assert_eq!((open.and_gates, open.messages), (0, REVEAL));
        assert!((14 * LANES..=15 * LANES).contains(&sum.and_gates), "{sum:?}");
        assert_eq!(product.and_gates + sum.and_gates, tally.and_gates);
        assert_eq!((product.levels, sum.levels), (tally.levels, 0));
        let alone = product_and_sum([0, 0, 0]);
        assert_eq!(alone.steps.len(), 1);
        assert_eq!(alone.and_gates, tally.and_gates);
        assert_eq!(alone.steps[0].and_gates, tally.and_gates);
    }
}
