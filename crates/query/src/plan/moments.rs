//! Sums that go together: not all of them can be of the same rows.

use crate::expr::{Arithmetic, Comparison, Expr, Node, ValueKind};
use crate::formula::Formula;
use crate::relation::{Aggregate, Function};

/// How aggregates of groups depend on one another: by their places.
pub(super) struct Moments {
    counts: Vec<Counted>,
    /// What counts values, if one does, and Σx and Σx², or Σx, Σy, Σxy, Σx² and Σy².
    of_same_rows: Vec<(Option<usize>, Vec<usize>)>,
}

/// What counts the values that an aggregate is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Rows,
    /// The aggregate in this place.
    By(usize),
    Nothing,
}

impl Moments {
    pub(super) fn of(aggregates: &[Aggregate]) -> Self {
        let place = |function: Function, of: &Expr| {
            aggregates
                .iter()
                .position(|other| other.function == function && other.of == *of)
        };
        let square = |of: &Expr| {
            aggregates.iter().position(|other| {
                let factors = factors(other);
                factors.is_some_and(|(x, y)| x == of && y == of)
            })
        };
        let sums = |aggregate: &Aggregate| {
            let (x, y) = factors(aggregate)?;
            let sum_of = |of: &Expr| place(Function::Sum, of);
            let (one, other) = (sum_of(x)?, sum_of(y)?);
            let count = place(Function::Count, x);
            match x == y {
                true => Some((count, vec![one, square(x)?])),
                false if !there_together(x, y) => None,
                false => {
                    let both = place(Function::Sum, &aggregate.of)?;
                    Some((count, vec![one, other, both, square(x)?, square(y)?]))
                }
            }
        };
        Moments {
            counts: aggregates
                .iter()
                .map(|aggregate| match place(Function::Count, &aggregate.of) {
                    Some(count) => Counted::By(count),
                    None if !aggregate.of.nullable => Counted::Rows,
                    None => Counted::Nothing,
                })
                .collect(),
            of_same_rows: aggregates.iter().filter_map(sums).collect(),
        }
    }

    /// How many values an aggregate is made of, if that is told.
    pub(super) fn count<'a>(&self, at: usize, made: &'a [Expr], rows: &'a Expr) -> Option<&'a Expr> {
        match self.counts.get(at)? {
            Counted::Rows => Some(rows),
            Counted::By(count) => Some(&made[*count]),
            Counted::Nothing => None,
        }
    }

    /// What holds for such aggregates of rows, of which `rows` says how many there are.
    pub(super) fn conditions(&self, made: &[Expr], rows: &Expr) -> Vec<Expr> {
        let mut conditions = Vec::new();
        for (at, total) in made.iter().enumerate().filter(|(_, total)| total.nullable) {
            if let Some(count) = self.count(at, made, rows) {
                let none = Expr::compare(Comparison::Less, count.clone(), Expr::number(1, 0));
                conditions.extend(none.and_then(|none| same(total.clone().missing(), none)));
            }
        }
        for (count, sums) in &self.of_same_rows {
            let sums: Vec<Expr> = sums.iter().map(|&sum| made[sum].clone()).collect();
            let first = sums[0].clone();
            for sum in sums[1..].iter().filter(|sum| sum.nullable || first.nullable) {
                conditions.extend(same(first.clone().missing(), sum.clone().missing()));
            }
            let count = count.map_or(rows, |count| &made[count]).clone();
            let parts = [count].into_iter().chain(sums).collect();
            let possible = Expr::formula(Formula::Possible, ValueKind::Bool, parts);
            conditions.push(match first.nullable {
                true => first.missing().or(possible),
                false => possible,
            });
        }
        conditions
    }
}

fn same(x: Expr, y: Expr) -> Option<Expr> {
    Expr::compare(Comparison::Equal, x, y)
}

/// Whether two values of a row are null in the same rows, as they are where each is taken with the other only.
fn there_together(x: &Expr, y: &Expr) -> bool {
    let guarded = |of: &'_ Expr| match &of.node {
        Node::If(condition, none, some) => match (&condition.node, &none.node) {
            (Node::IsNull(other), Node::Null) => Some(((**other).clone(), (**some).clone())),
            _ => None,
        },
        _ => None,
    };
    let with = |x: &Expr, y: &Expr| guarded(x).is_some_and(|(other, own)| other == *y && !own.nullable);
    let each_other = || match (guarded(x), guarded(y)) {
        (Some(one), Some((other, own))) => one == (own, other),
        _ => false,
    };
    !x.nullable && !y.nullable || with(x, y) || with(y, x) || each_other()
}

/// What a sum of products is of.
fn factors(aggregate: &Aggregate) -> Option<(&Expr, &Expr)> {
    match (aggregate.function, &aggregate.of.node) {
        (Function::Sum, Node::Arithmetic(Arithmetic::Multiply, x, y)) => Some((x, y)),
        _ => None,
    }
}
