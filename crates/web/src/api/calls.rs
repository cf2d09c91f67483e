//! Calls of jobs that stand.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use cenote_api::Problem;
use cenote_api::view::{Calls, NewCall, NewCalls};
use cenote_service::live::Call;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use zeroize::Zeroizing;

use super::jobs::Named;
use crate::body::Large;
use crate::caller::Proposer;
use crate::house::Shared;
use crate::problem::{Answer, Refusal};

/// Calls of one request, at most.
const MOST: usize = 1000;
/// Seconds that a request waits for outcomes, unless it says otherwise and at most.
const WAIT: u64 = 30;
const LONGEST: u64 = 50;

type Outcome = cenote_service::Result<Zeroizing<Vec<u8>>>;

/// Makes calls of a job that stands, and waits for their outcomes. A call that was made before under this name, with the same inputs and the same token, is not made again: this gives its outcome.
#[utoipa::path(post, path = "/api/v1/programs/{job}/calls", tag = "jobs", security(("bearer" = [])), params(("job" = String, Path)),
    request_body = NewCalls, responses((status = 200, body = Calls), (status = "4XX", body = Problem)))]
pub(super) async fn make(
    State(site): Shared,
    Proposer(caller): Proposer,
    Named(id): Named,
    Large(made, place): Large<NewCalls>,
) -> Answer<Response> {
    let NewCalls { calls, wait } = made;
    if calls.is_empty() || calls.len() > MOST {
        return Err(Refusal::unfit(
            "bad-calls",
            format!("a request makes 1 to {MOST} calls"),
            "make them in several requests",
        ));
    }
    let until = Instant::now() + Duration::from_secs(wait.unwrap_or(WAIT).min(LONGEST));
    let by = caller.principal.actor();
    let names: Vec<String> = calls.iter().map(|call| call.name.clone()).collect();
    let begun = site.block(move |site| {
        let _place = place;
        let make = |call: NewCall| {
            let (sender, outcome) = oneshot::channel::<Outcome>();
            let reply = Box::new(move |ended| drop(sender.send(ended)));
            let made = site.house.live.call(id, owned(call), by.clone(), reply);
            made.map(|()| outcome)
        };
        calls.into_iter().map(make).collect::<Vec<_>>()
    });
    let mut text = Zeroizing::new(b"{\"calls\":[".to_vec());
    for (place, (name, outcome)) in names.iter().zip(begun.await?).enumerate() {
        let ended = match outcome {
            Err(error) => Err(Refusal::from(error)),
            Ok(outcome) => match timeout_at(until, outcome).await {
                Ok(Ok(ended)) => ended.map_err(Refusal::from),
                Ok(Err(_)) => Err(Refusal::busy()),
                Err(_) => Err(waits()),
            },
        };
        if place > 0 {
            text.push(b',');
        }
        write(&mut text, name, ended.as_ref())?;
    }
    text.extend_from_slice(b"]}");
    // The bytes are wiped when they have been sent.
    let body = Body::from(Bytes::from_owner(text));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// The call with values that are wiped.
fn owned(call: NewCall) -> Call {
    let inputs = call.inputs.into_iter();
    Call {
        name: call.name,
        inputs: inputs
            .map(|(name, text)| (name, Zeroizing::new(text)))
            .collect::<BTreeMap<_, _>>(),
    }
}

/// The outcome is not there yet.
fn waits() -> Refusal {
    Refusal::new(
        StatusCode::GATEWAY_TIMEOUT,
        "call-waits",
        "the call waits: for another caller to make it, or for all parties to be connected",
        "see what the job waits for (`cenote job show`), and make the same call again to hear how it ended",
    )
}

/// One of the calls in the answer.
fn write(text: &mut Vec<u8>, name: &str, ended: Result<&Zeroizing<Vec<u8>>, &Refusal>) -> Answer<()> {
    let json = |value: serde_json::Result<Vec<u8>>| {
        value.map_err(|error| Refusal::from(cenote_service::Error::Database(error.to_string())))
    };
    text.extend_from_slice(b"{\"name\":");
    text.extend_from_slice(&json(serde_json::to_vec(name))?);
    match ended {
        Ok(answer) => {
            text.extend_from_slice(b",\"answer\":");
            text.extend_from_slice(answer);
        }
        Err(refusal) => {
            text.extend_from_slice(b",\"problem\":");
            text.extend_from_slice(&json(serde_json::to_vec(&refusal.problem))?);
        }
    }
    text.push(b'}');
    Ok(())
}
