//! Networks for all carries out of positions that arrive at once, which the search would take long to find again: a table of what it chose.

use super::making::{Choice, Guide, Making, Part};
use super::{Plan, orders, uniform};

/// For each number of positions from 1 on: which order the carries are made in, how many choices there are (low byte first), and these: of a majority 0, and of
/// two parts the first position of the high one.
///
/// `cargo test --release -p cenote-circuit --lib -- --ignored write_the_table` writes it.
static TABLE: &[u8] = include_bytes!("even.bin");

/// Positions at most.
pub(super) const LIMIT: usize = 128;

/// The network for so many positions.
pub(super) fn plan(positions: usize) -> Plan {
    let (order, choices) = entry(positions);
    let (arrivals, up) = (uniform(positions), (0..positions).collect::<Vec<_>>());
    let mut making = Making::new(&arrivals);
    let mut guide = Written(choices.iter());
    for &hi in &orders(&up, &arrivals)[order] {
        making.carry(hi, limit(positions), &mut guide);
    }
    debug_assert_eq!(guide.0.len(), 0, "the table has no other choices");
    making.finish(&up)
}

/// The least depth of all carries.
fn limit(positions: usize) -> u32 {
    (positions + 1).next_power_of_two().ilog2()
}

/// The order for so many positions, and what is chosen.
fn entry(positions: usize) -> (usize, &'static [u8]) {
    let mut rest = TABLE;
    for _ in 1..positions {
        rest = &rest[3 + length(rest)..];
    }
    (rest[0].into(), &rest[3..][..length(rest)])
}

fn length(entry: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([entry[1], entry[2]]))
}

/// Choices as they are written.
struct Written<'a>(std::slice::Iter<'a, u8>);

impl Guide for Written<'_> {
    fn choose(&mut self, _: Part, _: usize, _: usize, _: u32) -> Choice {
        match self.0.next().expect("the table has all choices") {
            0 => Choice::Majority,
            &split => Choice::Split(split),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Op, search::Search};
    use super::*;

    /// What the table has for so many positions.
    fn found(positions: usize) -> Vec<u8> {
        let (arrivals, up) = (uniform(positions), (0..positions).collect::<Vec<_>>());
        let found = orders(&up, &arrivals).into_iter().enumerate();
        let found = found.map(|(order, carries)| (order, Search::new(&arrivals).run(&up, &carries)));
        let (order, (_, chosen)) = found.min_by_key(|(_, (plan, _))| plan.ands).expect("an order");
        let mut entry = vec![order as u8];
        entry.extend_from_slice(&(chosen.len() as u16).to_le_bytes());
        entry.extend(chosen.iter().map(|choice| match choice {
            Choice::Majority => 0,
            Choice::Split(split) => *split,
            other => panic!("{other:?} is no choice"),
        }));
        entry
    }

    #[test]
    fn the_table_has_what_the_search_finds() {
        for positions in (1..=64).chain([65, 96, LIMIT]) {
            let (order, choices) = entry(positions);
            let found = found(positions);
            assert_eq!((order, choices), (found[0].into(), &found[3..]), "{positions}");
        }
    }

    #[test]
    fn the_table_makes_carries_of_the_least_depth() {
        let mut next = 0;
        for positions in 1..=LIMIT {
            let (_, choices) = entry(positions);
            next += 3 + choices.len();
            let plan = plan(positions);
            let mut depths: Vec<u32> = Vec::new();
            for op in &plan.nodes {
                let depth = |node: usize| depths[node];
                depths.push(match *op {
                    Op::Generate(_) => 1,
                    Op::Propagate(_) => 0,
                    Op::JoinGenerate(high, propagate, low) => {
                        depth(high).max(1 + depth(propagate).max(depth(low)))
                    }
                    Op::JoinPropagate(high, low) => 1 + depth(high).max(depth(low)),
                    Op::Majority(_, low) => 1 + depth(low),
                });
            }
            assert_eq!(plan.outputs.len(), positions);
            let deepest = plan.outputs.iter().map(|&carry| depths[carry]).max();
            assert_eq!(deepest, Some(limit(positions)), "{positions}");
        }
        assert_eq!(next, TABLE.len());
    }

    #[test]
    #[ignore = "it writes a file of the source"]
    fn write_the_table() {
        let table: Vec<u8> = (1..=LIMIT).flat_map(found).collect();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/library/prefix/even.bin");
        std::fs::write(path, table).unwrap();
    }
}
