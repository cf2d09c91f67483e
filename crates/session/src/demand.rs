//! What a program asks of a protocol.

use cenote_circuit::Plan;
use cenote_net::PartyId;
use serde::{Deserialize, Serialize};

use crate::{Engine, Parties, Result};

/// AND gates that a program is taken to have which says nothing of what it will do.
const ASSUMED: u64 = 1 << 15;

/// Circuits that are run alike, so many times.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The circuit.
    pub plan: &'a Plan,
    /// Lanes of each run.
    pub lanes: usize,
    /// How often it is run, one run after another.
    pub times: usize,
}

/// Rows that are moved in secret orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moves {
    /// Rows, each as often as it is moved.
    pub rows: u64,
    /// Words of 64 bits that they have together.
    pub words: u64,
    /// Rows and words of those that are moved at a time, at most.
    pub most: (u64, u64),
}

impl Moves {
    /// `rows` rows of `width` bits, once.
    pub fn once(rows: u64, width: u64) -> Self {
        let words = rows.saturating_mul(width.div_ceil(64));
        Self {
            rows,
            words,
            most: (rows, words),
        }
    }

    /// These and `other`, one after the other.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            rows: self.rows.saturating_add(other.rows),
            words: self.words.saturating_add(other.words),
            most: (self.most.0.max(other.most.0), self.most.1.max(other.most.1)),
        }
    }
}

/// The circuits that a program runs, and the bits that go in and come out, all known before anything is made: what
/// parameters, estimates and material are computed from.
#[derive(Clone, Debug, Default)]
pub struct Demand<'a> {
    runs: Vec<Run<'a>>,
    /// AND gates of circuits that are not known yet.
    ands: u64,
    /// Wires that are kept at a time between them.
    wires: u64,
    /// Wires that enter them.
    entering: u64,
    inputs: Vec<(PartyId, u64)>,
    outputs: Vec<(Parties, u64)>,
    moves: Moves,
}

impl<'a> Demand<'a> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// And `plan` on `lanes` lanes, `times` times one after the other.
    #[must_use]
    pub fn and_run(mut self, plan: &'a Plan, lanes: usize, times: usize) -> Self {
        if lanes > 0 && times > 0 {
            self.runs.push(Run { plan, lanes, times });
        }
        self
    }

    /// And about so many AND gates of circuits that are not known yet, many of them side by side.
    #[must_use]
    pub fn and_gates(mut self, count: u64) -> Self {
        self.ands = self.ands.saturating_add(count);
        self
    }

    /// And at most so many wires, each counted in all of its lanes, that are kept at a time by circuits that are not known yet.
    #[must_use]
    pub fn and_wires(mut self, count: u64) -> Self {
        self.wires = self.wires.saturating_add(count);
        self
    }

    /// And about so many wires, each counted in all of its lanes, that enter circuits that are not known yet.
    #[must_use]
    pub fn and_entering(mut self, count: u64) -> Self {
        self.entering = self.entering.saturating_add(count);
        self
    }

    /// And `bits` secret bits of `owner`, all lanes together.
    #[must_use]
    pub fn and_input(mut self, owner: PartyId, bits: u64) -> Self {
        self.inputs.push((owner, bits));
        self
    }

    /// And `bits` bits revealed to `to`, all lanes together.
    #[must_use]
    pub fn and_output(mut self, to: Parties, bits: u64) -> Self {
        self.outputs.push((to, bits));
        self
    }

    /// And these moves.
    #[must_use]
    pub fn and_moves(mut self, moves: Moves) -> Self {
        self.moves = self.moves.and(moves);
        self
    }

    /// Rows that are moved.
    pub fn moves(&self) -> Moves {
        self.moves
    }

    /// What is run, in order.
    pub fn runs(&self) -> &[Run<'a>] {
        &self.runs
    }

    /// Who gives how many bits.
    pub fn inputs(&self) -> &[(PartyId, u64)] {
        &self.inputs
    }

    /// Who learns how many bits.
    pub fn outputs(&self) -> &[(Parties, u64)] {
        &self.outputs
    }

    /// Bits that `owner` gives.
    pub fn input_bits_of(&self, owner: PartyId) -> u64 {
        sum(self.inputs.iter().filter(|(of, _)| *of == owner))
    }

    /// Bits that all parties give.
    pub fn input_bits(&self) -> u64 {
        sum(&self.inputs)
    }

    /// Bits that parties learn.
    pub fn output_bits(&self) -> u64 {
        sum(&self.outputs)
    }

    /// Whether a program has told nothing of what it will do.
    fn says_nothing(&self) -> bool {
        self.runs.is_empty() && self.inputs.is_empty() && self.outputs.is_empty()
    }

    /// Whether a program has told all circuits that it will run.
    pub fn is_known(&self) -> bool {
        self.ands == 0 && !self.says_nothing()
    }

    /// AND gates of circuits that are not known yet.
    pub fn unknown_ands(&self) -> u64 {
        self.ands
    }

    /// Wires that circuits that are not known yet keep at a time.
    pub fn unknown_wires(&self) -> u64 {
        self.wires
    }

    /// Wires that enter circuits that are not known yet.
    pub fn unknown_entering(&self) -> u64 {
        self.entering
    }

    /// AND gates, counted once for each lane.
    pub fn ands(&self) -> u64 {
        let runs = self.each_run(|run| (run.plan.and_count() as u64).saturating_mul(run.lanes as u64));
        runs.saturating_add(self.ands)
    }

    /// The same, but some if a program has told nothing of what it will do.
    pub fn likely_ands(&self) -> u64 {
        match self.ands() {
            0 if self.says_nothing() => ASSUMED,
            ands => ands,
        }
    }

    /// Bits that are kept for circuits that are not known yet, if there are such: inputs, and wires between them.
    pub fn kept_bits(&self) -> u64 {
        match self.ands {
            0 => 0,
            _ => self.input_bits().saturating_add(self.wires),
        }
    }

    /// Words of 64 AND gates where each level of a run fills whole words.
    pub fn and_words(&self) -> u64 {
        let runs = self.each_run(|run| {
            let level = |ands: usize| (ands as u64).saturating_mul(run.lanes as u64).div_ceil(64);
            let levels = run.plan.levels().iter();
            levels.map(|l| level(l.ands.len())).fold(0, u64::saturating_add)
        });
        runs.saturating_add(self.ands.div_ceil(64))
    }

    fn each_run(&self, count: impl Fn(&Run<'a>) -> u64) -> u64 {
        let counts = self
            .runs
            .iter()
            .map(|run| count(run).saturating_mul(run.times as u64));
        counts.fold(0, u64::saturating_add)
    }

    /// Announces all of it to an engine, so that it can work ahead.
    ///
    /// # Errors
    /// The engine's.
    pub fn announce<E: Engine + ?Sized>(&self, engine: &mut E) -> Result<()> {
        self.announce_telling(engine, &mut |_, _| ())
    }

    /// The same, while `told` hears what the engine makes ahead ([`Engine::make_ahead`]).
    ///
    /// # Errors
    /// The engine's.
    pub fn announce_telling<E: Engine + ?Sized>(
        &self,
        engine: &mut E,
        told: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let of = |bits: u64| usize::try_from(bits).unwrap_or(usize::MAX);
        let inputs: Vec<_> = self
            .inputs
            .iter()
            .map(|&(owner, bits)| (owner, of(bits)))
            .collect();
        let outputs: Vec<_> = self.outputs.iter().map(|&(to, bits)| (to, of(bits))).collect();
        engine.prepare_values(&inputs, &outputs)?;
        engine.prepare_gates(self.ands)?;
        for run in &self.runs {
            for _ in 0..run.times {
                engine.prepare(run.plan, run.lanes)?;
            }
        }
        engine.make_ahead(told)
    }
}

/// How many bits there are.
fn sum<'a, T: 'a>(values: impl IntoIterator<Item = &'a (T, u64)>) -> u64 {
    let bits = values.into_iter().map(|(_, bits)| *bits);
    bits.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use cenote_circuit::library;

    use super::*;

    #[test]
    fn a_program_that_says_nothing_is_taken_to_have_gates() {
        let nothing = Demand::new();
        assert_eq!((nothing.ands(), nothing.likely_ands()), (0, ASSUMED));
        let gates = Demand::new().and_gates(10);
        let input = Demand::new().and_input(PartyId(1), 40);
        assert_eq!([&gates, &input].map(Demand::likely_ands), [10, 0]);
        assert_eq!(
            [&nothing, &gates, &input].map(Demand::is_known),
            [false, false, true]
        );
    }

    #[test]
    fn bits_are_counted_by_party_and_in_all() {
        let demand = Demand::new()
            .and_input(PartyId(0), 3)
            .and_input(PartyId(1), 40)
            .and_input(PartyId(0), 4)
            .and_output(Parties::all(2), 5)
            .and_output(Parties::one(PartyId(1)), u64::MAX)
            .and_wires(100);
        assert_eq!(
            [0, 1, 2].map(|party| demand.input_bits_of(PartyId(party))),
            [7, 40, 0]
        );
        assert_eq!((demand.input_bits(), demand.output_bits()), (47, u64::MAX));
        assert_eq!((demand.kept_bits(), demand.and_gates(1).kept_bits()), (0, 147));
    }

    #[test]
    fn gates_are_counted_lane_by_lane_and_in_whole_words() {
        let plan = Plan::new(&library::by_name("add8").unwrap());
        let demand = Demand::new()
            .and_run(&plan, 65, 3)
            .and_run(&plan, 1, 1)
            .and_run(&plan, 0, 9);
        let each = plan.and_count() as u64;
        assert_eq!(demand.ands(), each * (65 * 3 + 1));
        // One AND gate in each level of a ripple-carry adder.
        assert_eq!(plan.levels().iter().map(|level| level.ands.len()).max(), Some(1));
        assert_eq!(demand.and_words(), each * (2 * 3 + 1));
        assert_eq!(demand.runs().len(), 2);
        let huge = Demand::new().and_run(&plan, usize::MAX, usize::MAX);
        assert_eq!((huge.ands(), huge.and_words()), (u64::MAX, u64::MAX));
        let unknown = demand.clone().and_gates(1000);
        assert_eq!(
            (unknown.ands(), unknown.and_words()),
            (demand.ands() + 1000, demand.and_words() + 16)
        );
    }
}
