//! Jobs: submit, list, show, decide, fetch.

use std::str::FromStr;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use cenote_api::Problem;
use cenote_api::view::{
    Approve, Decline, Explained, Fetch, FilePart, Gift, JobDetail, JobPage, JobView, Peer, ResultFormat,
    Submit, Weighed,
};
use cenote_service::job::{Digest, JobId, PageRequest, StateName};
use cenote_service::live::Submission;
use cenote_service::token::{Principal, Scope};
use cenote_service::{Job, seen};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::body::{Input, Large};
use crate::caller::{Approver, Proposer, Reader};
use crate::gift;
use crate::house::{Shared, Site};
use crate::problem::{Answer, Refusal};

/// Jobs of a page unless the caller says otherwise.
const PAGE: u16 = 50;

/// The job that a path names.
pub(super) struct Named(pub(super) JobId);

impl FromRequestParts<Arc<Site>> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Answer<Self> {
        let Path(text) = Path::<String>::from_request_parts(parts, site)
            .await
            .map_err(|_| Refusal::bad("the path is not text"))?;
        let job = JobId::from_str(&text)
            .map_err(|error| Refusal::bad(format!("that is no name of a job: {error}")))?;
        trace(job);
        Ok(Named(job))
    }
}

/// Puts a job's name on what is logged of this call.
pub(super) fn trace(job: JobId) {
    tracing::Span::current().record("trace", tracing::field::display(job));
}

/// Which jobs to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// Only those in this state.
    #[param(value_type = Option<String>)]
    state: Option<StateName>,
    /// Only those that came before the one of this number: `next` of the page before.
    before: Option<u64>,
    /// How many, at most 200; 50 if not given.
    limit: Option<u16>,
}

/// What a query string says.
pub(super) fn asked<T>(query: Result<Query<T>, QueryRejection>) -> Answer<T> {
    query
        .map(|Query(asked)| asked)
        .map_err(|_| Refusal::bad("the part of the address after ? is not what this call takes"))
}

/// A page of jobs, the newest first.
#[utoipa::path(get, path = "/api/v1/jobs", tag = "jobs", params(Which), security(("bearer" = [])), responses(
    (status = 200, body = JobPage), (status = "4XX", body = Problem)))]
pub(super) async fn list(
    State(site): Shared,
    _: Reader,
    query: Result<Query<Which>, QueryRejection>,
) -> Answer<Json<JobPage>> {
    let which = asked(query)?;
    let request = PageRequest {
        state: which.state,
        before: which.before,
        limit: which.limit.unwrap_or(PAGE),
    };
    let page = site.ask(move |site| {
        let page = site.house.jobs.list(request)?;
        let (peers, stuck) = (site.house.live.peers(), site.house.live.stuck());
        let shown = |job| shown(site, job, &peers, stuck.as_deref());
        Ok(JobPage {
            jobs: page.jobs.into_iter().map(shown).collect(),
            next: page.next,
        })
    });
    Ok(Json(page.await?))
}

/// A job while its peers stand so, and this party records nothing for the reason `stuck`, with what it computes.
fn shown(site: &Site, job: Job, peers: &[Peer], stuck: Option<&str>) -> JobView {
    let computes = site.house.live.computes(&job.proposal.program);
    JobView {
        computes,
        ..seen(job, peers, stuck)
    }
}

/// Submits a job. The same body under the same `Idempotency-Key` gives the same job.
#[utoipa::path(post, path = "/api/v1/jobs", tag = "jobs", security(("bearer" = [])), request_body = Submit,
    params(("Idempotency-Key" = String, Header, description = "1 to 128 bytes of the caller's choice")), responses(
    (status = 201, body = JobView), (status = "4XX", body = Problem)))]
pub(super) async fn submit(
    State(site): Shared,
    Proposer(caller): Proposer,
    headers: HeaderMap,
    Large(submit, place): Large<Submit>,
) -> Answer<(StatusCode, Json<JobView>)> {
    let idempotency_key = key(&headers)?;
    check_files(&submit)?;
    let approval = submit.approval.map(gift::approval).transpose()?;
    if approval.is_some() {
        caller.principal.needs(Scope::Approve)?;
    }
    let submission = Submission {
        job: submit.job,
        files: submit.files,
        within: submit.within,
        idempotency_key,
        approval,
    };
    let by = caller.principal.actor();
    let submitted = site.ask(move |site| {
        let _place = place;
        let job = site.house.live.submit(submission, by)?;
        Ok((job.proposal.id, as_seen(site, job)))
    });
    let (id, job) = submitted.await?;
    trace(id);
    Ok((StatusCode::CREATED, Json(job)))
}

/// A job as it stands, with whom it waits for.
fn as_seen(site: &Site, job: Job) -> JobView {
    let live = site.house.live.as_ref();
    shown(site, job, &live.peers(), live.stuck().as_deref())
}

fn key(headers: &HeaderMap) -> Answer<String> {
    let mut keys = headers.get_all("idempotency-key").iter();
    let key = match (keys.next(), keys.next()) {
        (Some(key), None) => key.to_str().ok(),
        _ => None,
    };
    key.filter(|key| !key.is_empty() && key.len() <= 128)
        .map(str::to_owned)
        .ok_or_else(|| {
            Refusal::new(
                StatusCode::BAD_REQUEST,
                "no-key",
                "a submission needs one header Idempotency-Key of 1 to 128 plain characters",
                "send a new random one for each new job, and the same one when you try again",
            )
        })
}

/// Names of files in a job name texts that were sent with it, and lead to no file of this machine.
fn check_files(submit: &Submit) -> Answer<()> {
    let outside = |name: &String| {
        name.is_empty()
            || name.len() > 255
            || name.starts_with('/')
            || name.contains(|letter: char| letter == '\\' || letter.is_control())
            || name.split('/').any(|part| part == "..")
    };
    if submit.files.keys().any(outside) {
        return Err(Refusal::unfit(
            "bad-name",
            "a file of the job is named by a way out of its folder, or not by a plain name",
            "name files by paths below the job file's folder",
        ));
    }
    Ok(())
}

/// A job, what it would compute, and what it would reveal to whom.
#[utoipa::path(get, path = "/api/v1/jobs/{job}", tag = "jobs", security(("bearer" = [])), params(("job" = String, Path)), responses(
    (status = 200, body = JobDetail), (status = "4XX", body = Problem)))]
pub(super) async fn show(State(site): Shared, _: Reader, Named(id): Named) -> Answer<Json<JobDetail>> {
    let detail = site.ask(move |site| {
        let job = site.house.jobs.get(id)?;
        // Of an old job this may be gone.
        let explained = site.house.live.explain(id).ok().map(Explained::from);
        let me = usize::from(site.house.live.about().party);
        let is_undecided = job.decisions.get(me).is_some_and(Option::is_none);
        let weighed = match is_undecided && job.state.name() == StateName::Proposed {
            true => Some(site.house.live.weigh(id).unwrap_or_else(|error| Weighed {
                allowance: vec![Refusal::from(error).problem.message],
                ..Weighed::default()
            })),
            false => None,
        };
        Ok(JobDetail {
            job: as_seen(site, job),
            explained,
            weighed,
        })
    });
    Ok(Json(detail.await?))
}

/// Which part of a file.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Part {
    /// The file's name.
    name: String,
    /// The byte at which the part begins; 0 if not given, and then `next` of the part before.
    from: Option<u64>,
}

/// A part of a file of a job, 64 KiB at most.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/file", tag = "jobs", params(("job" = String, Path), Part), security(("bearer" = [])), responses(
    (status = 200, body = FilePart), (status = "4XX", body = Problem)))]
pub(super) async fn file(
    State(site): Shared,
    _: Reader,
    Named(id): Named,
    query: Result<Query<Part>, QueryRejection>,
) -> Answer<Json<FilePart>> {
    let Part { name, from } = asked(query)?;
    let explained = site.ask(move |site| site.house.live.explain(id)).await?;
    match explained.files.get(&name) {
        Some(text) => Ok(Json(FilePart::of(text, from.unwrap_or(0)))),
        None => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            "no-file",
            "the job has no file of this name",
            "look at the job to see which it has",
        )),
    }
}

/// What an approver has seen must be what would run.
fn check_seen(site: &Site, id: JobId, seen: &str) -> Answer<()> {
    let job = site.house.jobs.get(id)?;
    if seen.parse::<Digest>() == Ok(job.digest) {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::CONFLICT,
        "other-proposal",
        format!("the digest given is not that of the proposal of job {id}"),
        "look at the job again, and decide on what it says",
    ))
}

/// Takes part in a job, with this data. Names the digest of the proposal, so that nobody approves what they have not seen.
#[utoipa::path(post, path = "/api/v1/jobs/{job}/approve", tag = "jobs", security(("bearer" = [])), params(("job" = String, Path)),
    request_body = Approve, responses((status = 200, body = JobView), (status = "4XX", body = Problem)))]
pub(super) async fn approve(
    State(site): Shared,
    Approver(caller): Approver,
    Named(id): Named,
    Large(approve, place): Large<Approve>,
) -> Answer<Json<JobView>> {
    let by = caller.principal.actor();
    let done = site.block(move |site| {
        let _place = place;
        check_seen(site, id, &approve.proposal)?;
        let approval = gift::approval(Gift::from(approve))?;
        site.house.live.approve(id, approval, by).map_err(Refusal::from)
    });
    Ok(Json(done.await??.into()))
}

/// Does not take part in a job.
#[utoipa::path(post, path = "/api/v1/jobs/{job}/decline", tag = "jobs", security(("bearer" = [])), params(("job" = String, Path)),
    request_body = Decline, responses((status = 200, body = JobView), (status = "4XX", body = Problem)))]
pub(super) async fn decline(
    State(site): Shared,
    Approver(caller): Approver,
    Named(id): Named,
    Input(decline): Input<Decline>,
) -> Answer<Json<JobView>> {
    let by = caller.principal.actor();
    let done = site.block(move |site| -> Answer<Job> {
        check_seen(site, id, &decline.proposal)?;
        Ok(site.house.live.decline(id, decline.reason, by)?)
    });
    Ok(Json(done.await??.into()))
}

/// Refuses those who neither submitted the job nor may decide on it: what one takes, others no longer have.
fn check_theirs(site: &Site, id: JobId, who: &Principal) -> Answer<()> {
    let theirs = match site.house.jobs.submitter(id)? {
        Some(name) => name == who.name,
        None => who.scopes.contains(&Scope::Approve),
    };
    if theirs || who.scopes.contains(&Scope::Admin) {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::FORBIDDEN,
        "not-theirs",
        "somebody else submitted this job",
        "use the token that submitted it, or one that may admin; of a job that another party proposed, one that may approve",
    ))
}

/// Takes a job back.
#[utoipa::path(post, path = "/api/v1/jobs/{job}/cancel", tag = "jobs", security(("bearer" = [])), params(("job" = String, Path)), responses(
    (status = 200, body = JobView), (status = "4XX", body = Problem)))]
pub(super) async fn cancel(
    State(site): Shared,
    Proposer(caller): Proposer,
    Named(id): Named,
) -> Answer<Json<JobView>> {
    let done = site.block(move |site| -> Answer<Job> {
        check_theirs(site, id, &caller.principal)?;
        Ok(site.house.live.cancel(id, caller.principal.actor())?)
    });
    Ok(Json(done.await??.into()))
}

/// Gives out what this party learnt, once.
#[utoipa::path(post, path = "/api/v1/jobs/{job}/fetch", tag = "jobs", security(("bearer" = [])), params(("job" = String, Path)),
    request_body = Fetch, responses((status = 200, description = "The outputs", content_type = "application/json"), (status = "4XX", body = Problem)))]
pub(super) async fn fetch(
    State(site): Shared,
    Proposer(caller): Proposer,
    Named(id): Named,
    Input(fetch): Input<Fetch>,
) -> Answer<Response> {
    if fetch.key.is_empty() || fetch.key.len() > 128 {
        return Err(Refusal::unfit(
            "bad-key",
            "a key has 1 to 128 bytes",
            "send a random word of your own",
        ));
    }
    let format = fetch.format;
    let outputs = site.block(move |site| -> Answer<_> {
        check_theirs(site, id, &caller.principal)?;
        let (live, by) = (&site.house.live, caller.principal.actor());
        Ok(match format {
            ResultFormat::Json => live.fetch(id, &fetch.key, by)?,
            ResultFormat::Parquet => live.fetch_parquet(id, &fetch.key, by)?,
        })
    });
    let outputs = outputs.await??;
    // The bytes are wiped when they have been sent.
    let body = Body::from(Bytes::from_owner(outputs));
    let kind = match format {
        ResultFormat::Json => "application/json",
        ResultFormat::Parquet => "application/vnd.apache.parquet",
    };
    Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
}
