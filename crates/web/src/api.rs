//! The calls under `/api/v1`, and the document that describes them, which is made from the same list.

mod audit;
mod calls;
mod catalogue;
mod events;
mod fleet;
mod health;
mod jobs;
mod kept;
mod plans;
mod session;
mod tokens;

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{InfoBuilder, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::house::Site;

/// Where the document is.
pub(crate) const DOCUMENT: &str = "/api/v1/openapi.json";

fn all() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::new()
        .routes(routes!(jobs::list, jobs::submit))
        .routes(routes!(jobs::show))
        .routes(routes!(jobs::file))
        .routes(routes!(jobs::approve))
        .routes(routes!(jobs::decline))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::fetch))
        .routes(routes!(plans::plan))
        .routes(routes!(calls::make))
        .routes(routes!(kept::list))
        .routes(routes!(kept::drop_value))
        .routes(routes!(events::of_job))
        .routes(routes!(events::all))
        .routes(routes!(fleet::about))
        .routes(routes!(fleet::data))
        .routes(routes!(fleet::peers))
        .routes(routes!(fleet::unsettled, fleet::settle))
        .routes(routes!(fleet::put_back, fleet::acknowledge))
        .routes(routes!(catalogue::show))
        .routes(routes!(catalogue::compose))
        .routes(routes!(fleet::stock))
        .routes(routes!(fleet::running))
        .routes(routes!(fleet::alarms))
        .routes(routes!(fleet::history))
        .routes(routes!(audit::tail))
        .routes(routes!(audit::verify))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(tokens::login))
        .routes(routes!(session::show, session::begin, session::end))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
}

/// The description of all calls, as OpenAPI 3.1 has it.
#[must_use]
pub fn document() -> OpenApi {
    let mut document = all().into_openapi();
    document.info = InfoBuilder::new()
        .title("Cenote: the service of a party")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Calls carry a bearer token, or the cookie of a session and the header X-CSRF-Token. \
             Every refusal is a Problem. Times are milliseconds since the beginning of 1970, UTC.",
        ))
        .build();
    document
        .components
        .get_or_insert_default()
        .add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    document
}

/// All calls, and the document.
pub(crate) fn router() -> Router<Arc<Site>> {
    let text: Arc<str> = document().to_json().unwrap_or_default().into();
    let serve = move || {
        let text = text.to_string();
        async move { ([(header::CONTENT_TYPE, "application/json")], text).into_response() }
    };
    Router::from(all()).route(DOCUMENT, get(serve))
}
