//! Queries that are cut into shards: on one machine, between parties, and by workers that may be killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::Value;

use crate::common::{Ended, addresses, cenote, finish, run, start, wait_until, write};
use crate::world::World;

/// Orders of party 0 and items of party 1, some of which are of no order.
fn tables(folder: &Path) {
    let orders: String = (0..120).map(|id| format!("{},{}\n", 3 * id, id % 5)).collect();
    let items: String = (0..240)
        .map(|item| format!("{},{}\n", item % 180, item * 7 % 100))
        .collect();
    write(folder, "orders.csv", &format!("id,region\n{orders}"));
    write(folder, "items.csv", &format!("of,price\n{items}"));
}

/// What the answer is: sums of the prices of items by the region of their orders.
fn expected() -> Value {
    let mut sums = [0u64; 5];
    let mut counts = [0u64; 5];
    for item in 0..240u64 {
        let of = item % 180;
        if of % 3 == 0 && of / 3 < 120 {
            sums[(of / 3 % 5) as usize] += item * 7 % 100;
            counts[(of / 3 % 5) as usize] += 1;
        }
    }
    let rows = (0..5usize).map(|region| {
        let cells = [
            region.to_string(),
            counts[region].to_string(),
            sums[region].to_string(),
        ];
        Value::from(cells.to_vec())
    });
    rows.collect()
}

fn job(folder: &Path, name: &str, head: &str) -> PathBuf {
    let text = format!(
        "{head}
query = \"SELECT region, COUNT(*), SUM(price) FROM orders JOIN items ON id = of GROUP BY region ORDER BY region\"

[answer]
to = [0, 1, 2]
max_rows = 5

[[table]]
name = \"orders\"
party = 0
file = \"orders.csv\"
columns = {{ id = \"u32 not null\", region = \"u8 not null\" }}
max_rows = 130
unique = [\"id\"]
distinct = {{ region = 5 }}

[[table]]
name = \"items\"
party = 1
file = \"items.csv\"
columns = {{ of = \"u32 not null\", price = \"u16 not null\" }}
max_rows = 250
at_most = {{ of = 2 }}
"
    );
    write(folder, name, &text)
}

fn rows(ended: &Ended) -> Value {
    ended.json()["answer"]["rows"].clone()
}

#[test]
fn a_query_in_shards_has_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    for head in ["", "shards = 1", "shards = 4", "shards = 2\nattempts = 9"] {
        let job = job(folder.path(), "job.toml", head);
        let ended = run(cenote().arg("run").arg(&job).arg("--json"));
        assert_eq!(rows(&ended), expected(), "{head}");
        let name = &ended.json()["circuit"]["name"];
        let told = match head.split_whitespace().nth(2) {
            None => "query".to_owned(),
            Some(shards) => format!("query in {shards} shards"),
        };
        assert_eq!(name, &told);
    }
}

/// Two parties authenticate what they keep, row by row.
#[test]
fn two_parties_compute_shards() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let text = std::fs::read_to_string(job(folder.path(), "three.toml", "shards = 2")).unwrap();
    for protocol in ["authenticated", "jimu"] {
        let text = text.replace("to = [0, 1, 2]", "to = [1]");
        let job = write(
            folder.path(),
            "job.toml",
            &format!("protocol = \"{protocol}\"\n{text}"),
        );
        let ended = run(cenote().arg("run").arg(&job).arg("--json"));
        assert_eq!(rows(&ended), expected(), "{protocol}");
    }
}

/// Each shard keeps groups and a part of the total.
#[test]
fn groups_meet_their_total() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let text = std::fs::read_to_string(job(folder.path(), "all.toml", "")).unwrap();
    let text = text.replace("to = [0, 1, 2]", "to = [1]").replace(
        "ORDER BY",
        "HAVING SUM(price) > (SELECT SUM(price) * 0.07 FROM items) ORDER BY",
    );
    let answer = |head: &str| {
        let job = write(folder.path(), "job.toml", &format!("{head}\n{text}"));
        rows(&run(cenote().arg("run").arg(&job).arg("--json")))
    };
    let whole = answer("");
    let found = whole.as_array().map(Vec::len);
    assert!(found.is_some_and(|rows| (1..5).contains(&rows)), "{whole}");
    for protocol in ["three", "authenticated"] {
        let head = format!("protocol = \"{protocol}\"\nshards = 4");
        assert_eq!(answer(&head), whole, "{protocol}");
    }
    let plan = run(cenote().arg("plan").arg(folder.path().join("job.toml")));
    let second = "the rows of relation 2 that 4 shards have kept, 1 of each";
    assert!(plan.stdout.contains(second), "{}", plan.stdout);
}

#[test]
fn a_plan_tells_how_a_job_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let job = job(folder.path(), "job.toml", "shards = 4\nattempts = 11");
    let plan = run(cenote().arg("plan").arg(&job).arg("--json")).json();
    let shards = &plan["shards"];
    assert_eq!((&shards["shards"], &shards["attempts"]), (&4.into(), &11.into()));
    assert_eq!(shards["tables"][0]["table"], "orders");
    assert_eq!(shards["tables"][0]["of"], 130);
    let gates = |name: &str| shards[name].as_u64().unwrap();
    let all = 4 * gates("shard_and_gates") + gates("merge_and_gates");
    assert_eq!(plan["and_gates"].as_u64(), Some(all));
    let told = run(cenote().arg("plan").arg(&job));
    for part in [
        "each shard",
        "4, at most 11 attempts",
        "which of them were tried again",
    ] {
        assert!(told.stdout.contains(part), "no {part:?} in {}", told.stdout);
    }
}

/// A join that does not fit is told how many shards it needs.
#[test]
fn a_plan_proposes_shards_for_what_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let text = std::fs::read_to_string(job(folder.path(), "small.toml", "")).unwrap();
    let text = text
        .replace("max_rows = 130", "max_rows = 3000000")
        .replace("max_rows = 250", "max_rows = 3000000");
    let job = write(folder.path(), "job.toml", &text);
    let plan = run(cenote().arg("plan").arg(&job).args(["--memory", "1000"]));
    assert!(plan.stderr.contains("With `shards = "), "{}", plan.stderr);
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    for (head, told) in [
        ("shards = 0", "`shards` is 1 or more"),
        ("shards = 5000", "4096 is the most"),
        ("attempts = 5", "give `shards` too"),
        ("shards = 4\nattempts = 4", "`attempts` is 5 to"),
        ("shards = 2\nsecurity = 127", "needs a security of 129 bits"),
    ] {
        let job = job(folder.path(), "job.toml", head);
        let ended = run(cenote().arg("run").arg(&job));
        ended.failed(2, &[told]);
    }
    let whole = self::job(folder.path(), "whole.toml", "");
    let world = World::three();
    let coordinated = world.start(0, &whole, &["--coordinate", "127.0.0.1:0"]);
    finish(coordinated).failed(2, &["the job is not cut into shards"]);
}

#[test]
fn parties_compute_shards_together_and_compare_how_many_there_are() {
    let world = World::three();
    tables(world.folder.path());
    let cut = job(world.folder.path(), "job.toml", "shards = 3");
    for ended in world.run([&cut; 3], &["--json"]) {
        assert_eq!(rows(&ended), expected());
    }
    // Nothing is left of a job that is done.
    let left = std::fs::read_dir(world.folder.path().join("shards-0"));
    assert_eq!(left.map_or(0, Iterator::count), 0);
    let other = job(world.folder.path(), "other.toml", "shards = 4");
    let ended = world.run([&cut, &cut, &other], &[]);
    ended[0].failed(2, &["party 2", "3", "4"]);
    ended[2].failed(2, &["party 0", "4", "3"]);
}

/// Writes the file of `party` with `head` above it as that of number `written`.
fn settings(world: &World<3>, party: usize, written: usize, head: &str) {
    let folder = world.folder.path();
    let text = std::fs::read_to_string(folder.join(format!("party{party}.toml"))).unwrap();
    write(
        folder,
        &format!("party{written}.toml"),
        &format!("{head}\n{text}"),
    );
}

/// Parties whose shards are computed by workers.
pub(crate) struct Clusters {
    pub(crate) world: World<3>,
    pub(crate) desks: [String; 3],
    pub(crate) job: PathBuf,
}

impl Clusters {
    fn new(head: &str) -> Self {
        Self::of(|folder| {
            tables(folder);
            job(folder, "job.toml", head)
        })
    }

    /// With the job that `job` writes.
    pub(crate) fn of(job: impl FnOnce(&Path) -> PathBuf) -> Self {
        let world = World::three();
        for party in 0..3 {
            settings(&world, party, party, &format!("shards = \"shards{party}\""));
        }
        let job = job(world.folder.path());
        Clusters {
            world,
            desks: addresses(),
            job,
        }
    }

    pub(crate) fn coordinator(&self, party: usize) -> Child {
        let more = ["--coordinate", &self.desks[party], "--json"];
        self.world.start(party, &self.job, &more)
    }

    fn worker_command(&self, party: usize, identity: usize) -> Command {
        let mut command = self.at_desk(party, identity);
        command.args(["--host", "127.0.0.1"]);
        command
    }

    /// A worker that has yet to say how peers reach it.
    fn at_desk(&self, party: usize, identity: usize) -> Command {
        let config = self.world.folder.path().join(format!("party{identity}.toml"));
        let mut command = cenote();
        command
            .args(["shard", "--config"])
            .arg(config)
            .arg(&self.job)
            .args(["--coordinator", &self.desks[party]]);
        command
    }

    pub(crate) fn worker(&self, party: usize) -> Child {
        start(&mut self.worker_command(party, party))
    }
}

#[test]
fn workers_compute_shards_and_one_that_dies_is_replaced() {
    let clusters = Clusters::new("shards = 6\nattempts = 30");
    let coordinators = [0, 1, 2].map(|party| clusters.coordinator(party));
    let workers: Vec<Child> = [0, 1, 2, 0, 1, 2].map(|party| clusters.worker(party)).into();
    // It may be at a shard, or wait for one.
    let mut dies = clusters.worker(1);
    let ledger = clusters.world.folder.path().join("shards1");
    wait_until("an attempt was handed out", || lines(&ledger) > 0);
    dies.kill().unwrap();
    dies.wait().unwrap();
    for ended in coordinators.map(finish) {
        assert_eq!(rows(&ended), expected());
    }
    for worker in workers {
        let ended = finish(worker);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

/// Workers of which peers reach their coordinators alone.
#[test]
fn workers_are_reached_through_their_coordinators() {
    let clusters = Clusters::new("shards = 4\nattempts = 20");
    let coordinators = [0, 1, 2].map(|party| {
        let desk = ["--coordinate", &clusters.desks[party], "--json"];
        let relay = ["--relay", "0.0.0.0:0", "-v"];
        clusters
            .world
            .start(party, &clusters.job, &[desk, relay].concat())
    });
    let workers = [0, 1, 2, 0, 1, 2].map(|party| start(clusters.at_desk(party, party).arg("--relay")));
    for (party, ended) in (0..).zip(coordinators.map(finish)) {
        assert_eq!(rows(&ended), expected());
        let connections = ended.stderr.split("the relay ends connections=").nth(1);
        let connections = connections.and_then(|after| after.split_whitespace().next()?.parse().ok());
        let connections: usize = connections.unwrap_or_else(|| panic!("{}", ended.stderr));
        // Nobody dials the last party.
        assert_eq!(connections > 0, party < 2, "{connections} at party {party}");
    }
    for worker in workers {
        let ended = finish(worker);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

#[test]
fn a_worker_that_needs_a_relay_is_told_where_there_is_none() {
    let clusters = Clusters::new("shards = 2");
    let coordinators = [0, 1, 2].map(|party| clusters.coordinator(party));
    let ended = run(clusters.at_desk(0, 0).arg("--relay"));
    ended.failed(2, &["the coordinator has no relay", "--relay HOST:PORT"]);
    for mut coordinator in coordinators {
        coordinator.kill().unwrap();
        coordinator.wait().unwrap();
    }
}

/// Workers that share an object store with their coordinator, and no folder.
#[test]
fn workers_keep_what_they_compute_in_an_object_store() {
    let head = "shards = 4\nattempts = 20";
    let clusters = Clusters {
        world: World::three(),
        desks: addresses(),
        job: PathBuf::new(),
    };
    let folder = clusters.world.folder.path();
    tables(folder);
    let clusters = Clusters {
        job: job(folder, "job.toml", head),
        ..clusters
    };
    let folder = clusters.world.folder.path();
    let store = format!("shards_store = \"file://{}/store\"", folder.display());
    for party in 0..3 {
        // What is no folder cannot be written to.
        write(folder, &format!("none{party}"), "");
        let own = format!("shards = \"none{party}/shards\"\n{store}");
        settings(&clusters.world, party, 3 + party, &own);
        settings(
            &clusters.world,
            party,
            party,
            &format!("shards = \"shards{party}\"\n{store}"),
        );
    }
    let coordinators = [0, 1, 2].map(|party| clusters.coordinator(party));
    let workers = Clusters {
        job: job_without_tables(&clusters.world, head),
        ..clusters
    };
    let folder = workers.world.folder.path();
    let worker = |party| start(&mut workers.worker_command(party, 3 + party));
    let started = [0, 1, 2].map(worker);
    wait_until("something was kept in the store", || {
        let kept = std::fs::read_dir(folder.join("store"));
        kept.is_ok_and(|kept| kept.count() > 0)
    });
    for ended in coordinators.map(finish) {
        assert_eq!(rows(&ended), expected());
    }
    for worker in started {
        let ended = finish(worker);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    for party in 0..3 {
        assert!(!folder.join(format!("shards{party}/kept")).exists());
    }
    let left = std::fs::read_dir(folder.join("store"));
    assert_eq!(left.map_or(0, Iterator::count), 0, "all is removed in the end");
}

#[test]
fn a_store_that_is_none_is_refused() {
    let world = World::three();
    tables(world.folder.path());
    settings(&world, 0, 0, "shards_store = \"https://example.com/prefix\"");
    let job = job(world.folder.path(), "job.toml", "shards = 2");
    finish(world.start(0, &job, &[])).failed(2, &["party0.toml", "line 1", "no URL of an object store"]);
}

/// Lines of the ledgers in a folder.
fn lines(folder: &Path) -> usize {
    let mut count = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with("attempts-") {
                count += std::fs::read_to_string(path).unwrap_or_default().lines().count();
            }
        }
    }
    count
}

#[test]
fn a_job_goes_on_after_its_coordinators_were_killed() {
    let clusters = Clusters::new("shards = 8\nattempts = 40");
    let mut coordinators = [0, 1, 2].map(|party| clusters.coordinator(party));
    let workers = [0, 1, 2].map(|party| clusters.worker(party));
    let ledger = clusters.world.folder.path().join("shards0");
    wait_until("two shards were handed out", || lines(&ledger) > 3);
    for child in &mut coordinators {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let before = lines(&ledger);
    for worker in workers {
        // It has nobody to work for any more.
        assert_ne!(finish(worker).code, Some(0));
    }
    let coordinators = [0, 1, 2].map(|party| clusters.coordinator(party));
    let workers = [0, 1, 2].map(|party| clusters.worker(party));
    wait_until("more was handed out", || {
        lines(&ledger) > before || lines(&ledger) == 0
    });
    for ended in coordinators.map(finish) {
        assert_eq!(rows(&ended), expected());
    }
    for worker in workers {
        assert_eq!(finish(worker).code, Some(0));
    }
}

/// A job file in a folder without tables.
fn job_without_tables(world: &World<3>, head: &str) -> PathBuf {
    let folder = world.folder.path().join("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    job(&folder, "job.toml", head)
}

#[test]
fn workers_take_rows_that_their_coordinator_has_placed() {
    let head = "shards = 4\nattempts = 20";
    let clusters = Clusters::new(head);
    let coordinators = [0, 1, 2].map(|party| clusters.coordinator(party));
    let clusters = Clusters {
        job: job_without_tables(&clusters.world, head),
        ..clusters
    };
    let workers = [0, 1, 2, 0, 1, 2].map(|party| clusters.worker(party));
    for ended in coordinators.map(finish) {
        assert_eq!(rows(&ended), expected());
    }
    for worker in workers {
        let ended = finish(worker);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let left = std::fs::read_dir(clusters.world.folder.path().join("shards0"));
    assert_eq!(left.map_or(0, Iterator::count), 0, "all is removed in the end");
}

#[test]
fn a_worker_with_another_job_gets_no_shard() {
    let clusters = Clusters::new("shards = 2");
    let coordinators = [0, 1, 2].map(|party| clusters.coordinator(party));
    let clusters = Clusters {
        job: job_without_tables(&clusters.world, "shards = 3"),
        ..clusters
    };
    finish(clusters.worker(0)).failed(2, &["the coordinator has another job"]);
    for mut coordinator in coordinators {
        coordinator.kill().unwrap();
        coordinator.wait().unwrap();
    }
}

#[test]
fn a_worker_of_another_party_gets_no_shard() {
    let clusters = Clusters::new("shards = 2");
    let mut coordinator = clusters.coordinator(0);
    // It shows the key of party 1 to the coordinator of party 0.
    let ended = run(&mut clusters.worker_command(0, 1));
    ended.failed(3, &["the coordinator at"]);
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();
}
