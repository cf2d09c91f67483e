//! A service that is up, made of the real record in a folder of its own, with peers and stock that tests make up.

#[path = "fake/asking.rs"]
pub(crate) mod asking;
#[path = "made_up.rs"]
mod catalogue;
#[path = "fake/jobs.rs"]
mod jobs;
#[path = "fake/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use cenote_service::audit::Actor;
use cenote_service::job::{
    Binding, Digest, Estimate, Gains, Input, JobId, Keep, Kept, Program, Proposal, Remote, Security,
    Settings, Source, StateName, Take, Unsettled,
};
use cenote_service::live::*;
use cenote_service::{Database, Error, Heads, Job, Jobs, Live, PutBack, Result, ResultKey, Timestamp};
use zeroize::Zeroizing;

pub(crate) use world::World;

/// What every job gives here, if nothing else is said.
pub(crate) const RESULT: &str = r#"{"sum":"7"}"#;

/// Party 0 of three.
pub(crate) struct Fake {
    pub(crate) jobs: Jobs,
    pub(crate) heads: Heads,
    key: ResultKey,
    announcer: Announcer,
    pub(crate) shown: Mutex<Shown>,
}

/// What tests make up.
pub(crate) struct Shown {
    pub(crate) names: Vec<String>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) stock: Vec<Stock>,
    pub(crate) running: Vec<Running>,
    pub(crate) alarms: Vec<Alarm>,
    pub(crate) counts: Counts,
    pub(crate) summary: String,
    /// What jobs give.
    pub(crate) result: String,
    pub(crate) statistical: u16,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) ready: std::result::Result<(), String>,
    pub(crate) stuck: Option<String>,
    /// Posted values, as they came.
    pub(crate) posted: BTreeMap<String, String>,
    /// The texts of jobs, by their digests.
    pub(crate) texts: BTreeMap<Digest, String>,
    pub(crate) weighed: Weighed,
    /// Plans that wait for the test to let them go on: of queries with this in them.
    pub(crate) held: Option<String>,
    /// Queries that were planned.
    pub(crate) planned: Vec<String>,
    /// Who waits for calls.
    pub(crate) waiting: Vec<Reply>,
    /// What is done in the middle of listing data.
    pub(crate) pause: Duration,
    pub(crate) catalogue: Catalogue,
    /// What is proposed as data for inputs, by input.
    pub(crate) proposed: BTreeMap<String, String>,
    /// How often data was asked for.
    pub(crate) asked: usize,
}

fn peer(party: u8, name: &str) -> Peer {
    Peer {
        party,
        name: name.into(),
        address: (party < 1).then(|| "10.0.0.7:7100".into()),
        link: LinkState::Up,
        reason: None,
        again: None,
        since: Timestamp::now(),
        version: Some("0.1.0".into()),
        round_trip: Some(1.5),
        clock_ahead: Some(-3.0),
        sent: 1_000_000,
        received: 2_000_000,
    }
}

impl Fake {
    fn new(database: &Database) -> Self {
        Fake {
            jobs: Jobs::new(
                database.clone(),
                Settings {
                    open_per_proposer: 100_000,
                    ..Settings::new(0)
                },
            ),
            heads: Heads::open(database.clone(), 0, Zeroizing::new([7; 32])).expect("a record"),
            key: ResultKey::of(database).expect("a key"),
            announcer: Announcer::default(),
            shown: Mutex::new(Shown {
                names: vec!["North Bank".into(), "South Bank".into(), "West Bank".into()],
                peers: vec![peer(1, "South Bank"), peer(2, "West Bank")],
                stock: vec![Stock {
                    protocol: "three".into(),
                    kind: "triples".into(),
                    amount: 40_000_000,
                    target: 50_000_000,
                    making: true,
                }],
                running: Vec::new(),
                alarms: Vec::new(),
                counts: Counts {
                    jobs: BTreeMap::from([(StateName::Done, 12)]),
                    ands: 6400,
                    from_stock: 7,
                    latency: vec![(0.01, 5), (0.1, 11), (f64::INFINITY, 12)],
                    latency_sum: 0.5,
                    memory: 50_000_000,
                    free: Some(7_000_000_000),
                    refused: BTreeMap::from([(1, 3)]),
                },
                summary: "Adds three numbers.".into(),
                result: RESULT.into(),
                statistical: 40,
                files: BTreeMap::new(),
                ready: Ok(()),
                stuck: None,
                posted: BTreeMap::new(),
                texts: BTreeMap::new(),
                weighed: Weighed::default(),
                held: None,
                planned: Vec::new(),
                waiting: Vec::new(),
                pause: Duration::ZERO,
                catalogue: catalogue::published(),
                proposed: BTreeMap::new(),
                asked: 0,
            }),
        }
    }

    pub(crate) fn tell(&self, happened: &Happened) {
        self.announcer.tell(happened);
    }

    fn changed(&self, job: &Job) {
        self.tell(&Happened::Job {
            job: job.proposal.id,
            state: job.state.name(),
        });
    }

    /// Proposes a job in the name of `proposer`, whose `text` is its program.
    pub(crate) fn propose(&self, proposer: u8, text: &str, key: &str, by: Actor) -> Result<Job> {
        let body = Digest::of(text.as_bytes());
        let mut proposal = self.proposal(proposer, body, key)?;
        if asking::sql(text).is_some() {
            proposal.program.kind = "query".into();
            proposal.inputs = asking::inputs();
        }
        self.shown
            .lock()
            .expect("whole")
            .texts
            .insert(body, text.to_owned());
        self.note(proposal, body, by)
    }

    fn note(&self, proposal: Proposal, body: Digest, by: Actor) -> Result<Job> {
        let (job, _) = self.jobs.propose(proposal, body, by, Timestamp::now())?;
        self.changed(&job);
        Ok(job)
    }

    fn proposal(&self, proposer: u8, body: Digest, key: &str) -> Result<Proposal> {
        let input = |name: &str, owner| Input {
            name: name.into(),
            kind: "u32".into(),
            owner,
        };
        Ok(Proposal {
            id: JobId::of(proposer, cenote_service::random()?),
            proposer,
            parties: 3,
            protocol: "three".into(),
            program: Program {
                kind: "circuit".into(),
                digest: body,
            },
            inputs: vec![input("left", 0), input("middle", 1), input("right", 2)],
            receivers: vec![0, 1],
            security: Security {
                statistical: self.shown.lock().expect("whole").statistical,
                computational: 128,
            },
            deadline: Timestamp::now().after(Duration::from_secs(3600)),
            estimate: Estimate {
                ands: 1000,
                bytes: 20_000,
            },
            idempotency_key: key.into(),
            takes: Vec::new(),
            keeps: Vec::new(),
            standing: None,
        })
    }

    /// A proposal of party 1's that keeps an output under `name`, and takes the value `taken` that a job has kept.
    pub(crate) fn proposed_keeping(&self, name: &str, taken: Option<(&str, JobId)>) -> Job {
        let body = Digest::of(name.as_bytes());
        let mut proposal = self.proposal(1, body, name).expect("made");
        proposal.receivers = vec![];
        proposal.keeps = vec![Keep {
            output: "sum".into(),
            name: name.into(),
            kind: "u64".into(),
            days: 30,
        }];
        let take = |(name, job): (&str, JobId)| Take {
            input: "old".into(),
            name: name.into(),
            job,
        };
        proposal.takes = taken.map(take).into_iter().collect();
        self.note(proposal, body, Actor::Peer(1)).expect("proposed")
    }

    /// A proposal of party 1's.
    pub(crate) fn proposed_by_peer(&self, text: &str) -> Job {
        self.propose(1, text, text, Actor::Peer(1)).expect("proposed")
    }

    /// Both peers approve.
    pub(crate) fn peers_approve(&self, id: JobId) -> Job {
        let digest = self.jobs.get(id).expect("a job").digest;
        for party in [1, 2] {
            let says = Remote::Approve { proposal: digest };
            let job = self.jobs.hear(id, party, says, Timestamp::now()).expect("heard");
            self.changed(&job);
        }
        self.jobs.get(id).expect("a job")
    }

    /// Runs a job that all have approved, to its end.
    pub(crate) fn run(&self, id: JobId) {
        let now = Timestamp::now();
        self.changed(&self.jobs.queue(id, now).expect("queued"));
        self.changed(&self.jobs.start(id, now).expect("started"));
        self.tell(&Happened::Progress(Running {
            job: id,
            since: now,
            done: 500,
            total: 1000,
            stands: false,
            shards: None,
        }));
        let result = self.shown.lock().expect("whole").result.clone();
        let sealed = self.key.seal(id, result.as_bytes()).expect("sealed");
        let keeps = self.jobs.get(id).expect("there").proposal.keeps;
        let share = |keep: &Keep| self.key.seal_kept(id, &keep.name, b"share").ok();
        let kept = keeps.iter().filter_map(share).collect();
        let gains = Gains {
            outputs: Some(sealed),
            kept,
            ..Gains::default()
        };
        let done = self.jobs.finish(id, gains, now);
        self.changed(&done.expect("finished"));
    }
}

impl Live for Fake {
    fn about(&self) -> About {
        let shown = self.shown.lock().expect("whole");
        let now = Timestamp::now();
        About {
            party: 0,
            parties: shown.names.clone(),
            version: "0.1.0".into(),
            fingerprint: "ab".repeat(32),
            since: now.before(Duration::from_secs(100)),
            now,
            not_ready: shown.ready.clone().err(),
            protocols: vec!["three".into(), "jimu".into()],
        }
    }

    fn submit(&self, submission: Submission, by: Actor) -> Result<Job> {
        if !submission.job.contains("circuit") && asking::sql(&submission.job).is_none() {
            return Err(Error::Proposal("the job file names no circuit".into()));
        }
        let job = self.propose(0, &submission.job, &submission.idempotency_key, by.clone())?;
        match submission.approval {
            None => Ok(job),
            Some(approval) => self.approve(job.proposal.id, approval, by),
        }
    }

    fn explain(&self, job: JobId) -> Result<Explained> {
        let found = self.jobs.get(job)?;
        let shown = self.shown.lock().expect("whole");
        let text = shown.texts.get(&found.proposal.program.digest);
        Ok(Explained {
            query: text.and_then(|text| asking::asked(text)),
            program: found.proposal.program,
            summary: shown.summary.clone(),
            outputs: vec![Revealed {
                name: "sum".into(),
                bits: 32,
                values: 1,
                to: found.proposal.receivers,
            }],
            job: "circuit = \"lib:add32\"\n".into(),
            files: shown.files.clone(),
            data: shown.proposed.clone(),
        })
    }

    fn plan(&self, job: &str) -> std::result::Result<Planned, PlanFault> {
        let sql = asking::sql(job).unwrap_or_default();
        self.shown.lock().expect("whole").planned.push(sql.clone());
        let is_held = || {
            let shown = self.shown.lock().expect("whole");
            shown.held.as_ref().is_some_and(|held| sql.contains(held))
        };
        while is_held() {
            std::thread::sleep(Duration::from_millis(5));
        }
        asking::planned(job)
    }

    fn computes(&self, program: &Program) -> Option<Computes> {
        let shown = self.shown.lock().expect("whole");
        shown
            .texts
            .get(&program.digest)
            .map(|text| asking::computes(text))
    }

    fn weigh(&self, _: JobId) -> Result<Weighed> {
        Ok(self.shown.lock().expect("whole").weighed.clone())
    }

    fn approve(&self, job: JobId, approval: Approval, by: Actor) -> Result<Job> {
        let known = self.data()?;
        for Binding { source, .. } in &approval.binding {
            if let Source::Data(name) = source
                && !known.iter().any(|data| data.name == *name)
            {
                return Err(Error::Proposal(format!("there is no data named {name} here")));
            }
        }
        let job = self
            .jobs
            .approve(job, approval.binding, approval.reason, by, Timestamp::now())?;
        self.shown.lock().expect("whole").posted.extend(approval.posted);
        self.changed(&job);
        Ok(job)
    }

    fn decline(&self, job: JobId, reason: String, by: Actor) -> Result<Job> {
        let job = self.jobs.decline(job, reason, by, Timestamp::now())?;
        self.changed(&job);
        Ok(job)
    }

    fn cancel(&self, job: JobId, by: Actor) -> Result<Job> {
        let job = self.jobs.cancel(job, by, Timestamp::now())?;
        self.changed(&job);
        Ok(job)
    }

    /// A call named `waits` is never answered, and one named `fails` fails; others give their inputs.
    fn call(&self, job: JobId, call: Call, _: Actor, reply: Reply) -> Result<()> {
        if self.jobs.get(job)?.proposal.standing.is_some() {
            return self.answer_call(&call, reply);
        }
        match call.name.as_str() {
            "" => return Err(Error::Call("a call's name has 1 to 128 bytes".into())),
            "waits" => self.shown.lock().expect("whole").waiting.push(reply),
            "fails" => reply(Err(Error::CallFailed("its session was cut off".into()))),
            _ => {
                let inputs: Vec<&str> = call.inputs.values().map(|text| text.as_str()).collect();
                let text = serde_json::json!({ "outputs": inputs }).to_string();
                reply(Ok(Zeroizing::new(text.into_bytes())));
            }
        }
        Ok(())
    }

    fn fetch(&self, job: JobId, key: &str, by: Actor) -> Result<Zeroizing<Vec<u8>>> {
        let fetched = self.jobs.fetch(job, key, by, Timestamp::now())?;
        self.key.open_result(job, &fetched.sealed)
    }

    fn fetch_parquet(&self, job: JobId, key: &str, by: Actor) -> Result<Zeroizing<Vec<u8>>> {
        if self.jobs.get(job)?.proposal.program.kind != "query" {
            return Err(Error::Proposal("it is no query".into()));
        }
        self.fetch(job, key, by)?;
        Ok(Zeroizing::new(b"PAR1\xff".to_vec()))
    }

    fn catalogue(&self) -> Catalogue {
        self.shown.lock().expect("whole").catalogue.clone()
    }

    fn compose(&self, wanted: Compose) -> Result<Composed> {
        match asking::is_of(&self.catalogue()) {
            true => asking::composed(&wanted),
            false => catalogue::compose(wanted),
        }
    }

    fn data(&self) -> Result<Vec<Data>> {
        let pause = {
            let mut shown = self.shown.lock().expect("whole");
            shown.asked += 1;
            shown.pause
        };
        std::thread::sleep(pause);
        Ok(["loans.csv", "salaries.csv"]
            .map(|name| Data {
                name: name.into(),
                bytes: 4096,
                changed: Timestamp::now(),
            })
            .to_vec())
    }

    fn kept(&self) -> Result<Vec<Kept>> {
        self.jobs.list_kept(Timestamp::now(), 100)
    }

    fn drop_kept(&self, name: &str, job: JobId, by: Actor) -> Result<()> {
        self.jobs.drop_kept(name, job, by, Timestamp::now())
    }

    fn peers(&self) -> Vec<Peer> {
        self.shown.lock().expect("whole").peers.clone()
    }

    fn unsettled(&self, peer: u8) -> Result<Option<Unsettled>> {
        let all = self.jobs.unsettled()?;
        Ok(all.into_iter().find(|known| known.peer == peer))
    }

    fn settle(&self, seen: Unsettled, by: Actor) -> Result<bool> {
        self.jobs.settle(seen, by, Timestamp::now())
    }

    fn put_back(&self, party: u8) -> Result<Option<PutBack>> {
        let all = self.heads.put_back()?;
        Ok(all.into_iter().find(|known| known.party == party))
    }

    fn acknowledge(&self, seen: (u8, u64), by: Actor) -> Result<bool> {
        self.heads.acknowledge(seen, by, Timestamp::now())
    }

    fn stock(&self) -> Vec<Stock> {
        self.shown.lock().expect("whole").stock.clone()
    }

    fn running(&self) -> Vec<Running> {
        self.shown.lock().expect("whole").running.clone()
    }

    fn alarms(&self) -> Vec<Alarm> {
        self.shown.lock().expect("whole").alarms.clone()
    }

    fn stuck(&self) -> Option<String> {
        self.shown.lock().expect("whole").stuck.clone()
    }

    fn counts(&self) -> Counts {
        self.shown.lock().expect("whole").counts.clone()
    }

    fn listen(&self) -> Listener {
        self.announcer.listen()
    }
}
