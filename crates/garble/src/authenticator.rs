//! Wire authenticators: publicly checkable labels.

use cenote_primitives::lanes::{Kernel, Lanes, run_on};
use cenote_primitives::{Block, Simd, hash};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::{AUTHENTICATORS, Base, MAX_AUTHENTICATORS};

/// `{H(K), H(K ^ Δ)}` in sorted order: as little-endian numbers, the smaller first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Authenticator(pub [Block; 2]);

/// Authenticators numbered from `first` on of wires with 0-labels `wires`. `first` has the start of the session's keys.
///
/// # Panics
/// If the lengths differ or a number is not below [`MAX_AUTHENTICATORS`].
pub fn authenticate(delta: Block, first: Base, wires: &[Block], authenticators: &mut [Authenticator]) {
    authenticate_on(Simd::detect(), delta, first, wires, authenticators);
}

/// [`authenticate`] on a given level.
pub(super) fn authenticate_on(
    simd: Simd,
    delta: Block,
    first: Base,
    wires: &[Block],
    authenticators: &mut [Authenticator],
) {
    assert_eq!(wires.len(), authenticators.len(), "one authenticator per wire");
    assert!(
        first.number <= MAX_AUTHENTICATORS && wires.len() as u64 <= MAX_AUTHENTICATORS - first.number,
        "authenticators have 63-bit numbers"
    );
    let kernel = Authenticate {
        delta,
        first,
        wires,
        authenticators,
    };
    run_on(simd, kernel);
}

/// Whether authenticator number `number` accepts `label`, in constant time. `start` is that of the session's keys.
pub fn accepts(start: Block, number: u64, authenticator: &Authenticator, label: Block) -> bool {
    let mut accepted = [false];
    accepts_each(
        start,
        &[number],
        std::slice::from_ref(authenticator),
        &[label],
        &mut accepted,
    );
    accepted[0]
}

/// Whether each authenticator accepts its label, in constant time. `start` is that of the session's keys.
///
/// # Panics
/// If the lengths differ. Numbers must be below [`MAX_AUTHENTICATORS`]; this is the caller's part, and checked in debug
/// builds.
pub fn accepts_each(
    start: Block,
    numbers: &[u64],
    authenticators: &[Authenticator],
    labels: &[Block],
    accepted: &mut [bool],
) {
    let count = numbers.len();
    assert!(authenticators.len() == count && labels.len() == count && accepted.len() == count);
    debug_assert!(numbers.iter().all(|number| *number < MAX_AUTHENTICATORS));
    let (mut tweaks, mut hashes) = ([0; BATCH], [Block::ZERO; BATCH]);
    let batches = numbers
        .chunks(BATCH)
        .zip(authenticators.chunks(BATCH))
        .zip(labels.chunks(BATCH))
        .zip(accepted.chunks_mut(BATCH));
    for (((numbers, authenticators), labels), accepted) in batches {
        for (tweak, number) in tweaks.iter_mut().zip(numbers) {
            *tweak = AUTHENTICATORS | number;
        }
        let hashes = &mut hashes[..labels.len()];
        hashes.copy_from_slice(labels);
        hash::hash_each(start, &tweaks[..numbers.len()], hashes);
        for ((accepted, Authenticator(pair)), hash) in accepted.iter_mut().zip(authenticators).zip(hashes) {
            *accepted = (difference(*hash, pair[0]).ct_eq(&0) | difference(*hash, pair[1]).ct_eq(&0)).into();
        }
    }
}

/// Zero if the blocks are the same.
#[inline(always)]
fn difference(a: Block, b: Block) -> u64 {
    let Block([low, high]) = a ^ b;
    low | high
}

/// Labels hashed per call.
const BATCH: usize = 64;

/// Authenticators side by side: `QUADS` times four.
const QUADS: usize = 4;
const GROUP: usize = 4 * QUADS;

struct Authenticate<'a> {
    delta: Block,
    first: Base,
    wires: &'a [Block],
    authenticators: &'a mut [Authenticator],
}

impl Kernel for Authenticate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) {
        let (wires, last_wires) = self.wires.as_chunks::<GROUP>();
        let (out, last_out) = self.authenticators.as_chunks_mut::<GROUP>();
        let start = lanes.splat(self.first.start);
        let mut tweak = AUTHENTICATORS + self.first.number;
        for (wires, out) in wires.iter().zip(out) {
            group(lanes, self.delta, start, tweak, wires, out);
            tweak = tweak.wrapping_add(GROUP as u64);
        }
        if !last_wires.is_empty() {
            let (mut wires, mut out) = ([Block::ZERO; GROUP], [Authenticator::default(); GROUP]);
            wires[..last_wires.len()].copy_from_slice(last_wires);
            group(lanes, self.delta, start, tweak, &wires, &mut out);
            last_out.copy_from_slice(&out[..last_out.len()]);
            wires.zeroize();
        }
    }
}

#[inline(always)]
fn group<L: Lanes>(
    lanes: &L,
    delta: Block,
    start: L::V,
    tweak: u64,
    wires: &[Block; GROUP],
    out: &mut [Authenticator; GROUP],
) {
    let wires: &[[Block; 4]; QUADS] = bytemuck::cast_ref(wires);
    let out: &mut [[[Block; 2]; 4]; QUADS] = bytemuck::cast_mut(out);
    let delta = lanes.splat(delta);
    let (mut keys, mut labels) = ([start; QUADS], [[delta; 2]; QUADS]);
    for k in 0..QUADS {
        let label = lanes.load(&wires[k]);
        labels[k] = [label, lanes.xor(label, delta)];
        let tweaks = [0, 1, 2, 3].map(|i| tweak.wrapping_add((4 * k) as u64 + i));
        keys[k] = lanes.xor(lanes.numbers(tweaks), start);
    }
    let hashes = hash::hash(lanes, keys, labels);
    for k in 0..QUADS {
        let [zero, one] = hashes[k];
        lanes.store_pairs(lanes.sort(zero, one), &mut out[k]);
    }
}
