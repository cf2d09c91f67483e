//! Results: once, and not for ever.

use super::*;
use crate::seal::Sealed;

suite![a_result_is_fetched_once, results_expire,];

fn done(jobs: &Jobs, number: u8) -> JobId {
    let id = run(jobs, number);
    let gains = Gains {
        outputs: Some(Sealed::from_bytes(vec![number; 9])),
        ..Gains::default()
    };
    jobs.finish(id, gains, at(10)).expect("done");
    id
}

fn a_result_is_fetched_once(mut world: World) {
    let before = jobs(&world);
    let id = done(&before, 1);
    drop(before);
    world.reopen();
    let jobs = jobs(&world);
    let first = jobs.fetch(id, "my key", person(), at(20)).expect("fetched");
    assert_eq!(first.sealed.as_bytes(), [1; 9]);
    assert_eq!((first.again, first.until), (false, at(620)));
    // Whose connection broke.
    let again = jobs.fetch(id, "my key", person(), at(619)).expect("fetched");
    assert_eq!(
        (again.sealed.as_bytes(), again.again, again.until),
        (&[1; 9][..], true, at(620))
    );
    for (key, time) in [("another key", 21), ("my key", 620)] {
        let error = jobs.fetch(id, key, person(), at(time)).expect_err("gone");
        assert!(
            matches!(error, Error::NoResult { job, .. } if job == id),
            "{error}"
        );
    }
    let fetched = events(&world).iter().filter(|event| *event == "fetched").count();
    assert_eq!(fetched, 1);
    // Jobs without a result of this party, and jobs that are not done.
    let none = run(&jobs, 2);
    let nothing = || jobs.fetch(none, "key", person(), at(20)).expect_err("nothing");
    let state = StateName::Running;
    assert!(matches!(nothing(), Error::NotDone { job, state: is } if (job, is) == (none, state)));
    jobs.finish(none, Gains::default(), at(11)).expect("done");
    assert!(matches!(nothing(), Error::NoResult { .. }));
    assert!(matches!(
        jobs.fetch(named(7), "key", person(), at(20)),
        Err(Error::NoJob(_))
    ));
}

fn results_expire(world: World) {
    let jobs = jobs(&world);
    let (fetched, forgotten) = (done(&jobs, 1), done(&jobs, 2));
    jobs.fetch(fetched, "key", person(), at(20)).expect("fetched");
    assert_eq!(jobs.expire_results(at(619)).expect("looked"), 0);
    assert_eq!(jobs.expire_results(at(620)).expect("looked"), 1);
    let week = 7 * 24 * 3600;
    assert_eq!(jobs.expire_results(at(9 + week)).expect("looked"), 0);
    // It is over by its time, whether or not it was deleted.
    let error = jobs
        .fetch(forgotten, "key", person(), at(10 + week))
        .expect_err("expired");
    assert!(matches!(error, Error::NoResult { .. }), "{error}");
    assert_eq!(jobs.expire_results(at(10 + week)).expect("looked"), 1);
    assert_eq!(jobs.expire_results(at(20 + week)).expect("looked"), 0);
    assert_eq!(jobs.get(forgotten).expect("there").state, State::Done);
}
