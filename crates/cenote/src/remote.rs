//! One party whose peers are elsewhere.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use cenote_net::{
    CHANNELS, ChannelOptions, Error as NetError, Identity, Label, Listen, MeshConfig, PartyId, PeerAddress,
    Transport as Carrier, connect,
};
use cenote_three::store::StockFolder;
use cenote_three::{Links, Ring};

use crate::party_config::resolve;
use crate::runner::Outcome;
use crate::same_run;
use crate::{Error, Job, PARTIES, Party, PartyConfig, Result, Transport};

/// The name under which parties of this program find each other. What they compute is compared once they are connected.
const SESSION: &str = "cenote three";

/// Everything that can be known to be right before the peers are met: the identity, the circuit, this party's inputs, and that
/// its outputs can be written.
pub struct Ready {
    identity: Arc<Identity>,
    program: crate::Program,
    inputs: Vec<Option<cenote_primitives::BitMatrix>>,
}

impl Ready {
    /// Reads the identity and this party's inputs, and sees that the job states its lanes and that the files for this party's
    /// outputs can be written.
    ///
    /// # Errors
    /// [`Error::Config`] or [`Error::Data`], naming the file and where one is to blame the line.
    pub fn check(config: &PartyConfig, job: &Job) -> Result<Self> {
        let identity = load_identity(&config.identity)?;
        let lanes = job.stated_lanes()?;
        let program = job.program(lanes)?;
        job.protocol().parameters(program.plan(), lanes)?;
        let inputs = job.read_inputs(config.me, lanes)?;
        job.warn_if_exposed();
        for (file, to) in job.output_files().iter().zip(program.receivers()) {
            if let Some(file) = file
                && to.contains(config.me)
            {
                crate::data::check_writable(file)?;
            }
        }
        Ok(Ready {
            identity: Arc::new(identity),
            program,
            inputs,
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

/// Like [`run_party`], with triples from the party's stock (see [`crate::stock`]). All parties must do the same.
///
/// # Errors
/// Those of [`run_party`] and [`crate::stock::open`]; [`Error::Protocol`] if the stock does not suffice.
pub fn run_party_online(
    config: &PartyConfig,
    job: &Job,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome> {
    run(config, job, Some(&crate::stock::open(config)?), progress)
}

fn run(
    config: &PartyConfig,
    job: &Job,
    stock: Option<&StockFolder>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome> {
    let Ready {
        identity,
        program,
        inputs,
    } = Ready::check(config, job)?;
    let party = Party {
        me: config.me,
        protocol: job.protocol(),
        program: &program,
        inputs: &inputs,
        also_agree: &(),
        transport: Transport::Tls,
    };
    let connect = || meet(config, identity, job.protocol().workers);
    let outcome = match stock {
        Some(stock) => party.run_online(stock, connect, progress)?,
        None => party.run(connect, progress)?,
    };
    for (output, file) in outcome.report.outputs.iter().zip(job.output_files()) {
        if let (Some(values), Some(file)) = (&output.values, file) {
            crate::data::write(file, values)?;
        }
    }
    Ok(outcome)
}

/// Connects to the peers of `config`.
pub(crate) fn meet(config: &PartyConfig, identity: Arc<Identity>, workers: u8) -> Result<Vec<Links>> {
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
    links(Link {
        me: config.me,
        workers,
        parties: (0..PARTIES).map(PartyId).map(address).collect(),
        listen: Listen::Address(listen),
        identity: Some(identity),
        connect_timeout: config.connect_timeout,
        timeout: config.timeout,
    })
}

/// How one party reaches the others.
pub(crate) struct Link {
    pub(crate) me: PartyId,
    pub(crate) workers: u8,
    pub(crate) parties: Vec<PeerAddress>,
    pub(crate) listen: Listen,
    /// For TLS; plain TCP without.
    pub(crate) identity: Option<Arc<Identity>>,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
}

/// Says the number of channels as the job does: two for each worker.
fn in_workers(error: NetError, workers: u8) -> NetError {
    match error {
        NetError::Mismatch {
            peer, field, theirs, ..
        } if field == CHANNELS => NetError::Mismatch {
            peer,
            field: "workers".into(),
            ours: workers.to_string(),
            theirs: match theirs.parse::<u16>() {
                Ok(channels) if channels % 2 == 0 => (channels / 2).to_string(),
                _ => format!("as many as have {theirs} channels"),
            },
        },
        other => other,
    }
}

/// Connects to both peers: for each worker two channels to each, for its two threads.
pub(crate) fn links(link: Link) -> Result<Vec<Links>> {
    let me = link.me;
    let config = MeshConfig {
        me,
        parties: link.parties,
        listen: link.listen,
        transport: link.identity.map_or(Carrier::Plain, Carrier::Tls),
        session: SESSION.into(),
        connect_timeout: link.connect_timeout,
        options: ChannelOptions::with_timeout(link.timeout),
    };
    let labels: Vec<[Label; 2]> = (0..link.workers)
        .map(|worker| ["generator", "evaluator"].map(|thread| Label::new(format!("{thread} {worker}"))))
        .collect();
    let mut mesh = connect(config, labels.as_flattened()).map_err(|error| in_workers(error, link.workers))?;
    let mut ring = |label: &Label| -> Result<Ring> {
        Ok(Ring {
            previous: mesh.take(PartyId((me.0 + 2) % PARTIES), label)?,
            next: mesh.take(PartyId((me.0 + 1) % PARTIES), label)?,
        })
    };
    let mut links = labels
        .iter()
        .map(|[generator, evaluator]| {
            Ok(Links {
                generator: ring(generator)?,
                evaluator: ring(evaluator)?,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    same_run::check(me, &mut links)?;
    Ok(links)
}
