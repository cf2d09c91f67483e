//! What the parts of a service stand on: the record, the folders, the peers, and what runs.

use std::sync::Arc;

use cenote_service::audit::Event;
use cenote_service::job::Settings as JobSettings;
use cenote_service::{Database, Jobs, ResultKey, Timestamp};

use crate::catalogue::Catalogues;
use crate::error::Error;
use crate::kept::KeptValues;
use crate::locks::Mutex;
use crate::monitor::Monitor;
use crate::open_jobs::OpenJobs;
use crate::own_data::OwnData;
use crate::peers::Peers;
use crate::policy::{self, PolicyInForce};
use crate::programs::Programs;
use crate::room::Room;
use crate::scheduler::Scheduler;
use crate::settings::Settings;
use crate::shard_folders::ShardFolders;
use crate::standing::StandingJobs;
use crate::stock::Stock;
use crate::unsettled::AgainstPeers;
use crate::witness::Witness;

/// What the parts of a service stand on.
pub(crate) struct Base {
    pub(crate) settings: Arc<Settings>,
    pub(crate) since: Timestamp,
    pub(crate) database: Database,
    pub(crate) jobs: Jobs,
    pub(crate) key: Arc<ResultKey>,
    pub(crate) programs: Arc<Programs>,
    pub(crate) kept: Arc<KeptValues>,
    pub(crate) data: Arc<OwnData>,
    pub(crate) shards: Arc<ShardFolders>,
    pub(crate) standing: Arc<StandingJobs>,
    pub(crate) policy: Arc<PolicyInForce>,
    pub(crate) open: Arc<OpenJobs>,
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) against: Arc<AgainstPeers>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) witness: Arc<Witness>,
    pub(crate) stock: Arc<Stock>,
    pub(crate) room: Arc<Room>,
    pub(crate) catalogues: Arc<Catalogues>,
}

impl Base {
    /// Opens the record and the folders of a service.
    ///
    /// # Errors
    /// Where the folder is in use, or the record, the policy or a folder cannot be used.
    pub(crate) fn open(settings: Settings) -> Result<Self, Error> {
        let me = settings.me;
        let database = Database::open(&settings.folder, &settings.database)?;
        let key = Arc::new(ResultKey::of(&database)?);
        let policy = policy::read(&settings)?;
        let since = Timestamp::now();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        database.audit(since, Event::Started { version })?;
        let digest = policy.digest();
        database.audit(since, Event::Policy { digest })?;
        let jobs = Jobs::new(database.clone(), JobSettings::new(me));
        let monitor = Arc::new(Monitor::default());
        let peers = Arc::new(Peers::new(&settings, Arc::clone(&monitor)));
        let scheduler = Arc::new(Scheduler::new(me, settings.limits()));
        let policy = Arc::new(PolicyInForce::new(policy, database.clone()));
        let witness = Witness::open(&settings, &database, &monitor, &peers, &scheduler)?;
        let witness = Arc::new(witness);
        let against = Arc::new(AgainstPeers {
            warnings: Mutex::default(),
            lost: Mutex::default(),
            me,
            database: database.clone(),
            jobs: jobs.clone(),
            policy: Arc::clone(&policy),
            peers: Arc::clone(&peers),
            monitor: Arc::clone(&monitor),
            witness: Arc::clone(&witness),
        });
        let stock = Stock::open(&settings, &monitor, &peers, &scheduler, &against)?;
        let stock = Arc::new(stock);
        let room = Arc::new(Room::new(&settings, &database, &monitor, &peers));
        let programs = Programs::open(&settings.folder.join("programs"), me);
        let programs = Arc::new(programs.map_err(Error::Machine)?);
        let data = OwnData::open(&settings, Arc::clone(&key));
        let data = Arc::new(data.map_err(Error::Machine)?);
        let settings = Arc::new(settings);
        let catalogues = Arc::new(Catalogues::open(&settings, &database, &data, &monitor, &peers)?);
        let shards = Arc::new(ShardFolders::new(settings.folder.join("shards")));
        let standing = StandingJobs::new(me, jobs.clone(), &key, &programs);
        let kept = Arc::new(KeptValues {
            jobs: jobs.clone(),
            key: Arc::clone(&key),
        });
        let open = Arc::new(OpenJobs::new(me, jobs.clone(), Arc::clone(&monitor)));
        Ok(Base {
            settings,
            since,
            database,
            jobs,
            key,
            programs,
            kept,
            data,
            shards,
            standing: Arc::new(standing),
            policy,
            open,
            monitor,
            against,
            peers,
            scheduler,
            witness,
            stock,
            room,
            catalogues,
        })
    }
}
