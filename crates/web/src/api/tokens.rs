//! Tokens: who is let in.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use cenote_api::Problem;
use cenote_api::view::{LoginMade, NewToken, TokenMade, TokenView};
use cenote_service::Timestamp;
use cenote_service::token::TokenKind;

use crate::body::Input;
use crate::caller::{Admin, Caller};
use crate::house::Shared;
use crate::problem::{Answer, Refusal};

/// All tokens and sessions, the oldest first.
#[utoipa::path(get, path = "/api/v1/tokens", tag = "tokens", security(("bearer" = [])), responses(
    (status = 200, body = Vec<TokenView>), (status = "4XX", body = Problem)))]
pub(super) async fn list(State(site): Shared, _: Admin) -> Answer<Json<Vec<TokenView>>> {
    Ok(Json(site.ask(|site| site.tokens.list()).await?))
}

/// Makes a bearer token, which is shown this once.
#[utoipa::path(post, path = "/api/v1/tokens", tag = "tokens", security(("bearer" = [])), request_body = NewToken, responses(
    (status = 201, body = TokenMade), (status = "4XX", body = Problem)))]
pub(super) async fn create(
    State(site): Shared,
    Admin(caller): Admin,
    Input(new): Input<NewToken>,
) -> Answer<(StatusCode, Json<TokenMade>)> {
    let secret = site.ask(move |site| {
        let now = Timestamp::now();
        let end = |days: u32| now.after(Duration::from_secs(u64::from(days) * 24 * 3600));
        let scopes = new.scopes.into_iter().collect();
        let by = caller.principal.actor();
        site.tokens.create(&new.name, &scopes, new.days.map(end), by, now)
    });
    let token = secret.await?.reveal().to_owned();
    Ok((StatusCode::CREATED, Json(TokenMade { token })))
}

/// Revokes a token, or ends a session.
#[utoipa::path(delete, path = "/api/v1/tokens/{token}", tag = "tokens", security(("bearer" = [])), params(("token" = String, Path, description = "Its public name")),
    responses((status = 204), (status = "4XX", body = Problem)))]
pub(super) async fn revoke(
    State(site): Shared,
    Admin(caller): Admin,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    let by = caller.principal.actor();
    let revoked = site.ask(move |site| {
        let revoked = site.tokens.revoke(&id, by, Timestamp::now())?;
        site.connections.forget(&id);
        Ok(revoked)
    });
    if revoked.await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Refusal::new(
            StatusCode::NOT_FOUND,
            "no-token-of-this-name",
            "there is no valid token of this name",
            "list the tokens to see which there are",
        ))
    }
}

/// Makes what begins a session of the page, with what the caller's own bearer token may do.
#[utoipa::path(post, path = "/api/v1/logins", tag = "tokens", security(("bearer" = [])), responses(
    (status = 201, body = LoginMade), (status = "4XX", body = Problem)))]
pub(super) async fn login(State(site): Shared, caller: Caller) -> Answer<(StatusCode, Json<LoginMade>)> {
    if caller.kind != TokenKind::Bearer {
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "bearer-only",
            "a session cannot begin another one",
            "use a bearer token",
        ));
    }
    let secret = site.ask(move |site| site.tokens.create_login_of(&caller.principal, Timestamp::now()));
    let login = secret.await?.reveal().to_owned();
    Ok((StatusCode::CREATED, Json(LoginMade { login })))
}
