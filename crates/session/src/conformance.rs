//! The same programs over every engine, against the same oracle: plain evaluation of the circuit.
//!
//! A protocol's tests call [`all`] with a [`Cluster`] that runs a program at all its parties.

use cenote_circuit::{BitOrder, Builder, Circuit, Plan, library};
use cenote_net::PartyId;
use cenote_primitives::{BitMatrix, Block, Entropy, LaneRun};

use crate::{Engine, Error, Parties, Result, WireVector};

/// Runs programs at all parties of one protocol.
pub trait Cluster {
    /// The engine under test.
    type Engine: Engine + ?Sized;

    /// Number of parties.
    fn parties(&self) -> usize;

    /// Runs `program` at every party of a fresh session, and gives their results in order.
    fn run<T: Send>(&self, program: impl Fn(&mut Self::Engine) -> Result<T> + Sync) -> Vec<Result<T>>;
}

/// Every program of the suite.
///
/// # Panics
/// If the engine departs from the contract.
pub fn all(cluster: &impl Cluster) {
    constants_and_copies(cluster);
    for lanes in [1, 63, 64, 65, 512, 1000, 4100] {
        arithmetic(cluster, lanes);
    }
    random_circuits(cluster);
    outputs_go_only_to_the_entitled(cluster);
    values_outlive_a_circuit(cluster);
    lanes_are_put_together_anew(cluster);
    lanes_are_moved_in_secret_orders(cluster);
    tables_are_compared_by_digests(cluster);
    misuse_is_refused_and_harmless(cluster);
}

fn bits(seed: u64, rows: usize, lanes: usize) -> BitMatrix {
    let mut entropy = Entropy::for_tests(seed);
    let mut word = Block::ZERO;
    let mut left = 0;
    BitMatrix::from_fn(rows, lanes, |_, _| {
        if left == 0 {
            (word, left) = (entropy.block(), 128);
        }
        left -= 1;
        word.0[left / 64] >> (left % 64) & 1 == 1
    })
}

fn unwrap_all<T>(results: Vec<Result<T>>) -> Vec<T> {
    let unwrap = |(party, result): (usize, Result<T>)| match result {
        Ok(value) => value,
        Err(error) => panic!("party {party}: {error}"),
    };
    results.into_iter().enumerate().map(unwrap).collect()
}

/// Input value `i` belongs to party `i mod parties`; all outputs go to everybody; compares with the oracle.
fn check(cluster: &impl Cluster, circuit: &Circuit, lanes: usize, seed: u64) {
    let plan = Plan::new(circuit);
    let rows = circuit.input_wires() as usize;
    let inputs = bits(seed, rows, lanes);
    let expected = plan.evaluate(&inputs).expect("inputs have the plan's shape");
    let results = cluster.run(|engine| {
        engine.prepare(&plan, lanes)?;
        let wires = share_values(engine, circuit, &inputs)?;
        let outputs = engine.run(&plan, &wires)?;
        let revealed = engine.reveal(&outputs, Parties::all(engine.parties()))?;
        engine.finish()?;
        Ok((revealed, engine.costs().and_gates))
    });
    for (revealed, and_gates) in unwrap_all(results) {
        assert_eq!(revealed.as_ref(), Some(&expected), "{lanes} lanes, seed {seed}");
        assert_eq!(and_gates, (plan.and_count() * lanes) as u64);
    }
}

fn share_values<E: Engine + ?Sized>(
    engine: &mut E,
    circuit: &Circuit,
    inputs: &BitMatrix,
) -> Result<E::Wires> {
    let mut parts = Vec::new();
    let mut first = 0;
    for (index, value) in circuit.inputs().iter().enumerate() {
        let owner = PartyId((index % engine.parties()) as u8);
        let width = value.width as usize;
        let own = (owner == engine.me())
            .then(|| BitMatrix::from_fn(width, inputs.lanes(), |row, lane| inputs.get(first + row, lane)));
        parts.push(engine.input(owner, width, inputs.lanes(), own.as_ref())?);
        first += width;
    }
    Ok(E::Wires::concat(&parts.iter().collect::<Vec<_>>()))
}

fn constants_and_copies(cluster: &impl Cluster) {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let y = b.input("y", 1, BitOrder::Lsb);
    let both = b.and(x[0], !y[0]);
    b.output(
        "out",
        &[both, !both, x[1], x[1], !both, cenote_circuit::Bit::TRUE],
        BitOrder::Lsb,
    );
    check(cluster, &b.finish(), 70, 1);
}

/// Deep with few lanes, and shallow with many.
fn arithmetic(cluster: &impl Cluster, lanes: usize) {
    let width = if lanes < 100 { 16 } else { 5 };
    let mut b = Builder::new();
    let x = b.input("x", width, BitOrder::Lsb);
    let y = b.input("y", width, BitOrder::Lsb);
    let z = b.input("z", width, BitOrder::Lsb);
    let goal = library::Goal::FewestAnds;
    let product = library::multiply(&mut b, &x, &y, goal);
    let sum = library::add(&mut b, &product, &z, goal);
    b.output("xy+z", &sum, BitOrder::Lsb);
    check(cluster, &b.finish(), lanes, lanes as u64);
}

/// Circuits without structure: wide, deep, with gates whose operands coincide with outputs and inputs.
fn random_circuits(cluster: &impl Cluster) {
    for seed in 0..6 {
        let choices = bits(seed, 1, 64 * 400);
        let words = choices.row(0).iter();
        let mut b = Builder::new();
        let mut known: Vec<_> = (0..3)
            .flat_map(|i| b.input(&format!("in{i}"), 5, BitOrder::Msb))
            .collect();
        for &word in words {
            let x = known[(word >> 8) as usize % known.len()];
            let y = known[(word >> 36) as usize % known.len()];
            known.push(match word % 5 {
                0 | 1 => b.and(x, y),
                2 | 3 => b.xor(x, y),
                _ => !x,
            });
        }
        let outputs: Vec<_> = known.iter().rev().step_by(7).take(40).copied().collect();
        b.output("out", &outputs, BitOrder::Msb);
        check(cluster, &b.finish(), 1 + 100 * seed as usize, seed);
    }
}

/// An order moves all wires alike, and back; another one moves them elsewhere.
fn lanes_are_moved_in_secret_orders(cluster: &impl Cluster) {
    for (rows, lanes) in [
        (1, 1),
        (3, 2),
        (20, 63),
        (64, 64),
        (65, 200),
        (130, 1000),
        (1, 20_000),
    ] {
        let values = bits(51, rows, lanes);
        let numbers = BitMatrix::from_fn(15, lanes, |row, lane| lane >> row & 1 == 1);
        let results = cluster.run(|engine| {
            if !engine.shuffles() {
                assert!(matches!(engine.draw(lanes), Err(Error::BadInput(_))));
                return Ok(None);
            }
            let everybody = Parties::all(engine.parties());
            let own = (engine.me() == PartyId(1)).then_some(&values);
            let wires = engine.input(PartyId(1), rows, lanes, own)?;
            let places = engine.constant(&numbers)?;
            let (order, other) = (engine.draw(lanes)?, engine.draw(lanes)?);
            let too_few = engine.draw(lanes + 1)?;
            for unknown in [too_few, too_few + 1] {
                let refused = engine.shuffle(&wires, unknown, false);
                assert!(matches!(refused, Err(Error::BadInput(_))));
            }
            let moved = engine.shuffle(&wires, order, false)?;
            let moved_places = engine.shuffle(&places, order, false)?;
            let returned = engine.shuffle(&moved, order, true)?;
            let elsewhere = engine.shuffle(&moved_places, other, true)?;
            // What is not opened is checked as well.
            let all = WireVector::concat(&[&moved, &returned, &moved_places, &elsewhere]);
            let all = engine.reveal(&all, everybody)?.expect("all learn it");
            let unopened = engine.shuffle(&wires, other, false)?;
            drop(unopened);
            engine.finish()?;
            Ok(Some(all))
        });
        let mut first = None;
        for all in unwrap_all(results).into_iter().flatten() {
            let number = |first: usize, lane: usize| {
                (0..15).fold(0, |sum, row| sum | usize::from(all.get(first + row, lane)) << row)
            };
            let mut seen = vec![false; lanes];
            for lane in 0..lanes {
                let place = number(2 * rows, lane);
                assert!(!std::mem::replace(&mut seen[place], true), "a lane comes once");
                for row in 0..rows {
                    assert_eq!(all.get(row, lane), values.get(row, place));
                    assert_eq!(all.get(rows + row, lane), values.get(row, lane));
                }
            }
            let moved = (0..lanes)
                .filter(|lane| number(2 * rows + 15, *lane) != *lane)
                .count();
            assert!(
                lanes < 20 || moved > lanes / 2,
                "{moved} of {lanes} lanes are elsewhere"
            );
            assert_eq!(*first.get_or_insert_with(|| all.clone()), all);
        }
    }
}

/// Tables that differ from one in a bit, or in several that would cancel without weights.
fn changed_tables(values: &BitMatrix) -> Vec<BitMatrix> {
    let (rows, lanes) = (values.rows(), values.lanes());
    let (row, lane) = (rows - 1, lanes - 1);
    [
        vec![(0, 0)],
        vec![(row, lane)],
        // Of two lanes, two words of a wire, two wires, and two limbs of a lane.
        vec![(0, 0), (0, lane.min(1))],
        vec![(row, 0), (row, lane.min(64))],
        vec![(0, lane), (row.min(1), lane)],
        vec![(0, 0), (row.min(64), 0)],
        (0..rows)
            .flat_map(|row| (0..lanes).map(move |lane| (row, lane)))
            .collect(),
    ]
    .into_iter()
    .map(|flips| {
        let mut changed = values.clone();
        for (row, lane) in flips {
            changed.set(row, lane, !changed.get(row, lane));
        }
        changed
    })
    .filter(|changed| changed != values)
    .collect()
}

/// A digest is zero if two tables are the same, and not if they differ, wherever that is and however the differences would add up without weights.
fn tables_are_compared_by_digests(cluster: &impl Cluster) {
    for (rows, lanes) in [(1, 1), (3, 63), (64, 64), (65, 130), (129, 1000), (2, 40_000)] {
        let values = bits(52, rows, lanes);
        let changed = changed_tables(&values);
        let mut b = Builder::new();
        let x = b.input("x", rows as u32, BitOrder::Lsb);
        let opposite: Vec<_> = x.iter().map(|&bit| !bit).collect();
        b.output("opposite", &opposite, BitOrder::Lsb);
        let negate = Plan::new(&b.finish());
        let negated = BitMatrix::from_fn(rows, lanes, |row, lane| !values.get(row, lane));
        let results = cluster.run(|engine| {
            let (me, everybody) = (engine.me(), Parties::all(engine.parties()));
            let own = |owner: u8, bits| (me == PartyId(owner)).then_some(bits);
            if !engine.digests() {
                let wires = engine.constant(&BitMatrix::zeros(1, 1))?;
                let refused = engine.digest(&wires, &wires);
                assert!(matches!(refused, Err(Error::BadInput(_))));
                engine.finish()?;
                return Ok(None);
            }
            let these = engine.input(PartyId(1), rows, lanes, own(1, &values))?;
            let more = engine.constant(&BitMatrix::zeros(rows, lanes + 1))?;
            for other in [&more, &WireVector::concat(&[&these, &these])] {
                assert!(matches!(engine.digest(&these, other), Err(Error::BadInput(_))));
            }
            let ands = engine.costs().and_gates;
            let same = engine.input(PartyId(0), rows, lanes, own(0, &values))?;
            let constant = engine.constant(&negated)?;
            let negated = engine.run(&negate, &same)?;
            let mut digests = vec![engine.digest(&these, &same)?, engine.digest(&negated, &constant)?];
            for changed in &changed {
                let those = engine.input(PartyId(0), rows, lanes, own(0, changed))?;
                // Once more, with another coin.
                digests.push(engine.digest(&these, &those)?);
                digests.push(engine.digest(&these, &those)?);
            }
            assert_eq!(engine.costs().and_gates, ands);
            let digests = WireVector::concat(&digests.iter().collect::<Vec<_>>());
            let digests = engine.reveal(&digests, everybody)?.expect("all learn it");
            engine.finish()?;
            Ok(Some(digests))
        });
        for digests in unwrap_all(results).into_iter().flatten() {
            assert_eq!(
                (digests.rows(), digests.lanes()),
                (64 * (2 + 2 * changed.len()), 1)
            );
            let digest = |at: usize| {
                (0..64).fold(0, |sum, bit| {
                    sum | u64::from(digests.get(64 * at + bit, 0)) << bit
                })
            };
            assert_eq!([0, 1].map(digest), [0, 0], "{rows} × {lanes}");
            for at in 1..=changed.len() {
                let (one, other) = (digest(2 * at), digest(2 * at + 1));
                assert!(
                    one != 0 && other != 0 && one != other,
                    "{rows} × {lanes}, change {at}"
                );
            }
        }
    }
}

fn outputs_go_only_to_the_entitled(cluster: &impl Cluster) {
    let values = bits(7, 9, 130);
    for set in 0..1 << cluster.parties() {
        let to: Parties = (0..cluster.parties() as u8)
            .filter(|i| set >> i & 1 == 1)
            .map(PartyId)
            .collect();
        let results = cluster.run(|engine| {
            let own = (engine.me() == PartyId(1)).then_some(&values);
            let wires = engine.input(PartyId(1), 9, 130, own)?;
            let revealed = engine.reveal(&wires, to)?;
            engine.finish()?;
            Ok(revealed)
        });
        for (party, revealed) in unwrap_all(results).into_iter().enumerate() {
            let entitled = to.contains(PartyId(party as u8)).then_some(&values);
            assert_eq!(revealed.as_ref(), entitled, "party {party} of {to}");
        }
    }
}

fn values_outlive_a_circuit(cluster: &impl Cluster) {
    let mut b = Builder::new();
    let x = b.input("x", 8, BitOrder::Lsb);
    let y = b.input("y", 8, BitOrder::Lsb);
    let sum = library::add(&mut b, &x, &y, library::Goal::FewestAnds);
    let both: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| b.and(x, y)).collect();
    b.output("sum", &sum, BitOrder::Lsb);
    b.output("both", &both, BitOrder::Lsb);
    let plan = Plan::new(&b.finish());

    let (start, public) = (bits(8, 8, 99), bits(9, 8, 99));
    let mut state = start.clone();
    let byte = |m: &BitMatrix, lane: usize| (0..8).fold(0u8, |v, row| v | u8::from(m.get(row, lane)) << row);
    let results = cluster.run(|engine| {
        let own = (engine.me() == PartyId(0)).then_some(&start);
        let mut x = engine.input(PartyId(0), 8, 99, own)?;
        let y = engine.constant(&public)?;
        let mut steps = Vec::new();
        for _ in 0..4 {
            let outputs = engine.run(&plan, &WireVector::concat(&[&x, &y]))?;
            x = outputs.select(0..8);
            steps.push(
                engine
                    .reveal(&outputs, Parties::all(engine.parties()))?
                    .expect("everybody is entitled"),
            );
        }
        engine.finish()?;
        Ok(steps)
    });
    let all = unwrap_all(results);
    for step in 0..4 {
        let sum = BitMatrix::from_fn(8, 99, |row, lane| {
            byte(&state, lane).wrapping_add(byte(&public, lane)) >> row & 1 == 1
        });
        for steps in &all {
            for lane in 0..99 {
                for row in 0..8 {
                    assert_eq!(
                        steps[step].get(row, lane),
                        sum.get(row, lane),
                        "sum in step {step}"
                    );
                    let both = state.get(row, lane) && public.get(row, lane);
                    assert_eq!(steps[step].get(8 + row, lane), both, "and in step {step}");
                }
            }
        }
        state = sum;
    }
}

/// Lanes of inputs, constants and results go where they are told, before and after they are computed, and can be computed with.
fn lanes_are_put_together_anew(cluster: &impl Cluster) {
    let plan = Plan::new(&library::by_name("add4").expect("the library has it"));
    let (inputs, constants) = (bits(41, 8, 100), bits(42, 4, 70));
    let sums = plan.evaluate(&inputs).expect("inputs have the plan's shape");
    let runs = [
        LaneRun::new(0, 37, 60),
        LaneRun {
            times: 67,
            ..LaneRun::new(1, 5, 1)
        },
        LaneRun::new(0, 0, 1),
        LaneRun {
            times: 2,
            ..LaneRun::new(1, 60, 10)
        },
    ];
    let once = BitMatrix::arrange(&[&sums, &constants], &runs);
    let back: Vec<LaneRun> = (0..once.lanes() as u32)
        .rev()
        .map(|lane| LaneRun::new(0, lane, 1))
        .collect();
    let reversed = BitMatrix::arrange(&[&once], &back);
    let both = BitMatrix::from_fn(8, once.lanes(), |row, lane| match row {
        0..4 => once.get(row, lane),
        _ => reversed.get(row - 4, lane),
    });
    let expected = plan.evaluate(&both).expect("as wide as the inputs");
    let results = cluster.run(|engine| {
        let everybody = Parties::all(engine.parties());
        let owner = PartyId(1);
        let own = (engine.me() == owner).then_some(&inputs);
        let wires = engine.input(owner, 8, 100, own)?;
        let known = engine.constant(&constants)?;
        let sums = engine.run(&plan, &wires)?;
        let once = engine.arrange(&[sums.whole(), known.whole()], &runs)?;
        let reversed = engine.arrange(&[once.whole()], &back)?;
        let outputs = engine.run(&plan, &WireVector::concat(&[&once, &reversed]))?;
        let first = engine.reveal(&outputs, everybody)?;
        // All labels and shares are there by now.
        let again = engine.arrange(&[outputs.whole()], &back)?;
        let again = engine.arrange(&[again.whole()], &back)?;
        let second = engine.reveal(&again, everybody)?;
        let refused = [
            engine.arrange(&[sums.whole()], &[LaneRun::new(0, 99, 2)]).err(),
            engine.arrange(&[sums.whole()], &[LaneRun::new(1, 0, 1)]).err(),
            engine
                .arrange(&[sums.whole(), wires.whole()], &[LaneRun::new(0, 0, 1)])
                .err(),
        ];
        let harmless = refused
            .iter()
            .all(|error| matches!(error, Some(Error::BadInput(_))));
        engine.finish()?;
        Ok((first, second, harmless))
    });
    for (first, second, harmless) in unwrap_all(results) {
        assert_eq!(
            (first.as_ref(), second.as_ref()),
            (Some(&expected), Some(&expected))
        );
        assert!(harmless, "lanes that are not there were given");
    }
}

fn misuse_is_refused_and_harmless(cluster: &impl Cluster) {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let both = b.and(x[0], x[1]);
    b.output("both", &[both], BitOrder::Lsb);
    let plan = Plan::new(&b.finish());
    let ones = BitMatrix::from_fn(2, 3, |_, _| true);
    let results = cluster.run(|engine| {
        let (me, other) = (engine.me(), PartyId(u8::from(engine.me() == PartyId(0))));
        assert!(matches!(engine.input(me, 2, 3, None), Err(Error::BadInput(_))));
        assert!(matches!(
            engine.input(other, 2, 3, Some(&ones)),
            Err(Error::BadInput(_))
        ));
        assert!(matches!(
            engine.input(me, 2, 4, Some(&ones)),
            Err(Error::BadInput(_))
        ));
        assert!(matches!(
            engine.input(PartyId(7), 2, 3, None),
            Err(Error::BadInput(_))
        ));
        let own = (me == PartyId(0)).then_some(&ones);
        let wires = engine.input(PartyId(0), 2, 3, own)?;
        assert!(matches!(
            engine.run(&plan, &wires.select(0..1)),
            Err(Error::BadInput(_))
        ));
        let outputs = engine.run(&plan, &wires)?;
        let revealed = engine.reveal(&outputs, Parties::all(engine.parties()))?;
        engine.finish()?;
        Ok(revealed)
    });
    for revealed in unwrap_all(results) {
        assert_eq!(revealed, Some(BitMatrix::from_fn(1, 3, |_, _| true)));
    }
}
