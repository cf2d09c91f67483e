//! A query, from its text to its answer.

use std::collections::VecDeque;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::{Bits, Session, Tally};
use cenote_session::Parties;
use cenote_tables::{Column, Field, Numbers, Table, Values};

use crate::error::{Error, Result};
use crate::expr::{Comparison, Expr, Kind};
use crate::local::{self, Own, compare};
use crate::plan::Planner;
use crate::plan::physical::{Ordered, Physical};
use crate::relation::{Aggregate, Function, Operation, Relation};
use crate::resolve::resolve;
use crate::schema::{Count, Schema};
use crate::secret::upload::given;
use crate::secret::{Rows, Secretly};
use crate::segment::Segments;
use crate::work::Work;

/// A query over the tables of a schema, and how it is done.
#[derive(Debug)]
pub struct Query {
    schema: Schema,
    relation: Relation,
    physical: Physical,
    fields: Vec<Field>,
    /// The order in which the answer is shown.
    order: Vec<Ordered>,
    /// Whether the rows come in that order.
    is_ordered: bool,
    segments: Segments,
}

/// What a party gives for a query: made of its own rows before anybody is met.
pub struct Given(VecDeque<VecDeque<BitMatrix>>);

impl Given {
    /// The bits of each segment of each input, which an owner may change as it likes: for tests of what the others do about it.
    #[doc(hidden)]
    pub fn bits(&mut self) -> impl Iterator<Item = &mut BitMatrix> {
        self.0.iter_mut().flatten()
    }
}

impl Query {
    /// Plans the query `sql`.
    ///
    /// # Errors
    /// [`Error::Query`] with the place, if it is wrong or asks for what there is not; [`Error::Declared`].
    pub fn new(sql: &str, schema: Schema) -> Result<Self> {
        schema.check()?;
        let work = Work::default();
        let mut resolved = resolve(sql, &schema, &work)?;
        if schema.answer.min_group > 1 {
            large_groups(&mut resolved.relation, schema.answer.min_group)?;
        }
        let columns = &resolved.relation.columns;
        let field = |column: &crate::relation::Info| Field {
            name: column.name.clone(),
            kind: column.kind.to_type(),
            nullable: column.nullable,
        };
        let fields = columns.iter().map(field).collect();
        let order = resolved
            .order
            .iter()
            .filter_map(|order| match order.by.node {
                crate::expr::Node::Column(column) => Some(Ordered {
                    column,
                    descending: order.descending,
                    nulls_first: order.nulls_first,
                }),
                _ => None,
            })
            .collect();
        let physical = Planner {
            schema: &schema,
            work: &work,
        }
        .steps(&resolved.relation)?;
        Ok(Query {
            schema,
            relation: resolved.relation,
            physical,
            fields,
            order,
            is_ordered: resolved.is_ordered,
            segments: Segments::default(),
        })
    }

    /// The same, with no more than so many rows worked on at once: for tests, in which tables are short.
    #[doc(hidden)]
    #[must_use]
    pub fn in_segments_of(self, rows: usize) -> Self {
        let segments = Segments { most: Some(rows) };
        Query { segments, ..self }
    }

    /// About how many exchanges of records all that is done secretly takes, and gates of circuits that are built for it: what measuring and computing
    /// it takes grows with them.
    pub fn exchanges(&self) -> u64 {
        self.physical.exchanges().saturating_add(self.physical.gates())
    }

    /// How many columns and parts of expressions its plan has: what it takes of memory while it waits.
    pub fn parts(&self) -> usize {
        self.relation.parts() + self.physical.parts()
    }

    /// The columns of the answer.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// How many rows the answer has at most.
    pub fn answer_rows(&self) -> usize {
        match self.schema.answer.count {
            Count::AtMost(most) => most.min(self.physical.rows),
            Count::Revealed => self.physical.rows,
        }
    }

    /// What it takes at most, in protocols where levels of ANDs take rounds or not: if the number of rows is revealed, as if all counted.
    ///
    /// # Errors
    /// None that a planned query has.
    pub fn tally(&self, levels_take_rounds: bool) -> Result<Tally> {
        let nothing = || Given(VecDeque::new());
        let tally = cenote_program::tally(self.schema.parties.into(), levels_take_rounds, |session| {
            self.run_with(session, nothing(), &|_, most| most)
                .map_err(|error| match error {
                    Error::Session(error) => error,
                    other => cenote_program::Error::BadInput(other.to_string()),
                })
        })?;
        Ok(tally)
    }

    pub(crate) fn relation(&self) -> &Relation {
        &self.relation
    }

    pub(crate) fn physical(&self) -> &Physical {
        &self.physical
    }

    pub(crate) fn segments(&self) -> Segments {
        self.segments
    }

    /// Whether the rows of the answer come in the order that is asked for.
    pub(crate) fn is_ordered(&self) -> bool {
        self.is_ordered || self.physical.rows == 1
    }

    /// What it is asked of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Makes what `me` gives out of its own `tables`, in the places of those of the schema.
    ///
    /// # Errors
    /// [`Error::Rows`] if a table does not keep what is declared, or a calculation goes wrong on its rows. Nobody else learns of it.
    pub fn prepare(&self, me: PartyId, tables: &[Option<Table>]) -> Result<Given> {
        for (declared, table) in self.schema.tables.iter().zip(tables) {
            if let Some(table) = table.as_ref().filter(|_| declared.party == me) {
                local::check(declared, table)?;
            }
        }
        self.prepare_unchecked(me, tables)
    }

    /// The same of tables that may not keep what is declared: for tests of what the others do about it.
    #[doc(hidden)]
    pub fn prepare_unchecked(&self, me: PartyId, tables: &[Option<Table>]) -> Result<Given> {
        let own = Own {
            schema: &self.schema,
            tables,
            segments: self.segments,
        };
        Ok(Given(given(&self.physical, me, &own)?))
    }

    /// Computes the answer with the others: there is one for those to whom it goes.
    ///
    /// # Errors
    /// [`Error::NoAnswer`] at all parties if there is none; what happened to the session.
    pub fn run(&self, session: &Session, given: Given) -> Result<Option<Table>> {
        self.run_with(session, given, &|revealed, most| revealed.min(most))
    }

    /// The same, where of as many rows as are revealed, or there are at most, so many are told of.
    fn run_with(
        &self,
        session: &Session,
        given: Given,
        told: &dyn Fn(usize, usize) -> usize,
    ) -> Result<Option<Table>> {
        let mut secretly = Secretly {
            session,
            given: given.0,
            segments: self.segments,
            failures: Vec::new(),
        };
        let answer = &self.schema.answer;
        let all = Parties::all(session.parties());
        let rows = match answer.count {
            Count::AtMost(most) => secretly.at_most_of(&self.physical, most),
            Count::Revealed => secretly.rows(&self.physical),
        };
        // An answer has the numbers that its types have.
        let columns = rows.columns.iter().zip(&self.physical.columns);
        for ((cell, info), field) in columns.zip(&self.fields) {
            let beyond = |(least, most): (i128, i128)| {
                let own = info.kind.range();
                own.is_some_and(|(own_least, own_most)| own_least < least || most < own_most)
            };
            let bounds = field.kind.range().filter(|bounds| beyond(*bounds));
            secretly.bounded(cell, info.kind, bounds, &rows.live);
        }
        let failed = secretly
            .failures
            .iter()
            .fold(session.public_bits(1, 0), |any, failure| any.or(failure));
        let opened = session.reveal_bits(&[failed], all)?;
        if opened.is_some_and(|failed| failed.get(0, 0)) {
            return Err(Error::NoAnswer);
        }
        let rows = match answer.count {
            Count::AtMost(_) => Some(rows),
            Count::Revealed => counted(session, rows, told)?,
        };
        let Some(rows) = rows else {
            return Ok(answer
                .to
                .contains(session.me())
                .then(|| self.table(&BitMatrix::zeros(self.width(), 0))));
        };
        let live = rows.live.filling(rows.count);
        let columns = rows.columns.iter().map(|cell| cell.filling(rows.count));
        let never = session.public_bits(1, 0).filling(rows.count);
        let columns: Vec<Bits> = columns
            .zip(&self.physical.columns)
            .flat_map(|(cell, info)| {
                let null = info
                    .nullable
                    .then(|| cell.null.clone().unwrap_or_else(|| never.clone()));
                std::iter::once(cell.or_zero()).chain(null)
            })
            .map(|bits| bits.where_chosen(&live))
            .collect();
        let parts: Vec<&Bits> = [&live].into_iter().chain(&columns).collect();
        let record = Bits::join(&parts);
        // The place of a row would tell of what it was made of.
        let record = if self.is_ordered || rows.count == 1 {
            record
        } else {
            record.shuffled()
        };
        let opened = session.reveal_bits(&[record], answer.to)?;
        Ok(opened.map(|bits| self.answer(&bits)))
    }

    /// Bits of a row of the answer.
    fn width(&self) -> usize {
        self.physical.width() as usize
    }

    /// The answer, in its order.
    fn answer(&self, bits: &BitMatrix) -> Table {
        let table = self.table(bits);
        if self.is_ordered && self.order.is_empty() {
            return table;
        }
        // Where the order leaves rows equal, all columns count.
        let all = (0..self.fields.len()).map(|column| Ordered {
            column,
            descending: false,
            nulls_first: true,
        });
        let order: Vec<Ordered> = self.order.iter().copied().chain(all).collect();
        let mut places: Vec<usize> = (0..table.rows).collect();
        places.sort_by(|&one, &other| compare(&table.columns, &order, one, other));
        table.gather(&places)
    }

    /// The rows that were opened and count.
    fn table(&self, bits: &BitMatrix) -> Table {
        let rows = bits.transpose();
        let live: Vec<usize> = (0..rows.rows()).filter(|&row| rows.get(row, 0)).collect();
        let mut at = 1;
        let columns = self.physical.columns.iter().map(|column| {
            let width = column.kind.width() as usize;
            let from = at;
            at += width + usize::from(column.nullable);
            let nulls: Option<Vec<bool>> = column
                .nullable
                .then(|| live.iter().map(|&row| rows.get(row, from + width)).collect());
            let values = match column.kind {
                Kind::Text(bytes) => {
                    let byte = |row: usize, byte: usize| {
                        (0..8).fold(0, |all, bit| {
                            all | u8::from(rows.get(row, from + 8 * byte + bit)) << bit
                        })
                    };
                    let text = |&row: &usize| (0..usize::from(bytes)).rev().map(move |at| byte(row, at));
                    Values::Text(bytes.into(), live.iter().flat_map(text).collect())
                }
                kind => {
                    let number = |&row: &usize| {
                        let low = (0..width).fold(0u128, |all, bit| {
                            all | u128::from(rows.get(row, from + bit)) << bit
                        });
                        match kind.is_signed() && low >> (width - 1) == 1 {
                            true => (low | u128::MAX.checked_shl(width as u32).unwrap_or(0)) as i128,
                            false => low as i128,
                        }
                    };
                    {
                        let (least, most) = kind.range().unwrap_or_default();
                        let mut numbers = Numbers::within(least, most);
                        live.iter().for_each(|row| numbers.push(number(row)));
                        Values::Numbers(numbers)
                    }
                }
            };
            Column { values, nulls }
        });
        Table {
            columns: columns.collect(),
            fields: self.fields.clone(),
            rows: live.len(),
        }
    }
}

/// The rows that count, after everybody has learnt how many they are; nothing if there are none.
fn counted(session: &Session, rows: Rows, told: &dyn Fn(usize, usize) -> usize) -> Result<Option<Rows>> {
    let (record, count) = rows.packed().compacted(&rows.live.filling(rows.count));
    let width = count.width() as usize;
    let opened = session.reveal_bits(&[count], Parties::all(session.parties()))?;
    let count = opened.map_or(0, |bits| {
        (0..width).fold(0, |all, bit| all | usize::from(bits.get(bit, 0)) << bit)
    });
    Ok(match told(count, rows.count) {
        0 => None,
        count => Some(rows.of_packed(&record.slice(0, count))),
    })
}

/// Leaves groups of fewer rows out of an answer.
fn large_groups(relation: &mut Relation, least: u64) -> Result<()> {
    let at = relation.at;
    match &mut relation.operation {
        Operation::Project(input, exprs) => {
            let before = input.columns.len();
            large_groups(input, least)?;
            debug_assert_eq!(input.columns.len(), before, "{exprs:?}");
            Ok(())
        }
        Operation::Filter(input, _) | Operation::First(input, ..) => large_groups(input, least),
        Operation::Group {
            aggregates, grouped, ..
        } => {
            let rows = Aggregate {
                function: Function::Rows,
                of: Expr::bool(true),
            };
            let (kind, nullable) = rows.kind(crate::schema::MAX_ROWS as u64, *grouped);
            aggregates.push(rows);
            let told = relation.columns.clone();
            let count = Expr::column(told.len(), kind, nullable);
            let enough = Expr::compare(Comparison::Less, count, Expr::number(i128::from(least), 0));
            let enough = enough.expect("both are numbers").not();
            let mut group = relation.clone();
            group.columns.push(crate::relation::Info {
                name: String::new(),
                kind,
                nullable,
            });
            let filtered = group.filter(enough);
            let all = filtered.all();
            let columns = told
                .into_iter()
                .zip(all)
                .map(|(info, expr)| (info.name, expr))
                .collect();
            *relation = filtered.project(columns);
            Ok(())
        }
        _ => Err(Error::query(
            at,
            "with `min_group`, an answer is of groups: use GROUP BY, or SUM, COUNT, MIN, MAX or AVG",
        )),
    }
}

#[cfg(test)]
mod tests {
    use cenote_program::local::in_the_clear;
    use cenote_tables::Type;

    use super::*;
    use crate::schema::{Answer, Declared};

    fn groups(name: &str, party: u8) -> Declared {
        let kind = Type::Int {
            signed: false,
            bits: 8,
        };
        let field = |name: &str| Field {
            name: name.into(),
            kind,
            nullable: false,
        };
        Declared {
            name: name.into(),
            party: PartyId(party),
            fields: vec![field("g"), field("x")],
            max_rows: 5,
            unique: Vec::new(),
            at_most: [].into(),
            distinct: [].into(),
            same_rows_as: None,
        }
    }

    /// What becomes of sums by group if party 1 changes what it gives: bit by bit, by row and column.
    fn told(change: impl Fn(&mut BitMatrix) + Sync) -> Result<Vec<String>> {
        let schema = Schema {
            parties: 2,
            tables: vec![groups("a", 0), groups("b", 1)],
            answer: Answer {
                to: Parties::all(2),
                count: Count::AtMost(10),
                min_group: 0,
            },
        };
        let sql = "SELECT g, SUM(x), COUNT(*) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY g ORDER BY g";
        let query = Query::new(sql, schema)?;
        let column = |numbers: &[i128]| Column {
            values: Values::Numbers(numbers.to_vec().into()),
            nulls: None,
        };
        let table = Table {
            fields: query.schema().tables[0].fields.clone(),
            columns: vec![column(&[1, 1, 2]), column(&[10, 20, 30])],
            rows: 3,
        };
        let answers = in_the_clear(2, |session| {
            let me = session.me();
            let own = [0, 1].map(|party| (me == PartyId(party)).then(|| table.clone()));
            let mut given = query.prepare(me, &own).expect("the tables are fine");
            if me == PartyId(1) {
                given.bits().for_each(&change);
            }
            match query.run(session, given) {
                Err(Error::Session(error)) => Err(error),
                other => Ok(other),
            }
        })?;
        let table = answers
            .into_iter()
            .next()
            .expect("there are parties")?
            .expect("all learn it");
        let cell = |row: usize, at: usize| cenote_tables::cell(&table.columns[at], &table.fields[at], row);
        Ok((0..table.rows)
            .map(|row| [0, 1, 2].map(|at| cell(row, at)).join(" "))
            .collect())
    }

    /// A row of party 1 is: whether it counts, eight bits of the group, eleven of the sum, and three of the count.
    #[test]
    fn groups_that_no_rows_give_are_no_answer() {
        assert_eq!(told(|_| ()).unwrap(), ["1 60 4", "2 60 2"]);
        let set = |bits: &mut BitMatrix, lane: usize, from: usize, width: usize, value: usize| {
            (0..width).for_each(|at| bits.set(from + at, lane, value >> at & 1 == 1));
        };
        let sum_at = 9;
        let width = told_width();
        let count_at = width - 3;
        // Other rows are what they could have been.
        assert_eq!(told(|bits| set(bits, 0, sum_at, 8, 31)).unwrap()[0], "1 61 4");
        assert_eq!(told(|bits| set(bits, 0, count_at, 3, 3)).unwrap()[0], "1 60 5");
        type Lie<'a> = (&'a str, &'a (dyn Fn(&mut BitMatrix) + Sync));
        let lies: [Lie<'_>; 4] = [
            ("more rows than there may be", &|bits| {
                set(bits, 0, count_at, 3, 5);
                set(bits, 1, count_at, 3, 5);
            }),
            ("a group of no rows", &|bits| set(bits, 0, count_at, 3, 0)),
            ("a sum that one row cannot have", &|bits| {
                set(bits, 1, sum_at, 9, 256)
            }),
            ("rows that do not fit the bits", &|bits| {
                set(bits, 0, count_at, 3, 7)
            }),
        ];
        for (lie, change) in lies {
            assert!(matches!(told(change), Err(Error::NoAnswer)), "{lie}");
        }
    }

    fn told_width() -> usize {
        let width = std::sync::Mutex::new(0);
        told(|bits| *width.lock().unwrap() = bits.rows()).unwrap();
        width.into_inner().unwrap()
    }
}
