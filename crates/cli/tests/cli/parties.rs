//! `cenote party`: three parties that know each other by address and fingerprint.

use std::time::Instant;

use crate::common::{cenote, finish, run, wait_until, write};
use crate::world::{World, identity, paths};

const HEADER: &str = "circuit = \"lib:add16\"\nlanes = 2";
/// The same with triples.
const ON_DEMAND: &str = "variant = \"on-demand\"\ncircuit = \"lib:add16\"\nlanes = 2";

#[test]
fn parties_need_their_own_inputs_only_and_learn_their_own_outputs_only() {
    let world = World::three();
    let jobs = world.jobs([HEADER; 3]);
    let reports = world.run(paths(&jobs), &["--json"]).map(|ended| ended.json());
    assert_eq!(reports[0]["outputs"][0]["values"], serde_json::Value::Null);
    for report in &reports[1..] {
        assert_eq!(
            report["outputs"][0]["values"],
            serde_json::json!(["0x1234", "0x1234"])
        );
    }
    for (party, report) in reports.iter().enumerate() {
        assert_eq!(report["parties"][0]["party"].as_u64(), Some(party as u64));
        assert_eq!(report["bytes_sent"].as_array().unwrap().len(), 1);
        assert_eq!(report["transport"], "tls");
    }
}

#[test]
fn check_meets_nobody() {
    let world = World::three();
    let jobs = world.jobs([HEADER; 3]);
    let ended = finish(world.start(1, &jobs[1], &["--check"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("party 1 is ready") && ended.stdout.contains(&world.fingerprints[1]),
        "{}",
        ended.stdout
    );
    // Party 0's job has no value for party 1.
    finish(world.start(1, &jobs[0], &["--check"]))
        .failed(2, &["job0.toml, line", "the input of party 1 has no value here"]);
    let unstated = world.job(1, "circuit = \"lib:add16\"");
    finish(world.start(1, &unstated, &["--check"])).failed(2, &["`lanes` is missing"]);
}

/// A party that waits for others says for whom, where, and until when.
#[test]
fn missing_peers_are_told_of() {
    let world = World::three();
    let jobs = world.jobs([HEADER; 3]);
    world.configure(1, &world.fingerprints, 13.0);
    let ended = finish(world.start(1, &jobs[1], &[]));
    let address = &world.addresses[0];
    for whom in [
        &format!("waiting for party 0 at {address} (connecting), at most "),
        "waiting for party 2 to connect to this party, at most ",
    ] {
        let mut lines = ended.stderr.lines();
        let left = lines.find_map(|line| line.strip_prefix(whom)?.strip_suffix(" s more")?.parse().ok());
        // The line comes after three seconds, or later.
        assert!(
            left.is_some_and(|left| (1..=10).contains(&left)),
            "{}",
            ended.stderr
        );
    }
    ended.failed(3, &["timed out"]);
}

#[cfg(unix)]
#[test]
fn a_job_with_secrets_that_others_may_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::three();
    let jobs = world.jobs([HEADER; 3]);
    let warned = |party: usize, mode| {
        std::fs::set_permissions(&jobs[party], std::fs::Permissions::from_mode(mode)).unwrap();
        let ended = finish(world.start(party, &jobs[party], &["--check"]));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let name = format!("job{party}.toml");
        ended.stderr.contains("may be read by others") && ended.stderr.contains(&name)
    };
    assert!(warned(0, 0o644) && warned(1, 0o640));
    assert!(!warned(0, 0o600));
    assert!(!warned(2, 0o644), "there is no value in it");
}

/// Where an output cannot be written, nobody is met.
#[test]
fn an_output_that_cannot_be_written_is_noticed_before_the_peers_are_met() {
    let world = World::three();
    let text = std::fs::read_to_string(world.job(1, HEADER)).unwrap();
    for (file, why) in [
        ("nowhere/sum.csv", "nowhere/sum.csv: cannot be written"),
        ("folder", "is not a regular file"),
    ] {
        std::fs::create_dir_all(world.folder.path().join("folder")).unwrap();
        let job = write(
            world.folder.path(),
            "job.toml",
            &format!("{text}file = \"{file}\"\n"),
        );
        finish(world.start(1, &job, &["--check"])).failed(5, &[why]);
        // Party 0 learns nothing, so it writes nothing.
        let not_mine = std::fs::read_to_string(world.job(0, HEADER)).unwrap();
        let job = write(
            world.folder.path(),
            "job.toml",
            &format!("{not_mine}file = \"{file}\"\n"),
        );
        assert_eq!(finish(world.start(0, &job, &["--check"])).code, Some(0));
    }
    let left: Vec<_> = std::fs::read_dir(world.folder.path().join("folder"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_wrong_fingerprint_is_refused_on_both_sides() {
    let world = World::three();
    let stranger = identity(world.folder.path(), "stranger.pem");
    let mut believed = world.fingerprints.clone();
    believed[2] = stranger;
    world.configure(0, &believed, 8.0);
    world.configure(1, &world.fingerprints, 8.0);
    world.configure(2, &world.fingerprints, 8.0);
    let jobs = world.jobs([HEADER; 3]);
    let ended = world.run(paths(&jobs), &[]);
    ended[0].failed(3, &[&world.fingerprints[2]]);
    ended[2].failed(3, &["party 0"]);
    assert_eq!(ended[1].code, Some(3), "{}", ended[1].stderr);
}

#[test]
fn a_missing_peer_is_named() {
    let world = World::three();
    (0..3).for_each(|party| world.configure(party, &world.fingerprints, 8.0));
    let jobs = world.jobs([HEADER; 3]);
    let begun = Instant::now();
    let children = [0, 1].map(|party| world.start(party, &jobs[party], &[]));
    for ended in children.map(finish) {
        ended.failed(3, &["waiting for party 2", "connect", "what to do"]);
    }
    assert!(begun.elapsed().as_secs() < 60);
}

/// Every difference is told at all parties; the two that agree name the third.
fn differ(headers: [&str; 3], field: &str) {
    let world = World::three();
    let jobs = world.jobs(headers);
    let ended = world.run(paths(&jobs), &[]);
    for (party, odd) in [(0, "party 1"), (1, "party 0"), (2, "party 1")] {
        ended[party].failed(2, &[&format!("{odd} disagrees on {field}"), "same job"]);
    }
}

#[test]
fn another_circuit_at_one_party_is_noticed() {
    differ([HEADER, "circuit = \"lib:sub16\"\nlanes = 2", HEADER], "circuit");
}

#[test]
fn other_parameters_at_one_party_are_noticed() {
    differ([HEADER, &format!("security = 50\n{HEADER}"), HEADER], "security");
    differ([HEADER, ON_DEMAND, HEADER], "variant");
    differ(
        [HEADER, &format!("view_check = \"sha256\"\n{HEADER}"), HEADER],
        "view check",
    );
    differ([HEADER, "circuit = \"lib:add16\"\nlanes = 3", HEADER], "lanes");
}

/// The parties do not even agree on how many connections they need.
#[test]
fn another_number_of_workers_at_one_party_is_noticed() {
    let world = World::three();
    let two = format!("workers = 2\n{HEADER}");
    for odd in 0..3 {
        let mut headers = [HEADER; 3];
        headers[odd] = &two;
        let jobs = world.jobs(headers);
        for (party, ended) in world.run(paths(&jobs), &[]).iter().enumerate() {
            let told = if party == odd {
                "disagrees on workers: here 2, there 1".to_owned()
            } else {
                format!("party {odd} disagrees on workers: here 1, there 2")
            };
            ended.failed(2, &[&told, "same job"]);
        }
    }
}

#[test]
fn a_party_lost_in_the_middle_is_named_by_the_others() {
    let world = World::three();
    // Long enough that no machine is done before the party is killed.
    let jobs = world.jobs(["circuit = \"lib:mult64\"\nlanes = 1000000"; 3]);
    let mut children = [0, 1, 2].map(|party| world.start(party, &jobs[party], &["-v"]));
    let mut log = std::io::BufReader::new(children[1].stderr.take().unwrap());
    let mut line = String::new();
    wait_until("the session", || {
        line.clear();
        std::io::BufRead::read_line(&mut log, &mut line).unwrap();
        line.contains("session started")
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    children[1].kill().unwrap();
    let killed = Instant::now();
    let [zero, mut one, two] = children;
    one.wait().unwrap();
    for ended in [finish(zero), finish(two)] {
        ended.failed(3, &["party 1", "step \""]);
    }
    assert!(killed.elapsed().as_secs() < 50, "the timeout is 60 seconds");
}

#[test]
fn identities_are_not_overwritten_and_party_files_are_checked() {
    let world = World::three();
    let file = world.folder.path().join("0.pem");
    run(cenote().args(["identity", "new", "--file"]).arg(&file)).failed(2, &["0.pem"]);
    run(cenote().args(["identity", "show", "--file", "/nowhere/i.pem"])).failed(2, &["/nowhere/i.pem"]);
    let jobs = world.jobs([HEADER; 3]);
    let good = std::fs::read_to_string(world.folder.path().join("party0.toml")).unwrap();
    for (from, to, parts) in [
        (
            "timeout = 60",
            "timeouts = 60",
            &["party0.toml, line 4", "unknown field `timeouts`"][..],
        ),
        (
            "timeout = 60",
            "timeout = -60",
            &["party0.toml, line 4", "number of seconds"],
        ),
        (
            "party = 0",
            "party = 7",
            &["party0.toml, line 1", "there is no party 7"],
        ),
        (
            "party = 1\n",
            "party = 0\n",
            &["party0.toml, line 7", "this party itself"],
        ),
        (
            "party = 1\n",
            "party = 2\n",
            &["party0.toml, line 11", "listed twice"],
        ),
        ("0.pem", "1.csv", &["1.csv", "cenote identity new"]),
        (
            &world.addresses[0],
            "nowhere",
            &["party0.toml, line 3", "host:port"],
        ),
        (
            &world.fingerprints[1],
            "abc",
            &["party0.toml, line 9", "64 hexadecimal digits"],
        ),
    ] {
        assert!(good.contains(from));
        write(world.folder.path(), "party0.toml", &good.replacen(from, to, 1));
        finish(world.start(0, &jobs[0], &["--check"])).failed(2, parts);
    }
}

#[test]
fn the_party_file_that_is_written_works_once_filled_in() {
    let world = World::three();
    for party in 0..3 {
        let config = world.folder.path().join(format!("party{party}.toml"));
        let number = party.to_string();
        let make = || {
            let key = world.folder.path().join(format!("new{party}.pem"));
            run(cenote()
                .args(["identity", "new", "--party", &number, "--file"])
                .arg(key)
                .arg("--config")
                .arg(&config))
        };
        // Nothing is written where there is a party file.
        make().failed(2, &["is there already"]);
        std::fs::remove_file(&config).unwrap();
        let made = make();
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let mut text = std::fs::read_to_string(&config).unwrap();
        for peer in (0..3).filter(|&peer| peer != party) {
            text = text.replacen("\"FILL IN\"", &format!("\"{}\"", world.fingerprints[peer]), 1);
        }
        write(world.folder.path(), &format!("party{party}.toml"), &text);
        let job = world.job(party, HEADER);
        let ended = finish(world.start(party, &job, &["--check"]));
        assert_eq!(ended.code, Some(0), "{}\n{text}", ended.stderr);
    }
}

#[test]
fn parties_that_prove_their_gates_need_no_stock() {
    let world = World::three();
    world.add_stock();
    let jobs = world.jobs([HEADER; 3]);
    let ended = world.make_stock(&jobs, &[]).into_iter();
    for ended in ended.chain(world.run(paths(&jobs), &["--online"])) {
        ended.failed(2, &["takes nothing from stock", "variant = \"on-demand\""]);
    }
}

#[test]
fn stock_is_made_shown_used_and_used_up() {
    let world = World::three();
    let jobs = world.jobs([ON_DEMAND; 3]);
    let refused = world.run(paths(&jobs), &["--online"]);
    refused.iter().for_each(|ended| ended.failed(2, &["stock_key"]));
    world.add_stock();
    // Nothing is made by those who only look.
    world
        .show_stock(0)
        .failed(2, &["stock0.key", "cenote stock make"]);
    let made = world
        .make_stock(&jobs, &["--runs", "2", "--json"])
        .map(|ended| ended.json());
    assert!(made.iter().all(|party| party["epoch"] == made[0]["epoch"]));
    let batches = made[0]["batches"].as_u64().unwrap();
    // It draws from one batch and replaces from another.
    assert_eq!(batches, 4);
    for left in [4, 2, 0] {
        for party in 0..3 {
            let shown = world.show_stock(party).json();
            let epochs = shown["epochs"].as_array().unwrap();
            let found: u64 = epochs
                .iter()
                .map(|epoch| epoch["batches"].as_u64().unwrap())
                .sum();
            assert_eq!(found, left, "party {party}: {shown}");
            assert!(
                epochs
                    .iter()
                    .all(|epoch| epoch["epoch"] == made[party]["epoch"] && epoch["epoch"] == made[0]["epoch"])
            );
        }
        let ended = world.run(paths(&jobs), &["--online", "--json"]);
        if left == 0 {
            for ended in ended {
                ended.failed(2, &["needs 2 batches", "cenote stock make"]);
            }
            break;
        }
        let reports = ended.map(|ended| ended.json());
        for report in &reports[1..] {
            assert_eq!(
                report["outputs"][0]["values"],
                serde_json::json!(["0x1234", "0x1234"])
            );
        }
    }
    // A key that was lost is not replaced by another.
    std::fs::remove_file(world.folder.path().join("stock1.key")).unwrap();
    let [_, one, _] = world.make_stock(&jobs, &[]);
    one.failed(2, &["stock1.key", "put the key back"]);
}

#[test]
fn only_some_parties_online_is_noticed() {
    let world = World::three();
    world.add_stock();
    let jobs = world.jobs([ON_DEMAND; 3]);
    for ended in world.make_stock(&jobs, &["--batches", "2"]) {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stdout.contains("batches         2"), "{}", ended.stdout);
    }
    let children = [0, 1, 2].map(|party| {
        let more: &[&str] = if party == 1 { &[] } else { &["--online"] };
        world.start(party, &jobs[party], more)
    });
    for ended in children.map(finish) {
        ended.failed(2, &["material", "from stock"]);
    }
    let shown = world.show_stock(0).json();
    assert_eq!(shown["epochs"][0]["batches"], 2);
}

/// What a peer has lost is told of and can be removed; so can anything else, by name.
#[test]
fn stock_is_removed_on_request() {
    let world = World::three();
    world.add_stock();
    let jobs = world.jobs([ON_DEMAND; 3]);
    let mut names = Vec::new();
    for _ in 0..4 {
        let [made, ..] = world.make_stock(&jobs, &["--batches", "2", "--json"]);
        names.push(made.json()["epoch"].as_str().unwrap().to_owned());
    }
    let epoch = |party: usize, name: &str| world.folder.path().join(format!("stock{party}")).join(name);
    std::fs::remove_dir_all(epoch(2, &names[0])).unwrap();
    std::fs::write(epoch(0, &names[1]).join("item"), b"damaged").unwrap();
    for ended in world.run(paths(&jobs), &["--online"]) {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let shown = world.show_stock(0).json();
    let left = |shown: &serde_json::Value| -> Vec<(String, serde_json::Value)> {
        let epochs = shown["epochs"].as_array().unwrap().iter();
        epochs
            .map(|epoch| {
                (
                    epoch["epoch"].as_str().unwrap().to_owned(),
                    epoch["lacked_by"].clone(),
                )
            })
            .collect()
    };
    let (none, two) = (serde_json::json!([]), serde_json::json!([2]));
    assert_eq!(
        left(&shown),
        [(names[0].clone(), two), (names[3].clone(), none.clone())]
    );
    assert_eq!(shown["unusable"][0]["item"], names[1].as_str());
    let text = world.stock(0, &["show"]).stdout;
    assert!(
        text.contains("party 2 did not have it") && text.contains("cannot be used"),
        "{text}"
    );
    let shown = world.show_stock(1).json();
    assert_eq!(left(&shown)[1], (names[1].clone(), serde_json::json!([0])));

    world.stock(0, &["drop"]).failed(2, &["--orphans", "--all"]);
    world
        .stock(0, &["drop", "--all", &names[3]])
        .failed(2, &["--all"]);
    world
        .stock(0, &["drop", "abcdefgh"])
        .failed(2, &["no epoch", "abcdefgh"]);
    world
        .stock(0, &["drop", &names[3][..4]])
        .failed(2, &["too short"]);
    assert_eq!(left(&world.show_stock(0).json()).len(), 2);

    // One peer's word alone deletes nothing.
    let gone = world.stock(0, &["drop", "--orphans", "--json"]);
    assert!(
        gone.stderr.contains(&names[0][..12]) && gone.stderr.contains("--yes"),
        "{}",
        gone.stderr
    );
    let gone = gone.json();
    assert_eq!(gone["epochs"], serde_json::json!([]));
    assert_eq!(gone["unusable"][0]["item"], names[1].as_str());
    assert_eq!(left(&world.show_stock(0).json()).len(), 2);
    let gone = world.stock(0, &["drop", "--orphans", "--yes", "--json"]).json();
    assert_eq!(gone["epochs"][0]["epoch"], names[0].as_str());
    assert!(!epoch(0, &names[1]).exists());
    assert_eq!(left(&world.show_stock(0).json()), [(names[3].clone(), none)]);
    let text = world.stock(0, &["drop", &names[3][..8]]).stdout;
    assert!(
        text.contains(&names[3][..12]) && text.contains("removed in"),
        "{text}"
    );
    let text = world.stock(0, &["drop", "--all"]).stdout;
    assert!(text.contains("nothing removed"), "{text}");
    let gone = world.stock(1, &["drop", "--all", "--json"]).json();
    assert_eq!(gone["epochs"].as_array().unwrap().len(), 3);
    assert!(left(&world.show_stock(1).json()).is_empty());
}

/// A party file's limit holds for the session of a job, and for the making of stock.
#[test]
fn a_phase_has_the_limit_of_the_party_file() {
    let world = World::three();
    world.add_stock();
    let file = world.folder.path().join("party0.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("phase_timeout = 0.001\n{text}")).unwrap();
    let job = format!("security = 128\n{ON_DEMAND}");
    let jobs = world.jobs([job.as_str(); 3]);
    let [impatient, ..] = world.run(paths(&jobs), &[]);
    impatient.failed(3, &["the time for the ", "is over", "party", "phase_timeout"]);
    let [impatient, ..] = world.make_stock(&jobs, &[]);
    impatient.failed(3, &["the time for the ", "is over", "party", "phase_timeout"]);
}
