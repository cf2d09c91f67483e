//! A program that can be run: read, checked and measured.

use std::collections::BTreeMap;
use std::io::{BufRead, Cursor};
use std::sync::Arc;

use cenote::keeping::Keeping;
use cenote::query::{Declared, Proposed, QueryJob};
use cenote::shards::Lanes;
use cenote::standing::{Calls, most_together, of_calls};
use cenote::{Bundle, Job, PartyId, Prepared, Program, Protocol};
use cenote_service::job::{self, Digest, Estimate, Input, JobId, Proposal, Security};
use cenote_service::policy::Size;
use cenote_session::Topology;

use crate::standing::Words;

/// The kind of program that is a circuit.
const CIRCUIT: &str = "circuit";
/// The kind of program that is a query.
pub(crate) const QUERY: &str = "query";
/// What a part of the plan of a query weighs, as gates of a circuit.
const PART: usize = 8;
/// Bytes of the values of the parameters of a query, about.
const VALUES: usize = 64 << 10;
/// Threads of a party of a job, at most.
const WORKERS: u8 = 8;
/// Bytes of the shares that a job keeps at a party, at most.
pub(crate) const MOST_KEPT: u64 = 64 << 20;

/// What is computed.
pub(crate) enum Work {
    Circuit {
        job: Box<Job>,
        /// What is computed.
        program: Box<Program>,
        /// The parameters for it.
        prepared: Prepared,
        /// How it is cut, if it is.
        lanes: Option<Arc<Lanes>>,
    },
    /// A query over tables.
    Query(Proposed),
}

/// A kept value that a program takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The input's name.
    pub(crate) input: String,
    /// The value's name.
    pub(crate) name: String,
    /// The job that kept it, if the program says so.
    pub(crate) of: Option<JobId>,
    /// Its type.
    pub(crate) kind: String,
}

/// A program, and what it takes.
pub(crate) struct Compiled {
    /// The digest of its text.
    pub(crate) digest: Digest,
    /// Its text.
    pub(crate) bundle: Bundle,
    /// What is computed.
    pub(crate) work: Work,
    /// The inputs that parties give.
    pub(crate) inputs: Vec<Input>,
    /// The inputs that are kept values.
    pub(crate) takes: Vec<Taken>,
    /// The outputs that are kept.
    pub(crate) keeps: Vec<job::Keep>,
    /// Who learns outputs.
    pub(crate) receivers: Vec<u8>,
    /// AND gates and bytes.
    pub(crate) size: Size,
    /// Bytes of memory that a run of it takes, by party.
    pub(crate) memory: Vec<u64>,
}

impl Compiled {
    /// Reads a program for the party `me`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn new(bundle: Bundle, digest: Digest, me: u8) -> Result<Self, cenote::Error> {
        match QueryJob::is_in(&bundle.job) {
            true => Self::query(bundle, digest, me),
            false => Self::circuit(bundle, digest),
        }
    }

    fn circuit(bundle: Bundle, digest: Digest) -> Result<Self, cenote::Error> {
        let job = Job::from_bundle(&bundle)?;
        check_workers(job.protocol())?;
        let lanes = job.stated_lanes()?;
        let program = job.program(lanes)?;
        // One that stands is prepared for all its calls.
        let all = job.calls().map(|calls| of_calls(&program, calls.most));
        let all = all.transpose()?;
        let whole = all.as_ref().unwrap_or(&program);
        let prepared = job.protocol().prepare(&whole.demand())?;
        let together = job
            .calls()
            .map(|_| of_calls(&program, most_together(&program) as u64));
        let together = together.transpose()?;
        let inputs = given(&job, &program, lanes);
        let keeping = job.keeping();
        let takes = taken(keeping, lanes).map_err(cenote::Error::Usage)?;
        let keeps = kept(keeping, lanes);
        if keeping.share_bytes(lanes) > MOST_KEPT {
            return Err(cenote::Error::Usage(format!(
                "what it keeps takes more than {} MB at a party; keep less, or in several jobs",
                MOST_KEPT >> 20
            )));
        }
        let mut receivers: Vec<u8> = program
            .receivers()
            .iter()
            .take(keeping.opened())
            .flat_map(|to| to.iter().map(|party| party.0))
            .collect();
        receivers.sort_unstable();
        receivers.dedup();
        let parties = (0..job.protocol().parties()).map(PartyId);
        let cut = Lanes::of(&job, lanes)?;
        let (ands, bytes, memory) = match &cut {
            Some(cut) => {
                let memory = parties.map(|party| cut.job_bytes(party));
                let memory: cenote::Result<Vec<u64>> = memory.collect();
                (cut.and_gates(), cut.traffic_bytes()?, memory?)
            }
            None => {
                let at_once = together.as_ref().unwrap_or(&program);
                (
                    whole.and_gates(),
                    prepared.traffic_bytes(&whole.demand()),
                    parties.map(|party| prepared.job_bytes(at_once, party)).collect(),
                )
            }
        };
        let size = Size {
            ands,
            bytes: bytes / 2,
        };
        Ok(Compiled {
            digest,
            bundle,
            inputs,
            takes,
            keeps,
            receivers,
            size,
            memory,
            work: Work::Circuit {
                job: Box::new(job),
                program: Box::new(program),
                prepared,
                lanes: cut.map(Arc::new),
            },
        })
    }

    fn query(bundle: Bundle, digest: Digest, me: u8) -> Result<Self, cenote::Error> {
        let query = Proposed::new(&bundle, PartyId(me))?;
        check_workers(query.job().protocol())?;
        // One that stands is for all its calls.
        let calls = query.job().calls().map_or(1, |calls| calls.most);
        let schema = query.job().query().schema();
        let inputs = schema
            .tables
            .iter()
            .map(|table| Input {
                name: table.name.clone(),
                kind: format!("a table of up to {} rows", table.max_rows),
                owner: table.party.0,
            })
            .collect();
        Ok(Compiled {
            digest,
            bundle,
            inputs,
            takes: Vec::new(),
            keeps: Vec::new(),
            receivers: schema.answer.to.iter().map(|party| party.0).collect(),
            size: Size {
                ands: query.and_gates().saturating_mul(calls),
                bytes: (query.traffic_bytes() / 2).saturating_mul(calls),
            },
            memory: query.memory_bytes().to_vec(),
            work: Work::Query(query),
        })
    }

    /// The tables that it is computed on, as it declares them.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Declared> {
        let query = match &self.work {
            Work::Query(query) => Some(query),
            Work::Circuit { .. } => None,
        };
        query
            .into_iter()
            .flat_map(|query| &query.job().query().schema().tables)
    }

    /// Bytes of memory that a run of it takes at a party.
    pub(crate) fn memory_at(&self, party: u8) -> u64 {
        self.memory.get(usize::from(party)).copied().unwrap_or(0)
    }

    /// Whether it is cut into shards.
    pub(crate) fn is_in_shards(&self) -> bool {
        match &self.work {
            Work::Circuit { lanes, .. } => lanes.is_some(),
            Work::Query(query) => query.in_shards().is_some(),
        }
    }

    /// How often it may be called, if it stands.
    pub(crate) fn calls(&self) -> Option<&Calls> {
        match &self.work {
            Work::Circuit { job, .. } => job.calls(),
            Work::Query(query) => query.job().calls(),
        }
    }

    /// Bytes of the inputs that a party gives to a call, about.
    pub(crate) fn input_bytes(&self, party: u8) -> usize {
        let Work::Circuit { program, .. } = &self.work else {
            return VALUES;
        };
        let values = program.circuit().inputs().iter().zip(program.owners());
        let own = values.filter(|(_, owner)| owner.0 == party);
        // A row of bits takes whole words.
        let words = program.lanes().div_ceil(64);
        own.map(|(value, _)| 8 * words * value.width as usize).sum()
    }

    /// As proposals say it.
    pub(crate) fn standing(&self) -> Option<job::Standing> {
        self.calls().map(|calls| job::Standing {
            calls: calls.most,
            callers: calls.callers.clone(),
            parameters: self.parameters(),
        })
    }

    /// The parameters of a query and their types.
    fn parameters(&self) -> Option<BTreeMap<String, String>> {
        let Work::Query(query) = &self.work else {
            return None;
        };
        let parameters = query.job().parameters().iter();
        let told = parameters.map(|parameter| (parameter.name().to_owned(), parameter.kind().to_string()));
        Some(told.collect())
    }

    /// Whether a run that is cut off goes on later.
    pub(crate) fn goes_on(&self) -> bool {
        self.is_in_shards() || self.calls().is_some()
    }

    /// How much room it takes when it is ready: gates.
    pub(crate) fn weight(&self) -> usize {
        let work = match &self.work {
            Work::Circuit { program, lanes, .. } => {
                program.circuit().gates().len() + lanes.as_ref().map_or(0, |lanes| lanes.gates())
            }
            Work::Query(query) => PART * query.parts(),
        };
        work + self.bundle.bytes() / 64
    }

    /// The program of a circuit, which stock can serve.
    pub(crate) fn program(&self) -> Option<&Program> {
        match &self.work {
            Work::Circuit {
                job,
                program,
                lanes: None,
                ..
            } if job.calls().is_none() => Some(program),
            _ => None,
        }
    }

    /// The protocol that runs it.
    pub(crate) fn protocol(&self) -> &Protocol {
        match &self.work {
            Work::Circuit { job, .. } => job.protocol(),
            Work::Query(query) => query.job().protocol(),
        }
    }

    /// How the parties are connected when a run begins.
    pub(crate) fn topology(&self) -> Topology {
        match &self.work {
            Work::Circuit { lanes: Some(_), .. } => cenote::shards::topology(self.parties()),
            Work::Circuit { .. } => self.protocol().topology(),
            Work::Query(_) if self.calls().is_some() => Words::topology(self.parties()),
            Work::Query(query) => query.topology(),
        }
    }

    /// How many parties take part.
    pub(crate) fn parties(&self) -> u8 {
        self.protocol().parties()
    }

    /// Sees that `text` can be what the party `me` gives for the input `name`.
    ///
    /// # Errors
    /// What is wrong with it; values are not quoted.
    pub(crate) fn check_posted(&self, me: u8, name: &str, text: &str) -> Result<(), String> {
        let mine = |input: &Input| input.owner == me && input.name == name;
        let index = self.inputs.iter().position(mine).ok_or_else(|| {
            let own = self.inputs.iter().filter(|input| input.owner == me);
            let own: Vec<String> = own.map(|input| format!("{:?}", input.name)).collect();
            match own.is_empty() {
                true => format!("this party has no input {name:?}: it has none at all"),
                false => format!("this party has no input {name:?}; it has {}", own.join(", ")),
            }
        })?;
        let reader: Box<dyn BufRead + '_> = Box::new(Cursor::new(text));
        let fault = |error: cenote::Error| error.to_string();
        match &self.work {
            Work::Circuit { job, program, .. } => job
                .read_input(index, program.lanes(), name, reader)
                .map(drop)
                .map_err(fault),
            Work::Query(query) => query.posted_table(index, reader).map(drop).map_err(fault),
        }
    }

    /// As proposals name it.
    pub(crate) fn named(&self) -> job::Program {
        job::Program {
            kind: match &self.work {
                Work::Circuit { .. } => CIRCUIT.into(),
                Work::Query(_) => QUERY.into(),
            },
            digest: self.digest,
        }
    }

    /// Its security, in bits.
    pub(crate) fn security(&self) -> Security {
        Security {
            statistical: u16::try_from(self.protocol().security()).unwrap_or(u16::MAX),
            computational: 128,
        }
    }

    /// What a proposal says that it takes.
    pub(crate) fn estimate(&self) -> Estimate {
        Estimate {
            ands: self.size.ands,
            bytes: self.size.bytes,
        }
    }

    /// Sees that a proposal says of it what it is.
    ///
    /// # Errors
    /// What it says wrongly.
    pub(crate) fn check(&self, proposal: &Proposal) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("the proposal says other {what} than its program"));
        if proposal.program != self.named() {
            return wrong("things about its program");
        }
        if proposal.parties != self.parties() {
            return wrong("parties");
        }
        if proposal.protocol != self.protocol().name() {
            return wrong("protocols");
        }
        if proposal.inputs != self.inputs {
            return wrong("inputs");
        }
        if proposal.receivers != self.receivers {
            return wrong("receivers");
        }
        let takes = |(take, taken): (&job::Take, &Taken)| {
            (&take.input, &take.name) == (&taken.input, &taken.name)
                && taken.of.is_none_or(|of| of == take.job)
        };
        if proposal.takes.len() != self.takes.len() || !proposal.takes.iter().zip(&self.takes).all(takes) {
            return wrong("kept values");
        }
        if proposal.keeps != self.keeps {
            return wrong("outputs that are kept");
        }
        if proposal.standing != self.standing() {
            return wrong("calls");
        }
        if proposal.security != self.security() {
            return wrong("security");
        }
        Ok(())
    }
}

fn check_workers(protocol: &Protocol) -> Result<(), cenote::Error> {
    match protocol.workers() {
        workers if workers > WORKERS => Err(cenote::Error::Usage(format!(
            "it asks for {workers} workers, and a job of a service has at most {WORKERS}"
        ))),
        _ => Ok(()),
    }
}

/// The inputs of a circuit that parties give.
fn given(job: &Job, program: &Program, lanes: usize) -> Vec<Input> {
    let values = program.circuit().inputs().iter().zip(program.owners());
    values
        .take(job.given())
        .map(|(value, owner)| Input {
            name: value.name.clone(),
            kind: kind(value.width, lanes),
            owner: owner.0,
        })
        .collect()
}

/// The inputs of a circuit that are kept values.
fn taken(keeping: &Keeping, lanes: usize) -> Result<Vec<Taken>, String> {
    let takes = keeping.takes().iter().map(|take| {
        let of = take.of.as_deref().map(str::parse).transpose();
        Ok(Taken {
            input: take.input.clone(),
            name: take.name.clone(),
            of: of.map_err(|_| format!("`of` of the kept value \"{}\" is no name of a job", take.name))?,
            kind: kind(take.width, lanes),
        })
    });
    takes.collect()
}

/// The outputs of a circuit that are kept.
fn kept(keeping: &Keeping, lanes: usize) -> Vec<job::Keep> {
    let keeps = keeping.keeps().iter().map(|keep| job::Keep {
        output: keep.output.clone(),
        name: keep.name.clone(),
        kind: kind(keep.width, lanes),
        days: keep.days,
    });
    keeps.collect()
}

/// The type of an input of `width` bits and one value for each lane.
fn kind(width: u32, lanes: usize) -> String {
    match lanes {
        1 => format!("u{width}"),
        _ => format!("[u{width}; {lanes}]"),
    }
}

mod told;

pub(crate) use told::in_words;

#[cfg(test)]
pub(crate) mod tests;
