//! Lists of jobs, a page at a time, each at the cost of its own length.

use super::row::{columns, readable};
use super::{Decision, Job, StateName};
use crate::database::{Connection, Row, Value};
use crate::{Result, Timestamp};

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

/// Proposals that wait for this party's decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Undecided {
    /// How many there are.
    pub count: u64,
    /// When the oldest of them came.
    pub oldest: Option<Timestamp>,
}

pub(super) fn undecided(connection: &mut Connection, me: u8) -> Result<Undecided> {
    let rows = connection.rows(
        "SELECT decisions, created_at FROM job WHERE state = $1 ORDER BY number",
        &[Value::from(StateName::Proposed.as_str())],
    )?;
    let mut undecided = Undecided::default();
    for row in &rows {
        let decisions: Vec<Option<Decision>> = serde_json::from_str(row.text(0)?).unwrap_or_default();
        if decisions.get(usize::from(me)).is_some_and(Option::is_none) {
            undecided.count += 1;
            let came = Timestamp::from_column(row.integer(1)?);
            undecided.oldest = undecided
                .oldest
                .map_or(Some(came), |oldest| Some(oldest.min(came)));
        }
    }
    Ok(undecided)
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
    paged(&rows, limit)
}

/// Jobs of a proposer before that of a number, without those that ended before they ran: nobody has learnt anything of them.
pub(super) fn of_proposer(
    connection: &mut Connection,
    proposer: u8,
    before: u64,
    limit: u16,
) -> Result<Page> {
    let limit = usize::from(limit.clamp(1, LONGEST));
    let rows = connection.rows(
        concat!(
            "SELECT ",
            columns!(),
            " FROM job WHERE proposer = $1 AND number < $2 AND (open = 1 OR ran > 0) ORDER BY number DESC LIMIT $3"
        ),
        &[
            Value::from(i64::from(proposer)),
            Value::from(i64::try_from(before).unwrap_or(i64::MAX)),
            Value::from(limit as i64 + 1),
        ],
    )?;
    paged(&rows, limit)
}

/// The page of rows of which there is one more than its limit if there are more.
fn paged(rows: &[Row], limit: usize) -> Result<Page> {
    let of_page = &rows[..rows.len().min(limit)];
    let next = match of_page.last() {
        Some(last) if rows.len() > limit => Some(last.count(0)?),
        _ => None,
    };
    let jobs = of_page.iter().filter_map(readable).collect();
    Ok(Page { jobs, next })
}
