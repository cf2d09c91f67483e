//! `protocol = "jimu"`: jobs and queries of two parties over a pool, as processes of one machine and as parties that know each other by
//! fingerprint.

use serde_json::{Value, json};

use crate::common::{cenote, run, write};
use crate::queries::{QUERY, TABLES, expected, files};
use crate::world::{World, paths};

const HEADER: &str = "circuit = \"lib:add16\"\nlanes = 2";

fn job(settings: &str, to: &str) -> String {
    format!(
        "protocol = \"jimu\"\n{settings}circuit = \"lib:add16\"\n[[input]]\nparty = 0\nhex = \"1234\"\n\
         [[input]]\nparty = 1\nhex = \"0fff\"\n[[output]]\nto = {to}\n"
    )
}

fn report(text: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "job.toml", text);
    run(cenote().arg("run").arg(file).arg("--json").args(more)).json()
}

#[test]
fn json_has_every_promised_field() {
    for (transport, garbler) in [("tls", 0), ("tcp", 1)] {
        let text = job(&format!("garbler = {garbler}\n"), "[0, 1]");
        let report = report(&text, &["--transport", transport]);
        assert_eq!(report["outputs"][0]["values"], json!(["0x2233"]));
        assert_eq!(report["protocol"], "jimu");
        assert_eq!(
            (&report["garbler"], &report["security"]),
            (&json!(garbler), &json!(40))
        );
        assert_eq!((report.get("pool"), report.get("variant")), (None, None));
        assert_eq!(report["and_gates"].as_u64(), Some(15));
        let seconds = report["seconds"].as_object().unwrap();
        for phase in ["connect", "setup", "pool", "online", "run", "total"] {
            assert!(seconds[phase].as_f64().unwrap() >= 0.0, "{phase}");
        }
        for list in ["bytes_sent", "peak_memory_bytes", "parties"] {
            assert_eq!(report[list].as_array().unwrap().len(), 2, "{list}");
        }
        assert!(report["error_log2"].as_f64().unwrap() < -38.0);
        assert!(report["computational_bits"].as_f64().unwrap() > 115.0);
        let parameters = &report["parameters"];
        assert_eq!(parameters["pool"]["pool_size"], 1000);
        assert!(parameters["pool"]["bucket"].as_u64().unwrap() >= 2);
        assert!(parameters["pool"]["check_rate"].as_f64().unwrap() > 0.0);
        assert!(parameters["anchor"]["bucket"].as_u64().unwrap() >= 3);
        // What this job draws, and no buffer of the size that a large one has.
        assert!(parameters["buffer"].as_u64().unwrap() < 4000, "{parameters}");
        assert_eq!(report["warnings"], json!([]));
    }
    let report = report(&job("pool = 3000\nsecurity = 30\n", "[1]"), &[]);
    assert_eq!(report["pool"], 3000);
    assert_eq!(report["parameters"]["pool"]["pool_size"], 3000);
    assert!((-40.0..-28.0).contains(&report["error_log2"].as_f64().unwrap()));
}

#[test]
fn outputs_go_to_those_who_are_entitled() {
    for to in [0, 1] {
        for garbler in [0, 1] {
            let report = report(&job(&format!("garbler = {garbler}\n"), &format!("[{to}]")), &[]);
            assert_eq!(report["outputs"][0]["to"], json!([to]));
            assert_eq!(report["outputs"][0]["values"], json!(["0x2233"]));
        }
    }
}

/// No gates, no inputs: nothing is drawn, and the pool stays empty.
#[test]
fn a_circuit_without_gates_or_inputs_gives_its_constants() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "one.txt", "1 1\n0\n1 1\n\n1 1 1 0 EQ\n");
    let text = "protocol = \"jimu\"\ncircuit = \"one.txt\"\n[[output]]\nto = [1]\n";
    let file = write(folder.path(), "job.toml", text);
    let report = run(cenote().args(["run", "--json"]).arg(file)).json();
    assert_eq!(report["outputs"][0]["values"], json!(["0x1"]));
}

/// FIPS 197, Appendix C.1, through the library's circuit, and from a file in Bristol Fashion; both parties learn it.
#[test]
fn aes_of_the_standard() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("aes.txt");
    let written = run(cenote().args(["circuit", "gen", "aes128", "--output"]).arg(&file));
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    for circuit in ["lib:aes128", "aes.txt"] {
        let text = format!(
            "protocol = \"jimu\"\ncircuit = \"{circuit}\"\n\
             [[input]]\nparty = 0\nhex = \"000102030405060708090a0b0c0d0e0f\"\n\
             [[input]]\nparty = 1\nhex = \"00112233445566778899aabbccddeeff\"\n[[output]]\nto = [0, 1]\n"
        );
        let job = write(folder.path(), "job.toml", &text);
        let ended = run(cenote().arg("run").arg(job));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        for part in [
            "0x69c4e0d86a7b0430d8cdb78070b4c55a",
            "jimu, party 0 garbles, error 2^-",
        ] {
            assert!(ended.stdout.contains(part), "{}", ended.stdout);
        }
    }
}

/// A shift by a secret amount is multiplexers mostly. With many of them there is a pool of gadgets for these, and the values are right.
#[test]
fn a_job_of_many_multiplexers_has_a_pool_for_them() {
    let text = |lanes: usize| {
        format!(
            "protocol = \"jimu\"\nsecurity = 1\nlanes = {lanes}\ncircuit = \"lib:shl32\"\n[[input]]\nparty = 0\n\
             hex = \"00012345\"\n[[input]]\nparty = 1\nhex = \"0c\"\n[[output]]\nto = [0, 1]\n"
        )
    };
    let (few, many) = (
        report(&text(1), &[]),
        report(&text(4096), &["--transport", "tcp"]),
    );
    assert_eq!(few["parameters"]["mux"], Value::Null);
    assert_eq!(few["outputs"][0]["values"], json!(["0x12345000"]));
    let mux = &many["parameters"]["mux"];
    assert!(
        mux["pool_size"].as_u64() >= Some(1000) && mux["bucket"].as_u64() >= Some(2),
        "{mux}"
    );
    assert!(many["parameters"]["mux_buffer"].as_u64() >= Some(64));
    assert_eq!(many["outputs"][0]["values"], json!(vec!["0x12345000"; 4096]));
}

#[test]
fn parties_meet_over_tls_with_their_own_inputs_only() {
    let world = World::two();
    for settings in ["", "garbler = 1\npool = 2000\n"] {
        let header = format!("{settings}{HEADER}");
        let jobs = world.jobs_of("jimu", [&header; 2]);
        let reports = world.run(paths(&jobs), &["--json"]).map(|ended| ended.json());
        for (party, report) in reports.iter().enumerate() {
            assert_eq!(report["outputs"][0]["values"], json!(["0x1234", "0x1234"]));
            assert_eq!(report["parties"][0]["party"].as_u64(), Some(party as u64));
            assert_eq!(report["transport"], "tls");
        }
    }
}

#[test]
fn differences_between_the_jobs_are_named_by_both() {
    let world = World::two();
    for (setting, field) in [
        ("garbler = 1", "garbler"),
        ("security = 30", "security"),
        ("pool = 5000", "pool"),
    ] {
        let jobs = world.jobs_of("jimu", [HEADER, &format!("{setting}\n{HEADER}")]);
        for (party, ended) in world.run(paths(&jobs), &[]).iter().enumerate() {
            ended.failed(
                2,
                &[&format!("party {} disagrees on {field}", 1 - party), "same job"],
            );
        }
    }
}

#[test]
fn working_online_without_a_key_tells_what_to_do() {
    online_without_a_key("jimu");
}

#[test]
fn a_pool_in_stock_serves_job_after_job() {
    pool_in_stock("jimu", "gates", 1000);
}

/// What parties without stock are told.
pub(crate) fn online_without_a_key(protocol: &str) {
    let world = World::two();
    let jobs = world.jobs_of(protocol, [HEADER; 2]);
    for ended in world.run(paths(&jobs), &["--online"]) {
        ended.failed(2, &["add stock = \"stock\"", "stock_key"]);
    }
    world.add_stock();
    for ended in world.run(paths(&jobs), &["--online"]) {
        ended.failed(
            2,
            &[".key", "`cenote stock make` makes the key, and with the peers"],
        );
    }
}

/// A pool of at least so many of `what` is made, used by jobs, and made anew by a job.
pub(crate) fn pool_in_stock(protocol: &str, what: &str, least: u64) {
    let world = World::two();
    let jobs = world.jobs_of(protocol, [HEADER; 2]);
    let refused = world.run(paths(&jobs), &["--online"]);
    refused.iter().for_each(|ended| ended.failed(2, &["stock_key"]));
    world.add_stock();
    for ended in world.make_stock(&jobs, &["--batches", "2"]) {
        ended.failed(2, &["no batches", "--runs or --and-gates"]);
    }
    let made = world
        .make_stock(&jobs, &["--and-gates", "1000", "--json"])
        .map(|ended| ended.json());
    assert!(made[0]["pool"].is_string() && made[0]["pool"] == made[1]["pool"]);
    let gates = made[0][what].as_u64().unwrap();
    assert!(gates >= least, "{gates}");
    for run in 0..3 {
        for (party, role) in ["garbler", "evaluator"].into_iter().enumerate() {
            let shown = world.show_stock(party).json();
            let pools = shown["pools"].as_array().unwrap();
            assert_eq!(pools.len(), 1);
            assert_eq!(
                (&pools[0]["pool"], &pools[0]["role"]),
                (&made[0]["pool"], &json!(role))
            );
            assert_eq!(pools[0][what], gates);
        }
        // Other jobs and settings of their own for the pool use it as well.
        let header = ["", "pool = 5000\n", "lanes = 2\n"][run];
        let circuit = ["lib:add16", "lib:add16", "lib:mult16"][run];
        let header = format!(
            "{header}circuit = \"{circuit}\"\n{}",
            if run == 2 { "" } else { "lanes = 2" }
        );
        let jobs = world.jobs_of(protocol, [&header; 2]);
        for report in world
            .run(paths(&jobs), &["--online", "--json"])
            .map(|ended| ended.json())
        {
            assert_eq!(report["warnings"], json!([]));
            assert_eq!(report["parameters"], Value::Null, "those of the pool are others");
            assert_eq!(report["outputs"][0]["values"].as_array().unwrap().len(), 2);
        }
    }
    // One party has lost its pool: another is made, without a word.
    let name = made[0]["pool"].as_str().unwrap();
    assert_eq!(world.stock(0, &["drop", &name[..12]]).code, Some(0));
    let reports = world
        .run(paths(&jobs), &["--online", "--json"])
        .map(|ended| ended.json());
    assert_eq!(reports[0]["outputs"], reports[1]["outputs"]);
    let left = world.show_stock(0).json()["pools"].as_array().unwrap().len();
    let others = world.show_stock(1).json()["pools"].as_array().unwrap().len();
    assert_eq!((left, others), (1, 2));
}

#[test]
fn two_parties_answer_a_query() {
    let world = World::two();
    let head = format!("protocol = \"jimu\"\ngarbler = 1\nquery = \"\"\"{QUERY}\"\"\"\n");
    let jobs = [0, 1].map(|party| {
        let folder = world.folder.path().join(format!("of-{party}"));
        std::fs::create_dir(&folder).unwrap();
        files(&folder);
        let others = ["loans.csv", "people.csv"][party];
        std::fs::remove_file(folder.join(others)).unwrap();
        write(&folder, "job.toml", &format!("{head}{TABLES}"))
    });
    for ended in world.run(paths(&jobs), &["--json"]) {
        assert_eq!(ended.json()["answer"]["rows"], expected());
    }
}
