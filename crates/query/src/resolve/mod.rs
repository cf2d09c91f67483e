//! From the text of a query to operations on relations: names are found, types are checked.

mod expression;
mod from;
mod function;
mod group_by;
mod grouping_sets;
mod interval;
mod literal;
mod moment;
mod named;
mod number;
mod operators;
mod order;
mod outer_join;
mod parse;
mod percentile;
mod projection;
mod query;
mod resolver;
mod scope;
mod select;
mod statistics;
mod subquery;
mod text;
mod window;

use std::panic::resume_unwind;
use std::thread;

pub use self::named::{TableName, tables_named};
use self::parse::parse;
pub(crate) use self::resolver::Resolved;
use self::resolver::Resolver;
use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::work::Work;

/// Stack of the thread that a query is read on. A peer chooses its text: to read, walk through and drop the deepest that the limits allow takes up to 2 MiB, and
/// up to 16 MiB where the parser is not optimised; other threads have 2. Only what is used of it takes memory.
const STACK: usize = 64 << 20;

/// The query `sql` over the tables of `schema`, and what finding it has taken.
///
/// # Errors
/// [`Error::Query`] with the place.
pub(crate) fn resolve(sql: &str, schema: &Schema) -> Result<(Resolved, Work)> {
    on_a_large_stack(|| {
        let query = parse(sql, &schema.parameters)?;
        let work = Work::default();
        let resolver = Resolver::new(schema, &work);
        let resolved = resolver.query(&query, &[])?;
        Ok((resolved, work))
    })
}

/// Does `read` on a thread that has room for the deepest query.
fn on_a_large_stack<T: Send>(read: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("query".into()).stack_size(STACK);
        match builder.spawn_scoped(scope, read) {
            Ok(reader) => reader.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(error) => {
                let what = format!("this machine has no thread to read it on ({error}); try again later");
                Err(Error::query(None, what))
            }
        }
    })
}
