//! Tables, permutation networks and compaction against plain Rust.

use crate::words::{check, circuit, everything, mask, run, samples};
use cenote_circuit::library;
use cenote_circuit::{Bit, Builder};
use proptest::prelude::*;

fn bits(value: u128, width: usize) -> Vec<bool> {
    (0..width).map(|i| value >> i & 1 == 1).collect()
}

/// A table that has no structure, from a seed.
fn noise(entries: usize, width: usize, seed: u64) -> Vec<u128> {
    samples(&[128], entries + 1, seed)
        .windows(2)
        .map(|pair| {
            let mixed = pair[0][0]
                .wrapping_mul(pair[1][0] | 1)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            (mixed >> 64) & mask(width)
        })
        .collect()
}

/// Reads public and secret tables at all indices; the ANDs of the public one.
fn check_table(index: usize, width: usize, entries: &[u128]) -> usize {
    let expected = |r: &[u128]| vec![entries.get(r[0] as usize).copied().unwrap_or(0)];
    let rows = everything(&[index]);
    let table: Vec<Vec<bool>> = entries.iter().map(|&entry| bits(entry, width)).collect();
    let ands = check(
        &[index],
        &rows,
        |b, i| vec![library::lookup(b, &i[0], &table)],
        expected,
    );

    let widths = [vec![index], vec![width; entries.len()]].concat();
    let rows: Vec<Vec<u128>> = rows
        .into_iter()
        .map(|row| [row, entries.to_vec()].concat())
        .collect();
    let secret = check(
        &widths,
        &rows,
        |b, i| vec![library::lookup_secret(b, &i[0], &i[1..])],
        expected,
    );
    if entries.len() == 1 << index {
        assert_eq!(secret, (entries.len() - 1) * width);
    }
    ands
}

#[test]
fn tables_are_read_at_every_index() {
    for entries in 1..=20 {
        for index in 0..=6 {
            for width in [0, 1, 5] {
                check_table(index, width, &noise(entries, width, 11));
            }
        }
    }
    assert!(library::lookup(&mut Builder::new(), &[Bit::TRUE], &[]).is_empty());
    assert!(library::lookup_secret(&mut Builder::new(), &[Bit::TRUE], &[]).is_empty());
}

/// For each cut `k = i + j` at most `2^i - i - 1 + 2^j - j - 1 + w · (2^min(i, j) - 1)`.
#[test]
fn public_tables_cost_what_they_say() {
    for (k, width, most) in [
        (4, 1, 5),
        (4, 4, 8),
        (8, 1, 37),
        (8, 8, 82),
        (8, 32, 152),
        (8, 256, 247),
        (10, 16, 236),
    ] {
        let cheapest = (0..=k)
            .map(|i: usize| {
                let (one, other) = (1usize << i, 1usize << (k - i));
                one + other - k - 2 + width * (one.min(other) - 1)
            })
            .min();
        assert_eq!(cheapest, Some(most), "{k} {width}");
        let ands = if width <= 128 {
            check_table(k, width, &noise(1 << k, width, 1))
        } else {
            let table: Vec<Vec<bool>> = (0..1usize << k)
                .map(|entry| (0..width).map(|i| i == entry).collect())
                .collect();
            circuit(&[k], |b, i| vec![library::lookup(b, &i[0], &table)])
                .statistics()
                .ands
        };
        assert!(ands <= most, "{k} {width}: {ands}");
    }
    // Linear tables take none, and one that is a product takes one.
    assert_eq!(
        check_table(6, 6, &(0..64).map(|x| x ^ x >> 1).collect::<Vec<_>>()),
        0
    );
    let inner = |x: u128| x & x >> 3 & 7;
    let parity = (0..64).map(|x| u128::from(inner(x).count_ones() % 2));
    assert_eq!(check_table(6, 1, &parity.collect::<Vec<_>>()), 3);
    let statistics = circuit(&[8], |b, i| {
        let table: Vec<Vec<bool>> = noise(256, 8, 2).iter().map(|&entry| bits(entry, 8)).collect();
        vec![library::lookup(b, &i[0], &table)]
    })
    .statistics();
    assert!(statistics.and_depth <= 4);
}

#[test]
#[should_panic(expected = "the entries have different widths")]
fn tables_of_different_widths_are_refused() {
    library::lookup(&mut Builder::new(), &[Bit::TRUE], &[vec![true], vec![]]);
}

/// Item `i` of the result must be item `order[i]`.
fn check_permutation(order: &[usize]) {
    let controls = library::route_permutation(order).unwrap();
    assert_eq!(controls.len(), library::permutation_controls(order.len()));
    let mut b = Builder::new();
    let items: Vec<Vec<Bit>> = (0..order.len())
        .map(|i| library::constant(i as u64, 12))
        .collect();
    let controls: Vec<Bit> = controls.into_iter().map(Bit::constant).collect();
    let found = library::permute(&mut b, &items, &controls);
    let (exchanges, lines) = library::permutation_network(order.len());
    let mut plain: Vec<usize> = (0..order.len()).collect();
    for (&(x, y), control) in exchanges.iter().zip(&controls) {
        if control.as_constant().unwrap() {
            plain.swap(x, y);
        }
    }
    let plain: Vec<usize> = lines.iter().map(|&line| plain[line]).collect();
    assert_eq!(plain, order);
    let expected: Vec<Vec<Bit>> = order.iter().map(|&i| items[i].clone()).collect();
    assert_eq!(found, expected, "{order:?}");
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let insert = |order: &Vec<usize>, place: usize| {
        let mut order = order.clone();
        order.insert(place, n - 1);
        order
    };
    shorter
        .iter()
        .flat_map(|order| (0..n).map(move |place| insert(order, place)))
        .collect()
}

#[test]
fn every_permutation_of_few_is_routed() {
    for n in 0..=7 {
        permutations(n).iter().for_each(|order| check_permutation(order));
    }
}

#[test]
fn what_is_no_permutation_is_not_routed() {
    for order in [&[1][..], &[0, 0], &[0, 2], &[2, 1, 1], &[usize::MAX, 0]] {
        assert_eq!(library::route_permutation(order), None, "{order:?}");
    }
}

#[test]
fn permutation_networks_cost_what_they_say() {
    for n in 0..200usize {
        let logs = (1..=n)
            .map(|i| i.next_power_of_two().ilog2() as usize)
            .sum::<usize>();
        assert_eq!(library::permutation_controls(n), logs);
    }
    for p in 1..=8usize {
        let n = 1 << p;
        assert_eq!(library::permutation_controls(n), n * p - n + 1);
        let statistics = library::permutation(n, 3).statistics();
        assert_eq!(statistics.ands, 3 * (n * p - n + 1));
        assert_eq!(statistics.and_depth, 2 * p - 1);
    }
}

/// Compacts the numbers from 1 on.
fn check_compaction(n: usize, masks: &[u128]) {
    let circuit = library::compaction(n, 8);
    let rows: Vec<Vec<u128>> = masks
        .iter()
        .map(|&valid| (1..=n as u128).chain([valid]).collect())
        .collect();
    for (row, mut found) in rows.iter().zip(run(&circuit, &rows)) {
        let valid = row[n];
        let expected: Vec<u128> = (0..n)
            .filter(|i| valid >> i & 1 == 1)
            .map(|i| i as u128 + 1)
            .collect();
        assert_eq!(found.pop(), Some(expected.len() as u128));
        assert_eq!(found[..expected.len()], expected, "{n} items, {valid:b}");
        found.sort_unstable();
        assert_eq!(found, (1..=n as u128).collect::<Vec<_>>(), "nothing is lost");
    }
}

#[test]
fn valid_items_come_first_in_their_order() {
    for n in 1..=11 {
        check_compaction(n, &(0..1 << n).collect::<Vec<_>>());
    }
    assert!(library::compact(&mut Builder::new(), &[], &[]).is_empty());
}

#[test]
fn expansion_undoes_compaction() {
    for n in 0..=9 {
        let rows: Vec<Vec<u128>> = (0..1u128 << n)
            .map(|valid| (1..=n as u128).chain([valid]).collect())
            .collect();
        check(
            &[vec![8; n], vec![n]].concat(),
            &rows,
            |b, i| {
                let (valid, items) = i.split_last().unwrap();
                let compacted = library::compact(b, items, valid);
                let back = library::expand(b, &compacted, valid);
                [back, library::expand(b, items, valid)].concat()
            },
            |r| {
                let valid = |place: &usize| r[n] >> place & 1 == 1;
                let (taken, left): (Vec<usize>, Vec<usize>) = (0..n).partition(valid);
                let items = &r[..n];
                let mut expanded = vec![0; n];
                for (item, &place) in items.iter().zip(&taken) {
                    expanded[place] = *item;
                }
                // What comes to the other places is not said: it is what the network makes of it.
                let network = plain_expansion(items, r[n]);
                for place in left {
                    expanded[place] = network[place];
                }
                [items, &expanded].concat()
            },
        );
    }
}

/// The items exchanged as the network and its control bits say, from last to first.
fn plain_expansion(items: &[u128], valid: u128) -> Vec<u128> {
    let mut b = Builder::new();
    let valid: Vec<Bit> = (0..items.len())
        .map(|i| Bit::constant(valid >> i & 1 == 1))
        .collect();
    let controls = library::compaction_controls(&mut b, &valid);
    let network = library::compaction_network(items.len());
    assert_eq!(controls.len(), network.len());
    let mut items = items.to_vec();
    for (&(x, y), control) in network.iter().zip(&controls).rev() {
        if control.as_constant().unwrap() {
            items.swap(x, y);
        }
    }
    items
}

#[test]
fn compaction_costs_what_it_says() {
    for k in 1..=8usize {
        let n = 1 << k;
        let [narrow, wide] = [4, 5].map(|width| {
            let circuit = circuit(&[vec![width; n], vec![n]].concat(), |b, i| {
                let (valid, items) = i.split_last().unwrap();
                library::compact(b, items, valid)
            });
            circuit.statistics()
        });
        assert_eq!(wide.ands - narrow.ands, n * k / 2);
        assert!(wide.ands < n * k / 2 * 6 + 2 * n, "{n}");
        assert_eq!(wide.and_depth, k);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn random_permutations_are_routed(n in 1usize..=1000, seed: u64) {
        let mut order: Vec<usize> = (0..n).collect();
        for (i, random) in samples(&[64], n, seed).iter().enumerate() {
            order.swap(i, ((random[0] >> 7) % (i as u128 + 1)) as usize);
        }
        check_permutation(&order);
    }

    #[test]
    fn random_lists_are_compacted(n in 12usize..=100, seed: u64) {
        let masks: Vec<u128> = samples(&[n], 64, seed).concat();
        check_compaction(n, &masks);
    }
}
