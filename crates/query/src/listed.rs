//! Columns of which all values are listed: until the answer they are the places of their values in the list, which takes a few bits.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::expr::{Comparison, Expr, Node, ValueKind, balanced};
use crate::local::column::{Column, Values};
use crate::local::{evaluate, padded, text_width, truths};
use crate::relation::{Aggregate, Function, Info, Operation, Order, Relation};
use crate::schema::Schema;
use crate::window::Window;
use crate::work::Work;

/// All values that a column of text may have, without the zeros that fill them up, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct List(Arc<Vec<Vec<u8>>>);

impl List {
    /// Of these values, none of which comes twice.
    pub(crate) fn new(values: &[String]) -> Self {
        let mut values: Vec<Vec<u8>> = values.iter().map(|value| value.as_bytes().to_vec()).collect();
        values.sort_unstable();
        List(Arc::new(values))
    }

    pub(crate) fn values(&self) -> &[Vec<u8>] {
        &self.0
    }

    /// What the places are.
    pub(crate) fn kind(&self) -> ValueKind {
        ValueKind::Number {
            least: 0,
            most: self.0.len() as i128 - 1,
            scale: 0,
        }
    }

    /// The place of a value, which may be filled up with zeros; the place where it would stand, if it is not there.
    pub(crate) fn place(&self, value: &[u8]) -> std::result::Result<usize, usize> {
        let end = value
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        self.0
            .binary_search_by(|known| known.as_slice().cmp(&value[..end]))
    }
}

/// A list, and the kind of the values that stand in it.
type Listing = (List, ValueKind);

/// A relation whose columns are places of values in lists, and which are.
struct Placed {
    relation: Relation,
    lists: Vec<Option<Listing>>,
}

/// The same relation, whose columns are places of values in lists as long as nothing needs the values.
///
/// # Errors
/// If it gets larger than a query may.
pub(crate) fn places<'a>(relation: &'a Relation, schema: &Schema, work: &Work) -> Result<Cow<'a, Relation>> {
    if schema.tables.iter().all(|table| table.values.is_empty()) {
        return Ok(Cow::Borrowed(relation));
    }
    let placed = Places { schema, work }.of(relation)?;
    Ok(Cow::Owned(placed.with_values(&relation.columns)))
}

impl Placed {
    /// The columns with their values.
    fn columns(&self) -> Vec<Expr> {
        let all = self.relation.all().into_iter().zip(&self.lists);
        all.map(|(place, list)| match list {
            Some((list, kind)) => place.listed(list.clone(), *kind),
            None => place,
        })
        .collect()
    }

    /// The relation with values, whose columns have names.
    fn with_values(self, columns: &[Info]) -> Relation {
        if self.lists.iter().all(Option::is_none) {
            return self.relation;
        }
        let names = columns.iter().map(|info| info.name.clone());
        let columns = names.zip(self.columns()).collect();
        self.relation.project(columns)
    }
}

/// What makes places of values.
struct Places<'a> {
    schema: &'a Schema,
    work: &'a Work,
}

impl Places<'_> {
    fn of(&self, relation: &Relation) -> Result<Placed> {
        self.work.make(relation.columns.len(), relation.at)?;
        let (operation, lists) = match &relation.operation {
            Operation::Scan(table) => {
                let table_lists = (0..relation.columns.len()).map(|column| {
                    let list = self.schema.tables[*table].list(column)?;
                    Some((list, relation.columns[column].kind))
                });
                (Operation::Scan(*table), table_lists.collect())
            }
            Operation::Kept(kept) => (Operation::Kept(kept.clone()), vec![None; relation.columns.len()]),
            Operation::Project(input, exprs) => {
                let input = self.of(input)?;
                let (exprs, lists) = self.each(exprs, &input.columns(), relation)?;
                (Operation::Project(Box::new(input.relation), exprs), lists)
            }
            Operation::Filter(input, condition) => {
                let input = self.of(input)?;
                let condition = self.over(condition, &input.columns(), relation)?;
                (
                    Operation::Filter(Box::new(input.relation), condition),
                    input.lists,
                )
            }
            Operation::Inner(inputs, conditions) => {
                let inputs = self.all(inputs)?;
                let columns: Vec<Expr> = shifted(&inputs);
                let conditions = conditions
                    .iter()
                    .map(|condition| self.over(condition, &columns, relation));
                let conditions = conditions.collect::<Result<Vec<_>>>()?;
                let (inputs, lists): (Vec<Relation>, Vec<_>) = inputs
                    .into_iter()
                    .map(|input| (input.relation, input.lists))
                    .unzip();
                (Operation::Inner(inputs, conditions), lists.concat())
            }
            Operation::Outer {
                left,
                right,
                on,
                full,
            } => self.outer((self.of(left)?, self.of(right)?), (on, *full), relation)?,
            Operation::Union(inputs) => self.union(self.all(inputs)?, relation),
            Operation::Group { .. } => self.groups(relation)?,
            Operation::Window(input, window) => self.windowed(self.of(input)?, window, relation)?,
            Operation::First(input, order, rows) => {
                let input = self.of(input)?;
                let columns = input.columns();
                let order = order.iter().map(|order| {
                    Ok(Order {
                        by: split(self.over(&order.by, &columns, relation)?).0,
                        ..order.clone()
                    })
                });
                let order = order.collect::<Result<Vec<_>>>()?;
                (
                    Operation::First(Box::new(input.relation), order, rows.clone()),
                    input.lists,
                )
            }
        };
        let lists: Vec<Option<Listing>> = lists;
        let columns = relation.columns.iter().zip(&lists).map(|(info, list)| Info {
            kind: list.as_ref().map_or(info.kind, |(list, _)| list.kind()),
            ..info.clone()
        });
        let columns = columns.collect();
        Ok(Placed {
            relation: Relation {
                operation,
                columns,
                at: relation.at,
            },
            lists,
        })
    }

    fn outer(
        &self,
        (left, right): (Placed, Placed),
        (on, full): (&[(Expr, Expr)], bool),
        relation: &Relation,
    ) -> Result<(Operation, Vec<Option<Listing>>)> {
        let (own, other) = (left.columns(), right.columns());
        let pair = |(x, y): &(Expr, Expr)| {
            let (x, y) = (self.over(x, &own, relation)?, self.over(y, &other, relation)?);
            Ok(match (x.as_place(), y.as_place()) {
                (Some((place, list)), Some((other, other_list))) if list == other_list => {
                    (place.clone(), other.clone())
                }
                _ => (x, y),
            })
        };
        let on = on.iter().map(pair).collect::<Result<Vec<_>>>()?;
        let lists = [left.lists, right.lists].concat();
        let (left, right) = (Box::new(left.relation), Box::new(right.relation));
        let operation = Operation::Outer {
            left,
            right,
            on,
            full,
        };
        Ok((operation, lists))
    }

    fn all(&self, inputs: &[Relation]) -> Result<Vec<Placed>> {
        inputs.iter().map(|input| self.of(input)).collect()
    }

    /// Rows of several relations: places, where all have the same list.
    fn union(&self, inputs: Vec<Placed>, relation: &Relation) -> (Operation, Vec<Option<Listing>>) {
        let count = relation.columns.len();
        let of = |input: &Placed, column: usize| input.lists[column].clone().map(|(list, _)| list);
        let common = |column: usize| {
            let list = of(&inputs[0], column)?;
            let all = inputs
                .iter()
                .all(|input| of(input, column).as_ref() == Some(&list));
            all.then_some((list, relation.columns[column].kind))
        };
        let lists: Vec<Option<Listing>> = (0..count).map(common).collect();
        let inputs = inputs.into_iter().map(|input| {
            let (places, values) = (input.relation.all(), input.columns());
            let columns = (0..count).map(|column| match &lists[column] {
                Some(_) => places[column].clone(),
                None => values[column].clone(),
            });
            let names = relation.columns.iter().map(|info| info.name.clone());
            let columns = names.zip(columns).collect();
            match input
                .lists
                .iter()
                .zip(&lists)
                .all(|(own, common)| own.is_some() == common.is_some())
            {
                true => input.relation,
                false => input.relation.project(columns),
            }
        });
        (Operation::Union(inputs.collect()), lists)
    }

    fn groups(&self, relation: &Relation) -> Result<(Operation, Vec<Option<Listing>>)> {
        let Operation::Group {
            input,
            keys,
            aggregates,
            grouped,
            made_of,
            shown,
        } = &relation.operation
        else {
            unreachable!("it is called for groups");
        };
        let input = self.of(input)?;
        let columns = input.columns();
        let (keys, mut lists) = self.each(keys, &columns, relation)?;
        let aggregates = aggregates.iter().map(|aggregate| {
            let (of, list) = split(self.over(&aggregate.of, &columns, relation)?);
            let is_value = matches!(
                aggregate.function,
                Function::Least | Function::Greatest | Function::Same
            );
            lists.push(list.filter(|_| is_value));
            let function = aggregate.function;
            Ok(Aggregate { function, of })
        });
        let aggregates = aggregates.collect::<Result<Vec<_>>>()?;
        let operation = Operation::Group {
            input: Box::new(input.relation),
            keys,
            aggregates,
            grouped: *grouped,
            made_of: *made_of,
            shown: *shown,
        };
        Ok((operation, lists))
    }

    /// Windows order values as their places.
    fn windowed(
        &self,
        input: Placed,
        window: &Window,
        relation: &Relation,
    ) -> Result<(Operation, Vec<Option<Listing>>)> {
        let (columns, mut window) = (input.columns(), window.clone());
        let place = |expr: &mut Expr| -> Result<Option<Listing>> {
            let (place, list) = split(self.over(expr, &columns, relation)?);
            *expr = place;
            Ok(list)
        };
        let keys = window.order.iter_mut().map(|order| &mut order.by);
        for key in window.partition.iter_mut().chain(keys) {
            place(key)?;
        }
        let mut lists = input.lists;
        for column in &mut window.columns {
            let list = column.of.as_mut().map_or(Ok(None), place)?;
            lists.push(list.filter(|_| column.made.is_value()));
        }
        Ok((Operation::Window(Box::new(input.relation), window), lists))
    }

    /// Expressions over columns that these stand for: places where they are values of a list.
    fn each(
        &self,
        exprs: &[Expr],
        columns: &[Expr],
        of: &Relation,
    ) -> Result<(Vec<Expr>, Vec<Option<Listing>>)> {
        let exprs = exprs.iter().map(|expr| Ok(split(self.over(expr, columns, of)?)));
        Ok(exprs.collect::<Result<Vec<_>>>()?.into_iter().unzip())
    }

    fn over(&self, expr: &Expr, columns: &[Expr], of: &Relation) -> Result<Expr> {
        let over = expr.over(&|column| columns[column].clone());
        self.work.keep([&over], of.at)?;
        let over = by_places(&over, self.work);
        // What would have been too much was left out.
        self.work.look(0, of.at)?;
        self.work.make(0, of.at)?;
        Ok(over)
    }
}

/// The columns of several relations one after the other.
fn shifted(inputs: &[Placed]) -> Vec<Expr> {
    let mut columns = Vec::new();
    for input in inputs {
        let before = columns.len();
        let later = |expr: Expr| expr.moved(before);
        columns.extend(input.columns().into_iter().map(later));
    }
    columns
}

/// The place of a value, and its list, if it is one.
fn split(expr: Expr) -> (Expr, Option<Listing>) {
    match expr.as_place() {
        Some((place, list)) => (place.clone(), Some((list.clone(), expr.kind))),
        None => (expr, None),
    }
}

/// The same, which compares places where it can.
fn by_places(expr: &Expr, work: &Work) -> Expr {
    let expr = Expr {
        node: expr.node.with_parts(&|part| by_places(part, work)),
        ..expr.clone()
    };
    let found = match &expr.node {
        // The list holds longer text, too.
        Node::As(value) => value
            .as_place()
            .map(|(place, list)| place.clone().listed(list.clone(), expr.kind)),
        Node::IsNull(value) => value.as_place().map(|(place, _)| place.clone().missing()),
        Node::Compare(comparison, x, y) => compared(*comparison, x, y),
        Node::If(condition, x, y) => chosen(condition, x, y, &expr),
        Node::StartsWith(..) | Node::Call(..) if expr.kind == ValueKind::Bool => holds(&expr, work),
        _ => None,
    };
    found.unwrap_or(expr)
}

fn compared(comparison: Comparison, x: &Expr, y: &Expr) -> Option<Expr> {
    match (x.as_place(), y.as_place()) {
        (Some((one, list)), Some((other, other_list))) if list == other_list => {
            Expr::compare(comparison, one.clone(), other.clone())
        }
        (Some((place, list)), None) => {
            let found = list.place(y.as_text()?);
            match (comparison, found) {
                (Comparison::Equal, Ok(at)) => Expr::compare(comparison, place.clone(), number(at)),
                (Comparison::Equal, Err(_)) => never(place),
                (Comparison::Less, Ok(at) | Err(at)) => Expr::compare(comparison, place.clone(), number(at)),
            }
        }
        (None, Some((place, list))) => match (comparison, list.place(x.as_text()?)) {
            (Comparison::Equal, _) => compared(comparison, y, x),
            (Comparison::Less, Ok(at)) => Expr::compare(comparison, number(at), place.clone()),
            // All from there on are greater.
            (Comparison::Less, Err(at)) => Some(Expr::compare(comparison, place.clone(), number(at))?.not()),
        },
        _ => None,
    }
}

/// Most pieces of a list that a condition is made of: behind more it takes less to compare the text.
const MAX_RUNS: usize = 64;

/// A condition on a value of a list and public texts as one on its place: it holds of some values.
fn holds(condition: &Expr, work: &Work) -> Option<Expr> {
    let (values, others): (Vec<&Expr>, Vec<&Expr>) = condition
        .parts()
        .into_iter()
        .partition(|part| part.as_place().is_some());
    let [value] = values[..] else { return None };
    let is_literal = |part: &&Expr| part.as_text().is_some() || matches!(part.node, Node::Null);
    let (place, list) = value.as_place()?;
    // The place is named once for each piece of the list.
    if condition.may_fail() || place.as_column().is_none() || !others.iter().all(is_literal) {
        return None;
    }
    // A pattern may be compared with a text from each of its places on.
    let bytes = |texts: &mut dyn Iterator<Item = usize>| texts.map(|bytes| bytes + 1).sum::<usize>();
    let pattern = match &condition.node {
        Node::StartsWith(_, prefix) => prefix.len() + 1,
        _ => bytes(&mut others.iter().map(|part| part.as_text().map_or(0, <[u8]>::len))),
    };
    let values = bytes(&mut list.values().iter().map(Vec::len));
    work.look(values.saturating_mul(pattern), None).ok()?;
    let width = usize::from(text_width(value.kind));
    let texts = list
        .values()
        .iter()
        .flat_map(|text| padded(text, width))
        .collect();
    let column = Column {
        values: Values::Text(width, texts),
        nulls: None,
    };
    let of_column = |part: &Expr| part.as_place().map(|_| Expr::column(0, value.kind, false));
    let found = evaluate(
        &condition.placed(&of_column),
        &[column],
        list.values().len(),
        None,
    )
    .ok()?;
    let found = match found.is_null(0) {
        // A public text is null, and so are all results.
        true => Expr::null(ValueKind::Bool),
        false => within_runs(place, &truths(&found))?,
    };
    work.keep([&found], None).ok()?;
    Some(found)
}

/// Whether a place is one that is `wanted`.
fn within_runs(place: &Expr, wanted: &[bool]) -> Option<Expr> {
    let mut from = 0;
    let mut runs = Vec::new();
    for run in wanted.chunk_by(|one, next| one == next) {
        let end = from + run.len();
        runs.extend(run[0].then_some(from..end));
        from = end;
    }
    if runs.len() > MAX_RUNS {
        return None;
    }
    let before = |end: usize| Expr::compare(Comparison::Less, place.clone(), number(end));
    let is_within = |run: Range<usize>| match (run.start, run.end) {
        (0, end) if end == wanted.len() => Some(never(place)?.not()),
        (from, end) if end == from + 1 => Expr::compare(Comparison::Equal, place.clone(), number(from)),
        (0, end) => before(end),
        (from, end) if end == wanted.len() => Some(before(from)?.not()),
        (from, end) => Some(before(from)?.not().and(before(end)?)),
    };
    let runs: Vec<Expr> = runs.into_iter().map(is_within).collect::<Option<_>>()?;
    balanced(runs, &Expr::or).or_else(|| never(place))
}

/// No place is less than the first: false, and null where it is null.
fn never(place: &Expr) -> Option<Expr> {
    Expr::compare(Comparison::Less, place.clone(), number(0))
}

fn number(place: usize) -> Expr {
    Expr::number(place as i128, 0)
}

/// One of two values, or null, of the same list.
fn chosen(condition: &Expr, x: &Expr, y: &Expr, of: &Expr) -> Option<Expr> {
    let (_, list) = x.as_place().or(y.as_place())?;
    let place = |value: &Expr| match (value.as_place(), &value.node) {
        (Some((place, own)), _) if own == list => Some(place.clone()),
        (None, Node::Null) => Some(Expr::null(list.kind())),
        (None, _) => Some(number(list.place(value.as_text()?).ok()?)),
        _ => None,
    };
    let chosen = Expr::choice(condition.clone(), place(x)?, place(y)?)?;
    let place = Expr {
        // It may be known never to be null.
        nullable: of.nullable,
        ..chosen.into_kind(list.kind())
    };
    Some(place.listed(list.clone(), of.kind))
}
