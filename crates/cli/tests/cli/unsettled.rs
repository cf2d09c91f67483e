//! `cenote peer`, over the interface of a service that the test makes up.

use cenote_service::Timestamp;
use cenote_service::audit::Event;
use cenote_service::job::{JobId, Tried};

use crate::services::{Place, well};

#[test]
fn a_person_settles_by_a_command_what_it_has_seen() {
    let place = Place::new();
    let jobs = &place.world.fake.jobs;
    let catch = |run: u8| {
        let event = Event::CheckFailed {
            job: None,
            peer: Some(1),
            check: "MACs".into(),
        };
        let tried = Tried::Stock(JobId::of(0, [run; 15]));
        jobs.hold_against(tried, 3, Some(1), event, Timestamp::now())
            .expect("noted");
    };
    let settle = |seen: &[&str]| place.run(&[&["peer", "settle", "1"], seen].concat());
    settle(&[]).failed(2, &["nothing is on record against this party"]);
    catch(1);
    catch(2);
    settle(&["--times", "1", "--grave"]).failed(2, &["times: 2, grave: true", "nothing was settled"]);
    settle(&["--times", "2"]).failed(2, &["grave: true"]);
    settle(&["--grave"]).failed(2, &["--times"]);
    let settled = settle(&["--times", "2", "--grave"]);
    assert!(
        well(&settled).contains("had broken off 2 times, and a check had failed"),
        "{}",
        settled.stdout
    );
    assert_eq!(jobs.unsettled().expect("read"), []);
    // Without the number it shows what is there, and settles that.
    catch(3);
    let settled = settle(&[]);
    assert!(well(&settled).contains("1 times"), "{}", settled.stdout);
    assert_eq!(jobs.unsettled().expect("read"), []);
}

#[test]
fn a_person_acknowledges_by_a_command_that_a_party_was_put_back() {
    let place = Place::new();
    let heads = &place.world.fake.heads;
    let acknowledge = |seen: &[&str]| place.run(&[&["peer", "acknowledge", "0"], seen].concat());
    acknowledge(&[]).failed(2, &["put back to an earlier state"]);
    let told = heads.tell(1);
    heads.note_put_back(0, 1, told, Timestamp::now()).expect("noted");
    let lines = told.number.to_string();
    acknowledge(&["--lines", "999"]).failed(2, &[&format!("had {lines} lines"), "nothing was acknowledged"]);
    let done = acknowledge(&["--lines", &lines]);
    assert!(well(&done).contains("jobs begin again"), "{}", done.stdout);
    assert_eq!(heads.put_back().expect("read"), []);
    // Without the number it acknowledges what is there.
    heads.note_put_back(0, 1, told, Timestamp::now()).expect("noted");
    let done = acknowledge(&[]);
    assert!(well(&done).contains(&format!("{lines} lines")), "{}", done.stdout);
}
