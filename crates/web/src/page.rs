//! The page: files that are part of the program, served as they are.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::routing::get;

use crate::house::Site;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! files {
    ($($path:literal, $kind:ident, $file:literal;)*) => {
        &[$(($path, $kind, include_str!(concat!("page/assets/", $file)))),*]
    };
}

const FILES: &[(&str, &str, &str)] = files! {
    "/", HTML, "index.html";
    "/page/style.css", CSS, "style.css";
    "/page/icon.svg", SVG, "icon.svg";
    "/page/main.js", JS, "main.js";
    "/page/answer.js", JS, "answer.js";
    "/page/api.js", JS, "api.js";
    "/page/ask.js", JS, "ask.js";
    "/page/audit.js", JS, "audit.js";
    "/page/call.js", JS, "call.js";
    "/page/catalogue.js", JS, "catalogue.js";
    "/page/chart.js", JS, "chart.js";
    "/page/completion.js", JS, "completion.js";
    "/page/dom.js", JS, "dom.js";
    "/page/earlier.js", JS, "earlier.js";
    "/page/editor.js", JS, "editor.js";
    "/page/following.js", JS, "following.js";
    "/page/format.js", JS, "format.js";
    "/page/job.js", JS, "job.js";
    "/page/jobs.js", JS, "jobs.js";
    "/page/kept.js", JS, "kept.js";
    "/page/overview.js", JS, "overview.js";
    "/page/planned.js", JS, "planned.js";
    "/page/propose.js", JS, "propose.js";
    "/page/query.js", JS, "query.js";
    "/page/result.js", JS, "result.js";
    "/page/tables.js", JS, "tables.js";
    "/page/tokens.js", JS, "tokens.js";
    "/page/visible.js", JS, "visible.js";
};

pub(crate) fn router() -> Router<Arc<Site>> {
    FILES.iter().fold(Router::new(), |router, (path, kind, text)| {
        router.route(
            path,
            get(move || async move { ([(header::CONTENT_TYPE, *kind)], *text) }),
        )
    })
}
