//! Programs without end.

use std::collections::HashSet;

use super::*;
use crate::provenance::Origin;

/// Bytes and bundles that the evaluator keeps because of `wires`; at the garbler nothing but the wires.
fn kept(wires: &JimuWires) -> (usize, usize) {
    let mut seen = HashSet::new();
    let mut left = vec![wires.clone()];
    let mut bytes = 0;
    while let Some(wires) = left.pop() {
        for part in wires.parts() {
            if !seen.insert(Arc::as_ptr(&part.bundle)) {
                continue;
            }
            bytes += size_of::<Block>() * part.bundle.cells.len();
            match part.bundle.known.as_ref().map(|known| &known.origin) {
                Some(Origin::Circuit { circuit, inputs }) => {
                    bytes += 24 * circuit.plan.local_ops().len();
                    left.push(inputs.clone());
                }
                Some(Origin::Lanes { parts, .. }) => left.extend(parts.iter().cloned()),
                Some(Origin::Anchored(anchors)) => {
                    bytes += size_of::<Block>() * (anchors.tables.len() + anchors.solderings.len());
                }
                Some(Origin::Known | Origin::Settled) | None => {}
            }
        }
    }
    (bytes, seen.len())
}

/// State and as many new wires: AND of the first wires, sum of the others.
fn step(width: usize) -> Plan {
    let mut b = Builder::new();
    let state = b.input("state", width as u32, BitOrder::Lsb);
    let new = b.input("new", width as u32, BitOrder::Lsb);
    let mut next = vec![b.and(state[0], new[0])];
    next.extend(state[1..].iter().zip(&new[1..]).map(|(&x, &y)| b.xor(x, y)));
    next.rotate_left(1);
    b.output("next", &next, BitOrder::Lsb);
    Plan::new(&b.finish())
}

fn stepped(state: &BitMatrix, new: &BitMatrix) -> BitMatrix {
    BitMatrix::from_fn(state.rows(), 1, |wire, _| match (wire + 1) % state.rows() {
        0 => state.get(0, 0) & new.get(0, 0),
        from => state.get(from, 0) ^ new.get(from, 0),
    })
}

/// Thousands of runs, each of which depends on the one before, with public bits or bits of the evaluator's that nothing else keeps: memory
/// does not grow, and outputs are right, also when it turns out in the last run that the garbler cheats.
#[test]
fn a_chain_of_thousands_of_runs_stays_small() {
    for (runs, width, owner, most) in [
        (2500, 16, None, 5 << 20),
        (400, 400, None, 5 << 20),
        (60, 2048, Some(EVALUATOR), 13 << 20),
    ] {
        let gates = 4096 + BUCKET * runs;
        let results = Session::new(31, 8 * gates, &Faults::new()).run(None, |engine| {
            let plan = step(width);
            let mut clear = BitMatrix::from_fn(width, 1, |wire, _| wire % 3 == 0);
            let mut state = input(engine, GARBLER, &clear)?;
            let (mut bytes, mut bundles) = (0, 0);
            for run in 0..runs {
                let new = BitMatrix::from_fn(width, 1, |wire, _| (wire * run) % 7 < 4);
                let wires = match owner {
                    Some(owner) => input(engine, owner, &new)?,
                    None => engine.constant(&new)?,
                };
                state = engine.run(&plan, &JimuWires::concat(&[&state, &wires]))?;
                clear = stepped(&clear, &new);
                let now = kept(&state);
                (bytes, bundles) = (now.0.max(bytes), now.1.max(bundles));
            }
            assert_eq!(engine.reveal(&state, Parties::all(2))?, Some(clear));
            Ok((bytes, bundles))
        });
        let [_, (bytes, bundles)] = results.unwrap();
        assert!(bundles > 10 && bundles < 2 * runs, "{bundles} of {runs}");
        assert!(bytes < most, "{bytes} bytes");
    }
}

/// A circuit counts as what is kept, however few its outputs are.
#[test]
fn large_circuits_are_not_kept_for_ever() {
    let (width, rounds) = (32, 600);
    let results = Session::new(32, 4096, &Faults::new()).run(None, |engine| {
        let mut state = input(
            engine,
            GARBLER,
            &BitMatrix::from_fn(width, 1, |wire, _| wire % 5 == 0),
        )?;
        let mut bytes = 0;
        for run in 0..40 {
            // Each is another one.
            let mut b = Builder::new();
            let mut x = b.input("x", width as u32, BitOrder::Lsb);
            for at in 0..width * (rounds + run) {
                x[at % width] = b.xor(x[at % width], x[(at * at + at / width + 1) % width]);
            }
            b.output("y", &x, BitOrder::Lsb);
            state = engine.run(&Plan::new(&b.finish()), &state)?;
            bytes = kept(&state).0.max(bytes);
        }
        engine.finish()?;
        Ok(bytes)
    });
    let bytes = results.unwrap()[1];
    assert!(bytes > 1 << 20 && bytes < 6 << 20, "{bytes}");
}
