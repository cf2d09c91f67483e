//! How many batches of triples a worker will need: how the gate log will fill and be padded, computed in advance.

use cenote_circuit::Plan;
use cenote_params::three::{Parameters, Variant};

use crate::material::supply::batches;
use crate::online::evaluator::{groups, planned_layers};
use crate::online::worker::groups_of;

/// What the number of triples depends on in a worker's gate log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    n: usize,
    on_demand: bool,
    /// Blocks that are verified together.
    unit: usize,
    /// Words that the log may hold before it is verified.
    limit: usize,
    /// Blocks verified.
    blocks: u64,
    /// Words that wait for verification.
    words: usize,
}

impl Tally {
    /// The tally of a worker that has verified `blocks` blocks of gates, while `words` words wait in its log.
    pub(crate) fn new(parameters: &Parameters, blocks: u64, words: usize) -> Self {
        let n = usize::try_from(parameters.n()).expect("parameters fit this machine's memory");
        Self {
            n,
            on_demand: parameters.variant() == Variant::OnDemand,
            unit: match parameters.variant() {
                Variant::Reshuffle => n,
                _ => 1,
            },
            limit: 8 * usize::try_from(parameters.gates_logged())
                .expect("parameters fit this machine's memory"),
            blocks,
            words,
        }
    }

    /// Adds AND layers of this many words.
    pub(crate) fn add(&mut self, layers: impl Iterator<Item = usize>) {
        for words in layers.filter(|&words| words > 0) {
            if self.words > 0 && self.words + words > self.limit {
                self.blocks = self.after_verification();
                self.words = 0;
            }
            self.words += words;
        }
    }

    /// Blocks that are verified once the log is.
    fn after_verification(&self) -> u64 {
        self.blocks + self.words.next_multiple_of(8 * self.unit) as u64 / 8
    }

    /// Batches needed since the start, if all gates are verified in the end.
    pub(crate) fn batches(&self) -> u64 {
        batches(self.after_verification(), self.n, self.on_demand)
    }
}

/// Batches of triples that a session with `workers` workers needs with these parameters to evaluate `runs`, each a circuit on
/// so many lanes, and to reveal what they give after the last. [`Engine::prepare`](cenote_session::Engine::prepare), called once for each run, asks for
/// exactly as many.
pub fn batches_needed<'a>(
    parameters: &Parameters,
    runs: impl IntoIterator<Item = (&'a Plan, usize)>,
    workers: usize,
) -> u64 {
    let mut tallies = vec![Tally::new(parameters, 0, 0); workers];
    for (plan, lanes) in runs {
        let groups = groups(plan, lanes, workers);
        for (index, tally) in tallies.iter_mut().enumerate() {
            tally.add(planned_layers(plan, groups_of(&groups, index, workers)));
        }
    }
    tallies.iter().map(Tally::batches).sum()
}
