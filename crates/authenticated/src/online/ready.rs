//! Circuits that were garbled before anybody had inputs for them (steps 1 to 4 of the specification), with fresh masks for their inputs.
//!
//! To run one, its inputs are tied to the wires that it is run on. With λ the mask of such a wire and λ' that of the circuit's input, δ = λ ⊕ λ' is
//! opened; the garbler sends the sum of both 0-labels, and Δ if δ is 1, which takes the evaluator from its label for Λ to that for Λ ⊕ δ. It sees by
//! bit 0 that this is so: a garbler that sends something else garbles something else. Then come masked values and the check, as for any circuit.

use std::ops::Range;

use cenote_net::Channel;
use cenote_pool::Role;
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_session::{Error, Result, WireVector, room};
use zeroize::Zeroizing;

use super::circuit::{Circuit, Segment, Walk};
use super::gates::Hashed;
use super::segment::{Pending, Prepared};
use super::{BEHIND, Party};
use crate::setup::{Blocks, packed, spread};
use crate::wires::{AuthenticatedWires, Cells};
use crate::{checks, steps};

/// Gates of a segment.
const SEGMENT: usize = 1 << 11;

/// Gates of a circuit that can be garbled ahead, in all of its lanes: an eighth of a gigabyte.
pub(crate) const MOST_GATES: u64 = 1 << 20;

/// Gates of a circuit that is wiped when there is time for it, and not before its outputs are opened.
const SMALL: usize = 1 << 14;

/// What room is asked for.
const WHAT: &str = "a circuit that was garbled ahead";

/// How a circuit and its lanes are gone through.
struct Course {
    tiles: Vec<Range<usize>>,
    segments: Vec<Segment>,
}

impl Course {
    fn of(circuit: &Circuit, lanes: usize) -> Self {
        let tile = circuit.tile(lanes, SEGMENT);
        let tiles = lanes.div_ceil(tile);
        Self {
            tiles: (0..tiles)
                .map(|at| at * lanes / tiles..(at + 1) * lanes / tiles)
                .collect(),
            segments: circuit.segments(tile, SEGMENT),
        }
    }

    /// Lanes of the largest tile.
    fn tile(&self) -> usize {
        self.tiles.iter().map(|tile| tile.len()).max().unwrap_or(0)
    }

    /// Tile by tile all segments, and how many gates each has.
    fn steps(&self) -> impl Iterator<Item = (&Range<usize>, &Segment, usize)> {
        self.tiles.iter().flat_map(|tile| {
            self.segments
                .iter()
                .map(move |segment| (tile, segment, segment.ands() * tile.len()))
        })
    }
}

/// A circuit that was garbled.
pub(crate) struct Ready {
    /// What the gates of each segment are hashed with.
    hashed: Vec<[Block; 3]>,
    inputs: Cells,
    segments: Vec<Prepared>,
    outputs: Cells,
}

/// What it is, and what a run must be to use it.
pub(crate) fn name(circuit: &Circuit, lanes: usize) -> [u8; 32] {
    let mut hasher =
        blake3::Hasher::new_derive_key("Cenote 2026 authenticated garbling: a circuit garbled ahead");
    hasher
        .update(circuit.plan.digest().as_ref())
        .update(&(lanes as u64).to_le_bytes())
        .update(&(SEGMENT as u64).to_le_bytes());
    *hasher.finalize().as_bytes()
}

impl Ready {
    /// Its input wires in all lanes.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs.macs.len()
    }

    pub(crate) fn gates(&self) -> u64 {
        self.segments.iter().map(|of| of.count as u64).sum()
    }

    /// Zeros, of the right sizes.
    pub(crate) fn empty(circuit: &Circuit, lanes: usize, role: Role) -> Result<Self> {
        let course = Course::of(circuit, lanes);
        let blocks = |count: usize| room::secret(WHAT, count);
        let segment = |gates: usize| -> Result<Prepared> {
            let mut of = Prepared::default();
            of.count = gates;
            of.macs = [blocks(gates)?, blocks(gates)?];
            of.sums[0] = blocks(gates)?;
            match role {
                Role::Garbler => of.labels = [blocks(gates)?, blocks(gates)?],
                Role::Evaluator => {
                    of.keys = [blocks(gates)?, blocks(gates)?];
                    of.sums[1] = blocks(gates)?;
                    of.make_room();
                }
            }
            Ok(of)
        };
        let segments = course.steps().map(|(.., gates)| segment(gates));
        Ok(Self {
            hashed: vec![[Block::ZERO; 3]; course.steps().count()],
            inputs: Cells::zeros(circuit.plan.input_wires() * lanes)?,
            segments: segments.collect::<Result<_>>()?,
            outputs: Cells::zeros(circuit.plan.output_wires() * lanes)?,
        })
    }

    /// All that it has, in a fixed order.
    pub(crate) fn pieces(&mut self, role: Role) -> Vec<&mut [u8]> {
        let Self {
            hashed,
            inputs,
            segments,
            outputs,
        } = self;
        let mut all = vec![as_bytes_mut(hashed)];
        for cells in [inputs, outputs] {
            let Cells { macs, keys, labels } = cells;
            all.extend([macs, keys].map(|part| as_bytes_mut(part)));
            if role == Role::Garbler {
                all.push(as_bytes_mut(labels));
            }
        }
        for of in segments {
            let [left, right] = &mut of.macs;
            let [of_macs, of_keys] = &mut of.sums;
            all.extend([left, right, of_macs].map(|part| as_bytes_mut(part)));
            match role {
                Role::Garbler => all.extend(of.labels.each_mut().map(|part| as_bytes_mut(part))),
                Role::Evaluator => {
                    let [left, right] = &mut of.keys;
                    all.extend([left, right, of_keys].map(|part| as_bytes_mut(part)));
                    all.extend([as_bytes_mut(&mut of.tables), as_bytes_mut(&mut of.colours)]);
                }
            }
        }
        all
    }
}

impl Party {
    /// Garbles a circuit before its inputs are there.
    pub(crate) fn garble_ahead(
        &mut self,
        circuit: &Circuit,
        lanes: usize,
        channel: &mut dyn Channel,
    ) -> Result<Ready> {
        self.settle(channel)?;
        let course = Course::of(circuit, lanes);
        let (wires, outputs) = (circuit.plan.input_wires(), circuit.plan.output_wires());
        let inputs = self.fresh_cells(wires * lanes, channel)?;
        let inputs = AuthenticatedWires::new(wires, lanes, inputs);
        let mut ready = Ready {
            hashed: Vec::new(),
            inputs: Cells::default(),
            segments: Vec::new(),
            outputs: Cells::zeros(outputs * lanes)?,
        };
        let mut masks = Walk::new(circuit, 2, course.tile())?;
        let mut labels = Walk::new(circuit, 1, course.tile())?;
        for tile in &course.tiles {
            masks.begin(circuit, &inputs, tile, 0..2);
            labels.begin(circuit, &inputs, tile, 2..3);
            for segment in &course.segments {
                let gates = segment.ands() * tile.len();
                if !self.supply.has(gates) {
                    self.fill(channel, gates)?;
                }
                let mut of = self.prepare(circuit, segment, &mut masks, gates, channel)?;
                self.receive_openings(&mut of, channel)?;
                self.multiply(&mut of);
                match self.keys.role {
                    Role::Garbler => {
                        self.go_through(circuit, segment, &mut of, &mut labels, Some(channel))?;
                    }
                    Role::Evaluator => {
                        of.make_room();
                        of.receive_tables_until(channel, &mut 0, gates)?;
                    }
                }
                let Hashed { start, first, apart } = of.hashed;
                ready.hashed.push([start, Block([first.to_le(), 0]), apart]);
                ready.segments.push(of.without_scratch(self.keys.role));
            }
            masks.end_masks(circuit, &mut ready.outputs, lanes, tile);
            labels.end_labels(circuit, &mut ready.outputs, lanes, tile, self.negation());
        }
        ready.inputs = inputs.gathered()?;
        Ok(ready)
    }

    /// Runs a circuit that was garbled ahead.
    pub(crate) fn run_ready(
        &mut self,
        circuit: &Circuit,
        ready: Ready,
        inputs: &AuthenticatedWires,
        channel: &mut dyn Channel,
    ) -> Result<AuthenticatedWires> {
        self.worn.clear();
        self.settle(channel)?;
        let (wires, lanes) = (circuit.plan.output_wires(), inputs.lanes());
        let course = Course::of(circuit, lanes);
        let Ready {
            hashed,
            inputs: own,
            segments,
            mut outputs,
        } = ready;
        let tied = self.tie(&inputs.gathered()?, own, channel)?;
        let tied = AuthenticatedWires::new(inputs.wires(), lanes, tied);
        let mut segments = segments.into_iter().zip(hashed);
        match self.keys.role {
            Role::Garbler => {
                for (of, _) in segments {
                    self.pending.push_back(Pending::Garbler(Box::new(of)));
                    self.settle_but(BEHIND, channel)?;
                }
            }
            Role::Evaluator => {
                let mut labels = Walk::new(circuit, 1, course.tile())?;
                for tile in &course.tiles {
                    labels.begin(circuit, &tied, tile, 2..3);
                    for segment in &course.segments {
                        let (mut of, [start, first, apart]) =
                            segments.next().expect("as many as the course has");
                        let first = u64::from_le(first.0[0]);
                        of.hashed = Hashed { start, first, apart };
                        self.go_through(circuit, segment, &mut of, &mut labels, None)?;
                        self.tell(of, channel)?;
                        self.settle_but(BEHIND, channel)?;
                    }
                    labels.end_labels(circuit, &mut outputs, lanes, tile, self.negation());
                }
            }
        }
        self.settle(channel)?;
        // They came from the disk, and are not of the size of this session's segments.
        match circuit.plan.and_count() * lanes <= SMALL {
            true => self.worn.append(&mut self.spare),
            false => self.spare.clear(),
        }
        Ok(AuthenticatedWires::new(wires, lanes, outputs))
    }

    /// Comes before inputs are there: makes masks for this many, so that none are made while somebody waits, and wipes what was used up.
    pub(crate) fn ready_inputs(&mut self, count: usize, channel: &mut dyn Channel) -> Result<()> {
        self.worn.clear();
        self.settle(channel)?;
        self.supply.ready_masks(&mut self.keys, channel, count)
    }

    /// Fresh masks, and at the garbler labels.
    fn fresh_cells(&mut self, count: usize, channel: &mut dyn Channel) -> Result<Cells> {
        self.supply.ready_masks(&mut self.keys, channel, count)?;
        let mut masks = [room::empty(WHAT, count)?, room::empty(WHAT, count)?];
        self.supply.masks.take(count, &mut masks);
        let [macs, keys] = masks;
        let labels = match self.keys.role {
            Role::Garbler => self.fresh(count),
            Role::Evaluator => room::secret(WHAT, count)?,
        };
        Ok(Cells { macs, keys, labels })
    }

    /// Ties wires to others with the same values and masks of their own: gives what the evaluator's labels are then.
    fn tie(&mut self, from: &Cells, to: Cells, channel: &mut dyn Channel) -> Result<Cells> {
        let count = to.macs.len();
        let sum = |left: &[Block], right: &[Block]| -> Blocks {
            Zeroizing::new(
                left.iter()
                    .zip(right)
                    .map(|(&left, &right)| left ^ right)
                    .collect(),
            )
        };
        let (macs, keys) = (sum(&from.macs, &to.macs), sum(&from.keys, &to.keys));
        let step = steps::TIE_MASKS;
        let mut bits = Zeroizing::new(packed::<0>(&macs));
        self.keys
            .opener
            .open(channel, step, &bits, bytemuck::cast_slice(&macs))?;
        channel.flush()?;
        let theirs = self
            .keys
            .verifier
            .receive(channel, step, bytemuck::cast_slice(&keys))?;
        bits.iter_mut()
            .zip(theirs)
            .for_each(|(own, theirs)| *own ^= theirs);
        let Cells { macs, keys, labels } = to;
        let labels = match self.keys.role {
            Role::Garbler => {
                let mut sums = sum(&from.labels, &labels);
                for (at, sum) in sums.iter_mut().enumerate() {
                    *sum ^= *self.keys.delta & spread(&bits, at);
                }
                channel.send(steps::TIE_LABELS, as_bytes(&sums))?;
                channel.flush()?;
                labels
            }
            Role::Evaluator => {
                let mut sums = room::secret(WHAT, count)?;
                channel.recv(steps::TIE_LABELS, as_bytes_mut(&mut sums))?;
                sums.iter_mut()
                    .zip(from.labels.iter())
                    .for_each(|(sum, &label)| *sum ^= label);
                let values = packed::<0>(&from.labels);
                bits.iter_mut().zip(values).for_each(|(bit, value)| *bit ^= value);
                if packed::<0>(&sums) != *bits {
                    let (peer, detail) = (channel.peer(), "it is the label of the other masked value");
                    return Err(Error::cheated(
                        checks::TIED_INPUT,
                        peer,
                        steps::TIE_LABELS,
                        detail,
                    ));
                }
                sums
            }
        };
        Ok(Cells { macs, keys, labels })
    }
}
