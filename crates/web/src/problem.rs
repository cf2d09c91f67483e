//! Refusals as callers see them.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use cenote_api::Problem;
use cenote_api::view::Place;
use cenote_service::Error;
use cenote_service::job::JobId;

/// A [`Problem`] with its status.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) problem: Problem,
    /// Whether the connection ends with it.
    pub(crate) is_last: bool,
}

pub(crate) type Answer<T> = Result<T, Refusal>;

impl Refusal {
    pub(crate) fn new(
        status: StatusCode,
        code: &str,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Refusal {
            status,
            problem: Problem {
                code: code.into(),
                message: message.into(),
                advice: advice.into(),
                place: None,
            },
            is_last: false,
        }
    }

    /// What was asked cannot be done as it stands.
    pub(crate) fn unfit(code: &str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message, advice)
    }

    /// The same for a query that is wrong at this place.
    pub(crate) fn at(mut self, place: Option<Place>) -> Self {
        self.problem.place = place;
        self
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad-request",
            message,
            "see /api/v1/openapi.json for what this call takes",
        )
    }

    pub(crate) fn busy() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "the service has more calls to answer than it can",
            "try again in a few seconds",
        )
    }
}

impl Refusal {
    /// The token has as many connections as it may, or all tokens have.
    pub(crate) fn crowded() -> Self {
        Refusal {
            is_last: true,
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too-many-connections",
                "there are as many connections with this token, from this address or in all as there may be",
                "close connections that are not needed, or use them for more calls",
            )
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.problem)).into_response();
        let headers = response.headers_mut();
        if self.is_last {
            headers.insert("connection", axum::http::HeaderValue::from_static("close"));
        }
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert("www-authenticate", axum::http::HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert("retry-after", axum::http::HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match &error {
            Error::Busy { .. } | Error::Closed | Error::Crowded(_) => Refusal::busy(),
            Error::Recorded { job, cause } => recorded(*job, Refusal::from(cause.as_ref().clone())),
            Error::File { .. } => {
                tracing::warn!(target: "cenote_web", %error, "a file cannot be used");
                Refusal::unfit(
                    "bad-file",
                    "a file of this party's cannot be used",
                    "the service's log says which file, and why; see that the data is there and can be read",
                )
            }
            Error::Query { place, what } => Refusal::unfit(
                "bad-query",
                what.clone(),
                "change the query, or ask a table's owner to publish it (`cenote catalogue`)",
            )
            .at(*place),
            shown => match answer(shown) {
                Some((status, code, advice)) => Refusal::new(status, code, error.to_string(), advice),
                None => {
                    tracing::error!(target: "cenote_web", %error, "the service failed");
                    Refusal::new(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        "internal",
                        "the service could not do this",
                        "its log says why",
                    )
                }
            },
        }
    }
}

/// A job is on record, though what was to follow was refused so.
fn recorded(job: JobId, refusal: Refusal) -> Refusal {
    let Problem { code, message, .. } = refusal.problem;
    Refusal::new(
        refusal.status,
        &code,
        format!("job {job} is recorded, and what this party decides on it could not be: {message}"),
        "submit it again with the same idempotency key once that is mended: it makes no second job; or decide on the job by hand, or cancel it",
    )
}

/// Status, word and advice for an error whose own text callers may see.
fn answer(error: &Error) -> Option<(StatusCode, &'static str, &'static str)> {
    let look = "look at the job's present state";
    let seen = "find out about that too, and say then that you have seen it";
    Some(match error {
        Error::NoJob(_) => (
            StatusCode::NOT_FOUND,
            "no-job",
            "list the jobs to see which there are",
        ),
        Error::NoTransition { .. } => (StatusCode::CONFLICT, "wrong-state", look),
        Error::OtherProposal { .. } => (StatusCode::CONFLICT, "other-proposal", look),
        Error::SameName { .. } => (StatusCode::CONFLICT, "same-name", look),
        Error::OtherUnsettled(_) => (StatusCode::CONFLICT, "other-unsettled", seen),
        Error::OtherPutBack(_) => (StatusCode::CONFLICT, "other-put-back", seen),
        Error::OtherBody { .. } => (
            StatusCode::CONFLICT,
            "key-used",
            "use a new idempotency key for a new job",
        ),
        Error::Full { .. } => (
            StatusCode::INSUFFICIENT_STORAGE,
            "disk-full",
            "nothing was changed; try again once its operator has made room",
        ),
        Error::Proposal(_) | Error::Approval(_) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "refused",
            "change what the message names, and try again",
        ),
        Error::TooMany { .. } | Error::TooManyUnrun { .. } | Error::TooManyOfOne { .. } => (
            StatusCode::TOO_MANY_REQUESTS,
            "too-many-jobs",
            "wait for some jobs to end, or cancel some",
        ),
        Error::NotDone { state, .. } => (
            StatusCode::CONFLICT,
            "not-done",
            match state.is_open() {
                true => {
                    "wait until it is done (`cenote job watch`), and look at what it waits for (`cenote job show`)"
                }
                false => "see why it ended (`cenote job show`), and submit it anew",
            },
        ),
        Error::NoResult { .. } => (
            StatusCode::CONFLICT,
            "no-result",
            "a result is given out once; ask again with the same key only",
        ),
        Error::NoKept { .. } => (
            StatusCode::NOT_FOUND,
            "no-kept",
            "list the kept values to see which there are",
        ),
        Error::Token => (
            StatusCode::UNAUTHORIZED,
            "no-token",
            "send a valid token, or log in again",
        ),
        Error::Scope(_) => (
            StatusCode::FORBIDDEN,
            "no-scope",
            "ask who runs this service for a token that may do this",
        ),
        Error::TokenText(_) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad-token-text",
            "change the token's name or scopes",
        ),
        Error::Unknown(_) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "unknown-outcome",
            "look at the present state before trying again",
        ),
        _ => return of_call(error),
    })
}

/// The same of calls of a job that stands.
fn of_call(error: &Error) -> Option<(StatusCode, &'static str, &'static str)> {
    Some(match error {
        Error::Call(_) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad-call",
            "change what the message names, and try again",
        ),
        Error::OtherCall { .. } => (
            StatusCode::CONFLICT,
            "name-used",
            "give each call a name of its own, and the same name only to make the same call again",
        ),
        Error::CallFailed(_) => (
            StatusCode::CONFLICT,
            "call-failed",
            "see why, and make it again under another name",
        ),
        Error::Calls { .. } => (StatusCode::CONFLICT, "calls-used-up", "propose the job anew"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_said_to_be() {
        let full = Error::Full {
            place: "/srv/service".into(),
        };
        let alone = Refusal::from(full.clone());
        assert_eq!(alone.status, StatusCode::INSUFFICIENT_STORAGE);
        assert!(alone.problem.advice.contains("nothing was changed"));
        let job = JobId([7; 16]);
        let cause = Box::new(full);
        let Refusal { status, problem, .. } = Refusal::from(Error::Recorded { job, cause });
        assert_eq!((status, problem.code.as_str()), (alone.status, "disk-full"));
        assert!(problem.message.contains(&job.to_string()) && problem.message.contains("is recorded"));
        assert!(problem.advice.contains("the same idempotency key"));
        assert!(!problem.advice.contains("nothing was changed"));
    }

    /// What people here may not see of a failure is not seen of what caused it either.
    #[test]
    fn the_cause_tells_no_more_than_it_would_alone() {
        let cause = Box::new(Error::Database("a secret".into()));
        let job = JobId([7; 16]);
        let refusal = Refusal::from(Error::Recorded { job, cause });
        assert_eq!(refusal.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!refusal.problem.message.contains("secret"));
    }
}
