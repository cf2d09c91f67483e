//! How a network is put together, group by group.

use super::{Arrival, Op, Plan};

/// How a group is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Choice {
    /// It is there already.
    #[default]
    Built,
    Leaf,
    /// First position of the high part.
    Split(u8),
    Majority,
}

/// A part of a group: its `G` or its `P`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Generate,
    Propagate,
}

/// What decides how groups of several positions are made.
pub(super) trait Guide {
    /// How to make a group that is at most `limit` deep.
    fn choose(&mut self, part: Part, lo: usize, hi: usize, limit: u32) -> Choice;

    /// Hears that a group was made by an AND.
    fn made(&mut self, _: Part, _: usize, _: usize) {}
}

/// A network that is being made.
pub(super) struct Making<'a> {
    arrivals: &'a [Arrival],
    /// Depth and node of the shallowest that was built of each group, `[part][lo * n + hi]`.
    built: [Vec<Option<(u32, usize)>>; 2],
    plan: Plan,
    /// The node of each carry.
    carries: Vec<usize>,
}

impl<'a> Making<'a> {
    pub(super) fn new(arrivals: &'a [Arrival]) -> Self {
        let groups = arrivals.len().pow(2);
        Self {
            arrivals,
            built: [vec![None; groups], vec![None; groups]],
            plan: Plan::default(),
            carries: vec![0; arrivals.len()],
        }
    }

    /// How deep a group is, if it was built.
    pub(super) fn depth(&self, part: Part, lo: usize, hi: usize) -> Option<u32> {
        self.built[part as usize][lo * self.arrivals.len() + hi].map(|(depth, _)| depth)
    }

    /// Makes the carry out of a position, at most `limit` deep.
    pub(super) fn carry(&mut self, hi: usize, limit: u32, guide: &mut impl Guide) {
        self.carries[hi] = self.make(Part::Generate, (0, hi), limit, guide).1;
    }

    /// The network, whose outputs are these carries.
    pub(super) fn finish(mut self, outputs: &[usize]) -> Plan {
        self.plan.outputs = outputs.iter().map(|&hi| self.carries[hi]).collect();
        self.plan
    }

    /// Makes a group that is at most `limit` deep; gives its depth and node.
    fn make(
        &mut self,
        part: Part,
        (lo, hi): (usize, usize),
        limit: u32,
        guide: &mut impl Guide,
    ) -> (u32, usize) {
        let group = lo * self.arrivals.len() + hi;
        // Another part of the same tree may have built it since it was decided on.
        if let Some((depth, node)) = self.built[part as usize][group]
            && depth <= limit
        {
            return (depth, node);
        }
        let choice = match lo == hi {
            true => Choice::Leaf,
            false => guide.choose(part, lo, hi, limit),
        };
        let below = limit.saturating_sub(1);
        let (depth, op, ands) = match (choice, part) {
            (Choice::Built, _) => unreachable!("what is built was found above"),
            (Choice::Leaf, Part::Generate) => {
                let arrival = self.arrivals[lo];
                (arrival.generate, Op::Generate(lo), arrival.cost)
            }
            (Choice::Leaf, Part::Propagate) => (self.arrivals[lo].propagate, Op::Propagate(lo), 0),
            (Choice::Majority, Part::Propagate) => unreachable!("only a carry is a majority"),
            (Choice::Majority, Part::Generate) => {
                let (depth, low) = self.make(part, (lo, hi - 1), below, guide);
                let depth = 1 + depth.max(self.arrivals[hi].propagate);
                (depth, Op::Majority(hi, low), 1)
            }
            (Choice::Split(k), Part::Propagate) => {
                let k = usize::from(k);
                let (low_depth, low) = self.make(part, (lo, k - 1), below, guide);
                let (high_depth, high) = self.make(part, (k, hi), below, guide);
                (1 + low_depth.max(high_depth), Op::JoinPropagate(high, low), 1)
            }
            (Choice::Split(k), Part::Generate) => {
                let k = usize::from(k);
                let (low_depth, low) = self.make(part, (lo, k - 1), below, guide);
                let (p_depth, propagate) = self.make(Part::Propagate, (k, hi), below, guide);
                let (g_depth, high) = self.make(part, (k, hi), limit, guide);
                let depth = g_depth.max(1 + low_depth.max(p_depth));
                (depth, Op::JoinGenerate(high, propagate, low), 1)
            }
        };
        let node = self.plan.push(op, ands);
        self.built[part as usize][group] = Some((depth, node));
        if ands > 0 {
            guide.made(part, lo, hi);
        }
        (depth, node)
    }
}
