//! Build (Figure 2): AND buckets are soldered into a circuit, before any input is known.
//!
//! Every AND gate takes a bucket, and its two operands are sums of input labels and of outputs of buckets. The garbler
//! opens, for both, the sum and the label of the bucket's wire, added up: 32 bytes for each gate, all from the garbler, with
//! one proof at the end. Negations and constants cost nothing: see [`Circuit`].

use cenote_net::Channel;
use cenote_primitives::Block;
use cenote_primitives::kernels::{LocalOp, run_local_ops};
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::material::{AndBuckets, Commitments, GarblerAnds};
use crate::online::opening::{Openings, PIECE, Watch, receive};
use crate::online::tiles::{Circuit, Lot, Tile};
use crate::room::{self, CIRCUITS};
use crate::steps;
use cenote_commit::Share;

/// The garbler's side: sends the solderings of `circuit`, whose inputs have the labels and shares of `inputs`, a row of
/// lanes for each wire; returns the labels of its outputs, row by row.
pub(crate) fn solder(
    circuit: &Circuit,
    lanes: usize,
    inputs: &[(&[Block], &[Share])],
    lot: &Lot<GarblerAnds>,
    (delta, delta_share): (Block, Share),
    openings: &mut Openings,
    channel: &mut dyn Channel,
) -> Result<Commitments> {
    let outputs = circuit.plan.output_wires() * lanes;
    let mut labels = room::secret(CIRCUITS, outputs)?;
    let mut shares = room::secret(CIRCUITS, outputs)?;
    let mut piece = Piece::default();
    let plan = &circuit.plan;
    let mut label_slots = Slots::<Block>::new(circuit, lanes)?;
    let mut share_slots = Slots::<Share>::new(circuit, lanes)?;
    for tile in circuit.tiles(lanes) {
        let width = tile.width;
        label_slots.width = width;
        share_slots.width = width;
        for (&slot, (labels, shares)) in plan.input_slots().iter().zip(inputs) {
            label_slots.get_mut(slot).copy_from_slice(&labels[tile.lanes()]);
            share_slots.get_mut(slot).copy_from_slice(&shares[tile.lanes()]);
        }
        for level in plan.levels() {
            let local = &plan.local_ops()[level.local.clone()];
            label_slots.run(local);
            share_slots.run(local);
            for gate in level.ands.clone() {
                if piece.messages.len() + 2 * width > PIECE {
                    piece.open(openings, channel)?;
                }
                let op = plan.and_ops()[gate];
                for (side, slot) in [op.a, op.b].into_iter().enumerate() {
                    let flip = match circuit.operand_flips[gate][side] {
                        true => (delta, delta_share),
                        false => Default::default(),
                    };
                    let operand = (label_slots.get(slot), share_slots.get(slot));
                    piece.solder(operand, flip, lot, tile.bucket(gate), side);
                }
            }
            for gate in level.ands.clone() {
                let slot = plan.and_ops()[gate].dst;
                let to = (label_slots.get_mut(slot), share_slots.get_mut(slot));
                take_outputs(to, lot, tile.bucket(gate));
            }
        }
        write_outputs(circuit, lanes, tile, &label_slots, delta, &mut labels);
        write_outputs(circuit, lanes, tile, &share_slots, delta_share, &mut shares);
    }
    piece.open(openings, channel)?;
    Ok(Commitments {
        messages: labels,
        shares,
    })
}

/// The outputs of a bucket, in some lanes.
fn take_outputs((labels, shares): (&mut [Block], &mut [Share]), lot: &Lot<GarblerAnds>, bucket: usize) {
    lot.segments(bucket, labels.len(), |segment| {
        let wires = &segment.items.messages[segment.range.clone()];
        for (label, wire) in labels[segment.at..].iter_mut().zip(wires) {
            *label = wire[2];
        }
        let wires = &segment.items.shares[segment.range];
        for (share, wire) in shares[segment.at..].iter_mut().zip(wires) {
            *share = wire[2];
        }
    });
}

/// What the evaluator has after `build`.
pub(crate) struct Soldered {
    /// The solderings: for each tile and in it each AND gate those of its left operand and of its right, lane by lane.
    pub(crate) solderings: Vec<Block>,
    /// The shares of the outputs' 0-labels, row by row.
    pub(crate) outputs: Zeroizing<Vec<Share>>,
}

/// The evaluator's side. The solderings are not to be believed before the proof.
pub(crate) fn receive_solderings(
    circuit: &Circuit,
    lanes: usize,
    inputs: &[&[Share]],
    lot: &Lot<AndBuckets>,
    delta_share: Share,
    watch: &mut Watch<'_>,
    channel: &mut dyn Channel,
) -> Result<Soldered> {
    let plan = &circuit.plan;
    let mut outputs = room::secret(CIRCUITS, plan.output_wires() * lanes)?;
    let mut solderings: Vec<Block> = room::zeroed(CIRCUITS, 2 * plan.and_count() * lanes)?;
    let mut left = solderings.as_mut_slice();
    let mut piece: Vec<Share> = Vec::with_capacity(PIECE);
    let mut take = |piece: &mut Vec<Share>, watch: &mut Watch<'_>| -> Result<()> {
        let (messages, rest) = std::mem::take(&mut left).split_at_mut(piece.len());
        left = rest;
        receive(channel, steps::BUILD, messages)?;
        watch.absorb(messages, piece);
        piece.clear();
        Ok(())
    };
    let mut slots = Slots::<Share>::new(circuit, lanes)?;
    for tile in circuit.tiles(lanes) {
        let width = tile.width;
        slots.width = width;
        for (&slot, shares) in plan.input_slots().iter().zip(inputs) {
            slots.get_mut(slot).copy_from_slice(&shares[tile.lanes()]);
        }
        for level in plan.levels() {
            let local = &plan.local_ops()[level.local.clone()];
            slots.run(local);
            for gate in level.ands.clone() {
                if piece.len() + 2 * width > PIECE {
                    take(&mut piece, watch)?;
                }
                let op = plan.and_ops()[gate];
                for (side, slot) in [op.a, op.b].into_iter().enumerate() {
                    let flip = circuit.operand_flips[gate][side];
                    let flip = if flip { delta_share } else { Share::default() };
                    let shares = slots.get(slot);
                    lot.segments(tile.bucket(gate), width, |segment| {
                        let lanes = segment.at..segment.at + segment.range.len();
                        let sums = shares[lanes].iter().zip(&segment.items.shares[segment.range]);
                        piece.extend(sums.map(|(&share, wire)| share ^ wire[side] ^ flip));
                    });
                }
            }
            for gate in level.ands.clone() {
                let shares = slots.get_mut(plan.and_ops()[gate].dst);
                lot.segments(tile.bucket(gate), width, |segment| {
                    let wires = &segment.items.shares[segment.range];
                    for (share, wire) in shares[segment.at..].iter_mut().zip(wires) {
                        *share = wire[2];
                    }
                });
            }
        }
        write_outputs(circuit, lanes, tile, &slots, delta_share, &mut outputs);
    }
    take(&mut piece, watch)?;
    Ok(Soldered { solderings, outputs })
}

/// Openings that wait until there are enough for a message.
#[derive(Default)]
struct Piece {
    messages: Vec<Block>,
    shares: Vec<Share>,
}

impl Piece {
    /// The solderings of one operand, in some lanes, to that `side` of a bucket.
    fn solder(
        &mut self,
        (labels, shares): (&[Block], &[Share]),
        (flip, flip_share): (Block, Share),
        lot: &Lot<GarblerAnds>,
        bucket: usize,
        side: usize,
    ) {
        lot.segments(bucket, labels.len(), |segment| {
            let lanes = segment.at..segment.at + segment.range.len();
            let wires = &segment.items.messages[segment.range.clone()];
            let sums = labels[lanes.clone()].iter().zip(wires);
            let sums = sums.map(|(&label, wire)| label ^ wire[side] ^ flip);
            self.messages.extend(sums);
            let wires = &segment.items.shares[segment.range];
            let sums = shares[lanes].iter().zip(wires);
            let sums = sums.map(|(&share, wire)| share ^ wire[side] ^ flip_share);
            self.shares.extend(sums);
        });
    }

    fn open(&mut self, openings: &mut Openings, channel: &mut dyn Channel) -> Result<()> {
        openings.open(channel, steps::BUILD, &self.messages, &self.shares)?;
        self.messages.clear();
        self.shares.clear();
        Ok(())
    }
}

/// The slots of a tile: a row of lanes for each.
pub(crate) struct Slots<T: Copy + Default + zeroize::DefaultIsZeroes> {
    pub(crate) slots: Zeroizing<Vec<T>>,
    /// Lanes of the tile.
    pub(crate) width: usize,
}

impl<T: Copy + Default + zeroize::DefaultIsZeroes + bytemuck::Zeroable> Slots<T> {
    /// Room for the widest tile.
    pub(crate) fn new(circuit: &Circuit, lanes: usize) -> Result<Self> {
        let width = circuit.tiles(lanes).map(|tile| tile.width).max().unwrap_or(0);
        let slots = room::secret(CIRCUITS, circuit.plan.slots() * width)?;
        Ok(Self { slots, width })
    }

    /// Runs local operations on all lanes.
    pub(crate) fn run(&mut self, ops: &[LocalOp])
    where
        T: bytemuck::Pod,
    {
        let row = size_of::<T>() / size_of::<u64>() * self.width;
        run_local_ops(bytemuck::cast_slice_mut(&mut self.slots), row, ops, false);
    }

    #[inline(always)]
    pub(crate) fn get(&self, slot: u32) -> &[T] {
        &self.slots[slot as usize * self.width..][..self.width]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut [T] {
        &mut self.slots[slot as usize * self.width..][..self.width]
    }
}

/// Copies a tile's outputs to their rows, adding `delta` where the circuit negates.
fn write_outputs<T>(
    circuit: &Circuit,
    lanes: usize,
    tile: Tile,
    slots: &Slots<T>,
    delta: T,
    outputs: &mut [T],
) where
    T: Copy + Default + zeroize::DefaultIsZeroes + bytemuck::Zeroable + std::ops::BitXor<Output = T>,
{
    for (row, (&slot, &flip)) in circuit
        .plan
        .output_slots()
        .iter()
        .zip(&circuit.output_flips)
        .enumerate()
    {
        let flip = if flip { delta } else { T::default() };
        let row = &mut outputs[row * lanes..][tile.lanes()];
        for (output, &value) in row.iter_mut().zip(slots.get(slot)) {
            *output = value ^ flip;
        }
    }
}
