//! The service itself, its peers, its stock, and what it does.

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use cenote_api::Problem;
use cenote_api::view::{About, Alarm, Data, Peer, Running, Stock};
use serde::Deserialize;
use utoipa::IntoParams;

use super::jobs::asked;
use crate::caller::{Admin, Reader};
use crate::history::Point;
use crate::house::Shared;
use crate::problem::{Answer, Refusal};

/// Which party this is, and whether it can take jobs.
#[utoipa::path(get, path = "/api/v1/about", tag = "service", security(("bearer" = [])), responses(
    (status = 200, body = About), (status = "4XX", body = Problem)))]
pub(super) async fn about(State(site): Shared, _: Reader) -> Answer<Json<About>> {
    Ok(Json(site.block(|site| site.house.live.about()).await?))
}

/// The data that jobs may be given here.
#[utoipa::path(get, path = "/api/v1/data", tag = "service", security(("bearer" = [])), responses(
    (status = 200, body = Vec<Data>), (status = "4XX", body = Problem)))]
pub(super) async fn data(State(site): Shared, _: Reader) -> Answer<Json<Vec<Data>>> {
    Ok(Json(site.ask(|site| site.house.live.data()).await?))
}

/// The other parties.
#[utoipa::path(get, path = "/api/v1/peers", tag = "service", security(("bearer" = [])), responses(
    (status = 200, body = Vec<Peer>), (status = "4XX", body = Problem)))]
pub(super) async fn peers(State(site): Shared, _: Reader) -> Answer<Json<Vec<Peer>>> {
    Ok(Json(site.block(|site| site.house.live.peers()).await?))
}

/// Says that a person has looked into the sessions that had begun with a peer and not ended in agreement, so that rules decide again on jobs with it.
#[utoipa::path(delete, path = "/api/v1/peers/{party}/unsettled", tag = "service", security(("bearer" = [])),
    params(("party" = u8, Path, description = "The peer's number")),
    responses((status = 204), (status = "4XX", body = Problem)))]
pub(super) async fn settle(
    State(site): Shared,
    Admin(caller): Admin,
    party: Result<Path<u8>, PathRejection>,
) -> Answer<StatusCode> {
    let Path(party) = party.map_err(|_| Refusal::bad("that is no number of a party"))?;
    let by = caller.principal.actor();
    match site.ask(move |site| site.house.live.settle(party, by)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            "nothing-unsettled",
            "nothing is on record against this party",
            "see /api/v1/peers for the parties, and /api/v1/alarms for what to see to",
        )),
    }
}

/// Material in stock, by kind.
#[utoipa::path(get, path = "/api/v1/stock", tag = "service", security(("bearer" = [])), responses(
    (status = 200, body = Vec<Stock>), (status = "4XX", body = Problem)))]
pub(super) async fn stock(State(site): Shared, _: Reader) -> Answer<Json<Vec<Stock>>> {
    Ok(Json(site.block(|site| site.house.live.stock()).await?))
}

/// Jobs that run, and how far they are.
#[utoipa::path(get, path = "/api/v1/running", tag = "service", security(("bearer" = [])), responses(
    (status = 200, body = Vec<Running>), (status = "4XX", body = Problem)))]
pub(super) async fn running(State(site): Shared, _: Reader) -> Answer<Json<Vec<Running>>> {
    Ok(Json(site.block(|site| site.house.live.running()).await?))
}

/// What an operator should see to.
#[utoipa::path(get, path = "/api/v1/alarms", tag = "service", security(("bearer" = [])), responses(
    (status = 200, body = Vec<Alarm>), (status = "4XX", body = Problem)))]
pub(super) async fn alarms(State(site): Shared, _: Reader) -> Answer<Json<Vec<Alarm>>> {
    Ok(Json(site.block(|site| site.house.live.alarms()).await?))
}

/// How far back.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Span {
    /// A day, a point for 5 minutes, instead of an hour, a point for 10 seconds.
    day: Option<bool>,
}

/// Throughput, latency and stock over time, since the service came up.
#[utoipa::path(get, path = "/api/v1/history", tag = "service", params(Span), security(("bearer" = [])), responses(
    (status = 200, body = Vec<Point>), (status = "4XX", body = Problem)))]
pub(super) async fn history(
    State(site): Shared,
    _: Reader,
    query: Result<Query<Span>, QueryRejection>,
) -> Answer<Json<Vec<Point>>> {
    let day = asked(query)?.day.unwrap_or(false);
    Ok(Json(site.history.points(day)))
}
