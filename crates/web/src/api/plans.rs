//! What jobs would take and reveal, as they are written.

use axum::Json;
use axum::extract::State;
use cenote_api::Problem;
use cenote_api::view::{Plan, PlanAsked, PlanFault};
use cenote_service::Error;

use crate::body::Input;
use crate::caller::Proposer;
use crate::house::{Shared, Site};
use crate::problem::{Answer, Refusal};

/// What a job would take and reveal, and why it cannot be proposed, if it cannot. Nothing is proposed, and nobody is told. A token has one plan made at a
/// time: one that waits is refused (`overtaken`) when the token asks for another.
#[utoipa::path(post, path = "/api/v1/plan", tag = "jobs", security(("bearer" = [])), request_body = PlanAsked, responses(
    (status = 200, body = Plan), (status = "4XX", body = Problem)))]
pub(super) async fn plan(
    State(site): Shared,
    Proposer(caller): Proposer,
    Input(asked): Input<PlanAsked>,
) -> Answer<Json<Plan>> {
    let turn = site.plans.take(caller.principal.counted_as()).await?;
    let planned = site.block(move |site| {
        // Held until the plan is made, even where nobody waits for it any more.
        let _turn = turn;
        planned(site, asked)
    });
    Ok(Json(planned.await??))
}

fn planned(site: &Site, asked: PlanAsked) -> Answer<Plan> {
    let mut plan = Plan {
        job: None,
        data: Default::default(),
        planned: None,
        fault: None,
    };
    let job = match (asked.job, asked.compose) {
        (Some(job), None) => job,
        (None, Some(compose)) => match site.house.live.compose(compose) {
            Ok(composed) => {
                plan.data = composed.data;
                composed.job
            }
            Err(Error::Query { place, what }) => {
                plan.fault = Some(PlanFault {
                    message: what,
                    at: place,
                });
                return Ok(plan);
            }
            Err(error) => return Err(error.into()),
        },
        _ => {
            return Err(Refusal::unfit(
                "bad-plan",
                "a plan is made of a job or of a query, and of one of the two",
                "send `job` or `compose`",
            ));
        }
    };
    match site.house.live.plan(&job) {
        Ok(planned) => plan.planned = Some(planned),
        Err(fault) => plan.fault = Some(fault),
    }
    plan.job = Some(job);
    Ok(plan)
}
