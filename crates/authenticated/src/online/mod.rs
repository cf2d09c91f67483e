//! Computing: wires are made, gates garbled on masked values and evaluated, checked, and outputs opened (steps 4 to 6 of the specification).
//!
//! **A segment** of gates takes three messages: what is opened of its triples, both ways at once; tables, to the evaluator; and masked
//! values of operands with a digest of the labels that they come with, to the garbler. Then the garbler proves that the gates are right.
//! What is opened for a segment is sent before the one ahead of it is garbled, and masked values and proofs are read a segment late, so that
//! neither party waits for the other while both have work.
//!
//! **Check.** For each gate c = Λ_αΛ_β ⊕ Λ_αλ_β ⊕ Λ_βλ_α ⊕ λ_αλ_β ⊕ Λ_γ ⊕ λ_γ must be 0. Given Λ_α and Λ_β, the garbler has a share of this, with its MAC, and
//! the evaluator, which takes all that is public on itself, another; both must be the same bit. The garbler sends the digest of the MACs of its
//! shares for all gates of a segment, and the evaluator computes what they must be, from its keys and its own shares. A digest of all MACs stands
//! for them as a fold by a challenge would, and needs none: to pass with a wrong share is to know a string with the unknown Δ added.
//!
//! The specification has the evaluator tell Λ of outputs of gates; here it tells those of operands, two bits a gate in place of one, so that the
//! garbler need not follow circuits on masked values. It must not answer on values that are not those it garbled: with another Λ_α its share is
//! off by its share of λ_β, and its digest would tell the evaluator, who knows the rest, a masked value's mask. So the digest of labels comes
//! first, and an evaluator knows no label but those of the masked values there are.
//!
//! **Nothing that fails depends on inputs.** The garbler may garble something else, whose effect depends on masked values; these are
//! uniform, whatever the inputs, as the evaluator's shares of masks are unknown to the garbler, and it is told them a moment later anyhow. Triples
//! that are none would be the exception, but that is what leaky ANDs are combined against. The evaluator learns nothing of masks before the outputs'
//! are opened, and sees no value at all. So whether a check fails is something that the cheating party could have computed by itself, and there is
//! nothing for the other party to hide: it stops, and no recovery of the result is needed.

pub(crate) mod circuit;
mod gates;
mod inputs;
pub(crate) mod ready;
mod segment;
mod triples;

use std::collections::VecDeque;
use std::ops::Range;

use cenote_net::Channel;
use cenote_pool::Role;
use cenote_primitives::{BitMatrix, Block};
use cenote_session::{Result, WireVector};

use crate::offline::Supply;
use crate::setup::{Keys, ONE};
use crate::wires::{AuthenticatedWires, Cells};
use circuit::{Circuit, Segment, Walk};
use segment::{Pending, Prepared};

/// Segments whose openings are under way while another one is garbled.
pub(crate) const AHEAD: usize = 2;

/// Segments whose proofs are under way: no fewer, as what is opened for later segments comes before masked values.
const BEHIND: usize = AHEAD;

/// A party of a session: its keys, its material, and the gates that have not been checked yet.
pub(crate) struct Party {
    pub(crate) keys: Keys,
    pub(crate) supply: Supply,
    segment: usize,
    pending: VecDeque<Pending>,
    spare: Vec<Prepared>,
    /// Of a small circuit that was garbled ahead and has been run: to be wiped.
    worn: Vec<Prepared>,
    #[cfg(test)]
    pub(crate) deviation: Deviation,
}

/// What a party of a test does otherwise.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Deviation {
    /// All segments have the same c.
    pub(crate) apart: Option<Block>,
    /// The garbler goes on whether there are labels for masked values or not.
    pub(crate) trusting: bool,
}

/// What a run goes through.
struct Course<'a> {
    circuit: &'a Circuit,
    inputs: &'a AuthenticatedWires,
    tiles: Vec<Range<usize>>,
    segments: Vec<Segment>,
}

impl Party {
    pub(crate) fn new(keys: Keys, supply: Supply, segment: usize) -> Self {
        Self {
            keys,
            supply,
            segment,
            pending: VecDeque::new(),
            spare: Vec::new(),
            worn: Vec::new(),
            #[cfg(test)]
            deviation: Deviation::default(),
        }
    }

    fn is_garbler(&self) -> bool {
        self.keys.role == Role::Garbler
    }

    /// What is added to a label to negate its wire.
    fn negation(&self) -> Block {
        match self.keys.role {
            Role::Garbler => self.keys.negation(),
            Role::Evaluator => ONE,
        }
    }

    /// Fills the pool, so that there are triples for so many gates.
    pub(crate) fn fill(&mut self, channel: &mut dyn Channel, gates: usize) -> Result<()> {
        self.fill_telling(channel, gates, &mut |_| ())
    }

    /// The same, telling how many leaky ANDs are in the pool.
    pub(crate) fn fill_telling(
        &mut self,
        channel: &mut dyn Channel,
        gates: usize,
        told: &mut dyn FnMut(u64),
    ) -> Result<()> {
        if self.supply.has(gates) {
            return Ok(());
        }
        self.settle(channel)?;
        self.supply.ready(&mut self.keys, channel, gates, told)
    }

    /// Garbles and evaluates a circuit.
    pub(crate) fn run(
        &mut self,
        circuit: &Circuit,
        inputs: &AuthenticatedWires,
        channel: &mut dyn Channel,
    ) -> Result<AuthenticatedWires> {
        let (wires, lanes) = (circuit.plan.output_wires(), inputs.lanes());
        let mut cells = Cells::zeros(wires * lanes)?;
        if lanes > 0 {
            let tile = circuit.tile(lanes, self.segment);
            let tiles = lanes.div_ceil(tile);
            let tiles: Vec<Range<usize>> = (0..tiles)
                .map(|at| at * lanes / tiles..(at + 1) * lanes / tiles)
                .collect();
            let course = Course {
                circuit,
                inputs,
                segments: circuit.segments(tile, self.segment),
                tiles,
            };
            self.go(&course, tile, &mut cells, channel)?;
        }
        Ok(AuthenticatedWires::new(wires, lanes, cells))
    }

    fn go(
        &mut self,
        course: &Course<'_>,
        tile: usize,
        cells: &mut Cells,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let Course {
            circuit,
            inputs,
            tiles,
            segments,
        } = course;
        let lanes = inputs.lanes();
        let negation = self.negation();
        let mut masks = Walk::new(circuit, 2, tile)?;
        let mut labels = Walk::new(circuit, 1, tile)?;
        // Of all tiles, one segment after the other.
        let steps: Vec<(usize, usize)> = (0..tiles.len())
            .flat_map(|tile| (0..segments.len()).map(move |segment| (tile, segment)))
            .collect();
        if segments.is_empty() {
            for tile in tiles {
                masks.begin(circuit, inputs, tile, 0..2);
                masks.end_masks(circuit, cells, lanes, tile);
                labels.begin(circuit, inputs, tile, 2..3);
                labels.end_labels(circuit, cells, lanes, tile, negation);
            }
        }
        let mut flight = VecDeque::new();
        let mut next = 0;
        if !steps.is_empty() && self.is_garbler() {
            // The evaluator tells the values of an earlier run before it opens anything of this one; the garbler answers first, too.
            self.settle(channel)?;
        }
        for (at, &(tile, segment)) in steps.iter().enumerate() {
            let last = segment + 1 == segments.len();
            while next < steps.len() && flight.len() <= AHEAD {
                let (tile, segment) = steps[next];
                let gates = segments[segment].ands() * tiles[tile].len();
                if !self.supply.has(gates) {
                    if !flight.is_empty() {
                        break;
                    }
                    self.fill(channel, gates)?;
                }
                if segment == 0 {
                    masks.begin(circuit, inputs, &tiles[tile], 0..2);
                }
                flight.push_back(self.prepare(circuit, &segments[segment], &mut masks, gates, channel)?);
                if segment + 1 == segments.len() {
                    masks.end_masks(circuit, cells, lanes, &tiles[tile]);
                }
                next += 1;
            }
            let mut prepared = flight.pop_front().expect("a segment was prepared");
            if at == 0 {
                self.settle(channel)?;
            }
            self.receive_openings(&mut prepared, channel)?;
            if !self.is_garbler() {
                // They come before the tables of this segment.
                for later in &mut flight {
                    self.receive_openings(later, channel)?;
                }
            }
            if segment == 0 {
                labels.begin(circuit, inputs, &tiles[tile], 2..3);
            }
            self.complete(circuit, &segments[segment], prepared, &mut labels, channel)?;
            if last {
                labels.end_labels(circuit, cells, lanes, &tiles[tile], negation);
            }
        }
        Ok(())
    }

    /// Segments that there are arrays for.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.pending.len() + self.spare.len()
    }

    /// Checks all gates that have not been.
    pub(crate) fn settle(&mut self, channel: &mut dyn Channel) -> Result<()> {
        self.settle_but(0, channel)
    }

    /// Wires with public bits.
    pub(crate) fn constant(&self, values: &BitMatrix) -> Result<AuthenticatedWires> {
        let (wires, lanes) = (values.rows(), values.lanes());
        let mut cells = Cells::zeros(wires * lanes)?;
        let negation = self.negation();
        for (label, bit) in cells.labels.iter_mut().zip(values.bits()) {
            if bit {
                *label = negation;
            }
        }
        Ok(AuthenticatedWires::new(wires, lanes, cells))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cenote_circuit::{Plan, library};
    use cenote_session::Recent;

    use super::*;

    /// A service that runs ever other circuits does not keep them.
    #[test]
    fn circuits_that_were_run_are_kept_if_they_are_small() {
        let mut circuits = Recent::new(Circuit::KEPT, Circuit::bytes);
        let get = |circuits: &mut Recent<Circuit>, name| {
            let plan = Plan::new(&library::by_name(name).unwrap());
            circuits.get(&plan, || Circuit::new(&plan)).unwrap()
        };
        let first = get(&mut circuits, "add32");
        get(&mut circuits, "mult16");
        assert!(Arc::ptr_eq(&get(&mut circuits, "add32"), &first));
        for name in ["sha512", "mult512", "mult256"] {
            let last = get(&mut circuits, name);
            assert_eq!(Arc::strong_count(&last), 2, "it is kept");
            assert!(circuits.bytes() <= Circuit::KEPT + last.bytes(), "{name}");
        }
        assert_eq!(Arc::strong_count(&first), 1, "it is forgotten");
    }
}
