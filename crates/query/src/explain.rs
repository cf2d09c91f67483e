//! A plan in words: what is done where, and what every party learns.

use std::fmt::Write as _;

use cenote_net::PartyId;

use crate::expr::{Arithmetic, Comparison, Expr, Node, ValueKind};
use crate::plan::physical::{Join, Ordered, Part, Physical, Step};
use crate::plan::window::Windowed;
use crate::query::Query;
use crate::relation::Function;
use crate::schema::{Count, Declared, Schema};

/// A step of a plan, and what it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// What is done.
    pub what: String,
    /// The party that does it in the clear; nothing if all do it secretly.
    pub owner: Option<PartyId>,
    /// How many rows it gives at most, which is public.
    pub rows: usize,
    /// Bits of a row.
    pub bits: u64,
    /// The steps whose rows it takes.
    pub of: Vec<Explained>,
}

impl Query {
    /// The steps, the last one first.
    pub fn explained(&self) -> Explained {
        explained(self.physical(), self.schema())
    }

    /// What every party learns, a sentence each.
    pub fn learnt(&self) -> Vec<String> {
        let schema = self.schema();
        let everybody = "Everybody learns the query, the declared tables and their `max_rows`, and whether there is an answer; of other sizes and of rows nobody \
                         learns anything."
            .to_owned();
        let mut told = vec![everybody];
        let answer = &schema.answer;
        let columns: Vec<&str> = self.fields().iter().map(|field| field.name.as_str()).collect();
        for party in (0..schema.parties).map(PartyId) {
            let own: Vec<&str> = schema
                .tables
                .iter()
                .filter(|table| table.party == party)
                .map(|table| table.name.as_str())
                .collect();
            let gives = match own.as_slice() {
                [] => String::new(),
                own => format!(", and gives {}", own.join(", ")),
            };
            told.push(if answer.to.contains(party) {
                format!(
                    "{party} learns the answer: the columns {}{gives}.",
                    columns.join(", ")
                )
            } else {
                format!("{party} learns nothing of the answer{gives}.")
            });
        }
        told.push(match answer.count {
            Count::AtMost(most) => format!("That the answer has at most {most} rows is public; how many it has, those learn to whom it goes."),
            Count::Revealed => "Everybody learns how many rows the answer has.".into(),
        });
        if answer.min_group > 1 {
            told.push(format!(
                "Groups of fewer than {} rows are left out secretly.",
                answer.min_group
            ));
        }
        told.iter().map(|sentence| printable(sentence)).collect()
    }
}

impl Explained {
    /// As text, a step to a line, what it takes below it and further in.
    pub fn tree(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text.lines().map(|line| printable(line) + "\n").collect()
    }

    fn write(&self, depth: usize, text: &mut String) {
        let who = match self.owner {
            Some(party) => format!("{party}, in the clear"),
            None => "all, secretly".into(),
        };
        let s = if self.rows == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "{:depth$}{} ({who}; {} row{s} of {} bits)",
            "", self.what, self.rows, self.bits
        );
        self.of.iter().for_each(|step| step.write(depth + 2, text));
    }
}

fn explained(physical: &Physical, schema: &Schema) -> Explained {
    let (what, of) = match &*physical.step {
        Step::Scan { table, columns } => (read(&schema.tables[*table], columns), Vec::new()),
        Step::Project(input, exprs) => {
            let computed = computed(exprs, &names(input, schema));
            if computed.is_empty() {
                return explained(input, schema);
            }
            (format!("compute {}", computed.join(", ")), vec![&**input])
        }
        Step::Filter(input, condition) => {
            let condition = told(condition, &names(input, schema));
            let of = before(input, &condition, schema);
            (format!("keep rows where {condition}"), vec![of])
        }
        Step::Join(join) => (joined(join, schema), vec![&join.probe, &join.lookup]),
        Step::Paired(parts) => (
            paired(parts, schema),
            parts.iter().map(|part| &part.input).collect(),
        ),
        Step::Union(inputs) => ("all rows of".to_owned(), inputs.iter().collect()),
        Step::Group {
            input,
            keys,
            functions,
            grouped,
        } => {
            let what = groups(input, *keys, functions, *grouped, schema);
            (what, vec![&**input])
        }
        Step::First { input, order, rows } => {
            let by = listed(input, order.iter().map(|by| by.column), schema);
            let what = match (rows.start, rows.end >= input.rows) {
                (0, true) => format!("sort by {by}"),
                (0, false) => format!("the first {} by {by}", rows.end),
                (start, true) => format!("all but the first {start} by {by}"),
                (start, false) => format!("rows {} to {} by {by}", start + 1, rows.end),
            };
            (what, vec![&**input])
        }
        Step::Window { input, window } => (windowed(input, window, schema), vec![&**input]),
        Step::Verify { input, most, .. } => {
            let what = format!("verified to be groups of at most {most} rows");
            (what, vec![&**input])
        }
        Step::Share(input, keys) => {
            let what = match keys.is_empty() {
                true => "become secrets".to_owned(),
                false => format!(
                    "sorted by {}, become secrets",
                    listed(input, keys.iter().copied(), schema)
                ),
            };
            (what, vec![&**input])
        }
    };
    Explained {
        what,
        owner: physical.owner,
        rows: physical.rows,
        bits: physical.width(),
        of: of.into_iter().map(|step| explained(step, schema)).collect(),
    }
}

fn read(table: &Declared, columns: &[usize]) -> String {
    let name = |&column: &usize| table.fields[column].name.as_str();
    let names: Vec<&str> = columns.iter().map(name).collect();
    format!("read {} of {}", names.join(", "), table.name)
}

fn paired(parts: &[Part], schema: &Schema) -> String {
    let key = &names(&parts[0].input, schema)[parts[0].key];
    format!("put rows together one by one, having verified that {key} is the same in all and ascends")
}

/// The step before a condition: that the condition is computed before need not be told.
fn before<'a>(input: &'a Physical, condition: &str, schema: &Schema) -> &'a Physical {
    match &*input.step {
        Step::Project(inner, exprs) if computed(exprs, &names(inner, schema)) == [condition] => inner,
        _ => input,
    }
}

/// What is made of the groups of `input`.
fn groups(input: &Physical, keys: usize, functions: &[Function], grouped: bool, schema: &Schema) -> String {
    let names = names(input, schema);
    let made: Vec<String> = functions
        .iter()
        .zip(&names[keys..])
        .map(|(function, of)| match function {
            Function::Same => format!("{of} as it is in all rows"),
            function => function.told(of),
        })
        .collect();
    let keys = names[..keys].join(", ");
    match (grouped, made.len()) {
        (true, 0) => format!("each {keys} once"),
        (true, _) => format!("group by {keys}: {}", made.join(", ")),
        (false, _) => made.join(", "),
    }
}

/// What is made of the rows around each row of `input`.
fn windowed(input: &Physical, window: &Windowed, schema: &Schema) -> String {
    let names = names(input, schema);
    let made: Vec<String> = window.told(&names).collect();
    let by = |keys: &[Ordered]| {
        let name = |by: &Ordered| match by.descending {
            true => format!("{} descending", names[by.column]),
            false => names[by.column].clone(),
        };
        keys.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let (partition, order) = window.order.split_at(window.partition);
    let among = match partition {
        [] => "among all rows".to_owned(),
        keys => format!("among rows with the same {}", by(keys)),
    };
    match order {
        [] => format!("for each row {among}: {}", made.join(", ")),
        keys => format!(
            "for each row {among} in the order of {}: {}",
            by(keys),
            made.join(", ")
        ),
    }
}

/// The names of these columns of `input`, one after the other.
fn listed(input: &Physical, columns: impl Iterator<Item = usize>, schema: &Schema) -> String {
    let names = names(input, schema);
    let columns: Vec<&str> = columns.map(|column| names[column].as_str()).collect();
    columns.join(", ")
}

fn joined(join: &Join, schema: &Schema) -> String {
    let (probe, lookup) = (names(&join.probe, schema), names(&join.lookup, schema));
    let pairs = join.probe_keys.iter().zip(&join.lookup_keys);
    let on: Vec<String> = pairs
        .map(|(&one, &other)| format!("{} = {}", probe[one], lookup[other]))
        .collect();
    let kind = if join.outer { "left join" } else { "join" };
    match (on.is_empty(), join.slots) {
        (true, _) => format!("{kind} with the only row"),
        (false, 1) => format!("{kind} on {}", on.join(" and ")),
        (false, slots) => format!("{kind} on {}, up to {slots} rows each", on.join(" and ")),
    }
}

/// Text that steers no screen.
fn printable(text: &str) -> String {
    text.chars().map(cenote_tables::printable).collect()
}

/// What is computed, besides columns that are there and constants.
fn computed(exprs: &[Expr], names: &[String]) -> Vec<String> {
    let is_new = |expr: &&Expr| {
        !matches!(
            expr.node,
            Node::Column(_) | Node::Number(_) | Node::Text(_) | Node::Null
        )
    };
    exprs
        .iter()
        .filter(is_new)
        .map(|expr| told(expr, names))
        .filter(|name| !names.contains(name))
        .collect()
}

/// What the columns of a step are called.
fn names(physical: &Physical, schema: &Schema) -> Vec<String> {
    match &*physical.step {
        Step::Scan { table, columns } => {
            let table = &schema.tables[*table];
            columns
                .iter()
                .map(|&column| format!("{}.{}", table.name, table.fields[column].name))
                .collect()
        }
        Step::Project(input, exprs) => {
            let names = names(input, schema);
            exprs.iter().map(|expr| told(expr, &names)).collect()
        }
        Step::Filter(input, _) | Step::Share(input, _) | Step::Verify { input, .. } => names(input, schema),
        Step::First { input, .. } => names(input, schema),
        Step::Window { input, window } => {
            let names = names(input, schema);
            let made: Vec<String> = window.told(&names).collect();
            names.into_iter().chain(made).collect()
        }
        Step::Union(inputs) => names(&inputs[0], schema),
        Step::Group {
            input,
            keys,
            functions,
            ..
        } => {
            let mut names = names(input, schema);
            for (name, function) in names[*keys..].iter_mut().zip(functions) {
                *name = function.told(name);
            }
            names
        }
        Step::Join(join) => [names(&join.probe, schema), names(&join.lookup, schema)].concat(),
        Step::Paired(parts) => {
            let of = |part: &crate::plan::physical::Part| {
                let names = names(&part.input, schema).into_iter().enumerate();
                let counts = part.counts;
                names
                    .filter(move |(at, _)| Some(*at) != counts)
                    .map(|(_, name)| name)
                    .collect::<Vec<_>>()
            };
            parts.iter().flat_map(of).collect()
        }
    }
}

/// An expression, in the words of SQL.
fn told(expr: &Expr, names: &[String]) -> String {
    let of = |part: &Expr| told(part, names);
    match &expr.node {
        Node::Column(column) => names[*column].clone(),
        Node::Number(value) => constant(*value, expr.kind),
        Node::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            format!("'{}'", text.trim_end_matches('\0').replace('\'', "''"))
        }
        Node::Null => "NULL".into(),
        Node::As(part) | Node::Within(part) | Node::Listed(part, _) => of(part),
        Node::Call(call, _, parts) => call.told(&parts.iter().map(of).collect::<Vec<_>>()),
        Node::Formula(formula, parts) => formula.told(&parts.iter().map(of).collect::<Vec<_>>()),
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
        Node::Compare(Comparison::Equal, x, y) => format!("{} = {}", of(x), of(y)),
        Node::Compare(Comparison::Less, x, y) => format!("{} < {}", of(x), of(y)),
        Node::And(x, y) => format!("{} AND {}", of(x), of(y)),
        Node::Or(x, y) => format!("({} OR {})", of(x), of(y)),
        Node::Not(x) => match &x.node {
            Node::Compare(Comparison::Less, x, y) => format!("{} >= {}", of(x), of(y)),
            Node::Compare(Comparison::Equal, x, y) => format!("{} <> {}", of(x), of(y)),
            Node::IsNull(x) => format!("{} IS NOT NULL", of(x)),
            _ => format!("NOT ({})", of(x)),
        },
        Node::IsNull(x) => format!("{} IS NULL", of(x)),
        Node::If(condition, yes, no) => {
            format!("CASE WHEN {} THEN {} ELSE {} END", of(condition), of(yes), of(no))
        }
        Node::StartsWith(x, prefix) => format!("{} LIKE '{}%'", of(x), String::from_utf8_lossy(prefix)),
    }
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
