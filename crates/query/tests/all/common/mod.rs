//! Tables that parties hold, and queries over them.

use cenote_net::PartyId;
use cenote_program::local::{in_the_clear, in_the_clear_shuffling};
use cenote_program::{Result as Ran, Session};
use cenote_query::{Answer, Count, Declared, Error, OwnInput, Query, Schema};
use cenote_session::Parties;
use cenote_tables::{Column, Field, Table, Type, Values, cell, parse_date, parse_timestamp};

/// What is declared of some tables, and what is in them.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) schema: Schema,
    pub(crate) tables: Vec<Table>,
    /// Rows that are worked on at once, if not as many as queries have.
    pub(crate) segments: Option<usize>,
}

/// What became of a query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// The answer, as all got it to whom it went.
    Answer(Table),
    /// All parties learnt that there is none.
    NoAnswer,
    /// It was not planned.
    Refused(String),
    /// An owner's own rows were in the way.
    Rows(String),
}

impl World {
    /// No tables yet; all parties learn an answer of at most 100 rows.
    pub(crate) fn new(parties: u8) -> Self {
        World {
            schema: Schema {
                parties,
                tables: Vec::new(),
                answer: Answer {
                    to: Parties::all(parties.into()),
                    count: Count::AtMost(100),
                    min_group: 0,
                },
                max_join_rows: None,
                parameters: Vec::new(),
                secret_only: false,
            },
            tables: Vec::new(),
            segments: None,
        }
    }

    /// The query, planned.
    pub(crate) fn plan(&self, sql: &str) -> cenote_query::Result<Query> {
        let query = Query::new(sql, self.schema.clone())?;
        Ok(match self.segments {
            Some(rows) => query.in_segments_of(rows),
            None => query,
        })
    }

    /// The same tables, of which so many rows are worked on at once.
    pub(crate) fn in_segments_of(&self, rows: usize) -> Self {
        World {
            segments: Some(rows),
            ..self.clone()
        }
    }

    /// And this table of `party`, that has room for two more rows. Columns are written as `id u32 not null unique, k char(3) at_most 2`, and
    /// rows as `1 ab | 2 null`; `unique_with x` is unique together with x. An empty text is `''`.
    pub(crate) fn table(mut self, party: u8, name: &str, columns: &str, rows: &str) -> Self {
        let mut declared = Declared {
            name: name.into(),
            party: PartyId(party),
            fields: Vec::new(),
            max_rows: 0,
            unique: Vec::new(),
            at_most: Default::default(),
            distinct: Default::default(),
            below: Default::default(),
            values: Default::default(),
            same_rows_as: None,
        };
        for column in columns.split(", ") {
            let mut words = column.split_whitespace();
            let mut next = || words.next();
            let (name, kind) = (next().unwrap().to_owned(), next().unwrap().parse().unwrap());
            let mut nullable = true;
            while let Some(word) = next() {
                match (word, next()) {
                    ("not", Some("null")) => nullable = false,
                    ("at_most", Some(count)) => {
                        declared.at_most.insert(name.clone(), count.parse().unwrap());
                    }
                    ("distinct", Some(count)) => {
                        declared.distinct.insert(name.clone(), count.parse().unwrap());
                    }
                    ("below", Some(end)) => {
                        declared.below.insert(name.clone(), end.parse().unwrap());
                    }
                    ("values", Some(values)) => {
                        let values = values.split(',').map(str::to_owned).collect();
                        declared.values.insert(name.clone(), values);
                    }
                    ("unique_with", Some(other)) => declared.unique.push(vec![name.clone(), other.into()]),
                    ("unique", Some("-") | None) => declared.unique.push(vec![name.clone()]),
                    other => panic!("{other:?} in {column}"),
                }
            }
            declared.fields.push(Field { name, kind, nullable });
        }
        let rows: Vec<Vec<&str>> = rows
            .split('|')
            .map(|row| row.split_whitespace().collect::<Vec<_>>())
            .filter(|row| !row.is_empty())
            .collect();
        let columns = declared.fields.iter().enumerate().map(|(at, field)| {
            let cells: Vec<&str> = rows.iter().map(|row| row[at]).collect();
            column(field, &cells)
        });
        let table = Table {
            columns: columns.collect(),
            fields: declared.fields.clone(),
            rows: rows.len(),
        };
        declared.max_rows = table.rows + 2;
        self.schema.tables.push(declared);
        self.tables.push(table);
        self
    }

    /// The table that was added last, changed.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Declared)) -> Self {
        change(self.schema.tables.last_mut().unwrap());
        self
    }

    /// The tables that `me` has.
    pub(crate) fn own(&self, me: PartyId) -> Vec<Option<Table>> {
        let tables = self.schema.tables.iter().zip(&self.tables);
        tables
            .map(|(declared, table)| (declared.party == me).then(|| table.clone()))
            .collect()
    }

    /// All of it, to read.
    pub(crate) fn told(&self) -> String {
        let answer = &self.schema.answer;
        let to: Vec<u8> = answer.to.iter().map(|party| party.0).collect();
        let mut text = format!(
            "to {to:?}, {:?}, min_group {}, secret_only {}\n",
            answer.count, answer.min_group, self.schema.secret_only
        );
        for (declared, table) in self.schema.tables.iter().zip(&self.tables) {
            let column = |field: &Field| {
                let mut text = format!("{} {}", field.name, field.kind);
                text += if field.nullable { "" } else { " not null" };
                for columns in declared.unique.iter().filter(|columns| columns[0] == field.name) {
                    text += &match columns.get(1) {
                        None => " unique".to_owned(),
                        Some(other) => format!(" unique_with {other}"),
                    };
                }
                let below = declared.below.get(&field.name);
                text += &below.map_or_else(String::new, |end| format!(" below {end}"));
                let values = declared.values.get(&field.name);
                text += &values.map_or_else(String::new, |values| format!(" values {}", values.join(",")));
                for (promise, counts) in [("at_most", &declared.at_most), ("distinct", &declared.distinct)] {
                    let count = counts.get(&field.name);
                    text += &count.map_or_else(String::new, |count| format!(" {promise} {count}"));
                }
                text
            };
            let columns: Vec<String> = declared.fields.iter().map(column).collect();
            let like = declared.same_rows_as.as_ref();
            text += &format!(
                "{} of {}, at most {} rows{}: {}\n    {}\n",
                declared.name,
                declared.party,
                declared.max_rows,
                like.map_or_else(String::new, |other| format!(", the same as {other}")),
                columns.join(", "),
                rows(table)
            );
        }
        text
    }

    /// What becomes of `sql`, in the clear.
    pub(crate) fn run(&self, sql: &str) -> Outcome {
        self.run_with(sql, |query, me| query.prepare(me, &self.own(me)))
    }

    /// The same, where parties give what `prepare` says: with networks and with shuffles, which must come to the same.
    pub(crate) fn run_with(
        &self,
        sql: &str,
        prepare: impl Fn(&Query, PartyId) -> cenote_query::Result<OwnInput> + Sync,
    ) -> Outcome {
        let outcome = self.run_by(true, sql, &prepare);
        assert_eq!(self.run_by(false, sql, &prepare), outcome, "{sql} with shuffles");
        outcome
    }

    /// The same by networks or by shuffles only.
    pub(crate) fn run_by(
        &self,
        by_networks: bool,
        sql: &str,
        prepare: impl Fn(&Query, PartyId) -> cenote_query::Result<OwnInput> + Sync,
    ) -> Outcome {
        let query = match self.plan(sql) {
            Ok(query) => query,
            Err(error) => return Outcome::Refused(error.to_string()),
        };
        let parties = self.schema.parties;
        for me in 0..parties {
            if let Err(error) = prepare(&query, PartyId(me)) {
                return Outcome::Rows(error.to_string());
            }
        }
        let results = match by_networks {
            true => in_the_clear(parties, |session| party(&query, session, &prepare)),
            false => in_the_clear_shuffling(parties, |session| party(&query, session, &prepare)),
        };
        outcome(&query, results.unwrap())
    }

    /// What becomes of `sql` as text: the rows of the answer, as rows are written, or what went wrong. It is the same however many rows are worked on
    /// at once.
    pub(crate) fn ask(&self, sql: &str) -> String {
        let outcome = self.run(sql);
        assert_eq!(self.in_segments_of(2).run(sql), outcome, "{sql} in segments");
        match outcome {
            Outcome::Answer(table) => rows(&table),
            Outcome::NoAnswer => "no answer".into(),
            Outcome::Refused(what) | Outcome::Rows(what) => what,
        }
    }

    /// Asserts that each query has this answer.
    pub(crate) fn answers(&self, cases: &[(&str, &str)]) {
        for (sql, answer) in cases {
            assert_eq!(self.ask(sql), *answer, "{sql}");
        }
    }
}

/// What a party of `query` gets: its table, if it is told one, or nothing if there is no answer.
pub(crate) type Told = Option<Option<Table>>;

/// Takes part in `query`.
pub(crate) fn party(
    query: &Query,
    session: &Session,
    prepare: &impl Fn(&Query, PartyId) -> cenote_query::Result<OwnInput>,
) -> Ran<Told> {
    let given = prepare(query, session.me()).unwrap();
    match query.run(session, given) {
        Ok(table) => Ok(Some(table)),
        Err(Error::NoAnswer) => Ok(None),
        Err(Error::Session(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

/// What the parties got must be the same at those who are to get it, and nothing at the others.
pub(crate) fn outcome(query: &Query, results: Vec<Told>) -> Outcome {
    let to = query.schema().answer.to;
    let mut all: Vec<Outcome> = Vec::new();
    for (party, result) in (0..).map(PartyId).zip(results) {
        match result {
            None => all.push(Outcome::NoAnswer),
            Some(None) => assert!(!to.contains(party), "{party} was told nothing"),
            Some(Some(table)) => {
                assert!(to.contains(party), "{party} was told something");
                all.push(Outcome::Answer(table));
            }
        }
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
    all.pop().expect("somebody is told something")
}

/// A column with these cells.
fn column(field: &Field, cells: &[&str]) -> Column {
    let values = match field.kind {
        Type::Char(width) => {
            let text = |cell: &&str| {
                let mut bytes = match *cell {
                    "null" | "''" => Vec::new(),
                    text => text.as_bytes().to_vec(),
                };
                assert!(bytes.len() <= width.into());
                bytes.resize(width.into(), 0);
                bytes
            };
            Values::Text(width.into(), cells.iter().flat_map(text).collect())
        }
        kind => {
            let numbers: Vec<i128> = cells.iter().map(|cell| number(kind, cell)).collect();
            Values::Numbers(numbers.into())
        }
    };
    let nulls: Vec<bool> = cells.iter().map(|cell| *cell == "null").collect();
    Column {
        values,
        nulls: nulls.contains(&true).then_some(nulls),
    }
}

fn number(kind: Type, cell: &str) -> i128 {
    match (cell, kind) {
        ("null" | "false", _) => 0,
        ("true", _) => 1,
        (_, Type::Date) => parse_date(cell).unwrap().into(),
        (_, Type::Timestamp) => parse_timestamp(cell).unwrap().into(),
        (_, Type::Decimal { scale, .. }) => {
            let (whole, places) = cell.split_once('.').unwrap_or((cell, ""));
            format!("{whole}{places:0<width$}", width = scale.into())
                .parse()
                .unwrap()
        }
        _ => cell.parse().unwrap(),
    }
}

/// The rows of a table as [`World::table`] takes them.
pub(crate) fn rows(table: &Table) -> String {
    let cell = |row: usize, at: usize| match table.columns[at].is_null(row) {
        true => "null".into(),
        false => match cell(&table.columns[at], &table.fields[at], row) {
            text if text.is_empty() => "''".into(),
            text => text,
        },
    };
    let row = |row: usize| {
        let cells = (0..table.fields.len()).map(|at| cell(row, at));
        cells.collect::<Vec<_>>().join(" ")
    };
    (0..table.rows).map(row).collect::<Vec<_>>().join(" | ")
}
