//! Submissions of which not all can be recorded.

use cenote_service::Error;
use cenote_service::job::State;
use cenote_service::live::{Live, Submission};

use super::world::{NONE, World, person, with_data};

#[test]
fn a_job_whose_approval_cannot_be_recorded_is_on_record_and_goes_on() {
    let world = World::new(3, NONE);
    let known = world.submit(0, "known").proposal.id;
    let approval = with_data(&[(&world.input(known, 0), "x")]);
    let submission = Submission {
        approval: Some(approval),
        ..world.submission("add8", "full in between")
    };
    // As when the disk fills up: jobs can be added, and not changed.
    let file = world.path(0).join("service/service.db");
    let record = rusqlite::Connection::open(file).expect("opens");
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON job BEGIN SELECT RAISE(ABORT, 'full'); END";
    record.execute_batch(refuse).expect("made");
    let node = world.node(0);
    let id = match node.submit(submission.clone(), person()) {
        Err(Error::Recorded { job, cause }) => {
            assert!(matches!(*cause, Error::Database(_)), "{cause}");
            job
        }
        other => panic!("{other:?}"),
    };
    let job = world.job(0, id);
    assert!(job.state == State::Proposed && job.decisions[0].is_none());
    // The same again before it is mended: the same job, and as true.
    match node.submit(submission.clone(), person()) {
        Err(Error::Recorded { job, .. }) => assert_eq!(job, id),
        other => panic!("{other:?}"),
    }
    record.execute_batch("DROP TRIGGER refuse").expect("dropped");
    let job = node.submit(submission, person()).expect("submitted");
    assert_eq!(job.proposal.id, id);
    assert!(job.decisions[0].is_some());
}
