//! One party whose peers are elsewhere.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use cenote_net::{Budget, Identity, Listen, PartyId, PeerAddress};

use crate::outputs::OutputFiles;
use crate::party_config::resolve;
use crate::runner::Outcome;
use crate::stock::{self, Store};
use crate::stop::Session;
use crate::{Error, Job, Party, PartyConfig, Result, Transport};
use cenote_session::{Connections, Link, Topology};

/// What has become of a job that the operator stopped.
const JOB_STOPPED: &str = "the job has ended, its peers were told, and this party has written no output";

/// Everything that can be known to be right before the peers are met: the identity, the circuit, this party's inputs, and that
/// its outputs can be written.
pub struct Ready<'a> {
    identity: Arc<Identity>,
    program: crate::Program,
    prepared: crate::Prepared,
    inputs: Vec<Option<cenote_primitives::BitMatrix>>,
    files: OutputFiles<'a>,
}

impl<'a> Ready<'a> {
    /// Reads the identity and this party's inputs, and sees that the party file has the peers of the job's protocol, that the
    /// job states its lanes, and that the files for this party's outputs can be written.
    ///
    /// # Errors
    /// [`Error::Config`] or [`Error::Data`], naming the file and where one is to blame the line.
    pub fn check(config: &PartyConfig, job: &'a Job) -> Result<Self> {
        let identity = load_identity(&config.identity)?;
        let lanes = job.stated_lanes()?;
        let program = job.program(lanes)?;
        config.check_parties(job.protocol())?;
        if let Some(bytes) = config.memory {
            cenote_session::memory::set_limit(bytes);
        }
        let prepared = job.protocol().prepare(&program.demand())?;
        prepared.admit(&program, [config.me])?;
        let inputs = job.read_inputs(config.me, lanes)?;
        job.warn_if_exposed();
        let files = OutputFiles::check(job, |to| to.contains(config.me))?;
        Ok(Ready {
            identity: Arc::new(identity),
            program,
            prepared,
            inputs,
            files,
        })
    }

    /// What will be computed.
    pub fn program(&self) -> &crate::Program {
        &self.program
    }

    /// What the peers know this party by.
    pub fn fingerprint(&self) -> cenote_net::Fingerprint {
        self.identity.fingerprint()
    }
}

/// Reads an identity file.
///
/// # Errors
/// [`Error::Config`] if it is missing, no identity, or readable by others.
pub fn load_identity(path: &std::path::Path) -> Result<Identity> {
    Identity::load(path).map_err(|error| {
        let reason = match error {
            cenote_net::Error::Local { reason, .. } => reason,
            other => other.to_string(),
        };
        Error::config(
            path,
            None,
            format!("{reason}; make an identity with `cenote identity new`"),
        )
    })
}

/// Runs `job` as the party of `config`, and writes the files that the job names for this party's outputs. `progress` is told
/// the AND gates done, of how many.
///
/// # Errors
/// Those of [`Ready::check`] and [`Party::run`].
pub fn run_party(config: &PartyConfig, job: &Job, progress: &mut dyn FnMut(u64, u64)) -> Result<Outcome> {
    run(config, job, None, progress)
}

/// Like [`run_party`], with what is in the party's stock (see [`crate::stock`]). All parties must do the same.
///
/// # Errors
/// Those of [`run_party`] and [`crate::stock::open`]; [`Error::Protocol`] if the stock does not suffice.
pub fn run_party_online(
    config: &PartyConfig,
    job: &Job,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome> {
    job.protocol().item()?;
    let stock = stock::open(config)?;
    run(config, job, Some(&stock), progress)
}

fn run(
    config: &PartyConfig,
    job: &Job,
    stock: Option<&Store>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome> {
    let Ready {
        identity,
        program,
        prepared,
        inputs,
        files,
    } = Ready::check(config, job)?;
    files.put_aside()?;
    let party = Party {
        me: config.me,
        protocol: job.protocol(),
        program: &program,
        inputs: &inputs,
        also_agree: &(),
        transport: Transport::Tls,
        phase_timeout: config.phase_timeout,
    };
    let what = match stock {
        None => JOB_STOPPED.to_owned(),
        Some(_) => format!("{JOB_STOPPED}; what it had taken of the stock is used up, the rest stays"),
    };
    let outcome = Session::run(&what, |session| {
        let connect = || {
            let connections = meet(config, identity, &job.protocol().topology())?;
            Ok(session.interrupts(connections))
        };
        party.run_prepared(prepared, stock, connect, progress)
    })?;
    files.write(&outcome.report.outputs)?;
    Ok(outcome)
}

/// Connects to those peers of `config` that the topology has.
pub(crate) fn meet(
    config: &PartyConfig,
    identity: Arc<Identity>,
    topology: &Topology,
) -> Result<Connections> {
    meet_with(config, identity, topology, Budget::default())
}

/// The same, with so much memory for messages on their way.
pub(crate) fn meet_with(
    config: &PartyConfig,
    identity: Arc<Identity>,
    topology: &Topology,
    budget: Budget,
) -> Result<Connections> {
    let fingerprint = identity.fingerprint();
    let listen = match &config.listen {
        Some(address) => {
            resolve(address).map_err(|error| Error::Usage(format!("listen address {address}: {error}")))?
        }
        // The highest-numbered party is dialled by nobody.
        None => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    };
    let address = |id: PartyId| match config.peers.iter().find(|peer| peer.party == id) {
        Some(peer) => PeerAddress {
            address: peer.address.clone().unwrap_or_default(),
            fingerprint: Some(peer.fingerprint),
        },
        None => PeerAddress {
            address: listen.to_string(),
            fingerprint: Some(fingerprint),
        },
    };
    tracing::info!(me = %config.me, %listen, %fingerprint, "waiting for the peers");
    let link = Link {
        me: config.me,
        parties: (0..topology.parties).map(PartyId).map(address).collect(),
        listen: Listen::Address(listen),
        identity: Some(identity),
        connect_timeout: config.connect_timeout,
        timeout: config.timeout,
        on_wait: config.on_wait.clone(),
        budget,
    };
    Ok(Connections::connect(topology, link)?)
}
