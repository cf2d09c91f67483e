//! Services of one process, each with a folder, joined by memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use cenote::{Identity, Link};
use cenote_service::audit::Actor;
use cenote_service::job::{Binding, FailKind, JobId, Remote, Source, State, StateName};
use cenote_service::live::{Approval, Live, Submission};
use cenote_service::{Address, Error, Folder, Job, Timestamp};
use tempfile::TempDir;

use crate::compiled::tests::bundle;
use crate::core::Core;
use crate::dispatch::WORKERS;
use crate::locks::lock;
use crate::wires::memory::Hub;
use crate::{Node, Settings, StockSettings};

/// Approves everything.
pub(crate) const ALL: &str =
    "[[rule]]\nname = \"all\"\ndata = \"any\"\nkeeps = \"any\"\nthen = \"approve\"\n";
/// Leaves everything to persons.
pub(crate) const NONE: &str = "";

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) hub: Hub,
    pub(crate) nodes: Vec<Option<Node>>,
    folders: Vec<TempDir>,
    identities: Vec<Arc<Identity>>,
    change: Box<dyn Fn(&mut Settings) + Sync>,
}

impl World {
    /// So many services with this policy, each with data for the inputs of the library's `add8`.
    pub(crate) fn new(parties: u8, policy: &str) -> Self {
        Self::with(parties, policy, |_| ())
    }

    /// The same with other settings.
    pub(crate) fn with(parties: u8, policy: &str, change: impl Fn(&mut Settings) + Sync + 'static) -> Self {
        let folders: Vec<TempDir> = (0..parties)
            .map(|_| tempfile::tempdir().expect("a folder"))
            .collect();
        for (folder, value) in folders.iter().zip(["20\n", "22\n", "0\n"]) {
            std::fs::write(folder.path().join("policy.toml"), policy).expect("written");
            std::fs::create_dir(folder.path().join("data")).expect("made");
            for name in ["x", "y", "block", "state"] {
                std::fs::write(folder.path().join("data").join(name), value).expect("written");
            }
        }
        let mut world = World {
            hub: Hub::default(),
            nodes: (0..parties).map(|_| None).collect(),
            identities: (folders.iter())
                .map(|_| Arc::new(Identity::generate().expect("random")))
                .collect(),
            folders,
            change: Box::new(change),
        };
        (0..parties).for_each(|party| world.start(party));
        world.wait_ready();
        world
    }

    pub(crate) fn settings(&self, me: u8) -> Settings {
        let folder = self.folders[usize::from(me)].path();
        let mut settings = Settings {
            me,
            names: (0..self.nodes.len())
                .map(|party| format!("party-{party}"))
                .collect(),
            identity: Arc::clone(&self.identities[usize::from(me)]),
            folder: folder.join("service"),
            database: Address::Embedded,
            data: folder.join("data"),
            policy: Some(folder.join("policy.toml")),
            catalogue: folder.join("catalogue.toml"),
            tables: None,
            jobs: 8,
            jobs_per_proposer: 8,
            memory: 1 << 30,
            proposals_a_second: 500,
            keep: Duration::from_secs(3600),
            timeout: Duration::from_secs(50),
            phase_timeout: None,
            pause: Duration::from_secs(2),
            room: 0,
            stock: StockSettings {
                folder: folder.join("stock"),
                key: folder.join("stock.key"),
                ..StockSettings::default()
            },
        };
        (self.change)(&mut settings);
        settings
    }

    pub(crate) fn path(&self, party: u8) -> &Path {
        self.folders[usize::from(party)].path()
    }

    pub(crate) fn start(&mut self, party: u8) {
        self.start_slowly(party, Duration::ZERO);
    }

    /// The service hears others for so long before it can tell them anything.
    pub(crate) fn start_slowly(&mut self, party: u8, pause: Duration) {
        let hub = self.hub.clone();
        let node = Node::start(self.settings(party), |ears| {
            hub.hear(party, ears);
            std::thread::sleep(pause);
            Ok(hub.wires(party))
        });
        self.nodes[usize::from(party)] = Some(node.expect("comes up"));
    }

    /// As when its process is killed.
    pub(crate) fn kill(&mut self, party: u8) {
        self.hub.kill(party);
        let node = self.nodes[usize::from(party)].take().expect("up");
        let core = Arc::downgrade(&node.core);
        // Nothing that a killed process did not record reaches its record.
        node.core.base.scheduler.stop();
        drop(node);
        self.wait_gone(party, &core);
    }

    /// The same, and nothing that happens at its end is on record, or removes what shards have left.
    pub(crate) fn kill_at_once(&mut self, party: u8) {
        let (folder, copy) = (
            self.path(party).join("service"),
            tempfile::tempdir().expect("a folder"),
        );
        let core = Arc::clone(&self.node(party).core);
        // Nobody hears of what is not in the copy.
        let turn = lock(&core.base.witness.turn);
        copy_files(&folder, copy.path());
        let (shards, kept) = (folder.join("shards"), copy.path().join("shards"));
        copy_all(&shards, &kept);
        self.hub.kill(party);
        drop(turn);
        drop(core);
        self.kill(party);
        for entry in std::fs::read_dir(&folder).expect("there").flatten() {
            let _ = std::fs::remove_file(entry.path());
        }
        copy_files(copy.path(), &folder);
        if std::fs::read_dir(&shards).map_or(0, Iterator::count) == 0 {
            copy_all(&kept, &shards);
        }
    }

    /// Ends a service in order.
    pub(crate) fn stop(&mut self, party: u8) {
        let node = self.nodes[usize::from(party)].take().expect("up");
        let core = Arc::downgrade(&node.core);
        node.stop(PATIENCE);
        drop(node);
        self.wait_gone(party, &core);
    }

    /// Waits until a service has let its folder go, too.
    fn wait_gone(&self, party: u8, core: &Weak<Core>) {
        let folder = self.path(party).join("service");
        until("the service is gone", || {
            core.strong_count() == 0 && Folder::claim(&folder).is_ok()
        });
    }

    pub(crate) fn node(&self, party: u8) -> &Node {
        self.nodes[usize::from(party)].as_ref().expect("up")
    }

    pub(crate) fn wait_ready(&self) {
        let all = || self.nodes.iter().flatten().all(|node| node.ready().is_ok());
        until("all are ready", all);
    }

    /// Submits `add8` at a party, under this key.
    pub(crate) fn submit(&self, party: u8, key: &str) -> Job {
        let submission = self.submission("add8", key);
        self.node(party).submit(submission, person()).expect("submitted")
    }

    pub(crate) fn submission(&self, circuit: &str, key: &str) -> Submission {
        let bundle = bundle(circuit, self.nodes.len() as u8);
        // Three parties take nothing from stock unless their jobs say so.
        let with_triples = self.nodes.len() == 3 && !self.settings(0).stock.targets.is_empty();
        let variant = if with_triples {
            "variant = \"on-demand\"\n"
        } else {
            ""
        };
        Submission {
            job: format!("{variant}{}", bundle.job),
            files: bundle.files,
            within: None,
            idempotency_key: key.into(),
            approval: None,
        }
    }

    /// A job of thousands of rounds, which takes minutes over the slow link that it is given.
    pub(crate) fn long_submission(&self, key: &str) -> Submission {
        self.hub.slow_down(Link {
            rtt_ms: 20.0,
            gbit_per_second: None,
        });
        self.submission("sha256", key)
    }

    /// Submits such a job at a party.
    pub(crate) fn submit_long(&self, party: u8, key: &str) -> JobId {
        let job = self.node(party).submit(self.long_submission(key), person());
        job.expect("submitted").proposal.id
    }

    /// The name of a party's input of a job.
    pub(crate) fn input(&self, id: JobId, party: u8) -> String {
        let job = self
            .nodes
            .iter()
            .flatten()
            .find_map(|node| node.jobs().get(id).ok())
            .expect("known");
        let input = job.proposal.inputs.into_iter().find(|input| input.owner == party);
        input.expect("an input").name
    }

    /// Party 0 of three alone records that all have approved a job that it has recorded, and that the job is in line.
    pub(crate) fn record_queued(&self, id: JobId, at: Timestamp) {
        let jobs = self.node(0).jobs();
        let binding = with_data(&[(&self.input(id, 0), "x")]).binding;
        jobs.approve(id, binding, String::new(), person(), at)
            .expect("approved");
        let proposal = jobs.get(id).expect("known").digest;
        for peer in [1, 2] {
            jobs.hear(id, peer, Remote::Approve { proposal }, at)
                .expect("approved");
        }
        jobs.queue(id, at).expect("queued");
    }

    pub(crate) fn job(&self, party: u8, id: JobId) -> Job {
        self.node(party).jobs().get(id).expect("known")
    }

    /// Whether a job is over at a party.
    pub(crate) fn is_over(&self, party: u8, id: JobId) -> bool {
        let job = self.node(party).jobs().get(id);
        job.is_ok_and(|job| !job.state.name().is_open())
    }

    /// Whether a check of a party's has failed in a job.
    pub(crate) fn has_caught(&self, party: u8, id: JobId) -> bool {
        matches!(self.job(party, id).state, State::Failed(failure) if failure.kind == FailKind::Cheating)
    }

    /// Waits until the job has come into a state that `is` says, at all parties that are up.
    pub(crate) fn wait(&self, id: JobId, what: &str, is: impl Fn(&State) -> bool) {
        self.wait_until(id, what, |states| {
            let up = states.iter().zip(&self.nodes).filter(|(_, node)| node.is_some());
            up.into_iter().all(|(state, _)| state.as_ref().is_some_and(&is))
        });
    }

    /// Submits a job with a deadline so near that nobody waits for it long, and so far away that the job comes into a state that `is` says
    /// at all parties before it. Where one second does not suffice, the next job has longer.
    pub(crate) fn submit_urgent(
        &self,
        party: u8,
        submission: &Submission,
        is: impl Fn(&State) -> bool,
    ) -> JobId {
        let in_time = |states: &[Option<State>]| states.iter().all(|state| state.as_ref().is_some_and(&is));
        let over = |state: &Option<State>| state.as_ref().is_some_and(|state| !state.name().is_open());
        for within in [1, 8, 30] {
            let submission = Submission {
                within: Some(within),
                idempotency_key: format!("{} {within}", submission.idempotency_key),
                ..submission.clone()
            };
            let job = self.node(party).submit(submission, person());
            let id = job.expect("submitted").proposal.id;
            let states = self.wait_until(id, "so far, or over", |states| {
                in_time(states) || over(&states[usize::from(party)])
            });
            if in_time(&states) {
                return id;
            }
        }
        panic!("no deadline was far enough away");
    }

    /// Waits until a job that the policy or the rules of a party decline is so at all parties that know it, that party among them, and gives the
    /// states there. It may end before a third party has its program.
    pub(crate) fn wait_declined(&self, id: JobId) -> Vec<Option<State>> {
        let is = |state: &State| matches!(state, State::Declined { .. } | State::Failed(_));
        self.wait_until(id, "declined", |states| {
            // One after another is asked: others may have heard of it since.
            let knows = |state: &State| match state {
                State::Declined { by, .. } => states[usize::from(*by)].is_some(),
                _ => true,
            };
            let known = || states.iter().flatten();
            known().all(|state| is(state) && knows(state)) && known().count() >= 2
        })
    }

    fn wait_until(
        &self,
        id: JobId,
        what: &str,
        are: impl Fn(&[Option<State>]) -> bool,
    ) -> Vec<Option<State>> {
        let of = |node: &Node| node.jobs().get(id).ok().map(|job| job.state);
        let start = Instant::now();
        loop {
            let states: Vec<_> = self.nodes.iter().map(|node| node.as_ref().and_then(of)).collect();
            if are(&states) {
                return states;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "job {id} does not come to be {what}: {states:?}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn wait_for(&self, id: JobId, name: StateName) {
        self.wait(id, name.as_str(), |state| state.name() == name);
    }

    /// What a party learnt.
    pub(crate) fn learnt(&self, party: u8, id: JobId) -> Vec<String> {
        let text = self.node(party).fetch(id, "key", person()).expect("a result");
        let value: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let outputs = value["outputs"].as_array().expect("a list");
        let values = outputs
            .iter()
            .flat_map(|output| output["values"].as_array().expect("values"));
        values
            .map(|value| value.as_str().expect("text").to_owned())
            .collect()
    }

    /// A person at each party has looked into what is on record against the others.
    pub(crate) fn settle_all(&self) {
        for party in 0..self.nodes.len() as u8 {
            self.settle(party);
        }
    }

    /// A person at this party has. What comes on record meanwhile is looked at again.
    pub(crate) fn settle(&self, party: u8) {
        let Some(node) = &self.nodes[usize::from(party)] else {
            return;
        };
        for peer in 0..self.nodes.len() as u8 {
            while let Some(seen) = node.unsettled(peer).expect("read") {
                match node.settle(seen, person()) {
                    Ok(_) => break,
                    Err(error) => assert!(matches!(error, Error::OtherUnsettled(_)), "{error}"),
                }
            }
        }
    }

    /// All audit logs are whole.
    pub(crate) fn verify(&self) {
        for node in self.nodes.iter().flatten() {
            node.database().verify_audit().expect("a whole log");
        }
    }
}

/// Copies the files of a folder, and no folder in it.
fn copy_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("there").flatten() {
        // What has gone since is not there.
        if entry.path().is_file() {
            let _ = std::fs::copy(entry.path(), to.join(entry.file_name()));
        }
    }
}

/// The same with all folders in it.
pub(crate) fn copy_all(from: &Path, to: &Path) {
    let _ = std::fs::create_dir_all(to);
    copy_files(from, to);
    for entry in std::fs::read_dir(from).expect("there").flatten() {
        if entry.path().is_dir() {
            copy_all(&entry.path(), &to.join(entry.file_name()));
        }
    }
}

pub(crate) fn until(what: &str, is: impl Fn() -> bool) {
    until_within(PATIENCE, what, is);
}

pub(crate) fn until_within(limit: Duration, what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// From here on nothing happens at a party but for what others say and what is called.
pub(crate) fn stop_clocks(world: &World, party: u8) -> Arc<Core> {
    let core = Arc::clone(&world.node(party).core);
    core.base.scheduler.stop();
    // What is left is the workers of all parties, and the ears.
    let others = world.nodes.len() * WORKERS + 1;
    until("its clocks stand still", || {
        Arc::weak_count(&core) == others && Arc::weak_count(&core.base.stock) == 0
    });
    core
}

pub(crate) fn person() -> Actor {
    Actor::Person("tester".into())
}

/// Approves with named data for these inputs.
pub(crate) fn with_data(inputs: &[(&str, &str)]) -> Approval {
    Approval {
        binding: inputs
            .iter()
            .map(|(input, data)| Binding::new(*input, Source::Data((*data).into())))
            .collect(),
        ..Approval::default()
    }
}

/// Approves with these posted values.
pub(crate) fn with_values(values: &[(&str, &str)]) -> Approval {
    let names: BTreeSet<&str> = values.iter().map(|(input, _)| *input).collect();
    Approval {
        binding: names
            .into_iter()
            .map(|input| Binding::new(input, Source::Posted))
            .collect(),
        posted: values
            .iter()
            .map(|(input, value)| ((*input).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>(),
        reason: String::new(),
    }
}
