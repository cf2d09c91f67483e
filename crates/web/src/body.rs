//! Bodies of requests: JSON, no longer than they may be, and read only from callers who were let in.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use http_body_util::BodyExt;
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
        let (body, _) = read(request, site.limits.body, usize::MAX, || Ok(())).await?;
        Ok(Input(body))
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<Site>> for Large<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, site: &Arc<Site>) -> Answer<Self> {
        let token = request.extensions().get::<CountedAs>().map(|name| name.0.clone());
        let token = token.unwrap_or_default();
        let place = || site.large.take(&token).ok_or_else(Refusal::busy);
        let (body, place) = read(request, site.limits.large_body, site.limits.body, place).await?;
        Ok(Large(body, place))
    }
}

/// What a body says. One that is announced or turns out to be longer than `short` needs what `place` gives.
async fn read<T: DeserializeOwned, P>(
    request: Request,
    limit: usize,
    short: usize,
    place: impl Fn() -> Answer<P>,
) -> Answer<(T, Option<P>)> {
    let (parts, mut body) = request.into_parts();
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
    let announced: u64 = parts
        .headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .unwrap_or(0);
    if announced > limit as u64 {
        return Err(too_long());
    }
    let mut held = (announced > short as u64).then(&place).transpose()?;
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::bad("the body ended early"))?;
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit - bytes.len() {
            return Err(too_long());
        }
        if held.is_none() && bytes.len() + data.len() > short {
            held = Some(place()?);
        }
        bytes.extend_from_slice(&data);
    }
    let read = serde_json::from_slice(&bytes).map_err(|error| not_as_expected(&error))?;
    Ok((read, held))
}

/// What is wrong with a body's JSON, without quoting it.
fn not_as_expected(error: &serde_json::Error) -> Refusal {
    let text = error.to_string();
    // Its other words may quote what was sent.
    let tells_no_value = ["missing field", "unknown field", "duplicate field"]
        .iter()
        .any(|beginning| text.starts_with(beginning));
    let (line, column) = (error.line(), error.column());
    Refusal::bad(match error.classify() {
        serde_json::error::Category::Data if tells_no_value => format!("the body's JSON: {text}"),
        serde_json::error::Category::Data => {
            format!("the body's JSON is not of the form that this call takes (line {line}, column {column})")
        }
        _ => format!("the body is not JSON (line {line}, column {column})"),
    })
}
