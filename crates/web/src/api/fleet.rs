//! The service itself, its peers, its stock, and what it does.

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use cenote_api::Problem;
use cenote_api::view::{About, Alarm, Data, Peer, PutBack, Running, Stock, Unsettled};
use cenote_service::job;
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

/// What is on record against a peer: sessions that had begun with it and not ended in agreement.
#[utoipa::path(get, path = "/api/v1/peers/{party}/unsettled", tag = "service", security(("bearer" = [])),
    params(("party" = u8, Path, description = "The peer's number")),
    responses((status = 200, body = Unsettled), (status = "4XX", body = Problem)))]
pub(super) async fn unsettled(
    State(site): Shared,
    _: Reader,
    party: Result<Path<u8>, PathRejection>,
) -> Answer<Json<Unsettled>> {
    let party = number(party)?;
    let known = site.ask(move |site| site.house.live.unsettled(party)).await?;
    let known = known.ok_or_else(nothing_unsettled)?;
    Ok(Json(known.into()))
}

/// What a person has seen on record.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Seen {
    /// How often sessions had not ended in agreement.
    times: u64,
    /// Whether one of them was enough for a person to be asked.
    grave: bool,
}

/// Says that a person has looked into what is on record against a peer, so that rules decide again on jobs with it. Refused if there is something else by now
/// than that person has seen.
#[utoipa::path(delete, path = "/api/v1/peers/{party}/unsettled", tag = "service", security(("bearer" = [])),
    params(("party" = u8, Path, description = "The peer's number"), Seen),
    responses((status = 204), (status = "4XX", body = Problem)))]
pub(super) async fn settle(
    State(site): Shared,
    Admin(caller): Admin,
    party: Result<Path<u8>, PathRejection>,
    query: Result<Query<Seen>, QueryRejection>,
) -> Answer<StatusCode> {
    let (peer, seen) = (number(party)?, asked(query)?);
    let seen = job::Unsettled {
        peer,
        times: seen.times,
        grave: seen.grave,
    };
    let by = caller.principal.actor();
    match site.ask(move |site| site.house.live.settle(seen, by)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(nothing_unsettled()),
    }
}

/// Whether a party's folder was put back to an earlier state, this one's too, and nobody has acknowledged that.
#[utoipa::path(get, path = "/api/v1/parties/{party}/put-back", tag = "service", security(("bearer" = [])),
    params(("party" = u8, Path, description = "The party's number")),
    responses((status = 200, body = PutBack), (status = "4XX", body = Problem)))]
pub(super) async fn put_back(
    State(site): Shared,
    _: Reader,
    party: Result<Path<u8>, PathRejection>,
) -> Answer<Json<PutBack>> {
    let party = number(party)?;
    let known = site.ask(move |site| site.house.live.put_back(party)).await?;
    Ok(Json(known.ok_or_else(not_put_back)?.into()))
}

/// What a person has seen of a party that was put back.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SeenLines {
    /// Lines that its audit log had.
    lines: u64,
}

/// Says that a person has seen that a party's folder was put back to an earlier state, and goes on all the same. Refused if there is something else by now
/// than that person has seen.
#[utoipa::path(delete, path = "/api/v1/parties/{party}/put-back", tag = "service", security(("bearer" = [])),
    params(("party" = u8, Path, description = "The party's number"), SeenLines),
    responses((status = 204), (status = "4XX", body = Problem)))]
pub(super) async fn acknowledge(
    State(site): Shared,
    Admin(caller): Admin,
    party: Result<Path<u8>, PathRejection>,
    query: Result<Query<SeenLines>, QueryRejection>,
) -> Answer<StatusCode> {
    let seen = (number(party)?, asked(query)?.lines);
    let by = caller.principal.actor();
    match site
        .ask(move |site| site.house.live.acknowledge(seen, by))
        .await?
    {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(not_put_back()),
    }
}

fn not_put_back() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "not-put-back",
        "nothing says that this party's folder was put back to an earlier state",
        "see /api/v1/alarms for what to see to",
    )
}

fn number(party: Result<Path<u8>, PathRejection>) -> Answer<u8> {
    let Path(party) = party.map_err(|_| Refusal::bad("that is no number of a party"))?;
    Ok(party)
}

fn nothing_unsettled() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "nothing-unsettled",
        "nothing is on record against this party",
        "see /api/v1/peers for the parties, and /api/v1/alarms for what to see to",
    )
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
