//! The search for few ANDs within the least depth.

use super::{Arrival, Op, Plan};

const IMPOSSIBLE: u32 = u32::MAX / 4;

/// How a group is made.
#[derive(Clone, Copy, Debug, Default)]
enum Choice {
    /// It is there already.
    #[default]
    Built,
    Leaf,
    /// First position of the high part.
    Split(u8),
    Majority,
}

/// The cheapest way found for a group within a depth.
#[derive(Clone, Copy, Debug, Default)]
struct Remembered {
    cost: u32,
    /// The carry that it was found for.
    turn: u8,
    choice: Choice,
}

/// A part of a group: its `G` or its `P`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Generate,
    Propagate,
}

pub(super) struct Search<'a> {
    arrivals: &'a [Arrival],
    n: usize,
    /// Least depth of each group, `[part][lo * n + hi]`.
    pub(super) least: [Vec<u32>; 2],
    /// Shallowest node built so far for each group.
    built: [Vec<Option<(u32, usize)>>; 2],
    /// Cheapest way found for a group within a depth.
    memo: Vec<Remembered>,
    /// The carry in hand, counted from 1.
    turn: u8,
    /// The last carry for which some of a group was built: what was remembered up to then counts for nothing.
    changed: [Vec<u8>; 2],
    base: u32,
    levels: usize,
    plan: Plan,
}

impl<'a> Search<'a> {
    pub(super) fn new(arrivals: &'a [Arrival]) -> Self {
        let n = arrivals.len();
        let mut least = [vec![0; n * n], vec![0; n * n]];
        let [generate, propagate] = &mut least;
        for lo in (0..n).rev() {
            for hi in lo..n {
                let (g, p) = if lo == hi {
                    (arrivals[lo].generate, arrivals[lo].propagate)
                } else {
                    (lo + 1..=hi).fold((IMPOSSIBLE, IMPOSSIBLE), |(g, p), k| {
                        let (high, low) = (k * n + hi, lo * n + k - 1);
                        (
                            g.min(generate[high].max(1 + propagate[high].max(generate[low]))),
                            p.min(1 + propagate[high].max(propagate[low])),
                        )
                    })
                };
                generate[lo * n + hi] = g;
                propagate[lo * n + hi] = p;
            }
        }
        Self {
            arrivals,
            n,
            least,
            built: [vec![None; n * n], vec![None; n * n]],
            memo: Vec::new(),
            turn: 0,
            changed: [vec![0; n * n], vec![0; n * n]],
            base: arrivals.iter().map(|a| a.propagate).min().unwrap_or(0),
            levels: 0,
            plan: Plan::default(),
        }
    }

    /// The least depth by which all the wanted carries can be there.
    pub(super) fn limit(&self, wanted: &[usize]) -> u32 {
        let least = &self.least[Part::Generate as usize];
        wanted.iter().map(|&hi| least[hi]).max().unwrap_or(0)
    }

    pub(super) fn run(mut self, outputs: &[usize], order: &[usize]) -> Plan {
        let limit = self.limit(outputs);
        self.levels = (limit - self.base + 1) as usize;
        self.memo = vec![Remembered::default(); 2 * self.n * self.n * self.levels];
        let mut made = vec![0; self.n];
        for &hi in order {
            self.turn += 1;
            self.cost(Part::Generate, 0, hi, limit);
            made[hi] = self.make(Part::Generate, 0, hi, limit).1;
        }
        self.plan.outputs = outputs.iter().map(|&hi| made[hi]).collect();
        self.plan
    }

    /// Where a group within a depth is remembered. Those that meet in [`Self::cheapest_split`] lie close together: low parts of a `G` by
    /// their ends, high parts by their starts.
    #[inline]
    fn slot(&self, part: Part, lo: usize, hi: usize, limit: u32) -> usize {
        let (row, place) = match part {
            Part::Generate => (lo, hi),
            Part::Propagate => (hi, lo),
        };
        let table = part as usize * self.levels + (limit - self.base) as usize;
        (table * self.n + row) * self.n + place
    }

    /// ANDs to add for a group that is at most `limit` deep.
    #[inline]
    fn cost(&mut self, part: Part, lo: usize, hi: usize, limit: u32) -> u32 {
        let slot = self.slot(part, lo, hi, limit);
        let known = &self.memo[slot];
        if known.turn > self.changed[part as usize][lo * self.n + hi] {
            return known.cost;
        }
        let (cost, choice) = self.find_cost(part, lo, hi, limit);
        self.memo[slot] = Remembered {
            cost,
            turn: self.turn,
            choice,
        };
        cost
    }

    fn find_cost(&mut self, part: Part, lo: usize, hi: usize, limit: u32) -> (u32, Choice) {
        let group = lo * self.n + hi;
        if self.least[part as usize][group] > limit {
            return (IMPOSSIBLE, Choice::Leaf);
        }
        match self.built[part as usize][group] {
            Some((depth, _)) if depth <= limit => (0, Choice::Built),
            _ if lo == hi => match part {
                Part::Generate => (self.arrivals[lo].cost, Choice::Leaf),
                Part::Propagate => (0, Choice::Leaf),
            },
            _ => self.cheapest_split(part, lo, hi, limit),
        }
    }

    fn cheapest_split(&mut self, part: Part, lo: usize, hi: usize, limit: u32) -> (u32, Choice) {
        let mut best = (IMPOSSIBLE, Choice::Leaf);
        // A limit of 0 leaves no room for an AND.
        let Some(below) = limit.checked_sub(1).filter(|&l| l >= self.base) else {
            return best;
        };
        if part == Part::Generate && self.arrivals[hi].propagate <= below {
            let cost = self.cost(part, lo, hi - 1, below) + 1;
            best = (cost, Choice::Majority);
        }
        for k in lo + 1..=hi {
            // A single AND is the least that a group takes which is not there.
            if best.0 == 1 {
                break;
            }
            let mut cost = 1 + self.cost(part, lo, k - 1, below);
            if cost < best.0 {
                cost += self.cost(Part::Propagate, k, hi, below);
            }
            if part == Part::Generate && cost < best.0 {
                cost += self.cost(Part::Generate, k, hi, limit);
            }
            if cost < best.0 {
                best = (cost, Choice::Split(k as u8));
            }
        }
        best
    }

    /// Builds a group as the last [`Self::cost`] of it chose; gives its depth and node.
    fn make(&mut self, part: Part, lo: usize, hi: usize, limit: u32) -> (u32, usize) {
        let group = lo * self.n + hi;
        // Another part of the same tree may have built it since its cost was counted.
        if let Some((depth, node)) = self.built[part as usize][group]
            && depth <= limit
        {
            return (depth, node);
        }
        let known = &self.memo[self.slot(part, lo, hi, limit)];
        assert_ne!(known.turn, 0, "its cost was counted");
        let choice = known.choice;
        let below = limit.saturating_sub(1);
        let (depth, op, ands) = match (choice, part) {
            (Choice::Built, _) => unreachable!("what is built was found above"),
            (Choice::Leaf, Part::Generate) => {
                let arrival = self.arrivals[lo];
                (arrival.generate, Op::Generate(lo), arrival.cost)
            }
            (Choice::Leaf, Part::Propagate) => (self.arrivals[lo].propagate, Op::Propagate(lo), 0),
            (Choice::Majority, _) => {
                let (depth, low) = self.make(part, lo, hi - 1, below);
                (
                    1 + depth.max(self.arrivals[hi].propagate),
                    Op::Majority(hi, low),
                    1,
                )
            }
            (Choice::Split(k), Part::Propagate) => {
                let k = usize::from(k);
                let (low_depth, low) = self.make(part, lo, k - 1, below);
                let (high_depth, high) = self.make(part, k, hi, below);
                (1 + low_depth.max(high_depth), Op::JoinPropagate(high, low), 1)
            }
            (Choice::Split(k), Part::Generate) => {
                let k = usize::from(k);
                let (low_depth, low) = self.make(part, lo, k - 1, below);
                let (p_depth, propagate) = self.make(Part::Propagate, k, hi, below);
                let (g_depth, high) = self.make(part, k, hi, limit);
                let depth = g_depth.max(1 + low_depth.max(p_depth));
                (depth, Op::JoinGenerate(high, propagate, low), 1)
            }
        };
        let node = self.plan.push(op, ands);
        self.built[part as usize][group] = Some((depth, node));
        if ands > 0 {
            self.forget(part, lo, hi);
        }
        (depth, node)
    }

    /// Lets what is remembered of groups with this part count for nothing from the next carry on.
    fn forget(&mut self, part: Part, lo: usize, hi: usize) {
        let [generate, propagate] = &mut self.changed;
        for from in 0..=lo {
            let groups = from * self.n + hi..(from + 1) * self.n;
            if part == Part::Propagate {
                propagate[groups.clone()].fill(self.turn);
            }
            generate[groups].fill(self.turn);
        }
    }
}
