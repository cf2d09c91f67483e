//! For machines that watch the service.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use crate::caller::Reader;
use crate::house::Shared;
use crate::metrics;
use crate::problem::Answer;
use cenote_api::Problem;

/// How long an answer to those without a token is used again.
const FRESH: Duration = Duration::from_millis(500);

/// Answers while the process lives. Needs no token.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = String)))]
pub(super) async fn healthz() -> &'static str {
    "alive\n"
}

/// Answers 200 when jobs can be taken. Needs no token, and does not say what is missing: `/api/v1/about` does.
#[utoipa::path(get, path = "/readyz", tag = "health", responses((status = 200, body = String), (status = 503, body = String)))]
pub(super) async fn readyz(State(site): Shared) -> Answer<(StatusCode, &'static str)> {
    // Nobody without a token makes the service look more often than this.
    let lately = || site.readiness.lock().unwrap_or_else(PoisonError::into_inner);
    let known = lately().filter(|(asked, _)| asked.elapsed() < FRESH);
    let ready = match known {
        Some((_, ready)) => ready,
        None => {
            let about = site.block(|site| site.house.live.about()).await?;
            let ready = about.not_ready.is_none();
            *lately() = Some((Instant::now(), ready));
            ready
        }
    };
    Ok(if ready {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    })
}

/// Metrics in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health", security(("bearer" = [])), responses(
    (status = 200, body = String), (status = "4XX", body = Problem)))]
pub(super) async fn metrics(State(site): Shared, _: Reader) -> Answer<impl IntoResponse> {
    let text = site.block(metrics::text).await?;
    Ok((
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
        text,
    ))
}
