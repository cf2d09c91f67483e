//! Who makes a call: by a bearer token, or by the cookie of a session.
//!
//! Browsers send cookies unasked, and to every port of a machine, whoever listens there. So a call by cookie also carries a secret in a header,
//! which the page was given when its session began and no cookie tells; and what changes something must come from the page's origin.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use cenote_service::token::{Principal, Scope, TokenKind};
use cenote_service::{Error, Timestamp};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::connections::Seat;
use crate::house::{CALLER, Site};
use crate::problem::{Answer, Refusal};
use crate::turns::Who;

/// The header that calls by cookie need.
pub(crate) const CSRF: &str = "x-csrf-token";

/// Who makes a call.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    /// With which kind of token.
    pub(crate) kind: TokenKind,
    /// The token itself, to see later whether it is still valid.
    pub(crate) token: Zeroizing<String>,
}

/// The public name under which a call is counted, for what comes after the caller is known.
#[derive(Debug, Clone)]
pub(crate) struct CountedAs(pub(crate) String);

impl FromRequestParts<Arc<Site>> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Answer<Self> {
        let (kind, text) = match bearer(&parts.headers)? {
            Some(text) => (TokenKind::Bearer, text),
            None => (TokenKind::Session, cookie(&parts.headers, site.names.cookie())?),
        };
        let token = text.clone();
        let principal = site
            .enter(move |site| site.tokens.authenticate(kind, &token, Timestamp::now()))
            .await
            .inspect_err(|refusal| {
                let seat = parts.extensions.get::<Arc<Seat>>();
                if let (StatusCode::UNAUTHORIZED, Some(seat)) = (refusal.status, seat) {
                    seat.forget();
                }
            })?;
        tracing::Span::current().record("caller", &principal.id);
        if kind == TokenKind::Session {
            check_page(parts, site, &text)?;
        }
        if !site.rates.take(principal.counted_as(), Instant::now()) {
            return Err(Refusal::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-fast",
                "this token makes more requests than it may",
                "wait a second, and make fewer requests",
            ));
        }
        let name = principal.counted_as().to_owned();
        // A connection that its token may not have is closed after the answer.
        let seat = parts.extensions.get::<Arc<Seat>>();
        if seat.is_some_and(|seat| !seat.show(&name)) {
            return Err(Refusal::crowded());
        }
        let is_admin = principal.scopes.contains(&Scope::Admin);
        let who = Who::Token {
            name: name.clone(),
            is_admin,
        };
        // It stays what it was set to first.
        let _ = CALLER.try_with(|caller| caller.set(who));
        parts.extensions.insert(CountedAs(name));
        Ok(Caller {
            principal,
            kind,
            token: text,
        })
    }
}

/// The bearer token of a call, if it has one. Two are one too many: which of them another reader would take is anybody's guess.
fn bearer(headers: &HeaderMap) -> Answer<Option<Zeroizing<String>>> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Refusal::bad("there are two Authorization headers"));
    }
    value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, text)| Some(Zeroizing::new(text.to_owned())))
        .ok_or_else(|| Error::Token.into())
}

fn cookie(headers: &HeaderMap, name: &str) -> Answer<Zeroizing<String>> {
    let mut values = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| Zeroizing::new(value.to_owned()));
    // Two cookies of one name: another site of this machine may have set one of them.
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        _ => Err(Error::Token.into()),
    }
}

/// Refuses what does not come from this service's own page.
fn check_page(parts: &Parts, site: &Site, session: &str) -> Answer<()> {
    let refuse = |what: &str| {
        Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "cross-site",
            what,
            "use the service's own page, or a bearer token",
        ))
    };
    let reads = matches!(parts.method, Method::GET | Method::HEAD);
    if !reads && !is_own_origin(&parts.headers, site) {
        return refuse("the call does not come from this service's page");
    }
    let sent = parts.headers.get(CSRF).map_or(&b""[..], |value| value.as_bytes());
    if !bool::from(sent.ct_eq(site.page_secret(session).as_bytes())) {
        return refuse("the call lacks the secret of this session's page");
    }
    Ok(())
}

/// Whether there is one origin, and it is that of this service's page.
pub(crate) fn is_own_origin(headers: &HeaderMap, site: &Site) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else {
        return false;
    };
    let text = |value: &axum::http::HeaderValue| value.to_str().ok().map(str::to_owned);
    match (text(origin), headers.get(header::HOST).and_then(text)) {
        (Some(origin), Some(host)) => site.names.is_origin(&origin, &host),
        _ => false,
    }
}

macro_rules! callers {
    ($($(#[$doc:meta])* $name:ident: $scope:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name(pub(crate) Caller);

        impl FromRequestParts<Arc<Site>> for $name {
            type Rejection = Refusal;

            async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Answer<Self> {
                let caller = Caller::from_request_parts(parts, site).await?;
                caller.principal.needs(Scope::$scope)?;
                Ok($name(caller))
            }
        }
    )*};
}

callers! {
    /// One who may see jobs, peers and stock.
    Reader: Read;
    /// One who may propose jobs and fetch results.
    Proposer: Propose;
    /// One who may approve and decline, and drop kept values.
    Approver: Approve;
    /// One who may do what remains.
    Admin: Admin;
}
