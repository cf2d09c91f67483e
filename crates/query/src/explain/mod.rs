//! A plan in words: what is done where, and what every party learns.

mod cost;
mod words;

use std::fmt::Write as _;

use cenote_net::PartyId;
use cenote_program::{StepTally, Tally};
use serde::{Deserialize, Serialize};

pub(crate) use self::cost::rounded;
pub use self::cost::share;
use self::words::{Columns, columns, told};
use crate::expr::{Expr, Node};
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
    /// What it takes itself, without the steps whose rows it takes; nothing if it is done in the clear, or was not counted.
    pub takes: Option<StepTally>,
    /// The steps whose rows it takes.
    pub of: Vec<Explained>,
}

/// A step of a plan, in a list of all of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanStep {
    /// How many steps stand above it, the one that takes it just above.
    pub depth: u32,
    /// What is done.
    pub what: String,
    /// The party that does it in the clear; nothing if all do it secretly.
    pub owner: Option<u8>,
    /// How many rows it gives at most, which is public.
    pub rows: u64,
    /// Bits of a row.
    pub bits: u64,
    /// What it takes itself.
    #[serde(flatten)]
    pub takes: StepTally,
}

impl Query {
    /// The steps, the last one first.
    pub fn explained(&self) -> Explained {
        let mut teller = Teller {
            schema: self.schema(),
            takes: None,
            begun: 0,
        };
        match self.roots() {
            [root] => teller.explained(&root.physical),
            _ => self.explained_by(&mut teller, "what is kept for the merge".into(), None),
        }
    }

    /// The steps of all that it gives, below a last one.
    fn explained_by(&self, teller: &mut Teller<'_>, what: String, takes: Option<StepTally>) -> Explained {
        let steps = || self.roots().iter().map(|root| &root.physical);
        Explained {
            what,
            owner: None,
            rows: self.answer_rows(),
            bits: steps().map(Physical::width).max().unwrap_or(0),
            takes,
            of: steps().map(|steps| teller.explained(steps)).collect(),
        }
    }

    /// The same with what each step takes of this [`Query::tally`], and above them the answer, with what that takes besides.
    pub fn foreseen(&self, tally: &Tally) -> Explained {
        let mut teller = Teller {
            schema: self.schema(),
            takes: Some(&tally.steps),
            begun: 0,
        };
        let answer = &self.schema().answer;
        let to: Vec<String> = answer.to.iter().map(|party| party.to_string()).collect();
        let also = match answer.count {
            Count::AtMost(_) => "",
            Count::Revealed => "; everybody learns how many rows it has",
        };
        let to = match to.len() == usize::from(self.schema().parties) {
            true => "all parties".to_owned(),
            false => to.join(" and "),
        };
        let what = match self.is_shard() {
            true => "what is kept for the merge".to_owned(),
            false => format!("the answer, to {to}{also}"),
        };
        let takes = teller.of_step(0);
        self.explained_by(&mut teller, what, takes)
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
        self.write(0, self.and_gates(), &mut text);
        text.lines().map(|line| printable(line) + "\n").collect()
    }

    /// AND gates of it and all steps below.
    pub fn and_gates(&self) -> u64 {
        let own = self.takes.map_or(0, |takes| takes.and_gates);
        own + self.of.iter().map(Explained::and_gates).sum::<u64>()
    }

    /// All steps, each before those that it takes.
    pub fn steps(&self) -> Vec<PlanStep> {
        let mut steps = Vec::new();
        self.list(0, &mut steps);
        steps
    }

    fn list(&self, depth: u32, steps: &mut Vec<PlanStep>) {
        steps.push(PlanStep {
            depth,
            what: self.what.clone(),
            owner: self.owner.map(|owner| owner.0),
            rows: self.rows as u64,
            bits: self.bits,
            takes: self.takes.unwrap_or_default(),
        });
        self.of.iter().for_each(|step| step.list(depth + 1, steps));
    }

    /// Of `all` ANDs.
    fn write(&self, depth: usize, all: u64, text: &mut String) {
        let who = match self.owner {
            Some(party) => format!("{party}, in the clear"),
            None => "all, secretly".into(),
        };
        let s = if self.rows == 1 { "" } else { "s" };
        let takes = self.takes.map(|takes| format!("; {}", share(&takes, all)));
        let _ = writeln!(
            text,
            "{:depth$}{} ({who}; {} row{s} of {} bits{})",
            "",
            self.what,
            self.rows,
            self.bits,
            takes.unwrap_or_default()
        );
        self.of.iter().for_each(|step| step.write(depth + 2, all, text));
    }
}

/// Tells of steps one after the other, each before those that it takes.
struct Teller<'a> {
    schema: &'a Schema,
    /// What secret steps take, by their numbers.
    takes: Option<&'a [StepTally]>,
    /// How many secret steps there were.
    begun: usize,
}

impl Teller<'_> {
    /// What the step with this number takes.
    fn of_step(&self, step: usize) -> Option<StepTally> {
        Some(self.takes?.get(step).copied().unwrap_or_default())
    }

    /// What a step takes, which is the next one.
    fn takes(&mut self, physical: &Physical) -> Option<StepTally> {
        if physical.owner.is_some() {
            return None;
        }
        self.begun += 1;
        self.of_step(self.begun)
    }

    fn explained(&mut self, physical: &Physical) -> Explained {
        let mut takes = self.takes(physical);
        let Some((what, of)) = what(physical, self.schema) else {
            let inner = self.explained(physical.inputs()[0]);
            return Explained {
                takes: sum(takes, inner.takes),
                ..inner
            };
        };
        if let (Step::Filter(input, _), [inner]) = (&*physical.step, &of[..])
            && !std::ptr::eq(&**input, *inner)
        {
            takes = sum(takes, self.takes(input));
        }
        Explained {
            what,
            owner: physical.owner,
            rows: physical.rows,
            bits: physical.width(),
            takes,
            of: of.into_iter().map(|step| self.explained(step)).collect(),
        }
    }
}

fn sum(one: Option<StepTally>, other: Option<StepTally>) -> Option<StepTally> {
    let (one, other) = (one?, other?);
    Some(StepTally {
        and_gates: one.and_gates + other.and_gates,
        levels: one.levels + other.levels,
        messages: one.messages + other.messages,
    })
}

/// What a step does, and the steps below it; nothing if it only moves columns of the one below it.
fn what<'a>(physical: &'a Physical, schema: &Schema) -> Option<(String, Vec<&'a Physical>)> {
    Some(match &*physical.step {
        Step::Scan { table, columns } => (read(&schema.tables[*table], columns), Vec::new()),
        Step::Project(input, exprs) => {
            let computed = computed(exprs, &columns(input, schema));
            if computed.is_empty() {
                return None;
            }
            (format!("compute {}", computed.join(", ")), vec![&**input])
        }
        Step::Filter(input, condition) => {
            let condition = told(condition, &columns(input, schema));
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
        Step::Repeat { input, count } => {
            let times = &columns(input, schema).names[*count];
            let what = format!("each row {times} times, at most {} in all", physical.rows);
            (what, vec![&**input])
        }
        Step::Kept {
            relation,
            shards,
            rows,
        } => {
            let of = match relation {
                0 => String::new(),
                relation => format!(" of relation {}", relation + 1),
            };
            let what = format!("the rows{of} that {shards} shards have kept, {rows} of each");
            (what, Vec::new())
        }
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
    })
}

fn read(table: &Declared, columns: &[usize]) -> String {
    let name = |&column: &usize| table.fields[column].name.as_str();
    let names: Vec<&str> = columns.iter().map(name).collect();
    format!("read {} of {}", names.join(", "), table.name)
}

fn paired(parts: &[Part], schema: &Schema) -> String {
    let key = &columns(&parts[0].input, schema).names[parts[0].key];
    format!("put rows together one by one, having verified that {key} is the same in all and ascends")
}

/// The step before a condition: that the condition is computed before need not be told.
fn before<'a>(input: &'a Physical, condition: &str, schema: &Schema) -> &'a Physical {
    match &*input.step {
        Step::Project(inner, exprs) if computed(exprs, &columns(inner, schema)) == [condition] => inner,
        _ => input,
    }
}

/// What is made of the groups of `input`.
fn groups(input: &Physical, keys: usize, functions: &[Function], grouped: bool, schema: &Schema) -> String {
    let names = columns(input, schema).names;
    let made: Vec<String> = functions
        .iter()
        .zip(&names[keys..])
        .map(|(function, of)| match function {
            Function::Same => format!("{of} as it is in all rows"),
            function => function.told(of),
        })
        .collect();
    let in_order = input
        .in_order_of_groups(keys, functions)
        .is_some_and(|order| order.len() == keys);
    let keys = names[..keys].join(", ");
    match (grouped, made.len()) {
        (true, _) if in_order => format!("group by {keys}, in whose order rows come: {}", made.join(", ")),
        (true, 0) => format!("each {keys} once"),
        (true, _) => format!("group by {keys}: {}", made.join(", ")),
        (false, _) => made.join(", "),
    }
}

/// What is made of the rows around each row of `input`.
fn windowed(input: &Physical, window: &Windowed, schema: &Schema) -> String {
    let names = columns(input, schema).names;
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
fn listed(input: &Physical, which: impl Iterator<Item = usize>, schema: &Schema) -> String {
    let names = columns(input, schema).names;
    let listed: Vec<&str> = which.map(|column| names[column].as_str()).collect();
    listed.join(", ")
}

fn joined(join: &Join, schema: &Schema) -> String {
    let (probe, lookup) = (
        columns(&join.probe, schema).names,
        columns(&join.lookup, schema).names,
    );
    let pairs = join.probe_keys.iter().zip(&join.lookup_keys);
    let on: Vec<String> = pairs
        .map(|(&one, &other)| format!("{} = {}", probe[one], lookup[other]))
        .collect();
    let kind = match (join.outer, join.rest) {
        (false, false) => "join",
        (true, false) => "left join",
        (false, true) => "right join",
        (true, true) => "full join",
    };
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
fn computed(exprs: &[Expr], columns: &Columns) -> Vec<String> {
    let is_new = |expr: &&Expr| {
        !matches!(
            expr.node,
            Node::Column(_) | Node::Number(_) | Node::Text(_) | Node::Null
        )
    };
    exprs
        .iter()
        .filter(is_new)
        .map(|expr| told(expr, columns))
        .filter(|name| !columns.names.contains(name))
        .collect()
}
