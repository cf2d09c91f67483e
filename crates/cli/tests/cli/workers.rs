//! Jobs whose shards are computed by workers, which may be killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::common::{addresses, cenote, finish, run, start, wait_until, write};
use crate::shards::{expected, job, rows, tables};
use crate::world::World;

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

/// Waits for workers that end with the job.
pub(crate) fn end_well(workers: impl IntoIterator<Item = Child>) {
    for ended in workers.into_iter().map(finish) {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
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
    end_well(workers);
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
    end_well(workers);
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
    end_well(workers);
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
    end_well(workers);
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
