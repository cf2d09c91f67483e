//! A party whose folder was put back, as callers see and acknowledge it.

use cenote_service::Timestamp;
use cenote_service::token::Scope;
use serde_json::json;

use crate::client::Client;
use crate::fake::World;

#[test]
fn a_party_that_was_put_back_is_acknowledged() {
    let world = World::new();
    let admin = Client::bearer(&world, &world.token(&[Scope::Admin]));
    let reader = Client::bearer(&world, &world.token(&[Scope::Read]));
    let path = |party: &str| format!("/api/v1/parties/{party}/put-back");
    let acknowledge =
        |party: &str, seen: &str| admin.call("DELETE", &format!("{}?{seen}", path(party)), None);
    let nothing = (404, "not-put-back".into());
    assert_eq!(acknowledge("0", "lines=9").refusal(), nothing);
    assert_eq!(reader.get(&path("0")).refusal(), nothing);
    let heads = &world.fake.heads;
    let told = |lines| cenote_service::Told {
        number: lines,
        ..heads.tell(1)
    };
    for (party, told_by, lines) in [(0, 1, 9), (0, 2, 7), (1, 0, 5)] {
        heads
            .note_put_back(party, told_by, told(lines), Timestamp::now())
            .expect("noted");
    }
    assert_eq!(
        reader.get(&path("0")).json(),
        json!({"party": 0, "lines": 9, "told_by": [1, 2]})
    );
    for unseen in ["", "lines=-1", "lines=9&times=1", "line=9"] {
        let refused = (400, "bad-request".into());
        assert_eq!(acknowledge("0", unseen).refusal(), refused, "{unseen}");
    }
    let other = acknowledge("0", "lines=7");
    assert_eq!(other.refusal(), (409, "other-put-back".into()));
    assert_eq!(acknowledge("0", "lines=9").status, 204);
    assert_eq!(reader.get(&path("0")).refusal(), nothing);
    assert_eq!(acknowledge("1", "lines=5").status, 204);
    let lines = reader.get("/api/v1/audit?lines=1").json();
    let line = &lines["lines"][0];
    assert_eq!(
        (
            line["event"].as_str(),
            line["party"].as_u64(),
            line["by"]["person"].as_str()
        ),
        (Some("put-back-acknowledged"), Some(1), Some("ada"))
    );
}
