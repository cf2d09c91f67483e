//! Bodies of requests: JSON, no longer than they may be, and read only from callers who were let in.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::caller::CountedAs;
use crate::house::Site;
use crate::places::Place;
use crate::problem::{Answer, Refusal};

/// A short body.
pub(crate) struct Input<T>(pub(crate) T);

/// A body with files or values in it. One that is not short has a place, which is kept until the call is done with it.
pub(crate) struct Large<T>(pub(crate) T, pub(crate) Option<Place>);

impl<T: DeserializeOwned> FromRequest<Arc<Site>> for Input<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, site: &Arc<Site>) -> Answer<Self> {
        let limit = site.limits.body;
        read(request, limit).await.map(|(body, _)| Input(body))
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<Site>> for Large<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, site: &Arc<Site>) -> Answer<Self> {
        let token = request.extensions().get::<CountedAs>().map_or("", |name| &name.0);
        let place = site.large.take(token).ok_or_else(Refusal::busy)?;
        let (body, length) = read(request, site.limits.large_body).await?;
        Ok(Large(body, (length > site.limits.body).then_some(place)))
    }
}

/// What a body says, and its bytes.
async fn read<T: DeserializeOwned>(request: Request, limit: usize) -> Answer<(T, usize)> {
    let (parts, body) = request.into_parts();
    let kind = parts
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if !essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not-json",
            "the body is not said to be JSON",
            "send it with Content-Type: application/json",
        ));
    }
    let too_long = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-long",
            format!("the body is longer than {limit} bytes"),
            "send less, or put the data where the service finds it",
        )
    };
    let announced = parts
        .headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > limit as u64) {
        return Err(too_long());
    }
    let bytes: Bytes = axum::body::to_bytes(body, limit).await.map_err(|error| {
        if error.into_inner().is::<http_body_util::LengthLimitError>() {
            too_long()
        } else {
            Refusal::bad("the body ended early")
        }
    })?;
    let read = serde_json::from_slice(&bytes).map_err(|error| {
        let text = error.to_string();
        // Its other words may quote what was sent.
        let tells_no_value = ["missing field", "unknown field", "duplicate field"]
            .iter()
            .any(|beginning| text.starts_with(beginning));
        Refusal::bad(match error.classify() {
            serde_json::error::Category::Data if tells_no_value => format!("the body's JSON: {text}"),
            serde_json::error::Category::Data => format!(
                "the body's JSON is not of the form that this call takes (line {}, column {})",
                error.line(),
                error.column()
            ),
            _ => format!(
                "the body is not JSON (line {}, column {})",
                error.line(),
                error.column()
            ),
        })
    });
    Ok((read?, bytes.len()))
}
