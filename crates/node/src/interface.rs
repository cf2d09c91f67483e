//! What can be asked of a service that is up.

use cenote_service::audit::Actor;
use cenote_service::job::{JobId, Kept, PageRequest, Program, Unsettled};
use cenote_service::live::{
    About, Alarm, Approval, Call, Catalogue, Compose, Composed, Computes, Counts, Data, Explained, Listener,
    Live, Peer, PlanFault, Planned, Reply, Running, Stock, Submission, Weighed,
};
use cenote_service::{Error, Job, PutBack, Result, Timestamp};
use zeroize::Zeroizing;

use crate::compiled::QUERY;
use crate::node::Node;
use crate::results;
use crate::weighing::asked;

/// Kept values that are listed, at most.
const LISTED: u16 = 1000;

impl Live for Node {
    fn about(&self) -> About {
        let settings = &self.core.base.settings;
        About {
            party: settings.me,
            parties: settings.names.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            fingerprint: settings.identity.fingerprint().to_string(),
            since: self.core.base.since,
            now: Timestamp::now(),
            not_ready: self.ready().err(),
            protocols: cenote::Protocol::names().map(str::to_owned).collect(),
        }
    }

    fn submit(&self, submission: Submission, by: Actor) -> Result<Job> {
        self.core.proposals.submit(submission, by)
    }

    fn explain(&self, job: JobId) -> Result<Explained> {
        let job = self.core.base.jobs.get(job)?;
        let compiled = self.core.base.programs.of_job(&job)?;
        Ok(Explained {
            data: self.core.base.catalogues.data_for(compiled.tables()),
            program: compiled.named(),
            summary: compiled.summary(),
            query: asked(&compiled),
            outputs: compiled.outputs(),
            job: compiled.bundle.job.clone(),
            files: compiled.bundle.files.clone(),
        })
    }

    fn plan(&self, job: &str) -> std::result::Result<Planned, PlanFault> {
        self.core.plan(job)
    }

    fn computes(&self, program: &Program) -> Option<Computes> {
        self.core.computes(program)
    }

    fn weigh(&self, job: JobId) -> Result<Weighed> {
        self.core.weigh(&self.core.base.jobs.get(job)?)
    }

    fn approve(&self, job: JobId, approval: Approval, by: Actor) -> Result<Job> {
        self.core.decisions.approve(job, approval, by)
    }

    fn decline(&self, job: JobId, reason: String, by: Actor) -> Result<Job> {
        self.core.decisions.decline(job, reason, by)
    }

    fn cancel(&self, job: JobId, by: Actor) -> Result<Job> {
        self.core.transitions.cancel(job, by)
    }

    fn call(&self, job: JobId, call: Call, by: Actor, reply: Reply) -> Result<()> {
        self.core.base.standing.call(job, call, &by, reply)
    }

    fn fetch(&self, job: JobId, key: &str, by: Actor) -> Result<Zeroizing<Vec<u8>>> {
        let fetched = self.core.base.jobs.fetch(job, key, by, Timestamp::now())?;
        self.core.base.key.open_result(job, &fetched.sealed)
    }

    fn fetch_parquet(&self, job: JobId, key: &str, by: Actor) -> Result<Zeroizing<Vec<u8>>> {
        if self.core.base.jobs.get(job)?.proposal.program.kind != QUERY {
            let what = "its outputs are no table: only the answer of a query is given out as Parquet";
            return Err(Error::Proposal(what.into()));
        }
        results::parquet(&self.fetch(job, key, by)?)
    }

    fn data(&self) -> Result<Vec<Data>> {
        self.core
            .base
            .data
            .folder
            .list()
            .map_err(|error| Error::Database(format!("the folder of data cannot be read: {error}")))
    }

    fn kept(&self) -> Result<Vec<Kept>> {
        self.core.base.jobs.list_kept(Timestamp::now(), LISTED)
    }

    fn drop_kept(&self, name: &str, job: JobId, by: Actor) -> Result<()> {
        self.core.base.jobs.drop_kept(name, job, by, Timestamp::now())
    }

    fn peers(&self) -> Vec<Peer> {
        self.core.base.peers.seen()
    }

    fn unsettled(&self, peer: u8) -> Result<Option<Unsettled>> {
        let all = self.core.base.jobs.unsettled()?;
        Ok(all.into_iter().find(|known| known.peer == peer))
    }

    fn settle(&self, seen: Unsettled, by: Actor) -> Result<bool> {
        self.core.base.against.settle(seen, by)
    }

    fn put_back(&self, party: u8) -> Result<Option<PutBack>> {
        Ok(self.core.base.witness.put_back(party))
    }

    fn acknowledge(&self, seen: (u8, u64), by: Actor) -> Result<bool> {
        let acknowledged = self.core.base.witness.acknowledge(seen, by)?;
        if acknowledged {
            self.core.base.catalogues.forget(seen.0);
        }
        Ok(acknowledged)
    }

    fn catalogue(&self) -> Catalogue {
        self.core.base.catalogues.seen()
    }

    fn compose(&self, wanted: Compose) -> Result<Composed> {
        self.core.base.catalogues.compose(wanted)
    }

    fn stock(&self) -> Vec<Stock> {
        self.core.base.stock.show_stock()
    }

    fn running(&self) -> Vec<Running> {
        self.core
            .base
            .scheduler
            .queue()
            .all_running()
            .iter()
            .map(|running| running.shown())
            .collect()
    }

    fn alarms(&self) -> Vec<Alarm> {
        self.core.base.monitor.alarms()
    }

    fn stuck(&self) -> Option<String> {
        self.core.base.room.fault()
    }

    fn counts(&self) -> Counts {
        Counts {
            free: self.core.base.room.free(),
            ..self.core.base.monitor.counts()
        }
    }

    fn listen(&self) -> Listener {
        self.core.base.monitor.listen()
    }
}

impl Node {
    /// Whether jobs can be taken: this service and each peer can record them, and each peer is there. Says what is missing.
    pub(crate) fn ready(&self) -> std::result::Result<(), String> {
        let request = PageRequest {
            state: None,
            before: None,
            limit: 1,
        };
        if let Some(fault) = self.core.base.room.fault() {
            return Err(fault);
        }
        self.core
            .base
            .jobs
            .list(request)
            .map_err(|error| error.to_string())?;
        if let Some(known) = self.core.base.witness.put_back(self.core.me()) {
            return Err(format!(
                "{known}; `cenote peer acknowledge {} --lines {}` lets it go on",
                known.party, known.lines
            ));
        }
        let away = |party: u8| {
            let why = self.core.base.peers.get(party)?.known().holds_up()?;
            Some(format!(
                "party {party} ({}): {why}",
                self.core.base.peers.name(party)
            ))
        };
        let parties = 0..self.core.base.settings.names.len() as u8;
        let away: Vec<String> = parties.filter_map(away).collect();
        if away.is_empty() {
            Ok(())
        } else {
            Err(away.join("; "))
        }
    }
}
