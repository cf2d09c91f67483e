//! Where the evaluator's wires come from: what it needs to compute their bits in the clear once the garbler's cheating has
//! told it the difference `Δ` (Section IV-A).
//!
//! A wire keeps what it depends on for as long as it lives: for an input of the garbler its gadget, for one of the
//! evaluator's own its bit, for the output of a circuit the plan, shared by all that it made, and the wires that went in.
//! So a chain of circuits, each fed by the one before, keeps all its links, with shares and labels: 56 bytes for each wire and
//! lane that any of them put out.

use std::sync::{Arc, OnceLock};

use cenote_primitives::{BitMatrix, Block, LaneRun};
use cenote_session::{Bundles, Result, Traced, drop_sources};
use zeroize::{Zeroize, Zeroizing};

use crate::material::{GarblerInputs, Run};
use crate::online::tiles::Circuit;
use crate::room::{self, INPUTS};
use crate::wires::{Bundle, Labels, LegoWires};

/// Where the wires of a bundle come from.
pub(crate) enum Origin {
    /// The garbler's inputs: their gadgets, one for each wire and lane.
    Garbler(Vec<Run<GarblerInputs>>),
    /// Constants.
    Known(BitMatrix),
    /// The evaluator's own inputs: their bits are `clear` as soon as it has them.
    Own,
    /// Nothing is kept of it: the labels are right, or the bits are `clear`.
    Settled,
    /// The outputs of a circuit.
    Circuit {
        circuit: Arc<Circuit>,
        inputs: LegoWires,
    },
    /// Lanes of other wires.
    Lanes(Lanes),
}

/// Lanes of other wires, put together anew.
#[derive(Clone)]
pub(crate) struct Lanes {
    /// Vectors with as many wires.
    pub(crate) parts: Arc<[LegoWires]>,
    pub(crate) runs: Arc<[LaneRun]>,
}

impl Lanes {
    pub(crate) fn new(parts: &[&LegoWires], runs: &[LaneRun]) -> Self {
        Self {
            parts: parts.iter().map(|&part| part.clone()).collect(),
            runs: runs.into(),
        }
    }

    /// How many they are.
    pub(crate) fn count(&self) -> usize {
        self.runs.iter().map(LaneRun::lanes).sum()
    }

    /// Items of all wires, wire after wire, from the rows of each part.
    pub(crate) fn pick<T: Copy + Zeroize>(&self, rows: &[Vec<&[T]>]) -> Result<Zeroizing<Vec<T>>> {
        let wires = rows.first().map_or(0, Vec::len);
        let mut picked = room::empty(INPUTS, wires.saturating_mul(self.count()))?;
        (0..wires).for_each(|wire| {
            for run in &*self.runs {
                let items = &rows[run.part as usize][wire][run.start as usize..][..run.len as usize];
                (0..run.times).for_each(|_| picked.extend_from_slice(items));
            }
        });
        Ok(picked)
    }

    /// The labels, once all that they come from has been evaluated.
    pub(crate) fn keys(&self) -> Result<Option<Zeroizing<Vec<Block>>>> {
        let rows: Option<Vec<Vec<&[Block]>>> =
            self.parts.iter().map(|part| part.key_rows().collect()).collect();
        rows.map(|rows| self.pick(&rows)).transpose()
    }

    fn clear(&self) -> BitMatrix {
        let parts: Vec<BitMatrix> = self.parts.iter().map(|part| part.0.known_bits()).collect();
        BitMatrix::arrange(&parts.iter().collect::<Vec<_>>(), &self.runs)
    }
}

/// The bits of `wires`, all of which have been evaluated, a row for each wire; zeros for wires that were settled before `Δ`
/// was found ([`LegoWires::unknown_rows`]).
pub(crate) fn replay(wires: &LegoWires, delta: Block) -> BitMatrix {
    wires.0.replay(|bundle| match &bundle.held().origin {
        Origin::Known(bits) => Some(bits.clone()),
        Origin::Settled => None,
        Origin::Own => unreachable!("nothing is evaluated before all inputs are given"),
        Origin::Garbler(runs) => Some(extract(bundle, runs, delta)),
        Origin::Lanes(lanes) => Some(lanes.clear()),
        Origin::Circuit { circuit, inputs } => {
            let outputs = circuit.plan.evaluate(&inputs.0.known_bits());
            Some(outputs.expect("the plan was run on these wires"))
        }
    })
}

/// The garbler's inputs, read off their labels by their anchors.
fn extract(bundle: &Bundle, runs: &[Run<GarblerInputs>], delta: Block) -> BitMatrix {
    let keys = bundle
        .held()
        .keys()
        .expect("inputs are received before they are used");
    let gadgets = runs
        .iter()
        .flat_map(|run| run.range().map(move |gadget| (run.items(), gadget)));
    let mut bits = BitMatrix::zeros(bundle.wires, bundle.lanes);
    for (at, ((items, gadget), &key)) in gadgets.zip(keys).enumerate() {
        let bit = items.anchors.bit(gadget, key, delta);
        bits.set(at / bundle.lanes, at % bundle.lanes, bit);
    }
    bits
}

impl Traced for Bundle {
    fn sources(&self) -> impl Iterator<Item = &Bundles<Self>> {
        let inputs = match &self.held().origin {
            Origin::Circuit { inputs, .. } => std::slice::from_ref(inputs),
            Origin::Lanes(lanes) => &lanes.parts,
            Origin::Garbler(_) | Origin::Known(_) | Origin::Own | Origin::Settled => &[],
        };
        inputs.iter().map(|wires| &wires.0)
    }

    fn clear(&self) -> &OnceLock<BitMatrix> {
        &self.held().clear
    }

    fn unlink(&mut self, links: &mut Vec<Bundles<Self>>) {
        let Labels::Evaluator(held) = &mut self.labels else {
            return;
        };
        if let Some(clear) = held.clear.get_mut() {
            clear.words_mut().zeroize();
        }
        match std::mem::replace(&mut held.origin, Origin::Garbler(Vec::new())) {
            Origin::Known(mut bits) => bits.words_mut().zeroize(),
            Origin::Circuit { inputs, .. } => links.push(inputs.0),
            Origin::Lanes(lanes) => links.extend(lanes.parts.iter().map(|part| part.0.clone())),
            Origin::Garbler(_) | Origin::Own | Origin::Settled => {}
        }
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        drop_sources(self);
    }
}
