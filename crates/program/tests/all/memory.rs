//! Oblivious memory against a plain array, its cost, and what it refuses.

use crate::common::everywhere;
use cenote_net::PartyId;
use cenote_program::memory::{Access, Settings, Structure, ands};
use cenote_program::{Error, Int, Integer, Memory, Secret, Session, Uint, Word};
use cenote_session::ClearEngine;
use proptest::prelude::*;

const ME: PartyId = PartyId(0);

fn session() -> Session {
    Session::new(ClearEngine::new(ME, Vec::new()))
}

fn secret<T: Word>(session: &Session, value: T) -> Secret<T> {
    session.input(ME, 1, Some(&[value]))
}

/// Small trees whose position map is in trees too.
fn deep() -> Structure {
    Structure::CircuitOram {
        factor_bits: 1,
        cutoff: 4,
    }
}

fn with(structure: Structure) -> Settings {
    Settings {
        structure: Some(structure),
        security: 20,
        accesses: 10,
        ..Settings::default()
    }
}

/// Does what `steps` say to a memory and to an array: which operation, where, and what is written.
fn check<T: Word, I: Integer>(
    mut memory: Memory<T>,
    session: &Session,
    mut right: Vec<T>,
    steps: &[(u8, u64, u128)],
) {
    let zero = T::from_bits(0);
    for &(what, at, value) in steps {
        // Some indices are beyond the end.
        let at = at % (right.len() as u64 * 9 / 8 + 2);
        let index = I::from_bits(at.into());
        let within = index.to_bits() == u128::from(at) && at < right.len() as u64;
        let within = within && !(I::SIGNED && at >> (I::BITS - 1) & 1 == 1);
        let place = (at as usize).min(right.len() - 1);
        let (index, value) = (secret(session, index), T::from_bits(value));
        let old = if within { right[place] } else { zero };
        let writes = match what % 4 {
            0 => {
                let read = memory.read(&index).unwrap();
                assert_eq!(session.open(&read).unwrap(), [old]);
                false
            }
            1 => {
                memory.write(&index, secret(session, value)).unwrap();
                true
            }
            what => {
                let write = what == 2;
                let read = memory.access(&secret(session, write), &index, value).unwrap();
                assert_eq!(session.open(&read).unwrap(), [old]);
                write
            }
        };
        if writes && within {
            right[place] = value;
        }
    }
    memory.check().unwrap();
    for (at, right) in right.iter().enumerate().take(20) {
        let read = memory.read(&secret(session, at as u32)).unwrap();
        assert_eq!(session.open(&read).unwrap(), [*right]);
    }
}

fn zeros<T: Word, I: Integer>(blocks: usize, structure: Structure, steps: &[(u8, u64, u128)]) {
    let session = session();
    let memory = Memory::<T>::with(&session, blocks, &with(structure));
    assert_eq!(memory.structure(), structure);
    check::<T, I>(memory, &session, vec![T::from_bits(0); blocks], steps);
}

fn row<T: Word, I: Integer>(blocks: usize, structure: Structure, steps: &[(u8, u64, u128)]) {
    let session = session();
    let values: Vec<T> = (0..blocks as u128).map(|at| T::from_bits(at * at + 1)).collect();
    let memory = Memory::of_row_with(&session.input(ME, blocks, Some(&values)), &with(structure)).unwrap();
    check::<T, I>(memory, &session, values, steps);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1))]

    #[test]
    fn a_memory_is_an_array(steps in prop::collection::vec(any::<(u8, u64, u128)>(), 40)) {
        for structure in [Structure::Scan, Structure::CIRCUIT_ORAM, deep()] {
            for blocks in [1, 2, 3, 5, 8, 63, 64, 100] {
                zeros::<u8, u32>(blocks, structure, &steps[..20]);
            }
            zeros::<bool, Uint<7>>(65, structure, &steps);
            zeros::<u128, u64>(33, structure, &steps);
            zeros::<Int<13>, i8>(200, structure, &steps);
            zeros::<u32, i32>(17, structure, &steps);
            row::<u16, u8>(19, structure, &steps);
            row::<Uint<100>, u32>(6, structure, &steps[..20]);
        }
    }
}

/// As many accesses as the default bound is for, each compared with an array; that no stash has overflowed is told by the next access, and
/// at the end.
#[test]
#[ignore = "takes an hour or more in release mode"]
fn a_million_accesses_hold_the_bound_on_the_stash() {
    let session = session();
    let mut memory = Memory::<u32>::new(&session, 10_000);
    let mut right = vec![0u32; 10_000];
    let mut state = 1u64;
    let mut below = |limit: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % limit
    };
    for number in 0..1 << 20 {
        // Half of them go to a hundredth of the blocks.
        let at = match below(2) {
            0 => below(100),
            _ => below(10_000),
        } as usize;
        let (write, value) = (below(2) == 1, below(1 << 31) as u32);
        let (index, operation) = (secret(&session, at as u32), secret(&session, write));
        let read = memory
            .access(&operation, &index, secret(&session, value))
            .unwrap();
        assert_eq!(session.open(&read).unwrap(), [right[at]], "access {number}");
        if write {
            right[at] = value;
        }
        if number % 4096 == 0 {
            println!("{number} accesses");
        }
    }
    memory.check().unwrap();
}

/// Around the size where the best structure changes, as it is chosen.
#[test]
fn the_best_structure_is_chosen() {
    let settings = Settings::default();
    let mut chosen = Vec::new();
    for blocks in [200, 256, 257, 400, 1000] {
        let session = session();
        let mut memory = Memory::<u32>::new(&session, blocks);
        let best = Structure::best(blocks, 32, &settings);
        assert_eq!(memory.structure(), best);
        let fewest = memory.ands::<u32>(Access::Secret);
        for other in [Structure::Scan, Structure::CIRCUIT_ORAM] {
            assert!(fewest <= ands::<u32>(blocks, 32, other, Access::Secret, &settings));
        }
        let last = blocks as u32 - 1;
        memory.write(&secret(&session, last), 77).unwrap();
        let read = memory.read(&secret(&session, last)).unwrap();
        assert_eq!(session.open(&read).unwrap(), [77]);
        chosen.push(best == Structure::Scan);
    }
    assert_eq!(chosen, [true, false, true, false, false]);
}

/// Blocks of 32 bits for which the scan is not the best structure.
#[test]
fn the_scan_is_left_behind_where_it_is_stated() {
    let settings = Settings::default();
    let scans: Vec<usize> = (200..420)
        .filter(|&blocks| Structure::best(blocks, 32, &settings) == Structure::Scan)
        .collect();
    assert_eq!(scans, (200..248).chain(257..275).collect::<Vec<_>>());
}

/// The engine counts what was computed beforehand.
#[test]
fn ands_are_as_computed() {
    for structure in [Structure::Scan, Structure::CIRCUIT_ORAM, deep()] {
        for blocks in [2, 3, 20, 300] {
            let session = session();
            let mut memory = Memory::<Uint<11>>::with(&session, blocks, &with(structure));
            let (write, value) = (secret(&session, true), secret(&session, Uint::new(5)));
            for at in [0, 1, 1000u32, 2] {
                let index = secret(&session, at);
                let mut before = session.costs().and_gates;
                let mut grown = || {
                    let ands = session.costs().and_gates - before;
                    before += ands;
                    ands
                };
                session.open(&memory.read(&index).unwrap()).unwrap();
                assert_eq!(
                    grown(),
                    memory.ands::<u32>(Access::Read),
                    "read {blocks} {structure:?}"
                );
                memory.write(&index, &value).unwrap();
                memory.check().unwrap();
                if structure != Structure::Scan {
                    assert_eq!(
                        grown(),
                        memory.ands::<u32>(Access::Write),
                        "write {blocks} {structure:?}"
                    );
                }
                session
                    .open(&memory.access(&write, &index, &value).unwrap())
                    .unwrap();
                let both = memory.ands::<u32>(Access::Secret)
                    + match structure {
                        // Written when it is read.
                        Structure::Scan => memory.ands::<u32>(Access::Write),
                        _ => 0,
                    };
                let late = if structure == Structure::Scan {
                    blocks as u64 * 11
                } else {
                    0
                };
                assert_eq!(grown(), both - late, "access {blocks} {structure:?}");
                if structure == Structure::Scan {
                    session.open(&memory.read(&index).unwrap()).unwrap();
                    assert_eq!(grown(), memory.ands::<u32>(Access::Read) + late);
                }
            }
        }
    }
}

/// The engine counts the same for 2^20 blocks.
#[test]
fn a_million_blocks_cost_what_is_computed() {
    let blocks = 1 << 20;
    for structure in [Structure::Scan, Structure::best(blocks, 32, &Settings::default())] {
        let settings = Settings {
            structure: Some(structure),
            ..Settings::default()
        };
        let session = session();
        let mut memory = Memory::<u32>::with(&session, blocks, &settings);
        let (index, write) = (secret(&session, 1_000_000u32), secret(&session, true));
        memory.write(&index, 5).unwrap();
        assert_eq!(
            session.open(&memory.read(&index).unwrap()).unwrap(),
            [5],
            "{structure:?}"
        );
        let before = session.costs().and_gates;
        let old = memory.access(&write, &index, 6).unwrap();
        assert_eq!(session.open(&old).unwrap(), [5]);
        // What a scan writes is computed when it is read.
        let late = match structure {
            Structure::Scan => 32 * blocks as u64,
            _ => 0,
        };
        let counted = session.costs().and_gates - before;
        assert_eq!(
            counted,
            memory.ands::<u32>(Access::Secret) - late,
            "{structure:?}"
        );
    }
}

/// The table in the documentation is right, and within what was asked for.
#[test]
fn an_access_costs_what_is_stated() {
    let settings = Settings::default();
    let documented = include_str!("../../src/memory/mod.rs");
    let count = |blocks, structure| ands::<u32>(blocks, 32, structure, Access::Secret, &settings);
    let mut table = Vec::new();
    for blocks in (8..=20).map(|log| 1 << log).chain([10_000]) {
        let best = Structure::best(blocks, 32, &settings);
        let Structure::CircuitOram { factor_bits, cutoff } = best else {
            panic!("the scan is the best for {blocks} blocks")
        };
        let all = [Structure::Scan, Structure::CIRCUIT_ORAM, best].map(|structure| count(blocks, structure));
        let [scan, proper, fewest] = all;
        table.push(format!(
            "//! | {blocks} | {scan} | {proper} | {fewest} | {} | {cutoff} |",
            1 << factor_bits
        ));
        if blocks == 10_000 {
            assert!(proper <= 300_000 && fewest <= 150_000);
        }
    }
    let missing: Vec<&String> = table.iter().filter(|line| !documented.contains(*line)).collect();
    assert!(missing.is_empty(), "{}", table.join("\n"));
    let session = session();
    let row = session.public_row(&[0u32; 10_000]);
    let filled = Memory::of_row(&row).unwrap().ands::<u32>(Access::Secret);
    assert!(
        documented.contains(&format!("take {filled} ANDs an access")),
        "{filled}"
    );
}

#[test]
fn a_memory_is_the_same_everywhere() {
    let revealed = everywhere(|session| {
        let of = |owner: u8, value: u8| {
            let owner = PartyId(owner);
            session.input(owner, 1, (session.me() == owner).then_some(&[value][..]))
        };
        let settings = Settings {
            structure: Some(Structure::CircuitOram {
                factor_bits: 1,
                cutoff: 4,
            }),
            bucket: 2,
            stash: Some(6),
            ..Settings::default()
        };
        let mut memory = Memory::<u8>::with(session, 7, &settings);
        memory.write(&of(0, 3), of(1, 33))?;
        memory.write(&of(1, 6), 66)?;
        let (three, nine) = (memory.read(&of(0, 3))?, memory.read(&of(0, 9))?);
        let six = memory.access(&of(0, 1).bit(0), &of(1, 6), &three + 1)?;
        let again = memory.access(&of(0, 0).bit(0), &of(1, 6), 0)?;
        memory.check()?;
        let mut scan = Memory::of_row(&session.public_row(&[1u8, 2, 3]))?;
        scan.write(&of(0, 2), &again)?;
        let mut filled = Memory::of_row_with(&session.public_row(&[10u8, 11, 12, 13, 14]), &settings)?;
        let [one, four] = [filled.read(&of(0, 1))?, filled.read(&of(1, 4))?];
        let more = scan.read(&of(1, 2))?;
        session.open(&[three, nine, six, again, more, one, four])
    });
    assert_eq!(revealed, [33, 0, 66, 34, 34, 11, 14].map(|value| vec![value]));
}

#[test]
fn random_secrets_are_random() {
    let rows = everywhere(|session| {
        let (x, y) = (session.random::<u64>(3), session.random::<u64>(3));
        let (x, y) = session.open(&(x, y))?;
        let mut all = [x, y].concat();
        all.sort_unstable();
        all.dedup();
        Ok(all.len())
    });
    assert_eq!(rows, 6);
}

#[test]
fn what_is_no_memory_is_refused() {
    let told = |work: &dyn Fn(&Session) -> cenote_program::Result<()>, words: &str| match work(&session()) {
        Err(Error::Misuse(misuse)) => {
            assert!(
                misuse.what.contains(words) && misuse.at.file() == file!(),
                "{misuse}"
            );
        }
        other => panic!("{other:?}"),
    };
    let index = |session: &Session| secret(session, 0u8);
    let read = |s: &Session, memory: &mut Memory<u8>| s.open(&memory.read(&index(s))?).map(drop);
    told(
        &|s| read(s, &mut Memory::new(s, 0)),
        "a memory has 1 to 2^30 blocks",
    );
    told(
        &|s| Memory::<u8>::new(s, 4).read(&index(s).repeat(2)).map(drop),
        "a row of 2 secrets",
    );
    told(
        &|s| Memory::<u8>::new(s, 4).write(&index(s), index(s).repeat(3)),
        "a row of 3 secrets",
    );
    let settings = with(Structure::CircuitOram {
        factor_bits: 0,
        cutoff: 4,
    });
    told(
        &|s| read(s, &mut Memory::with(s, 4, &settings)),
        "no memory with these settings",
    );
    let other = session();
    told(
        &|s| {
            let read = Memory::<u8>::with(s, 40, &with(deep())).read(&index(&other))?;
            s.open(&read).map(drop)
        },
        "another session",
    );
}
