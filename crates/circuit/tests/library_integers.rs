//! Integer circuits against plain Rust, on all inputs of small widths and random ones of larger.

use cenote_circuit::library::{self, Goal};
use cenote_circuit::{Bit, BitOrder, Builder, Circuit};
use cenote_primitives::BitMatrix;
use proptest::prelude::*;

const GOALS: [Goal; 2] = [Goal::FewestAnds, Goal::LeastDepth];

/// A circuit on inputs of the given widths, with one output.
fn circuit(widths: &[u32], f: impl FnOnce(&mut Builder, &[Vec<Bit>]) -> Vec<Bit>) -> Circuit {
    let mut b = Builder::new();
    let inputs: Vec<Vec<Bit>> = widths.iter().map(|&w| b.input("x", w, BitOrder::Lsb)).collect();
    let output = f(&mut b, &inputs);
    b.output("z", &output, BitOrder::Lsb);
    b.finish()
}

/// The output as an integer, for every row of inputs.
fn run(circuit: &Circuit, rows: &[Vec<u64>]) -> Vec<u128> {
    let inputs = BitMatrix::from_fn(circuit.input_wires() as usize, rows.len(), |wire, lane| {
        let value = (0..circuit.inputs().len())
            .find(|&i| circuit.input_range(i).contains(&wire))
            .unwrap();
        rows[lane][value] >> (wire - circuit.input_range(value).start) & 1 == 1
    });
    let outputs = circuit.evaluate(&inputs).unwrap();
    let output = |lane| (0..outputs.rows()).fold(0, |z, i| z | u128::from(outputs.get(i, lane)) << i);
    (0..rows.len()).map(output).collect()
}

fn check(
    widths: &[u32],
    rows: &[Vec<u64>],
    f: impl FnOnce(&mut Builder, &[Vec<Bit>]) -> Vec<Bit>,
    expected: impl Fn(&[u64]) -> u128,
) {
    let circuit = circuit(widths, f);
    for (row, result) in rows.iter().zip(run(&circuit, rows)) {
        assert_eq!(result, expected(row), "widths {widths:?}, inputs {row:x?}");
    }
}

/// All values of the widths, first fastest.
fn everything(widths: &[u32]) -> Vec<Vec<u64>> {
    let total: u32 = widths.iter().sum();
    (0..1u64 << total)
        .map(|mut all| {
            let take = |&w: &u32| {
                let value = all & ((1 << w) - 1);
                all >>= w;
                value
            };
            widths.iter().map(take).collect()
        })
        .collect()
}

fn mask(n: u32) -> u128 {
    (1 << n) - 1
}

fn signed(x: u64, n: u32) -> i128 {
    let x = i128::from(x);
    if n > 0 && x >> (n - 1) & 1 == 1 {
        x - (1 << n)
    } else {
        x
    }
}

/// Every operation on two operands of `n` bits and one more bit, on the given inputs.
fn check_all(n: u32, rows: &[Vec<u64>]) {
    let w = [n, n, 1];
    let wide = |r: &[u64]| (u128::from(r[0]), u128::from(r[1]), u128::from(r[2]));
    let with_flag = |(mut bits, flag): (Vec<Bit>, Bit)| {
        bits.push(flag);
        bits
    };
    for goal in GOALS {
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
            |r| wide(r).0.wrapping_mul(wide(r).1) & mask(n),
        );
        check(
            &w,
            rows,
            |b, i| library::multiply_full(b, &i[0], &i[1], goal),
            |r| wide(r).0 * wide(r).1,
        );
    }
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
            if r[2] == 1 { r[0].into() } else { r[1].into() }
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
                |r| u128::from(r[0] * r[1]),
            );
        }
    }
}

#[test]
fn equality_and_order_at_every_single_difference() {
    for n in [17, 32, 63] {
        let mut rows = Vec::new();
        for bit in 0..n {
            let (x, y) = (0x1234_5678_9abc_def0 & mask(n) as u64, 1 << bit);
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
                    let (sum, product) = ((r[0] + value) % 32, r[0] * value % 32);
                    u128::from(sum | product << 5 | u64::from(r[0] < value) << 10)
                },
            );
        }
    }
}

#[test]
fn wide_sums_use_the_balanced_tree() {
    // 70 bits are more than the search takes; the two halves of an operand enter as inputs of 35.
    let widths = [35, 35, 35, 35];
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 29
    };
    let rows: Vec<Vec<u64>> = (0..200).map(|_| (0..4).map(|_| next()).collect()).collect();
    let join = |low: u64, high: u64| u128::from(low) | u128::from(high) << 35;
    for goal in GOALS {
        check(
            &widths,
            &rows,
            |b, i| {
                let (x, y) = ([&i[0][..], &i[1]].concat(), [&i[2][..], &i[3]].concat());
                let (mut sum, carry) = library::add_with_carry(b, &x, &y, Bit::FALSE, goal);
                sum.push(carry);
                sum.push(library::less_than(b, &x, &y, goal));
                sum
            },
            |r| {
                let (x, y) = (join(r[0], r[1]), join(r[2], r[3]));
                (x + y) | u128::from(x < y) << 71
            },
        );
    }
}

#[test]
fn exposure_agrees_with_the_plain_sum() {
    for goal in GOALS {
        for (parties, width) in [(1, 4), (2, 3), (3, 3), (4, 2), (5, 2)] {
            let rows = everything(&vec![width; parties]);
            let most = parties as u64 * ((1 << width) - 1);
            for limit in (0..most + 3).chain([u64::MAX]) {
                let circuit = library::exposure_over_limit(parties, width, limit, goal);
                for (row, over) in rows.iter().zip(run(&circuit, &rows)) {
                    assert_eq!(
                        over,
                        u128::from(row.iter().sum::<u64>() > limit),
                        "{row:?} over {limit}"
                    );
                }
            }
        }
        let circuit = library::exposure_over_limit(3, 64, u64::MAX, goal);
        let rows = [
            vec![u64::MAX, 0, 0],
            vec![u64::MAX, 0, 1],
            vec![u64::MAX, u64::MAX, u64::MAX],
        ];
        assert_eq!(run(&circuit, &rows), [0, 1, 1]);
        assert_eq!(circuit.inputs()[2].name, "bank2");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn random_widths_and_inputs(n in 6u32..=64, seeds in prop::collection::vec(any::<(u64, u64, bool)>(), 100)) {
        let cut = |x: u64| x & mask(n) as u64;
        let rows: Vec<Vec<u64>> = seeds.iter().map(|&(x, y, c)| vec![cut(x), cut(y), c.into()]).collect();
        check_all(n, &rows);
    }
}
