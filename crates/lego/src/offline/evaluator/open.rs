//! What the evaluator does when its seed is drawn (Figure 1, steps 8, 9, 11 and 12): one worker's part.

use crate::checks;
use std::ops::Range;

use cenote_net::Channel;
use cenote_primitives::{Block, as_bytes_mut};
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use super::Received;
use crate::failure::mismatch;
use crate::material::{EvaluatorEpoch, Gadgets};
use crate::offline::OPENED_AT_ONCE;
use crate::offline::challenge::Checked;
use crate::offline::solder::{Deal, Gadget, Piece, Wires};
use crate::offline::workers::parts;
use crate::steps::{OPEN_AUTHENTICATORS, OPEN_GATES, PROVE_GENERATE, SOLDER};
use cenote_commit::{Share, Verifier};
use cenote_garble::{Authenticator, BucketsMut, GateTable, accepts, evaluate};

/// A worker's part.
pub(super) struct Opening<'a> {
    pub(super) verifier: Verifier<'a>,
    pub(super) shares: &'a Wires<'a, Share>,
    pub(super) received: &'a Received,
    /// Checked gates and authenticators.
    pub(super) checked: [&'a [Checked]; 2],
    pub(super) deal: &'a Deal<'a>,
    /// Of each kind which gadgets to solder.
    pub(super) ranges: [Range<usize>; 4],
    /// Where to put them.
    pub(super) gadgets: GadgetsMut<'a>,
}

/// Room for some gadgets of each kind.
#[derive(Default)]
pub(super) struct GadgetsMut<'a> {
    buckets: Option<BucketsMut<'a>>,
    /// Of each kind, in the order of [`Gadget::ALL`].
    kinds: [KindMut<'a>; 4],
}

/// Room for some gadgets of one kind, as far as it has anchors or authenticators.
#[derive(Default)]
struct KindMut<'a> {
    shares: &'a mut [Share],
    anchors: PartsMut<'a, GateTable, [Block; 2]>,
    authenticators: PartsMut<'a, Authenticator, Block>,
}

/// Room for the parts of some gadgets, and how many are there.
struct PartsMut<'a, P, S> {
    size: usize,
    numbers: &'a mut [u32],
    parts: &'a mut [P],
    solderings: &'a mut [S],
    filled: usize,
}

impl<P, S> Default for PartsMut<'_, P, S> {
    fn default() -> Self {
        Self {
            size: 0,
            numbers: &mut [],
            parts: &mut [],
            solderings: &mut [],
            filled: 0,
        }
    }
}

impl<'a, P, S> PartsMut<'a, P, S> {
    fn of(all: &'a mut Gadgets<P, S>) -> Self {
        Self {
            size: all.size,
            numbers: &mut all.numbers,
            parts: &mut all.parts,
            solderings: &mut all.solderings,
            filled: 0,
        }
    }

    fn split(self, ranges: &[Range<usize>]) -> impl Iterator<Item = Self> {
        let size = self.size;
        parts(self.numbers, ranges, size)
            .into_iter()
            .zip(parts(self.parts, ranges, size))
            .zip(parts(self.solderings, ranges, size))
            .map(move |((numbers, parts), solderings)| Self {
                size,
                numbers,
                parts,
                solderings,
                filled: 0,
            })
    }

    fn add(&mut self, number: u32, part: P, soldering: S) {
        self.numbers[self.filled] = number;
        self.parts[self.filled] = part;
        self.solderings[self.filled] = soldering;
        self.filled += 1;
    }
}

impl<'a> GadgetsMut<'a> {
    /// All room of an epoch.
    pub(super) fn of(epoch: &'a mut EvaluatorEpoch) -> Self {
        let EvaluatorEpoch {
            ands,
            garbler_inputs,
            evaluator_inputs,
            anchors,
            ..
        } = epoch;
        Self {
            buckets: Some(ands.gates.writer()),
            kinds: [
                KindMut {
                    shares: bytemuck::cast_slice_mut(&mut ands.shares),
                    anchors: PartsMut::default(),
                    authenticators: PartsMut::of(&mut ands.authenticators),
                },
                KindMut {
                    shares: &mut garbler_inputs.shares,
                    anchors: PartsMut::of(&mut garbler_inputs.anchors),
                    authenticators: PartsMut::of(&mut garbler_inputs.authenticators),
                },
                KindMut {
                    shares: &mut evaluator_inputs.shares,
                    anchors: PartsMut::default(),
                    authenticators: PartsMut::of(&mut evaluator_inputs.authenticators),
                },
                KindMut {
                    shares: &mut anchors.shares,
                    anchors: PartsMut::of(&mut anchors.anchors),
                    authenticators: PartsMut::default(),
                },
            ],
        }
    }

    /// The room of each worker.
    pub(super) fn split(self, ranges: &[Vec<Range<usize>>; 4]) -> Vec<Self> {
        let workers = ranges[0].len();
        let mut all: Vec<Self> = (0..workers).map(|_| Self::default()).collect();
        if let Some(buckets) = self.buckets
            && !ranges[0][0].is_empty()
        {
            // All ranges but the last that is not empty are as long as the first.
            for (part, buckets) in all
                .iter_mut()
                .zip(buckets.chunks(ranges[0][0].len().next_multiple_of(Gadget::ALIGNED)))
            {
                part.buckets = Some(buckets);
            }
        }
        for ((kind, room), gadget) in self.kinds.into_iter().enumerate().zip(Gadget::ALL) {
            let ranges = &ranges[kind];
            let shares = parts(room.shares, ranges, gadget.kept()).into_iter();
            let anchors = room.anchors.split(ranges);
            let parts = shares.zip(anchors).zip(room.authenticators.split(ranges));
            for (part, ((shares, anchors), authenticators)) in all.iter_mut().zip(parts) {
                part.kinds[kind] = KindMut {
                    shares,
                    anchors,
                    authenticators,
                };
            }
        }
        all
    }
}

impl Opening<'_> {
    pub(super) fn run(mut self, channel: &mut dyn Channel) -> Result<()> {
        self.check(channel)?;
        self.solder(channel)?;
        let mut proof = vec![0; self.verifier.proof_bytes()];
        channel.recv(PROVE_GENERATE, &mut proof)?;
        self.verifier
            .finish(&proof)
            .map_err(mismatch(checks::DECOMMITMENT, channel.peer(), PROVE_GENERATE))
    }

    /// Steps 8 and 9.
    fn check(&mut self, channel: &mut dyn Channel) -> Result<()> {
        let peer = channel.peer();
        let mut labels = vec![Block::ZERO; 3 * OPENED_AT_ONCE];
        let mut shares = Zeroizing::new(vec![Share::default(); 3 * OPENED_AT_ONCE]);
        for checked in self.checked[0].chunks(OPENED_AT_ONCE) {
            let (labels, shares) = (&mut labels[..3 * checked.len()], &mut shares[..3 * checked.len()]);
            channel.recv(OPEN_GATES, as_bytes_mut(labels))?;
            self.shares.open_gates(checked, shares);
            self.verifier.absorb(labels, shares);
            if !self.received.gates_are_right(checked, labels) {
                let detail = "a gate is no AND gate";
                return Err(Error::cheated(checks::GATE_OPENING, peer, OPEN_GATES, detail));
            }
        }
        for checked in self.checked[1].chunks(OPENED_AT_ONCE) {
            let (labels, shares) = (&mut labels[..checked.len()], &mut shares[..checked.len()]);
            channel.recv(OPEN_AUTHENTICATORS, as_bytes_mut(labels))?;
            self.shares.open_authenticators(checked, shares);
            self.verifier.absorb(labels, shares);
            if !self.received.authenticators_are_right(checked, labels) {
                let (check, detail) = (
                    checks::AUTHENTICATOR_OPENING,
                    "an authenticator refuses its wire's label",
                );
                return Err(Error::cheated(check, peer, OPEN_AUTHENTICATORS, detail));
            }
        }
        Ok(())
    }

    /// Steps 11 and 12.
    fn solder(&mut self, channel: &mut dyn Channel) -> Result<()> {
        let mut sums = Vec::new();
        let mut share_sums = Zeroizing::new(Vec::new());
        for ((kind, range), at) in Gadget::ALL.into_iter().zip(self.ranges.clone()).zip(0..) {
            let from = range.start;
            for piece in self.deal.pieces(kind, range) {
                let gadgets = piece.gadgets.start - from..piece.gadgets.end - from;
                let kept = gadgets.start * kind.kept()..gadgets.end * kind.kept();
                sums.resize(piece.solderings(), Block::ZERO);
                share_sums.resize(piece.solderings(), Share::default());
                channel.recv(SOLDER, as_bytes_mut(&mut sums))?;
                let room: &mut KindMut<'_> = &mut self.gadgets.kinds[at];
                piece.solder(self.shares, &mut room.shares[kept], &mut share_sums);
                self.verifier.absorb(&sums, &share_sums);
                let buckets = self.gadgets.buckets.as_mut();
                self.received
                    .assemble(&piece, &sums, gadgets.start, buckets, room);
            }
        }
        Ok(())
    }
}

impl Received {
    /// Step 9: whether checked gates give the label opened for their output.
    fn gates_are_right(&self, checked: &[Checked], labels: &[Block]) -> bool {
        let numbers: Vec<u64> = checked
            .iter()
            .map(|c| self.base.number + u64::from(c.index))
            .collect();
        let tables: Vec<GateTable> = checked.iter().map(|c| self.tables[c.index as usize]).collect();
        let wire = |wire: usize| -> Vec<Block> { labels.iter().copied().skip(wire).step_by(3).collect() };
        let mut outputs = vec![Block::ZERO; checked.len()];
        evaluate(
            self.base.start,
            &numbers,
            &wire(0),
            &wire(1),
            &tables,
            &mut outputs,
        );
        outputs == wire(2)
    }

    /// Step 9: whether checked authenticators accept the labels opened for their wires.
    fn authenticators_are_right(&self, checked: &[Checked], labels: &[Block]) -> bool {
        let base = self.authenticator_base();
        checked.iter().zip(labels).all(|(c, &label)| {
            let authenticator = &self.authenticators[c.index as usize];
            accepts(base.start, base.number + u64::from(c.index), authenticator, label)
        })
    }

    /// Puts gadgets together from their parts and solderings, which are in the order of [`Piece::solder`]; `first` is the
    /// place of the first of them.
    fn assemble(
        &self,
        piece: &Piece<'_>,
        solderings: &[Block],
        first: usize,
        mut buckets: Option<&mut BucketsMut<'_>>,
        room: &mut KindMut<'_>,
    ) {
        let mut solderings = solderings.iter().copied();
        let mut next = || solderings.next().unwrap_or_default();
        let authenticator = |index: u32| self.authenticators[index as usize];
        for (k, (gates, authenticators)) in piece.each().enumerate() {
            piece.ahead(k, &self.tables, &self.authenticators);
            let mut defining = piece.kind == Gadget::EvaluatorInput;
            for (i, &index) in gates.iter().enumerate() {
                let table = self.tables[index as usize];
                match (&mut buckets, piece.kind) {
                    (Some(buckets), Gadget::And) => {
                        let number = self.base.number + u64::from(index);
                        buckets.set_gate(first + k, i, number, &table);
                        if i > 0 {
                            buckets.set_soldering(first + k, i, next(), next(), next());
                        }
                    }
                    _ => {
                        let left = if i == 0 { Block::ZERO } else { next() };
                        room.anchors.add(index, table, [left, next()]);
                    }
                }
            }
            for &index in authenticators {
                // The first authenticator of an evaluator's input is on the input's wire itself.
                let soldering = if std::mem::take(&mut defining) {
                    Block::ZERO
                } else {
                    next()
                };
                room.authenticators.add(index, authenticator(index), soldering);
            }
        }
    }
}
