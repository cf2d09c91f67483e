//! Jobs with a circuit that are cut by their lanes.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Ended, cenote, finish, run, write};
use crate::workers::{Clusters, end_well};
use crate::world::World;

const LANES: usize = 300;

fn bit(party: usize, lane: usize) -> bool {
    lane * (party + 3) % 7 > 2
}

/// The inputs of party 0 and party 1, and a circuit of two outputs: both, and either but not both.
fn files(folder: &Path) {
    write(
        folder,
        "both.txt",
        "2 4\n2 1 1\n2 1 1\n\n2 1 0 1 2 AND\n2 1 0 1 3 XOR\n",
    );
    for party in [0, 1] {
        let lines: String = (0..LANES)
            .map(|lane| format!("{}\n", u8::from(bit(party, lane))))
            .collect();
        write(folder, &format!("bits{party}.txt"), &lines);
    }
}

/// Party 0 learns the first output, and all `parties` the second.
fn job(folder: &Path, parties: u8, head: &str) -> PathBuf {
    let to: Vec<u8> = (0..parties).collect();
    let text = format!(
        "circuit = \"both.txt\"\nlanes = {LANES}\n{head}\n[[input]]\nparty = 0\nfile = \"bits0.txt\"\n\
         [[input]]\nparty = 1\nfile = \"bits1.txt\"\n[[output]]\nto = [0]\n[[output]]\nto = {to:?}\n"
    );
    write(folder, "job.toml", &text)
}

fn values(of: impl Fn(bool, bool) -> bool) -> Value {
    let values = (0..LANES).map(|lane| format!("0x{}", u8::from(of(bit(0, lane), bit(1, lane)))));
    values.map(Value::from).collect()
}

/// What `party` learns, or all of them together.
fn has_outputs(ended: &Ended, party: usize) {
    let outputs = &ended.json()["outputs"];
    let both = match party {
        0 => values(|x, y| x && y),
        _ => Value::Null,
    };
    assert_eq!(outputs[0]["values"], both);
    assert_eq!(outputs[1]["values"], values(|x, y| x != y));
}

#[test]
fn a_circuit_in_shards_has_its_outputs() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    for (shards, parties, protocol) in [
        (1, 3, "three"),
        // The last has less lanes than the others.
        (5, 3, "three"),
    ] {
        let head = format!("protocol = \"{protocol}\"\nshards = {shards}");
        let job = job(folder.path(), parties, &head);
        let ended = run(cenote().arg("run").arg(&job).arg("--json"));
        has_outputs(&ended, 0);
        let report = ended.json();
        assert_eq!(report["lanes"], LANES);
        let name = report["circuit"]["name"].as_str().unwrap();
        assert!(name.ends_with(&format!(" in {shards} shards")), "{name}");
        for (peak, party) in (report["peak_memory_bytes"].as_array().unwrap().iter())
            .zip(report["parties"].as_array().unwrap())
        {
            let bound = party["memory_bound_bytes"].as_u64().unwrap();
            assert!(
                peak.as_u64().is_none_or(|peak| peak <= bound),
                "{peak} of {bound}"
            );
        }
    }
}

/// Two parties authenticate what they keep, lane by lane.
#[test]
fn two_parties_compute_lanes_in_shards() {
    let folder = tempfile::tempdir().unwrap();
    let text = "protocol = \"authenticated\"\ncircuit = \"lib:add8\"\nlanes = 70\nshards = 2\n[[input]]\nparty = 0\nhex = \"c8\"\n\
                [[input]]\nparty = 1\nhex = \"37\"\n[[output]]\nto = [1]\n";
    let job = write(folder.path(), "job.toml", text);
    let report = run(cenote().arg("run").arg(&job).arg("--json")).json();
    assert_eq!(report["outputs"][0]["values"], Value::from(vec!["0xff"; 70]));
}

#[test]
fn a_circuit_that_cannot_be_cut_so_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    for (head, told) in [
        ("shards = 4", "300 lanes fill 3 only"),
        ("shards = 0", "`shards` is 1 or more"),
        ("attempts = 5", "give `shards` too"),
        ("shards = 2\nattempts = 2", "`attempts` is 3 to"),
        (
            "protocol = \"lego\"\nshards = 2",
            "each session needs a security of",
        ),
    ] {
        let job = job(folder.path(), 2, head);
        run(cenote().arg("run").arg(&job)).failed(2, &[told]);
    }
    let text = std::fs::read_to_string(job(folder.path(), 2, "shards = 2")).unwrap();
    let keeps = write(
        folder.path(),
        "keeps.toml",
        &text.replace("to = [0]", "keep = \"both\""),
    );
    run(cenote().arg("run").arg(&keeps)).failed(2, &["takes or keeps values is not cut"]);
}

#[test]
fn a_plan_tells_how_lanes_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let job = job(folder.path(), 3, "protocol = \"three\"\nshards = 5\nattempts = 9");
    let plan = run(cenote().arg("plan").arg(&job).arg("--json")).json();
    let shards = &plan["shards"];
    assert_eq!((&shards["shards"], &shards["attempts"]), (&5.into(), &9.into()));
    assert_eq!(
        (&shards["lanes"], &shards["shard_and_gates"]),
        (&64.into(), &64.into())
    );
    assert_eq!(plan["and_gates"], 320);
    let told = run(cenote().arg("plan").arg(&job));
    assert!(told.stdout.contains("5, at most 9 attempts"), "{}", told.stdout);
}

/// Memory for all lanes at once is not there, and that for some of them is.
#[test]
fn a_plan_proposes_shards_for_lanes_that_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let text = "protocol = \"three\"\ncircuit = \"lib:lt64\"\nlanes = 4000000\n[[input]]\nparty = 0\nhex = \"1\"\n\
                [[input]]\nparty = 1\nhex = \"2\"\n[[output]]\nto = [2]\n";
    let job = write(folder.path(), "job.toml", text);
    let plan = run(cenote().arg("plan").arg(&job).args(["--memory", "600"]));
    assert!(plan.stderr.contains("With `shards = "), "{}", plan.stderr);
}

#[test]
fn parties_compute_shards_of_a_circuit_and_compare_how_many_there_are() {
    let world = World::three();
    files(world.folder.path());
    let text = std::fs::read_to_string(job(world.folder.path(), 3, "shards = 5")).unwrap();
    let cut = write(world.folder.path(), "cut.toml", &text);
    for (party, ended) in (0..).zip(world.run([&cut; 3], &["--json"])) {
        has_outputs(&ended, party);
    }
    let left = std::fs::read_dir(world.folder.path().join("shards-0"));
    assert_eq!(left.map_or(0, Iterator::count), 0);
    let other = write(
        world.folder.path(),
        "other.toml",
        &text.replace("shards = 5", "shards = 3"),
    );
    let ended = world.run([&cut, &cut, &other], &[]);
    ended[0].failed(2, &["party 2"]);
    ended[2].failed(2, &["party 0"]);
    let whole = job(world.folder.path(), 3, "");
    let coordinated = world.start(0, &whole, &["--coordinate", "127.0.0.1:0"]);
    finish(coordinated).failed(2, &["the job is not cut into shards"]);
    let online = world.start(0, &cut, &["--online"]);
    finish(online).failed(2, &["--online"]);
}

/// Workers have the job file and none of the inputs: those of a shard their coordinator has placed.
#[test]
fn workers_compute_shards_of_a_circuit() {
    let head = "shards = 5\nattempts = 30";
    let clusters = Clusters::of(|folder| {
        files(folder);
        job(folder, 3, head)
    });
    let coordinators = [0, 1, 2].map(|party| clusters.coordinator(party));
    let elsewhere = clusters.world.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    files(&elsewhere);
    for party in [0, 1] {
        std::fs::remove_file(elsewhere.join(format!("bits{party}.txt"))).unwrap();
    }
    let clusters = Clusters {
        job: job(&elsewhere, 3, head),
        ..clusters
    };
    let workers = [0, 1, 2, 0, 1, 2].map(|party| clusters.worker(party));
    for (party, ended) in (0..).zip(coordinators.map(finish)) {
        has_outputs(&ended, party);
    }
    end_well(workers);
    let left = std::fs::read_dir(clusters.world.folder.path().join("shards0"));
    assert_eq!(left.map_or(0, Iterator::count), 0, "all is removed in the end");
}
