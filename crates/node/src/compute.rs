//! One session of a job that has begun, from this party's inputs to what it learns.

use std::sync::Arc;

use cenote::keeping;
use cenote::query;
use cenote::runner::{AlsoAgree, Connections, Terms};
use cenote::shards::{Join, Within};
use cenote::{BitMatrix, Output, Party, PartyId, PartyReport, Transport};
use cenote_service::job::{FailKind, Job, JobId};
use cenote_service::live::Happened;
use cenote_service::{Jobs, ResultKey};
use cenote_session::{Topology, Warning};
use zeroize::Zeroizing;

use crate::base::Base;
use crate::compiled::{Compiled, Work};
use crate::failure::Fault;
use crate::kept::KeptValues;
use crate::monitor::Monitor;
use crate::own_data::{InputData, OwnData};
use crate::peers::Peers;
use crate::results::{Answer, JobResult, Outputs, learnt};
use crate::running_job::RunningJob;
use crate::settings::Settings;
use crate::shard_folders::ShardFolders;
use crate::standing::{Queries, Serves, Serving, StandingJobs, Words};
use crate::stock::{ShelfGuard, Stock};
use crate::unsettled::AgainstPeers;

/// What else the parties compare before they compute. Once they have agreed, what a peer does is on record.
struct Agreed {
    proposal: String,
    running: Arc<RunningJob>,
    protocol: &'static str,
}

impl Agreed {
    fn new(job: &Job, compiled: &Compiled, running: &Arc<RunningJob>) -> Self {
        Agreed {
            proposal: job.digest.to_string(),
            running: Arc::clone(running),
            protocol: compiled.protocol().name(),
        }
    }
}

impl AlsoAgree for Agreed {
    fn terms(&self) -> Terms {
        vec![("proposal".into(), self.proposal.clone())]
    }

    fn agreed(&self) {
        self.running.opens();
    }

    fn settled(&self) {
        self.running.settles();
    }

    fn warned(&self, warnings: Vec<Warning>) {
        self.running.keep_warnings(self.protocol, warnings);
    }
}

/// What computes with the peers. It has no lock of its own.
pub(crate) struct Sessions {
    settings: Arc<Settings>,
    peers: Arc<Peers>,
    kept: Arc<KeptValues>,
    data: Arc<OwnData>,
    shards: Arc<ShardFolders>,
    standing: Arc<StandingJobs>,
    jobs: Jobs,
    key: Arc<ResultKey>,
    monitor: Arc<Monitor>,
    against: Arc<AgainstPeers>,
    stock: Arc<Stock>,
}

impl Sessions {
    pub(crate) fn new(base: &Base) -> Self {
        Sessions {
            settings: Arc::clone(&base.settings),
            peers: Arc::clone(&base.peers),
            kept: Arc::clone(&base.kept),
            data: Arc::clone(&base.data),
            shards: Arc::clone(&base.shards),
            standing: Arc::clone(&base.standing),
            jobs: base.jobs.clone(),
            key: Arc::clone(&base.key),
            monitor: Arc::clone(&base.monitor),
            against: Arc::clone(&base.against),
            stock: Arc::clone(&base.stock),
        }
    }

    /// One session of a job, over connections on which nothing was said yet.
    pub(crate) fn compute(
        &self,
        job: &Job,
        (compiled, connections): (Arc<Compiled>, Connections),
        running: &Arc<RunningJob>,
        on_shelf: Option<&ShelfGuard>,
    ) -> Result<(Arc<Compiled>, JobResult), Fault> {
        let result = match &compiled.work {
            Work::Circuit { .. } => self.compute_circuit(job, &compiled, connections, running, on_shelf),
            Work::Query(query) => self.compute_query(job, &compiled, query, connections, running),
        };
        Ok((compiled, result?))
    }

    /// Tells whoever listens how far a job is.
    fn progress(&self, running: &RunningJob, far: &query::Far) {
        if running.progress(far) {
            self.monitor.tell(&Happened::Progress(running.shown()));
        }
    }

    /// What a session told besides its outputs, which are known by now. What it warns of waits until all is over that peers see: that this party has noticed
    /// something can tell a cheater of its inputs.
    fn keep_report(&self, job: &Job, running: &RunningJob, report: &PartyReport) {
        running.keep_warnings(report.description.protocol.name(), report.warnings.clone());
        // Its bound all parties know.
        self.against.check_bound(job, report.description.error_log2);
    }

    fn compute_circuit(
        &self,
        job: &Job,
        compiled: &Compiled,
        mut connections: Connections,
        running: &Arc<RunningJob>,
        on_shelf: Option<&ShelfGuard>,
    ) -> Result<JobResult, Fault> {
        let Work::Circuit {
            job: circuit,
            program,
            prepared,
            lanes,
        } = &compiled.work
        else {
            return Err(Fault::new(FailKind::Internal, "it is no circuit"));
        };
        let read = |index, source: InputData, name: &str| {
            Ok(circuit.read_input(index, program.lanes(), name, source.reader())?)
        };
        let mut inputs = match job.proposal.is_caller(self.settings.me) {
            // They come with each call.
            true => vec![None; compiled.inputs.len()],
            false => {
                let posted = self.data.posted_for(job, compiled)?;
                self.data.read_inputs(&job.binding, compiled, posted, read)?
            }
        };
        let (me, kept) = (PartyId(self.settings.me), circuit.keeping());
        if let Some(lanes) = lanes {
            let also_agree = Arc::new(Agreed::new(job, compiled, running));
            let within = self.within(job.proposal.id);
            let mut progress = |far: &query::Far| self.progress(running, far);
            let outcome = lanes.run(
                (me, inputs),
                also_agree,
                within,
                || Ok(connections),
                &mut progress,
            )?;
            self.keep_report(job, running, &outcome.report);
            return Ok(JobResult {
                text: text_of(job, &outcome.report)?,
                ..JobResult::default()
            });
        }
        if circuit.calls().is_some() {
            return self.serve_circuit(job, compiled, (connections, inputs), running);
        }
        let shares = self.kept.shares_for(job, kept, program.lanes())?;
        let (held, fresh) = kept.inputs(me, program.lanes(), shares)?;
        inputs.extend(held);
        let party = Party {
            me,
            protocol: compiled.protocol(),
            program,
            inputs: &inputs,
            also_agree: &Agreed::new(job, compiled, running),
            transport: Transport::Tls,
            phase_timeout: self.settings.phase_timeout,
        };
        let stored = match on_shelf.is_some() || running.shelf.is_some() {
            true => self.stock.agree_on_stock(&mut connections, on_shelf, compiled)?,
            false => None,
        };
        let (prepared, store) = match stored {
            Some((prepared, store)) => (prepared, Some(store)),
            None => (prepared.clone(), None),
        };
        let mut progress = |done, total| {
            self.progress(running, &query::Far::of_one(done, total));
        };
        let outcome = party.run_prepared(prepared, store.as_ref(), || Ok(connections), &mut progress);
        inputs.iter_mut().skip(circuit.given()).for_each(keeping::wipe);
        let outcome = outcome?;
        if outcome.is_agreed {
            running.settles();
        }
        self.keep_report(job, running, &outcome.report);
        let shares = kept.finish(me, fresh, outcome.outputs)?;
        let text = text_of(job, &outcome.report)?;
        Ok(JobResult { text, shares })
    }

    /// A session of a circuit that stands.
    fn serve_circuit(
        &self,
        job: &Job,
        compiled: &Compiled,
        (connections, fixed): (Connections, Vec<Option<BitMatrix>>),
        running: &Arc<RunningJob>,
    ) -> Result<JobResult, Fault> {
        let name = format!("{}: calls", running.session());
        let topology = Words::topology(compiled.parties());
        let words = self.join(&topology, &name, running).map_err(goes_on)?;
        let words = Words::of(self.settings.me, running.hold(words));
        let serves = Serves::Circuit { connections, fixed };
        self.serve(job, compiled, (serves, words), running)
    }

    /// A session of a query that stands: what its parties say to each other goes over `connections`, and each call has some of its own.
    fn serve_query(
        &self,
        job: &Job,
        (compiled, query): (&Compiled, &query::Proposed),
        connections: Connections,
        running: &Arc<RunningJob>,
    ) -> Result<JobResult, Fault> {
        let posted = self.data.posted_for(job, compiled)?;
        let tables = self.data.read_tables(&job.binding, compiled, query, posted)?;
        query.rehearse(&tables)?;
        let queries = Queries {
            compiled,
            tables,
            allow: &|called, call| {
                let name = format!("{}/{call}", job.proposal.id);
                // With other values the planner may find that it tells of other columns.
                self.data
                    .check_query(compiled, called, &job.binding)
                    .and_then(|()| self.data.count_call(&name, called))
                    .map_err(|error| Fault::new(FailKind::Refused, error.to_string()))
            },
            join: &|topology, name| self.join(topology, name, running),
            keep: &|report| self.keep_report(job, running, report),
        };
        let words = Words::of(self.settings.me, connections);
        self.serve(job, compiled, (Serves::Query(queries), words), running)
    }

    /// A session of a job that stands.
    fn serve(
        &self,
        job: &Job,
        compiled: &Compiled,
        (serves, words): (Serves<'_>, Words),
        running: &Arc<RunningJob>,
    ) -> Result<JobResult, Fault> {
        let serving = Serving {
            me: self.settings.me,
            jobs: &self.jobs,
            key: &self.key,
            job,
            running,
            also_agree: &Agreed::new(job, compiled, running),
            phase_timeout: self.settings.phase_timeout,
            bound: &|error_log2| self.against.check_bound(job, error_log2),
        };
        let desk = self
            .standing
            .desk_of(job)
            .map_err(|error| goes_on(Fault::new(FailKind::Timeout, error.to_string())))?;
        serving.serve(&desk, (serves, words)).map_err(goes_on)?;
        Ok(JobResult::default())
    }

    /// Joins the parties of a session of this name.
    fn join(&self, topology: &Topology, name: &str, running: &RunningJob) -> Result<Connections, Fault> {
        let wires = self
            .peers
            .wires
            .get()
            .ok_or_else(|| Fault::new(FailKind::Internal, "there are no connections"))?;
        let connections = wires.connections(topology, name, self.settings.timeout, &running.patience);
        connections.map_err(|error| Fault::of(&error))
    }

    /// How the parties of a job are joined, in its shards too.
    fn within(&self, job: JobId) -> Within {
        let (peers, timeout) = (Arc::clone(&self.peers), self.settings.timeout);
        let join: Join = Arc::new(move |topology, part, patience| {
            let wires = peers
                .wires
                .get()
                .ok_or_else(|| cenote::Error::Usage("there are no connections to the peers".into()))?;
            wires.connections(topology, &format!("job {job}: {part}"), timeout, patience)
        });
        Within {
            transport: Transport::Tls,
            timeout,
            phase_timeout: self.settings.phase_timeout,
            join,
            folder: self.shards.of(job),
            identity: Arc::clone(&self.settings.identity),
        }
    }

    fn compute_query(
        &self,
        job: &Job,
        compiled: &Compiled,
        query: &query::Proposed,
        connections: Connections,
        running: &Arc<RunningJob>,
    ) -> Result<JobResult, Fault> {
        if query.job().calls().is_some() {
            return self.serve_query(job, (compiled, query), connections, running);
        }
        // They may have changed since it was approved. A job that its parties have begun together was counted before that, perhaps a day ago.
        self.data
            .check_tables(compiled, &job.binding)
            .and_then(|()| match self.shards.has_begun(job.proposal.id) {
                true => Ok(()),
                false => self.data.count_answer(job.proposal.id, compiled),
            })
            .map_err(|error| Fault::new(FailKind::Refused, error.to_string()))?;
        let posted = self.data.posted_for(job, compiled)?;
        let tables = self.data.read_tables(&job.binding, compiled, query, posted)?;
        let run = query::Run {
            tables,
            also_agree: Arc::new(Agreed::new(job, compiled, running)),
            within: self.within(job.proposal.id),
        };
        let mut progress = |far: &query::Far| self.progress(running, far);
        let ended = query.run(run, || Ok(connections), &mut progress)?;
        self.keep_report(job, running, &ended.report);
        let text = ended
            .answer?
            .map(|answer| learnt(job, Answer { answer }))
            .transpose()?;
        Ok(JobResult {
            text,
            ..JobResult::default()
        })
    }
}

/// A fault after which a job that stands goes on in another session.
fn goes_on(fault: Fault) -> Fault {
    Fault {
        goes_on: true,
        ..fault
    }
}

/// The outputs of a circuit that this party has learnt, as text.
fn text_of(job: &Job, report: &PartyReport) -> Result<Option<Zeroizing<Vec<u8>>>, Fault> {
    let outputs = report.outputs.iter();
    let outputs: Vec<&Output> = outputs.filter(|output| output.values.is_some()).collect();
    match outputs.is_empty() {
        true => Ok(None),
        false => Ok(Some(learnt(job, Outputs { outputs })?)),
    }
}
