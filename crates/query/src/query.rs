//! A query, from its text to its answer.

use std::collections::VecDeque;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::{Bits, Session, Tally};
use cenote_session::Parties;
use cenote_tables::{Column, Field, Table, Values};

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

/// A query over the tables of a schema, and how it is done.
#[derive(Debug)]
pub struct Query {
    schema: Schema,
    physical: Physical,
    fields: Vec<Field>,
    /// The order in which the answer is shown.
    order: Vec<Ordered>,
    /// Whether the rows come in that order.
    is_ordered: bool,
}

/// What a party gives for a query: made of its own rows before anybody is met.
pub struct Given(VecDeque<BitMatrix>);

impl Query {
    /// Plans the query `sql`.
    ///
    /// # Errors
    /// [`Error::Query`] with the place, if it is wrong or asks for what there is not; [`Error::Declared`].
    pub fn new(sql: &str, schema: Schema) -> Result<Self> {
        schema.check()?;
        let mut resolved = resolve(sql, &schema)?;
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
        let physical = Planner { schema: &schema }.steps(&resolved.relation)?;
        Ok(Query {
            schema,
            physical,
            fields,
            order,
            is_ordered: resolved.is_ordered,
        })
    }

    /// The columns of the answer.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// What it takes, in protocols where levels of ANDs take rounds or not. If the number of rows is revealed, what comes after that is not counted.
    ///
    /// # Errors
    /// None that a planned query has.
    pub fn tally(&self, levels_take_rounds: bool) -> Result<Tally> {
        let nothing = || Given(VecDeque::new());
        let tally = cenote_program::tally(self.schema.parties.into(), levels_take_rounds, |session| {
            self.run(session, nothing()).map_err(|error| match error {
                Error::Session(error) => error,
                other => cenote_program::Error::BadInput(other.to_string()),
            })
        })?;
        Ok(tally)
    }

    pub(crate) fn physical(&self) -> &Physical {
        &self.physical
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
        let own = Own {
            schema: &self.schema,
            tables,
        };
        Ok(Given(given(&self.physical, me, &own)?))
    }

    /// Computes the answer with the others: there is one for those to whom it goes.
    ///
    /// # Errors
    /// [`Error::NoAnswer`] at all parties if there is none; what happened to the session.
    pub fn run(&self, session: &Session, given: Given) -> Result<Option<Table>> {
        let mut secretly = Secretly {
            session,
            given: given.0,
            failures: Vec::new(),
        };
        let rows = secretly.rows(&self.physical);
        let answer = &self.schema.answer;
        let all = Parties::all(session.parties());
        let rows = match answer.count {
            Count::AtMost(most) => secretly.at_most(rows, most),
            Count::Revealed => rows,
        };
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
            Count::Revealed => counted(session, rows)?,
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
        opened.map(|bits| self.answer(&bits)).transpose()
    }

    /// Bits of a row of the answer.
    fn width(&self) -> usize {
        self.physical.width() as usize
    }

    /// The answer, in its order.
    fn answer(&self, bits: &BitMatrix) -> Result<Table> {
        let table = self.table(bits);
        let fits = |(field, column): (&Field, &Column)| match (&column.values, field.kind.range()) {
            (Values::Numbers(numbers), Some((least, most))) => {
                numbers.iter().all(|number| (least..=most).contains(number))
            }
            _ => true,
        };
        if !self.fields.iter().zip(&table.columns).all(fits) {
            return Err(Error::NoAnswer);
        }
        if self.is_ordered && self.order.is_empty() {
            return Ok(table);
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
        Ok(table.gather(&places))
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
                    Values::Numbers(live.iter().map(number).collect())
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
fn counted(session: &Session, rows: Rows) -> Result<Option<Rows>> {
    let (record, count) = rows.packed().compacted(&rows.live.filling(rows.count));
    let width = count.width() as usize;
    let opened = session.reveal_bits(&[count], Parties::all(session.parties()))?;
    let count = opened.map_or(0, |bits| {
        (0..width).fold(0, |all, bit| all | usize::from(bits.get(bit, 0)) << bit)
    });
    Ok(match count.min(rows.count) {
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
