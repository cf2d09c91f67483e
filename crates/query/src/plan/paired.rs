//! Tables of several parties that promise to have the same rows, which go together one by one.

use std::rc::Rc;
use std::sync::Arc;

use super::facts::Facts;
use super::order::{Edge, Joined};
use super::physical::{Column, Part, Physical, Step};
use super::planner::Planner;
use crate::error::Result;
use crate::expr::{Comparison, Expr, Node};
use crate::relation::{Operation, Relation};

/// A relation of a join: what is asked of it, and of it alone.
pub(crate) struct Input {
    pub(crate) relation: Relation,
    /// Its first column among those of the join.
    pub(crate) first: usize,
    pub(super) filters: Vec<Expr>,
    /// What is wanted of it, over the columns of the join.
    pub(super) atoms: Vec<Expr>,
}

/// An expression of the join that is of one input alone, over the input's columns.
pub(super) fn over_own(expr: &Expr, input: &Input) -> Expr {
    expr.over(&|column| {
        let info = &input.relation.columns[column - input.first];
        Expr::column(column - input.first, info.kind, info.nullable)
    })
}

impl Planner<'_> {
    /// The table that an input is of, and the only one of its columns that `side` is of, if it is one.
    fn column(&self, inputs: &[Input], input: usize, side: &Expr) -> Option<(usize, usize)> {
        match (&inputs[input].relation.operation, &side.node) {
            (Operation::Scan(table), Node::Column(column)) => Some((*table, column - inputs[input].first)),
            _ => None,
        }
    }

    /// Whether an edge is between the keys of tables of different parties that promise to have the same rows: unique columns of one name, or the
    /// only unique columns that there are.
    pub(super) fn pairs(&self, inputs: &[Input], edge: &Edge) -> bool {
        let ends = [0, 1].map(|side| self.column(inputs, edge.inputs[side], &edge.sides[side]));
        let [Some((one, column)), Some((other, other_column))] = ends else {
            return false;
        };
        let (tables, like) = (&self.schema.tables, |table| self.schema.rows_like(table));
        let (name, other_name) = (
            &tables[one].fields[column].name,
            &tables[other].fields[other_column].name,
        );
        let unique = tables[one].is_unique(name) && tables[other].is_unique(other_name);
        let only = tables[one].unique.len() == 1 && tables[other].unique.len() == 1;
        !self.schema.secret_only
            && tables[one].party != tables[other].party
            && like(one) == like(other)
            && unique
            && (name == other_name || only)
    }

    /// Tables whose rows go together one by one, each by its key.
    pub(super) fn pair(
        &self,
        (inputs, edges): (&[Input], &[Edge]),
        group: &[(usize, Expr)],
    ) -> Result<Joined> {
        let (mut parts, mut places) = (Vec::new(), Vec::new());
        let mut columns: Vec<Column> = Vec::new();
        let mut facts = Facts::default();
        for (at, key) in group {
            let input = &inputs[*at];
            let part = self.part(input, key)?;
            facts.at_most.push((vec![columns.len() + part.key], 1));
            for (column, atom) in input.atoms.iter().enumerate() {
                places.push((columns.len(), Rc::new(atom.clone())));
                columns.push(part.input.columns[column]);
                facts.distinct.push(part.input.facts.distinct[column]);
            }
            parts.push(part);
        }
        let keys: Vec<usize> = facts.at_most.iter().map(|(key, _)| key[0]).collect();
        for key in keys.into_iter().filter(|&key| !columns[key].nullable) {
            // One of the owners is honest, and has seen that its keys come once.
            facts.depend(vec![key], 0..columns.len(), true);
        }
        let mut physical = Physical {
            columns,
            rows: parts[0].input.rows,
            owner: None,
            facts,
            step: Arc::new(Step::Paired(parts)),
        };
        for same in also_equal(edges, group) {
            for same in self.placed(&[same], &places, None)? {
                physical = physical.filter(same);
            }
        }
        Ok(Joined {
            physical,
            inputs: group.iter().map(|(at, _)| *at).collect(),
            places,
            cost: 0.0,
        })
    }

    /// A table of those whose rows go together: what is wanted of it, and then whether a row counts.
    fn part(&self, input: &Input, key: &Expr) -> Result<Part> {
        let mut wanted = input.atoms.clone();
        let key = wanted
            .iter()
            .position(|atom| atom == key)
            .expect("a side of an edge is an atom");
        let filter = Expr::all(input.filters.clone());
        let counts = filter.map(|filter| {
            wanted.push(filter);
            wanted.len() - 1
        });
        let own: Vec<Expr> = wanted.iter().map(|atom| over_own(atom, input)).collect();
        Ok(Part {
            input: self.plan(&input.relation, &own)?,
            key,
            counts,
        })
    }
}

/// What else is to be equal among tables whose rows go together by these keys.
fn also_equal(edges: &[Edge], group: &[(usize, Expr)]) -> Vec<Expr> {
    let of_group = |edge: &&Edge| {
        let mut inputs = edge.inputs.iter();
        inputs.all(|input| group.iter().any(|(at, _)| at == input))
    };
    let by_keys = |edge: &&Edge| {
        let mut ends = edge.inputs.iter().zip(&edge.sides);
        ends.all(|(input, side)| group.iter().any(|(at, key)| at == input && key == side))
    };
    let others = edges.iter().filter(of_group).filter(|edge| !by_keys(edge));
    others
        .map(|edge| {
            let [x, y] = edge.sides.clone();
            Expr::compare(Comparison::Equal, x, y).expect("both are of one kind")
        })
        .collect()
}
