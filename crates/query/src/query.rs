//! A query, from its text to its answer.

use std::collections::VecDeque;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_tables::{Field, Table};

use crate::error::{Error, Result};
use crate::expr::{Node, ValueKind};
use crate::groups::large_groups;
use crate::listed::places;
use crate::local::{self, OwnTables, Promise, Repeats};
use crate::plan::physical::{Ordered, Physical};
use crate::plan::{MAX_EXCHANGES, Planner};
use crate::relation::{Info, Relation};
use crate::resolve::resolve;
use crate::schema::{Count, Schema};
use crate::secret::upload::{given, uploads};
use crate::segment::Segments;
use crate::work::Work;

/// A query over the tables of a schema, and how it is done.
#[derive(Debug)]
pub struct Query {
    schema: Schema,
    /// The answer, or what a shard keeps. There is at least one.
    roots: Vec<Root>,
    fields: Vec<Field>,
    /// The order in which the answer is shown.
    order: Vec<Ordered>,
    /// Whether the rows come in that order.
    is_ordered: bool,
    segments: Segments,
    role: Role,
}

/// What of a job it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Whole,
    Shard,
    Merge,
}

/// A relation that a query gives, and how it is made.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) relation: Relation,
    pub(crate) physical: Physical,
}

/// What a party gives for a query: made of its own rows before anybody is met.
#[derive(Default)]
pub struct OwnInput {
    pub(crate) given: VecDeque<VecDeque<BitMatrix>>,
    pub(crate) kept: Vec<Vec<BitMatrix>>,
}

impl OwnInput {
    /// The same, with this party's shares of what each shard has [kept](Query::keep), in their order: what a merge takes.
    #[must_use]
    pub fn with_kept(self, kept: Vec<Vec<BitMatrix>>) -> Self {
        OwnInput { kept, ..self }
    }

    /// The bits of each segment of each input, which an owner may change as it likes: for tests of what the others do about it.
    #[doc(hidden)]
    pub fn bits(&mut self) -> impl Iterator<Item = &mut BitMatrix> {
        self.given.iter_mut().flatten()
    }
}

impl Query {
    /// Plans the query `sql`.
    ///
    /// # Errors
    /// [`Error::Query`](crate::Error::Query) with the place, if it is wrong or asks for what there is not;
    /// [`Error::Declared`](crate::Error::Declared).
    pub fn new(sql: &str, schema: Schema) -> Result<Self> {
        Self::to_cut(sql, schema)?.within_limits()
    }

    /// Plans the query `sql`, which is to be [cut](Query::cut): as a whole it may take however much.
    ///
    /// # Errors
    /// As [`Query::new`].
    pub fn to_cut(sql: &str, schema: Schema) -> Result<Self> {
        schema.check()?;
        let (mut resolved, work) = resolve(sql, &schema)?;
        if schema.answer.min_group > 1 {
            large_groups(&mut resolved.relation, schema.answer.min_group)?;
        }
        let columns = &resolved.relation.columns;
        if let Some(column) = columns.iter().find(|column| column.kind == ValueKind::Span) {
            let what = format!(
                "column {} is an interval, which no answer can have; write EXTRACT(EPOCH FROM …), which is a number of seconds",
                column.name
            );
            return Err(Error::query(resolved.relation.at, what));
        }
        let order = resolved
            .order
            .iter()
            .filter_map(|order| match order.by.node {
                Node::Column(column) => Some(Ordered {
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
        .steps(places(&resolved.relation, &schema, &work)?.as_ref())?;
        Ok(Query {
            order,
            is_ordered: resolved.is_ordered,
            ..Query::planned(
                schema,
                vec![Root {
                    relation: resolved.relation,
                    physical,
                }],
            )
        })
    }

    /// Sees that it does not take too much.
    fn within_limits(self) -> Result<Self> {
        let exchanges = self.sum(Physical::exchanges);
        if exchanges > MAX_EXCHANGES {
            let what = format!(
                "sorting its rows secretly would take {exchanges} exchanges, more than the limit of {MAX_EXCHANGES}; lower `max_rows` of the tables, promise fewer \
                 groups with `distinct`, or cut the job into shards"
            );
            return Err(Error::query(self.relation().at, what));
        }
        Ok(self)
    }

    fn planned(schema: Schema, roots: Vec<Root>) -> Self {
        let field = |column: &Info| Field {
            name: column.name.clone(),
            kind: column.kind.to_type(),
            nullable: column.nullable,
        };
        Query {
            schema,
            fields: roots
                .iter()
                .flat_map(|root| &root.relation.columns)
                .map(field)
                .collect(),
            roots,
            order: Vec::new(),
            is_ordered: false,
            segments: Segments::default(),
            role: Role::Whole,
        }
    }

    /// What a shard computes: `relations`, of its part of the tables.
    pub(crate) fn of_shard(relations: Vec<Relation>, schema: Schema) -> Result<Self> {
        let work = Work::default();
        let planner = Planner {
            schema: &schema,
            work: &work,
        };
        let planned = |relation: Relation| {
            let physical = planner.steps(&relation)?;
            Ok(Root { relation, physical })
        };
        let roots = relations.into_iter().map(planned).collect::<Result<_>>()?;
        let shard = Query {
            role: Role::Shard,
            ..Query::planned(schema, roots)
        };
        shard.within_limits()
    }

    /// The same answer, computed of what shards have kept, as `relation` has it.
    pub(crate) fn merging(&self, relation: Relation) -> Result<Self> {
        let (schema, work) = (self.schema.clone(), Work::default());
        let physical = Planner {
            schema: &schema,
            work: &work,
        }
        .steps(&relation)?;
        let merge = Query {
            fields: self.fields.clone(),
            order: self.order.clone(),
            is_ordered: self.is_ordered,
            segments: self.segments,
            role: Role::Merge,
            ..Query::planned(schema, vec![Root { relation, physical }])
        };
        merge.within_limits()
    }

    /// Whether it keeps what it computes, for a merge.
    pub fn is_shard(&self) -> bool {
        self.role == Role::Shard
    }

    /// Whether it is a shard or a merge, whose tables were seen to keep what is declared of them as a whole.
    pub(crate) fn is_part(&self) -> bool {
        self.role != Role::Whole
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
        let of = |steps: &Physical| steps.exchanges().saturating_add(steps.gates());
        self.sum(of)
    }

    /// How many columns and parts of expressions its plan has: what it takes of memory while it waits.
    pub fn parts(&self) -> usize {
        let roots = self.roots.iter();
        roots
            .map(|root| root.relation.parts() + root.physical.parts())
            .sum()
    }

    /// The columns of the answer.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// How many rows the answer has at most.
    pub fn answer_rows(&self) -> usize {
        match self.schema.answer.count {
            Count::AtMost(most) => most.min(self.rows()),
            Count::Revealed => self.rows(),
        }
    }

    fn rows(&self) -> usize {
        self.roots.iter().map(|root| root.physical.rows).sum()
    }

    fn sum(&self, of: impl Fn(&Physical) -> u64) -> u64 {
        let roots = self.roots.iter().map(|root| of(&root.physical));
        roots.fold(0, u64::saturating_add)
    }

    /// All that it gives: several relations only if it is of a shard.
    pub(crate) fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// The answer.
    pub(crate) fn relation(&self) -> &Relation {
        &self.roots[0].relation
    }

    /// The steps of the answer.
    pub(crate) fn physical(&self) -> &Physical {
        &self.roots[0].physical
    }

    pub(crate) fn segments(&self) -> Segments {
        self.segments
    }

    /// Whether the rows of the answer come in the order that is asked for.
    pub(crate) fn is_ordered(&self) -> bool {
        self.is_ordered || self.rows() == 1
    }

    /// The order in which the answer is shown.
    pub(crate) fn order(&self) -> &[Ordered] {
        &self.order
    }

    /// What it is asked of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether [`Query::prepare_unchecked`] can fail for tables of `me` that were [checked](Query::check).
    pub fn may_fail(&self, me: PartyId) -> bool {
        let mut found = false;
        for root in &self.roots {
            let seen = uploads(&root.physical, &mut |upload| {
                found |= upload.owner() == me && local::may_fail(upload.input);
                Ok(())
            });
            found |= seen.is_err();
        }
        found
    }

    /// Makes what `me` gives out of its own `tables`, in the places of those of the schema.
    ///
    /// # Errors
    /// [`Error::Rows`](crate::Error::Rows) if a table does not keep what is declared, or a calculation goes wrong on its rows. Nobody else learns of it.
    pub fn prepare(&self, me: PartyId, tables: &[Option<Table>]) -> Result<OwnInput> {
        self.check(me, tables)?;
        self.prepare_unchecked(me, tables)
    }

    /// Sees that the `tables` of `me` keep what is declared of them.
    ///
    /// # Errors
    /// [`Error::Rows`](crate::Error::Rows) if one does not.
    pub fn check(&self, me: PartyId, tables: &[Option<Table>]) -> Result<()> {
        for (declared, table) in self.schema.tables.iter().zip(tables) {
            if let Some(table) = table.as_ref().filter(|_| declared.party == me) {
                local::check(declared, table)?;
            }
        }
        Ok(())
    }

    /// The same of a table that comes some rows at a time, in place `at` of the schema: sees that `rows`, behind so many others, keep what is declared of each. Its
    /// [promises](Query::promises) are of all of its rows.
    ///
    /// # Errors
    /// As [`Query::check`].
    pub fn check_rows(&self, at: usize, before: usize, rows: &Table) -> Result<()> {
        local::check_rows(&self.schema.tables[at], before, rows)
    }

    /// What is promised of how often values come in the table in place `at` of the schema.
    pub fn promises(&self, at: usize) -> impl Iterator<Item = Promise> {
        local::promises(&self.schema.tables[at])
    }

    /// Sees that they come so in the table in place `at` of the schema.
    ///
    /// # Errors
    /// As [`Query::check`].
    pub fn check_promise(&self, at: usize, promise: &Promise, found: &Repeats) -> Result<()> {
        promise.check(&self.schema.tables[at], found)
    }

    /// [`Query::prepare`] of tables that were [checked](Query::check) before.
    ///
    /// # Errors
    /// [`Error::Rows`](crate::Error::Rows) if a calculation goes wrong on its rows.
    pub fn prepare_unchecked(&self, me: PartyId, tables: &[Option<Table>]) -> Result<OwnInput> {
        let own = OwnTables {
            schema: &self.schema,
            tables,
            segments: self.segments,
        };
        let mut all = VecDeque::new();
        for root in &self.roots {
            all.extend(given(&root.physical, me, &own)?);
        }
        Ok(OwnInput {
            given: all,
            kept: Vec::new(),
        })
    }
}
