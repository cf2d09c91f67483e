//! Events as they happen (server-sent events). Each is one JSON object with its kind under `event`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use cenote_api::Problem;
use cenote_service::Timestamp;
use cenote_service::job::JobId;
use cenote_service::live::Happened;
use futures_util::stream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::jobs::Named;
use crate::caller::{Caller, Reader};
use crate::house::{Shared, Site};
use crate::places::Place;
use crate::problem::{Answer, Refusal};

/// How often a silent stream says that it is there.
const BEAT: Duration = Duration::from_secs(10);

struct Listening {
    site: Arc<Site>,
    _place: Place,
    caller: Caller,
    /// When to look again whether the token is still valid.
    look: Instant,
    events: Receiver<Happened>,
    job: Option<JobId>,
    /// What is told before anything happens.
    first: Option<Happened>,
    over: bool,
}

impl Listening {
    fn begin(site: &Arc<Site>, caller: Caller, job: Option<JobId>) -> Answer<Self> {
        Ok(Listening {
            _place: site
                .streams
                .take(caller.principal.counted_as())
                .ok_or_else(Refusal::busy)?,
            site: Arc::clone(site),
            caller,
            look: Instant::now() + site.limits.look_again,
            events: site.hub.listen(),
            job,
            first: None,
            over: false,
        })
    }
}

/// All that happens from now on.
#[utoipa::path(get, path = "/api/v1/events", tag = "events", security(("bearer" = [])), responses(
    (status = 200, description = "Events", content_type = "text/event-stream"), (status = "4XX", body = Problem)))]
pub(super) async fn all(State(site): Shared, Reader(caller): Reader) -> Answer<impl IntoResponse> {
    Ok(stream(Listening::begin(&site, caller, None)?))
}

/// One job's state, and what happens to it until it has ended.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/events", tag = "events", security(("bearer" = [])), params(("job" = String, Path)), responses(
    (status = 200, description = "Events", content_type = "text/event-stream"), (status = "4XX", body = Problem)))]
pub(super) async fn of_job(
    State(site): Shared,
    Reader(caller): Reader,
    Named(id): Named,
) -> Answer<impl IntoResponse> {
    // Nothing is missed between the first event and the look at the state.
    let mut listening = Listening::begin(&site, caller, Some(id))?;
    listening.first = Some(state(&site, id).await?);
    Ok(stream(listening))
}

async fn state(site: &Arc<Site>, job: JobId) -> Answer<Happened> {
    let found = site.ask(move |site| site.house.jobs.get(job)).await?;
    Ok(Happened::Job {
        job,
        state: found.state.name(),
    })
}

fn stream(listening: Listening) -> impl IntoResponse {
    let events = stream::unfold(listening, |mut listening| async move {
        let happened = listening.next().await?;
        let event = Event::default().json_data(&happened).unwrap_or_default();
        Some((Ok::<_, Infallible>(event), listening))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(BEAT))
}

impl Listening {
    async fn next(&mut self) -> Option<Happened> {
        if self.over {
            return None;
        }
        let happened = match self.first.take() {
            Some(first) => first,
            None => loop {
                let heard = tokio::time::timeout_at(self.look, self.events.recv()).await;
                if self.look <= Instant::now() {
                    self.look = Instant::now() + self.site.limits.look_again;
                    self.still_let_in().await.then_some(())?;
                }
                let Ok(heard) = heard else { continue };
                let happened = match heard {
                    Ok(happened) => happened,
                    Err(RecvError::Lagged(_)) => Happened::Missed,
                    Err(RecvError::Closed) => return None,
                };
                match (self.job, &happened) {
                    (None, _) => break happened,
                    (Some(job), Happened::Missed) => break state(&self.site, job).await.ok()?,
                    (Some(wanted), Happened::Job { job, .. }) if *job == wanted => break happened,
                    (Some(wanted), Happened::Progress(running)) if running.job == wanted => break happened,
                    _ => {}
                }
            },
        };
        self.over =
            self.job.is_some() && matches!(&happened, Happened::Job { state, .. } if !state.is_open());
        Some(happened)
    }

    /// Whether the token that opened the stream is still valid.
    async fn still_let_in(&self) -> bool {
        let (kind, token) = (self.caller.kind, self.caller.token.clone());
        let asked = self
            .site
            .enter(move |site| site.tokens.authenticate(kind, &token, Timestamp::now()));
        asked.await.is_ok()
    }
}
