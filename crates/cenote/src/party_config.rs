//! The file of one real party: who it is, where it listens, and who its peers are.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cenote_net::{Fingerprint, OnWait, PartyId};
use serde::Deserialize;
use toml::Spanned;

use crate::fields::{check_address, numbers, party};
use crate::files::scratch_folder;
use crate::service_config::{ServiceConfig, ServiceTable};
use crate::settings_file::SettingsFile;
use crate::{Error, PARTIES, Protocol, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    party: Spanned<u8>,
    identity: PathBuf,
    listen: Option<Spanned<String>>,
    #[serde(default)]
    timeout: Option<Spanned<Number>>,
    #[serde(default)]
    connect_timeout: Option<Spanned<Number>>,
    #[serde(default)]
    phase_timeout: Option<Spanned<Number>>,
    memory: Option<Spanned<u64>>,
    stock: Option<PathBuf>,
    stock_key: Option<PathBuf>,
    policy: Option<PathBuf>,
    shards: Option<PathBuf>,
    shards_store: Option<Spanned<String>>,
    scratch: Option<PathBuf>,
    service: Option<Spanned<ServiceTable>>,
    #[serde(default, rename = "peer")]
    peers: Vec<Spanned<FilePeer>>,
}

/// TOML tells 30 from 30.0.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a timeout is a number of seconds")]
enum Number {
    Whole(i64),
    Fraction(f64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilePeer {
    party: Spanned<u8>,
    address: Option<Spanned<String>>,
    fingerprint: Spanned<String>,
}

/// What one party of a computation across machines needs to know. Read by [`PartyConfig::load`].
#[derive(Clone, Debug)]
pub struct PartyConfig {
    /// Which party this is.
    pub me: PartyId,
    /// The file of its private key and certificate.
    pub identity: PathBuf,
    /// The address to listen at, `host:port`. Not needed by the last party, which dials all others.
    pub listen: Option<String>,
    /// The other parties, in order.
    pub peers: Vec<Peer>,
    /// How long to wait for a silent peer.
    pub timeout: Duration,
    /// How long to wait for the peers to appear.
    pub connect_timeout: Duration,
    /// How long each phase of a session may take: see [`Party::phase_timeout`](crate::Party::phase_timeout).
    pub phase_timeout: Option<Duration>,
    /// The most bytes of memory that a job may take; without it, what the machine has left.
    pub memory: Option<u64>,
    /// The folder of its stock of triples, and the file of that folder's key, if it has one.
    pub stock: Option<(PathBuf, PathBuf)>,
    /// The file of what may be asked of its tables: anything, without one.
    pub policy: Option<PathBuf>,
    /// The folder of what shards of jobs have kept, and of which were tried: `shards-0` beside the file of party 0, unless it says otherwise.
    pub shards: PathBuf,
    /// The URL of the object store of what shards have kept, if that is not in the folder.
    pub shards_store: Option<String>,
    /// The folder in which tables lie that do not fit into memory while a job in shards runs: the system's for temporary files, unless it says otherwise.
    pub scratch: PathBuf,
    /// What its standing service is told, if the file has a table of it.
    pub service: Option<ServiceConfig>,
    /// Who hears that a peer is waited for for long: the log, where nobody else is named.
    pub on_wait: OnWait,
}

/// Another party, as [`PartyConfig`] knows it.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Which party it is.
    pub party: PartyId,
    /// Where it listens, `host:port`. Not needed of a party with a higher number, which dials this one.
    pub address: Option<String>,
    /// The fingerprint of its key, learnt over a channel that is trusted.
    pub fingerprint: Fingerprint,
}

/// How long a party waits for a silent peer unless its file says otherwise.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a party waits for the others to start unless its file says otherwise.
pub(crate) const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(120);

impl PartyConfig {
    /// Reads a party file: of two parties or of three. Files and folders that it names are relative to it.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with the line, if a key is missing, unknown or wrong.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, source) = SettingsFile::read::<File>(path)?;
        let me = party(&source, &file.party, PARTIES)?;
        let peers = peers(&file.peers, me, &source)?;
        let last = peers.iter().map(|peer| peer.party).max().unwrap_or(me).max(me);
        let listed = |id: PartyId| id == me || peers.iter().any(|peer| peer.party == id);
        if let Some(missing) = (0..=last.0.max(1)).map(PartyId).find(|&id| !listed(id)) {
            return Err(source.fault_in_general(missing_peer(missing)));
        }
        match &file.listen {
            Some(listen) => check_address(&source, listen)?,
            None if me < last => {
                let what = format!("`listen` is missing: {me} is dialled by the parties above it");
                return Err(source.fault_in_general(what));
            }
            None => {}
        }
        let stock = match (&file.stock, &file.stock_key) {
            (Some(folder), Some(key)) => Some((source.resolve(folder), source.resolve(key))),
            (None, None) => None,
            _ => {
                return Err(
                    source.fault_in_general("`stock` and `stock_key` go together; give both or neither")
                );
            }
        };
        Ok(PartyConfig {
            me,
            identity: source.resolve(&file.identity),
            listen: file.listen.map(Spanned::into_inner),
            peers,
            timeout: seconds(&source, file.timeout.as_ref(), DEFAULT_TIMEOUT)?,
            connect_timeout: seconds(&source, file.connect_timeout.as_ref(), DEFAULT_CONNECT_TIMEOUT)?,
            phase_timeout: file
                .phase_timeout
                .as_ref()
                .map(|limit| seconds(&source, Some(limit), Duration::MAX))
                .transpose()?,
            memory: file
                .memory
                .map(|megabytes| megabytes.into_inner().saturating_mul(1_000_000)),
            stock,
            policy: file.policy.as_ref().map(|policy| source.resolve(policy)),
            shards: match &file.shards {
                Some(folder) => source.resolve(folder),
                None => source.resolve(Path::new(&format!("shards-{}", me.0))),
            },
            shards_store: file
                .shards_store
                .map(|url| match cenote_store::check_objects_url(url.get_ref()) {
                    Ok(()) => Ok(url.into_inner()),
                    Err(what) => Err(source.fault(url.span(), what)),
                })
                .transpose()?,
            scratch: match &file.scratch {
                Some(folder) => source.resolve(folder),
                None => scratch_folder(),
            },
            service: file
                .service
                .map(|table| ServiceConfig::read(table, me, last.0.max(1) + 1, &source))
                .transpose()?,
            on_wait: OnWait::default(),
        })
    }

    /// Sees that the parties of `protocol` are this one and its peers, or some of them.
    ///
    /// # Errors
    /// [`Error::Usage`] if this party or a peer is not in the party file.
    pub fn check_parties(&self, protocol: &Protocol) -> Result<()> {
        let (name, parties) = (protocol.name(), protocol.parties());
        if self.me.0 >= parties {
            return Err(Error::Usage(format!(
                "protocol \"{name}\" has {parties} parties, {}; the party file is of {}",
                numbers(parties),
                self.me
            )));
        }
        let listed = |id: PartyId| id == self.me || self.peers.iter().any(|peer| peer.party == id);
        match (0..parties).map(PartyId).find(|&id| !listed(id)) {
            None => Ok(()),
            Some(missing) => Err(Error::Usage(format!(
                "protocol \"{name}\" has {parties} parties, but in the party file {}",
                missing_peer(missing)
            ))),
        }
    }

    /// Writes a party file to start from to the new file `path`, for `me` among `parties` with the identity at `identity`:
    /// the peers' addresses and fingerprints are left to fill in.
    ///
    /// # Errors
    /// [`Error::Config`] if there is a file already, or it cannot be written.
    pub fn write_template(me: PartyId, parties: u8, identity: &Path, path: &Path) -> Result<()> {
        // Paths in the file are relative to it.
        let identity = match (identity.parent() == path.parent(), identity.file_name()) {
            (true, Some(name)) => PathBuf::from(name),
            _ => std::path::absolute(identity).unwrap_or_else(|_| identity.to_owned()),
        };
        let text = template(me, parties, &identity);
        std::fs::File::create_new(path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| Error::config(path, None, format!("cannot be written: {error}")))
    }
}

fn template(me: PartyId, parties: u8, identity: &Path) -> String {
    let port = |party: u8| 7100 + u16::from(party);
    let mut text = format!(
        "# Who this party is, and who its peers are. Files are relative to this one.\n\
         party = {}\n\
         identity = {}\n",
        me.0,
        toml::Value::from(identity.display().to_string())
    );
    if me.0 + 1 < parties {
        text.push_str(&format!(
            "listen = \"0.0.0.0:{}\"   # where the parties with higher numbers reach this one\n",
            port(me.0)
        ));
    }
    text.push_str(&format!(
        "timeout = {}              # seconds to wait for a silent peer\n\
         connect_timeout = {}     # seconds to wait for the peers to start\n\
         # phase_timeout = 3600    # seconds that a phase of a session may take, however it is slow; without it by its work\n\
         # stock = \"stock\"          # the folder of what is made ahead of time\n\
         # stock_key = \"stock.key\"  # its key; made with the stock\n",
        DEFAULT_TIMEOUT.as_secs(),
        DEFAULT_CONNECT_TIMEOUT.as_secs(),
    ));
    for peer in (0..parties).filter(|&peer| peer != me.0) {
        text.push_str(&format!("\n[[peer]]\nparty = {peer}\n"));
        if peer < me.0 {
            text.push_str(&format!(
                "address = \"party-{peer}.example:{}\"   # FILL IN: where this party reaches it\n",
                port(peer)
            ));
        }
        text.push_str(&format!(
            "fingerprint = \"FILL IN\"   # what party {peer}'s `cenote identity show` prints\n"
        ));
    }
    text
}

fn missing_peer(missing: PartyId) -> String {
    format!("{missing} is missing; add a [[peer]] with its party, address and fingerprint")
}

/// The other parties, in order.
fn peers(entries: &[Spanned<FilePeer>], me: PartyId, source: &SettingsFile) -> Result<Vec<Peer>> {
    let mut peers: Vec<Peer> = Vec::new();
    for entry in entries {
        let peer = entry.get_ref();
        let id = party(source, &peer.party, PARTIES)?;
        let span = peer.party.span();
        if id == me {
            return Err(source.fault(span, format!("{id} is this party itself; list the others only")));
        }
        if peers.iter().any(|known| known.party == id) {
            return Err(source.fault(span, format!("{id} is listed twice")));
        }
        match &peer.address {
            Some(address) => check_address(source, address)?,
            None if id < me => {
                let what = format!("the address of {id} is missing: {me} dials the parties below it");
                return Err(source.fault(span, what));
            }
            None => {}
        }
        let fingerprint = peer.fingerprint.get_ref().parse::<Fingerprint>();
        let fingerprint = fingerprint.map_err(|error| {
            source.fault(
                peer.fingerprint.span(),
                format!("{error}; copy what `cenote identity show` prints at {id}"),
            )
        })?;
        peers.push(Peer {
            party: id,
            address: peer.address.as_ref().map(|text| text.get_ref().clone()),
            fingerprint,
        });
    }
    peers.sort_by_key(|peer| peer.party);
    Ok(peers)
}

fn seconds(source: &SettingsFile, value: Option<&Spanned<Number>>, default: Duration) -> Result<Duration> {
    let Some(value) = value else { return Ok(default) };
    let seconds = match value.get_ref() {
        Number::Whole(whole) => *whole as f64,
        Number::Fraction(fraction) => *fraction,
    };
    if (0.001..=1e6).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(source.fault(
            value.span(),
            "a timeout is a number of seconds from 0.001 to 1000000",
        ))
    }
}
