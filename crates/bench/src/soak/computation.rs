//! One computation: circuits that depend on one another, and all of it in the clear beside it.

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::{ClearEngine, ClearWires, Engine, Parties, Result, WireVector};

use super::circuits::{self, SMALLEST};
use super::dice::Dice;
use super::note::Note;

/// The most secret bits that a value has, all lanes together.
const MOST_BITS: usize = 1 << 14;

/// Circuits of a computation that depend on one another, at most.
pub(super) const MOST_STEPS: usize = 6;

/// The most wires that are kept for the next circuit.
const MOST_WIRES: usize = 512;

/// How a computation is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// AND gates, about.
    pub(super) size: u64,
    /// Circuits that depend on one another.
    pub(super) steps: usize,
    /// AND gates of the first circuit; the rest is lanes.
    pub(super) gates: u64,
}

/// Secret wires, and what they hold.
#[derive(Clone)]
struct Pair<W> {
    secret: W,
    clear: ClearWires,
}

impl<W: WireVector> Pair<W> {
    fn wires(&self) -> usize {
        self.clear.wires()
    }

    fn lanes(&self) -> usize {
        self.clear.lanes()
    }

    fn select(&self, from: usize, wires: usize) -> Self {
        Pair {
            secret: self.secret.select(from..from + wires),
            clear: self.clear.select(from..from + wires),
        }
    }

    fn concat(parts: &[Self]) -> Self {
        let secrets: Vec<&W> = parts.iter().map(|part| &part.secret).collect();
        let clears: Vec<&ClearWires> = parts.iter().map(|part| &part.clear).collect();
        Pair {
            secret: W::concat(&secrets),
            clear: ClearWires::concat(&clears),
        }
    }
}

/// Where operands of a circuit come from.
enum Operand {
    /// Wires of the state.
    Earlier(usize, usize),
    /// Inputs of a party.
    Input(PartyId, usize),
    /// Public bits.
    Constant(usize),
}

/// A party that computes.
pub(super) struct Computation<'a, E: Engine + ?Sized> {
    pub(super) engine: &'a mut E,
    pub(super) dice: &'a mut Dice,
    pub(super) note: &'a mut Note,
    pub(super) clear: ClearEngine,
}

impl<E: Engine + ?Sized> Computation<'_, E> {
    /// From inputs to outputs.
    pub(super) fn run(&mut self, shape: Shape) -> Result<()> {
        let each = (shape.size / shape.steps as u64).max(1);
        let plan = circuits::of_size(self.dice, shape.gates.min(each));
        let lanes = self.lanes(&plan, each);
        let mut state = self.step(&plan, lanes, None)?;
        for _ in 1..shape.steps {
            if self.dice.once_in(3) {
                state = self.arrange(&state, None)?;
            }
            if self.dice.once_in(3) {
                let wires = 1 + self.dice.below(state.wires());
                let from = self.dice.below(state.wires() - wires + 1);
                self.reveal(&state.select(from, wires))?;
            }
            let gates = (each / state.lanes() as u64).max(SMALLEST);
            let plan = circuits::of_size(self.dice, gates);
            let most = self.lanes(&plan, each);
            if state.lanes() > most {
                state = self.arrange(&state, Some(most))?;
            }
            state = self.step(&plan, state.lanes(), Some(&state))?;
        }
        if self.dice.once_in(4) {
            state.secret = self.engine.settle(state.secret)?;
        }
        self.reveal(&state)?;
        self.note.computations += 1;
        Ok(())
    }

    /// Runs each circuit of the library that may come, so that what memory it takes to make its plan is taken at once.
    pub(super) fn run_library(&mut self, most: u64) -> Result<()> {
        for plan in circuits::up_to(most) {
            let outputs = self.step(&plan, 1, None)?;
            self.reveal(&outputs)?;
        }
        Ok(())
    }

    /// A computation that takes as much memory as any: circuits one after the other with as many inputs of one party's as there can be.
    /// Some of each is kept to the end, when all parties learn as much as there can be.
    pub(super) fn run_widest(&mut self, size: u64, owner: PartyId) -> Result<()> {
        let plan = circuits::widest();
        let lanes = self.lanes(&plan, size);
        let mut kept: Option<Pair<E::Wires>> = None;
        for step in 0..MOST_STEPS {
            let mut parts = vec![self.input(owner, plan.input_wires() - step, lanes)?];
            parts.extend(kept);
            let inputs = Pair::concat(&parts);
            let outputs = self.evaluate(&plan, &inputs)?;
            self.open(&outputs, Parties::all(self.engine.parties()))?;
            let from = inputs.wires() - step - 1;
            kept = Some(inputs.select(from, step + 1));
        }
        if let Some(kept) = kept {
            let most = (MOST_BITS / kept.wires()).min(size as usize).max(1);
            let wide = self.arrange(&kept, Some(most))?;
            self.open(&wide, Parties::all(self.engine.parties()))?;
        }
        self.note.computations += 1;
        Ok(())
    }

    /// As many lanes of a circuit as come to `size` AND gates, and a party can hold.
    fn lanes(&self, plan: &Plan, size: u64) -> usize {
        let lanes = size / (plan.and_count() as u64).max(SMALLEST);
        let wires = plan
            .input_wires()
            .max(plan.output_wires() + MOST_WIRES / 4)
            .max(1);
        let most = self.engine.most_lanes(plan).min(MOST_BITS / wires);
        usize::try_from(lanes).unwrap_or(usize::MAX).clamp(1, most.max(1))
    }

    /// Runs `plan` on wires of `state`, inputs and constants. Gives its outputs, and some of the state.
    fn step(&mut self, plan: &Plan, lanes: usize, state: Option<&Pair<E::Wires>>) -> Result<Pair<E::Wires>> {
        let operands = self.operands(plan.input_wires(), state.map_or(0, Pair::wires));
        if !self.dice.once_in(3) {
            let of = |operand: &Operand| match operand {
                Operand::Input(owner, wires) => Some((*owner, wires * lanes)),
                _ => None,
            };
            let inputs: Vec<_> = operands.iter().filter_map(of).collect();
            self.engine.prepare_values(&inputs, &[])?;
            self.engine.prepare(plan, lanes)?;
        }
        let mut parts = Vec::new();
        for operand in operands {
            parts.push(match (operand, state) {
                (Operand::Earlier(from, wires), Some(state)) => state.select(from, wires),
                (Operand::Input(owner, wires), _) => self.input(owner, wires, lanes)?,
                (Operand::Constant(wires) | Operand::Earlier(_, wires), _) => {
                    let bits = self.dice.bits(wires, lanes);
                    Pair {
                        secret: self.engine.constant(&bits)?,
                        clear: self.clear.constant(&bits)?,
                    }
                }
            });
        }
        let inputs = Pair::concat(&parts);
        let outputs = self.evaluate(plan, &inputs)?;
        // Some of what the circuit was given lives on beside its outputs.
        let room = MOST_WIRES.saturating_sub(outputs.wires()).min(MOST_WIRES / 4);
        let wires = self.dice.below(room.min(inputs.wires()) + 1);
        if wires == 0 {
            return Ok(outputs);
        }
        let kept = inputs.select(inputs.wires() - wires, wires);
        Ok(Pair::concat(&[outputs, kept]))
    }

    fn evaluate(&mut self, plan: &Plan, inputs: &Pair<E::Wires>) -> Result<Pair<E::Wires>> {
        let outputs = Pair {
            secret: self.engine.run(plan, &inputs.secret)?,
            clear: self.clear.run(plan, &inputs.clear)?,
        };
        self.note.runs += 1;
        let ands = (plan.and_count() * inputs.lanes()) as u64;
        let [least, most] = &mut self.note.sizes;
        *least = if self.note.and_gates == 0 {
            ands
        } else {
            ands.min(*least)
        };
        *most = ands.max(*most);
        self.note.and_gates += ands;
        Ok(outputs)
    }

    /// Where `wires` operands come from, in order.
    fn operands(&mut self, wires: usize, kept: usize) -> Vec<Operand> {
        let parties = self.engine.parties();
        let mut operands = Vec::new();
        let mut missing = wires;
        while missing > 0 {
            let count = match operands.len() {
                0..6 => 1 + self.dice.below(missing),
                _ => missing,
            };
            operands.push(if kept > 0 && !self.dice.once_in(3) {
                let count = count.min(kept);
                missing -= count;
                Operand::Earlier(self.dice.below(kept - count + 1), count)
            } else if self.dice.once_in(6) {
                missing -= count;
                Operand::Constant(count)
            } else {
                missing -= count;
                Operand::Input(PartyId(self.dice.below(parties) as u8), count)
            });
        }
        operands
    }

    fn input(&mut self, owner: PartyId, wires: usize, lanes: usize) -> Result<Pair<E::Wires>> {
        let bits = self.dice.bits(wires, lanes);
        let own = (owner == self.engine.me()).then_some(&bits);
        count(&mut self.note.inputs, owner, wires * lanes);
        Ok(Pair {
            secret: self.engine.input(owner, wires, lanes, own)?,
            clear: self.clear.constant(&bits)?,
        })
    }

    /// Lanes of `state` and of its wires in another order, put together anew: `lanes` of them if given.
    fn arrange(&mut self, state: &Pair<E::Wires>, lanes: Option<usize>) -> Result<Pair<E::Wires>> {
        let (wires, before) = (state.wires(), state.lanes());
        let turned = match self.dice.below(wires) {
            0 => state.clone(),
            at => Pair::concat(&[state.select(at, wires - at), state.select(0, at)]),
        };
        let most = (2 * before).min(MOST_BITS / wires).max(1);
        let mut missing = lanes.unwrap_or_else(|| 1 + self.dice.below(most));
        let mut runs: Vec<LaneRun> = Vec::new();
        while missing > 0 {
            let len = match runs.len() {
                0..6 => 1 + self.dice.below(missing.min(before)),
                _ => missing.min(before),
            };
            let start = self.dice.below(before - len + 1);
            let times = 1 + self.dice.below((missing / len).min(3));
            missing -= len * times;
            runs.push(LaneRun {
                part: self.dice.below(2) as u32,
                start: start as u32,
                len: len as u32,
                times: times as u32,
            });
        }
        Ok(Pair {
            secret: self
                .engine
                .arrange(&[state.secret.whole(), turned.secret.whole()], &runs)?,
            clear: self
                .clear
                .arrange(&[state.clear.whole(), turned.clear.whole()], &runs)?,
        })
    }

    /// Opens wires to some of the parties, and compares them.
    fn reveal(&mut self, wires: &Pair<E::Wires>) -> Result<()> {
        let parties = self.engine.parties();
        let set = self.dice.below(1 << parties);
        let to: Parties = (0..parties as u8)
            .filter(|&party| set >> party & 1 == 1)
            .map(PartyId)
            .collect();
        self.open(wires, to)
    }

    /// Opens wires to these parties, and compares them.
    fn open(&mut self, wires: &Pair<E::Wires>, to: Parties) -> Result<()> {
        for party in to.iter() {
            count(&mut self.note.outputs, party, wires.wires() * wires.lanes());
        }
        let opened = self.engine.reveal(&wires.secret, to)?;
        let expected = to
            .contains(self.engine.me())
            .then(|| self.clear.reveal(&wires.clear, Parties::all(1)));
        let expected = expected.transpose()?.flatten();
        self.compare(opened.as_ref(), expected.as_ref());
        Ok(())
    }

    fn compare(&mut self, opened: Option<&BitMatrix>, expected: Option<&BitMatrix>) {
        self.note.bits += expected.map_or(0, |bits| (bits.rows() * bits.lanes()) as u64);
        if opened == expected {
            return;
        }
        self.note.wrong += 1;
        let number = self.note.computations + 1;
        let what = || match (opened, expected) {
            (None, _) => format!("computation {number}: this party has not learnt what it is entitled to"),
            (_, None) => format!("computation {number}: this party has learnt what it is not entitled to"),
            _ => format!("computation {number}: an output is not what plain evaluation gives"),
        };
        self.note.first_wrong.get_or_insert_with(what);
    }
}

/// Adds so many to the number of a party.
fn count(of_parties: &mut Vec<u64>, party: PartyId, bits: usize) {
    if of_parties.len() <= party.index() {
        of_parties.resize(party.index() + 1, 0);
    }
    of_parties[party.index()] += bits as u64;
}
