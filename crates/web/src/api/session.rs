//! Sessions of the page: begun with a login token, carried by a cookie that scripts cannot read and other sites cannot send.

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::{Extension, Json};
use cenote_api::Problem;
use cenote_api::view::{Login, Session};
use cenote_service::Timestamp;
use cenote_service::token::TokenKind;

use crate::body::Input;
use crate::caller::{Caller, is_own_origin};
use crate::guard::From;
use crate::house::{Shared, Site};
use crate::problem::{Answer, Refusal};

/// Seconds that a browser keeps the cookie: as long as a session lasts.
const KEPT: u32 = 12 * 3600;

fn cookie(site: &Site, value: &str, seconds: u32) -> [(HeaderName, String); 1] {
    let (name, secure) = (
        site.names.cookie(),
        if site.names.is_secure() { "; Secure" } else { "" },
    );
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    [(header::SET_COOKIE, text)]
}

/// Who calls.
#[utoipa::path(get, path = "/api/v1/session", tag = "session", security(("bearer" = [])), responses(
    (status = 200, body = Session), (status = "4XX", body = Problem)))]
pub(super) async fn show(caller: Caller) -> Json<Session> {
    Json(Session {
        name: caller.principal.name,
        scopes: caller.principal.scopes.into_iter().collect(),
        csrf: None,
    })
}

/// Begins a session with a login token, which is used up. For the service's own page; the session's secret is new, whatever cookie came with the call.
#[utoipa::path(post, path = "/api/v1/session", tag = "session", request_body = Login, responses(
    (status = 200, body = Session), (status = "4XX", body = Problem)))]
pub(super) async fn begin(
    State(site): Shared,
    Extension(From(address)): Extension<From>,
    headers: HeaderMap,
    Input(login): Input<Login>,
) -> Answer<([(HeaderName, String); 1], Json<Session>)> {
    if !is_own_origin(&headers, &site) {
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "cross-site",
            "a session begins on this service's own page",
            "open the page, or use a bearer token",
        ));
    }
    if !site.strangers.take(&address.to_string(), Instant::now()) {
        return Err(Refusal::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too-fast",
            "there were too many attempts to log in",
            "wait some seconds, and try again",
        ));
    }
    let (secret, principal) = site
        .enter(move |site| site.tokens.begin_session(&login.login, Timestamp::now()))
        .await?;
    let session = Session {
        name: principal.name,
        scopes: principal.scopes.into_iter().collect(),
        csrf: Some(site.page_secret(secret.reveal())),
    };
    Ok((cookie(&site, secret.reveal(), KEPT), Json(session)))
}

/// Ends the session.
#[utoipa::path(delete, path = "/api/v1/session", tag = "session", responses((status = 204), (status = "4XX", body = Problem)))]
pub(super) async fn end(
    State(site): Shared,
    caller: Caller,
) -> Answer<(StatusCode, [(HeaderName, String); 1])> {
    if caller.kind != TokenKind::Session {
        return Err(Refusal::unfit(
            "no-session",
            "a bearer token is no session",
            "an administrator can revoke it",
        ));
    }
    let gone = cookie(&site, "", 0);
    let who = caller.principal;
    site.ask(move |site| site.tokens.revoke(&who.id, who.actor(), Timestamp::now()))
        .await?;
    Ok((StatusCode::NO_CONTENT, gone))
}
