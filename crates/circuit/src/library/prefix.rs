//! Carries of an addition at least AND depth, and then with few ANDs: parallel-prefix networks.
//!
//! A group of neighbouring positions *generates* a carry (`G`) or *propagates* the one that enters it (`P`). Two groups
//! join by `G = G_high ⊕ P_high ∧ G_low` and `P = P_high ∧ P_low`. Since XOR is free, `G_high` may be as deep as the
//! result, so that depth `d` reaches over `2^d - 1` positions: 32-bit addition has depth 5, where counting levels of a
//! classical prefix tree gives 6. A single position joins by a majority, `G = maj(x, y, G_low)`, which saves the AND
//! of its own `G`.
//!
//! Every position states when its bits arrive. The plan meets the least possible depth of the slowest wanted carry and
//! looks for few ANDs within it: each carry in turn takes the cheapest way to split its positions, counting as free
//! what earlier carries have built. That search is a heuristic, its depth is optimal for this family of networks.

mod even;
mod known;
mod making;
mod search;

use std::sync::Arc;

use search::Search;

use super::timed::Timed;
use crate::Builder;

/// Above this many positions the search is too slow and the plan is a fixed Sklansky tree, unless a table has one.
const SEARCH_LIMIT: usize = 65;
/// What is remembered of the search is kept in a byte for each position.
const _: () = assert!(SEARCH_LIMIT < 256 && even::LIMIT < 256);
/// Above this many positions that arrive at different times, only the order that is best for most sums is tried.
const UNEVEN_LIMIT: usize = 40;

/// Which carries out of positions are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    /// The one out of every position.
    All,
    /// Only the one out of the last position.
    Last,
}

/// One position of an addition: two bits, or a carry that enters below the first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Position {
    /// Two addends.
    Pair(Timed, Timed),
    /// A carry from outside; only ever the first position.
    Carry(Timed),
}

/// The carries out of `positions`, first to last; with [`Wanted::Last`], only the last one.
pub(super) fn carries(b: &mut Builder, positions: &[Position], wanted: Wanted) -> Vec<Timed> {
    if positions.is_empty() {
        return Vec::new();
    }
    let arrivals: Vec<Arrival> = positions.iter().map(Arrival::of).collect();
    plan(&arrivals, wanted).emit(b, positions)
}

/// When the parts of a position are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Arrival {
    propagate: u32,
    generate: u32,
    /// ANDs that its `G` costs.
    cost: u32,
}

impl Arrival {
    fn of(position: &Position) -> Self {
        match *position {
            Position::Carry(carry) => Arrival {
                propagate: carry.depth,
                generate: carry.depth,
                cost: 0,
            },
            Position::Pair(x, y) => {
                let cost = u32::from(!x.is_constant() && !y.is_constant());
                let propagate = x.depth.max(y.depth);
                Arrival {
                    propagate,
                    generate: propagate + cost,
                    cost,
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Generate(usize),
    Propagate(usize),
    /// `G_high`, `P_high`, `G_low`.
    JoinGenerate(usize, usize, usize),
    JoinPropagate(usize, usize),
    /// A position and the carry that enters it.
    Majority(usize, usize),
}

/// A network: each node refers to earlier ones.
#[derive(Debug, Default)]
struct Plan {
    nodes: Vec<Op>,
    outputs: Vec<usize>,
    ands: u32,
}

impl Plan {
    fn push(&mut self, op: Op, ands: u32) -> usize {
        self.nodes.push(op);
        self.ands += ands;
        self.nodes.len() - 1
    }

    fn emit(&self, b: &mut Builder, positions: &[Position]) -> Vec<Timed> {
        let mut nodes: Vec<Timed> = Vec::with_capacity(self.nodes.len());
        for op in &self.nodes {
            let node = match *op {
                Op::Generate(i) => match positions[i] {
                    Position::Carry(carry) => carry,
                    Position::Pair(x, y) => x.and(b, y),
                },
                Op::Propagate(i) => match positions[i] {
                    Position::Carry(_) => unreachable!("nothing lies below the carry from outside"),
                    Position::Pair(x, y) => x.xor(b, y),
                },
                Op::JoinGenerate(high, propagate, low) => {
                    let passed = nodes[propagate].and(b, nodes[low]);
                    nodes[high].xor(b, passed)
                }
                Op::JoinPropagate(high, low) => nodes[high].and(b, nodes[low]),
                Op::Majority(i, low) => match positions[i] {
                    Position::Carry(_) => unreachable!("nothing lies below the carry from outside"),
                    Position::Pair(x, y) => x.majority(b, y, nodes[low]),
                },
            };
            nodes.push(node);
        }
        self.outputs.iter().map(|&node| nodes[node]).collect()
    }
}

fn plan(arrivals: &[Arrival], wanted: Wanted) -> Arc<Plan> {
    let last = arrivals.len() - 1;
    if wanted == Wanted::All && arrivals.len() <= even::LIMIT && is_uniform(arrivals) {
        return known::plan(arrivals.to_vec(), wanted, |arrivals| {
            Arc::new(even::plan(arrivals.len()))
        });
    }
    if arrivals.len() > SEARCH_LIMIT {
        return Arc::new(sklansky(arrivals, wanted));
    }
    let up: Vec<usize> = match wanted {
        Wanted::All => (0..=last).collect(),
        Wanted::Last => vec![last],
    };
    known::plan(arrivals.to_vec(), wanted, |arrivals| {
        known::plan(clamp(arrivals, &up), wanted, |arrivals| {
            Arc::new(search(arrivals, &up))
        })
    })
}

/// Pairs that arrive at once.
fn uniform(positions: usize) -> Vec<Arrival> {
    let arrival = Arrival {
        propagate: 0,
        generate: 1,
        cost: 1,
    };
    vec![arrival; positions]
}

fn is_uniform(arrivals: &[Arrival]) -> bool {
    arrivals
        .iter()
        .all(|arrival| arrival.cost == 1 && *arrival == arrivals[0])
}

fn search(arrivals: &[Arrival], up: &[usize]) -> Plan {
    let mut best: Option<Plan> = None;
    for order in orders(up, arrivals) {
        let plan = Search::new(arrivals).run(up, &order).0;
        if best.as_ref().is_none_or(|b| plan.ands < b.ands) {
            best = Some(plan);
        }
    }
    best.expect("some order was tried")
}

/// Lets bits that arrive long before they matter arrive a little before, so that the search has few depths to look at.
/// The least depth stays what it is.
fn clamp(arrivals: &[Arrival], wanted: &[usize]) -> Vec<Arrival> {
    let limit = Search::new(arrivals).limit(wanted);
    let floor = limit.saturating_sub(2 * arrivals.len().next_power_of_two().ilog2() + 2);
    let raise = |a: &Arrival| Arrival {
        propagate: a.propagate.max(floor),
        generate: a.generate.max(floor + a.cost),
        cost: a.cost,
    };
    let raised: Vec<Arrival> = arrivals.iter().map(raise).collect();
    if Search::new(&raised).limit(wanted) == limit {
        raised
    } else {
        arrivals.to_vec()
    }
}

/// Orders in which to build the carries; none is best for all widths.
fn orders(up: &[usize], arrivals: &[Arrival]) -> Vec<Vec<usize>> {
    let mut down = up.to_vec();
    down.reverse();
    if up.len() == 1 {
        return vec![down];
    }
    // Corners of a balanced tree first, aligned to either end.
    let by_corner = |corner: &dyn Fn(usize) -> usize| {
        let mut order = down.clone();
        order.sort_by_key(|&k| std::cmp::Reverse(corner(k).trailing_zeros()));
        order
    };
    let from_top = by_corner(&|k| down.len() - 1 - k);
    let even = arrivals.iter().all(|arrival| *arrival == arrivals[0]);
    if arrivals.len() > UNEVEN_LIMIT && !even {
        return vec![from_top];
    }
    let from_bottom = [by_corner(&|k| k + 1), by_corner(&|k| k + 2)];
    [down].into_iter().chain(from_bottom).chain([from_top]).collect()
}

/// A balanced tree in which every carry needs only one more join once its half is done.
fn sklansky(arrivals: &[Arrival], wanted: Wanted) -> Plan {
    fn span(plan: &mut Plan, arrivals: &[Arrival], lo: usize, hi: usize) -> Vec<(usize, usize)> {
        if lo == hi {
            let generate = plan.push(Op::Generate(lo), arrivals[lo].cost);
            // Position 0 is never the high part of a join; its own `G` stands in for the `P` that nobody reads.
            let propagate = if lo == 0 {
                generate
            } else {
                plan.push(Op::Propagate(lo), 0)
            };
            return vec![(generate, propagate)];
        }
        // The low part of `2^d - 1` positions is as deep as a high part of `2^d`.
        let split = (lo + 1..=hi)
            .max_by_key(|k| (k + 1).trailing_zeros())
            .expect("two positions or more");
        let mut out = span(plan, arrivals, lo, split - 1);
        let (low_g, low_p) = *out.last().expect("not empty");
        for (g, p) in span(plan, arrivals, split, hi) {
            let joined = plan.push(Op::JoinGenerate(g, p, low_g), 1);
            let both = if lo == 0 {
                joined
            } else {
                plan.push(Op::JoinPropagate(p, low_p), 1)
            };
            out.push((joined, both));
        }
        out
    }
    let mut plan = Plan::default();
    let all = span(&mut plan, arrivals, 0, arrivals.len() - 1);
    let skip = if wanted == Wanted::Last { all.len() - 1 } else { 0 };
    plan.outputs = all[skip..].iter().map(|&(g, _)| g).collect();
    plan
}

#[cfg(test)]
mod tests {
    use super::making::Part;
    use super::*;

    #[test]
    fn the_search_beats_the_balanced_tree() {
        for n in 5..=even::LIMIT {
            let arrivals = uniform(n);
            assert!(
                plan(&arrivals, Wanted::All).ands < sklansky(&arrivals, Wanted::All).ands,
                "{n}"
            );
        }
    }

    #[test]
    fn depth_d_reaches_over_one_less_than_two_to_the_d_positions() {
        for n in 1..=even::LIMIT {
            let arrivals = uniform(n);
            let least = Search::new(&arrivals).least[Part::Generate as usize][n - 1];
            assert_eq!(least, (n + 1).next_power_of_two().ilog2(), "{n}");
        }
    }
}
