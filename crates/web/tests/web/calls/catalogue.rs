//! Calls on catalogues, and jobs that are made of them.

use cenote_service::token::Scope;
use serde_json::json;

use crate::client::Client;
use crate::fake::World;

#[test]
fn readers_see_catalogues_and_proposers_make_jobs_of_them() {
    let world = World::new();
    let reader = Client::bearer(&world, &world.token(&[Scope::Read]));
    let proposer = Client::bearer(&world, &world.token(&[Scope::Propose]));
    let known = reader.get("/api/v1/catalogue").json();
    let own = &known["parties"][0]["tables"][0];
    assert_eq!(own["name"], "people");
    assert_eq!(
        (&own["data"], &own["to"]),
        (&json!("people-2026.csv"), &json!(["South Bank"]))
    );
    assert_eq!(
        own["columns"],
        json!([{"name": "id", "type": "u64 not null", "promises": ["unique"]}])
    );
    let theirs = &known["parties"][1];
    assert_eq!(
        (&theirs["own"], &theirs["connected"], &theirs["version"]),
        (&json!(false), &json!(false), &json!(3))
    );
    assert_eq!(theirs["tables"][0]["data"], json!(null));
    assert_eq!(known["parties"][2]["at"], json!(null));

    let wanted = json!({"sql": "SELECT 1", "receivers": ["North Bank"], "deadline_seconds": 60});
    let made = proposer.post("/api/v1/compose", &wanted);
    assert_eq!(made.status, 200, "{}", made.text);
    assert_eq!(made.json()["data"], json!({"people": "people-2026.csv"}));
    assert_eq!(made.json()["deadline_seconds"], 60);
    let wrong = proposer.post("/api/v1/compose", &json!({"sql": "DROP x", "receivers": []}));
    assert_eq!(wrong.refusal(), (422, "bad-query".into()));
    assert_eq!(wrong.json()["place"], json!({"line": 1, "column": 1}));
    // Other refusals have no place.
    assert_eq!(
        reader.post("/api/v1/compose", &wanted).refusal(),
        (403, "no-scope".into())
    );
    assert!(
        !reader
            .post("/api/v1/compose", &wanted)
            .json()
            .as_object()
            .expect("an object")
            .contains_key("place")
    );
    assert_eq!(
        proposer.get("/api/v1/catalogue").refusal(),
        (403, "no-scope".into())
    );
    let unknown = proposer.post(
        "/api/v1/compose",
        &json!({"sql": "SELECT 1", "receivers": [], "rows": 5}),
    );
    assert_eq!(unknown.refusal(), (400, "bad-request".into()));
}
