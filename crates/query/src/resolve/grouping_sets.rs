//! ROLLUP, CUBE and GROUPING SETS: several groupings of the same rows, one after the other.

use sqlparser::ast;

use super::expression::{Context, Grouping, at};
use super::group_by::by_keys;
use crate::error::{Error, Place, Result};
use crate::expr::{Arithmetic, Expr, ValueKind};
use crate::relation::{Info, Operation, Relation};
use crate::work::Work;

/// Most groupings of a query.
const MAX_SETS: usize = 64;

/// A column that says whether a key is left out has this place and more, where no column of rows is.
const LEFT_OUT: usize = usize::MAX >> 1;

/// A part of GROUP BY: keys, and the sets of them by which it groups.
struct Part<'a> {
    keys: Vec<&'a ast::Expr>,
    sets: Vec<Vec<usize>>,
}

impl<'a> Part<'a> {
    fn of(item: &'a ast::Expr) -> Result<Self> {
        let flat = |lists: &'a [Vec<ast::Expr>]| lists.iter().flatten().collect::<Vec<_>>();
        // The places of the keys of each list.
        let places = |lists: &[Vec<ast::Expr>]| {
            let mut from = 0;
            let of = |list: &Vec<ast::Expr>| {
                from += list.len();
                (from - list.len()..from).collect::<Vec<usize>>()
            };
            lists.iter().map(of).collect::<Vec<_>>()
        };
        Ok(match item {
            ast::Expr::Rollup(lists) => {
                few(lists.len() + 1, at(item))?;
                let places = places(lists);
                let sets = (0..=lists.len()).rev().map(|count| places[..count].concat());
                Part {
                    keys: flat(lists),
                    sets: sets.collect(),
                }
            }
            ast::Expr::Cube(lists) => {
                let count = u32::try_from(lists.len())
                    .ok()
                    .and_then(|count| 1usize.checked_shl(count));
                let count = few(count.unwrap_or(usize::MAX), at(item))?;
                let places = places(lists);
                let chosen = |set: usize| {
                    let of = |(at, own): (usize, &Vec<usize>)| match set >> (lists.len() - 1 - at) & 1 {
                        1 => own.clone(),
                        _ => Vec::new(),
                    };
                    places.iter().enumerate().flat_map(of).collect()
                };
                Part {
                    keys: flat(lists),
                    sets: (0..count).rev().map(chosen).collect(),
                }
            }
            ast::Expr::GroupingSets(lists) => {
                few(lists.len(), at(item))?;
                Part {
                    keys: flat(lists),
                    sets: places(lists),
                }
            }
            ast::Expr::Tuple(none) if none.is_empty() => Part {
                keys: Vec::new(),
                sets: vec![Vec::new()],
            },
            key => Part {
                keys: vec![key],
                sets: vec![vec![0]],
            },
        })
    }
}

/// Sees that there are not more groupings than there may be.
fn few(sets: usize, at: Option<Place>) -> Result<usize> {
    if sets <= MAX_SETS {
        return Ok(sets);
    }
    let what = format!(
        "this asks for more than {MAX_SETS} groupings, each of which is made of all rows; list those that you need with GROUPING SETS"
    );
    Err(Error::query(at, what))
}

/// Keys, and the sets of them that are grouped by: by their places, in ascending order.
pub(super) struct Sets {
    pub(super) keys: Vec<Expr>,
    pub(super) sets: Vec<Vec<usize>>,
}

impl Sets {
    /// All that GROUP BY lists, each combination of the sets of its parts.
    pub(super) fn of<'a>(
        items: &'a [ast::Expr],
        work: &Work,
        mut key: impl FnMut(&'a ast::Expr) -> Result<Expr>,
    ) -> Result<Self> {
        let mut all = Sets {
            keys: Vec::new(),
            sets: vec![Vec::new()],
        };
        for item in items {
            let part = Part::of(item)?;
            let mut places = Vec::new();
            for expr in part.keys {
                places.push(all.place(key(expr)?, work, at(item))?);
            }
            few(all.sets.len().saturating_mul(part.sets.len()), at(item))?;
            let with = |before: &Vec<usize>, set: &Vec<usize>| {
                let mut both = before.clone();
                both.extend(set.iter().map(|&own| places[own]));
                both.sort_unstable();
                both.dedup();
                both
            };
            let sets = all
                .sets
                .iter()
                .flat_map(|before| part.sets.iter().map(|set| with(before, set)));
            all.sets = sets.collect();
        }
        Ok(all)
    }

    fn place(&mut self, key: Expr, work: &Work, at: Option<Place>) -> Result<usize> {
        work.look(self.keys.len().saturating_mul(key.extent().parts), at)?;
        let known = self.keys.iter().position(|other| *other == key);
        Ok(known.unwrap_or_else(|| {
            self.keys.push(key);
            self.keys.len() - 1
        }))
    }

    /// Whether all keys are in the only set.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.sets.as_slice(), [only] if only.len() == self.keys.len())
    }
}

/// A column of groups, beside their keys, that says whether a key is left out.
pub(super) fn left_out(key: usize) -> Expr {
    let kind = ValueKind::Number {
        least: 0,
        most: 1,
        scale: 0,
    };
    Expr::column(LEFT_OUT + key, kind, false)
}

impl Context<'_> {
    /// Which of these keys are left out of a group, the last one as the lowest bit.
    pub(super) fn grouping_of(&mut self, whole: &ast::Expr, of: &[Option<&ast::Expr>]) -> Result<Expr> {
        let no_key = || {
            let what = "GROUPING takes what is grouped by, up to 32 of them";
            Error::query(at(whole), what)
        };
        let mut plain = self.plain();
        let Some(grouping) = self.grouping.as_deref().filter(|_| (1..=32).contains(&of.len())) else {
            return Err(no_key());
        };
        let mut mask = Expr::number(0, 0);
        for key in of {
            let found = plain.expression(key.ok_or_else(no_key)?)?;
            let place = grouping
                .keys
                .iter()
                .position(|key| *key == found)
                .ok_or_else(no_key)?;
            let flag = match &grouping.sets {
                None => Expr::number(0, 0),
                Some(_) => {
                    let count = grouping.keys.len() / 2;
                    Expr {
                        node: Expr::column(count + place, ValueKind::Bool, false).node,
                        ..left_out(place)
                    }
                }
            };
            let twice = Expr::arithmetic(Arithmetic::Multiply, mask, Expr::number(2, 0));
            mask = Expr::arithmetic(Arithmetic::Add, twice, flag);
        }
        self.fitting(whole, mask)
    }
}

/// The groups of each set, one set after the other: the columns are all keys, null where they are left out, whether each is, and what is made of the groups.
pub(super) fn of_sets(
    relation: &Relation,
    grouping: &Grouping,
    sets: &[Vec<usize>],
    (work, at): (&Work, Option<Place>),
) -> Result<Relation> {
    let count = grouping.keys.len() / 2;
    let mut inputs = Vec::new();
    for set in sets {
        work.make(relation.parts(), at)?;
        let keys: Vec<Expr> = set.iter().map(|&key| grouping.keys[key].clone()).collect();
        work.keep(
            keys.iter()
                .chain(grouping.aggregates.iter().map(|(aggregate, _)| &aggregate.of)),
            at,
        )?;
        let own = Grouping {
            grouped: !keys.is_empty(),
            keys,
            aggregates: grouping.aggregates.clone(),
            rows: grouping.rows,
            sets: None,
            columns: grouping.columns,
            ranked: grouping.ranked.clone(),
        };
        let groups = by_keys(relation.clone(), own, at)?;
        let made = groups.all();
        let keys = grouping.keys[..count].iter().enumerate();
        let told = keys.map(|(key, expr)| match set.binary_search(&key) {
            Ok(place) => made[place].clone(),
            Err(_) => Expr::null(expr.kind),
        });
        let flags = (0..count).map(|key| {
            let flag = Expr::number(i128::from(set.binary_search(&key).is_err()), 0);
            flag.into_kind(left_out(key).kind)
        });
        let columns: Vec<Expr> = told
            .chain(flags)
            .chain(made[set.len()..].iter().cloned())
            .collect();
        inputs.push(
            groups.project(
                columns
                    .into_iter()
                    .map(|column| (String::new(), column))
                    .collect(),
            ),
        );
    }
    let columns = (0..inputs[0].columns.len()).map(|place| Info {
        nullable: inputs.iter().any(|input| input.columns[place].nullable),
        ..inputs[0].columns[place].clone()
    });
    Ok(Relation {
        columns: columns.collect(),
        operation: Operation::Union(inputs),
        at,
    })
}
