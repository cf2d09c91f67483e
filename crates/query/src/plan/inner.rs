//! Joins of several relations: which of them are joined when, and by whom.

use super::physical::{Facts, Join, Part, Physical, Step};
use super::{Planner, join, slots};
use crate::error::{Error, Place, Result};
use crate::expr::{Comparison, Expr, Kind, Node};
use crate::relation::{Operation, Relation};

/// Most relations of a join for which every order is looked at.
const ALL_ORDERS: usize = 6;

/// A relation of a join: what is asked of it, and of it alone.
struct Input {
    relation: Relation,
    /// Its first column among those of the join.
    first: usize,
    filters: Vec<Expr>,
    /// What is wanted of it, over the columns of the join.
    atoms: Vec<Expr>,
}

/// Two relations have equal values.
struct Edge {
    inputs: [usize; 2],
    /// Of the first and of the second, over the columns of the join and of one kind.
    sides: [Expr; 2],
}

/// Some of the relations, joined.
#[derive(Clone)]
struct Joined {
    physical: Physical,
    inputs: Vec<usize>,
    /// What its columns are, over those of the join.
    places: Vec<(usize, Expr)>,
    cost: f64,
}

impl Planner<'_> {
    /// The inner join `relation`, of whose rows those are kept for which `conditions` hold.
    pub(super) fn inner(
        &self,
        relation: &Relation,
        conditions: Vec<Expr>,
        wanted: &[Expr],
    ) -> Result<Physical> {
        let (mut inputs, mut conditions) = (Vec::new(), conditions);
        flatten(relation, 0, &mut inputs, &mut conditions);
        let starts: Vec<usize> = inputs.iter().map(|input| input.first).collect();
        let input_of = |column: usize| starts.partition_point(|&first| first <= column) - 1;
        let conditions: Vec<Expr> = conditions
            .into_iter()
            .flat_map(|condition| factored(condition).conjuncts())
            .collect();
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
            atoms(expr, &input_of, &|_| true, &mut atoms_of);
        }
        for edge in &edges {
            for (input, side) in edge.inputs.iter().zip(&edge.sides) {
                add(&mut atoms_of[*input], side.clone());
            }
        }
        for (input, atoms) in inputs.iter_mut().zip(atoms_of) {
            input.atoms = atoms;
        }
        let mut parts = self.parts(&inputs, &edges)?;
        // What one party can join by itself comes first.
        while let Some(both) = locally(&parts, &edges) {
            parts = both;
        }
        let joined = ordered(parts, &edges, relation.at)?;
        let places = joined.places;
        let mut physical = joined.physical;
        if let Some(condition) = others.into_iter().reduce(Expr::and) {
            physical = physical.filter(placed(&condition, &places));
        }
        Ok(physical.project(wanted.iter().map(|expr| placed(expr, &places)).collect()))
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
            if let Some(filter) = input.filters.iter().cloned().reduce(Expr::and) {
                relation = relation.filter(over_own(&filter, input));
            }
            let own: Vec<Expr> = input.atoms.iter().map(|atom| over_own(atom, input)).collect();
            parts.push(Joined {
                physical: self.plan(&relation, &own)?,
                inputs: vec![at],
                places: input.atoms.iter().cloned().enumerate().collect(),
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
            let filter = input.filters.iter().cloned().reduce(Expr::and);
            let counts = filter.map(|filter| {
                wanted.push(filter);
                wanted.len() - 1
            });
            let own: Vec<Expr> = wanted.iter().map(|atom| over_own(atom, input)).collect();
            let physical = self.plan(&input.relation, &own)?;
            for (column, atom) in input.atoms.iter().enumerate() {
                places.push((columns.len(), atom.clone()));
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
            step: Step::Paired(parts),
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
            physical = physical.filter(placed(&same, &places));
        }
        Ok(Joined {
            physical,
            inputs: group.iter().map(|(at, _)| *at).collect(),
            places,
            cost: 0.0,
        })
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

/// `a AND b OR a AND c` as `a AND (b OR c)`.
fn factored(condition: Expr) -> Expr {
    let Node::Or(x, y) = condition.node else {
        return condition;
    };
    let (x, y) = (factored(*x).conjuncts(), factored(*y).conjuncts());
    let (common, x): (Vec<Expr>, Vec<Expr>) = x.into_iter().partition(|part| y.contains(part));
    let y = y.into_iter().filter(|part| !common.contains(part));
    let rest = match (x.into_iter().reduce(Expr::and), y.reduce(Expr::and)) {
        (Some(x), Some(y)) => Some(x.or(y)),
        // One of them is no more than what is common.
        _ => None,
    };
    common
        .into_iter()
        .chain(rest)
        .reduce(Expr::and)
        .unwrap_or_else(|| Expr::bool(true))
}

/// Adds what is not there yet, and gives its place.
pub(super) fn add(atoms: &mut Vec<Expr>, expr: Expr) -> usize {
    let known = atoms.iter().position(|atom| *atom == expr);
    known.unwrap_or_else(|| {
        atoms.push(expr);
        atoms.len() - 1
    })
}

/// Adds the largest parts of an expression that are of one input alone to what is wanted of that input; only columns where `whole` says so, or
/// where more might go wrong.
pub(super) fn atoms(
    expr: &Expr,
    input_of: &impl Fn(usize) -> usize,
    whole: &impl Fn(usize) -> bool,
    into: &mut [Vec<Expr>],
) {
    let is_column = matches!(expr.node, Node::Column(_));
    match of_inputs(expr, input_of)[..] {
        [] => (),
        [input] if is_column || (whole(input) && !expr.may_fail()) => {
            add(&mut into[input], expr.clone());
        }
        _ => expr
            .parts()
            .into_iter()
            .for_each(|part| atoms(part, input_of, whole, into)),
    }
}

/// An expression over columns that are what `places` says.
pub(super) fn placed(expr: &Expr, places: &[(usize, Expr)]) -> Expr {
    if let Some((at, _)) = places.iter().find(|(_, known)| known == expr) {
        return Expr::column(*at, expr.kind, expr.nullable);
    }
    let boxed = |x: &Expr| Box::new(placed(x, places));
    let node = match &expr.node {
        Node::Column(_) | Node::Number(_) | Node::Text(_) | Node::Null => expr.node.clone(),
        Node::As(x) => Node::As(boxed(x)),
        Node::Not(x) => Node::Not(boxed(x)),
        Node::IsNull(x) => Node::IsNull(boxed(x)),
        Node::StartsWith(x, prefix) => Node::StartsWith(boxed(x), prefix.clone()),
        Node::Arithmetic(operation, x, y) => Node::Arithmetic(*operation, boxed(x), boxed(y)),
        Node::Compare(comparison, x, y) => Node::Compare(*comparison, boxed(x), boxed(y)),
        Node::And(x, y) => Node::And(boxed(x), boxed(y)),
        Node::Or(x, y) => Node::Or(boxed(x), boxed(y)),
        Node::If(x, y, z) => Node::If(boxed(x), boxed(y), boxed(z)),
    };
    Expr {
        node,
        kind: expr.kind,
        nullable: expr.nullable,
    }
}

/// Joins two parts of the same party, if there are any that go together.
fn locally(parts: &[Joined], edges: &[Edge]) -> Option<Vec<Joined>> {
    for (at, one) in parts.iter().enumerate() {
        for (other_at, other) in parts.iter().enumerate() {
            if at == other_at || one.physical.owner.is_none() || one.physical.owner != other.physical.owner {
                continue;
            }
            if let Some(both) = together(one, other, edges, None) {
                let rest = parts
                    .iter()
                    .enumerate()
                    .filter(|(place, _)| ![at, other_at].contains(place));
                let rest = rest.map(|(_, part)| part.clone());
                return Some(rest.chain([both]).collect());
            }
        }
    }
    None
}

/// Each row of `probe` with those of `lookup` that it goes together with, if the promises allow it.
fn together(probe: &Joined, lookup: &Joined, edges: &[Edge], at: Option<Place>) -> Option<Joined> {
    let place = |joined: &Joined, side: &Expr| {
        joined
            .places
            .iter()
            .find(|(_, known)| known == side)
            .map(|&(place, _)| place)
    };
    let (mut probe_keys, mut lookup_keys) = (Vec::new(), Vec::new());
    for edge in edges {
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
    let slots = slots(&lookup.physical, &lookup_keys)?;
    let cost = cost(
        &probe.physical,
        &lookup.physical,
        (&probe_keys, &lookup_keys),
        slots,
    );
    let shift = probe.physical.columns.len();
    let moved = lookup
        .places
        .iter()
        .map(|(place, expr)| (place + shift, expr.clone()));
    let places = probe.places.iter().cloned().chain(moved).collect();
    let physical = join(
        Join {
            probe: probe.physical.clone(),
            lookup: lookup.physical.clone(),
            probe_keys,
            lookup_keys,
            slots,
            outer: false,
        },
        at,
    );
    Some(Joined {
        physical: physical.ok()?,
        inputs: [&probe.inputs[..], &lookup.inputs].concat(),
        places,
        cost: probe.cost + lookup.cost + cost,
    })
}

/// About how many ANDs a join takes.
fn cost(probe: &Physical, lookup: &Physical, keys: (&[usize], &[usize]), slots: usize) -> f64 {
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
    let merging = all * all.log2().max(1.0) * (2.0 * key + payload);
    let sorting = |side: &Physical, keys: &[usize]| {
        let rows = side.rows as f64;
        if side.owner.is_some() || side.is_sorted(keys) || side.rows == 1 {
            return 0.0;
        }
        rows * rows.log2().max(1.0).powi(2) / 4.0 * (key + side.width() as f64)
    };
    // What comes next is done with as many rows.
    merging + sorting(probe, keys.0) + sorting(lookup, keys.1) + probe.rows as f64 * slots as f64 * 64.0
}

/// All parts joined, in the order that is cheapest.
fn ordered(parts: Vec<Joined>, edges: &[Edge], at: Option<Place>) -> Result<Joined> {
    let mut best: Option<Joined> = None;
    if parts.len() <= ALL_ORDERS {
        for start in 0..parts.len() {
            let others: Vec<&Joined> = parts
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != start)
                .map(|(_, part)| part)
                .collect();
            search(parts[start].clone(), &others, edges, at, &mut best);
        }
    } else {
        for start in 0..parts.len() {
            let mut joined = parts[start].clone();
            let mut others: Vec<&Joined> = parts
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != start)
                .map(|(_, part)| part)
                .collect();
            while !others.is_empty() {
                let next = others
                    .iter()
                    .enumerate()
                    .filter_map(|(place, other)| Some((place, cheaper(&joined, other, edges, at)?)));
                let Some((place, both)) = next.min_by(|one, other| one.1.cost.total_cmp(&other.1.cost))
                else {
                    break;
                };
                others.remove(place);
                joined = both;
            }
            if others.is_empty() && best.as_ref().is_none_or(|best| joined.cost < best.cost) {
                best = Some(joined);
            }
        }
    }
    best.ok_or_else(|| {
        let what = "these tables cannot be joined: each join needs columns of two tables that are equal, and the job must say how often a key comes in \
                    one of them; add `unique` (or `at_most`) for the column that it is joined by";
        Error::query(at, what)
    })
}

fn cheaper(one: &Joined, other: &Joined, edges: &[Edge], at: Option<Place>) -> Option<Joined> {
    let both = [together(one, other, edges, at), together(other, one, edges, at)];
    both.into_iter()
        .flatten()
        .min_by(|one, other| one.cost.total_cmp(&other.cost))
}

fn search(joined: Joined, others: &[&Joined], edges: &[Edge], at: Option<Place>, best: &mut Option<Joined>) {
    if best.as_ref().is_some_and(|best| best.cost <= joined.cost) {
        return;
    }
    if others.is_empty() {
        *best = Some(joined);
        return;
    }
    for (place, other) in others.iter().enumerate() {
        let rest: Vec<&Joined> = others
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != place)
            .map(|(_, part)| *part)
            .collect();
        for both in [
            together(&joined, other, edges, at),
            together(other, &joined, edges, at),
        ]
        .into_iter()
        .flatten()
        {
            search(both, &rest, edges, at, best);
        }
    }
}
