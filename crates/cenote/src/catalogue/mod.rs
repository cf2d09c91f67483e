//! What may be asked of which data: each party publishes names, types, promises and rules of its tables to others, never values.
//!
//! - [`OwnCatalogue`]: `catalogue.toml`, which says what a party publishes to whom.
//! - [`Published`]: what goes over the wire, checked by whoever gets it before it is kept.
//! - [`compose()`]: a job from a query, of what is published.
//! - [`suggest()`]: a draft of a table, from its file.
//!
//! A catalogue is its party's word. Whether the data is so is seen when a job runs, as of every declaration.

mod compose;
#[cfg(test)]
mod compose_tests;
mod own;
mod published;
mod suggest;
mod words;

#[cfg(test)]
mod tests;

pub use self::compose::{Composed, ComposedTable, Known, Unfit, Wanted, compose};
pub use self::own::{OwnCatalogue, OwnTable, own_name, party_of, usual_names, wrong_data_name};
pub use self::published::{
    Check, Limits, MAX_BYTES, MAX_COLUMNS, MAX_TABLES, Published, PublishedTable, Refused, TableRule,
};
pub use self::suggest::suggest;
