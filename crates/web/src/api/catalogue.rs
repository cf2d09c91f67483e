//! What may be asked of which data, and jobs that are made of it.

use axum::Json;
use axum::extract::State;
use cenote_api::Problem;
use cenote_api::view::{Catalogue, Compose, Composed};

use crate::body::Input;
use crate::caller::{Proposer, Reader};
use crate::house::Shared;
use crate::problem::Answer;

/// The catalogues that this party knows: its own, and what its peers have published to it.
#[utoipa::path(get, path = "/api/v1/catalogue", tag = "catalogue", security(("bearer" = [])), responses(
    (status = 200, body = Catalogue), (status = "4XX", body = Problem)))]
pub(super) async fn show(State(site): Shared, _: Reader) -> Answer<Json<Catalogue>> {
    Ok(Json(site.block(|site| site.house.live.catalogue()).await?))
}

/// Makes a job file of a query, with the declarations of exactly the tables that it names. Nothing is proposed. It takes a turn of the token, as a plan
/// does: one that waits is refused (`overtaken`) when the token asks for another.
#[utoipa::path(post, path = "/api/v1/compose", tag = "catalogue", security(("bearer" = [])), request_body = Compose, responses(
    (status = 200, body = Composed), (status = "4XX", body = Problem)))]
pub(super) async fn compose(
    State(site): Shared,
    Proposer(caller): Proposer,
    Input(wanted): Input<Compose>,
) -> Answer<Json<Composed>> {
    let turn = site.plans.take(caller.principal.counted_as()).await?;
    let composed = site.ask(move |site| {
        // Held until it is made, even where nobody waits for it any more.
        let _turn = turn;
        site.house.live.compose(wanted)
    });
    Ok(Json(composed.await?))
}
