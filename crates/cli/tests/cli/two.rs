//! `protocol = "lego"`: jobs of two parties, as processes of one machine and as parties that know each other by fingerprint.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::common::{Ended, cenote, finish, own_circuit, published, run, wait_until, write};
use crate::world::{World, identity, paths};

const HEADER: &str = "circuit = \"lib:add16\"\nlanes = 2";

fn job(settings: &str, to: &str) -> String {
    format!(
        "protocol = \"lego\"\n{settings}circuit = \"lib:add16\"\n[[input]]\nparty = 0\nhex = \"1234\"\n\
         [[input]]\nparty = 1\nhex = \"0fff\"\n[[output]]\nto = {to}\n"
    )
}

fn run_text(folder: &Path, text: &str, more: &[&str]) -> Ended {
    run(cenote()
        .arg("run")
        .arg(write(folder, "job.toml", text))
        .args(more))
}

#[test]
fn json_has_every_promised_field() {
    let folder = tempfile::tempdir().unwrap();
    for (transport, garbler) in [("tls", 0), ("tcp", 1)] {
        let text = job(&format!("garbler = {garbler}\n"), "[0, 1]");
        let report = run_text(folder.path(), &text, &["--json", "--transport", transport]).json();
        assert_eq!(report["outputs"][0]["values"], json!(["0x2233"]));
        assert_eq!(report["protocol"], "lego");
        assert_eq!(
            (&report["garbler"], &report["security"], &report["workers"]),
            (&json!(garbler), &json!(40), &json!(1))
        );
        assert_eq!((report.get("variant"), report.get("view_check")), (None, None));
        assert_eq!(report["transport"], transport);
        assert_eq!(report["and_gates"].as_u64(), Some(15));
        let seconds = report["seconds"].as_object().unwrap();
        for phase in ["connect", "run", "total"] {
            assert!(seconds[phase].as_f64().unwrap() >= 0.0, "{phase}");
        }
        for list in ["bytes_sent", "peak_memory_bytes", "parties"] {
            assert_eq!(report[list].as_array().unwrap().len(), 2, "{list}");
        }
        assert!(report["bits_per_and"].as_f64().unwrap() > 0.0);
        assert!(report["error_log2"].as_f64().unwrap() < -37.8);
        assert!(report["computational_bits"].as_f64().unwrap() > 115.0);
        assert!(report["parameters"]["beta"].as_u64().unwrap() >= 2);
        assert_eq!(report["warnings"], json!([]));
    }
}

#[test]
fn outputs_go_to_those_who_are_entitled() {
    let folder = tempfile::tempdir().unwrap();
    for to in [0, 1] {
        for garbler in [0, 1] {
            let text = job(&format!("garbler = {garbler}\nworkers = 2\n"), &format!("[{to}]"));
            let report = run_text(folder.path(), &text, &["--json"]).json();
            assert_eq!(report["outputs"][0]["to"], json!([to]));
            assert_eq!(report["outputs"][0]["values"], json!(["0x2233"]));
        }
    }
}

/// No gates, no inputs: only the outputs' masks are opened, and no bucket can be bad.
#[test]
fn a_circuit_without_gates_or_inputs_gives_its_constants() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "one.txt", "1 1\n0\n1 1\n\n1 1 1 0 EQ\n");
    let text = "protocol = \"lego\"\ncircuit = \"one.txt\"\n[[output]]\nto = [0, 1]\n";
    let report = run_text(folder.path(), text, &["--json"]).json();
    assert_eq!(report["outputs"][0]["values"], json!(["0x1"]));
    assert!(report["error_log2"].as_f64().unwrap() < -39.0);
}

/// A number of `digits` hexadecimal digits that depends on the input and the lane.
fn number(input: usize, lane: usize, digits: usize) -> String {
    let mut state = (input as u64 + 1) << 32 | lane as u64;
    let digit = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from_digit((state >> 60) as u32, 16).unwrap()
    };
    (0..digits).map(digit).collect()
}

/// The values of the only output of a circuit in a file under this protocol.
fn outputs(protocol: &str, circuit: &Path, digits: usize, lanes: usize) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut text = format!("protocol = \"{protocol}\"\ncircuit = {circuit:?}\n");
    for input in 0..2 {
        let lines: String = (0..lanes)
            .map(|lane| format!("0x{}\n", number(input, lane, digits)))
            .collect();
        write(folder.path(), &format!("{input}.csv"), &lines);
        text += &format!("[[input]]\nparty = {input}\nfile = \"{input}.csv\"\n");
    }
    text += "[[output]]\nto = [0, 1]\n";
    let report = run_text(folder.path(), &text, &["--json"]).json();
    assert_eq!(report["lanes"], json!(lanes));
    report["outputs"][0]["values"].clone()
}

fn check_same(circuit: &Path, digits: usize, lanes: [usize; 2]) {
    for lanes in lanes {
        let two = outputs("lego", circuit, digits, lanes);
        assert_eq!(two.as_array().unwrap().len(), lanes);
        let three = outputs("three", circuit, digits, lanes);
        assert_eq!(two, three, "{} {lanes}", circuit.display());
    }
}

/// Published circuits give the same with two parties as with three, whose results are compared with independent
/// implementations elsewhere.
#[test]
fn published_circuits_give_the_same_as_with_three_parties() {
    for (file, digits, lanes) in [
        ("bristol-fashion/adder64.txt", 16, [1, 300]),
        ("bristol-fashion/aes_128.txt", 32, [1, 20]),
    ] {
        let Some(circuit) = published(file) else { continue };
        check_same(&circuit, digits, lanes);
    }
}

#[test]
fn files_of_our_own_give_the_same_as_with_three_parties() {
    let folder = tempfile::tempdir().unwrap();
    for (name, digits, lanes) in [("add64", 16, [1, 300]), ("aes128", 32, [1, 4])] {
        let circuit = own_circuit(folder.path(), name, "fashion");
        check_same(&circuit, digits, lanes);
    }
}

/// FIPS 197, Appendix C.1, through the library's circuit.
#[test]
fn aes_of_the_standard() {
    let folder = tempfile::tempdir().unwrap();
    let text = "protocol = \"lego\"\ncircuit = \"lib:aes128\"\n\
                [[input]]\nparty = 0\nhex = \"000102030405060708090a0b0c0d0e0f\"\n\
                [[input]]\nparty = 1\nhex = \"00112233445566778899aabbccddeeff\"\n[[output]]\nto = [1]\n";
    let ended = run_text(folder.path(), text, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for part in [
        "0x69c4e0d86a7b0430d8cdb78070b4c55a",
        "lego, party 0 garbles, error 2^-",
    ] {
        assert!(ended.stdout.contains(part), "{}", ended.stdout);
    }
}

#[test]
fn parties_meet_over_tls_with_their_own_inputs_only() {
    let world = World::two();
    for settings in ["", "garbler = 1\nworkers = 2\n"] {
        let header = format!("{settings}{HEADER}");
        let jobs = world.jobs([&header; 2]);
        let reports = world.run(paths(&jobs), &["--json"]).map(|ended| ended.json());
        for (party, report) in reports.iter().enumerate() {
            assert_eq!(report["outputs"][0]["values"], json!(["0x1234", "0x1234"]));
            assert_eq!(report["parties"][0]["party"].as_u64(), Some(party as u64));
            assert_eq!(report["transport"], "tls");
        }
    }
}

#[test]
fn a_party_of_three_can_be_one_of_two() {
    let three = World::three();
    let jobs: [_; 2] = [0, 1].map(|party| {
        let own = if party == 0 { "hex = \"ff\"\n" } else { "" };
        let text = format!(
            "protocol = \"lego\"\ncircuit = \"lib:add8\"\nlanes = 1\n[[input]]\nparty = 0\n{own}[[input]]\nparty = 1\n{}\
             [[output]]\nto = [1]\n",
            if party == 1 { "hex = \"2\"\n" } else { "" }
        );
        write(three.folder.path(), &format!("two{party}.toml"), &text)
    });
    let children = [0, 1].map(|party| three.start(party, &jobs[party], &["--json"]));
    let [zero, one] = children.map(finish).map(|ended| ended.json());
    assert_eq!(zero["outputs"][0]["values"], Value::Null);
    assert_eq!(one["outputs"][0]["values"], json!(["0x01"]));
    // Party 2 has no part in it, and two parties cannot run a job of three.
    finish(three.start(2, &jobs[0], &["--check"]))
        .failed(2, &["protocol \"lego\" has 2 parties, 0 and 1", "of party 2"]);
    let two = World::two();
    let job = three.job(0, HEADER);
    finish(two.start(0, &job, &["--check"])).failed(
        2,
        &[
            "protocol \"three\" has 3 parties",
            "party 2 is missing; add a [[peer]]",
        ],
    );
}

#[test]
fn differences_between_the_jobs_are_named_by_both() {
    let world = World::two();
    let differ = |headers: [&str; 2], field: &str| {
        let jobs = world.jobs(headers);
        for (party, ended) in world.run(paths(&jobs), &[]).iter().enumerate() {
            ended.failed(
                2,
                &[&format!("party {} disagrees on {field}", 1 - party), "same job"],
            );
        }
    };
    for (setting, field) in [
        ("garbler = 1", "garbler"),
        ("security = 30", "security"),
        ("workers = 2", "workers"),
    ] {
        differ([HEADER, &format!("{setting}\n{HEADER}")], field);
    }
    differ([HEADER, "circuit = \"lib:sub16\"\nlanes = 2"], "circuit");
    differ([HEADER, "circuit = \"lib:add16\"\nlanes = 3"], "lanes");
}

/// The parties do not even meet in the same session.
#[test]
fn another_protocol_at_one_party_is_noticed() {
    let world = World::three();
    (0..3).for_each(|party| world.configure(party, &world.fingerprints, 8.0));
    let jobs = world.jobs([HEADER; 3]);
    let text = std::fs::read_to_string(&jobs[1]).unwrap();
    let two = text
        .replace("protocol = \"three\"", "protocol = \"lego\"")
        .replace("to = [1, 2]", "to = [1]");
    write(world.folder.path(), "job1.toml", &two);
    let [zero, one, two] = world.run(paths(&jobs), &[]);
    zero.failed(2, &["party 1 disagrees on protocol: here three, there another"]);
    one.failed(2, &["party 0 disagrees on protocol: here lego, there another"]);
    // It may find party 1 gone already.
    assert!(matches!(two.code, Some(2 | 3)), "{}", two.stderr);
}

#[test]
fn a_wrong_fingerprint_is_refused() {
    let world = World::two();
    let stranger = identity(world.folder.path(), "stranger.pem");
    let mut believed = world.fingerprints.clone();
    believed[1] = stranger;
    world.configure(0, &believed, 8.0);
    world.configure(1, &world.fingerprints, 8.0);
    let jobs = world.jobs([HEADER; 2]);
    let [zero, one] = world.run(paths(&jobs), &[]);
    zero.failed(3, &[&world.fingerprints[1]]);
    one.failed(3, &["party 0"]);
}

#[test]
fn a_party_lost_in_the_middle_is_named_by_the_other() {
    for lost in [0, 1] {
        let world = World::two();
        // Long enough that no machine is done before the party is killed.
        let jobs = world.jobs(["circuit = \"lib:mult64\"\nlanes = 3000"; 2]);
        let mut children = [0, 1].map(|party| world.start(party, &jobs[party], &["-v"]));
        let mut log = std::io::BufReader::new(children[lost].stderr.take().unwrap());
        let mut line = String::new();
        wait_until("the session", || {
            line.clear();
            std::io::BufRead::read_line(&mut log, &mut line).unwrap();
            line.contains("session started")
        });
        std::thread::sleep(std::time::Duration::from_millis(300));
        children[lost].kill().unwrap();
        let killed = Instant::now();
        for (party, child) in children.into_iter().enumerate() {
            let ended = finish(child);
            if party != lost {
                ended.failed(3, &[&format!("party {lost}"), "step \""]);
            }
        }
        assert!(killed.elapsed().as_secs() < 50, "the timeout is 60 seconds");
    }
}

#[test]
fn the_party_file_of_two_works_once_filled_in() {
    let world = World::two();
    for party in 0..2 {
        let config = world.folder.path().join(format!("new{party}.toml"));
        let made = run(cenote()
            .args([
                "identity",
                "new",
                "--parties",
                "2",
                "--party",
                &party.to_string(),
                "--file",
            ])
            .arg(world.folder.path().join(format!("new{party}.pem")))
            .arg("--config")
            .arg(&config));
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let template = std::fs::read_to_string(&config).unwrap();
        let text = template.replacen(
            "\"FILL IN\"",
            &format!("\"{}\"", world.fingerprints[1 - party]),
            1,
        );
        assert!(!text.contains("\"FILL IN\""), "{text}");
        write(world.folder.path(), &format!("party{party}.toml"), &text);
        let job = world.job(party, HEADER);
        let ended = finish(world.start(party, &job, &["--check"]));
        assert_eq!(ended.code, Some(0), "{}\n{text}", ended.stderr);
    }
    run(cenote().args([
        "identity",
        "new",
        "--parties",
        "2",
        "--party",
        "2",
        "--file",
        "/nowhere/x",
    ]))
    .failed(2, &["there is no party 2 of 2"]);
}

#[test]
fn stock_is_made_shown_used_and_used_up() {
    let world = World::two();
    let jobs = world.jobs([HEADER; 2]);
    let refused = world.run(paths(&jobs), &["--online"]);
    refused.iter().for_each(|ended| ended.failed(2, &["stock_key"]));
    world.add_stock();
    let refused = world.run(paths(&jobs), &["--online"]);
    refused
        .iter()
        .for_each(|ended| ended.failed(2, &[".key", "cenote stock make"]));
    for ended in world.make_stock(&jobs, &["--batches", "2"]) {
        ended.failed(2, &["no batches", "--runs or --and-gates"]);
    }
    let made = world
        .make_stock(&jobs, &["--runs", "2", "--json"])
        .map(|ended| ended.json());
    assert!(made[0]["lot"].is_string() && made[0]["lot"] == made[1]["lot"]);
    let gates = made[0]["and_gates"].as_u64().unwrap();
    for used in 0..=2 {
        let mut left = Vec::new();
        for (party, role) in ["garbler", "evaluator"].into_iter().enumerate() {
            let shown = world.show_stock(party).json();
            assert_eq!(shown["epochs"], json!([]));
            let mut lot = shown["lots"][0].clone();
            assert_eq!((&lot["lot"], &lot["role"]), (&made[0]["lot"], &json!(role)));
            assert!(lot["and_gates"].as_u64().unwrap() >= gates - used * gates / 2);
            assert!(lot["made"].as_u64().unwrap() > 1_600_000_000_000 && lot["security"] == 40);
            lot["made"].take();
            lot["role"].take();
            left.push(lot);
        }
        assert_eq!(left[0], left[1]);
        let text = world.stock(0, &["show"]).stdout;
        let row = text
            .lines()
            .find(|line| line.starts_with(&made[0]["lot"].as_str().unwrap()[..12]));
        let row = row.unwrap_or_else(|| panic!("{text}"));
        assert!(row.contains(" ago    garbler "), "{text}");
        if used == 2 {
            break;
        }
        for report in world
            .run(paths(&jobs), &["--online", "--json"])
            .map(|ended| ended.json())
        {
            assert_eq!(report["outputs"][0]["values"], json!(["0x1234", "0x1234"]));
            assert!(report["error_log2"].as_f64().unwrap() < -37.8);
            assert!(report["computational_bits"].as_f64().unwrap() > 115.0);
            assert_eq!(report["parameters"], Value::Null);
        }
    }
    // Whatever is left beyond what was asked for does not serve a job of this size.
    let large = world.jobs(["circuit = \"lib:add16\"\nlanes = 100000"; 2]);
    for ended in world.run(paths(&large), &["--online"]) {
        ended.failed(2, &["no lot of stored material has", "cenote stock make"]);
    }
    // One party from stock and the other not: they say so.
    let jobs = world.jobs([HEADER; 2]);
    let children = [0, 1].map(|party| {
        let more: &[&str] = if party == 1 { &[] } else { &["--online"] };
        world.start(party, &jobs[party], more)
    });
    for ended in children.map(finish) {
        ended.failed(2, &["disagrees on material", "from stock"]);
    }
}

#[test]
fn lots_are_removed_on_request() {
    let world = World::two();
    world.add_stock();
    let jobs = world.jobs([HEADER; 2]);
    let names: [String; 2] = ["--runs", "--and-gates"].map(|amount| {
        let [made, _] = world.make_stock(&jobs, &[amount, "50", "--json"]);
        made.json()["lot"].as_str().unwrap().to_owned()
    });
    let left = |party: usize| -> Vec<String> {
        let shown = world.show_stock(party).json();
        let lots = shown["lots"].as_array().unwrap().iter();
        lots.map(|lot| lot["lot"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(left(0), names);
    world
        .stock(0, &["drop", &names[0][..8], "abcdefgh"])
        .failed(2, &["in stock is called abcdefgh"]);
    world
        .stock(0, &["drop", &names[0][..4]])
        .failed(2, &["at least 8 digits"]);
    assert_eq!(left(0), names);
    let gone = world.stock(0, &["drop", "--json", &names[0][..8]]).json();
    assert_eq!(gone["lots"][0]["lot"], names[0].as_str());
    assert_eq!(left(0), names[1..]);
    // The peer still has both; they use the one that both have.
    for report in world
        .run(paths(&jobs), &["--online", "--json"])
        .map(|ended| ended.json())
    {
        assert_eq!(report["outputs"][0]["values"], json!(["0x1234", "0x1234"]));
    }
    let text = world.stock(1, &["drop", "--all"]).stdout;
    assert!(
        text.contains(&names[0][..12]) && text.contains(&names[1][..12]),
        "{text}"
    );
    assert!(left(1).is_empty());
}
