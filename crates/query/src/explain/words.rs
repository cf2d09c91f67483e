//! What the columns and expressions of a step are called, in the words of SQL.

use crate::expr::{Arithmetic, Comparison, Expr, Node, ValueKind};
use crate::listed::List;
use crate::plan::physical::{Part, Physical, Step};
use crate::relation::Function;
use crate::schema::Schema;

/// The columns of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// What they are called.
    pub(super) names: Vec<String>,
    /// The lists in which their values are places.
    lists: Vec<Option<List>>,
}

impl Columns {
    /// All of one step after the other.
    fn concat(parts: impl IntoIterator<Item = Columns>) -> Self {
        let mut all = Columns::default();
        for part in parts {
            all.names.extend(part.names);
            all.lists.extend(part.lists);
        }
        all
    }

    /// The list in which the values of an expression are places.
    fn list_of(&self, expr: &Expr) -> Option<&List> {
        match &expr.node {
            Node::Column(column) => self.lists[*column].as_ref(),
            Node::As(part) | Node::Within(part) => self.list_of(part),
            Node::If(_, yes, no) => self.list_of(yes).or_else(|| self.list_of(no)),
            _ => None,
        }
    }
}

/// The columns that a step gives.
pub(super) fn columns(physical: &Physical, schema: &Schema) -> Columns {
    match &*physical.step {
        Step::Scan { table, columns } => {
            let table = &schema.tables[*table];
            let name = |&column: &usize| format!("{}.{}", table.name, table.fields[column].name);
            Columns {
                names: columns.iter().map(name).collect(),
                lists: columns.iter().map(|&column| table.list(column)).collect(),
            }
        }
        Step::Project(input, exprs) => {
            let columns = columns(input, schema);
            Columns {
                names: exprs.iter().map(|expr| told(expr, &columns)).collect(),
                lists: exprs.iter().map(|expr| columns.list_of(expr).cloned()).collect(),
            }
        }
        Step::Filter(input, _) | Step::Share(input, _) | Step::Verify { input, .. } => columns(input, schema),
        Step::First { input, .. } => columns(input, schema),
        Step::Window { input, window } => {
            let own = columns(input, schema);
            let list = |of: Option<usize>| own.lists[of?].clone();
            let lists = window.made.iter().map(|(made, of)| match made.is_value() {
                true => list(*of),
                false => None,
            });
            let made = Columns {
                names: window.told(&own.names).collect(),
                lists: lists.collect(),
            };
            Columns::concat([own, made])
        }
        Step::Repeat { input, .. } => {
            let number = Columns {
                names: vec!["its copy".to_owned()],
                lists: vec![None],
            };
            Columns::concat([columns(input, schema), number])
        }
        Step::Kept { .. } => Columns {
            names: (1..=physical.columns.len())
                .map(|at| format!("kept {at}"))
                .collect(),
            lists: vec![None; physical.columns.len()],
        },
        Step::Union(inputs) => columns(&inputs[0], schema),
        Step::Group {
            input,
            keys,
            functions,
            ..
        } => {
            let mut columns = columns(input, schema);
            for (at, function) in (*keys..).zip(functions) {
                columns.names[at] = function.told(&columns.names[at]);
                if let Function::Rows | Function::Count | Function::Sum = function {
                    columns.lists[at] = None;
                }
            }
            columns
        }
        Step::Join(join) => Columns::concat([columns(&join.probe, schema), columns(&join.lookup, schema)]),
        Step::Paired(parts) => Columns::concat(parts.iter().map(|part| of_part(part, schema))),
    }
}

/// The columns of a table that goes together with others, but for the one that says whether a row counts.
fn of_part(part: &Part, schema: &Schema) -> Columns {
    let mut columns = columns(&part.input, schema);
    if let Some(counts) = part.counts {
        columns.names.remove(counts);
        columns.lists.remove(counts);
    }
    columns
}

/// An expression, in the words of SQL.
pub(super) fn told(expr: &Expr, columns: &Columns) -> String {
    told_of(expr, columns, None)
}

/// The same, whose values may be places in a list.
fn told_of(expr: &Expr, columns: &Columns, list: Option<&List>) -> String {
    let of = |part: &Expr| told(part, columns);
    let each = |parts: &[Expr]| parts.iter().map(of).collect::<Vec<_>>();
    match &expr.node {
        Node::Column(column) => columns.names[*column].clone(),
        Node::Number(value) => match list.and_then(|list| at(list, *value)) {
            Some(value) => quoted(value),
            None => constant(*value, expr.kind),
        },
        Node::Text(bytes) => quoted(bytes),
        Node::Null => "NULL".into(),
        Node::As(part) | Node::Within(part) => told_of(part, columns, list),
        Node::Listed(part, list) => told_of(part, columns, Some(list)),
        Node::Call(call, _, parts) => call.told(&each(parts)),
        Node::Formula(formula, parts) => formula.told(&each(parts)),
        Node::Arithmetic(operation, x, y) => {
            let sign = match operation {
                Arithmetic::Add => "+",
                Arithmetic::Subtract => "-",
                Arithmetic::Multiply => "*",
                Arithmetic::Divide { .. } => "/",
                Arithmetic::Remainder => "%",
            };
            format!("({} {sign} {})", of(x), of(y))
        }
        Node::Compare(comparison, x, y) => compared(*comparison, (x, y), columns, true),
        Node::And(x, y) => format!("{} AND {}", of(x), of(y)),
        Node::Or(x, y) => format!("({} OR {})", of(x), of(y)),
        Node::Not(x) => match &x.node {
            Node::Compare(comparison, x, y) => compared(*comparison, (x, y), columns, false),
            Node::IsNull(x) => format!("{} IS NOT NULL", of(x)),
            _ => format!("NOT ({})", of(x)),
        },
        Node::IsNull(x) => format!("{} IS NULL", of(x)),
        Node::If(condition, yes, no) => {
            let list = list.or_else(|| columns.list_of(expr));
            let [yes, no] = [yes, no].map(|part| told_of(part, columns, list));
            format!("CASE WHEN {} THEN {yes} ELSE {no} END", of(condition))
        }
        Node::StartsWith(x, prefix) => format!("{} LIKE '{}%'", of(x), String::from_utf8_lossy(prefix)),
    }
}

/// A comparison, which `holds` or does not.
fn compared(comparison: Comparison, (x, y): (&Expr, &Expr), columns: &Columns, holds: bool) -> String {
    let list = columns.list_of(x).or_else(|| columns.list_of(y));
    let [left, right] = [x, y].map(|side| told_of(side, columns, list));
    let last = list.and_then(|list| list.values().last());
    let sign = match (comparison, holds, &y.node, last) {
        (Comparison::Equal, true, ..) => "=",
        (Comparison::Equal, false, ..) => "<>",
        // Text that is greater than all in the list stands behind the last of them.
        (Comparison::Less, _, Node::Number(place), Some(last))
            if list.is_some_and(|list| at(list, *place).is_none()) =>
        {
            let sign = if holds { "<=" } else { ">" };
            return format!("{left} {sign} {}", quoted(last));
        }
        (Comparison::Less, true, ..) => "<",
        (Comparison::Less, false, ..) => ">=",
    };
    format!("{left} {sign} {right}")
}

/// The text at a place of a list.
fn at(list: &List, place: i128) -> Option<&[u8]> {
    let value = list.values().get(usize::try_from(place).ok()?)?;
    Some(value)
}

fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    format!("'{}'", text.trim_end_matches('\0').replace('\'', "''"))
}

fn constant(value: i128, kind: ValueKind) -> String {
    match kind {
        ValueKind::Bool => (value == 1).to_string(),
        ValueKind::Date => format!("date '{}'", cenote_tables::format_date(value)),
        ValueKind::Timestamp => format!("timestamp '{}'", cenote_tables::format_timestamp(value)),
        ValueKind::Span => format!("interval '{} microseconds'", value),
        ValueKind::Number { scale: 0, .. } | ValueKind::Text(_) => value.to_string(),
        ValueKind::Number { scale, .. } => {
            let unit = cenote_tables::ten_to(scale);
            let sign = if value < 0 { "-" } else { "" };
            let places = usize::from(scale);
            format!(
                "{sign}{}.{:0places$}",
                value.unsigned_abs() / unit,
                value.unsigned_abs() % unit
            )
        }
    }
}
