//! What groups only show is looked up once for each group, instead of being carried along with each row.

use std::collections::BTreeSet;

use super::MAX_EXCHANGES;
use super::atoms::of_inputs;
use super::calls::refuse_secret;
use super::inner::flatten;
use super::order::cost;
use super::paired::{Input, over_own};
use super::physical::{Physical, Step};
use super::planner::Planner;
use crate::error::Result;
use crate::expr::{Comparison, Expr, Node};
use crate::relation::{Info, Operation, Relation};

/// Fewest bits of columns that are worth a join of their own.
const FEWEST_BITS: u32 = 64;

/// A table whose columns groups show, and the columns that its rows are known by.
struct Shown {
    relation: Relation,
    first: usize,
    unique: Vec<usize>,
    /// Which of the keys are of this table alone and not needed to make the groups.
    keys: Vec<usize>,
}

impl Planner<'_> {
    /// The steps of `relation`'s groups, of which `early` are those in the order of the query, or those that look up what is shown behind the groups, if these take less.
    pub(super) fn cheaper_groups(
        &self,
        early: Physical,
        relation: &Relation,
        wanted: &[Expr],
    ) -> Result<Physical> {
        let Some(late) = self.looked_up_late(relation, wanted)? else {
            return Ok(early);
        };
        let Ok(mut late) = self.looking_up(&late, wanted) else {
            return Ok(early);
        };
        // A function that an owner computes of its own columns might have no owner any more.
        let is_better = refuse_secret(&late, relation.at).is_ok()
            && late.exchanges() <= MAX_EXCHANGES
            && self.ands(&late) < self.ands(&early);
        if !is_better {
            return Ok(early);
        }
        // They are the same rows.
        late.facts.also(&early.facts);
        Ok(late)
    }

    /// The groups joined with the tables that show the other keys, which are looked up and never look up: only so it is verified that their keys come once.
    fn looking_up(&self, late: &Relation, wanted: &[Expr]) -> Result<Physical> {
        let Operation::Project(joined, exprs) = &late.operation else {
            unreachable!("it is projected");
        };
        let wanted = self.composed(wanted, exprs, late.at)?;
        self.inner_by(joined, Vec::new(), &wanted, |join, parts| join.in_turn(parts))
    }

    /// The same groups made by fewer keys, joined with the tables that tell the others. Each of these comes twice, and its owner may give others rows the second time:
    /// as no column is used both times but those that it is joined by, and its own conditions, that is as if it had given the rows whose keys come both times.
    fn looked_up_late(&self, relation: &Relation, wanted: &[Expr]) -> Result<Option<Relation>> {
        let Operation::Group {
            input,
            keys,
            aggregates,
            grouped: true,
            made_of: None,
            shown: false,
        } = &relation.operation
        else {
            return Ok(None);
        };
        let is_narrow = keys.iter().map(bits).sum::<u32>() < FEWEST_BITS;
        if is_narrow || self.is_of_one(input) || !self.work.has_room() {
            return Ok(None);
        }
        let parts = relation.parts();
        self.work.make(parts, relation.at)?;
        let (mut inputs, mut conditions) = (Vec::new(), Vec::new());
        flatten(input, 0, &mut inputs, &mut conditions);
        let looks = parts.saturating_mul(keys.len() + inputs.len());
        self.work.look(looks, relation.at)?;
        let conditions: Vec<Expr> = conditions.into_iter().flat_map(Expr::conjuncts).collect();
        let input_of = |column: usize| inputs.partition_point(|input| input.first <= column) - 1;
        let of_aggregates = aggregates.iter().map(|aggregate| &aggregate.of);
        let of_several = keys.iter().filter(|key| of_inputs(key, &input_of).len() > 1);
        let mut used = BTreeSet::new();
        for expr in of_aggregates.chain(&conditions).chain(of_several) {
            expr.columns(&mut |column| used.extend([column]));
        }
        let mut shown = Vec::new();
        for (at, unique) in self.known(&inputs, keys, &conditions) {
            let Some(mut table) = self.shown(&inputs[at], unique, (keys, wanted), &used) else {
                continue;
            };
            let own = conditions
                .iter()
                .filter(|of| of_inputs(of, &input_of) == [at])
                .cloned();
            if let Some(condition) = Expr::all(own.collect()) {
                table.relation = table.relation.filter(over_own(&condition, &inputs[at]));
            }
            shown.push(table);
        }
        match shown.is_empty() {
            true => Ok(None),
            false => Ok(behind_groups(relation, &shown)),
        }
    }

    /// The tables of which a group has rows with one key only, each with the columns of that key.
    fn known(&self, inputs: &[Input], keys: &[Expr], conditions: &[Expr]) -> Vec<(usize, Vec<usize>)> {
        let mut columns: BTreeSet<usize> = keys.iter().filter_map(Expr::as_column).collect();
        let mut equal: Vec<[usize; 2]> = conditions.iter().filter_map(equal_columns).collect();
        let mut others: Vec<usize> = (0..inputs.len()).collect();
        let mut known = Vec::new();
        loop {
            let before = columns.len();
            equal.retain(|both| {
                let is_known = both.iter().any(|column| columns.contains(column));
                columns.extend(both.iter().filter(|_| is_known));
                !is_known
            });
            // That a table's key tells its other columns is not verified where one of these made the key known.
            let found: Vec<(usize, Vec<usize>)> = others
                .iter()
                .filter_map(|&at| Some((at, self.unique(&inputs[at], &columns)?)))
                .collect();
            others.retain(|at| found.iter().all(|(other, _)| other != at));
            for (at, _) in &found {
                let input = &inputs[*at];
                columns.extend(input.first..input.first + input.relation.columns.len());
            }
            known.extend(found);
            if columns.len() == before {
                return known;
            }
        }
    }

    /// Columns of a table that are never null and together unique, if they are all known: of several, those of fewest bits.
    fn unique(&self, input: &Input, known: &BTreeSet<usize>) -> Option<Vec<usize>> {
        let Operation::Scan(table) = input.relation.operation else {
            return None;
        };
        let declared = &self.schema.tables[table];
        // Tables with the same rows have all of them, each time.
        let like = |other: usize| self.schema.rows_like(other);
        if (0..self.schema.tables.len()).any(|other| other != table && like(other) == like(table)) {
            return None;
        }
        let columns = |names: &Vec<String>| -> Option<Vec<usize>> {
            let place = |name: &String| {
                let column = declared.column(name)?;
                let is_known = known.contains(&(input.first + column));
                (is_known && !input.relation.columns[column].nullable).then_some(column)
            };
            names.iter().map(place).collect()
        };
        let width = |columns: &Vec<usize>| -> u32 {
            let kinds = columns.iter().map(|&column| input.relation.columns[column].kind);
            kinds.map(|kind| kind.width()).sum()
        };
        declared.unique.iter().filter_map(columns).min_by_key(width)
    }

    /// What groups only show of a table; of its columns, these and no others are used where they are shown.
    fn shown(
        &self,
        input: &Input,
        unique: Vec<usize>,
        (keys, wanted): (&[Expr], &[Expr]),
        used: &BTreeSet<usize>,
    ) -> Option<Shown> {
        let own = input.first..input.first + input.relation.columns.len();
        let columns = |key: &Expr, of: &dyn Fn(usize) -> bool| {
            let mut all = true;
            key.columns(&mut |column| all &= of(column));
            all
        };
        let is_unique = |column: usize| unique.contains(&(column - input.first));
        let is_own =
            |at: &usize| !keys[*at].has_no_columns() && columns(&keys[*at], &|column| own.contains(&column));
        let (mut later, kept): (Vec<usize>, Vec<usize>) = (0..keys.len())
            .filter(is_own)
            .partition(|&at| !columns(&keys[at], &is_unique));
        let mut used = used.clone();
        kept.iter()
            .for_each(|&at| keys[at].columns(&mut |column| used.extend([column])));
        while let Some(place) = later
            .iter()
            .position(|&at| !columns(&keys[at], &|column| !used.contains(&column)))
        {
            let at = later.remove(place);
            keys[at].columns(&mut |column| used.extend([column]));
        }
        let more: u32 = unique
            .iter()
            .map(|&column| input.relation.columns[column].kind.width())
            .sum();
        let mut is_wanted = false;
        wanted
            .iter()
            .for_each(|expr| expr.columns(&mut |column| is_wanted |= later.contains(&column)));
        let saved: u32 = later.iter().map(|&at| bits(&keys[at])).sum();
        (is_wanted && saved >= FEWEST_BITS + more).then(|| Shown {
            relation: input.relation.clone(),
            first: input.first,
            unique,
            keys: later,
        })
    }

    /// About how many ANDs joins and groups take.
    fn ands(&self, of: &Physical) -> f64 {
        if of.owner.is_some() {
            return 0.0;
        }
        let in_orders = self.schema.parties == 3;
        let own = match &*of.step {
            Step::Join(join) => {
                let keys = (join.probe_keys.as_slice(), join.lookup_keys.as_slice());
                cost((&join.probe, &join.lookup), keys, join.slots, in_orders)
            }
            Step::Group {
                input,
                keys,
                functions,
                ..
            } if input.is_in_groups(*keys, functions) => 0.0,
            Step::Group { input, .. } => {
                let (rows, width) = (input.rows as f64, input.width() as f64);
                let levels = rows.log2().max(1.0);
                match in_orders {
                    true => rows * (64.0 + width + 20.0 * levels),
                    false => rows * levels.powi(2) / 4.0 * width,
                }
            }
            _ => 0.0,
        };
        own + of.inputs().into_iter().map(|input| self.ands(input)).sum::<f64>()
    }
}

fn bits(expr: &Expr) -> u32 {
    expr.kind.width() + u32::from(expr.nullable)
}

fn equal_columns(condition: &Expr) -> Option<[usize; 2]> {
    match &condition.node {
        Node::Compare(Comparison::Equal, x, y) => Some([x.as_column()?, y.as_column()?]),
        _ => None,
    }
}

/// The groups of `relation` without the keys that are `shown`; how many keys they have, and of each table the places of its unique columns among them.
fn by_fewer_keys(relation: &Relation, shown: &[Shown]) -> (Relation, usize, Vec<Vec<usize>>) {
    let Operation::Group {
        input,
        keys,
        aggregates,
        ..
    } = &relation.operation
    else {
        unreachable!("it is made of groups");
    };
    let later: BTreeSet<usize> = shown
        .iter()
        .flat_map(|table| table.keys.iter().copied())
        .collect();
    let kept = (0..keys.len()).filter(|at| !later.contains(at));
    let (mut by, mut infos): (Vec<Expr>, Vec<Info>) = kept
        .map(|at| (keys[at].clone(), relation.columns[at].clone()))
        .unzip();
    let all = input.all();
    let mut place = |column: usize| {
        let place = by.iter().position(|key| key.as_column() == Some(column));
        place.unwrap_or_else(|| {
            by.push(all[column].clone());
            infos.push(input.columns[column].clone());
            by.len() - 1
        })
    };
    let of_table = |table: &Shown| {
        let unique = table.unique.iter();
        unique.map(|column| place(table.first + column)).collect()
    };
    let places = shown.iter().map(of_table).collect();
    infos.extend(relation.columns[keys.len()..].iter().cloned());
    let count = by.len();
    let groups = Relation {
        at: relation.at,
        columns: infos,
        operation: Operation::Group {
            input: input.clone(),
            keys: by,
            aggregates: aggregates.clone(),
            grouped: true,
            made_of: None,
            shown: false,
        },
    };
    (groups, count, places)
}

/// The groups of `relation` without the keys that are `shown`, joined with the tables that show them; its columns are the same.
fn behind_groups(relation: &Relation, shown: &[Shown]) -> Option<Relation> {
    let Operation::Group { keys, .. } = &relation.operation else {
        unreachable!("it is made of groups");
    };
    let (groups, first, places) = by_fewer_keys(relation, shown);
    let of_groups = groups.all();
    let mut told: Vec<Option<Expr>> = vec![None; keys.len()];
    let (mut conditions, mut start) = (Vec::new(), of_groups.len());
    for (table, places) in shown.iter().zip(places) {
        let own: Vec<Expr> = table
            .relation
            .all()
            .into_iter()
            .map(|column| column.moved(start))
            .collect();
        for (column, place) in table.unique.iter().zip(places) {
            conditions.push(Expr::compare(
                Comparison::Equal,
                of_groups[place].clone(),
                own[*column].clone(),
            )?);
        }
        for &at in &table.keys {
            told[at] = Some(keys[at].over(&|column| own[column - table.first].clone()));
        }
        start += own.len();
    }
    let mut kept = of_groups[..first].iter();
    let of_keys = told.into_iter().map(|told| told.or_else(|| kept.next().cloned()));
    let exprs: Vec<Expr> = of_keys
        .flatten()
        .chain(of_groups[first..].iter().cloned())
        .collect();
    let inputs: Vec<Relation> = [groups]
        .into_iter()
        .chain(shown.iter().map(|table| table.relation.clone()))
        .collect();
    let joined = Relation {
        at: relation.at,
        columns: inputs
            .iter()
            .flat_map(|input| input.columns.iter().cloned())
            .collect(),
        operation: Operation::Inner(inputs, conditions),
    };
    Some(Relation {
        at: relation.at,
        columns: relation.columns.clone(),
        operation: Operation::Project(Box::new(joined), exprs),
    })
}
