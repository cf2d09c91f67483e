//! The search for few ANDs within the least depth.

use super::making::{Choice, Guide, Making, Part};
use super::{Arrival, Plan};

const IMPOSSIBLE: u32 = u32::MAX / 4;

/// The cheapest way found for a group within a depth.
#[derive(Clone, Copy, Debug, Default)]
struct Remembered {
    cost: u32,
    /// The carry that it was found for.
    turn: u8,
    choice: Choice,
}

pub(super) struct Search<'a> {
    arrivals: &'a [Arrival],
    n: usize,
    /// Least depth of each group, `[part][lo * n + hi]`.
    pub(super) least: [Vec<u32>; 2],
    making: Making<'a>,
    found: Found,
}

/// What was found so far.
struct Found {
    n: usize,
    /// Cheapest way found for a group within a depth.
    memo: Vec<Remembered>,
    /// The carry in hand, counted from 1.
    turn: u8,
    /// The last carry for which some of a group was built: what was remembered up to then counts for nothing.
    changed: [Vec<u8>; 2],
    base: u32,
    levels: usize,
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
            making: Making::new(arrivals),
            found: Found {
                n,
                memo: Vec::new(),
                turn: 0,
                changed: [vec![0; n * n], vec![0; n * n]],
                base: arrivals.iter().map(|a| a.propagate).min().unwrap_or(0),
                levels: 0,
            },
        }
    }

    /// The least depth by which all the wanted carries can be there.
    pub(super) fn limit(&self, wanted: &[usize]) -> u32 {
        let least = &self.least[Part::Generate as usize];
        wanted.iter().map(|&hi| least[hi]).max().unwrap_or(0)
    }

    /// A plan that builds the carries in this order, and all that was chosen on the way, where there was a choice.
    pub(super) fn run(mut self, outputs: &[usize], order: &[usize]) -> (Plan, Vec<Choice>) {
        let limit = self.limit(outputs);
        self.found.levels = (limit - self.found.base + 1) as usize;
        self.found.memo = vec![Remembered::default(); 2 * self.n * self.n * self.found.levels];
        let mut chosen = Vec::new();
        for &hi in order {
            self.found.turn += 1;
            self.cost(Part::Generate, 0, hi, limit);
            let mut guide = Noted(&mut self.found, &mut chosen);
            self.making.carry(hi, limit, &mut guide);
        }
        (self.making.finish(outputs), chosen)
    }

    /// ANDs to add for a group that is at most `limit` deep.
    #[inline]
    fn cost(&mut self, part: Part, lo: usize, hi: usize, limit: u32) -> u32 {
        let slot = self.found.slot(part, lo, hi, limit);
        let known = &self.found.memo[slot];
        if known.turn > self.found.changed[part as usize][lo * self.n + hi] {
            return known.cost;
        }
        let (cost, choice) = self.find_cost(part, lo, hi, limit);
        self.found.memo[slot] = Remembered {
            cost,
            turn: self.found.turn,
            choice,
        };
        cost
    }

    fn find_cost(&mut self, part: Part, lo: usize, hi: usize, limit: u32) -> (u32, Choice) {
        let group = lo * self.n + hi;
        if self.least[part as usize][group] > limit {
            return (IMPOSSIBLE, Choice::Leaf);
        }
        match self.making.depth(part, lo, hi) {
            Some(depth) if depth <= limit => (0, Choice::Built),
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
        let Some(below) = limit.checked_sub(1).filter(|&l| l >= self.found.base) else {
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
}

impl Found {
    /// Where a group within a depth is remembered. Those that meet in [`Search::cheapest_split`] lie close together: low parts of a `G` by
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

/// What was found, and what was chosen by it.
struct Noted<'a>(&'a mut Found, &'a mut Vec<Choice>);

impl Guide for Noted<'_> {
    fn choose(&mut self, part: Part, lo: usize, hi: usize, limit: u32) -> Choice {
        let known = &self.0.memo[self.0.slot(part, lo, hi, limit)];
        assert_ne!(known.turn, 0, "its cost was counted");
        self.1.push(known.choice);
        known.choice
    }

    fn made(&mut self, part: Part, lo: usize, hi: usize) {
        self.0.forget(part, lo, hi);
    }
}
