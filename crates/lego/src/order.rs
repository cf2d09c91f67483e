//! How much material is ordered, or left.

use std::fmt;
use std::ops::{Add, AddAssign};

use cenote_net::PartyId;
use cenote_session::{Demand, Error};

/// Numbers of items of each kind of material, all of them independent of any function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Order {
    /// AND buckets: one for each AND gate of a circuit and lane.
    pub ands: u64,
    /// Input wires of the garbler: a label with an anchor and authenticators.
    pub garbler_inputs: u64,
    /// Input wires of the evaluator: a label with authenticators, and an OT string.
    pub evaluator_inputs: u64,
    /// Anchors alone: one for each output wire that the garbler learns.
    pub anchors: u64,
    /// Masks: one for each output wire that the evaluator learns.
    pub masks: u64,
    /// Ports: one for each wire that enters a circuit.
    pub ports: u64,
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// The kinds of material, in the order of [`Order::counts`].
pub const KINDS: [&str; 6] = [
    "AND gates",
    "garbler inputs",
    "evaluator inputs",
    "garbler outputs",
    "evaluator outputs",
    "circuit inputs",
];

/// Inputs, outputs and ports are rounded up to the next multiple of this.
const ROUNDING: u64 = 128;

/// The same of AND buckets, which are dear one by one.
const ROUNDING_ANDS: u64 = 1024;

impl Order {
    /// The material that `demand` takes if `garbler` garbles and every circuit is built ahead of its inputs: a bucket for each
    /// AND gate, a port for each wire that enters a circuit with AND gates, a gadget for each input bit, and for each output
    /// bit a mask if the evaluator learns it, or else an anchor if the garbler does.
    pub fn of(demand: &Demand<'_>, garbler: PartyId) -> Order {
        let evaluator = PartyId(1 - garbler.0.min(1));
        let outputs = |masks: bool| {
            let to = demand.outputs().iter().filter(|(to, _)| {
                to.contains(evaluator) == masks && (to.contains(garbler) || to.contains(evaluator))
            });
            sum(to.map(|(_, bits)| *bits))
        };
        // A circuit without AND gates needs no solderings: its outputs are sums of its inputs.
        let built = demand.runs().iter().filter(|run| run.plan.and_count() > 0);
        let ports = sum(built.map(|run| {
            let entering = (run.plan.input_wires() as u64).saturating_mul(run.lanes as u64);
            entering.saturating_mul(run.times as u64)
        }));
        Order {
            ands: demand.ands(),
            garbler_inputs: demand.input_bits_of(garbler),
            evaluator_inputs: demand.input_bits_of(evaluator),
            anchors: outputs(false),
            masks: outputs(true),
            ports: ports.saturating_add(demand.unknown_entering()),
        }
    }

    /// Nothing.
    pub const NOTHING: Order = Order {
        ands: 0,
        garbler_inputs: 0,
        evaluator_inputs: 0,
        anchors: 0,
        masks: 0,
        ports: 0,
    };

    /// The numbers, in the order of the fields.
    pub fn counts(&self) -> [u64; 6] {
        [
            self.ands,
            self.garbler_inputs,
            self.evaluator_inputs,
            self.anchors,
            self.masks,
            self.ports,
        ]
    }

    /// The order with these numbers, in the order of the fields.
    pub fn from_counts(counts: [u64; 6]) -> Self {
        let [ands, garbler_inputs, evaluator_inputs, anchors, masks, ports] = counts;
        Self {
            ands,
            garbler_inputs,
            evaluator_inputs,
            anchors,
            masks,
            ports,
        }
    }

    /// Whether nothing is ordered.
    pub fn is_empty(&self) -> bool {
        *self == Order::NOTHING
    }

    /// What `self` has more than `other`, kind by kind.
    #[must_use]
    pub fn beyond(&self, other: &Order) -> Order {
        self.with(other, u64::saturating_sub)
    }

    /// The larger number of each kind.
    #[must_use]
    pub fn max(&self, other: &Order) -> Order {
        self.with(other, u64::max)
    }

    /// `times` of everything.
    #[must_use]
    pub fn times(&self, times: u64) -> Order {
        Order::from_counts(self.counts().map(|count| count.saturating_mul(times)))
    }

    /// A little more of each kind that it has, so that few calls of `generate` need to make any.
    #[must_use]
    pub(crate) fn rounded(&self) -> Order {
        let [ands, rest @ ..] = self.counts();
        let up = |count: u64, to| count.checked_next_multiple_of(to).unwrap_or(u64::MAX);
        let [a, b, c, d, e] = rest.map(|count| up(count, ROUNDING));
        Order::from_counts([up(ands, ROUNDING_ANDS), a, b, c, d, e])
    }

    /// How large it is as an epoch, in AND gates: inputs and anchors count four times.
    pub fn extent(&self) -> u64 {
        let gadgets = [self.garbler_inputs, self.evaluator_inputs, self.anchors];
        let gadgets = sum(gadgets.into_iter()).saturating_mul(4);
        self.ands.max(gadgets).max(self.masks).max(self.ports)
    }

    /// The sum over all kinds of the number and the weight of an item.
    pub(crate) fn weighed(&self, weights: &[u64; 6]) -> u64 {
        sum(self
            .counts()
            .iter()
            .zip(weights)
            .map(|(count, weight)| count.saturating_mul(*weight)))
    }

    /// `part` of `whole` of each kind, rounded up.
    #[must_use]
    pub(crate) fn share(&self, part: u64, whole: u64) -> Order {
        let share = |count: u64| (u128::from(count) * u128::from(part)).div_ceil(u128::from(whole.max(1)));
        Order::from_counts(
            self.counts()
                .map(|count| share(count).try_into().unwrap_or(u64::MAX)),
        )
    }

    /// The smaller number of each kind.
    #[must_use]
    pub fn min(&self, other: &Order) -> Order {
        self.with(other, u64::min)
    }

    /// Whether `other` can be taken from `self`; if not, the first kind that is short.
    ///
    /// # Errors
    /// The first kind of which there is too little.
    pub fn covers(&self, other: &Order) -> Result<(), Short> {
        let (left, wanted) = (self.counts(), other.counts());
        match (0..KINDS.len()).find(|&kind| left[kind] < wanted[kind]) {
            None => Ok(()),
            Some(kind) => Err(Short {
                kind: KINDS[kind],
                wanted: wanted[kind],
                left: left[kind],
            }),
        }
    }

    fn with(&self, other: &Order, f: impl Fn(u64, u64) -> u64) -> Order {
        let (a, b) = (self.counts(), other.counts());
        Order::from_counts(std::array::from_fn(|kind| f(a[kind], b[kind])))
    }
}

impl Add for Order {
    type Output = Order;
    fn add(self, other: Order) -> Order {
        self.with(&other, u64::saturating_add)
    }
}

impl AddAssign for Order {
    fn add_assign(&mut self, other: Order) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Order {
    fn sum<I: Iterator<Item = Order>>(orders: I) -> Order {
        orders.fold(Order::NOTHING, Add::add)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (count, kind) in self
            .counts()
            .into_iter()
            .zip(KINDS)
            .filter(|(count, _)| *count > 0)
        {
            write!(f, "{}{count} {kind}", if first { "" } else { ", " })?;
            first = false;
        }
        if first { f.write_str("nothing") } else { Ok(()) }
    }
}

/// Less material is left than was asked for. Nothing was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} {kind} are needed, {left} are left: generate more")]
pub struct Short {
    /// Of which kind.
    pub kind: &'static str,
    /// How many were asked for.
    pub wanted: u64,
    /// How many are left.
    pub left: u64,
}

impl From<Short> for Error {
    fn from(short: Short) -> Self {
        Error::Exhausted(short.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_add_up_and_name_what_is_short() {
        let a = Order::from_counts([1, 2, 3, 4, 5, 6]);
        assert_eq!(Order::from_counts(a.counts()), a);
        assert_eq!(a + a, a.times(2));
        assert_eq!(a.times(2).beyond(&a), a);
        assert_eq!(a.beyond(&a.times(2)), Order::NOTHING);
        assert!(a.times(2).covers(&a).is_ok() && Order::NOTHING.covers(&Order::NOTHING).is_ok());
        let more = Order { masks: 6, ..a };
        assert_eq!(
            a.covers(&more),
            Err(Short {
                kind: "evaluator outputs",
                wanted: 6,
                left: 5
            })
        );
        assert_eq!(a.max(&more), more);
        assert_eq!(
            Order {
                ands: 7,
                ports: 1,
                ..Order::NOTHING
            }
            .to_string(),
            "7 AND gates, 1 circuit inputs"
        );
        assert_eq!(Order::NOTHING.to_string(), "nothing");
    }
}
