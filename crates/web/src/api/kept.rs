//! Kept values: list and drop.

use std::str::FromStr;
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use cenote_api::Problem;
use cenote_api::view::Kept;
use cenote_service::job::{JobId, check_kept_name};

use super::jobs::trace;
use crate::caller::{Approver, Reader};
use crate::house::{Shared, Site};
use crate::problem::{Answer, Refusal};

/// The kept value that a path names.
pub(super) struct Value {
    job: JobId,
    name: String,
}

impl FromRequestParts<Arc<Site>> for Value {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Answer<Self> {
        let Path((job, name)) = Path::<(String, String)>::from_request_parts(parts, site)
            .await
            .map_err(|_| Refusal::bad("the path is not text"))?;
        let job = JobId::from_str(&job)
            .map_err(|error| Refusal::bad(format!("that is no name of a job: {error}")))?;
        check_kept_name(&name).map_err(Refusal::bad)?;
        trace(job);
        Ok(Value { job, name })
    }
}

/// Values that are kept here, the newest first.
#[utoipa::path(get, path = "/api/v1/kept", tag = "kept values", security(("bearer" = [])), responses(
    (status = 200, body = Vec<Kept>), (status = "4XX", body = Problem)))]
pub(super) async fn list(State(site): Shared, _: Reader) -> Answer<Json<Vec<Kept>>> {
    Ok(Json(site.ask(|site| site.house.live.kept()).await?))
}

/// Deletes a kept value here, so that no job can take it any more.
#[utoipa::path(delete, path = "/api/v1/kept/{job}/{name}", tag = "kept values", security(("bearer" = [])),
    params(("job" = String, Path, description = "The job that kept it"), ("name" = String, Path, description = "Its name")),
    responses((status = 204), (status = "4XX", body = Problem)))]
pub(super) async fn drop_value(
    State(site): Shared,
    Approver(caller): Approver,
    Value { job, name }: Value,
) -> Answer<StatusCode> {
    let by = caller.principal.actor();
    site.ask(move |site| site.house.live.drop_kept(&name, job, by))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
