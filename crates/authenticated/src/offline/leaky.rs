//! What a party computes of a leaky AND: the block that it sends, and its part of the sum that is compared.

use cenote_primitives::lanes::{Kernel, Lanes, run};
use cenote_primitives::{Block, hash};
use zeroize::Zeroize;

/// What the blocks are hashed with.
#[derive(Clone, Copy)]
pub(super) struct Hashed {
    /// This party's difference.
    pub(super) delta: Block,
    /// The key of tweak 0.
    pub(super) start: Block,
    /// The tweak of the first.
    pub(super) first: u64,
}

/// For each leaky AND with this party's MACs `own` of x, y, z and its keys `other` of the other party's:
///
/// - `C = yΔ ⊕ K[y'] ⊕ M[y]`;
/// - to `sent` `G = H(K[x']) ⊕ H(K[x'] ⊕ Δ) ⊕ C`;
/// - to `sums` what it knows of `S = H(K[x']) ⊕ x G' ⊕ H(M[x]) ⊕ x C ⊕ zΔ ⊕ K[z'] ⊕ M[z]`: all but `x G'`.
///
/// Primed is what is the other party's. The three hashes of a leaky AND are under one key: of those that a party does not know, two with a
/// difference that it does not know either, as many as in a gate.
pub(super) fn make(
    hashed: Hashed,
    own: [&[Block]; 3],
    other: [&[Block]; 3],
    sent: &mut [Block],
    sums: &mut [Block],
) {
    let count = sent.len();
    assert!(sums.len() == count && own.iter().chain(&other).all(|part| part.len() == count));
    run(Make {
        hashed,
        own,
        other,
        sent,
        sums,
    });
}

/// Leaky ANDs side by side: `QUADS` times four.
const QUADS: usize = 2;
const GROUP: usize = 4 * QUADS;

struct Make<'a> {
    hashed: Hashed,
    own: [&'a [Block]; 3],
    other: [&'a [Block]; 3],
    sent: &'a mut [Block],
    sums: &'a mut [Block],
}

type Quads = [[Block; 4]; QUADS];

impl Kernel for Make<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) {
        let mut hashed = self.hashed;
        let (sent, last_sent) = self.sent.as_chunks_mut::<GROUP>();
        let (sums, last_sums) = self.sums.as_chunks_mut::<GROUP>();
        let mut parts = [[[Block::ZERO; 4]; QUADS]; 6];
        let mut first = 0;
        for (sent, sums) in sent.iter_mut().zip(sums) {
            for (part, all) in parts.iter_mut().zip(self.own.iter().chain(&self.other)) {
                let flat: &mut [Block; GROUP] = bytemuck::cast_mut(part);
                flat.copy_from_slice(&all[first..first + GROUP]);
            }
            group(
                lanes,
                hashed,
                &parts,
                bytemuck::cast_mut(sent),
                bytemuck::cast_mut(sums),
            );
            first += GROUP;
            hashed.first += GROUP as u64;
        }
        if !last_sent.is_empty() {
            let left = last_sent.len();
            for (part, all) in parts.iter_mut().zip(self.own.iter().chain(&self.other)) {
                let flat: &mut [Block; GROUP] = bytemuck::cast_mut(part);
                flat[..left].copy_from_slice(&all[first..]);
            }
            let [mut sent, mut sums] = [[[Block::ZERO; 4]; QUADS]; 2];
            group(lanes, hashed, &parts, &mut sent, &mut sums);
            last_sent.copy_from_slice(&sent.as_flattened()[..left]);
            last_sums.copy_from_slice(&sums.as_flattened()[..left]);
            sums.as_flattened_mut().zeroize();
        }
        parts.as_flattened_mut().as_flattened_mut().zeroize();
    }
}

#[inline(always)]
fn group<L: Lanes>(
    lanes: &L,
    hashed: Hashed,
    [mx, my, mz, kx, ky, kz]: &[Quads; 6],
    sent: &mut Quads,
    sums: &mut Quads,
) {
    let (start, delta) = (lanes.splat(hashed.start), lanes.splat(hashed.delta));
    let (mut keys, mut inputs) = ([start; QUADS], [[delta; 3]; QUADS]);
    for k in 0..QUADS {
        let numbers = [0, 1, 2, 3].map(|i| hashed.first.wrapping_add((4 * k) as u64 + i));
        keys[k] = lanes.xor(lanes.numbers(numbers), start);
        let key = lanes.load(&kx[k]);
        inputs[k] = [key, lanes.xor(key, delta), lanes.load(&mx[k])];
    }
    let x = [inputs[0][2], inputs[1][2]];
    let hashes = hash::hash(lanes, keys, inputs);
    for k in 0..QUADS {
        let [key, other, mac] = hashes[k];
        let y = lanes.load(&my[k]);
        let z = lanes.load(&mz[k]);
        let c = lanes.xor_if(lanes.xor(lanes.load(&ky[k]), y), y, delta);
        lanes.store(lanes.xor(lanes.xor(key, other), c), &mut sent[k]);
        let sum = lanes.xor_if(lanes.xor(key, mac), x[k], c);
        let sum = lanes.xor_if(lanes.xor(sum, z), z, delta);
        lanes.store(lanes.xor(sum, lanes.load(&kz[k])), &mut sums[k]);
    }
}
