//! Joins of several relations: which of them are joined when, and by whom.

use std::rc::Rc;

use super::atoms::of_inputs;
use super::order::{Edge, Joined, Joining};
use super::paired::{Input, over_own};
use super::physical::Physical;
use super::planner::Planner;
use crate::error::Result;
use crate::expr::{Comparison, Expr, Node, ValueKind};
use crate::relation::{Operation, Relation};

impl Planner<'_> {
    /// The inner join `relation`, of whose rows those are kept for which `conditions` hold.
    pub(super) fn inner(
        &self,
        relation: &Relation,
        conditions: Vec<Expr>,
        wanted: &[Expr],
    ) -> Result<Physical> {
        self.inner_by(relation, conditions, wanted, |join, parts| {
            // What one party can join by itself comes first, and what can be joined by promises is.
            let promised = Joining { most: None, ..*join };
            let mut parts = parts;
            while let Some(both) = promised.locally(&parts, |_| Ok(true))? {
                parts = both;
            }
            if join.most.is_none() {
                return join.ordered(parts);
            }
            if let Ok(joined) = promised.ordered(parts.clone()) {
                return Ok(joined);
            }
            // Then what one party can join by itself and no promise joins with anything else.
            while let Some(both) = join.locally(&parts, |part| promised.is_alone(part, &parts))? {
                parts = both;
            }
            join.ordered(parts)
        })
    }

    /// The same, whose relations are joined as `joined` does.
    pub(super) fn inner_by(
        &self,
        relation: &Relation,
        conditions: Vec<Expr>,
        wanted: &[Expr],
        joined: impl FnOnce(&Joining<'_>, Vec<Joined>) -> Result<Joined>,
    ) -> Result<Physical> {
        self.work.make(relation.parts(), relation.at)?;
        self.work.keep(wanted.iter().chain(&conditions), relation.at)?;
        let (mut inputs, mut conditions) = (Vec::new(), conditions);
        flatten(relation, 0, &mut inputs, &mut conditions);
        let starts: Vec<usize> = inputs.iter().map(|input| input.first).collect();
        let input_of = |column: usize| starts.partition_point(|&first| first <= column) - 1;
        let mut parts = Vec::new();
        for condition in conditions {
            parts.extend(self.factored(condition, relation.at)?.conjuncts());
        }
        let conditions = parts;
        let (mut edges, mut others) = (Vec::new(), Vec::new());
        for condition in conditions {
            match of_inputs(&condition, &input_of)[..] {
                [] => others.push(condition),
                [input] => inputs[input].filters.push(condition),
                _ => match edge(&condition, &input_of) {
                    Some(edge) => edges.push(edge),
                    None => others.push(condition),
                },
            }
        }
        let mut atoms_of: Vec<Vec<Expr>> = vec![Vec::new(); inputs.len()];
        let alone = self.is_of_one(relation);
        for expr in wanted.iter().chain(&others) {
            self.atoms(
                expr,
                (&input_of, &|_, part: &Expr| !alone || !part.may_fail()),
                &mut atoms_of,
                relation.at,
            )?;
        }
        for edge in &edges {
            for (input, side) in edge.inputs.iter().zip(&edge.sides) {
                self.add(&mut atoms_of[*input], side.clone(), relation.at)?;
            }
        }
        for (input, atoms) in inputs.iter_mut().zip(atoms_of) {
            input.atoms = atoms;
        }
        let parts = self.parts(&inputs, &edges)?;
        let join = Joining {
            edges: &edges,
            work: self.work,
            at: relation.at,
            in_orders: self.schema.parties == 3,
            most: self.most_joined(),
        };
        let joined = joined(&join, parts)?;
        let places = joined.places;
        let mut physical = joined.physical;
        for condition in self.placed(Expr::all(others).as_slice(), &places, relation.at)? {
            physical = physical.filter(condition);
        }
        Ok(physical.project(self.placed(wanted, &places, relation.at)?))
    }

    /// The relations by themselves; those whose rows go together as one.
    fn parts(&self, inputs: &[Input], edges: &[Edge]) -> Result<Vec<Joined>> {
        let mut together: Vec<Vec<(usize, Expr)>> = Vec::new();
        for edge in edges.iter().filter(|edge| self.pairs(inputs, edge)) {
            let ends = [0, 1].map(|side| (edge.inputs[side], edge.sides[side].clone()));
            let groups = edge.inputs.map(|input| {
                together
                    .iter()
                    .position(|group| group.iter().any(|(at, _)| *at == input))
            });
            let joins = |group: usize, side: usize| together[group].contains(&ends[side]);
            let [one, other] = ends.clone();
            match groups {
                [None, None] => together.push(vec![one, other]),
                [Some(group), None] if joins(group, 0) => together[group].push(other),
                [None, Some(group)] if joins(group, 1) => together[group].push(one),
                [Some(first), Some(second)] if first != second && joins(first, 0) && joins(second, 1) => {
                    let more = std::mem::take(&mut together[second]);
                    together[first].extend(more);
                }
                _ => (),
            }
        }
        let is_alone = |at: &usize| !together.iter().flatten().any(|(other, _)| other == at);
        let alone: Vec<usize> = (0..inputs.len()).filter(is_alone).collect();
        let mut parts = Vec::new();
        for group in together.iter().filter(|group| !group.is_empty()) {
            parts.push(self.pair((inputs, edges), group)?);
        }
        for at in alone {
            let input = &inputs[at];
            let mut relation = input.relation.clone();
            if let Some(filter) = Expr::all(input.filters.clone()) {
                relation = relation.filter(over_own(&filter, input));
            }
            let own: Vec<Expr> = input.atoms.iter().map(|atom| over_own(atom, input)).collect();
            parts.push(Joined {
                physical: self.plan(&relation, &own)?,
                inputs: vec![at],
                places: (0..).zip(input.atoms.iter().cloned().map(Rc::new)).collect(),
                cost: 0.0,
            });
        }
        Ok(parts)
    }
}

/// The relations that are joined, and the conditions.
pub(crate) fn flatten(
    relation: &Relation,
    first: usize,
    inputs: &mut Vec<Input>,
    conditions: &mut Vec<Expr>,
) {
    let moved = |condition: &Expr, of: &Relation| {
        let all = of.all();
        condition.over(&|column| Expr {
            node: Node::Column(column + first),
            ..all[column].clone()
        })
    };
    match &relation.operation {
        Operation::Inner(parts, own) => {
            conditions.extend(own.iter().map(|condition| moved(condition, relation)));
            let mut next = first;
            for part in parts {
                flatten(part, next, inputs, conditions);
                next += part.columns.len();
            }
        }
        Operation::Filter(input, condition) => {
            let joins = matches!(
                input.operation,
                Operation::Inner(..) | Operation::Filter(..) | Operation::Scan(_)
            );
            if joins {
                conditions.push(moved(condition, input));
                flatten(input, first, inputs, conditions);
            } else {
                inputs.push(Input {
                    relation: relation.clone(),
                    first,
                    filters: Vec::new(),
                    atoms: Vec::new(),
                });
            }
        }
        _ => inputs.push(Input {
            relation: relation.clone(),
            first,
            filters: Vec::new(),
            atoms: Vec::new(),
        }),
    }
}

pub(super) fn edge(condition: &Expr, input_of: &impl Fn(usize) -> usize) -> Option<Edge> {
    let Node::Compare(Comparison::Equal, x, y) = &condition.node else {
        return None;
    };
    let (one, other) = (of_inputs(x, input_of), of_inputs(y, input_of));
    let ([one], [other]) = (&one[..], &other[..]) else {
        return None;
    };
    if one == other || x.is_fragile() || y.is_fragile() {
        return None;
    }
    let kind: ValueKind = x.kind.unified(y.kind)?;
    let sides = [x, y].map(|side| side.as_ref().clone().into_kind(kind));
    Some(Edge {
        inputs: [*one, *other],
        sides,
    })
}
