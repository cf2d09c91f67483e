//! Integer circuits against plain Rust, on all inputs of small widths and random ones of larger.

use crate::words::{everything, mask, run, samples};
use cenote_circuit::library::{self, Goal};
use cenote_circuit::{Bit, Builder};
use proptest::prelude::*;

const GOALS: [Goal; 2] = [Goal::FewestAnds, Goal::LeastDepth];

/// [`crate::words::check`] of one output.
fn check(
    widths: &[usize],
    rows: &[Vec<u128>],
    f: impl FnOnce(&mut Builder, &[Vec<Bit>]) -> Vec<Bit>,
    expected: impl Fn(&[u128]) -> u128,
) {
    crate::words::check(widths, rows, |b, i| vec![f(b, i)], |r| vec![expected(r)]);
}

fn signed(x: u128, n: usize) -> i128 {
    let x = x as i128;
    if n > 0 && x >> (n - 1) & 1 == 1 {
        x - (1 << n)
    } else {
        x
    }
}

/// Every operation on two operands of `n` bits and one more bit, on the given inputs.
fn check_all(n: usize, rows: &[Vec<u128>]) {
    for goal in GOALS {
        check_sums(n, rows, goal);
        check_order_and_products(n, rows, goal);
    }
    check_bits(n, rows);
}

fn check_sums(n: usize, rows: &[Vec<u128>], goal: Goal) {
    let w = [n, n, 1];
    let wide = |r: &[u128]| (r[0], r[1], r[2]);
    let with_flag = |(mut bits, flag): (Vec<Bit>, Bit)| {
        bits.push(flag);
        bits
    };
    check(
        &w,
        rows,
        |b, i| library::add(b, &i[0], &i[1], goal),
        |r| {
            let (x, y, _) = wide(r);
            (x + y) & mask(n)
        },
    );
    check(
        &w,
        rows,
        |b, i| with_flag(library::add_with_carry(b, &i[0], &i[1], i[2][0], goal)),
        |r| {
            let (x, y, carry) = wide(r);
            x + y + carry
        },
    );
    check(
        &w,
        rows,
        |b, i| library::subtract(b, &i[0], &i[1], goal),
        |r| {
            let (x, y, _) = wide(r);
            x.wrapping_sub(y) & mask(n)
        },
    );
    // A borrow is the bit that the result, taken modulo 2^(n + 1), has at n.
    check(
        &w,
        rows,
        |b, i| with_flag(library::subtract_with_borrow(b, &i[0], &i[1], i[2][0], goal)),
        |r| {
            let (x, y, borrow) = wide(r);
            x.wrapping_sub(y).wrapping_sub(borrow) & mask(n + 1)
        },
    );
    check(
        &w,
        rows,
        |b, i| library::negate(b, &i[0], goal),
        |r| wide(r).0.wrapping_neg() & mask(n),
    );
}

fn check_order_and_products(n: usize, rows: &[Vec<u128>], goal: Goal) {
    let w = [n, n, 1];
    check(
        &w,
        rows,
        |b, i| vec![library::less_than(b, &i[0], &i[1], goal)],
        |r| u128::from(r[0] < r[1]),
    );
    check(
        &w,
        rows,
        |b, i| vec![library::less_than_signed(b, &i[0], &i[1], goal)],
        |r| u128::from(signed(r[0], n) < signed(r[1], n)),
    );
    check(
        &w,
        rows,
        |b, i| library::multiply(b, &i[0], &i[1], goal),
        |r| r[0].wrapping_mul(r[1]) & mask(n),
    );
    check(
        &w,
        rows,
        |b, i| library::multiply_full(b, &i[0], &i[1], goal),
        |r| r[0] * r[1],
    );
}

/// What has the same circuit for either goal.
fn check_bits(n: usize, rows: &[Vec<u128>]) {
    let w = [n, n, 1];
    check(
        &w,
        rows,
        |b, i| vec![library::equal(b, &i[0], &i[1])],
        |r| u128::from(r[0] == r[1]),
    );
    check(
        &w,
        rows,
        |b, i| vec![library::is_zero(b, &i[0])],
        |r| u128::from(r[0] == 0),
    );
    check(
        &w,
        rows,
        |b, i| library::mux(b, i[2][0], &i[0], &i[1]),
        |r| {
            if r[2] == 1 { r[0] } else { r[1] }
        },
    );
    check(
        &w,
        rows,
        |b, i| library::popcount(b, &i[0]),
        |r| r[0].count_ones().into(),
    );
}

#[test]
fn small_widths_are_right_on_every_input() {
    for n in 0..=5 {
        check_all(n, &everything(&[n, n, 1]));
    }
}

#[test]
fn products_of_different_widths() {
    for goal in GOALS {
        for widths in [[1, 6], [6, 1], [3, 7], [7, 2], [0, 4]] {
            check(
                &widths,
                &everything(&widths),
                |b, i| library::multiply_full(b, &i[0], &i[1], goal),
                |r| r[0] * r[1],
            );
        }
    }
}

#[test]
fn equality_and_order_at_every_single_difference() {
    for n in [17, 32, 63] {
        let mut rows = Vec::new();
        for bit in 0..n {
            let (x, y) = (0x1234_5678_9abc_def0 & mask(n), 1 << bit);
            rows.extend([
                vec![x, x ^ y, 0],
                vec![x ^ y, x, 1],
                vec![0, y, 1],
                vec![y, 0, 1],
                vec![y, y - 1, 1],
            ]);
        }
        check_all(n, &rows);
    }
}

#[test]
fn constants_fold() {
    for goal in GOALS {
        for value in 0..32 {
            check(
                &[5],
                &everything(&[5]),
                |b, i| {
                    let five = library::constant(value, 5);
                    let mut bits = library::add(b, &i[0], &five, goal);
                    bits.extend(library::multiply(b, &five, &i[0], goal));
                    bits.push(library::less_than(b, &i[0], &five, goal));
                    bits
                },
                |r| {
                    let value = u128::from(value);
                    let (sum, product) = ((r[0] + value) % 32, r[0] * value % 32);
                    sum | product << 5 | u128::from(r[0] < value) << 10
                },
            );
        }
    }
}

#[test]
fn wide_sums_use_the_balanced_tree() {
    let n = 100;
    for goal in GOALS {
        check(
            &[n, n],
            &samples(&[n, n], 200, 1),
            |b, i| {
                let (mut sum, carry) = library::add_with_carry(b, &i[0], &i[1], Bit::FALSE, goal);
                sum.push(carry);
                sum.push(library::less_than(b, &i[0], &i[1], goal));
                sum
            },
            |r| (r[0] + r[1]) | u128::from(r[0] < r[1]) << (n + 1),
        );
    }
}

#[test]
fn exposure_agrees_with_the_plain_sum() {
    for goal in GOALS {
        for (parties, width) in [(1, 4), (2, 3), (3, 3), (4, 2), (5, 2)] {
            let rows = everything(&vec![width as usize; parties]);
            let most = parties as u64 * ((1 << width) - 1);
            for limit in (0..most + 3).chain([u64::MAX]) {
                let circuit = library::exposure_over_limit(parties, width, limit, goal);
                for (row, over) in rows.iter().zip(run(&circuit, &rows)) {
                    assert_eq!(
                        over,
                        [u128::from(row.iter().sum::<u128>() > u128::from(limit))],
                        "{row:?} over {limit}"
                    );
                }
            }
        }
        let circuit = library::exposure_over_limit(3, 64, u64::MAX, goal);
        let rows = [
            vec![u64::MAX.into(), 0, 0],
            vec![u64::MAX.into(), 0, 1],
            vec![u64::MAX.into(); 3],
        ];
        assert_eq!(run(&circuit, &rows), [[0], [1], [1]]);
        assert_eq!(circuit.inputs()[2].name, "bank2");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn random_widths_and_inputs(n in 6usize..=64, seed: u64) {
        check_all(n, &samples(&[n, n, 1], 100, seed));
    }
}
