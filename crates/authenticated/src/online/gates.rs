//! Garbling and evaluating gates on masked values: half gates with authenticated masks (KRRW, Section 4).
//!
//! With 0-labels A and B of the operands, hashes H and H' of the gate, and `s(u) = K[u'] ⊕ uΔ` for a bit of which the garbler has the share u
//! and the evaluator u', authenticated:
//!
//! - G_0 = H(A) ⊕ H(A ⊕ Δ) ⊕ s(λ_β), G_1 = H'(B) ⊕ H'(B ⊕ Δ) ⊕ s(λ_α) ⊕ A;
//! - the output's 0-label is H(A) ⊕ H'(B) ⊕ s(λ_γ ⊕ λ_αλ_β); its bit 0 is told, and cleared.
//!
//! The evaluator, whose labels' bits 0 are the masked values Λ, gets its label as
//! `H(A) ⊕ H'(B) ⊕ Λ_α(G_0 ⊕ M[λ_β']) ⊕ Λ_β(G_1 ⊕ M[λ_α'] ⊕ A) ⊕ M[λ_γ' ⊕ (λ_αλ_β)']`.
//!
//! **Hash.** Both hashes of a gate are under one key, and H'(x) = H(x ⊕ c). What is hashed must differ: if A ⊕ B is c or c ⊕ Δ, the four hashes
//! cancel in G_0 ⊕ G_1, and what is left of it is Δ or 0, but for what the evaluator knows. Operands are sums of any wires, in a program that may
//! depend on what the evaluator has seen: among some 130 labels that it holds there are some that sum up to any block that it names.
//! So no constant would do. The garbler draws c anew for each segment, when the evaluator has opened all that it opens of the segment's
//! triples, and sends it at the head of the first tables:
//!
//! - the circuit, the masks and their MACs, and the labels of wires that come into the segment are fixed before c is drawn, however the evaluator chose what it
//!   can choose of them;
//! - labels that gates of the segment give are hashes at points with c added, each under a key of its own. So where the A ⊕ B of a later gate has
//!   any of them it is as random as c, and where they cancel it is fixed before c.
//!
//! In either case A ⊕ B is c or c ⊕ Δ with probability 2^-127 for each gate (`cenote_params` counts it with the hash), whatever the evaluator
//! does. A garbler that chooses c badly harms itself alone: the hash hides nothing but its Δ, and gates are checked whatever they are hashed with.

use cenote_primitives::lanes::{Kernel, Lanes, run};
use cenote_primitives::{Block, hash};
use zeroize::Zeroize;

/// Gates side by side: `QUADS` times four.
const QUADS: usize = 2;
const GROUP: usize = 4 * QUADS;

type Quads = [[Block; 4]; QUADS];

/// What gates are hashed with.
#[derive(Clone, Copy, Default)]
pub(super) struct Hashed {
    /// The key of tweak 0.
    pub(super) start: Block,
    /// The tweak of the first gate.
    pub(super) first: u64,
    /// c.
    pub(super) apart: Block,
}

impl Hashed {
    /// That of gates that come after so many.
    pub(super) fn after(self, gates: usize) -> Self {
        Self {
            first: self.first + gates as u64,
            ..self
        }
    }
}

/// What the garbler has of gates: labels of both operands, then MACs and keys of the masks of both operands and of the sum of the
/// output's mask and the product of the operands' masks.
pub(super) struct Garbled<'a> {
    pub(super) delta: Block,
    pub(super) labels: [&'a [Block]; 2],
    pub(super) macs: [&'a [Block]; 3],
    pub(super) keys: [&'a [Block]; 3],
}

/// Garbles gates: writes G_0 and G_1, and the outputs' 0-labels, of which bit 0 is not cleared.
pub(super) fn garble(hashed: Hashed, gates: &Garbled<'_>, tables: &mut [[Block; 2]], outputs: &mut [Block]) {
    let count = tables.len();
    assert!(outputs.len() == count && gates.labels.iter().all(|part| part.len() == count));
    assert!(
        gates
            .macs
            .iter()
            .chain(&gates.keys)
            .all(|part| part.len() == count)
    );
    run(Garble {
        hashed,
        gates,
        tables,
        outputs,
    });
}

/// The labels of outputs of gates, of which bit 0 is not right yet: `macs` as for [`Garbled`].
pub(super) fn evaluate(
    hashed: Hashed,
    labels: [&[Block]; 2],
    macs: [&[Block]; 3],
    tables: &[[Block; 2]],
    outputs: &mut [Block],
) {
    let count = tables.len();
    assert!(outputs.len() == count && labels.iter().chain(&macs).all(|part| part.len() == count));
    run(Evaluate {
        hashed,
        labels,
        macs,
        tables,
        outputs,
    });
}

/// Copies a group, or what is left, of `from` to `to`.
#[inline(always)]
fn load(from: &[Block], first: usize, count: usize, to: &mut Quads) {
    let flat: &mut [Block; GROUP] = bytemuck::cast_mut(to);
    flat[..count].copy_from_slice(&from[first..first + count]);
}

struct Garble<'a> {
    hashed: Hashed,
    gates: &'a Garbled<'a>,
    tables: &'a mut [[Block; 2]],
    outputs: &'a mut [Block],
}

impl Kernel for Garble<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) {
        let Garbled {
            delta,
            labels: [a, b],
            macs: [ma, mb, mc],
            keys: [ka, kb, kc],
        } = self.gates;
        let (start, delta, apart) = (
            lanes.splat(self.hashed.start),
            lanes.splat(*delta),
            lanes.splat(self.hashed.apart),
        );
        let mut parts = [[[Block::ZERO; 4]; QUADS]; 8];
        let mut made = [[[[Block::ZERO; 2]; 4]; QUADS]; 1];
        let mut out = [[Block::ZERO; 4]; QUADS];
        for first in (0..self.tables.len()).step_by(GROUP) {
            let count = GROUP.min(self.tables.len() - first);
            let all = [a, b, ma, mb, mc, ka, kb, kc];
            let mut i = 0;
            while i < 8 {
                load(all[i], first, count, &mut parts[i]);
                i += 1;
            }
            let (mut keys, mut inputs) = ([start; QUADS], [[delta; 4]; QUADS]);
            for k in 0..QUADS {
                let number = self.hashed.first.wrapping_add((first + 4 * k) as u64);
                let numbers = [0, 1, 2, 3].map(|i| number.wrapping_add(i));
                keys[k] = lanes.xor(lanes.numbers(numbers), start);
                let left = lanes.load(&parts[0][k]);
                let right = lanes.xor(lanes.load(&parts[1][k]), apart);
                inputs[k] = [left, lanes.xor(left, delta), right, lanes.xor(right, delta)];
            }
            let hashes = hash::hash(lanes, keys, inputs);
            for k in 0..QUADS {
                let [a0, a1, b0, b1] = hashes[k];
                let mac = lanes.load(&parts[3][k]);
                let of_b = lanes.xor_if(lanes.load(&parts[6][k]), mac, delta);
                let mac = lanes.load(&parts[2][k]);
                let of_a = lanes.xor_if(lanes.load(&parts[5][k]), mac, delta);
                let mac = lanes.load(&parts[4][k]);
                let of_c = lanes.xor_if(lanes.load(&parts[7][k]), mac, delta);
                let g0 = lanes.xor(lanes.xor(a0, a1), of_b);
                let g1 = lanes.xor(lanes.xor(b0, b1), lanes.xor(of_a, lanes.load(&parts[0][k])));
                lanes.store_pairs([g0, g1], &mut made[0][k]);
                lanes.store(lanes.xor(lanes.xor(a0, b0), of_c), &mut out[k]);
            }
            let flat = made[0].as_flattened();
            self.tables[first..first + count].copy_from_slice(&flat[..count]);
            self.outputs[first..first + count].copy_from_slice(&out.as_flattened()[..count]);
        }
        parts.as_flattened_mut().as_flattened_mut().zeroize();
        out.as_flattened_mut().zeroize();
    }
}

struct Evaluate<'a> {
    hashed: Hashed,
    labels: [&'a [Block]; 2],
    macs: [&'a [Block]; 3],
    tables: &'a [[Block; 2]],
    outputs: &'a mut [Block],
}

impl Kernel for Evaluate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) {
        let (start, apart) = (lanes.splat(self.hashed.start), lanes.splat(self.hashed.apart));
        let ([a, b], [ma, mb, mc]) = (self.labels, self.macs);
        let mut parts = [[[Block::ZERO; 4]; QUADS]; 5];
        let mut tables = [[[Block::ZERO; 2]; 4]; QUADS];
        let mut out = [[Block::ZERO; 4]; QUADS];
        for first in (0..self.tables.len()).step_by(GROUP) {
            let count = GROUP.min(self.tables.len() - first);
            let all = [a, b, ma, mb, mc];
            let mut i = 0;
            while i < 5 {
                load(all[i], first, count, &mut parts[i]);
                i += 1;
            }
            tables.as_flattened_mut()[..count].copy_from_slice(&self.tables[first..first + count]);
            let (mut keys, mut inputs) = ([start; QUADS], [[start; 2]; QUADS]);
            for k in 0..QUADS {
                let number = self.hashed.first.wrapping_add((first + 4 * k) as u64);
                let numbers = [0, 1, 2, 3].map(|i| number.wrapping_add(i));
                keys[k] = lanes.xor(lanes.numbers(numbers), start);
                inputs[k] = [
                    lanes.load(&parts[0][k]),
                    lanes.xor(lanes.load(&parts[1][k]), apart),
                ];
            }
            let hashes = hash::hash(lanes, keys, inputs);
            for k in 0..QUADS {
                let [left, right] = [lanes.load(&parts[0][k]), lanes.load(&parts[1][k])];
                let [g0, g1] = lanes.load_pairs(&tables[k]);
                let sum = lanes.xor(lanes.xor(hashes[k][0], hashes[k][1]), lanes.load(&parts[4][k]));
                let sum = lanes.xor_if(sum, left, lanes.xor(g0, lanes.load(&parts[3][k])));
                let of_right = lanes.xor(lanes.xor(g1, lanes.load(&parts[2][k])), left);
                lanes.store(lanes.xor_if(sum, right, of_right), &mut out[k]);
            }
            self.outputs[first..first + count].copy_from_slice(&out.as_flattened()[..count]);
        }
        parts.as_flattened_mut().as_flattened_mut().zeroize();
        out.as_flattened_mut().zeroize();
    }
}
