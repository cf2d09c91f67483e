//! MEDIAN and percentiles: of the values in their order, which a window numbers before rows are grouped.

use sqlparser::ast;

use super::expression::{Context, Grouping, at};
use super::function::{Values, arguments, misplaced};
use super::number::MAX_PLACES;
use super::order::ordered_by;
use crate::error::{Error, Result};
use crate::expr::{Arithmetic, Comparison, DIVISION_PLACES, Expr, Node, ValueKind};
use crate::relation::{Aggregate, Function, Order, Relation};
use crate::window::{Made, Reach, Window, WindowColumn};

/// Most decimal places of a fraction.
const PLACES: u8 = 9;

/// Values of groups in their order.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Ranked {
    of: Expr,
    descending: bool,
}

/// Columns of a row, and of its group: the value, its number in the order, and how many there are.
struct Place {
    value: Expr,
    number: Expr,
    count: Expr,
    /// Gives the first value in the order.
    first: Function,
}

/// Whether a function is a percentile.
pub(super) fn is_percentile(name: &str) -> bool {
    matches!(
        name,
        "MEDIAN" | "PERCENTILE_CONT" | "PERCENTILE_DISC" | "QUANTILE" | "QUANTILE_CONT" | "QUANTILE_DISC"
    )
}

impl Ranked {
    fn number() -> Made {
        Made::Total(Function::Rows, Reach::Row)
    }

    fn count() -> Made {
        Made::Total(Function::Count, Reach::Partition)
    }

    /// The two columns that it adds, to groups by these keys.
    fn window(self, keys: &[Expr]) -> Window {
        let count = WindowColumn {
            made: Self::count(),
            of: Some(self.of.clone()),
        };
        let number = WindowColumn {
            made: Self::number(),
            of: None,
        };
        Window {
            partition: keys.to_vec(),
            order: vec![Order {
                by: self.of,
                descending: self.descending,
                nulls_first: false,
            }],
            // Equal values are equal.
            is_exact: false,
            columns: vec![number, count],
        }
    }
}

/// The rows with the numbers of values in their groups.
pub(super) fn ranked(relation: Relation, grouping: &mut Grouping) -> Relation {
    let ranked = std::mem::take(&mut grouping.ranked);
    ranked.into_iter().fold(relation, |relation, ranked| {
        relation.windowed(ranked.window(&grouping.keys), grouping.rows)
    })
}

impl Grouping {
    /// A value of a row with its place among those of its group.
    fn place(&mut self, ranked: Ranked) -> Place {
        let known = self.ranked.iter().position(|other| *other == ranked);
        let at = self.columns + 2 * known.unwrap_or(self.ranked.len());
        let column = |at, made: Made, of| {
            let (kind, nullable) = made.kind(of, self.rows);
            Expr::column(at, kind, nullable)
        };
        let of = &ranked.of;
        let place = Place {
            number: column(at, Ranked::number(), None),
            count: column(at + 1, Ranked::count(), Some((of.kind, of.nullable))),
            value: of.clone(),
            first: if ranked.descending {
                Function::Greatest
            } else {
                Function::Least
            },
        };
        if known.is_none() {
            self.ranked.push(ranked);
        }
        place
    }

    /// The first value from a row on for which `condition` holds, as it then does for all that come later.
    fn first_of(&mut self, place: &Place, condition: Expr) -> Expr {
        let none = Expr::null(place.value.kind);
        let of = Expr::choice(condition, place.value.clone(), none).expect("both are of a kind");
        let function = place.first;
        self.add(Aggregate { function, of }, false)
    }
}

fn times(x: Expr, factor: i128) -> Expr {
    match factor {
        1 => x,
        _ => Expr::arithmetic(Arithmetic::Multiply, x, Expr::number(factor, 0)),
    }
}

fn plus(x: Expr, more: i128) -> Expr {
    match more {
        0 => x,
        _ => Expr::arithmetic(Arithmetic::Add, x, Expr::number(more, 0)),
    }
}

fn less(x: Expr, y: Expr) -> Expr {
    Expr::compare(Comparison::Less, x, y).expect("both are numbers")
}

impl Context<'_> {
    /// A percentile of the values of a group.
    pub(super) fn percentile(
        &mut self,
        whole: &ast::Expr,
        function: &ast::Function,
        name: &str,
    ) -> Result<Expr> {
        let wrong = |what: String| Err(Error::query(at(whole), what));
        if function.over.is_some() {
            return wrong(format!(
                "{name} takes no OVER; use GROUP BY in a subquery, and join with it"
            ));
        }
        let bare = ast::Function {
            within_group: Vec::new(),
            ..function.clone()
        };
        let arguments = arguments(&bare, name, at(whole))?;
        let is_ordered = name.starts_with("PERCENTILE");
        let (of, fraction, descending) = match (&arguments[..], &function.within_group[..]) {
            ([Some(of)], []) if name == "MEDIAN" => (*of, None, false),
            ([Some(of), Some(fraction)], []) if name != "MEDIAN" && !is_ordered => {
                (*of, Some(*fraction), false)
            }
            ([Some(fraction)], [by]) if is_ordered => {
                let descending = ordered_by(by, Expr::bool(true))?.descending;
                (&by.expr, Some(*fraction), descending)
            }
            _ if is_ordered => return wrong(format!("write {name}(0.9) WITHIN GROUP (ORDER BY x)")),
            _ if name == "MEDIAN" => return wrong("write MEDIAN(x)".into()),
            _ => return wrong(format!("write {name}(x, 0.9)")),
        };
        let (part, unit) = match fraction {
            None => (1, 2),
            Some(fraction) => self.fraction(fraction, name)?,
        };
        let values = Values::of(function);
        let Some(grouping) = self.grouping.take() else {
            return Err(misplaced(at(whole)));
        };
        let of = self.plain().made_of(at(whole), Function::Least, Some(of), values);
        let found = match of {
            Err(error) => Err(error),
            Ok(_) if values.distinct => wrong(format!("{name} takes no DISTINCT")),
            Ok((Aggregate { of, .. }, _)) => {
                let place = grouping.place(Ranked { of, descending });
                match name {
                    "PERCENTILE_DISC" | "QUANTILE" | "QUANTILE_DISC" => {
                        Ok(grouping.at_rank(&place, part, unit))
                    }
                    _ if !matches!(place.value.kind, ValueKind::Number { .. }) => wrong(format!(
                        "{name} needs a number, but this is {}; PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x) takes any values",
                        place.value.kind.name()
                    )),
                    _ => Ok(grouping.between_ranks(&place, part, unit)),
                }
            }
        };
        self.grouping = Some(grouping);
        found
    }

    /// A constant from 0 to 1, as a fraction in its lowest terms.
    fn fraction(&mut self, expr: &ast::Expr, name: &str) -> Result<(i128, i128)> {
        let fraction = self.plain().expression(expr)?;
        match (fraction.node, fraction.kind) {
            (Node::Number(part), ValueKind::Number { scale, .. }) if scale <= PLACES => {
                let unit = 10i128.pow(scale.into());
                let (mut x, mut y) = (unit, part);
                while y != 0 {
                    (x, y) = (y, x % y);
                }
                (0..=unit).contains(&part).then(|| (part / x, unit / x))
            }
            _ => None,
        }
        .ok_or_else(|| {
            let what = format!(
                "{name} takes a constant from 0 to 1 with at most {PLACES} decimal places, such as 0.9"
            );
            Error::query(at(expr), what)
        })
    }
}

impl Grouping {
    /// The first value at or behind the fraction `part / unit` of all.
    fn at_rank(&mut self, place: &Place, part: i128, unit: i128) -> Expr {
        let before = less(
            times(place.number.clone(), unit),
            times(place.count.clone(), part),
        );
        self.first_of(place, before.not())
    }

    /// The value at the fraction `part / unit` of the way from the first to the last, between the two that stand there.
    fn between_ranks(&mut self, place: &Place, part: i128, unit: i128) -> Expr {
        // The place (count - 1) · part / unit, from 0 on, is not above a number - 1, or is below the number.
        let reached = plus(times(place.number.clone(), unit), part);
        let wanted = times(place.count.clone(), part);
        let low = self.first_of(place, less(wanted.clone(), reached.clone()));
        let high = self.first_of(place, less(reached, plus(wanted, unit)).not());
        let count = Aggregate {
            function: if place.value.nullable {
                Function::Count
            } else {
                Function::Rows
            },
            of: if place.value.nullable {
                place.value.clone()
            } else {
                Expr::bool(true)
            },
        };
        let count = self.add(count, false);
        let way = times(plus(count, -1), part);
        let rest = Expr::arithmetic(Arithmetic::Remainder, way, Expr::number(unit, 0));
        let step = Expr::arithmetic(Arithmetic::Subtract, high, low.clone());
        let step = Expr::arithmetic(Arithmetic::Multiply, step, rest);
        let (places, whole) = (
            low.kind.scale() + DIVISION_PLACES,
            10i128.pow(DIVISION_PLACES.into()),
        );
        if whole % unit == 0 && places <= MAX_PLACES {
            // The places that a quotient has are enough for all of it.
            let step = Expr::arithmetic(
                Arithmetic::Multiply,
                step,
                Expr::number(whole / unit, DIVISION_PLACES),
            );
            return Expr::arithmetic(Arithmetic::Add, low.with_places(places), step);
        }
        let sum = Expr::arithmetic(Arithmetic::Add, times(low, unit), step);
        Expr::quotient(sum, Expr::number(unit, 0))
    }
}
