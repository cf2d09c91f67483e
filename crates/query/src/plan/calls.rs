//! Functions without a circuit: each is computed by the party whose columns it is of, or refused.

use std::cell::RefCell;
use std::collections::BTreeSet;

use cenote_net::PartyId;

use super::physical::{Physical, Step};
use crate::error::{Error, Place, Result};
use crate::expr::Expr;
use crate::relation::{Aggregate, Function};

/// What is wanted of groups, where functions of the keys are made of the rows before these are grouped: all rows of a group have the same.
pub(super) fn of_keys(
    keys: &[Expr],
    aggregates: &[Aggregate],
    wanted: &[Expr],
) -> (Vec<Aggregate>, Vec<Expr>) {
    let all = RefCell::new(aggregates.to_vec());
    let of_key = |part: &Expr| {
        let mut columns = Vec::new();
        part.columns(&mut |column| columns.push(column));
        if !part.is_call() || columns.iter().any(|&column| column >= keys.len()) {
            return None;
        }
        let aggregate = Aggregate {
            function: Function::Same,
            of: part.over(&|column| keys[column].clone()),
        };
        let mut all = all.borrow_mut();
        let known = all.iter().position(|other| *other == aggregate);
        let at = known.unwrap_or_else(|| {
            all.push(aggregate);
            all.len() - 1
        });
        Some(Expr::column(keys.len() + at, part.kind, part.nullable))
    };
    let wanted = wanted.iter().map(|expr| expr.placed(&of_key)).collect();
    (all.into_inner(), wanted)
}

/// Sees that no function without a circuit would have to be computed secretly.
///
/// # Errors
/// [`Error::Query`], which says why it would, and what to write instead.
pub(super) fn refuse_secret(steps: &Physical, at: Option<Place>) -> Result<()> {
    if steps.owner.is_some() {
        return Ok(());
    }
    for expr in steps.exprs() {
        let Some((call, named, parts)) = expr.calls() else {
            continue;
        };
        let mut found = Sources::default();
        for input in steps.inputs() {
            parts
                .iter()
                .for_each(|part| part.columns(&mut |column| found.add(input, column)));
        }
        let name = call.without_circuit(named.name);
        let what = if found.is_aggregate {
            format!(
                "{name} has no secret computation, and here it is of a value made of many rows; apply it to a party's own column before GROUP BY, or to \
                 the answer"
            )
        } else if found.parties.len() > 1 {
            format!(
                "{name} has no secret computation, and here columns of several parties meet in it; apply it to each party's own columns alone"
            )
        } else {
            format!(
                "{name} has no secret computation, and here it would follow a secret step; apply it to the party's own columns in a subquery in FROM"
            )
        };
        return Err(Error::query(named.at.or(at), what));
    }
    steps
        .inputs()
        .into_iter()
        .try_for_each(|input| refuse_secret(input, at))
}

/// What a column is made of.
#[derive(Default)]
struct Sources {
    /// Columns of steps that were looked at.
    seen: BTreeSet<(*const Physical, usize)>,
    parties: BTreeSet<PartyId>,
    /// Whether it is made of several rows.
    is_aggregate: bool,
}

impl Sources {
    fn add(&mut self, steps: &Physical, column: usize) {
        if let Some(owner) = steps.owner {
            self.parties.insert(owner);
            return;
        }
        if !self.seen.insert((std::ptr::from_ref(steps), column)) {
            return;
        }
        match &*steps.step {
            Step::Scan { .. } | Step::Kept { .. } => (),
            Step::Project(input, exprs) => exprs[column].columns(&mut |column| self.add(input, column)),
            Step::Filter(input, _) | Step::Share(input, _) => self.add(input, column),
            Step::First { input, .. } | Step::Verify { input, .. } => self.add(input, column),
            Step::Group { input, keys, .. } => match column < *keys {
                true => self.add(input, column),
                false => self.is_aggregate = true,
            },
            Step::Window { input, .. } | Step::Repeat { input, .. } => match column < input.columns.len() {
                true => self.add(input, column),
                false => self.is_aggregate = true,
            },
            Step::Union(inputs) => inputs.iter().for_each(|input| self.add(input, column)),
            Step::Join(join) => match column.checked_sub(join.probe.columns.len()) {
                None => self.add(&join.probe, column),
                Some(column) => self.add(&join.lookup, column),
            },
            Step::Paired(parts) => {
                let mut from = 0;
                for part in parts {
                    let width = part.input.columns.len() - usize::from(part.counts.is_some());
                    if (from..from + width).contains(&column) {
                        self.add(&part.input, column - from);
                    }
                    from += width;
                }
            }
        }
    }
}
