//! Where the evaluator's wires come from: what it needs to compute their bits in the clear once the garbler's cheating has told it
//! the difference Δ.
//!
//! A wire keeps what it depends on for as long as it lives, back to inputs and to wires that are *anchored*: soldered to so many gates
//! that most of them are good, from which Δ tells the bit.

use std::sync::{Arc, OnceLock};

use cenote_garble::wide::{self, Start};
use cenote_primitives::{BitMatrix, Block, LaneRun};
use cenote_session::{Bundles, Traced, drop_sources};
use zeroize::{Zeroize, Zeroizing};

use crate::cell::Cell;
use crate::online::circuit::Circuit;
use crate::setup::add_if;
use crate::wires::{Bundle, JimuWires};

/// Where the wires of a bundle come from.
pub(crate) enum Origin {
    /// The garbler's inputs, or wires that were anchored: the gates.
    Anchored(Anchors),
    /// Public bits, or this party's inputs: they are `clear`.
    Known,
    /// The outputs of a circuit.
    Circuit {
        circuit: Arc<Circuit>,
        inputs: JimuWires,
    },
    /// Wires that were settled before the garbler's cheating had shown: the labels are right, whatever shows later.
    Settled,
    /// Lanes of other wires, put together anew.
    Lanes {
        parts: Vec<JimuWires>,
        runs: Arc<[LaneRun]>,
    },
}

/// The gates that wires are anchored to, an equal odd number for each.
pub(crate) struct Anchors {
    /// Gates of a wire.
    pub(crate) each: usize,
    /// Their numbers.
    pub(crate) numbers: Vec<u64>,
    /// Their tables.
    pub(crate) tables: Vec<Block>,
    /// What must be added to the wire's label for the left and the right operand of each.
    pub(crate) solderings: Vec<Block>,
}

/// What Δ is used with.
pub(crate) struct Revealed<'a> {
    pub(crate) delta: &'a [Block],
    pub(crate) start: &'a Start,
}

impl Anchors {
    /// The bit that `label` of wire `at` carries.
    ///
    /// Both operands of a gate are this wire, so they are 1 together; of the four pairs of labels only the one that is twice
    /// the label for 1 gives another output than the rest. The bit is what most gates say.
    pub(crate) fn bit(&self, at: usize, label: &[Block], revealed: &Revealed<'_>) -> bool {
        let blocks = label.len();
        // They must not grow.
        let room = || Zeroizing::new(Vec::with_capacity(4 * self.each * blocks));
        let (mut lefts, mut rights) = (room(), room());
        let (mut numbers, mut tables) = (Vec::new(), Vec::new());
        for gate in at * self.each..(at + 1) * self.each {
            let solderings = &self.solderings[2 * gate * blocks..2 * (gate + 1) * blocks];
            let (left, right) = solderings.split_at(blocks);
            for pair in 0..4u64 {
                for (labels, soldering, mask) in
                    [(&mut lefts, left, pair & 1), (&mut rights, right, pair >> 1)]
                {
                    let first = labels.len();
                    labels.extend(label.iter().zip(soldering).map(|(&a, &b)| a ^ b));
                    add_if(&mut labels[first..], revealed.delta, mask.wrapping_neg());
                }
                numbers.push(self.numbers[gate]);
                tables.extend_from_slice(&self.tables[2 * gate * blocks..2 * (gate + 1) * blocks]);
            }
        }
        let mut outputs = Zeroizing::new(vec![Block::ZERO; numbers.len() * blocks]);
        wide::evaluate(revealed.start, &numbers, &lefts, &rights, &tables, &mut outputs);
        let mut votes = [0; 2];
        for outputs in outputs.chunks_exact(4 * blocks) {
            let output = |pair: usize| &outputs[pair * blocks..(pair + 1) * blocks];
            let same = |pairs: [usize; 3]| pairs.iter().all(|&pair| output(pair) == output(pairs[0]));
            // The label carries 1 if the pair without Δ is the odd one, 0 if the pair with Δ twice is.
            votes[1] += usize::from(same([1, 2, 3]) && output(0) != output(1));
            votes[0] += usize::from(same([0, 1, 2]) && output(3) != output(0));
        }
        votes[1] > votes[0]
    }
}

/// The bits of `wires`, a row for each, but zeros for those that are settled: their labels tell.
pub(crate) fn replay(wires: &JimuWires, cell: Cell, revealed: &Revealed<'_>) -> BitMatrix {
    wires.0.replay(|bundle| match &bundle.known().origin {
        Origin::Known => unreachable!("what is known is clear"),
        Origin::Settled => None,
        Origin::Anchored(anchors) => Some(BitMatrix::from_fn(bundle.wires, bundle.lanes, |wire, lane| {
            let at = wire * bundle.lanes + lane;
            let label = &bundle.cells[at * cell.size()..][cell.label()];
            anchors.bit(at, label, revealed)
        })),
        Origin::Circuit { circuit, inputs } => {
            let outputs = circuit.plan.evaluate(&inputs.0.known_bits());
            Some(outputs.expect("the plan was run on these wires"))
        }
        Origin::Lanes { parts, runs } => {
            let parts: Vec<BitMatrix> = parts.iter().map(|part| part.0.known_bits()).collect();
            Some(BitMatrix::arrange(&parts.iter().collect::<Vec<_>>(), runs))
        }
    })
}

impl Traced for Bundle {
    fn sources(&self) -> impl Iterator<Item = &Bundles<Self>> {
        let inputs = match &self.known().origin {
            Origin::Circuit { inputs, .. } => std::slice::from_ref(inputs),
            Origin::Lanes { parts, .. } => parts,
            Origin::Anchored(_) | Origin::Known | Origin::Settled => &[],
        };
        inputs.iter().map(|wires| &wires.0)
    }

    fn clear(&self) -> &OnceLock<BitMatrix> {
        &self.known().clear
    }

    fn unlink(&mut self, links: &mut Vec<Bundles<Self>>) {
        let Some(known) = &mut self.known else {
            return;
        };
        if let Some(clear) = known.clear.get_mut() {
            clear.words_mut().zeroize();
        }
        match std::mem::replace(&mut known.origin, Origin::Known) {
            Origin::Circuit { inputs, .. } => links.push(inputs.0),
            Origin::Lanes { parts, .. } => links.extend(parts.into_iter().map(|part| part.0)),
            Origin::Anchored(_) | Origin::Known | Origin::Settled => {}
        }
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        drop_sources(self);
    }
}
