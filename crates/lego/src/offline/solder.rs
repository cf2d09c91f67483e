//! Buckets and their solderings (Figure 1, steps 11 and 12).
//!
//! What is left of the cut, in random order, is dealt to gadgets: AND buckets, the garbler's inputs, the evaluator's
//! inputs, anchors. Both parties deal in the same order and form the same sums, the garbler of labels and of shares, the
//! evaluator of shares, so one function does it for all three.

use std::ops::{BitXor, Range};

use cenote_primitives::prefetch;

use crate::offline::challenge::{Checked, Cut};
use crate::offline::shape::Shape;

/// Labels or shares: what sums are formed of.
pub(crate) trait Term: Copy + Default + BitXor<Output = Self> {}

impl<T: Copy + Default + BitXor<Output = T>> Term for T {}

/// The wires of all gates (left, right, output) and authenticators of an epoch.
pub(crate) struct Wires<'a, T> {
    pub(crate) gates: &'a [[T; 3]],
    pub(crate) authenticators: &'a [T],
    pub(crate) delta: T,
}

impl<T: Term> Wires<'_, T> {
    /// `bit` of `Δ`.
    fn times(&self, bit: bool) -> T {
        if bit { self.delta } else { T::default() }
    }

    /// The labels of checked gates: left, right and output, for the bits of the check.
    pub(crate) fn open_gates(&self, checked: &[Checked], out: &mut [T]) {
        for (&Checked { index, bits: [a, b] }, out) in checked.iter().zip(out.chunks_exact_mut(3)) {
            let [left, right, output] = self.gates[index as usize];
            out[0] = left ^ self.times(a);
            out[1] = right ^ self.times(b);
            out[2] = output ^ self.times(a && b);
        }
    }

    /// The labels of checked authenticators.
    pub(crate) fn open_authenticators(&self, checked: &[Checked], out: &mut [T]) {
        for (
            &Checked {
                index,
                bits: [bit, _],
            },
            out,
        ) in checked.iter().zip(out)
        {
            *out = self.authenticators[index as usize] ^ self.times(bit);
        }
    }
}

/// The kinds of gadgets, in the order in which they are dealt and soldered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gadget {
    /// AND bucket: further gates to gate 0 by all three wires, authenticators to its output.
    And,
    /// Input of the garbler: both wires of all gates, and authenticators, to the left wire of gate 0.
    GarblerInput,
    /// Input of the evaluator: authenticators to the wire of authenticator 0.
    EvaluatorInput,
    /// Both wires of all gates to the left wire of gate 0.
    Anchor,
}

impl Gadget {
    pub(crate) const ALL: [Gadget; 4] = [
        Gadget::And,
        Gadget::GarblerInput,
        Gadget::EvaluatorInput,
        Gadget::Anchor,
    ];

    /// Gadgets of an epoch are parted at multiples of this: AND buckets lie in groups of four.
    pub(crate) const ALIGNED: usize = 4;

    /// Labels that one gadget keeps.
    pub(crate) fn kept(self) -> usize {
        if self == Gadget::And { 3 } else { 1 }
    }
}

/// How many gadgets ahead memory is asked for.
const AHEAD: usize = 3;
/// Solderings in one message, at most: four gadgets never have more.
const PIECE: usize = cenote_commit::MAX_PIECE;

/// Which gates and authenticators make up which gadget.
pub(crate) struct Deal<'a> {
    shape: &'a Shape,
    gates: &'a [u32],
    authenticators: &'a [u32],
}

/// Gates and authenticators of the gadgets of one piece.
pub(crate) struct Piece<'a> {
    pub(crate) kind: Gadget,
    /// Which gadgets of the kind.
    pub(crate) gadgets: Range<usize>,
    /// Gates of all its gadgets, those of a gadget together.
    pub(crate) gates: &'a [u32],
    /// Gates in a gadget.
    pub(crate) gate_size: usize,
    /// Authenticators of all its gadgets, those of a gadget together.
    pub(crate) authenticators: &'a [u32],
    /// Authenticators in a gadget.
    pub(crate) authenticator_size: usize,
}

impl<'a> Deal<'a> {
    pub(crate) fn new(shape: &'a Shape, [gates, authenticators]: &'a [Cut; 2]) -> Self {
        Self {
            shape,
            gates: &gates.kept,
            authenticators: &authenticators.kept,
        }
    }

    /// Number of gadgets of a kind.
    pub(crate) fn count(&self, kind: Gadget) -> usize {
        self.sizes(kind).0
    }

    /// Number of gadgets of a kind; gates and authenticators in each; of the latter, those in gadgets of other kinds before.
    fn sizes(&self, kind: Gadget) -> (usize, [usize; 2], [usize; 2]) {
        let shape = self.shape;
        let [ands, garbler, evaluator, anchors, ..] = shape.counts();
        let after_ands = [ands * shape.beta, ands * shape.alpha];
        match kind {
            Gadget::And => (ands, [shape.beta, shape.alpha], [0, 0]),
            Gadget::GarblerInput => (garbler, [shape.beta_input, shape.alpha_input], after_ands),
            Gadget::EvaluatorInput => {
                let before = after_ands[1] + garbler * shape.alpha_input;
                (evaluator, [0, shape.alpha_input], [0, before])
            }
            Gadget::Anchor => {
                let before = after_ands[0] + garbler * shape.beta_input;
                (anchors, [shape.beta_input, 0], [before, 0])
            }
        }
    }

    /// The gadgets of a kind in `range`, in pieces.
    pub(crate) fn pieces(&self, kind: Gadget, range: Range<usize>) -> impl Iterator<Item = Piece<'a>> {
        let (count, [gate_size, authenticator_size], [gates, authenticators]) = self.sizes(kind);
        let all_gates = &self.gates[gates..][..count * gate_size];
        let all_authenticators = &self.authenticators[authenticators..][..count * authenticator_size];
        let step = (PIECE / solderings(kind, gate_size, authenticator_size).max(1)).max(Gadget::ALIGNED)
            / Gadget::ALIGNED
            * Gadget::ALIGNED;
        range.clone().step_by(step).map(move |first| {
            let gadgets = first..(first + step).min(range.end);
            Piece {
                kind,
                gates: &all_gates[gadgets.start * gate_size..gadgets.end * gate_size],
                gate_size,
                authenticators: &all_authenticators
                    [gadgets.start * authenticator_size..gadgets.end * authenticator_size],
                authenticator_size,
                gadgets,
            }
        })
    }
}

/// Solderings of one gadget.
pub(crate) fn solderings(kind: Gadget, gates: usize, authenticators: usize) -> usize {
    match kind {
        Gadget::And => 3 * (gates - 1) + authenticators,
        Gadget::GarblerInput | Gadget::Anchor => 2 * gates - 1 + authenticators,
        Gadget::EvaluatorInput => authenticators - 1,
    }
}

impl Piece<'_> {
    /// Solderings of all its gadgets.
    pub(crate) fn solderings(&self) -> usize {
        self.gadgets.len() * solderings(self.kind, self.gate_size, self.authenticator_size)
    }

    /// Gates and authenticators, gadget by gadget.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        (0..self.gadgets.len()).map(|i| {
            (
                &self.gates[i * self.gate_size..(i + 1) * self.gate_size],
                &self.authenticators[i * self.authenticator_size..(i + 1) * self.authenticator_size],
            )
        })
    }

    /// Asks for what gadgets after number `i` will read of arrays that have an element for each gate or authenticator.
    #[inline(always)]
    pub(crate) fn ahead<G, A>(&self, i: usize, gates: &[G], authenticators: &[A]) {
        let start = (i + AHEAD) * self.gate_size;
        for &index in self.gates.get(start..start + self.gate_size).unwrap_or_default() {
            prefetch(gates, index as usize);
        }
        let start = (i + AHEAD) * self.authenticator_size;
        for &index in self
            .authenticators
            .get(start..start + self.authenticator_size)
            .unwrap_or_default()
        {
            prefetch(authenticators, index as usize);
        }
    }

    /// Writes the solderings, and the labels (or their shares) that the gadgets keep: of an AND bucket three, of others one.
    ///
    /// Per gadget first those of the gates in order, by wire left, right, output as far as they are soldered, then those
    /// of the authenticators; a wire is not soldered to itself.
    pub(crate) fn solder<T: Term>(&self, wires: &Wires<'_, T>, kept: &mut [T], out: &mut [T]) {
        let gate = |index: &u32| wires.gates[*index as usize];
        let authenticator = |index: &u32| wires.authenticators[*index as usize];
        let each = solderings(self.kind, self.gate_size, self.authenticator_size);
        let kept = kept.chunks_exact_mut(self.kind.kept());
        let outs = out.chunks_exact_mut(each);
        for (i, (((gates, authenticators), kept), out)) in self.each().zip(kept).zip(outs).enumerate() {
            self.ahead(i, wires.gates, wires.authenticators);
            match self.kind {
                Gadget::And => {
                    let [left, right, output] = gate(&gates[0]);
                    kept.copy_from_slice(&[left, right, output]);
                    let (of_gates, of_authenticators) = out.split_at_mut(3 * (gates.len() - 1));
                    for (out, [l, r, o]) in of_gates.chunks_exact_mut(3).zip(gates[1..].iter().map(gate)) {
                        out.copy_from_slice(&[left ^ l, right ^ r, output ^ o]);
                    }
                    for (out, index) in of_authenticators.iter_mut().zip(authenticators) {
                        *out = output ^ authenticator(index);
                    }
                }
                Gadget::GarblerInput | Gadget::Anchor => {
                    let [wire, right, _] = gate(&gates[0]);
                    kept[0] = wire;
                    let (of_gates, of_authenticators) = out.split_at_mut(2 * gates.len() - 1);
                    of_gates[0] = wire ^ right;
                    for (out, [l, r, _]) in of_gates[1..].chunks_exact_mut(2).zip(gates[1..].iter().map(gate))
                    {
                        out.copy_from_slice(&[wire ^ l, wire ^ r]);
                    }
                    for (out, index) in of_authenticators.iter_mut().zip(authenticators) {
                        *out = wire ^ authenticator(index);
                    }
                }
                Gadget::EvaluatorInput => {
                    let wire = authenticator(&authenticators[0]);
                    kept[0] = wire;
                    for (out, index) in out.iter_mut().zip(&authenticators[1..]) {
                        *out = wire ^ authenticator(index);
                    }
                }
            }
        }
    }
}
