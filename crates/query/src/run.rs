//! The run of a query: its steps, and who is told what of the rows that come of them.

use cenote_primitives::BitMatrix;
use cenote_program::{Abilities, Bits, Session, Tally};
use cenote_session::Parties;
use cenote_tables::Table;

use crate::error::{Error, Result};
use crate::plan::physical::Physical;
use crate::query::{OwnInput, Query};
use crate::schema::Count;
use crate::secret::shards::{taken, to_keep};
use crate::secret::{Executor, Rows};

impl Query {
    /// What it takes at most in protocols with these abilities: if the number of rows is revealed, as if all counted.
    ///
    /// # Errors
    /// None that a planned query has.
    pub fn tally(&self, abilities: Abilities) -> Result<Tally> {
        let parties = self.schema().parties.into();
        let tally = cenote_program::tally(parties, abilities, |session| {
            let done = match self.is_shard() {
                true => self.keep(session, OwnInput::default()).map(drop),
                false => self
                    .run_with(session, OwnInput::default(), &|_, most| most)
                    .map(drop),
            };
            done.map_err(|error| match error {
                Error::Session(error) => error,
                other => cenote_program::Error::BadInput(other.to_string()),
            })
        })?;
        Ok(tally)
    }

    /// Computes the rows of a shard with the others, and opens nothing: this party's share of each relation, which the merge takes.
    ///
    /// # Errors
    /// What happened to the session.
    pub fn keep(&self, session: &Session, given: OwnInput) -> Result<Vec<BitMatrix>> {
        let mut executor = self.executor(session, given)?;
        let roots = self.roots().iter();
        let rows: Vec<Rows> = roots.map(|root| executor.rows(&root.physical)).collect();
        // What goes wrong in one relation counts for all of them.
        let failed = executor.failed();
        let kept = self.roots().iter().zip(rows).map(|(root, rows)| {
            let record = record(session, &root.physical, &rows);
            drop(rows);
            Ok(to_keep(session, &record, &failed)?)
        });
        kept.collect()
    }

    /// Computes the answer with the others: there is one for those to whom it goes.
    ///
    /// # Errors
    /// [`Error::NoAnswer`] at all parties if there is none; what happened to the session.
    pub fn run(&self, session: &Session, given: OwnInput) -> Result<Option<Table>> {
        self.run_with(session, given, &|revealed, most| revealed.min(most))
    }

    /// The same, where of as many rows as are revealed, or there are at most, so many are told of.
    fn run_with(
        &self,
        session: &Session,
        given: OwnInput,
        told: &dyn Fn(usize, usize) -> usize,
    ) -> Result<Option<Table>> {
        let rows = self.checked_rows(session, given)?;
        let answer = &self.schema().answer;
        let rows = match answer.count {
            Count::AtMost(_) => Some(rows),
            Count::Revealed => counted(session, rows, told)?,
        };
        let Some(rows) = rows else {
            return Ok(answer
                .to
                .contains(session.me())
                .then(|| self.table(&BitMatrix::zeros(self.physical().width() as usize, 0))));
        };
        let record = record(session, self.physical(), &rows);
        // The place of a row would tell of what it was made of.
        let record = if self.is_ordered() || rows.count == 1 {
            record
        } else {
            record.shuffled()
        };
        let opened = session.reveal_bits(&[record], answer.to)?;
        Ok(opened.map(|bits| self.answer(&bits)))
    }

    fn executor<'a>(&self, session: &'a Session, given: OwnInput) -> Result<Executor<'a>> {
        Ok(Executor {
            session,
            given: given.given,
            kept: taken(session, self.physical(), given.kept)?,
            segments: self.segments(),
            failures: Vec::new(),
            begun: 0,
        })
    }

    /// The rows of the answer, after everybody has learnt that nothing has gone wrong.
    fn checked_rows(&self, session: &Session, given: OwnInput) -> Result<Rows> {
        let mut executor = self.executor(session, given)?;
        let rows = match self.schema().answer.count {
            Count::AtMost(most) => executor.at_most_of(self.physical(), most),
            Count::Revealed => executor.rows(self.physical()),
        };
        // An answer has the numbers that its types have.
        let columns = rows.columns.iter().zip(&self.physical().columns);
        for ((cell, info), field) in columns.zip(self.fields()) {
            let beyond = |(least, most): (i128, i128)| {
                let own = info.kind.range();
                own.is_some_and(|(own_least, own_most)| own_least < least || most < own_most)
            };
            let bounds = field.kind.range().filter(|bounds| beyond(*bounds));
            executor.bounded(cell, info.kind, bounds, &rows.live);
        }
        let failed = executor.failed();
        let opened = session.reveal_bits(&[failed], Parties::all(session.parties()))?;
        match opened.is_some_and(|failed| failed.get(0, 0)) {
            true => Err(Error::NoAnswer),
            false => Ok(rows),
        }
    }
}

/// The bits of the rows as they are opened: whether each counts, and its cells, zero where it does not.
fn record(session: &Session, physical: &Physical, rows: &Rows) -> Bits {
    let live = rows.live.filling(rows.count);
    let columns = rows.columns.iter().map(|cell| cell.filling(rows.count));
    let never = session.public_bits(1, 0).filling(rows.count);
    let columns: Vec<Bits> = columns
        .zip(&physical.columns)
        .flat_map(|(cell, info)| {
            let null = info
                .nullable
                .then(|| cell.null.clone().unwrap_or_else(|| never.clone()));
            std::iter::once(cell.or_zero()).chain(null)
        })
        .map(|bits| bits.where_chosen(&live))
        .collect();
    let parts: Vec<&Bits> = [&live].into_iter().chain(&columns).collect();
    Bits::join(&parts)
}

/// The rows that count, after everybody has learnt how many they are; nothing if there are none.
fn counted(session: &Session, rows: Rows, told: &dyn Fn(usize, usize) -> usize) -> Result<Option<Rows>> {
    let (packed, live) = (rows.packed(), rows.live.filling(rows.count));
    let (layouts, most) = (rows.layouts(), rows.count);
    drop(rows);
    let (record, count) = packed.compacted(&live);
    let width = count.width() as usize;
    let opened = session.reveal_bits(&[count], Parties::all(session.parties()))?;
    let count = opened.map_or(0, |bits| {
        (0..width).fold(0, |all, bit| all | usize::from(bits.get(bit, 0)) << bit)
    });
    Ok(match told(count, most) {
        0 => None,
        count => Some(Rows::of_packed(&record.slice(0, count), &layouts)),
    })
}
