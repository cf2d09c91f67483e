//! What a query takes of a party's memory, besides the wires of its session.

use cenote_net::PartyId;
use cenote_tables::{Numbers, Type};

use crate::expr::ValueKind;
use crate::plan::physical::{Physical, Step};
use crate::query::Query;
use crate::schema::Declared;
use crate::secret::upload::{Shape, Upload, uploads};

/// Bytes of a row's place in an order, of which there are two while rows are sorted.
const PLACE: u64 = 8;

/// Bytes of a row that a join may not find: whether it did, and its place.
const REST: u64 = 9;

/// Bytes of a group besides its columns, and of a value of it.
const GROUP: u64 = 128;
const GROUPED: u64 = 32;

/// Bytes of a row in the order of a window, with what a column is made of on the way; and of each column that the window adds to it, besides its text.
const WINDOW: u64 = 128;
const WINDOWED: u64 = 32;

/// Bytes of a gate of a network that shuffles rows: the pair of places, and the same by layers.
const GATE: u64 = 64;

/// Bytes for the place of a row in a network that sorts, and for each of its bits: two shares of it, and of what comparing and exchanging makes of it.
const SORTED: u64 = 72;
const LAYER: u64 = 4;

/// Bytes of a value of an answer as text, besides its digits.
const TEXT: u64 = 48;

/// Bytes that a query takes of a party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Before the others are met: its tables, and what it makes of them.
    pub before: u64,
    /// Of that, what is left once they are met: what it gives, bit by bit.
    pub given: u64,
    /// In the end: the answer, as bits and as text.
    pub answer: u64,
}

impl Query {
    /// The most bytes that it takes of `party`, whatever is in the tables, besides those of the session.
    pub fn bytes(&self, party: PartyId) -> Bytes {
        let (tables, checked) = match self.is_part() {
            false => (self.bytes_of_tables(party), self.bytes_of_checks(party)),
            // Those that it reads, which were checked.
            true => {
                let read = self.tables().into_iter().map(|at| &self.schema().tables[at]);
                (
                    read.filter(|table| table.party == party)
                        .map(bytes_of_table)
                        .sum(),
                    0,
                )
            }
        };
        let (mut given, mut most) = (0u64, checked);
        for root in self.roots() {
            // There is nothing that fails.
            let _ = uploads(&root.physical, &mut |upload| {
                if upload.owner() == party {
                    let width: u64 = upload.widths().iter().copied().map(u64::from).sum();
                    let rows = upload.input.rows as u64;
                    let segment = (upload.segment(self.segments()) as u64).min(rows) * width / 8;
                    given += rows * width.div_ceil(8);
                    most = most.max(given + segment + bytes_of_upload(upload));
                }
                Ok(())
            });
        }
        Bytes {
            before: tables + most,
            given,
            answer: self.bytes_of_answer(party),
        }
    }

    /// The most bytes that the tables of `party` take in memory.
    pub fn bytes_of_tables(&self, party: PartyId) -> u64 {
        let own = self.schema().tables.iter().filter(|table| table.party == party);
        own.map(bytes_of_table).sum()
    }

    /// The most bytes that `party` takes to see that its tables keep what is declared of them, besides the tables.
    pub fn bytes_of_checks(&self, party: PartyId) -> u64 {
        let own = self.schema().tables.iter().filter(|table| table.party == party);
        own.map(bytes_of_check).max().unwrap_or(0)
    }

    /// Bytes that a party needs at the least for the rows that are sorted secretly, in any protocol: what a layer of a network takes and gives, and where
    /// each row is. It is known at once, where planning all steps of a query that does not fit would take long itself.
    pub fn least_bytes(&self) -> u64 {
        let roots = self.roots().iter();
        roots.map(|root| least_bytes(&root.physical)).max().unwrap_or(0)
    }

    fn bytes_of_answer(&self, party: PartyId) -> u64 {
        let rows = self.answer_rows() as u64;
        let shuffled = match self.is_ordered() {
            true => 0,
            false => rows * u64::from(rows.max(2).ilog2() + 1) * GATE,
        };
        let columns = self.roots().iter().flat_map(|root| &root.physical.columns);
        let row: u64 = columns
            .map(|column| u64::from(column.kind.width()) / 3 + TEXT)
            .sum();
        let is_told = self.schema().answer.to.contains(party);
        let told = if is_told { rows * row } else { 0 };
        shuffled.max(told)
    }
}

fn least_bytes(physical: &Physical) -> u64 {
    let sorted = |of: &Physical, rows: usize| {
        let row = LAYER * of.width() + SORTED;
        (rows as u64).saturating_mul(row)
    };
    let (own, inputs): (u64, Vec<&Physical>) = match &*physical.step {
        _ if physical.owner.is_some() => (0, Vec::new()),
        Step::Scan { .. } | Step::Kept { .. } | Step::Share(..) | Step::Paired(_) => (0, Vec::new()),
        Step::Project(input, _) | Step::Filter(input, _) | Step::Verify { input, .. } => (0, vec![&**input]),
        Step::Union(inputs) => (0, inputs.iter().collect()),
        Step::Group {
            grouped: false,
            input,
            ..
        } => (0, vec![&**input]),
        Step::Window { input, window } if window.is_unordered() => (0, vec![&**input]),
        Step::Group { input, .. } | Step::First { input, .. } | Step::Window { input, .. } => {
            (sorted(input, input.rows), vec![&**input])
        }
        Step::Repeat { input, .. } => {
            let rows = input.rows.saturating_add(physical.rows);
            (sorted(input, rows), vec![&**input])
        }
        Step::Join(join) if join.probe_keys.is_empty() => (0, vec![&join.probe, &join.lookup]),
        Step::Join(join) => {
            let rows = join.probe.rows.saturating_add(join.lookup.rows);
            (sorted(&join.lookup, rows), vec![&join.probe, &join.lookup])
        }
    };
    inputs.into_iter().map(least_bytes).fold(own, u64::max)
}

fn bytes_of_numbers(range: Option<(i128, i128)>) -> u64 {
    let (least, most) = range.unwrap_or_default();
    Numbers::within(least, most).bytes() as u64
}

fn bytes_of(kind: Type) -> u64 {
    match kind {
        Type::Char(bytes) => bytes.into(),
        kind => bytes_of_numbers(kind.range()),
    }
}

pub(crate) fn bytes_of_table(table: &Declared) -> u64 {
    let fields = table.fields.iter();
    let row: u64 = fields
        .map(|field| bytes_of(field.kind) + u64::from(field.nullable))
        .sum();
    table.max_rows as u64 * row
}

/// Of the column that takes most, its values in their order; of several that are unique together, the numbers of their rows.
fn bytes_of_check(table: &Declared) -> u64 {
    let promised = |name: &String| {
        table.is_unique(name) || table.at_most.contains_key(name) || table.distinct.contains_key(name)
    };
    let fields = table.fields.iter().filter(|field| promised(&field.name));
    let values = fields.map(|field| match field.kind {
        Type::Char(_) => size_of::<&[u8]>() as u64,
        kind => bytes_of(kind),
    });
    let together = table.unique.iter().any(|columns| columns.len() > 1);
    let numbers = together.then_some(size_of::<u32>() as u64);
    table.max_rows as u64 * values.chain(numbers).max().unwrap_or(0)
}

fn bytes_of_text(kind: ValueKind) -> u64 {
    match kind {
        ValueKind::Text(bytes) => bytes.into(),
        _ => 0,
    }
}

/// Rows that are kept.
fn bytes_of_rows(physical: &Physical) -> u64 {
    let columns = physical.columns.iter();
    let row: u64 = columns
        .map(|column| {
            u64::from(column.nullable)
                + match column.kind {
                    ValueKind::Text(bytes) => bytes.into(),
                    kind => bytes_of_numbers(kind.range()),
                }
        })
        .sum();
    physical.rows as u64 * (row + PLACE)
}

/// What an owner keeps while it makes the rows of `upload`.
fn bytes_of_upload(upload: &Upload<'_>) -> u64 {
    let within = bytes_of_steps(upload.input);
    match upload.shape {
        Shape::Plain { keys: [] } => within,
        _ => within + bytes_of_rows(upload.input),
    }
}

/// What an owner keeps while it makes these rows.
fn bytes_of_steps(physical: &Physical) -> u64 {
    match &*physical.step {
        Step::Scan { .. } | Step::Kept { .. } => 0,
        Step::Project(input, _) | Step::Filter(input, _) | Step::Share(input, _) => bytes_of_steps(input),
        Step::Verify { input, .. } | Step::Repeat { input, .. } => bytes_of_steps(input),
        Step::Union(inputs) => inputs.iter().map(bytes_of_steps).max().unwrap_or(0),
        Step::Paired(parts) => parts
            .iter()
            .map(|part| bytes_of_steps(&part.input))
            .max()
            .unwrap_or(0),
        Step::First { input, .. } => bytes_of_steps(input) + bytes_of_rows(input),
        Step::Window { input, .. } => {
            let added = physical.columns[input.columns.len()..].iter();
            let added: u64 = added.map(|column| WINDOWED + bytes_of_text(column.kind)).sum();
            bytes_of_steps(input) + bytes_of_rows(input) + physical.rows as u64 * (WINDOW + added)
        }
        Step::Join(join) => {
            let lookup = bytes_of_steps(&join.lookup);
            let rest = if join.rest {
                join.lookup.rows as u64 * REST
            } else {
                0
            };
            lookup.max(bytes_of_rows(&join.lookup) + bytes_of_steps(&join.probe) + rest)
        }
        Step::Group { input, .. } => {
            let group = GROUP + GROUPED * physical.columns.len() as u64;
            bytes_of_steps(input) + physical.rows as u64 * group
        }
    }
}
