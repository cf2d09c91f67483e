//! The circuits against the model, the bound on the stash, and what is revealed.

use cenote_net::PartyId;
use cenote_params::memory::overflow;
use cenote_session::ClearEngine;

use super::blocks::Store;
use super::bucket::{Bins, Shape};
use super::model::{Model, Slots};
use super::tree::Tree;
use super::wires::sum;
use super::*;
use crate::error::Error;
use crate::value::Value;

fn session() -> Session {
    Session::new(ClearEngine::new(PartyId(0), Vec::new()))
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let mixed = (self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        (mixed ^ mixed >> 29) % limit
    }
}

/// The bits of a value of one lane.
fn opened(value: &Value) -> Vec<bool> {
    let bit = |at: u32| Secret::<bool>::of(wires::part(value, at, 1));
    let session = value.session();
    session.flush();
    (0..value.width())
        .map(|at| session.open(&bit(at)).unwrap()[0])
        .collect()
}

fn to_number(bits: &[bool]) -> u64 {
    bits.iter()
        .rev()
        .fold(0, |number, &bit| number << 1 | u64::from(bit))
}

/// The blocks in the slots of `bits`, with the label completed by the bucket's place; data must be the address, doubled.
fn slots(shape: &Shape, bits: &[bool], level: u32, place: u64) -> Slots {
    let label = shape.height - level;
    let (address, data) = (shape.address as usize, shape.data as usize);
    let slot = |bits: &[bool]| {
        let at = to_number(&bits[1..][..address]);
        bits[0].then(|| {
            assert_eq!(to_number(&bits[1 + address..][..data]), 2 * at);
            (at, to_number(&bits[1 + address + data..]) | place << label)
        })
    };
    bits.chunks(1 + address + data + label as usize)
        .map(slot)
        .collect()
}

/// Reads and writes in the circuits and in the model leave the same block in every slot; losses are told alike.
#[test]
fn the_circuits_do_what_the_model_does() {
    let mut losses = 0;
    for (height, bucket, stash, rounds) in [
        (1, 1, 1, 12),
        (1, 4, 5, 12),
        (2, 2, 3, 20),
        (3, 1, 2, 30),
        (3, 3, 8, 40),
        (4, 2, 4, 60),
    ] {
        let shape = Shape {
            address: height + 1,
            height,
            data: height + 2,
            bucket,
            stash,
            bins: None,
        };
        let session = session();
        let (mut tree, mut model) = (Tree::new(&session, shape), Model::new(shape));
        let mut numbers = Numbers(u64::from(height * 100 + bucket));
        let mut labels = vec![0; 2 << height];
        for round in 0..rounds {
            let at = numbers.below(2 << height);
            let secret = |number: u64, width: u32| session.constant_row(width, &[number.into()]);
            let (found, _) = tree.find(labels[at as usize], &secret(at, height + 1));
            assert_eq!(
                opened(&found),
                [model.find(labels[at as usize], at)],
                "{shape}, {round}"
            );
            labels[at as usize] = numbers.below(1 << height);
            let label = labels[at as usize];
            tree.insert(
                &secret(at, height + 1),
                &secret(label, height),
                &secret(2 * at, height + 2),
            );
            tree.settle();
            let lost = model.insert((at, label));
            assert_eq!(opened(tree.lost().unwrap()), [lost], "{shape}, {round}");
            if lost {
                losses += 1;
                break;
            }
            let (stash, levels) = tree.contents();
            assert_eq!(
                slots(&shape, &opened(&stash), 0, 0),
                model.stash,
                "{shape}, {round}"
            );
            for (level, buckets) in (0..).zip(levels) {
                for (place, bucket) in (0..).zip(buckets) {
                    let right = &model.levels[level as usize][place as usize];
                    assert_eq!(
                        &slots(&shape, &opened(&bucket), level, place),
                        right,
                        "{shape}, {round}, {level}"
                    );
                }
            }
        }
    }
    assert!(losses > 0 && losses < 5, "{losses} trees lost a block");
}

/// How often the stash held how many blocks after an access to random blocks, or to one after the other.
fn stash_sizes(bucket: u32, height: u32, accesses: u64, random: bool) -> Vec<u64> {
    let shape = Shape {
        address: height,
        height,
        data: 1,
        bucket,
        stash: 64,
        bins: None,
    };
    let mut model = Model::new(shape);
    let mut numbers = Numbers(7);
    let mut labels = vec![None; 1 << height];
    let mut sizes = vec![0; 65];
    for turn in 0..accesses {
        let at = if random {
            numbers.below(1 << height)
        } else {
            turn % (1 << height)
        };
        let label = numbers.below(1 << height);
        if let Some(old) = labels[at as usize].replace(label) {
            assert!(model.find(old, at), "blocks are on the path to their leaf");
        }
        assert!(!model.insert((at, label)));
        sizes[model.in_stash()] += 1;
    }
    sizes
}

/// A stash size that is exceeded more often than the bound says, but for what may be chance in so many accesses.
fn beyond_the_bound(sizes: &[u64]) -> Option<usize> {
    let accesses: u64 = sizes.iter().sum();
    (0..sizes.len()).find(|&size| {
        let larger: u64 = sizes[size + 1..].iter().sum();
        let expected = overflow(size as u32).probability().min(1.0) * accesses as f64;
        larger as f64 > expected.max(0.01)
    })
}

#[test]
fn the_stash_keeps_to_its_bound() {
    let bucket = cenote_params::memory::BUCKET;
    assert_eq!(beyond_the_bound(&stash_sizes(bucket, 13, 100_000, true)), None);
    assert_eq!(beyond_the_bound(&stash_sizes(bucket, 8, 50_000, false)), None);
    // It could be otherwise.
    assert!(beyond_the_bound(&stash_sizes(1, 10, 20_000, true)).is_some());
}

#[test]
#[ignore = "ten times as long as all other tests of the stash"]
fn the_stash_keeps_to_its_bound_for_a_million_accesses() {
    let bucket = cenote_params::memory::BUCKET;
    assert_eq!(beyond_the_bound(&stash_sizes(bucket, 13, 1_000_000, true)), None);
    assert_eq!(beyond_the_bound(&stash_sizes(bucket, 8, 100_000, false)), None);
}

/// Pearson's statistic for uniform numbers below `2^bits`, in units of its standard deviation above its mean.
fn unevenness(bits: u32, numbers: &[u64]) -> f64 {
    let cells = 1usize << bits;
    let mut counts = vec![0u64; cells];
    numbers.iter().for_each(|&number| counts[number as usize] += 1);
    let expected = numbers.len() as f64 / cells as f64;
    let statistic: f64 = counts
        .iter()
        .map(|&count| (count as f64 - expected).powi(2) / expected)
        .sum();
    let freedom = (cells - 1) as f64;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

/// Whatever is accessed, each tree reveals leaves that are uniform, and so are pairs of successive ones.
#[test]
fn revealed_leaves_are_uniform() {
    const ACCESSES: u64 = 400;
    let settings = Settings {
        structure: Some(Structure::CircuitOram {
            factor_bits: 1,
            cutoff: 4,
        }),
        stash: Some(20),
        ..Settings::default()
    };
    let patterns: [fn(u64) -> u64; 3] = [|_| 3, |at| at % 16, |at| 40 + at % 2];
    let all = patterns
        .iter()
        .flat_map(|pattern| [(pattern, true), (pattern, false)]);
    for (seed, (pattern, of_row)) in (1..).zip(all) {
        let session = session();
        let entropy = Entropy::for_tests(seed);
        let mut memory = match of_row {
            true => Memory::filled(&session.public_row(&[9u8; 16]), &settings, entropy).unwrap(),
            false => Memory::zeros(&session, 16, &settings, entropy),
        };
        for at in 0..ACCESSES {
            let index = Secret::<u8>::of(session.constant_row(8, &[u128::from(pattern(at))]));
            memory.read(&index).unwrap();
        }
        let Store::Oram(oram) = &memory.blocks.store else {
            panic!("it is an ORAM")
        };
        let revealed = oram.revealed();
        assert_eq!(
            revealed.iter().map(|(bits, _)| *bits).collect::<Vec<_>>(),
            [4, 3, 2]
        );
        for (bits, leaves) in revealed {
            assert_eq!(leaves.len(), ACCESSES as usize);
            let single = unevenness(bits, &leaves);
            let top = |leaf: u64| leaf >> (bits - 2);
            let pairs: Vec<u64> = leaves
                .windows(2)
                .map(|pair| top(pair[0]) << 2 | top(pair[1]))
                .collect();
            let pairs = unevenness(4, &pairs);
            assert!(
                single.abs() < 5.0 && pairs.abs() < 5.0,
                "seed {seed}: {single}, {pairs}"
            );
        }
    }
}

/// A stash of one block soon overflows: the access after says so, and what was read before is right.
#[test]
fn an_overflow_is_told_before_anything_is_wrong() {
    let settings = Settings {
        structure: Some(Structure::CircuitOram {
            factor_bits: 1,
            cutoff: 8,
        }),
        bucket: 1,
        stash: Some(2),
        ..Settings::default()
    };
    let session = session();
    let mut memory = Memory::<u8>::zeros(&session, 16, &settings, Entropy::for_tests(5));
    let (mut right, mut numbers) = ([0u8; 16], Numbers(3));
    let failed = (0..1000).find_map(|_| {
        let (at, value) = (numbers.below(16), numbers.below(256) as u8);
        let index = Secret::<u8>::of(session.constant_row(8, &[u128::from(at)]));
        let old = match memory.access(&session.public(true), &index, value) {
            Ok(old) => session.open(&old).unwrap()[0],
            Err(error) => return Some(error),
        };
        assert_eq!(old, right[at as usize]);
        right[at as usize] = value;
        None
    });
    assert!(matches!(failed, Some(Error::MemoryLost)), "{failed:?}");
    assert!(matches!(memory.check(), Err(Error::MemoryLost)));
    let again = memory.read(&session.public(1u8));
    assert!(matches!(again, Err(Error::MemoryLost)));
}

/// A check finds what the next access would.
#[test]
fn a_check_tells_of_an_overflow() {
    let settings = Settings {
        structure: Some(Structure::CIRCUIT_ORAM),
        bucket: 1,
        stash: Some(1),
        ..Settings::default()
    };
    let session = session();
    let mut memory = Memory::<bool>::zeros(&session, 16, &settings, Entropy::for_tests(1));
    let lost = (0..1000u32).any(|at| {
        let index = Secret::<u8>::of(session.constant_row(8, &[u128::from(at % 16)]));
        memory.write(&index, true).unwrap();
        memory.check().is_err()
    });
    assert!(lost);
    assert!(matches!(memory.check(), Err(Error::MemoryLost)));
}

#[test]
fn lanes_are_added() {
    let session = session();
    for lanes in [1, 2, 3, 5, 64, 65, 100] {
        let squares: Vec<u128> = (0..lanes as u128).map(|lane| lane * lane).collect();
        let row = session.constant_row(5, &squares);
        let right = (0..lanes).fold(0, |sum, lane| sum ^ (lane * lane)) & 31;
        assert_eq!(to_number(&opened(&sum(row))), right as u64, "{lanes}");
    }
}

/// The first accesses to different blocks of a row reveal labels as likely to be equal as any.
#[test]
fn first_labels_are_independent() {
    let settings = Settings {
        structure: Some(Structure::CIRCUIT_ORAM),
        stash: Some(20),
        ..Settings::default()
    };
    let mut equal = 0;
    for seed in 0..200 {
        let session = session();
        let row = session.public_row(&[0u8; 8]);
        let mut memory = Memory::filled(&row, &settings, Entropy::for_tests(seed)).unwrap();
        for at in 0..2u8 {
            memory.read(&session.public(at)).unwrap();
        }
        let Store::Oram(oram) = &memory.blocks.store else {
            panic!("it is an ORAM")
        };
        let leaves = &oram.revealed()[0].1;
        equal += u32::from(leaves[0] == leaves[1]);
    }
    // 25 are expected, with a standard deviation of 4.7.
    assert!((5..=50).contains(&equal), "{equal}");
}

#[test]
fn bins_hold_the_blocks_of_their_labels_or_tell() {
    let session = session();
    let labels = [5u128, 0, 7, 6, 2, 5, 3];
    let shape = |capacity| Shape {
        address: 3,
        height: 3,
        data: 8,
        bucket: 1,
        stash: 1,
        bins: Some(Bins { bits: 2, capacity }),
    };
    let blocks = session.constant_row(8, &[10, 11, 12, 13, 14, 15, 16]);
    let row = session.constant_row(3, &labels);
    for capacity in [1, 2, 3] {
        let shape = shape(capacity);
        let (bins, lost) = fill::filled(&shape, shape.bins.unwrap(), &blocks, &row).unwrap();
        // Both 5s are in the third bin, both 2 and 3 in the second, 7 and 6 in the last.
        assert_eq!(opened(&lost), [capacity < 2]);
        if capacity < 2 {
            continue;
        }
        let mut found = Vec::new();
        for bin in 0..4 {
            for slot in opened(&wires::lane(&bins, bin)).chunks(12) {
                if slot[0] {
                    let at = to_number(&slot[1..4]);
                    assert_eq!(to_number(&slot[4..]), 10 + at);
                    assert_eq!(labels[at as usize] >> 1, bin as u128);
                    found.push(at);
                }
            }
        }
        found.sort_unstable();
        assert_eq!(found, (0..7).collect::<Vec<u64>>());
    }
}
