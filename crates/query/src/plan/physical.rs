//! What is done where.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use cenote_net::PartyId;

use super::facts::Facts;
use super::window::Windowed;
use crate::expr::{Expr, ValueKind};
use crate::relation::Function;

/// A column that a step gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) kind: ValueKind,
    pub(crate) nullable: bool,
}

/// A step, what it gives, and where it is done.
#[derive(Clone, Debug)]
pub(crate) struct Physical {
    pub(crate) step: Arc<Step>,
    pub(crate) columns: Vec<Column>,
    /// How many rows it gives, those that do not count included: at most, at its owner.
    pub(crate) rows: usize,
    /// The party that does it in the clear; nothing if all do it secretly.
    pub(crate) owner: Option<PartyId>,
    pub(crate) facts: Facts,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Columns of a table.
    Scan {
        table: usize,
        columns: Vec<usize>,
    },
    Project(Box<Physical>, Vec<Expr>),
    Filter(Box<Physical>, Expr),
    Join(Box<Join>),
    Paired(Vec<Part>),
    Union(Vec<Physical>),
    /// The first `keys` columns of the input are grouped by, and the others are what each of `functions` is of.
    Group {
        input: Box<Physical>,
        keys: usize,
        functions: Vec<Function>,
        grouped: bool,
    },
    First {
        input: Box<Physical>,
        order: Vec<Ordered>,
        /// The places of the rows that remain.
        rows: Range<usize>,
    },
    /// Each row, with what is made of the rows around it behind its own columns.
    Window {
        input: Box<Physical>,
        window: Windowed,
    },
    /// Each row as often as a column says, which of its copies it is behind its own columns.
    Repeat {
        input: Box<Physical>,
        count: usize,
    },
    /// Sees that these conditions hold for all rows, and that a column adds up to `most` at the most.
    Verify {
        input: Box<Physical>,
        conditions: Vec<Expr>,
        count: usize,
        most: usize,
    },
    /// Rows of a party become secrets, in the order of these columns.
    Share(Box<Physical>, Vec<usize>),
    /// What so many shards have kept of one of their relations, so many rows each.
    Kept {
        relation: usize,
        shards: usize,
        rows: usize,
    },
}

/// What rows are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ordered {
    pub(crate) column: usize,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

/// Each row of `probe` with the rows of `lookup` that have its keys: its columns, and then theirs.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) probe: Physical,
    pub(crate) lookup: Physical,
    pub(crate) probe_keys: Vec<usize>,
    pub(crate) lookup_keys: Vec<usize>,
    /// How many of them there are at most.
    pub(crate) slots: usize,
    /// Whether a row without any counts too, with nulls.
    pub(crate) outer: bool,
    /// Whether a row of `lookup` that is found by none counts too, with nulls before it. Then there are keys.
    pub(crate) rest: bool,
}

impl Join {
    /// How many rows it gives: at most, if they are its owner's.
    pub(crate) fn rows(&self) -> usize {
        let rest = if self.rest { self.lookup.rows } else { 0 };
        self.probe.rows.saturating_add(rest).saturating_mul(self.slots)
    }
}

/// A table of one party, whose rows go together with those of others.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) input: Physical,
    /// What they go together by.
    pub(crate) key: usize,
    /// Whether a row counts.
    pub(crate) counts: Option<usize>,
}

impl Physical {
    /// The columns of the rows as expressions.
    pub(crate) fn all(&self) -> Vec<Expr> {
        let column = |(at, column): (usize, &Column)| Expr::column(at, column.kind, column.nullable);
        self.columns.iter().enumerate().map(column).collect()
    }

    /// Whether an expression takes the columns for what they are.
    fn fits(&self, expr: &Expr) -> bool {
        match expr.node {
            crate::expr::Node::Column(column) => {
                let own = self.columns[column];
                own.kind == expr.kind && (expr.nullable || !own.nullable)
            }
            _ => expr.parts().into_iter().all(|part| self.fits(part)),
        }
    }

    /// What a column is in all rows, if that is a constant.
    pub(crate) fn constant(&self, column: usize) -> Option<&Expr> {
        match &*self.step {
            Step::Project(input, exprs) => match &exprs[column] {
                expr if expr.is_constant() => Some(expr),
                Expr {
                    node: crate::expr::Node::Column(column),
                    ..
                } => input.constant(*column),
                _ => None,
            },
            Step::Filter(input, _) | Step::Share(input, _) => input.constant(column),
            Step::First { input, .. } | Step::Verify { input, .. } => input.constant(column),
            Step::Group { input, keys, .. } if column < *keys => input.constant(column),
            Step::Window { input, .. } | Step::Repeat { input, .. } if column < input.columns.len() => {
                input.constant(column)
            }
            Step::Join(join) => match column.checked_sub(join.probe.columns.len()) {
                None if !join.rest => join.probe.constant(column),
                Some(column) if !join.outer => join.lookup.constant(column),
                _ => None,
            },
            _ => None,
        }
    }

    /// How often the values of these columns come at most.
    pub(crate) fn at_most(&self, columns: &[usize]) -> Option<usize> {
        let promises = self.facts.at_most.iter();
        promises
            .filter(|(of, _)| of.iter().all(|column| columns.contains(column)))
            .map(|&(_, count)| count)
            .min()
            .or_else(|| (self.rows == 1).then_some(1))
    }

    /// How many different values these columns have at most, together.
    pub(crate) fn distinct(&self, columns: usize) -> Option<u64> {
        self.facts.distinct[..columns]
            .iter()
            .try_fold(1u64, |all, own| Some(all.saturating_mul((*own)?)))
    }

    /// The steps whose rows it takes.
    pub(crate) fn inputs(&self) -> Vec<&Physical> {
        match &*self.step {
            Step::Scan { .. } | Step::Kept { .. } => Vec::new(),
            Step::Project(input, _) | Step::Filter(input, _) | Step::Share(input, _) => vec![input],
            Step::Verify { input, .. } | Step::Group { input, .. } => vec![input],
            Step::First { input, .. } | Step::Window { input, .. } | Step::Repeat { input, .. } => {
                vec![input]
            }
            Step::Union(inputs) => inputs.iter().collect(),
            Step::Paired(parts) => parts.iter().map(|part| &part.input).collect(),
            Step::Join(join) => vec![&join.probe, &join.lookup],
        }
    }

    /// The expressions that are computed of its input.
    pub(crate) fn exprs(&self) -> &[Expr] {
        match &*self.step {
            Step::Project(_, exprs) => exprs,
            Step::Filter(_, condition) => std::slice::from_ref(condition),
            Step::Verify { conditions, .. } => conditions,
            _ => &[],
        }
    }

    /// How many columns and parts of expressions all steps have.
    pub(crate) fn parts(&self) -> usize {
        let own: usize = self.exprs().iter().map(|expr| expr.extent().parts).sum();
        let inputs: usize = self.inputs().into_iter().map(Physical::parts).sum();
        self.columns.len() + own + inputs
    }

    /// About how many gates the circuits of all secret expressions have, each for one row.
    pub(crate) fn gates(&self) -> u64 {
        let own = match self.owner {
            Some(_) => return 0,
            None => self.exprs().iter().map(Expr::gates),
        };
        let inputs = self.inputs().into_iter().map(Physical::gates);
        own.chain(inputs).fold(0, u64::saturating_add)
    }

    /// About how many exchanges of records all secret steps take.
    pub(crate) fn exchanges(&self) -> u64 {
        // Each level of a network is a circuit as wide as a record.
        let sorts = |rows: usize, width: u64| {
            let levels = u64::from(usize::BITS - rows.leading_zeros());
            (rows as u64 + width).saturating_mul(levels * levels / 4 + 1)
        };
        let (own, inputs): (u64, Vec<&Physical>) = match &*self.step {
            _ if self.owner.is_some() => (0, Vec::new()),
            Step::Scan { .. } | Step::Kept { .. } => (0, Vec::new()),
            Step::Share(..) | Step::Paired(_) => (self.rows as u64, Vec::new()),
            Step::Project(input, _) | Step::Filter(input, _) => (input.rows as u64, vec![&**input]),
            Step::Verify { input, .. } => (input.rows as u64, vec![&**input]),
            Step::Union(inputs) => (0, inputs.iter().collect()),
            Step::Group { input, .. } | Step::First { input, .. } | Step::Window { input, .. } => {
                (sorts(input.rows, input.width()), vec![&**input])
            }
            Step::Repeat { input, .. } => {
                let rows = input.rows.saturating_add(self.rows);
                (sorts(rows, input.width()), vec![&**input])
            }
            Step::Join(join) => {
                let rows = join
                    .probe
                    .rows
                    .saturating_add(join.lookup.rows.saturating_mul(join.slots));
                (
                    sorts(rows, join.probe.width() + join.lookup.width()),
                    vec![&join.probe, &join.lookup],
                )
            }
        };
        inputs
            .iter()
            .fold(own, |all, input| all.saturating_add(input.exchanges()))
    }

    /// Bits of a row.
    pub(crate) fn width(&self) -> u64 {
        let bits = |column: &Column| u64::from(column.kind.width()) + u64::from(column.nullable);
        self.columns.iter().map(bits).sum::<u64>() + 1
    }

    /// The rows that these expressions are of.
    pub(crate) fn project(self, exprs: Vec<Expr>) -> Self {
        debug_assert!(
            exprs.iter().all(|expr| self.fits(expr)),
            "{exprs:?} of {:?}",
            self.columns
        );
        if exprs == self.all() {
            return self;
        }
        let column = |expr: &Expr| Column {
            kind: expr.kind,
            nullable: expr.nullable,
        };
        Physical {
            columns: exprs.iter().map(column).collect(),
            rows: self.rows,
            owner: self.owner,
            facts: self.facts.of_exprs(&exprs),
            step: Arc::new(Step::Project(Box::new(self), exprs)),
        }
    }

    /// Those of the rows for which `condition` holds.
    pub(crate) fn filter(self, condition: Expr) -> Self {
        debug_assert!(self.fits(&condition), "{condition:?} of {:?}", self.columns);
        Physical {
            columns: self.columns.clone(),
            rows: self.rows,
            owner: self.owner,
            facts: self.facts.clone(),
            step: Arc::new(Step::Filter(Box::new(self), condition)),
        }
    }

    /// The rows as secrets, sorted by `keys` if they have an owner.
    pub(crate) fn shared(self, keys: &[usize]) -> Self {
        if self.owner.is_none() {
            return self;
        }
        Physical {
            columns: self.columns.clone(),
            rows: self.rows,
            owner: None,
            facts: self.facts.given(),
            step: Arc::new(Step::Share(Box::new(self), keys.to_vec())),
        }
    }

    /// The columns that its rows are ordered by, the first of which counts most, if these are all of the first `keys` but for some that depend on them, as do those that are
    /// the same in each group by `functions`, whatever owners give: rows that an owner has sorted, also once they looked others up.
    ///
    /// Rows that do not count may come anywhere.
    pub(crate) fn in_order_of_groups(&self, keys: usize, functions: &[Function]) -> Option<Vec<usize>> {
        let mut order = self.ordered_by(&(0..keys).map(Some).collect::<Vec<_>>())?;
        // A column that comes again orders nothing.
        let mut seen = BTreeSet::new();
        order.retain(|column| seen.insert(*column));
        let is_same = |column: usize| column < keys || functions.get(column - keys) == Some(&Function::Same);
        let depends = |column: usize| self.facts.depends(column, order.iter().copied(), true);
        let fits = !order.iter().any(|&column| self.columns[column].nullable)
            && (0..self.columns.len())
                .filter(|&column| is_same(column))
                .all(depends);
        fits.then_some(order)
    }

    /// The places of the columns that its rows are ordered by, if they are among these.
    fn ordered_by(&self, columns: &[Option<usize>]) -> Option<Vec<usize>> {
        match &*self.step {
            Step::Filter(input, _) => input.ordered_by(columns),
            Step::Project(input, exprs) => {
                let column = |column: usize| match exprs[column].node {
                    crate::expr::Node::Column(column) => Some(column),
                    _ => None,
                };
                let columns: Vec<_> = columns.iter().map(|place| place.and_then(column)).collect();
                input.ordered_by(&columns)
            }
            // If it is not sorted by its keys, it may be sorted for this.
            Step::Join(join)
                if join.slots == 1
                    && !join.rest
                    && !join.probe_keys.is_empty()
                    && join.probe.is_sorted(&join.probe_keys) =>
            {
                let keys = join.probe_keys.iter().zip(&join.lookup_keys).enumerate();
                let place = |(pair, (probe, lookup)): (usize, (&usize, &usize))| {
                    // Rows without a key come last, whatever their bits are.
                    if join.probe.columns[*probe].nullable {
                        return None;
                    }
                    // What was looked up has the same bits, also in rows that found nothing; there, those of the first key that it is compared with.
                    let first = join.lookup_keys.iter().position(|key| key == lookup);
                    let has_them = !join.outer && first == Some(pair);
                    let other = has_them.then_some(join.probe.columns.len() + lookup);
                    let is_key = |column: &Option<usize>| {
                        *column == Some(*probe) || column.is_some() && *column == other
                    };
                    columns.iter().position(is_key)
                };
                keys.map(place).collect()
            }
            _ => None,
        }
    }

    /// Whether its owner puts those of its rows first that have all of these keys, in their order.
    pub(crate) fn is_sorted(&self, keys: &[usize]) -> bool {
        match &*self.step {
            Step::Share(_, sorted) => sorted == keys,
            Step::Verify { input, .. } => input.is_sorted(keys),
            Step::Project(input, exprs) => {
                let column = |expr: &Expr| match &expr.node {
                    crate::expr::Node::Column(column) => Some(*column),
                    // A number with more bits comes in the same place.
                    crate::expr::Node::As(part) => match (&part.node, part.kind, expr.kind) {
                        (
                            crate::expr::Node::Column(column),
                            ValueKind::Number { scale: own, .. },
                            ValueKind::Number { scale, .. },
                        ) if own == scale => Some(*column),
                        _ => None,
                    },
                    _ => None,
                };
                let own: Option<Vec<usize>> = keys.iter().map(|&key| column(&exprs[key])).collect();
                own.is_some_and(|own| input.is_sorted(&own))
            }
            _ => false,
        }
    }
}

/// How many different values of a kind there are, if they are few.
pub(crate) fn values(kind: ValueKind, nullable: bool) -> Option<u64> {
    let width = kind.width();
    let (least, most) = kind.range().unwrap_or((0, 0));
    let count = match kind {
        ValueKind::Text(_) if width < 16 => 1 << width,
        ValueKind::Text(_) => return None,
        _ => u64::try_from(most.checked_sub(least)?.checked_add(1)?).ok()?,
    };
    (count <= 1 << 20).then(|| count + u64::from(nullable))
}
