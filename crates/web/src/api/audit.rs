//! The audit log.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::Deserialize;
use utoipa::IntoParams;

use super::jobs::asked;
use crate::caller::{Admin, Reader};
use crate::house::Shared;
use crate::problem::{Answer, Refusal};
use cenote_api::Problem;
use cenote_api::view::{AuditPage, AuditVerified};

/// Bytes that are read from the end, at most.
const TAIL: u64 = 1 << 20;
/// Lines of an answer, at most.
const LINES: usize = 500;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Lines {
    /// How many, at most 500; 100 if not given.
    lines: Option<usize>,
}

/// The last lines of the audit log, the newest first.
#[utoipa::path(get, path = "/api/v1/audit", tag = "audit", params(Lines), security(("bearer" = [])), responses(
    (status = 200, body = AuditPage), (status = "4XX", body = Problem)))]
pub(super) async fn tail(
    State(site): Shared,
    _: Reader,
    query: Result<Query<Lines>, QueryRejection>,
) -> Answer<Json<AuditPage>> {
    let lines = asked(query)?.lines.unwrap_or(100).min(LINES);
    let read = site.block(move |site| {
        let path = site.house.database.audit_file();
        last(&path, lines).map_err(|error| {
            Refusal::from(cenote_service::Error::File {
                path,
                reason: error.to_string(),
            })
        })
    });
    Ok(Json(AuditPage { lines: read.await?? }))
}

fn last(path: &Path, lines: usize) -> std::io::Result<Vec<serde_json::Value>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    // The first line may have begun before, and the last one may be in the middle of being written.
    let read = bytes
        .rsplit(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok());
    Ok(read.take(lines).collect())
}

/// Reads the whole audit log and checks its chain up to the recorded end.
#[utoipa::path(post, path = "/api/v1/audit/verify", tag = "audit", security(("bearer" = [])), responses(
    (status = 200, body = AuditVerified), (status = "4XX", body = Problem)))]
pub(super) async fn verify(State(site): Shared, _: Admin) -> Answer<Json<AuditVerified>> {
    let Ok(turn) = std::sync::Arc::clone(&site.verifying).try_acquire_owned() else {
        return Err(Refusal::busy());
    };
    let checked = site.block(move |site| {
        let checked = site.house.database.verify_audit();
        drop(turn);
        checked
    });
    match checked.await? {
        Ok(head) => Ok(Json(AuditVerified {
            lines: head.number,
            hash: head.hash,
        })),
        Err(cenote_service::Error::Audit(fault)) => Err(Refusal::new(
            axum::http::StatusCode::CONFLICT,
            "audit-changed",
            format!("the audit log: {fault}"),
            fault.advice(),
        )),
        Err(error) => Err(error.into()),
    }
}
