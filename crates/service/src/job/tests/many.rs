//! A service that has done many jobs.

use super::*;
use crate::{Address, Work};

suite![a_hundred_thousand_finished_jobs_cost_nothing,];

const FINISHED: u64 = 100_000;

/// One job that is done, written so many times, each under a name and number of its own.
const COPIES: &str = "WITH RECURSIVE copy (n) AS (SELECT CAST(2 AS BIGINT) UNION ALL SELECT n + 1 FROM copy WHERE n < $1)
    INSERT INTO job (number, id, proposal, digest, proposer, idempotency, body, deadline, state, open, decisions, binding, created_at, changed_at)
    SELECT n, CAST(n AS TEXT), proposal, digest, proposer, CAST(n AS TEXT), body, deadline, state, 0, decisions, binding, created_at, changed_at
    FROM copy CROSS JOIN job";

/// What `call` costs.
fn cost<T>(world: &World, call: impl FnOnce(&Jobs) -> T) -> (T, Work) {
    let jobs = jobs(world);
    let before = world.database().work();
    let outcome = call(&jobs);
    let after = world.database().work();
    let work = Work {
        statements: after.statements - before.statements,
        rows: after.rows - before.rows,
        steps: after.steps - before.steps,
    };
    (outcome, work)
}

fn a_hundred_thousand_finished_jobs_cost_nothing(mut world: World) {
    let first = run(&jobs(&world), 1);
    jobs(&world).finish(first, Gains::default(), at(6)).expect("done");
    let count = crate::database::Value::from(FINISHED as i64);
    let copied = world
        .database()
        .write(move |transaction| transaction.run(COPIES, &[count]))
        .expect("copied");
    assert_eq!(copied, FINISHED - 1);
    for number in 2..=11 {
        propose(&jobs(&world), number);
    }
    if matches!(world.address, Address::Postgres(_)) {
        world
            .database()
            .write(|transaction| transaction.run("ANALYZE job", &[]))
            .expect("analysed");
    }

    // Opening and restarting, ready to work: a few statements, and the unfinished jobs.
    let database = world.reopen();
    let opening = database.work();
    drop(database);
    assert!(
        opening.statements < 40 && opening.rows < 40 && opening.steps < 20_000,
        "{opening:?}"
    );
    let ((_, open), restart) = cost(&world, |jobs| jobs.restart(|_| false, at(10)).expect("restarted"));
    assert_eq!(open.len(), 10);
    assert!(
        restart.statements < 20 && restart.rows == 10 && restart.steps < 2_000,
        "{restart:?}"
    );

    pages_cost_the_same(&world);

    // What the service does all the time.
    let (_, work) = cost(&world, |jobs| {
        propose(jobs, 12);
        jobs.expire(at(20), |_| None).expect("looked");
        jobs.expire_results(at(20)).expect("looked");
        assert_eq!(jobs.prune(at(20)).expect("looked"), 0);
    });
    assert!(
        work.statements < 60 && work.rows < 40 && work.steps < 5_000,
        "{work:?}"
    );

    pages_reach_every_job(&world);
}

/// Pages, wherever they are, and whatever the state.
fn pages_cost_the_same(world: &World) {
    for (state, before) in [
        (None, None),
        (None, Some(FINISHED / 2)),
        (Some(StateName::Done), None),
        (Some(StateName::Done), Some(50)),
        (Some(StateName::Failed), None),
    ] {
        let request = PageRequest {
            state,
            before,
            limit: 20,
        };
        let (page, work) = cost(world, |jobs| jobs.list(request).expect("listed"));
        assert_eq!(
            page.jobs.len(),
            if state == Some(StateName::Failed) { 0 } else { 20 }
        );
        assert!(
            work.statements < 5 && work.rows <= 21 && work.steps < 2_000,
            "{request:?}: {work:?}"
        );
    }
}

/// Each once, in order.
fn pages_reach_every_job(world: &World) {
    let mut seen = Vec::new();
    let mut before = Some(900);
    while before.is_some() {
        let request = PageRequest {
            state: Some(StateName::Done),
            before,
            limit: 100,
        };
        let page = jobs(world).list(request).expect("listed");
        seen.extend(page.jobs.iter().map(|job| job.number));
        before = page.next;
    }
    assert_eq!(seen, (1..900).rev().collect::<Vec<u64>>());
}
