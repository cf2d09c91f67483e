//! An evaluator that has a program compute on sums of wires whose labels make the hashes of a gate's halves meet.

use super::*;

/// Wires whose labels sum up to any block, some of them.
const WIRES: usize = 150;

/// What the garbler sends with gates, for an evaluator to look at.
type Tables = Arc<Mutex<Vec<Vec<u8>>>>;

fn listening(tables: &Tables) -> Adversary {
    let tables = tables.clone();
    changing(steps::TABLES, move |_, body| {
        tables.lock().unwrap().push(body.clone());
    })
}

fn number(block: Block) -> u128 {
    u128::from_le_bytes(block.to_bytes())
}

/// Which of these blocks sum up to `target`.
fn summing_up(blocks: &[Block], target: Block) -> Vec<bool> {
    // Each with the blocks that it is the sum of.
    let mut basis: Vec<(u128, Vec<bool>)> = Vec::new();
    let reduced = |basis: &[(u128, Vec<bool>)], block: Block| {
        let (mut rest, mut of) = (number(block), vec![false; blocks.len()]);
        for (other, others) in basis {
            if rest ^ other < rest {
                rest ^= other;
                of.iter_mut().zip(others).for_each(|(of, other)| *of ^= other);
            }
        }
        (rest, of)
    };
    for (at, &block) in blocks.iter().enumerate() {
        let (rest, mut of) = reduced(&basis, block);
        of[at] ^= true;
        if rest != 0 {
            basis.push((rest, of));
            basis.sort_by_key(|(block, _)| std::cmp::Reverse(*block));
        }
    }
    let (rest, of) = reduced(&basis, target);
    assert_eq!(rest, 0, "the blocks span all");
    of
}

/// The AND of the first wire and the sum of some others.
fn and_of_sum(others: &[bool]) -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", WIRES as u32, BitOrder::Lsb);
    let mut chosen = (1..WIRES).filter(|&at| others[at - 1]).map(|at| x[at]);
    let first = chosen.next().unwrap();
    let sum = chosen.fold(first, |sum, wire| b.xor(sum, wire));
    let both = b.and(sum, x[0]);
    b.output("both", &[both], BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// A session whose second circuit depends on what the evaluator gave after the first. It learns c with the first one's tables, and chooses
/// the second one so that the label of its sum of wires is that of the first wire plus c. Gives the garbler's difference, and what the
/// evaluator makes of the second one's tables.
fn attack(seed: u64, same: Option<Block>) -> [Block; 2] {
    let tables = Tables::default();
    let seen = tables.clone();
    let done = Session::with(seed, [listening(&tables), passing()]).run(|engine| {
        let evaluator = engine.me() == EVALUATOR;
        if !evaluator {
            engine.parts().0.deviation.apart = same;
        }
        let x = input(engine, EVALUATOR, &bits(WIRES, 1, |row, _| row % 3 == 0))?;
        let own = x.gathered()?;
        engine.run(&and(), &x.select(0..2))?;
        let mut others = vec![false; WIRES - 1];
        if evaluator {
            let apart = Block::from_bytes(seen.lock().unwrap()[0][..16].try_into().unwrap());
            others = summing_up(&own.labels[1..], own.labels[0] ^ apart);
        }
        let asked = input(engine, EVALUATOR, &bits(WIRES - 1, 1, |row, _| others[row]))?;
        let asked = engine.reveal(&asked, Parties::all(2))?.unwrap();
        let others: Vec<bool> = (0..WIRES - 1).map(|row| asked.row(row)[0] & 1 == 1).collect();
        let delta = *engine.parts().0.keys.delta;
        engine.run(&and_of_sum(&others), &x)?;
        // Nobody notices anything.
        engine.finish()?;
        if !evaluator {
            return Ok(delta);
        }
        let chosen = own.macs[1..].iter().zip(&others).filter(|(_, chosen)| **chosen);
        let macs = chosen.fold(own.macs[0], |sum, (mac, _)| sum ^ *mac);
        let tables = seen.lock().unwrap();
        let halves = tables[1][16..48].as_chunks::<16>().0;
        let halves = Block::from_bytes(halves[0]) ^ Block::from_bytes(halves[1]);
        // The first wire is the gate's left one.
        Ok(halves ^ macs ^ own.labels[0])
    });
    done.map(Result::unwrap)
}

/// Were c the same for all gates, half of the attacks would give the garbler's difference away, unnoticed.
#[test]
fn halves_that_are_told_apart_by_what_is_known_give_the_difference_away() {
    let (mut found, runs) = (0, 24);
    for seed in 0..runs {
        let [delta, made] = attack(seed, Some(Block([0x1234_5678, 1 << 63])));
        assert!(made == delta || made == Block::ZERO);
        found += usize::from(made == delta);
    }
    // 12 ± 4 standard deviations of 2.4.
    assert!((3..=21).contains(&found), "{found} of {runs}");
}

/// What tells the halves apart is drawn for each segment anew.
#[test]
fn no_program_makes_the_halves_of_a_gate_meet() {
    for seed in 0..8 {
        let [delta, made] = attack(seed, None);
        assert!(made != delta && made != Block::ZERO);
    }
}

/// It is sent when the evaluator has opened its bits of the segment, which fix all that gates depend on, and no two segments have the same.
#[test]
fn what_tells_halves_apart_comes_after_the_openings_of_each_segment() {
    let tables = Tables::default();
    let (sent, order) = (tables.clone(), Arc::new(Mutex::new(Vec::new())));
    let seen = order.clone();
    let slow = changing(steps::OPEN_TRIPLES, move |segment, _| {
        std::thread::sleep(Duration::from_millis(20));
        seen.lock().unwrap().push((segment, sent.lock().unwrap().len()));
    });
    let done = Session::with(1, [listening(&tables), slow]).run(program(300));
    assert_eq!(done.map(Result::unwrap), [expected(300), expected(300)]);
    let order = order.lock().unwrap();
    assert!(
        order.iter().all(|(opened, garbled)| garbled <= opened),
        "{order:?}"
    );
    let mut heads: Vec<Vec<u8>> = tables
        .lock()
        .unwrap()
        .iter()
        .map(|body| body[..16].to_vec())
        .collect();
    assert_eq!((heads.len(), order.len()), (5, 5));
    heads.sort_unstable();
    heads.dedup();
    assert_eq!(heads.len(), 5);
}
