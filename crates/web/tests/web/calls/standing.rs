//! Calls of jobs that stand.

use cenote_service::token::Scope;
use serde_json::json;

use crate::client::Client;
use crate::fake::World;

#[test]
fn calls_are_answered_in_their_order_each_with_what_became_of_it() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&[Scope::Propose]));
    let job = world.fake.proposed_by_peer("circuit");
    let path = format!("/api/v1/programs/{}/calls", job.proposal.id);
    let call = |name: &str| json!({"name": name, "inputs": {"x": name}});
    let calls = json!({"calls": [call("one"), call("fails"), call(""), call("two")]});
    let answered = client.post(&path, &calls);
    assert_eq!(answered.status, 200, "{}", answered.text);
    let ended = answered.json();
    let ended = ended["calls"].as_array().expect("a list");
    assert_eq!(ended.len(), 4);
    assert_eq!(
        (&ended[0]["name"], &ended[0]["answer"]["outputs"][0]),
        (&json!("one"), &json!("one"))
    );
    assert_eq!(ended[1]["problem"]["code"], "call-failed");
    assert_eq!(ended[2]["problem"]["code"], "bad-call");
    assert_eq!(ended[3]["answer"]["outputs"], json!(["two"]));
    // One that waits holds up no other, and is heard of by making it again.
    let waits = client
        .post(
            &path,
            &json!({"calls": [call("waits"), call("three")], "wait": 1}),
        )
        .json();
    assert_eq!(waits["calls"][0]["problem"]["code"], "call-waits");
    assert_eq!(waits["calls"][1]["answer"]["outputs"], json!(["three"]));
}

#[test]
fn calls_that_are_none_are_refused() {
    let world = World::new();
    let job = world.fake.proposed_by_peer("circuit");
    let path = format!("/api/v1/programs/{}/calls", job.proposal.id);
    let calls = |count: usize| json!({"calls": vec![json!({"name": "one"}); count]});
    let reader = Client::bearer(&world, &world.token(&[Scope::Read, Scope::Approve]));
    assert_eq!(reader.post(&path, &calls(1)).refusal(), (403, "no-scope".into()));
    let client = Client::bearer(&world, &world.token(&[Scope::Propose]));
    for count in [0, 1001] {
        assert_eq!(
            client.post(&path, &calls(count)).refusal(),
            (422, "bad-calls".into())
        );
    }
    let secret = client.post(
        &path,
        &json!({"calls": [{"name": "one", "inputs": {"x": 70_000_001}}]}),
    );
    assert_eq!(secret.refusal(), (400, "bad-request".into()));
    assert!(!secret.text.contains("70000001"), "{}", secret.text);
    assert_eq!(client.post("/api/v1/programs/x/calls", &calls(1)).status, 400);
    let unknown = client
        .post(&format!("/api/v1/programs/{}/calls", "ab".repeat(16)), &calls(1))
        .json();
    assert_eq!(unknown["calls"][0]["problem"]["code"], "no-job");
}
