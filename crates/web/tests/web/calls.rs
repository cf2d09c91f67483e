//! What calls do.

mod catalogue;
mod plans;
mod standing;
mod tokens;

use cenote_service::Timestamp;
use cenote_service::audit::{Actor, Event};
use cenote_service::job::{JobId, StateName, Tried};
use cenote_service::token::Scope;
use serde_json::json;

use crate::client::Client;
use crate::fake::{RESULT, World};

#[test]
fn a_job_is_submitted_approved_run_and_fetched_once() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&Scope::ALL));
    let body = json!({"job": "circuit = \"lib:add32\"", "within": 60});
    let keyed = client.clone().with("idempotency-key", "first");
    let submitted = keyed.post("/api/v1/jobs", &body);
    assert_eq!(submitted.status, 201, "{}", submitted.text);
    let job = submitted.json();
    let id = job["id"].as_str().expect("a name").to_owned();
    assert_eq!(
        (job["state"].as_str(), job["number"].as_u64()),
        (Some("proposed"), Some(1))
    );
    // The same again is the same job; something else under the key is refused.
    assert_eq!(keyed.post("/api/v1/jobs", &body).json()["id"], job["id"]);
    let other = keyed.post("/api/v1/jobs", &json!({"job": "circuit = \"lib:mul32\""}));
    assert_eq!(other.refusal(), (409, "key-used".into()));

    let path = format!("/api/v1/jobs/{id}");
    let detail = client.get(&path).json();
    assert_eq!(detail["explained"]["outputs"][0]["to"], json!([0, 1]));
    let fetch = |key: &str| client.post(&format!("{path}/fetch"), &json!({"key": key}));
    assert_eq!(fetch("mine").refusal(), (409, "not-done".into()));

    let approval = json!({
        "proposal": detail["job"]["proposal"], "posted": {"left": "7"}, "reason": "it is agreed"
    });
    let approved = client.post(&format!("{path}/approve"), &approval);
    assert_eq!(approved.status, 200, "{}", approved.text);
    assert_eq!(approved.json()["decisions"][0]["verdict"], "approve");
    assert_eq!(world.fake.shown.lock().expect("whole").posted["left"], "7");
    let parsed = id.parse().expect("a name");
    world.fake.peers_approve(parsed);
    world.fake.run(parsed);
    assert_eq!(client.get(&path).json()["job"]["state"], "done");

    assert_eq!(fetch("").refusal(), (422, "bad-key".into()));
    assert_eq!(fetch("mine").text, RESULT);
    assert_eq!(fetch("mine").text, RESULT);
    assert_eq!(fetch("theirs").refusal(), (409, "no-result".into()));

    let lines = client.get("/api/v1/audit?lines=3").json();
    let last = lines["lines"][0].clone();
    assert_eq!(
        (last["event"].as_str(), last["by"]["person"].as_str()),
        (Some("fetched"), Some("ada"))
    );
    assert_eq!(lines["lines"].as_array().expect("lines").len(), 3);
    let verified = client.call("POST", "/api/v1/audit/verify", None).json();
    assert_eq!(verified["lines"], last["number"]);
}

#[test]
fn files_of_a_job_are_told_in_parts() {
    let world = World::new();
    let text = "0123456789abcdef".repeat(5000);
    world
        .fake
        .shown
        .lock()
        .expect("whole")
        .files
        .insert("circuit.txt".into(), text.clone());
    let job = world.fake.proposed_by_peer("circuit");
    let client = Client::bearer(&world, &world.token(&[Scope::Read]));
    let path = format!("/api/v1/jobs/{}", job.proposal.id);
    let detail = client.get(&path);
    assert_eq!(
        detail.json()["explained"]["files"],
        json!([{"name": "circuit.txt", "bytes": text.len()}])
    );
    assert!(detail.text.len() < 10_000);
    let first = client.get(&format!("{path}/file?name=circuit.txt")).json();
    assert_eq!(
        (first["next"].as_u64(), first["bytes"].as_u64()),
        (Some(65536), Some(80000))
    );
    let second = client
        .get(&format!("{path}/file?name=circuit.txt&from=65536"))
        .json();
    assert_eq!(second["next"], json!(null));
    let whole = [&first, &second]
        .map(|part| part["text"].as_str().expect("text").to_owned())
        .concat();
    assert!(whole == text);
    assert_eq!(
        client.get(&format!("{path}/file?name=../service.db")).refusal(),
        (404, "no-file".into())
    );
}

#[test]
fn jobs_are_declined_and_cancelled() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&Scope::ALL));
    let job = world.fake.proposed_by_peer("circuit 1");
    let path = format!("/api/v1/jobs/{}", job.proposal.id);
    let decline = json!({"proposal": job.digest.to_string(), "reason": "not on our data"});
    let declined = client.post(&format!("{path}/decline"), &decline).json();
    assert_eq!(
        (
            declined["state"].as_str(),
            declined["reason"].as_str(),
            declined["ended_by"].as_u64()
        ),
        (Some("declined"), Some("not on our data"), Some(0))
    );
    let cancel = |path: &str| client.call("POST", &format!("{path}/cancel"), None);
    assert_eq!(cancel(&path).refusal(), (409, "wrong-state".into()));
    let other = world.fake.proposed_by_peer("circuit 2");
    let path = format!("/api/v1/jobs/{}", other.proposal.id);
    assert_eq!(cancel(&path).json()["state"], "cancelled");
    let none = format!("/api/v1/jobs/{}", "0".repeat(32));
    assert_eq!(client.get(&none).refusal(), (404, "no-job".into()));
}

#[test]
fn jobs_are_listed_a_page_at_a_time() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&[Scope::Read]));
    for number in 0..7 {
        let key = number.to_string();
        let job = world
            .fake
            .propose(0, &key, &key, Actor::Service)
            .expect("proposed");
        if number % 2 == 0 {
            world
                .fake
                .jobs
                .cancel(job.proposal.id, Actor::Service, cenote_service::Timestamp::now())
                .expect("cancelled");
        }
    }
    let numbers = |query: &str| {
        let page = client.get(&format!("/api/v1/jobs?{query}")).json();
        let jobs = page["jobs"].as_array().expect("jobs").clone();
        (
            jobs.iter()
                .map(|job| job["number"].as_u64().expect("a number"))
                .collect::<Vec<_>>(),
            page["next"].as_u64(),
        )
    };
    assert_eq!(numbers("limit=3"), (vec![7, 6, 5], Some(5)));
    assert_eq!(numbers("limit=3&before=5"), (vec![4, 3, 2], Some(2)));
    assert_eq!(numbers("limit=3&before=2"), (vec![1], None));
    assert_eq!(numbers("state=cancelled&limit=2"), (vec![7, 5], Some(5)));
    assert_eq!(numbers("state=done"), (vec![], None));
    for query in ["state=odd", "before=-1", "limit=x", "page=2"] {
        assert_eq!(
            client.get(&format!("/api/v1/jobs?{query}")).status,
            400,
            "{query}"
        );
    }
}

#[test]
fn the_service_tells_of_itself() {
    let world = World::new();
    let client = Client::bearer(&world, &world.token(&[Scope::Read]));
    let get = |path: &str| client.get(&format!("/api/v1/{path}")).json();
    assert_eq!(get("about")["parties"][1], "South Bank");
    assert_eq!(get("about")["not_ready"], json!(null));
    assert_eq!(get("peers")[0]["link"], "up");
    assert_eq!(get("stock")[0]["target"], 50_000_000);
    assert_eq!(get("data")[1]["name"], "salaries.csv");
    assert_eq!(get("running"), json!([]));
    assert_eq!(get("alarms"), json!([]));
    assert_eq!(get("history?day=true"), json!([]));
    assert_eq!(get("session")["scopes"], json!(["read"]));
    let nobody = Client::new(&world);
    assert_eq!(
        (nobody.get("/healthz").status, nobody.get("/readyz").status),
        (200, 200)
    );
    world.fake.shown.lock().expect("whole").ready = Err("party 2 is not there".into());
    // It is looked at anew after a moment.
    let mut unready = nobody.get("/readyz");
    for _ in 0..200 {
        if unready.status == 503 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        unready = nobody.get("/readyz");
    }
    assert_eq!((unready.status, unready.text.as_str()), (503, "not ready\n"));
    assert_eq!(get("about")["not_ready"], "party 2 is not there");
}

#[test]
fn metrics_are_in_the_format_of_prometheus() {
    let world = World::new();
    {
        let mut shown = world.fake.shown.lock().expect("whole");
        shown.peers[0].name = "So\"uth\\\nBank".into();
    }
    let client = Client::bearer(&world, &world.token(&[Scope::Read]));
    let reply = client.get("/metrics");
    assert!(
        reply.headers["content-type"]
            .to_str()
            .expect("text")
            .starts_with("text/plain; version=0.0.4")
    );
    for line in [
        "cenote_jobs_total{state=\"done\"} 12",
        "cenote_job_seconds_bucket{le=\"0.1\"} 11",
        "cenote_job_seconds_bucket{le=\"+Inf\"} 12",
        "cenote_job_seconds_count 12",
        "cenote_peer_up{party=\"1\",name=\"So\\\"uth\\\\\\nBank\"} 1",
        "cenote_stock{protocol=\"three\",kind=\"triples\"} 40000000",
        "cenote_refused_proposals_total{party=\"1\"} 3",
        "cenote_kept_values_bytes 0",
        "cenote_ready 1",
    ] {
        assert!(
            reply.text.lines().any(|found| found == line),
            "{line}\n{}",
            reply.text
        );
    }
    // Each line is a comment or a name, labels, and a number.
    for line in reply.text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').expect("two parts");
        assert!(
            name.starts_with("cenote_") && value.parse::<f64>().is_ok(),
            "{line}"
        );
        let family = name.split('{').next().expect("a name");
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .fold(family, |name, end| name.strip_suffix(end).unwrap_or(name));
        assert!(reply.text.contains(&format!("# TYPE {family} ")), "{family}");
    }
}

#[test]
fn what_is_on_record_against_a_peer_is_settled() {
    let world = World::new();
    let admin = Client::bearer(&world, &world.token(&[Scope::Admin]));
    let reader = Client::bearer(&world, &world.token(&[Scope::Read]));
    let path = |party: &str| format!("/api/v1/peers/{party}/unsettled");
    let settle = |party: &str, seen: &str| admin.call("DELETE", &format!("{}?{seen}", path(party)), None);
    let seen = "times=1&grave=true";
    assert_eq!(settle("1", seen).refusal(), (404, "nothing-unsettled".into()));
    for party in ["x", "-1", "256", "1.0", "%ff"] {
        let refused = (400, "bad-request".into());
        assert_eq!(settle(party, seen).refusal(), refused, "{party}");
        assert_eq!(reader.get(&path(party)).refusal(), refused, "{party}");
    }
    let event = Event::CheckFailed {
        job: None,
        peer: Some(1),
        check: "MACs".into(),
    };
    let session = Tried::Stock(JobId::of(1, [7; 15]));
    let jobs = &world.fake.jobs;
    jobs.hold_against(session, 3, Some(1), event, Timestamp::now())
        .expect("noted");
    for unseen in [
        "",
        "times=1",
        "grave=true",
        "times=-1&grave=true",
        "times=1&grave=true&x=1",
    ] {
        assert_eq!(
            settle("1", unseen).refusal(),
            (400, "bad-request".into()),
            "{unseen}"
        );
    }
    for unseen in ["times=1&grave=false", "times=2&grave=true"] {
        let reply = settle("1", unseen);
        assert_eq!(reply.refusal(), (409, "other-unsettled".into()), "{unseen}");
        let message = &reply.json()["message"];
        assert!(
            message
                .as_str()
                .is_some_and(|text| text.contains("times: 1, grave: true")),
            "{message}"
        );
    }
    let nothing = (404, "nothing-unsettled".into());
    assert_eq!(settle("2", seen).refusal(), nothing);
    assert_eq!(reader.get(&path("2")).refusal(), nothing);
    assert_eq!(
        reader.get(&path("1")).json(),
        json!({"party": 1, "times": 1, "grave": true})
    );
    assert_eq!(settle("1", seen).status, 204);
    assert_eq!(jobs.unsettled().expect("read"), []);
    let lines = reader.get("/api/v1/audit?lines=1").json();
    let line = &lines["lines"][0];
    assert_eq!(
        (
            line["event"].as_str(),
            line["peer"].as_u64(),
            line["grave"].as_bool(),
            line["by"]["person"].as_str()
        ),
        (Some("settled"), Some(1), Some(true), Some("ada"))
    );
}

#[test]
fn kept_values_are_listed_and_dropped() {
    let world = World::new();
    let approver = Client::bearer(&world, &world.token(&[Scope::Approve]));
    let reader = Client::bearer(&world, &world.token(&[Scope::Read]));
    let list = || reader.get("/api/v1/kept").json();
    assert_eq!(list(), json!([]));
    let first = world.fake.kept_by_peer("balances").to_string();
    let second = world.fake.kept_by_peer("totals").to_string();
    let listed = list();
    let values = listed.as_array().expect("values");
    assert_eq!(values.len(), 2);
    let value = values.iter().find(|value| value["job"] == first.as_str());
    let value = value.expect("listed");
    assert_eq!(
        (value["name"].as_str(), value["type"].as_str()),
        (Some("balances"), Some("u64"))
    );
    let days = |name: &str| value[name].as_u64().expect("a time") / (24 * 3600 * 1000);
    assert_eq!(days("expires_at") - days("kept_at"), 30);
    assert!(value["bytes"].as_u64() > Some(5), "{value}");

    let drop = |path: &str| approver.call("DELETE", &format!("/api/v1/kept/{path}"), None);
    for path in [format!("{first}/totals"), format!("{}/balances", "0".repeat(32))] {
        assert_eq!(drop(&path).refusal(), (404, "no-kept".into()), "{path}");
    }
    for path in [
        format!("{}/balances", &first[..31]),
        format!("{}/balances", first.to_uppercase().replace('0', "A")),
        format!("{first}/.balances"),
        format!("{first}/..%2fbalances"),
        format!("{first}/%2e%2e"),
        format!("{first}/balances%00"),
        format!("{first}/a%20b"),
        format!("{first}/%c3%a9"),
        format!("{first}/%ff"),
        format!("{first}/kept:balances"),
        format!("{first}/{}", "a".repeat(65)),
    ] {
        assert_eq!(drop(&path).refusal(), (400, "bad-request".into()), "{path}");
    }
    for path in [first.clone(), format!("{first}/"), format!("{first}/balances/")] {
        assert_eq!(drop(&path).refusal(), (404, "no-such-path".into()), "{path}");
    }
    assert_eq!(list().as_array().map(Vec::len), Some(2));

    let path = format!("{first}/balances");
    assert_eq!(drop(&path).status, 204);
    assert_eq!(drop(&path).refusal(), (404, "no-kept".into()));
    assert_eq!(list()[0]["job"], second.as_str());
    let lines = reader.get("/api/v1/audit?lines=1").json();
    assert_eq!(
        (
            lines["lines"][0]["event"].as_str(),
            lines["lines"][0]["by"]["person"].as_str()
        ),
        (Some("kept-dropped"), Some("ada"))
    );
}

#[test]
fn an_approver_is_told_what_is_taken_and_kept() {
    let world = World::new();
    let old = world.fake.kept_by_peer("balances");
    let job = world.fake.proposed_keeping("totals", Some(("balances", old)));
    let client = Client::bearer(&world, &world.token(&[Scope::Read]));
    let detail = client.get(&format!("/api/v1/jobs/{}", job.proposal.id)).json();
    assert_eq!(
        detail["job"]["takes"],
        json!([{"input": "old", "name": "balances", "job": old.to_string()}])
    );
    assert_eq!(
        detail["job"]["keeps"],
        json!([{"output": "sum", "name": "totals", "type": "u64", "days": 30}])
    );
    assert_eq!(detail["job"]["receivers"], json!([]));
}

/// The document lists what is served, and what is served is listed.
#[test]
fn the_document_lists_every_call() {
    let world = World::new();
    let nobody = Client::new(&world);
    let document = nobody.get("/api/v1/openapi.json").json();
    assert_eq!(
        document,
        serde_json::to_value(cenote_web::document()).expect("JSON")
    );
    let paths = document["paths"].as_object().expect("paths");
    let open = ["/healthz", "/readyz"];
    let mut calls = 0;
    for (path, methods) in paths {
        let at = path
            .replace("{job}", &"0".repeat(32))
            .replace("{peer}", "1")
            .replace("{token}", "x")
            .replace("{party}", "1")
            .replace("{name}", "balances");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let reply = nobody.call(
                method,
                &at,
                (method != "GET" && method != "DELETE").then_some("{}"),
            );
            let listed = &methods[method.to_lowercase()];
            if listed.is_null() {
                assert_eq!(reply.refusal(), (405, "no-such-method".into()), "{method} {path}");
                continue;
            }
            calls += 1;
            assert!(
                listed["responses"].as_object().is_some_and(|all| !all.is_empty()),
                "{path}"
            );
            let described = listed["description"].as_str().or(listed["summary"].as_str());
            assert!(described.is_some_and(|text| text.len() > 5), "{path}");
            match (path.as_str(), method) {
                (path, _) if open.contains(&path) => assert_eq!(reply.status, 200),
                ("/api/v1/session", "POST") => assert_eq!(reply.status, 400),
                _ => assert_eq!(reply.refusal(), (401, "no-token".into()), "{method} {path}"),
            }
        }
    }
    assert_eq!(calls, 39);
    for name in StateName::ALL {
        assert!(document.to_string().contains(name.as_str()));
    }
    // What is not listed is not there, but for the page and the document.
    for path in [
        "/api/v1",
        "/api/v1/",
        "/api/v2/jobs",
        "/api/v1/jobs/",
        "/docs",
        "/page/",
        "/page/../lib.rs",
    ] {
        assert_eq!(nobody.get(path).refusal(), (404, "no-such-path".into()), "{path}");
    }
}

#[test]
fn what_is_under_way_is_answered_before_the_end() {
    let mut world = World::new();
    world.fake.shown.lock().expect("whole").pause = std::time::Duration::from_millis(300);
    let client = Client::bearer(&world, &world.token(&[Scope::Read]));
    let caller = std::thread::spawn({
        let client = client.clone();
        move || client.get("/api/v1/data").status
    });
    while world.fake.shown.lock().expect("whole").asked == 0 && !caller.is_finished() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    world
        .served
        .take()
        .expect("served")
        .shut_down(std::time::Duration::from_secs(10));
    assert_eq!(caller.join().expect("answered"), 200);
}
