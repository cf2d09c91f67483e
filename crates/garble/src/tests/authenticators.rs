use cenote_primitives::{Block, Simd};
use proptest::prelude::*;

use super::super::authenticator::authenticate_on;
use super::super::{AUTHENTICATORS, Authenticator, MAX_AUTHENTICATORS, accepts, accepts_each, authenticate};
use super::{A, B, DELTA, START, any_block, any_delta, base, bytes, reference};

#[test]
fn every_level_gives_the_recorded_bytes() {
    // Computed with OpenSSL's AES.
    let golden = [
        [
            0x8273_2465_761f_417e_71c0_3ea3_b6a4_4706,
            0x2d3e_c0da_f41a_634d_e4c5_f884_bb09_8afa,
        ],
        [
            0x16c3_3931_8325_d7fb_066a_3da9_1ae0_9e2b,
            0x2d55_c4d4_8d7f_94b0_7a73_179c_86b5_8f7c,
        ],
    ];
    for &simd in Simd::supported() {
        let mut out = [Authenticator::default(); 2];
        authenticate_on(simd, bytes(DELTA), base(77), &[bytes(A), bytes(B)], &mut out);
        assert!(out == golden.map(|pair| Authenticator(pair.map(bytes))), "{simd}");
    }
}

#[test]
fn the_order_does_not_tell_the_labels_apart() {
    let wires: Vec<Block> = (0..4096).map(|k| bytes(A.wrapping_mul(2 * k + 1))).collect();
    let mut out = vec![Authenticator::default(); wires.len()];
    authenticate(bytes(DELTA), base(0), &wires, &mut out);
    let mut zero_first = 0;
    for (k, (wire, Authenticator([smaller, larger]))) in wires.iter().zip(&out).enumerate() {
        assert!(reference::number(*smaller) < reference::number(*larger));
        let of_zero = reference::block(reference::hash(
            reference::number(*wire),
            AUTHENTICATORS + k as u64,
        ));
        assert!([*smaller, *larger].contains(&of_zero));
        zero_first += usize::from(*smaller == of_zero);
    }
    // The expectation is 2048, and the standard deviation 32.
    assert!(
        (2048 - 160..2048 + 160).contains(&zero_first),
        "{zero_first} of 4096"
    );
}

#[test]
fn the_last_numbers_can_be_used() {
    let mut out = [Authenticator::default(); 3];
    authenticate(
        bytes(DELTA),
        base(MAX_AUTHENTICATORS - 3),
        &[bytes(A); 3],
        &mut out,
    );
    assert!(accepts(bytes(START), MAX_AUTHENTICATORS - 1, &out[2], bytes(A)));
    assert!(!accepts(bytes(START), MAX_AUTHENTICATORS - 2, &out[2], bytes(A)));
}

#[test]
#[should_panic(expected = "63-bit")]
fn numbers_beyond_the_last_are_refused() {
    authenticate(
        Block([1, 0]),
        base(MAX_AUTHENTICATORS - 1),
        &[Block::ZERO; 2],
        &mut [Authenticator::default(); 2],
    );
}

proptest! {
    #[test]
    fn both_labels_and_nothing_else_are_accepted(
        delta in any_delta(),
        wires in prop::collection::vec(any_block(), 1..100),
        first in 0..MAX_AUTHENTICATORS - 100,
        other in any_block(),
        flipped in 0..128,
    ) {
        let numbers: Vec<u64> = (first..first + wires.len() as u64).collect();
        let mut expected: Option<Vec<Authenticator>> = None;
        for &simd in Simd::supported() {
            let mut all = vec![Authenticator::default(); wires.len()];
            authenticate_on(simd, delta, base(first), &wires, &mut all);
            prop_assert!(*expected.get_or_insert_with(|| all.clone()) == all, "{} differs", simd);
        }
        let all = expected.expect("one level at least");
        let swapped: Vec<Authenticator> = all.iter().map(|Authenticator([a, b])| Authenticator([*b, *a])).collect();
        let flip = reference::block(1_u128 << flipped);
        let offsets = [(Block::ZERO, true), (delta, true), (flip, flip == delta), (delta ^ flip, flip == delta), (other, false)];
        for (offset, expected) in offsets {
            let labels: Vec<Block> = wires.iter().map(|wire| *wire ^ offset).collect();
            for all in [&all, &swapped] {
                let mut accepted = vec![!expected; wires.len()];
                accepts_each(bytes(START), &numbers, all, &labels, &mut accepted);
                prop_assert!(accepted.iter().all(|accepted| *accepted == expected));
                prop_assert_eq!(accepts(bytes(START), first, &all[0], labels[0]), expected);
            }
        }
        // Under another number, or of another wire, nothing is accepted.
        let mut accepted = vec![true; wires.len()];
        let others: Vec<u64> = numbers.iter().map(|number| number ^ 1).collect();
        accepts_each(bytes(START), &others, &all, &wires, &mut accepted);
        prop_assert!(!accepted.contains(&true));
        let mut accepted = vec![true; wires.len()];
        let mut shifted = wires.clone();
        shifted.rotate_left(1);
        accepts_each(bytes(START), &numbers, &all, &shifted, &mut accepted);
        prop_assert!(wires.len() == 1 || !accepted.contains(&true));
    }
}
