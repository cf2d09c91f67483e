//! Tables, against plain Rust.

use crate::common::{alone, alone_with, everywhere};
use cenote_net::PartyId;
use cenote_params::three::Variant;
use cenote_primitives::BitMatrix;
use cenote_program::{Found, Secret, Session, Word, local, table};
use cenote_protocol::Protocol;
use cenote_session::{ClearEngine, Demand, Parties};
use cenote_three::Three;
use proptest::prelude::*;

fn row<T: Word>(session: &Session, values: &[T]) -> Secret<T> {
    let owner = PartyId(0);
    session.input(owner, values.len(), (session.me() == owner).then_some(values))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn rows_are_sorted(mut values in prop::collection::vec(any::<u16>(), 1..150), signed: bool, shuffles: bool) {
        let sorted = alone_with(shuffles, |session| {
            if signed {
                let values: Vec<i16> = values.iter().map(|&value| value as i16).collect();
                let sorted = session.open(&row(session, &values).sort())?;
                Ok(sorted.into_iter().map(|value| value as u16).collect())
            } else {
                session.open(&row(session, &values).sort())
            }
        });
        values.sort_unstable_by_key(|&value| if signed { value ^ 0x8000 } else { value });
        prop_assert_eq!(sorted, values);
    }

    #[test]
    fn rows_are_merged(mut x in prop::collection::vec(any::<u8>(), 1..60), mut y in prop::collection::vec(any::<u8>(), 1..60)) {
        x.sort_unstable();
        y.sort_unstable();
        let merged = alone(|session| session.open(&row(session, &x).merge(&row(session, &y))));
        x.extend(y);
        x.sort_unstable();
        prop_assert_eq!(merged, x);
    }

    #[test]
    fn chosen_records_come_first(records in prop::collection::vec((any::<u32>(), any::<bool>()), 1..140), shuffles: bool) {
        let (values, chosen): (Vec<u32>, Vec<bool>) = records.iter().copied().unzip();
        let (compacted, count) = alone_with(shuffles, |session| {
            let (values, chosen) = (row(session, &values), row(session, &chosen));
            let ((values, flags), count) = table::compact(&chosen, &(values, chosen.clone()));
            session.open(&((values, flags), count))
        });
        let right: Vec<u32> = records.iter().filter(|record| record.1).map(|record| record.0).collect();
        prop_assert_eq!(count[0] as usize, right.len());
        prop_assert_eq!(&compacted.0[..right.len()], &right[..]);
        prop_assert!(compacted.1[..right.len()].iter().all(|&flag| flag));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn the_least_records_are_found(records in prop::collection::vec((any::<i8>(), any::<u16>()), 1..90), count in 1usize..20, shuffles: bool) {
        let (keys, names): (Vec<i8>, Vec<u16>) = records.iter().copied().unzip();
        let (least, found) = alone_with(shuffles, |session| session.open(&table::top_k(&row(session, &keys), &row(session, &names), count)));
        let mut right = keys.clone();
        right.sort_unstable();
        right.truncate(count);
        prop_assert_eq!(&least, &right);
        prop_assert!(least.iter().zip(&found).all(|(&key, &name)| records.contains(&(key, name))));
    }

    #[test]
    fn tables_are_joined(
        left in prop::collection::btree_map(0u8..60, any::<u32>(), 1..40),
        mut right in prop::collection::vec(0u8..60, 1..50),
        sorted: bool,
    ) {
        if sorted {
            right.sort_unstable();
        }
        let (keys, payload): (Vec<u8>, Vec<u32>) = left.iter().map(|(&key, &value)| (key, value)).unzip();
        let joined = alone(|session| {
            let joined = table::join(&row(session, &keys), &row(session, &payload), &row(session, &right));
            session.open(&(joined.matched, joined.left, joined.in_order))
        });
        prop_assert_eq!(joined.2, vec![right.is_sorted()]);
        if right.is_sorted() {
            for (at, key) in right.iter().enumerate() {
                prop_assert_eq!(joined.0[at].then_some(&joined.1[at]), left.get(key), "{}", key);
            }
        }
        // A key of the left table that comes twice is noticed.
        let mut twice = keys.clone();
        twice.push(keys[keys.len() - 1]);
        let payload = vec![7u8; twice.len()];
        let noticed = alone(|session| {
            let joined = table::join(&row(session, &twice), &row(session, &payload), &row(session, &[3]));
            session.open(&joined.in_order)
        });
        prop_assert_eq!(noticed, vec![false]);
    }

    #[test]
    fn groups_are_put_together(mut records in prop::collection::vec((0u8..9, any::<u16>()), 1..70)) {
        records.sort_unstable_by_key(|record| record.0);
        let (keys, values): (Vec<u8>, Vec<u16>) = records.iter().copied().unzip();
        let (last, (sums, most, counts)) = alone(|session| {
            let (key, value) = (row(session, &keys), row(session, &values));
            let one = session.public(1u8).repeat(keys.len());
            let (last, groups) = table::group(&key, &(value.cast::<u32>(), value, one), |((a, b, c), (x, y, z))| {
                (a + x, b.max(&y), c + z)
            })?;
            session.open(&(last, groups))
        });
        for at in 0..keys.len() {
            let is_last = keys.get(at + 1) != Some(&keys[at]);
            prop_assert_eq!(last[at], is_last);
            if is_last {
                let group: Vec<u16> = records.iter().filter(|record| record.0 == keys[at]).map(|record| record.1).collect();
                let sum: u32 = group.iter().map(|&value| u32::from(value)).sum();
                prop_assert_eq!((sums[at], Some(&most[at]), usize::from(counts[at])), (sum, group.iter().max(), group.len()));
            }
        }
    }
}

#[test]
fn records_stay_together() {
    let keys: Vec<u16> = (0..40).map(|x| (x * 37 % 41) as u16).collect();
    let (sorted, (names, flags)) = everywhere(|session| {
        let key = row(session, &keys);
        let name = key.cast::<u32>() * 1000;
        let flag = key.bit(0);
        session.open(&table::sort_by(&key, &(name, flag)))
    });
    let mut right = keys.clone();
    right.sort_unstable();
    assert_eq!(sorted, right);
    for (at, &key) in right.iter().enumerate() {
        assert_eq!((names[at], flags[at]), (u32::from(key) * 1000, key & 1 == 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]

    #[test]
    fn shuffled_records_are_sorted_and_keep_their_order(keys in prop::collection::vec(-3i8..4, 1..80)) {
        let places: Vec<u32> = (0..keys.len() as u32).collect();
        let (sorted, names) = alone(|session| {
            let (key, name) = (row(session, &keys), row(session, &places));
            session.open(&table::shuffle_and_sort_by(&key, &name)?)
        });
        let mut right: Vec<(i8, u32)> = keys.iter().copied().zip(places).collect();
        right.sort_by_key(|record| record.0);
        prop_assert_eq!(sorted.into_iter().zip(names).collect::<Vec<_>>(), right);
    }
}

/// Two parties shuffle with randomness of their own, so what comes out differs from run to run; what everybody learns of a sort is as many
/// bits as there were comparisons.
#[test]
fn every_engine_shuffles_and_sorts() {
    let values: Vec<u16> = (0..50).map(|x| x * x % 23).collect();
    let sorted = everywhere(|session| {
        let mut shuffled = session.open(&table::shuffle(&row(session, &values)))?;
        let moved = shuffled != values;
        shuffled.sort_unstable();
        Ok((
            moved,
            shuffled,
            session.open(&row(session, &values).shuffle_and_sort()?)?,
        ))
    });
    let mut right = values.clone();
    right.sort_unstable();
    assert_eq!(sorted, (true, right.clone(), right));
}

/// An order by a key moves other columns alike, and back.
#[test]
fn orders_move_any_columns_in_every_engine() {
    let keys: Vec<i16> = (0..90).map(|x| x * 37 % 50 - 25).collect();
    let names: Vec<u32> = (0..90).collect();
    let moved = everywhere(|session| {
        let (key, name) = (row(session, &keys), row(session, &names));
        let order = table::Order::by(&key)?;
        let sorted = order.apply(&(key.clone(), name.clone()));
        let random = table::Order::random(&name);
        let back = (order.undo(&sorted.1), random.undo(&random.apply(&key)));
        assert!(!session.has_learnt());
        session.open(&(sorted.0, sorted.1, back.0, back.1))
    });
    let mut right: Vec<(i16, u32)> = keys.iter().copied().zip(names.iter().copied()).collect();
    right.sort_by_key(|record| record.0);
    let (right_keys, right_names) = right.into_iter().unzip();
    assert_eq!(moved, (right_keys, right_names, names.clone(), keys.clone()));
}

/// Every order comes up about as often as any other.
#[test]
fn shuffles_are_uniform() {
    let mut counts = std::collections::BTreeMap::new();
    const RUNS: usize = 12_000;
    let orders = alone(|session| {
        let shuffled = |_| session.open(&table::shuffle(&row(session, &[0u8, 1, 2])));
        (0..RUNS)
            .map(shuffled)
            .collect::<cenote_program::Result<Vec<_>>>()
    });
    for order in orders {
        *counts.entry(order).or_insert(0) += 1;
    }
    let expected = RUNS as f64 / 6.0;
    let chi: f64 = counts
        .values()
        .map(|&count: &i32| (f64::from(count) - expected).powi(2) / expected)
        .sum();
    // Five degrees of freedom: above 56 by chance once in 10^10.
    assert!(counts.len() == 6 && chi < 56.0, "{counts:?}");
}

/// An owner whose keys are not sorted though it says so is found out whatever the other's keys are: else whether there is an answer would tell of them.
#[test]
fn keys_that_are_not_sorted_are_told_whatever_the_others_are() {
    let found = |left: &[u128], right: &[u128]| {
        let [left, right] = [left, right].map(<[u128]>::to_vec);
        alone_with(true, move |session| {
            let of = |keys: &[u128]| {
                let bits = BitMatrix::from_fn(33, keys.len(), |bit, lane| keys[lane] >> bit & 1 == 1);
                session
                    .input_bits(PartyId(0), &[33], keys.len(), Some(&bits))
                    .remove(0)
            };
            let (left, right) = (of(&left), of(&right));
            let payload = session.public_bits(64, 7).filling(left.lanes());
            let (Found { found, .. }, wrong) = right
                .matched(40, (&left, &payload), [true; 2], false)
                .expect("it is by an order");
            let opened = session
                .reveal_bits(&[found], Parties::all(1))?
                .expect("this party learns it");
            let wrong = session
                .reveal_bits(&[wrong], Parties::all(1))?
                .expect("this party learns it");
            let found = (0..right.lanes()).filter(|&lane| opened.get(0, lane)).count();
            Ok((found, wrong.get(0, 0)))
        })
    };
    let rising = |from: u128, count: u128| (from..from + count).collect::<Vec<_>>();
    assert_eq!(found(&rising(0, 64), &rising(32, 64)), (32, false));
    for below in 0..64 {
        // Two keys in the wrong order, between those of the other that are less and greater.
        let mut left = rising(5000, 64);
        (left[0], left[1]) = (1001, 1000);
        let right = [rising(100, below), rising(2000, 64 - below)].concat();
        assert!(found(&left, &right).1, "{below}");
        assert!(found(&right, &left).1, "{below}");
    }
}

/// How much is compared in a sort depends on the order in which the records were shuffled, and on their keys not at all: what is seen of sorts of equal,
/// ascending and scattered keys is distributed alike. Were it not, Kolmogorov and Smirnov's test of 200 against 200 would tell: if it is, samples differ by as
/// much as that once in 10,000 times.
#[test]
fn what_sorts_take_does_not_depend_on_keys() {
    let taken = |keys: &[u32], seeds: std::ops::Range<u64>| {
        let ands = seeds.map(|seed| {
            let session = Session::new(ClearEngine::new(PartyId(0), Vec::new()).shuffling(seed));
            table::Order::by(&row(&session, keys)).unwrap();
            session.costs().and_gates
        });
        let mut ands: Vec<u64> = ands.collect();
        ands.sort_unstable();
        ands
    };
    let keys = |key: fn(u32) -> u32| (0..60).map(key).collect::<Vec<u32>>();
    let equal = taken(&keys(|_| 7), 0..200);
    let others = [
        taken(&keys(|at| at), 200..400),
        taken(&keys(|at| 27 * at % 61), 400..600),
    ];
    assert!(equal.first() < equal.last());
    for other in others {
        let up_to = |all: &[u64], most: u64| all.partition_point(|&ands| ands <= most) as f64 / 200.0;
        let apart = equal
            .iter()
            .chain(&other)
            .map(|&most| (up_to(&equal, most) - up_to(&other, most)).abs());
        let apart = apart.fold(0.0, f64::max);
        assert!(apart < 0.2225, "{apart}");
    }
}

/// Sorting 4096 numbers of 32 bits, and compacting as many.
#[test]
fn counts_are_as_stated() {
    let (sort, compact) = alone(|session| {
        let values: Vec<u32> = (0..4096u32).map(|x| x.wrapping_mul(2_654_435_761)).collect();
        let x = row(session, &values);
        let before = session.costs().and_gates;
        let sorted = session.open(&x.sort())?;
        assert!(sorted.is_sorted());
        let sort = session.costs().and_gates - before;
        let sorted = session.open(&x.shuffle_and_sort()?)?;
        assert!(sorted.is_sorted());
        // By one party only, which shuffles once: two shuffles where there are two or more.
        let shuffles = session.costs().and_gates - before - sort;
        assert!(shuffles < 8_000_000 - 45_057 * 44, "{shuffles}");
        println!(
            "sort by a shuffle {shuffles}, and by another {}",
            shuffles + 45_057 * 44
        );
        let before = session.costs().and_gates - sort;
        let chosen = x.lt(1 << 30);
        let (chosen, count) = session.open(&table::compact(&chosen, &x))?;
        assert!(chosen[..count[0] as usize].iter().all(|&x| x < 1 << 30));
        Ok((sort, session.costs().and_gates - before - sort))
    });
    println!("sort {sort}, compact {compact}");
    assert!(sort < 9_000_000 && compact < 1_100_000, "{sort} {compact}");
}

/// What a check by 64 bits does not reach, and what checks a whole batch at a time, sorts by networks: with as many ANDs as in the clear.
#[test]
fn more_security_and_large_batches_go_without_orders() {
    let program = |session: &Session| {
        let values: Vec<u32> = (0..1u32 << 14).map(|x| x.wrapping_mul(2_654_435_761)).collect();
        let sorted = session.open(&row(session, &values).sort())?;
        assert!(sorted.is_sorted());
        Ok(session.costs().and_gates)
    };
    let ands = |three: Three| local::in_memory(&three, &Demand::new(), program).unwrap()[0];
    let by_networks = alone(program);
    let by_an_order = ands(Three::default());
    assert!(by_an_order < by_networks / 2, "{by_an_order} {by_networks}");
    let more = Three {
        security: 51,
        ..Three::default()
    };
    assert!(ands(more) >= by_networks);
    assert!(!more.shuffles() && !more.digests());
    let at_most = Three {
        security: 50,
        ..Three::default()
    };
    assert!(at_most.shuffles() && at_most.digests());
    let in_batches = Three {
        variant: Some(Variant::Reshuffle.into()),
        ..Three::default()
    };
    assert!(!in_batches.shuffles() && in_batches.digests());
}

/// The join of two tables of 2^14 records each with keys of 64 bits and payloads of 32, order verified, compacted.
#[test]
fn a_join_costs_what_is_stated() {
    const COUNT: usize = 1 << 14;
    let (matched, ands) = alone(|session| {
        let left: Vec<u64> = (0..COUNT as u64).map(|x| 3 * x).collect();
        let right: Vec<u64> = (0..COUNT as u64).map(|x| 2 * x).collect();
        let payload: Vec<u32> = (0..COUNT as u32).collect();
        let (left, right) = (row(session, &left), row(session, &right));
        let (a, b) = (row(session, &payload), row(session, &payload));
        let joined = table::join(&left, &a, &right);
        let table = (right.clone(), b, joined.left.clone());
        let ((keys, b, a), count) = table::compact(&joined.matched, &table);
        let ((keys, b, a), count, in_order) = session.open(&((keys, b, a), count, joined.in_order))?;
        assert_eq!(in_order, [true]);
        let count = count[0] as usize;
        for at in 0..count {
            assert_eq!(
                (keys[at], b[at], a[at]),
                (6 * at as u64, 3 * at as u32, 2 * at as u32)
            );
        }
        Ok((count, session.costs().and_gates))
    });
    println!("join: {ands} ANDs");
    assert_eq!(matched, COUNT.div_ceil(3));
    assert!(ands <= 80_000_000, "{ands}");
}

/// `cargo test --release -p cenote-program --test all -- --ignored --nocapture measure_sorts`
#[test]
#[ignore = "it measures"]
fn measure_sorts() {
    for log2 in [12, 14, 16, 20] {
        let keys: Vec<u64> = (0..1u64 << log2)
            .map(|x| x.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        let program = |session: &Session| {
            let (key, payload) = (row(session, &keys), row(session, &keys));
            let mut done = Vec::new();
            // Of so many by a network it takes minutes.
            for by_network in [log2 <= 16, false] {
                let (start, before) = (std::time::Instant::now(), session.costs());
                let sorted = match by_network {
                    true => table::sort_by(&key, &payload),
                    false => table::shuffle_and_sort_by(&key, &payload)?,
                };
                session.open(&sorted.1.at(0))?;
                let after = session.costs();
                let (ands, rounds) = (after.and_gates - before.and_gates, after.rounds - before.rounds);
                done.push(format!("{ands} ANDs, {rounds} rounds, {:?}", start.elapsed()));
            }
            Ok(done)
        };
        let demand = Demand::new().and_gates(2_000_000_000);
        let done = local::in_memory(&Three::default(), &demand, program).unwrap();
        println!(
            "2^{log2} keys of 64 bits with as much: network {}; order {}",
            done[0][0], done[0][1]
        );
    }
}
