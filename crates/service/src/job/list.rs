//! Lists of jobs, a page at a time, each at the cost of its own length.

use super::row::{columns, readable};
use super::{Job, StateName};
use crate::Result;
use crate::database::{Connection, Value};

/// Jobs of a page, at most.
const LONGEST: u16 = 200;

/// Which jobs to list.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest {
    /// Only those in this state.
    pub state: Option<StateName>,
    /// Only those that came before the one of this number: the `next` of the page before.
    pub before: Option<u64>,
    /// How many, at most 200.
    pub limit: u16,
}

/// Jobs, the newest first, without those that cannot be read.
#[derive(Debug, Clone)]
pub struct Page {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Where the next page goes on, if there is one.
    pub next: Option<u64>,
}

pub(super) fn page(connection: &mut Connection, request: &PageRequest) -> Result<Page> {
    let limit = usize::from(request.limit.clamp(1, LONGEST));
    let before = request
        .before
        .and_then(|before| i64::try_from(before).ok())
        .unwrap_or(i64::MAX);
    // One more than asked for says whether there are more.
    let more = Value::from(limit as i64 + 1);
    let rows = match request.state {
        None => connection.rows(
            concat!(
                "SELECT ",
                columns!(),
                " FROM job WHERE number < $1 ORDER BY number DESC LIMIT $2"
            ),
            &[Value::from(before), more],
        )?,
        Some(state) => connection.rows(
            concat!(
                "SELECT ",
                columns!(),
                " FROM job WHERE state = $3 AND number < $1 ORDER BY number DESC LIMIT $2"
            ),
            &[Value::from(before), more, Value::from(state.as_str())],
        )?,
    };
    let of_page = &rows[..rows.len().min(limit)];
    let next = match of_page.last() {
        Some(last) if rows.len() > limit => Some(last.count(0)?),
        _ => None,
    };
    let jobs = of_page.iter().filter_map(readable).collect();
    Ok(Page { jobs, next })
}
