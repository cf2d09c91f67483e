//! Windows: rows are sorted once for all that is made of them in one order.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::physical::{Column, Ordered, Physical, Step, values};
use super::planner::Planner;
use crate::error::Result;
use crate::expr::{Expr, Node};
use crate::relation::{Function, Order, Relation};
use crate::window::{Made, Reach, Window, WindowColumn};

/// From here on the columns of an expression are those that a window adds.
const ADDED: usize = 1 << 24;

/// What is made of the rows around each row.
#[derive(Clone, Debug)]
pub(crate) struct Windowed {
    /// What rows are sorted by: first what those of a partition have in common, then the order in it, and then what tells rows apart that are equal in that.
    pub(crate) order: Vec<Ordered>,
    /// How many of these make a partition.
    pub(crate) partition: usize,
    /// How many of these make rows equal.
    pub(crate) peers: usize,
    /// What is made, each of a column.
    pub(crate) made: Vec<(Made, Option<usize>)>,
}

impl Windowed {
    /// Whether rows need not be sorted for it.
    pub(crate) fn is_unordered(&self) -> bool {
        self.order.is_empty() && self.made.iter().all(|(made, _)| made.is_of_all())
    }

    /// What it makes, in the words of SQL, of columns with these names.
    pub(crate) fn told(&self, names: &[String]) -> impl Iterator<Item = String> {
        let name = |of: Option<usize>| of.map_or("", |of| &names[of]);
        self.made.iter().map(move |(made, of)| made.told(name(*of)))
    }
}

/// What is needed of the rows of a window, each expression once.
struct Needed<'a> {
    exprs: RefCell<Vec<Expr>>,
    /// How many columns the rows have.
    count: usize,
    /// Which of the columns that the window adds are wanted, one after the other.
    used: &'a [usize],
}

impl Needed<'_> {
    fn known(&self, expr: &Expr) -> Option<usize> {
        self.exprs.borrow().iter().position(|other| other == expr)
    }

    /// The place of an expression of the rows.
    fn place(&self, expr: &Expr) -> usize {
        self.known(expr).unwrap_or_else(|| {
            let mut exprs = self.exprs.borrow_mut();
            exprs.push(expr.clone());
            exprs.len() - 1
        })
    }

    fn ordered(&self, order: &Order) -> Ordered {
        Ordered {
            column: self.place(&order.by),
            descending: order.descending,
            nulls_first: order.nulls_first,
        }
    }

    /// What stands for a part of what is wanted; nothing if that depends on its parts.
    fn placed(&self, part: &Expr) -> Option<Expr> {
        let is_of_rows = || {
            let mut all = true;
            part.columns(&mut |column| all &= column < self.count);
            all
        };
        let place = match part.node {
            Node::Column(column) if column >= self.count => {
                ADDED + self.used.binary_search(&(column - self.count)).ok()?
            }
            Node::Column(_) => self.place(part),
            _ if part.has_no_columns() => return None,
            // What has no circuit is computed before rows are sorted.
            _ if part.is_call() && is_of_rows() => self.place(part),
            _ => self.known(part)?,
        };
        Some(Expr::column(place, part.kind, part.nullable))
    }
}

impl Planner<'_> {
    /// Plans `input`, and adds what `wanted` has of `window`.
    pub(super) fn windowed(
        &self,
        relation: &Relation,
        (input, window): (&Relation, &Window),
        wanted: &[Expr],
    ) -> Result<Physical> {
        let (mut used, count) = (BTreeSet::new(), input.columns.len());
        for expr in wanted {
            expr.columns(&mut |column| used.extend(column.checked_sub(count)));
        }
        if used.is_empty() {
            return self.plan(input, wanted);
        }
        let used: Vec<usize> = used.into_iter().collect();
        let parts: usize = window.exprs().chain(wanted).map(|expr| expr.extent().parts).sum();
        self.work.look(parts.saturating_mul(parts), relation.at)?;
        let needed = Needed {
            exprs: RefCell::default(),
            count,
            used: &used,
        };
        let partition = window.partition.iter().map(|expr| ascending(needed.place(expr)));
        let order = partition.chain(window.order.iter().map(|order| needed.ordered(order)));
        let order: Vec<Ordered> = order.collect();
        let made = used.iter().map(|&column| {
            let WindowColumn { made, of } = &window.columns[column];
            (*made, of.as_ref().map(|of| needed.place(of)))
        });
        let made = made.collect();
        let wanted: Vec<Expr> = wanted
            .iter()
            .map(|expr| expr.placed(&|part| needed.placed(part)))
            .collect();
        self.work.keep(&wanted, relation.at)?;
        let physical = self.plan(input, &needed.exprs.into_inner())?;
        let before = physical.columns.len();
        let windowed = Windowed {
            partition: window.partition.len(),
            peers: order.len(),
            order,
            made,
        };
        let physical = added(windowed.over(&physical, window.is_exact), physical);
        // As many bits as are promised to whatever comes next.
        let all = physical.all();
        let exact = |at: usize| match at.checked_sub(ADDED) {
            None => all[at].clone(),
            Some(at) => {
                let info = &relation.columns[count + used[at]];
                Expr {
                    nullable: info.nullable,
                    ..all[before + at].clone().into_kind(info.kind)
                }
            }
        };
        Ok(physical.project(wanted.iter().map(|expr| expr.over(&exact)).collect()))
    }
}

fn ascending(column: usize) -> Ordered {
    Ordered {
        column,
        descending: false,
        nulls_first: true,
    }
}

impl Windowed {
    /// The same without keys that tell nothing of rows of `input`, and with those that tell equal rows apart, if that matters.
    fn over(mut self, input: &Physical, is_exact: bool) -> Self {
        let mut seen = BTreeSet::new();
        let (mut partition, mut at) = (0, 0);
        let before = self.partition;
        self.order.retain(|key| {
            let is_new = input.constant(key.column).is_none() && seen.insert(key.column);
            partition += usize::from(is_new && at < before);
            at += 1;
            is_new
        });
        (self.partition, self.peers) = (partition, self.order.len());
        if is_exact && self.made.iter().any(|(made, _)| made.is_exact()) {
            // Which of several equal rows comes first is told by what is told of them, and by nothing else.
            for column in (0..input.columns.len()).filter(|&column| input.constant(column).is_none()) {
                let mut before = self.order.iter().map(|by| by.column);
                if self.order.is_empty() || !input.facts.depends(column, &mut before, input.owner.is_none()) {
                    self.order.push(ascending(column));
                }
            }
        }
        self
    }
}

/// The rows of `input` in the order of these columns, and behind their own columns their numbers, from 1 on.
pub(super) fn numbered(input: Physical, by: &[usize]) -> Physical {
    let window = Windowed {
        order: by.iter().copied().map(ascending).collect(),
        partition: 0,
        peers: by.len(),
        made: vec![(Made::Total(Function::Rows, Reach::Row), None)],
    };
    // It does not matter which of several rows with equal keys comes first.
    let mut rows = added(window.over(&input, false), input);
    rows.facts.at_most.push((vec![rows.columns.len() - 1], 1));
    rows
}

/// The rows of `input` with what is made of them.
fn added(window: Windowed, input: Physical) -> Physical {
    let added = window.made.iter().map(|(made, of)| {
        let of = of.map(|of| (input.columns[of].kind, input.columns[of].nullable));
        let (kind, nullable) = made.kind(of, input.rows as u64);
        Column { kind, nullable }
    });
    let added: Vec<Column> = added.collect();
    let mut facts = input.facts.clone();
    let of_added = added.iter().map(|column| values(column.kind, column.nullable));
    facts.distinct.extend(of_added);
    Physical {
        columns: input.columns.iter().copied().chain(added).collect(),
        rows: input.rows,
        owner: input.owner,
        facts,
        step: Arc::new(Step::Window {
            input: Box::new(input),
            window,
        }),
    }
}

impl Physical {
    /// Whether those of its secret rows stand side by side that are of one group by the first `keys` columns, and by those that depend on them and come next: they
    /// are what the first of `functions` are of. Rows that do not count come last.
    pub(crate) fn is_in_groups(&self, keys: usize, functions: &[Function]) -> bool {
        let same = functions
            .iter()
            .take_while(|function| **function == Function::Same);
        let keys = keys + same.count();
        let columns: BTreeSet<usize> = (0..keys)
            .filter(|&column| self.constant(column).is_none())
            .collect();
        self.is_partitioned(columns)
    }

    fn is_partitioned(&self, columns: BTreeSet<usize>) -> bool {
        match &*self.step {
            Step::Project(input, exprs) => {
                let own = columns.iter().map(|&column| exprs[column].as_column());
                own.collect::<Option<_>>()
                    .is_some_and(|own| input.is_partitioned(own))
            }
            Step::Window { window, .. } if self.owner.is_none() && !window.is_unordered() => {
                let partition = window.order[..window.partition].iter().map(|key| key.column);
                partition.collect::<BTreeSet<_>>() == columns
            }
            _ => false,
        }
    }
}
