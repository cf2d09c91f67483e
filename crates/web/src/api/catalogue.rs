//! temp
use axum::Json;
use axum::extract::State;
use cenote_api::Problem;
use cenote_api::view::Catalogue;
use crate::caller::Reader;
use crate::house::Shared;
use crate::problem::Answer;

/// temp
#[utoipa::path(get, path = "/api/v1/catalogue", tag = "jobs", security(("bearer" = [])), responses(
    (status = 200, body = Catalogue), (status = "4XX", body = Problem)))]
pub(super) async fn list(State(site): Shared, _: Reader) -> Answer<Json<Catalogue>> {
    Ok(Json(site.block(|site| site.house.live.catalogue()).await?))
}
