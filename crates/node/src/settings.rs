//! What a service is told: the table `[service]` of a party file, and what follows from the rest of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cenote::stock::Peers;
use cenote::{Identity, PartyConfig, StockTarget};
use cenote_service::Address;

use crate::Error;
use crate::queue::Limits;

/// What a service is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which party it is.
    pub me: u8,
    /// The names of all parties, in order.
    pub names: Vec<String>,
    /// Its key, by which the others know it.
    pub identity: Arc<Identity>,
    /// Where its record, keys and material lie.
    pub folder: PathBuf,
    /// Where the record of jobs is.
    pub database: Address,
    /// The folder of its data.
    pub data: PathBuf,
    /// The file of its policy; without one, persons decide.
    pub policy: Option<PathBuf>,
    /// The file of what is published of this party's tables; where there is none, nothing is.
    pub catalogue: PathBuf,
    /// The file of what may be asked of this party's tables; without one, whatever is approved.
    pub tables: Option<PathBuf>,
    /// Jobs side by side.
    pub jobs: u64,
    /// Of those, one proposer's.
    pub jobs_per_proposer: u64,
    /// Bytes of memory that all jobs may take.
    pub memory: u64,
    /// Proposals of a peer in a second, in the long run.
    pub proposals_a_second: u64,
    /// How long ended jobs are listed.
    pub keep: Duration,
    /// How long a session waits for a silent peer.
    pub timeout: Duration,
    /// How long a phase of a session may take.
    pub phase_timeout: Option<Duration>,
    /// How long a job that was interrupted waits at least before it goes on, so that nobody who cuts it off again and again keeps this party busy.
    pub pause: Duration,
    /// Bytes that are free on the disk of the service's folder without an alarm.
    pub room: u64,
    /// Material that is kept ahead of jobs.
    pub stock: StockSettings,
}

/// What stock a service keeps, and where.
#[derive(Debug, Clone, Default)]
pub struct StockSettings {
    /// The folder of its shelves.
    pub folder: PathBuf,
    /// The file of their key.
    pub key: PathBuf,
    /// What is to be there.
    pub targets: Vec<StockTarget>,
    /// With whom it is made.
    pub peers: Peers,
    /// Bytes that are left free on the disk.
    pub margin: u64,
}

/// Bytes that are left free on the disk.
const MARGIN: u64 = 1 << 30;

/// Less room than this on the disk of a service's folder is an alarm. Stock leaves more.
pub const ROOM: u64 = 512 << 20;

/// The least pause of a job that was interrupted.
const PAUSE: Duration = Duration::from_secs(2);

impl Settings {
    /// What may run here.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            jobs: self.jobs,
            per_proposer: self.jobs_per_proposer,
            memory: self.memory,
        }
    }

    /// Of a party file, for the party with this key.
    ///
    /// # Errors
    /// That the file has no table of a service, or an address of a database that cannot be used.
    pub fn of(config: &PartyConfig, identity: Identity) -> Result<Self, Error> {
        let service = config.service.as_ref().ok_or_else(|| {
            Error::Settings("the party file has no [service]; add that line at its end, or make a new file with `cenote init`".into())
        })?;
        let database = match &service.database {
            None => Address::Embedded,
            Some(address) => Address::parse(&address.0)?,
        };
        let (folder, key) = match &config.stock {
            Some(stock) => stock.clone(),
            None if service.stock.is_empty() => Default::default(),
            None => {
                return Err(Error::Settings(
                    "the party file has [[service.stock]] and names no folder for it: add stock = \"stock\" and stock_key = \"stock.key\" \
                     at its beginning"
                        .into(),
                ));
            }
        };
        let peers = config.peers.iter().map(|peer| (peer.party, peer.fingerprint));
        let stock = StockSettings {
            folder,
            key,
            targets: service.stock.clone(),
            peers: peers.collect(),
            margin: MARGIN,
        };
        // Half of what there is: the rest is the peers' messages, the database, and the system.
        let available = cenote_session::memory::available().unwrap_or(4 << 30) / 2;
        Ok(Settings {
            me: config.me.0,
            names: service.names.clone(),
            identity: Arc::new(identity),
            folder: service.folder.clone(),
            database,
            data: service.data.clone(),
            policy: service.policy.clone(),
            catalogue: service.catalogue.clone(),
            tables: config.policy.clone(),
            jobs: service.jobs,
            jobs_per_proposer: service.jobs_per_proposer,
            memory: config.memory.unwrap_or(available),
            proposals_a_second: service.proposals_a_second,
            keep: service.keep,
            timeout: config.timeout,
            phase_timeout: config.phase_timeout,
            pause: PAUSE,
            room: ROOM,
            stock,
        })
    }
}
