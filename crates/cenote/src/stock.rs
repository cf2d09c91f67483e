//! A party's stock: made with the peers ahead of time, used by jobs that cannot wait.
//!
//! All protocols keep theirs as items of one folder, under one key: see [`cenote_store`]. The folder must not be restored from a
//! backup. Which jobs an item serves is the protocol's to say.

mod choice;
pub(crate) mod kind;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

pub use cenote_protocol::{Amount, Facts, Made};
use cenote_session::{Phases, handshake};
use cenote_store::StoreKey;
pub use cenote_store::{Inventory, ItemId, Peers, Store, Stored, Unusable};
use zeroize::Zeroizing;

pub use crate::registry::{describe, items};
pub use choice::common;
pub use kind::StockKind;

use crate::meeting::{load_identity, meet};
use crate::stop::Session;
use crate::{Error, Job, PartyConfig, Result, files};

/// The longest key file that is read.
const MAX_KEY_FILE: u64 = 1 << 10;

/// Which items to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those whose names begin so.
    Named(Vec<String>),
    /// Those that no job can use: a peer lacked them when a session last compared, or they cannot be read.
    Orphans,
    /// Whatever there is.
    All,
}

/// Fewest digits that name an item.
const MIN_PREFIX: usize = 8;

/// Opens the stock of a party, for work with the peers of `config`: what [`Party::run_online`](crate::Party::run_online)
/// takes.
///
/// # Errors
/// [`Error::Config`] if the party file names none, or the key's file is missing, no key, or readable by others;
/// [`Error::Protocol`] if the folder is in use or cannot be read.
pub fn open(config: &PartyConfig) -> Result<Store> {
    let (folder, key) = paths(config)?;
    let key = StoreKey::from_bytes(*key_bytes(key)?);
    let peers = config.peers.iter().map(|peer| (peer.party, peer.fingerprint));
    Ok(Store::open(folder, &key)?.with_peers(peers.collect()))
}

/// Opens the stock in `folder`, which is made with its key if both are missing.
///
/// # Errors
/// As [`open`].
pub fn open_or_make(folder: &Path, key: &Path) -> Result<Store> {
    if !key.exists() {
        make_key(key, folder)?;
    }
    Ok(Store::open(folder, &StoreKey::from_bytes(*key_bytes(key)?))?)
}

/// Makes stock for `job` with the peers of `config`, and the stock folder and its key where there is none yet. `progress` is
/// told the AND gates that what was made so far will serve, of how many.
///
/// # Errors
/// Those of [`open`] and of meeting the peers; [`Error::Config`] if the job does not state its lanes; [`Error::Usage`] if its
/// protocol makes no such amount; [`Error::Protocol`] if a peer is missing, different, lost, or caught cheating.
pub fn make(
    config: &PartyConfig,
    job: &Job,
    amount: Amount,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Made> {
    let identity = Arc::new(load_identity(&config.identity)?);
    let program = job.program(job.stated_lanes()?)?;
    let protocol = job.protocol();
    config.check_parties(protocol)?;
    let order = protocol.order_stock(&program.demand(), amount)?;
    let (path, key) = paths(config)?;
    if !key.exists() {
        make_key(key, path)?;
    }
    let folder = open(config)?;
    let what = "the peers were told; what was in stock stays, and of what was being made only what all parties had confirmed";
    Session::run(what, |session| {
        let mut connections = meet(config, identity, &protocol.topology(), session)?;
        let limit = config.phase_timeout;
        let phases = connections.phases(limit.unwrap_or_else(|| Phases::limit(order.traffic_bytes())));
        phases.begin("the handshake");
        let session = handshake(config.me, &mut connections, &order.terms(), &())?;
        phases.begin("the making of stock");
        order.make(config.me, connections, &session, &folder, progress)
    })
}

/// The items of a folder that are meant by `which`.
///
/// # Errors
/// [`Error::Usage`] if a name is no beginning of exactly one item's; [`Error::Protocol`] if the folder cannot be listed.
pub fn choose(folder: &Store, which: &Which) -> Result<Inventory> {
    let Inventory { items, unusable } = folder.inventory()?;
    let ids: Vec<ItemId> = items
        .iter()
        .map(|stored| stored.item.id)
        .chain(unusable.iter().map(|unusable| unusable.id))
        .collect();
    let named = match which {
        Which::Named(names) => names
            .iter()
            .map(|name| by_name(&ids, name))
            .collect::<Result<Vec<_>>>()?,
        Which::Orphans | Which::All => Vec::new(),
    };
    let item_is_meant = |stored: &Stored| match which {
        Which::Named(_) => named.contains(&stored.item.id),
        Which::Orphans => !stored.lacked_by.is_empty(),
        Which::All => true,
    };
    let unusable_is_meant = |unusable: &Unusable| match which {
        Which::Named(_) => named.contains(&unusable.id),
        Which::Orphans | Which::All => true,
    };
    Ok(Inventory {
        items: items.into_iter().filter(item_is_meant).collect(),
        unusable: unusable.into_iter().filter(unusable_is_meant).collect(),
    })
}

/// Takes those items out that a single peer says it lacks. That peer may lie, to have this party delete good stock.
pub fn on_one_word(orphans: &mut Inventory) -> Inventory {
    let one = |stored: &mut Stored| stored.lacked_by.len() == 1;
    Inventory {
        items: orphans.items.extract_if(.., one).collect(),
        unusable: Vec::new(),
    }
}

/// Removes items from a folder for good.
///
/// # Errors
/// [`Error::Protocol`] if one cannot be removed.
pub fn remove(folder: &Store, items: &Inventory) -> Result<()> {
    let usable = items.items.iter().map(|stored| &stored.item.id);
    let mut ids = usable.chain(items.unusable.iter().map(|unusable| &unusable.id));
    Ok(ids.try_for_each(|id| folder.remove(id))?)
}

/// The only one of `ids` that begins with `name`.
fn by_name(ids: &[ItemId], name: &str) -> Result<ItemId> {
    let usage = |what: String| Err(Error::Usage(what));
    if name.len() < MIN_PREFIX {
        return usage(format!(
            "\"{name}\" is too short for a name: give at least {MIN_PREFIX} digits"
        ));
    }
    let mut found = ids.iter().filter(|id| id.to_string().starts_with(name));
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(*id),
        (None, _) => {
            let words: Vec<_> = items().collect();
            usage(format!("no {} in stock is called {name}", words.join(" or ")))
        }
        (Some(_), Some(_)) => usage(format!(
            "several names in stock begin with {name}: give more digits"
        )),
    }
}

/// Opens so many shelves in `folder`, for one session each: folders of stock under one key, which is made with them if it is missing. What is in
/// them is for work with the peers that have these keys.
///
/// # Errors
/// As [`open`].
pub fn shelves(folder: &Path, key: &Path, count: u8, peers: &Peers) -> Result<Vec<Store>> {
    if !key.exists() {
        make_key(key, folder)?;
    }
    let key = StoreKey::from_bytes(*key_bytes(key)?);
    let open =
        |number: u8| Ok(Store::open(&folder.join(number.to_string()), &key)?.with_peers(peers.clone()));
    (0..count).map(open).collect()
}

/// Opens the shelves that a service has made in the stock folder of `config`, each with its number; none where no service has.
///
/// # Errors
/// As [`open`]; where the service is up, that its shelves are in use.
pub fn shelves_of(config: &PartyConfig) -> Result<Vec<(u8, Store)>> {
    let (folder, key) = paths(config)?;
    shelves_in(folder, &StoreKey::from_bytes(*key_bytes(key)?))
}

fn shelves_in(folder: &Path, key: &StoreKey) -> Result<Vec<(u8, Store)>> {
    let there = (0..=u8::MAX).filter(|number| folder.join(number.to_string()).is_dir());
    there
        .map(|number| Ok((number, Store::open(&folder.join(number.to_string()), key)?)))
        .collect()
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
    let (_, bytes) = StoreKey::generate();
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

fn key_bytes(path: &Path) -> Result<Zeroizing<[u8; 32]>> {
    let fault = |what: String| Error::config(path, None, what);
    let metadata = fs::metadata(path).map_err(|error| {
        fault(format!(
            "cannot be read: {error}; `cenote stock make` makes the key, and with the peers what a job takes from stock"
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
    let text =
        files::read(path, MAX_KEY_FILE, "key").map_err(|error| fault(format!("cannot be read: {error}")))?;
    let text = Zeroizing::new(text);
    let mut bytes = Zeroizing::new([0; 32]);
    hex::decode_to_slice(text.trim(), bytes.as_mut_slice()).map_err(|_| not_a_key())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cenote_circuit::{BitOrder, Builder};
    use cenote_net::PartyId;
    use cenote_params::three::{Parameters, Variant, check};
    use cenote_primitives::{BLOCK_BITS, BitMatrix};
    use cenote_session::{Error as EngineError, Parties};
    use cenote_three::store::{epochs, fill};
    use cenote_three::{Config, Three, ThreeEngine};

    use super::*;
    use crate::{Program, Protocol};
    use cenote_session::Connections;

    /// One peer's word does not make an orphan of two parties' stock, nor of three's.
    #[test]
    fn orphans_on_one_word_are_told_apart() {
        let stored = |id: u8, lacked_by: &[u8]| Stored {
            item: cenote_store::Item {
                id: ItemId([id; 32]),
                protocol: String::new(),
                party: PartyId(0),
                role: String::new(),
                settings: String::new(),
                made: 0,
                peers: Default::default(),
                keys: cenote_store::Keys(Vec::new().into()),
            },
            living: false,
            states: Vec::new(),
            left: Default::default(),
            lacked_by: lacked_by.iter().copied().map(PartyId).collect(),
        };
        let all = [stored(1, &[1]), stored(2, &[1, 2]), stored(3, &[2])];
        let mut orphans = Inventory {
            items: all.to_vec(),
            unusable: Vec::new(),
        };
        let doubtful = on_one_word(&mut orphans);
        assert_eq!(orphans.items, all[1..2]);
        assert_eq!(doubtful.items, [all[0].clone(), all[2].clone()]);
    }

    #[test]
    fn shelves_of_a_service_are_found() {
        let home = tempfile::tempdir().unwrap();
        let (folder, key) = (home.path().join("stock"), home.path().join("key"));
        let made = shelves(&folder, &key, 3, &Peers::default()).unwrap();
        let own = StoreKey::from_bytes(*key_bytes(&key).unwrap());
        let refused = shelves_in(&folder, &own).map(drop).unwrap_err().to_string();
        assert!(refused.contains("another process"), "{refused}");
        drop(made);
        let root = Store::open(&folder, &own).unwrap();
        assert_eq!(root.inventory().unwrap(), Inventory::default());
        let numbers: Vec<u8> = shelves_in(&folder, &own)
            .unwrap()
            .into_iter()
            .map(|(number, _)| number)
            .collect();
        assert_eq!(numbers, [0, 1, 2]);
        assert_eq!(shelves_in(home.path(), &own).unwrap().len(), 0);
    }

    /// Two layers of ANDs on 1,900 lanes, in segments of 512 lanes.
    fn program() -> Program {
        let mut b = Builder::new();
        let x = b.input("x", 4, BitOrder::Lsb);
        let first = [b.and(x[0], x[1]), b.and(x[1], x[2]), b.and(x[2], x[3])];
        let second = [b.and(first[0], first[1]), b.and(first[1], first[2])];
        b.output("y", &second, BitOrder::Lsb);
        let receivers = vec![Parties::all(3)];
        Program::new("segments", b.finish(), vec![PartyId(0)], receivers, 1_900)
            .unwrap()
            .in_segments(5 * BLOCK_BITS)
    }

    fn protocol(workers: u8) -> Three {
        Three {
            workers,
            ..Three::default()
        }
    }

    /// Runs `party` at all three parties, each with its folder.
    fn all<T: Send>(
        workers: u8,
        parameters: &Parameters,
        folders: &[Store; 3],
        party: impl Fn(PartyId, Vec<cenote_three::Links>, Config, &Store) -> cenote_session::Result<T> + Sync,
    ) -> Vec<cenote_session::Result<T>> {
        let protocol = Protocol::from(protocol(workers));
        let all = Connections::in_memory(&protocol.topology(), Duration::from_secs(20));
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0u8..)
                .zip(all.into_iter().zip(folders))
                .map(|(me, (connections, folder))| {
                    let links = cenote_three::Links::of(PartyId(me), connections);
                    let party = &party;
                    let config = Config::new(parameters.clone(), "segments");
                    scope.spawn(move || party(PartyId(me), links, config, folder))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// A program that runs in segments uses as many batches as it says: with one fewer it does not start, and with as many
    /// none is left, whatever the workers, and whether or not a verification falls between two segments.
    #[test]
    fn a_program_needs_the_batches_that_it_says() {
        let program = program();
        let bits = BitMatrix::from_fn(4, 1_900, |row, lane| (lane * 7 + row).is_multiple_of(3 + row));
        let expected = program.plan().evaluate(&bits).unwrap();
        for (variant, n, b, c, l) in [
            (Variant::OnDemand, 65, 2, 3, 5),
            (Variant::CacheEfficient, 8, 3, 1, 2),
            (Variant::Reshuffle, 65, 2, 3, 5),
        ] {
            let parameters = check(variant, n, b, c, l).unwrap();
            for workers in [1, 2, 3] {
                let needed = protocol(workers).batches_needed(&parameters, &program.demand());
                for made in [needed - 1, needed] {
                    let home = tempfile::tempdir().unwrap();
                    let folders = [0u8, 1, 2].map(|party| {
                        let path = home.path().join(party.to_string());
                        Store::open(&path, &StoreKey::from_bytes([party; 32])).unwrap()
                    });
                    if made > 0 {
                        for report in all(workers, &parameters, &folders, |me, links, config, folder| {
                            fill(me, links, config, folder, made, &mut |_, _| ())
                        }) {
                            assert_eq!(report.unwrap().batches, made);
                        }
                    }
                    let outcomes = all(workers, &parameters, &folders, |me, links, config, folder| {
                        let mut engine = ThreeEngine::start_online(me, links, config, folder)?;
                        let own = (me == PartyId(0)).then(|| bits.clone());
                        let executed = program.execute(&mut engine, &[own], |_| ());
                        executed.map_err(|error| match error {
                            Error::Protocol { error, .. } => error,
                            other => panic!("{other}"),
                        })
                    });
                    let case = format!("{variant}, {workers} workers, {made} of {needed} batches");
                    for (outcome, folder) in outcomes.into_iter().zip(&folders) {
                        let left: usize = epochs(folder)
                            .unwrap()
                            .0
                            .iter()
                            .map(|epoch| epoch.batches.len())
                            .sum();
                        if made < needed {
                            let error = outcome.expect_err(&case);
                            assert!(matches!(error, EngineError::Exhausted(_)), "{case}: {error}");
                            assert_eq!(left as u64, made, "{case}: nothing is used up");
                        } else {
                            assert_eq!(
                                outcome.expect(&case).outputs[0].as_ref(),
                                Some(&expected),
                                "{case}"
                            );
                            assert_eq!(left, 0, "{case}");
                        }
                    }
                }
            }
        }
    }
}
