//! Sorting circuits against the standard library's sort.

use cenote_circuit::library::{self, Goal, Key};
use cenote_circuit::{Bit, BitOrder, Builder, Circuit, Plan};
use cenote_primitives::BitMatrix;
use proptest::prelude::*;

const GOALS: [Goal; 2] = [Goal::FewestAnds, Goal::LeastDepth];

/// The circuit of `f`, which turns `count` records of `width` bits into others.
fn circuit(
    count: usize,
    width: usize,
    f: impl FnOnce(&mut Builder, Vec<Vec<Bit>>) -> Vec<Vec<Bit>>,
) -> Circuit {
    let mut b = Builder::new();
    let records = (0..count)
        .map(|_| b.input("x", width as u32, BitOrder::Lsb))
        .collect();
    for record in f(&mut b, records) {
        b.output("y", &record, BitOrder::Lsb);
    }
    b.finish()
}

fn sorting(count: usize, width: usize, key: Key, goal: Goal) -> Circuit {
    circuit(count, width, |b, mut records| {
        library::sort(b, &mut records, key, goal);
        records
    })
}

/// What a circuit makes of each list of records.
fn run(circuit: &Circuit, width: usize, lists: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let inputs = BitMatrix::from_fn(circuit.input_wires() as usize, lists.len(), |wire, lane| {
        lists[lane][wire / width] >> (wire % width) & 1 == 1
    });
    let outputs = Plan::new(circuit).evaluate(&inputs).unwrap();
    let record = |lane, i| (0..width).fold(0, |r, j| r | u64::from(outputs.get(i * width + j, lane)) << j);
    (0..lists.len())
        .map(|lane| (0..outputs.rows() / width).map(|i| record(lane, i)).collect())
        .collect()
}

/// The key of a record as a number that is ordered like it.
fn key_of(record: u64, key: Key) -> i128 {
    let bits = i128::from(record) & ((1 << key.width) - 1);
    let negative = key.signed && key.width > 0 && bits >> (key.width - 1) & 1 == 1;
    if negative { bits - (1 << key.width) } else { bits }
}

/// Sorted by key; records with equal keys in some order.
fn check_sorted(before: &[u64], after: &[u64], key: Key) {
    let keys = |records: &[u64]| records.iter().map(|&r| key_of(r, key)).collect::<Vec<_>>();
    let mut expected = keys(before);
    expected.sort_unstable();
    assert_eq!(keys(after), expected, "{before:x?} {key:?}");
    let all = |records: &[u64]| {
        let mut records = records.to_vec();
        records.sort_unstable();
        records
    };
    assert_eq!(all(before), all(after), "{key:?}: payloads stay with their keys");
}

fn everything(count: usize, width: usize) -> Vec<Vec<u64>> {
    (0..1u64 << (count * width))
        .map(|all| {
            (0..count)
                .map(|i| all >> (i * width) & ((1 << width) - 1))
                .collect()
        })
        .collect()
}

#[test]
fn exchanges_are_right_on_every_pair() {
    for goal in GOALS {
        for width in 1..=4 {
            for key_width in 0..=width {
                for key in [Key::unsigned(key_width), Key::signed(key_width)] {
                    let circuit = circuit(2, width, |b, records| {
                        let (x, y) = library::min_max(b, &records[0], &records[1], key, goal);
                        vec![x, y]
                    });
                    let pairs = everything(2, width);
                    for (pair, found) in pairs.iter().zip(run(&circuit, width, &pairs)) {
                        // Records with equal keys stay where they are, which a stable sort of two does.
                        let mut expected = pair.clone();
                        expected.sort_by_key(|&record| key_of(record, key));
                        assert_eq!(found, expected, "{pair:x?} {key:?} {goal:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn short_lists_are_sorted_whatever_is_in_them() {
    for goal in GOALS {
        for (count, width) in [(0, 1), (1, 3), (2, 5), (3, 4), (4, 3), (5, 3), (7, 2), (9, 1)] {
            for key in [Key::unsigned(width), Key::signed(width), Key::unsigned(width - 1)] {
                let lists = everything(count, width);
                let circuit = sorting(count, width, key, goal);
                for (list, found) in lists.iter().zip(run(&circuit, width, &lists)) {
                    check_sorted(list, &found, key);
                }
            }
        }
    }
}

#[test]
fn the_named_circuits_sort() {
    let circuit = library::by_name("sort5x8").unwrap();
    assert_eq!(circuit.inputs()[4].name, "x4");
    assert_eq!(circuit.outputs()[4].name, "sorted4");
    let list = vec![200, 7, 255, 7, 0];
    assert_eq!(
        run(&circuit, 8, std::slice::from_ref(&list)),
        [[0, 7, 7, 200, 255]]
    );
    let circuit = library::by_name("ssort5x8-depth").unwrap();
    assert_eq!(run(&circuit, 8, &[list]), [[200, 255, 0, 7, 7]]);
}

/// `w + r` ANDs for each exchange of `r` bits by keys of `w` bits, of which `w` and 1 are one after another.
#[test]
fn costs_are_as_documented() {
    for (count, exchanges, levels) in [(2, 1, 1), (8, 19, 6), (16, 60, 10), (20, 97, 15), (64, 531, 21)] {
        for (width, key) in [(8, Key::unsigned(8)), (12, Key::signed(8)), (9, Key::signed(2))] {
            let statistics = sorting(count, width, key, Goal::FewestAnds).statistics();
            assert_eq!(
                statistics.ands,
                exchanges * (key.width + width),
                "{count} {key:?}"
            );
            assert!(
                statistics.and_depth <= levels * (key.width + 1),
                "{count} {key:?}"
            );
            // Shallow exchanges have the depth of a comparison and 1.
            let comparison = library::by_name(&format!("lt{}-depth", key.width))
                .unwrap()
                .statistics();
            let statistics = sorting(count, width, key, Goal::LeastDepth).statistics();
            assert_eq!(
                statistics.ands,
                exchanges * (comparison.ands + width),
                "{count} {key:?}"
            );
            assert!(
                statistics.and_depth <= levels * (comparison.and_depth + 1),
                "{count} {key:?}"
            );
        }
    }
    // Minimum and maximum of two bits are their AND and their OR.
    assert_eq!(
        sorting(2, 1, Key::unsigned(1), Goal::FewestAnds)
            .statistics()
            .ands,
        1
    );
}

#[test]
#[should_panic(expected = "the records have different widths")]
fn records_of_different_widths_are_refused() {
    let mut b = Builder::new();
    let (x, y) = (b.input("x", 3, BitOrder::Lsb), b.input("y", 4, BitOrder::Lsb));
    library::sort(&mut b, &mut [x, y], Key::unsigned(2), Goal::FewestAnds);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Keys of few values, which have many duplicates, and of many.
    #[test]
    fn lists_are_sorted(
        count in 0usize..70,
        key_width in 1usize..=12,
        payload in 0usize..=20,
        signed: bool,
        seeds in prop::collection::vec(any::<u64>(), 40),
    ) {
        let key = Key { width: key_width, signed };
        let width = key_width + payload;
        let lists = lists(&seeds, count, width);
        for goal in GOALS {
            let circuit = sorting(count, width, key, goal);
            for (list, found) in lists.iter().zip(run(&circuit, width, &lists)) {
                check_sorted(list, &found, key);
            }
        }
    }

    #[test]
    fn lists_are_merged(
        low in 0usize..30,
        high in 0usize..30,
        width in 1usize..=10,
        signed: bool,
        seeds in prop::collection::vec(any::<u64>(), 40),
    ) {
        let key = Key { width: width.div_ceil(2), signed };
        let mut lists = lists(&seeds, low + high, width);
        for list in &mut lists {
            let (low, high) = list.split_at_mut(low);
            low.sort_by_key(|&record| key_of(record, key));
            high.sort_by_key(|&record| key_of(record, key));
        }
        for goal in GOALS {
            let circuit = circuit(low + high, width, |b, records| {
                let (low, high) = records.split_at(low);
                library::merge(b, low, high, key, goal)
            });
            for (list, found) in lists.iter().zip(run(&circuit, width, &lists)) {
                check_sorted(list, &found, key);
            }
        }
    }
}

fn lists(seeds: &[u64], count: usize, width: usize) -> Vec<Vec<u64>> {
    let list = |&seed: &u64| {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> (64 - width)
        };
        (0..count).map(|_| next()).collect()
    };
    seeds.iter().map(list).collect()
}
