//! What every request passes: whether it may be meant for this service, how long it may take, what is logged of it, and the headers of its answer.
//!
//! The log has the route, never the path or the part after `?`, and no header or body.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::{Instrument, field};

use crate::house::{CALLER, Site};
use crate::problem::{Answer, Refusal};

/// Headers of every answer.
const ALWAYS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// Where a request comes from: the address, or of one of version 6 the network that one caller has to himself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct From(pub(crate) IpAddr);

pub(crate) async fn guard(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let method = request.method().to_string();
    let span = tracing::info_span!(
        target: "cenote_web",
        "request",
        method,
        route,
        caller = field::Empty,
        trace = field::Empty
    );
    let answer = async {
        if let Err(refusal) = check(&request, &site) {
            // Where it ends is in doubt, so nothing more is read from this connection.
            return Refusal {
                is_last: true,
                ..refusal
            }
            .into_response();
        }
        match tokio::time::timeout(
            site.limits.request,
            CALLER.scope(OnceLock::new(), next.run(request)),
        )
        .await
        {
            Ok(response) => response,
            Err(_) => Refusal::new(
                StatusCode::REQUEST_TIMEOUT,
                "too-slow",
                "the request took too long",
                "send it faster; if it was whole, look at the present state before trying again",
            )
            .into_response(),
        }
    };
    let mut response = answer.instrument(span.clone()).await;
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let status = response.status().as_u16();
    site.meter.answered(status);
    span.in_scope(|| {
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(target: "cenote_web", status, millis, "answered");
    });
    response
}

/// Refuses what two readers might take for different requests, what is meant for another name, and calls that a browser makes for another site.
fn check(request: &Request, site: &Site) -> Answer<()> {
    let headers = request.headers();
    if request.version() != Version::HTTP_11 {
        return Err(Refusal::bad("only version 1.1 of HTTP is spoken here"));
    }
    if request.uri().scheme().is_some() || request.uri().authority().is_some() {
        return Err(Refusal::bad("this service is no proxy"));
    }
    for name in [
        header::HOST,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::TRANSFER_ENCODING,
    ] {
        if headers.get_all(&name).iter().count() > 1 {
            return Err(Refusal::bad(format!("there are two headers {name}")));
        }
    }
    if headers.contains_key(header::TRANSFER_ENCODING) && headers.contains_key(header::CONTENT_LENGTH) {
        return Err(Refusal::bad("the length of the body is given in two ways"));
    }
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    if !site.names.knows(host) {
        return Err(Refusal::new(
            StatusCode::MISDIRECTED_REQUEST,
            "unknown-host",
            "this service does not answer to the name that it was called by",
            "call it by its address, or have its operator add the name",
        ));
    }
    if request.uri().path().starts_with("/api/") && is_for_another_site(headers) {
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "cross-site",
            "another site's page makes this call",
            "use the service's own page, or a program",
        ));
    }
    Ok(())
}

/// Whether a browser says that a page of another origin makes the call (Fetch Metadata).
fn is_for_another_site(headers: &HeaderMap) -> bool {
    headers
        .get_all("sec-fetch-site")
        .iter()
        .any(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"))
}

pub(crate) async fn no_such_path() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "no-such-path",
        "there is nothing at this address",
        "see /api/v1/openapi.json for what there is",
    )
}

pub(crate) async fn no_such_method() -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "no-such-method",
        "this address does not take this method",
        "see /api/v1/openapi.json for what it takes",
    )
}
