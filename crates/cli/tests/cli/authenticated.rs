//! `protocol = "authenticated"`: jobs and queries of two parties over a pool of leaky ANDs, as processes of one machine and as parties that know each other by
//! fingerprint.

use serde_json::{Value, json};

use crate::common::{cenote, run, write};
use crate::pool::{online_without_a_key, pool_in_stock};
use crate::queries::{QUERY, TABLES, expected, files};
use crate::world::{World, paths};

const HEADER: &str = "circuit = \"lib:add16\"\nlanes = 2";

fn job(settings: &str, to: &str) -> String {
    format!(
        "protocol = \"authenticated\"\n{settings}circuit = \"lib:add16\"\n[[input]]\nparty = 0\nhex = \"1234\"\n\
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
        assert_eq!(report["protocol"], "authenticated");
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
        assert!(report["error_log2"].as_f64().unwrap() < -39.9);
        assert!(report["computational_bits"].as_f64().unwrap() > 115.0);
        let parameters = &report["parameters"];
        // What this job draws, and no lot of the size that a large one has.
        assert!(
            parameters["pool"]["pool_size"].as_u64().unwrap() < 400,
            "{parameters}"
        );
        assert!(
            parameters["pool"]["bucket"].as_u64().unwrap() >= 6,
            "{parameters}"
        );
        assert!(parameters["lot"].as_u64().unwrap() <= 1024, "{parameters}");
        assert_eq!(report["warnings"], json!([]));
    }
    let report = report(&job("pool = 3000\nsecurity = 30\nsymbols = 16\n", "[1]"), &[]);
    assert_eq!((&report["pool"], &report["symbols"]), (&json!(3000), &json!(16)));
    assert_eq!(report["parameters"]["pool"]["pool_size"], 3000);
    assert_eq!(
        (&report["cot"], &report["parameters"]["generator"]),
        (&json!("softspoken"), &Value::Null)
    );
    assert!((-40.0..-29.9).contains(&report["error_log2"].as_f64().unwrap()));
    let report = self::report(&job("cot = \"pcg\"\n", "[1]"), &[]);
    assert_eq!(
        (&report["cot"], &report["parameters"]["generator"]["blocks"]),
        (&json!("pcg"), &json!(1024))
    );
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
    let text = "protocol = \"authenticated\"\ncircuit = \"one.txt\"\n[[output]]\nto = [1]\n";
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
            "protocol = \"authenticated\"\ncircuit = \"{circuit}\"\n\
             [[input]]\nparty = 0\nhex = \"000102030405060708090a0b0c0d0e0f\"\n\
             [[input]]\nparty = 1\nhex = \"00112233445566778899aabbccddeeff\"\n[[output]]\nto = [0, 1]\n"
        );
        let job = write(folder.path(), "job.toml", &text);
        let ended = run(cenote().arg("run").arg(job));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        for part in [
            "0x69c4e0d86a7b0430d8cdb78070b4c55a",
            "authenticated, party 0 garbles, error 2^-",
        ] {
            assert!(ended.stdout.contains(part), "{}", ended.stdout);
        }
    }
}

#[test]
fn parties_meet_over_tls_with_their_own_inputs_only() {
    let world = World::two();
    for settings in ["", "garbler = 1\npool = 2000\n"] {
        let header = format!("{settings}{HEADER}");
        let jobs = world.jobs_of("authenticated", [&header; 2]);
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
        ("symbols = 16", "symbols"),
        ("cot = \"pcg\"", "cot"),
        ("lot = 4096", "lot"),
    ] {
        let jobs = world.jobs_of("authenticated", [HEADER, &format!("{setting}\n{HEADER}")]);
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
    online_without_a_key("authenticated");
}

#[test]
fn a_pool_in_stock_serves_job_after_job() {
    pool_in_stock("authenticated", "leaky_ands", 500);
}

/// The job's circuit is garbled ahead twice, and runs twice without gates being made for it.
#[test]
fn circuits_in_stock_run_at_once() {
    let world = World::two();
    world.add_stock();
    let jobs = world.jobs_of("authenticated", [HEADER; 2]);
    let made = world.make_stock(&jobs, &["--circuits", "2", "--json"]);
    for made in made.map(|ended| ended.json()) {
        assert_eq!(made["circuits"], 2);
        assert!(made["leaky_ands"].as_u64() > Some(100), "{made}");
    }
    let sent: Vec<u64> = (0..3u8)
        .map(|run| {
            let shown = world.show_stock(1).json();
            assert_eq!(shown["pools"][0]["circuits"], 2u8.saturating_sub(run));
            let reports = world
                .run(paths(&jobs), &["--online", "--json"])
                .map(|ended| ended.json());
            for report in &reports {
                assert_eq!(report["outputs"][0]["values"], json!(["0x1234", "0x1234"]));
                assert_eq!(report["warnings"], json!([]));
            }
            reports[0]["bytes_sent"][0].as_u64().unwrap()
        })
        .collect();
    assert!(2 * sent[0] < sent[2] && 2 * sent[1] < sent[2], "{sent:?}");
    // Others have stock for any circuit.
    for protocol in ["jimu", "lego"] {
        let jobs = world.jobs_of(protocol, [HEADER; 2]);
        for ended in world.make_stock(&jobs, &["--circuits", "2"]) {
            ended.failed(2, &["is for any circuit", "--runs or --and-gates"]);
        }
    }
    let large = HEADER.replace("lanes = 2", "lanes = 100000");
    let jobs = world.jobs_of("authenticated", [&large; 2]);
    for ended in world.make_stock(&jobs, &["--circuits", "1"]) {
        ended.failed(2, &["1048576 gates are garbled ahead"]);
    }
}

/// Pools of several protocols lie in one folder, and each is shown under headings of its own.
#[test]
fn pools_of_several_protocols_are_told_apart() {
    let world = World::two();
    world.add_stock();
    for protocol in ["jimu", "authenticated"] {
        let jobs = world.jobs_of(protocol, [HEADER; 2]);
        let made = world.make_stock(&jobs, &["--runs", "1"]);
        made.iter()
            .for_each(|ended| assert_eq!(ended.code, Some(0), "{}", ended.stderr));
    }
    let pools = world.show_stock(1).json()["pools"].as_array().unwrap().clone();
    assert_eq!(pools.len(), 2);
    assert!(
        pools
            .iter()
            .any(|pool| pool["gates"].is_u64() && pool["leaky_ands"].is_null())
    );
    assert!(
        pools
            .iter()
            .any(|pool| pool["leaky_ands"].is_u64() && pool["gates"].is_null())
    );
    let shown = world.stock(1, &["show"]);
    for heading in ["multiplexers", "leaky ANDs"] {
        assert_eq!(shown.stdout.matches(heading).count(), 1, "{}", shown.stdout);
    }
}

/// Each party has its own table only; both learn the answer.
#[test]
fn two_parties_answer_a_query() {
    let world = World::two();
    let head = format!("protocol = \"authenticated\"\ngarbler = 1\nquery = \"\"\"{QUERY}\"\"\"\n");
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
