//! Joins of several relations: which of them are joined when, and by whom.

use std::rc::Rc;
use std::sync::Arc;

use super::Planner;
use super::order::{Edge, Joined, Joining};
use super::physical::{Facts, Part, Physical, Step};
use crate::error::{Place, Result};
use crate::expr::{Comparison, Expr, Kind, Node};
use crate::relation::{Operation, Relation};

/// A relation of a join: what is asked of it, and of it alone.
struct Input {
    relation: Relation,
    /// Its first column among those of the join.
    first: usize,
    filters: Vec<Expr>,
    /// What is wanted of it, over the columns of the join.
    atoms: Vec<Expr>,
}

/// Where what expression is, among the columns of what is joined.
pub(super) type At = (usize, Rc<Expr>);

impl Planner<'_> {
    /// The inner join `relation`, of whose rows those are kept for which `conditions` hold.
    pub(super) fn inner(
        &self,
        relation: &Relation,
        conditions: Vec<Expr>,
        wanted: &[Expr],
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
        for expr in wanted.iter().chain(&others) {
            self.atoms(expr, (&input_of, &|_| true), &mut atoms_of, relation.at)?;
        }
        for edge in &edges {
            for (input, side) in edge.inputs.iter().zip(&edge.sides) {
                self.add(&mut atoms_of[*input], side.clone(), relation.at)?;
            }
        }
        for (input, atoms) in inputs.iter_mut().zip(atoms_of) {
            input.atoms = atoms;
        }
        let mut parts = self.parts(&inputs, &edges)?;
        // What one party can join by itself comes first.
        let join = Joining {
            edges: &edges,
            work: self.work,
            at: relation.at,
        };
        while let Some(both) = join.locally(&parts)? {
            parts = both;
        }
        let joined = join.ordered(parts)?;
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

    /// The table that an input is of, and the only one of its columns that `side` is of, if it is one.
    fn column(&self, inputs: &[Input], input: usize, side: &Expr) -> Option<(usize, usize)> {
        match (&inputs[input].relation.operation, &side.node) {
            (Operation::Scan(table), Node::Column(column)) => Some((*table, column - inputs[input].first)),
            _ => None,
        }
    }

    /// Whether an edge is between the keys of tables of different parties that promise to have the same rows: unique columns of one name, or the
    /// only unique columns that there are.
    fn pairs(&self, inputs: &[Input], edge: &Edge) -> bool {
        let ends = [0, 1].map(|side| self.column(inputs, edge.inputs[side], &edge.sides[side]));
        let [Some((one, column)), Some((other, other_column))] = ends else {
            return false;
        };
        let (tables, like) = (&self.schema.tables, |table| self.schema.rows_like(table));
        let (name, other_name) = (
            &tables[one].fields[column].name,
            &tables[other].fields[other_column].name,
        );
        let unique = tables[one].unique.contains(name) && tables[other].unique.contains(other_name);
        let only = tables[one].unique.len() == 1 && tables[other].unique.len() == 1;
        tables[one].party != tables[other].party
            && like(one) == like(other)
            && unique
            && (name == other_name || only)
    }

    /// Tables whose rows go together one by one, each by its key.
    fn pair(&self, (inputs, edges): (&[Input], &[Edge]), group: &[(usize, Expr)]) -> Result<Joined> {
        let (mut parts, mut places, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        let mut distinct = Vec::new();
        for (at, key) in group {
            let input = &inputs[*at];
            let mut wanted = input.atoms.clone();
            let key_at = wanted
                .iter()
                .position(|atom| atom == key)
                .expect("a side of an edge is an atom");
            let filter = Expr::all(input.filters.clone());
            let counts = filter.map(|filter| {
                wanted.push(filter);
                wanted.len() - 1
            });
            let own: Vec<Expr> = wanted.iter().map(|atom| over_own(atom, input)).collect();
            let physical = self.plan(&input.relation, &own)?;
            for (column, atom) in input.atoms.iter().enumerate() {
                places.push((columns.len(), Rc::new(atom.clone())));
                columns.push(physical.columns[column]);
                distinct.push(physical.facts.distinct[column]);
            }
            parts.push(Part {
                input: physical,
                key: key_at,
                counts,
            });
        }
        let rows = parts[0].input.rows;
        let mut first = 0;
        let at_most = parts.iter().map(|part| {
            let key = first + part.key;
            first += part.input.columns.len() - usize::from(part.counts.is_some());
            (vec![key], 1)
        });
        let facts = Facts {
            at_most: at_most.collect(),
            distinct,
        };
        let mut physical = Physical {
            columns,
            rows,
            owner: None,
            facts,
            step: Arc::new(Step::Paired(parts)),
        };
        // What else is to be equal.
        let of_group = |edge: &&Edge| {
            edge.inputs
                .iter()
                .all(|input| group.iter().any(|(at, _)| at == input))
        };
        let by_keys = |edge: &Edge| {
            let mut ends = edge.inputs.iter().zip(&edge.sides);
            ends.all(|(input, side)| group.iter().any(|(at, key)| at == input && key == side))
        };
        for edge in edges.iter().filter(of_group).filter(|edge| !by_keys(edge)) {
            let [x, y] = edge.sides.clone();
            let same = Expr::compare(Comparison::Equal, x, y).expect("both are of one kind");
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
}

impl Planner<'_> {
    /// `a AND b OR a AND c` as `a AND (b OR c)`.
    fn factored(&self, condition: Expr, at: Option<Place>) -> Result<Expr> {
        let Node::Or(x, y) = condition.node else {
            return Ok(condition);
        };
        let (x, y) = (
            self.factored(*x, at)?.conjuncts(),
            self.factored(*y, at)?.conjuncts(),
        );
        self.work.look(x.len().saturating_mul(y.len()), at)?;
        let (common, x): (Vec<Expr>, Vec<Expr>) = x.into_iter().partition(|part| y.contains(part));
        let y: Vec<Expr> = y.into_iter().filter(|part| !common.contains(part)).collect();
        let rest = match (Expr::all(x), Expr::all(y)) {
            (Some(x), Some(y)) => Some(x.or(y)),
            // One of them is no more than what is common.
            _ => None,
        };
        let all = Expr::all(common.into_iter().chain(rest).collect());
        Ok(all.unwrap_or_else(|| Expr::bool(true)))
    }

    /// Adds what is not there yet, and gives its place.
    pub(super) fn add(&self, atoms: &mut Vec<Expr>, expr: Expr, at: Option<Place>) -> Result<usize> {
        self.work.look(atoms.len(), at)?;
        let known = atoms.iter().position(|atom| *atom == expr);
        Ok(known.unwrap_or_else(|| {
            atoms.push(expr);
            atoms.len() - 1
        }))
    }

    /// Adds the largest parts of an expression that are of one input alone to what is wanted of that input; only columns where `whole` says so, or
    /// where more might go wrong.
    pub(super) fn atoms(
        &self,
        expr: &Expr,
        (input_of, whole): (&impl Fn(usize) -> usize, &impl Fn(usize) -> bool),
        into: &mut [Vec<Expr>],
        at: Option<Place>,
    ) -> Result<()> {
        let is_column = matches!(expr.node, Node::Column(_));
        match of_inputs(expr, input_of)[..] {
            [] => Ok(()),
            [input] if is_column || (whole(input) && !expr.may_fail()) => {
                self.add(&mut into[input], expr.clone(), at).map(drop)
            }
            _ => expr
                .parts()
                .into_iter()
                .try_for_each(|part| self.atoms(part, (input_of, whole), into, at)),
        }
    }

    /// Expressions over columns that are what `places` says.
    pub(super) fn placed(&self, exprs: &[Expr], places: &[At], at: Option<Place>) -> Result<Vec<Expr>> {
        self.work.keep(exprs, at)?;
        let parts: usize = exprs.iter().map(|expr| expr.extent().parts).sum();
        self.work.look(parts.saturating_mul(places.len()), at)?;
        Ok(exprs.iter().map(|expr| placed(expr, places)).collect())
    }
}

/// The relations that are joined, and the conditions.
fn flatten(relation: &Relation, first: usize, inputs: &mut Vec<Input>, conditions: &mut Vec<Expr>) {
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

/// An expression of the join that is of one input alone, over the input's columns.
fn over_own(expr: &Expr, input: &Input) -> Expr {
    expr.over(&|column| {
        let info = &input.relation.columns[column - input.first];
        Expr::column(column - input.first, info.kind, info.nullable)
    })
}

/// The inputs that an expression is of.
fn of_inputs(expr: &Expr, input_of: &impl Fn(usize) -> usize) -> Vec<usize> {
    let mut inputs = Vec::new();
    expr.columns(&mut |column| inputs.push(input_of(column)));
    inputs.sort_unstable();
    inputs.dedup();
    inputs
}

fn edge(condition: &Expr, input_of: &impl Fn(usize) -> usize) -> Option<Edge> {
    let Node::Compare(Comparison::Equal, x, y) = &condition.node else {
        return None;
    };
    let (one, other) = (of_inputs(x, input_of), of_inputs(y, input_of));
    let ([one], [other]) = (&one[..], &other[..]) else {
        return None;
    };
    if one == other || x.may_fail() || y.may_fail() {
        return None;
    }
    let kind: Kind = x.kind.unified(y.kind)?;
    let sides = [x, y].map(|side| side.as_ref().clone().into_kind(kind));
    Some(Edge {
        inputs: [*one, *other],
        sides,
    })
}

/// An expression over columns that are what `places` says.
fn placed(expr: &Expr, places: &[At]) -> Expr {
    if let Some((at, _)) = places.iter().find(|(_, known)| **known == *expr) {
        return Expr::column(*at, expr.kind, expr.nullable);
    }
    Expr {
        node: expr.node.with_parts(&|part| placed(part, places)),
        kind: expr.kind,
        nullable: expr.nullable,
    }
}
