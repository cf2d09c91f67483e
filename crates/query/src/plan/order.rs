//! Joins of several parts: which of them are joined first, and which looks the other up.

use super::atoms::Placed;
use super::combine::{join, slots};
use super::many::ManyToMany;
use super::physical::{Join, Physical};
use crate::error::{Error, Place, Result};
use crate::expr::Expr;
use crate::work::Work;

/// Most relations of a join for which every order is looked at.
const ALL_ORDERS: usize = 6;

/// Two relations have equal values.
pub(super) struct Edge {
    pub(super) inputs: [usize; 2],
    /// Of the first and of the second, over the columns of the join and of one kind.
    pub(super) sides: [Expr; 2],
}

/// Some of the relations, joined.
#[derive(Clone)]
pub(super) struct Joined {
    pub(super) physical: Physical,
    pub(super) inputs: Vec<usize>,
    /// What its columns are, over those of the join.
    pub(super) places: Vec<Placed>,
    pub(super) cost: f64,
}

/// Parts that are joined by these edges.
pub(super) struct Joining<'a> {
    pub(super) edges: &'a [Edge],
    pub(super) work: &'a Work,
    pub(super) at: Option<Place>,
    /// Whether rows are sorted in secret orders, as three parties do, and not by networks.
    pub(super) in_orders: bool,
    /// The most rows of a join in which a key may come several times on both sides.
    pub(super) most: Option<usize>,
}

impl Joining<'_> {
    /// Joins two parts of the same party, if there are any that go together.
    pub(super) fn locally(
        &self,
        parts: &[Joined],
        fits: impl Fn(usize) -> Result<bool>,
    ) -> Result<Option<Vec<Joined>>> {
        for (at, one) in parts.iter().enumerate() {
            for (other_at, other) in parts.iter().enumerate() {
                if at == other_at
                    || one.physical.owner.is_none()
                    || one.physical.owner != other.physical.owner
                    || !fits(at)?
                    || !fits(other_at)?
                {
                    continue;
                }
                if let Some(both) = self.together(one, other)? {
                    let rest = parts
                        .iter()
                        .enumerate()
                        .filter(|(place, _)| ![at, other_at].contains(place));
                    let rest = rest.map(|(_, part)| part.clone());
                    return Ok(Some(rest.chain([both]).collect()));
                }
            }
        }
        Ok(None)
    }

    /// Whether a part can be joined with none of the others.
    pub(super) fn is_alone(&self, part: usize, parts: &[Joined]) -> Result<bool> {
        for (_, other) in parts.iter().enumerate().filter(|(at, _)| *at != part) {
            let one = &parts[part];
            if self.together(one, other)?.is_some() || self.together(other, one)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Each row of `probe` with those of `lookup` that it goes together with, if the promises allow it.
    fn together(&self, probe: &Joined, lookup: &Joined) -> Result<Option<Joined>> {
        let looks = probe.places.len() + lookup.places.len();
        self.work
            .look(looks.saturating_mul(1 + self.edges.len()), self.at)?;
        Ok(self.both(probe, lookup))
    }

    fn both(&self, probe: &Joined, lookup: &Joined) -> Option<Joined> {
        let place = |joined: &Joined, side: &Expr| {
            joined
                .places
                .iter()
                .find(|(_, known)| **known == *side)
                .map(|&(place, _)| place)
        };
        let (mut probe_keys, mut lookup_keys) = (Vec::new(), Vec::new());
        for edge in self.edges {
            for (one, other) in [(0, 1), (1, 0)] {
                if probe.inputs.contains(&edge.inputs[one]) && lookup.inputs.contains(&edge.inputs[other]) {
                    probe_keys.push(place(probe, &edge.sides[one])?);
                    lookup_keys.push(place(lookup, &edge.sides[other])?);
                }
            }
        }
        // Without keys, every row goes together with the only one.
        if probe_keys.is_empty() && lookup.physical.rows != 1 {
            return None;
        }
        let keys = (&probe_keys[..], &lookup_keys[..]);
        let (physical, cost) = match slots(&lookup.physical, &lookup_keys) {
            Some(slots) => self.slotted(probe, lookup, keys, slots)?,
            None => self.many(probe, lookup, keys)?,
        };
        let shift = probe.physical.columns.len();
        let moved = lookup
            .places
            .iter()
            .map(|(place, expr)| (place + shift, expr.clone()));
        let places = probe.places.iter().cloned().chain(moved).collect();
        Some(Joined {
            physical,
            inputs: [&probe.inputs[..], &lookup.inputs].concat(),
            places,
            cost: probe.cost + lookup.cost + cost,
        })
    }

    /// Both joined by these keys, each of which comes so often in `lookup`, and what that takes.
    fn slotted(
        &self,
        probe: &Joined,
        lookup: &Joined,
        keys: (&[usize], &[usize]),
        slots: usize,
    ) -> Option<(Physical, f64)> {
        let (probe, lookup) = (&probe.physical, &lookup.physical);
        let takes = cost((probe, lookup), keys, slots, self.in_orders);
        let joined = join(
            Join {
                probe: probe.clone(),
                lookup: lookup.clone(),
                probe_keys: keys.0.to_vec(),
                lookup_keys: keys.1.to_vec(),
                slots,
                outer: false,
                rest: false,
            },
            self.at,
        );
        Some((joined.ok()?, takes))
    }

    /// The same where a key may come often on both sides. What is looked up must be of one party, for it comes twice in the steps: others could be made to come with
    /// other rows the second time. With `min_group` a row must not count several times.
    fn many(&self, probe: &Joined, lookup: &Joined, keys: (&[usize], &[usize])) -> Option<(Physical, f64)> {
        let (probe, lookup) = (&probe.physical, &lookup.physical);
        if lookup.owner.is_none() || slots(probe, keys.0).is_some() {
            return None;
        }
        let join = ManyToMany {
            probe,
            lookup,
            probe_keys: keys.0.to_vec(),
            lookup_keys: keys.1.to_vec(),
            most: self.most?.min(probe.rows.saturating_mul(lookup.rows)),
            outer: false,
            at: self.at,
        };
        join.joined(self.in_orders).ok()
    }

    /// All parts joined, each of them looked up by those before it.
    pub(super) fn in_turn(&self, parts: Vec<Joined>) -> Result<Joined> {
        let mut parts = parts.into_iter();
        let first = parts.next().ok_or_else(|| self.cannot())?;
        parts.try_fold(first, |joined, next| {
            self.together(&joined, &next)?.ok_or_else(|| self.cannot())
        })
    }

    /// All parts joined, in the order that is cheapest.
    pub(super) fn ordered(&self, parts: Vec<Joined>) -> Result<Joined> {
        let mut best: Option<Joined> = None;
        for start in 0..parts.len() {
            let others = without(&parts.iter().collect::<Vec<_>>(), start);
            if parts.len() <= ALL_ORDERS {
                self.search(parts[start].clone(), &others, &mut best)?;
            } else if let Some(joined) = self.greedily(parts[start].clone(), others)?
                && best.as_ref().is_none_or(|best| joined.cost < best.cost)
            {
                best = Some(joined);
            }
        }
        best.ok_or_else(|| self.cannot())
    }

    fn cannot(&self) -> Error {
        let what = "these tables cannot be joined: each join needs columns of both tables to be equal, and the job must say how often a key occurs in one of \
                    them: add `unique` (or `at_most`) for the column that they are joined by. If it comes several times in both, and one of them is of one party alone, \
                    the job can say instead how many rows the join may have: add `max_join_rows` beside `query`";
        Error::query(self.at, what)
    }

    /// All of them joined, the cheapest next.
    fn greedily(&self, mut joined: Joined, mut others: Vec<&Joined>) -> Result<Option<Joined>> {
        while !others.is_empty() {
            let mut next: Option<(usize, Joined)> = None;
            for (place, other) in others.iter().enumerate() {
                for both in [self.together(&joined, other)?, self.together(other, &joined)?]
                    .into_iter()
                    .flatten()
                {
                    if next.as_ref().is_none_or(|(_, next)| both.cost < next.cost) {
                        next = Some((place, both));
                    }
                }
            }
            let Some((place, both)) = next else {
                return Ok(None);
            };
            others.remove(place);
            joined = both;
        }
        Ok(Some(joined))
    }

    fn search(&self, joined: Joined, others: &[&Joined], best: &mut Option<Joined>) -> Result<()> {
        if best.as_ref().is_some_and(|best| best.cost <= joined.cost) {
            return Ok(());
        }
        if others.is_empty() {
            *best = Some(joined);
            return Ok(());
        }
        for (place, other) in others.iter().enumerate() {
            let rest = without(others, place);
            for both in [self.together(&joined, other)?, self.together(other, &joined)?]
                .into_iter()
                .flatten()
            {
                self.search(both, &rest, best)?;
            }
        }
        Ok(())
    }
}

fn without<'a>(parts: &[&'a Joined], place: usize) -> Vec<&'a Joined> {
    let others = parts.iter().enumerate().filter(|(at, _)| *at != place);
    others.map(|(_, part)| *part).collect()
}

/// About how many ANDs a join takes, of which it is told whether rows are sorted in secret orders.
pub(super) fn cost(
    (probe, lookup): (&Physical, &Physical),
    keys: (&[usize], &[usize]),
    slots: usize,
    in_orders: bool,
) -> f64 {
    if probe.owner.is_some() && probe.owner == lookup.owner {
        return 0.0;
    }
    let bits = |columns: &[usize], of: &Physical| -> f64 {
        columns
            .iter()
            .map(|&column| f64::from(of.columns[column].kind.width()))
            .sum()
    };
    let key = bits(keys.0, probe) + 1.0;
    let payload = lookup.width() as f64 * slots as f64;
    let all = (probe.rows + lookup.rows) as f64;
    let levels = all.log2().max(1.0);
    let joining = if in_orders {
        // Keys are compared with numbers of rows, and then what is looked up is moved, filled in, and moved back.
        all * (1.1 * levels * (key + levels) + 100.0 + 3.0 * payload)
    } else {
        all * levels * (2.0 * key + payload) + sorting(probe, keys.0, key) + sorting(lookup, keys.1, key)
    };
    // What comes next is done with as many rows, which are sorted once more at the least.
    let rows = probe.rows as f64 * slots as f64;
    let width = (probe.width() + lookup.width()) as f64;
    joining + rows * (64.0 + width + 20.0 * rows.log2().max(1.0))
}

/// About how many ANDs a network takes that sorts rows by keys of so many bits, unless they come so.
fn sorting(side: &Physical, keys: &[usize], key: f64) -> f64 {
    let rows = side.rows as f64;
    if side.owner.is_some() || side.is_sorted(keys) || side.rows == 1 {
        return 0.0;
    }
    rows * rows.log2().max(1.0).powi(2) / 4.0 * (key + side.width() as f64)
}
