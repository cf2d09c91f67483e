//! Division, shifts, counts and sums against plain Rust, on all inputs of small widths and samples of larger.

use crate::words::{check, circuit, everything, mask, samples};
use cenote_circuit::Bit;
use cenote_circuit::library::{self, Goal};
use proptest::prelude::*;

const GOALS: [Goal; 2] = [Goal::FewestAnds, Goal::LeastDepth];

/// `x` of `width` bits in two's complement.
fn signed(x: u128, width: usize) -> i128 {
    let unused = 128 - width as u32;
    (x as i128).checked_shl(unused).map_or(0, |x| x >> unused)
}

fn check_division(n: usize, rows: &[Vec<u128>]) {
    for goal in GOALS {
        check(
            &[n, n],
            rows,
            |b, i| {
                let (quotient, remainder) = library::divide(b, &i[0], &i[1], goal);
                vec![quotient, remainder]
            },
            |r| match r[1] {
                0 => vec![mask(n), r[0]],
                y => vec![r[0] / y, r[0] % y],
            },
        );
        check(
            &[n, n],
            rows,
            |b, i| {
                let (quotient, remainder) = library::divide_signed(b, &i[0], &i[1], goal);
                vec![quotient, remainder]
            },
            |r| {
                let (x, y) = (signed(r[0], n), signed(r[1], n));
                let (quotient, remainder) = match y {
                    0 => (-1, x),
                    // The only quotient of 128 bits that overflows wraps.
                    y => (x.wrapping_div(y), x.wrapping_rem(y)),
                };
                vec![quotient as u128 & mask(n), remainder as u128 & mask(n)]
            },
        );
    }
}

#[test]
fn small_numbers_are_divided() {
    for n in 0..=6 {
        check_division(n, &everything(&[n, n]));
    }
}

#[test]
fn large_numbers_are_divided() {
    for n in [7, 13, 32, 127, 128] {
        check_division(n, &samples(&[n, n], 300, n as u64));
    }
}

#[test]
fn division_by_constants_costs_their_width() {
    for goal in GOALS {
        for n in [1, 4, 7] {
            for divisor in 0..1u64 << n {
                check(
                    &[n],
                    &everything(&[n]),
                    |b, i| {
                        let divisor = library::constant(divisor, n);
                        let (quotient, remainder) = library::divide(b, &i[0], &divisor, goal);
                        vec![quotient, remainder]
                    },
                    |r| match u128::from(divisor) {
                        0 => vec![mask(n), r[0]],
                        y => vec![r[0] / y, r[0] % y],
                    },
                );
            }
        }
    }
    let ands = |divisor| {
        let circuit = circuit(&[32], |b, i| {
            let divisor = library::constant(divisor, 32);
            vec![library::divide(b, &i[0], &divisor, Goal::FewestAnds).0]
        });
        circuit.statistics().ands
    };
    assert!(ands(10) <= 5 * 32 && ands(1000) <= 11 * 32 && ands(4096) == 0);
}

/// `n²/2 + 9n/2 - 4` ANDs, `2n - 1` less without the remainder, and `4n - 2` more if signed.
#[test]
fn division_costs_what_it_says() {
    for n in [2usize, 3, 8, 32, 64, 100] {
        let unsigned = circuit(&[n, n], |b, i| {
            let (quotient, remainder) = library::divide(b, &i[0], &i[1], Goal::FewestAnds);
            vec![quotient, remainder]
        });
        let quotient = circuit(&[n, n], |b, i| {
            vec![library::divide(b, &i[0], &i[1], Goal::FewestAnds).0]
        });
        let signed = circuit(&[n, n], |b, i| {
            let (quotient, remainder) = library::divide_signed(b, &i[0], &i[1], Goal::FewestAnds);
            vec![quotient, remainder]
        });
        let [unsigned, quotient, signed] = [unsigned, quotient, signed].map(|c| c.statistics().ands);
        assert_eq!(unsigned, n * (n + 9) / 2 - 4, "{n}");
        assert_eq!(quotient, unsigned - (2 * n - 1), "{n}");
        assert_eq!(signed, unsigned + 4 * n - 2, "{n}");
    }
}

fn check_shifts(n: usize, w: usize, rows: &[Vec<u128>]) {
    let shift = |amount: u128| amount.min(127) as u32;
    for goal in GOALS {
        check(
            &[n, w],
            rows,
            |b, i| {
                vec![
                    library::shift_left(b, &i[0], &i[1], goal),
                    library::shift_right(b, &i[0], &i[1], goal),
                    library::shift_right_signed(b, &i[0], &i[1], goal),
                    library::rotate_left(b, &i[0], &i[1], goal),
                    library::rotate_right(b, &i[0], &i[1], goal),
                ]
            },
            |r| {
                let (x, amount) = (r[0], r[1]);
                let far = amount >= n as u128;
                let turned = |left: u128| {
                    let left = left as u32;
                    match left {
                        0 => x,
                        _ => (x << left | x >> (n as u32 - left)) & mask(n),
                    }
                };
                let left = if n == 0 { 0 } else { amount % n as u128 };
                vec![
                    if far { 0 } else { x << amount & mask(n) },
                    if far { 0 } else { x >> amount },
                    (signed(x, n) >> shift(amount)) as u128 & mask(n),
                    turned(left),
                    turned(if left == 0 { 0 } else { n as u128 - left }),
                ]
            },
        );
    }
}

#[test]
fn shifts_and_rotations_by_every_amount() {
    for n in 0..=9 {
        for w in 0..=5 {
            check_shifts(n, w, &everything(&[n, w]));
        }
    }
    for (n, w) in [(24, 32), (32, 5), (32, 6), (100, 7), (128, 128), (127, 8)] {
        let mut rows = samples(&[n, w], 200, 7);
        rows.extend(
            (0..300.min(mask(w))).map(|amount| vec![0x1234_5678_9abc_def0_0fed_cba9 & mask(n), amount]),
        );
        check_shifts(n, w, &rows);
    }
}

#[test]
fn shifts_cost_what_they_say() {
    for (p, w) in [(3usize, 3), (5, 5), (5, 8), (6, 6), (6, 64), (7, 7)] {
        let n = 1 << p;
        let ands = |f: fn(&mut _, &[Bit], &[Bit], Goal) -> Vec<Bit>| {
            let circuit = circuit(&[n, w], |b, i| vec![f(b, &i[0], &i[1], Goal::FewestAnds)]);
            circuit.statistics().ands
        };
        // Whether the bits above say anything, that in each of the bits below, and in the one that is left at most.
        let beyond = if w > p { w - p - 1 + p + 1 } else { 0 };
        assert_eq!(ands(library::shift_left), n * p + beyond, "{n} by {w}");
        assert_eq!(ands(library::shift_right), n * p + beyond, "{n} by {w}");
        assert!(ands(library::shift_right_signed) <= n * p + beyond, "{n} by {w}");
        assert_eq!(ands(library::rotate_left), n * (p - 1) + 1, "{n} by {w}");
        assert_eq!(ands(library::rotate_right), n * (p - 1) + 1, "{n} by {w}");
    }
}

#[test]
fn many_ones_are_counted() {
    let n = 200_000;
    let circuit = circuit(&[n], |b, i| vec![library::popcount(b, &i[0])]);
    assert_eq!(circuit.statistics().ands, n - n.count_ones() as usize);
}

fn check_counts(n: usize, rows: &[Vec<u128>]) {
    for goal in GOALS {
        let ands = check(
            &[n],
            rows,
            |b, i| {
                vec![
                    library::leading_zeros(b, &i[0], goal),
                    library::trailing_zeros(b, &i[0], goal),
                    library::absolute(b, &i[0], goal),
                ]
            },
            |r| {
                let leading = r[0].leading_zeros() as usize + n - 128;
                let trailing = (r[0].trailing_zeros() as usize).min(n);
                let absolute = signed(r[0], n).unsigned_abs();
                vec![leading as u128, trailing as u128, absolute]
            },
        );
        if goal == Goal::FewestAnds {
            assert!(ands <= 3 * n.saturating_sub(1), "{n}");
        }
    }
}

#[test]
fn zeros_are_counted_and_signs_dropped() {
    for n in 0..=10 {
        check_counts(n, &everything(&[n]));
    }
    for n in [31, 64, 100, 128] {
        let mut rows = samples(&[n], 100, 3);
        rows.extend((0..n).flat_map(|i| [vec![1 << i], vec![mask(n) << i & mask(n)], vec![mask(i)]]));
        check_counts(n, &rows);
    }
}

#[test]
fn numbers_are_negated_on_condition() {
    for goal in GOALS {
        for n in 0..=7 {
            check(
                &[n, 1],
                &everything(&[n, 1]),
                |b, i| vec![library::negate_if(b, i[1][0], &i[0], goal)],
                |r| {
                    vec![if r[1] == 1 {
                        r[0].wrapping_neg() & mask(n)
                    } else {
                        r[0]
                    }]
                },
            );
        }
    }
}

#[test]
fn sums_of_many() {
    for goal in GOALS {
        for widths in [&[][..], &[3], &[2, 3, 1], &[4, 4, 4], &[1; 11], &[0, 2, 5, 1]] {
            for width in 0..=8 {
                check(
                    widths,
                    &everything(widths),
                    |b, i| vec![library::sum(b, i, width, goal)],
                    |r| vec![r.iter().sum::<u128>() & mask(width)],
                );
            }
        }
        let widths = [32; 20];
        let ands = check(
            &widths,
            &samples(&widths, 100, 5),
            |b, i| vec![library::sum(b, i, 37, goal)],
            |r| vec![r.iter().sum::<u128>()],
        );
        // All bits but those of the sum, and five columns that a half adder ends.
        if goal == Goal::FewestAnds {
            assert_eq!(ands, 20 * 32 - 37 + 5);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn every_width(n in 1usize..=128, w in 1usize..=128, seed: u64) {
        check_division(n, &samples(&[n, n], 64, seed));
        check_shifts(n, w, &samples(&[n, w], 64, seed));
        check_counts(n, &samples(&[n], 64, seed));
    }
}
