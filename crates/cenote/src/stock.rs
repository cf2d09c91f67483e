//! A party's stock of triples: made with the peers ahead of time, used by jobs that cannot wait.
//!
//! Stock is made for the cut-and-choose parameters of a job, and serves every job with the same. Each batch is used once. The
//! folder must not be restored from a backup: see [`cenote_three::store`].

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use cenote_params::three::Variant;
use cenote_primitives::BLOCK_BITS;
use cenote_three::store::{OfflineReport, fill};
pub use cenote_three::store::{StockFolder, StockKey, StoredEpoch};
use cenote_three::{Config, batches_needed};
use zeroize::Zeroizing;

use crate::remote::{load_identity, meet};
use crate::{Error, Job, PartyConfig, Result};

/// The name under which offline runs derive their keys.
const SESSION: &str = "cenote stock";

/// The longest key file that is read.
const MAX_KEY_FILE: u64 = 1 << 10;

/// How much stock to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// For so many runs of the job.
    Runs(u64),
    /// For one session with so many AND gates, all in full layers.
    AndGates(u64),
    /// So many batches.
    Batches(u64),
}

/// Opens the stock folder of a party.
///
/// # Errors
/// [`Error::Config`] if the party file names none, or the key's file is missing, no key, or readable by others;
/// [`Error::Protocol`] if the folder is in use or cannot be read.
pub fn open(config: &PartyConfig) -> Result<StockFolder> {
    let (folder, key) = paths(config)?;
    Ok(StockFolder::open(folder, &load_key(key)?)?)
}

/// Makes stock for `job` with the peers of `config`, and the stock folder and its key where there is none yet. `progress` is
/// told the AND gates that the batches made so far will serve, of how many.
///
/// # Errors
/// Those of [`open`] and of meeting the peers; [`Error::Config`] if the job does not state its lanes;
/// [`Error::Protocol`] if a peer is missing, different, lost, or caught cheating.
pub fn make(
    config: &PartyConfig,
    job: &Job,
    amount: Amount,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<OfflineReport> {
    let identity = Arc::new(load_identity(&config.identity)?);
    let lanes = job.stated_lanes()?;
    let program = job.program(lanes)?;
    let protocol = job.protocol().three("stock")?;
    config.check_parties(job.protocol())?;
    let parameters = protocol.parameters(program.plan(), lanes)?;
    let workers = u64::from(protocol.workers);
    let gates = parameters.n().saturating_mul(BLOCK_BITS as u64);
    let batches = match amount {
        Amount::Batches(batches) => batches,
        Amount::Runs(runs) => {
            // A long job is run in segments, whose gates may fall to the workers less evenly than those of the whole.
            let whole = batches_needed(&parameters, program.plan(), lanes, workers as usize);
            let slack = if whole > 0 { workers - 1 } else { 0 };
            (whole + slack).saturating_mul(runs)
        }
        Amount::AndGates(wanted) => {
            // Every worker's last batch may be partly used, and on demand each draws from one more.
            let extra = workers - 1
                + if parameters.variant() == Variant::OnDemand {
                    workers
                } else {
                    0
                };
            wanted.div_ceil(gates).saturating_add(extra)
        }
    };
    if batches == 0 {
        return Err(Error::Usage("the job has no AND gates: it needs no stock".into()));
    }
    let (path, key) = paths(config)?;
    if !key.exists() {
        make_key(key, path)?;
    }
    let folder = open(config)?;
    let links = meet(config, identity, &job.protocol().topology())?.links(config.me);
    let mut settings = Config::new(parameters, SESSION);
    settings.view_check = protocol.view_check;
    let mut progress =
        |done: u64, total: u64| progress(done.saturating_mul(gates), total.saturating_mul(gates));
    Ok(fill(config.me, links, settings, &folder, batches, &mut progress)?)
}

fn paths(config: &PartyConfig) -> Result<(&Path, &Path)> {
    let (folder, key) = config.stock.as_ref().ok_or_else(|| {
        Error::Usage(
            "the party file names no stock: add stock = \"stock\" and stock_key = \"stock.key\"".into(),
        )
    })?;
    Ok((folder, key))
}

/// Writes a fresh key to the new file `path`, unless there is a folder that would need another.
fn make_key(path: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        let what = format!(
            "the key is missing, but its stock folder {} is there; put the key back, or delete the folder",
            folder.display()
        );
        return Err(Error::config(path, None, what));
    }
    let (_, bytes) = StockKey::generate();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let text = Zeroizing::new(hex::encode(*bytes) + "\n");
    options
        .open(path)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .map_err(|error| Error::config(path, None, format!("the key cannot be written: {error}")))
}

fn load_key(path: &Path) -> Result<StockKey> {
    let fault = |what: String| Error::config(path, None, what);
    let metadata = fs::metadata(path).map_err(|error| {
        fault(format!(
            "cannot be read: {error}; `cenote stock make` makes the key"
        ))
    })?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777;
        if mode & 0o077 != 0 {
            return Err(fault(format!(
                "others may read this key (mode {mode:03o}): chmod 600 it"
            )));
        }
    }
    let not_a_key = || fault("is no key: 64 hexadecimal digits".into());
    if metadata.len() > MAX_KEY_FILE {
        return Err(not_a_key());
    }
    let text = fs::read_to_string(path).map_err(|error| fault(format!("cannot be read: {error}")))?;
    let text = Zeroizing::new(text);
    let mut bytes = Zeroizing::new([0; 32]);
    hex::decode_to_slice(text.trim(), bytes.as_mut_slice()).map_err(|_| not_a_key())?;
    Ok(StockKey::from_bytes(*bytes))
}
