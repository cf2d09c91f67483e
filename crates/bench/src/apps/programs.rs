//! The programs, each with made-up inputs, and its outcome in plain Rust.

use std::collections::BTreeMap;
use std::time::Instant;

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use cenote::PartyId;
use cenote::programs::{Memory, Result, Secret, Session, Uint, Word, apps, table};
use cenote_program::memory::{Settings, Structure};
use cenote_session::Costs;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The engine in the clear: what a program costs without secrecy.
pub const CLEAR: &str = "clear";

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum App {
    /// 4,096 numbers of 32 bits, sorted.
    Sort,
    /// 2^20 records in the order of their keys of 64 bits, with payloads of 64.
    SortMillion,
    /// The Hamming distance of two strings of 2^20 bits.
    Hamming,
    /// The edit distance of two strings of 1,024 nucleotides.
    Edit,
    /// An access to 10,000 blocks of 32 bits whose position map is a row.
    OramFlat,
    /// The same with a recursive position map: Circuit ORAM as published.
    OramRecursive,
    /// The same in the structure that is best.
    Oram,
    /// Two tables of 2^14 records joined on keys of 64 bits, with payloads of 32; what was found is compacted.
    Join,
    /// What two parties with 2^14 items each have in common.
    Intersection,
    /// 1,024 blocks of AES-128, each under a key of its own.
    Aes,
    /// 1,024 messages of 55 bytes hashed with SHA-256.
    Sha,
    /// A thousand million AND gates: 4,096 numbers of 64 bits, multiplied again and again.
    Billion,
}

/// What Zhu, Huang and Cassel (CCS 2017, Table 5) report for POOL with 35 million gates on a LAN.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    pub seconds: f64,
    /// Gigabytes sent.
    pub gigabytes: f64,
    /// Millions of AND gates.
    pub million_ands: f64,
}

/// Accesses of the memory that are measured.
const ACCESSES: usize = 16;

/// Records of a table.
const RECORDS: usize = 1 << 14;

/// Records of a large table.
const MANY_RECORDS: usize = 1 << 20;

/// Blocks of AES, or messages.
const BATCH: usize = 1 << 10;

impl App {
    /// All of them.
    pub const ALL: [App; 12] = [
        App::OramFlat,
        App::OramRecursive,
        App::Oram,
        App::Sort,
        App::Hamming,
        App::Edit,
        App::Join,
        App::Intersection,
        App::Aes,
        App::Sha,
        App::Billion,
        App::SortMillion,
    ];

    /// Whether it takes so long with most engines that it is run only where it is asked for.
    pub fn is_large(self) -> bool {
        matches!(self, App::Billion | App::SortMillion)
    }

    /// Its name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            App::Sort => "sort",
            App::SortMillion => "sort-million",
            App::Hamming => "hamming",
            App::Edit => "edit",
            App::OramFlat => "oram-flat",
            App::OramRecursive => "oram-recursive",
            App::Oram => "oram",
            App::Join => "join",
            App::Intersection => "intersection",
            App::Aes => "aes",
            App::Sha => "sha",
            App::Billion => "billion",
        }
    }

    /// The paper's figures, if it has them.
    pub fn paper(self) -> Option<Paper> {
        let (seconds, gigabytes, million_ands) = match self {
            App::OramFlat => (31.4, 3.96, 1.82),
            App::OramRecursive | App::Oram => (11.2, 1.08, 0.665),
            App::Sort => (87.1, 15.9, 10.2),
            App::Hamming => (24.9, 3.8, 2.1),
            App::Edit => (741.2, 127.0, 73.3),
            _ => return None,
        };
        Some(Paper {
            seconds,
            gigabytes,
            million_ands,
        })
    }

    /// Runs it, and sees that its outcome is right.
    pub(super) fn run(self, session: &Session, clock: &mut Clock<'_>) -> Result<()> {
        let made = &mut Inputs::new(session);
        match self {
            App::Sort => sort(session, clock, made),
            App::SortMillion => sort_million(session, clock, made),
            App::Hamming => hamming(session, clock, made),
            App::Edit => edit(session, clock, made),
            App::OramFlat => accesses(session, clock, made, Some(FLAT)),
            App::OramRecursive => accesses(session, clock, made, Some(Structure::CIRCUIT_ORAM)),
            App::Oram => accesses(session, clock, made, None),
            App::Join => join(session, clock, made),
            App::Intersection => intersection(session, clock, made),
            App::Aes => aes(session, clock, made),
            App::Sha => sha(session, clock, made),
            App::Billion => billion(session, clock, made),
        }
    }
}

fn sort(session: &Session, clock: &mut Clock<'_>, made: &mut Inputs<'_>) -> Result<()> {
    let values = made.values::<u32>(4096);
    let (first, second) = values.split_at(2048);
    let row = Secret::concat(&[&made.of(0, first), &made.of(1, second)]);
    let found = session.open(&row.shuffle_and_sort()?)?;
    clock.stop();
    let mut sorted = values;
    sorted.sort_unstable();
    right(found == sorted)
}

fn sort_million(session: &Session, clock: &mut Clock<'_>, made: &mut Inputs<'_>) -> Result<()> {
    let [keys, payloads] = [(); 2].map(|()| made.values::<u64>(MANY_RECORDS));
    let (keys_in, payloads_in) = (made.of(0, &keys), made.of(1, &payloads));
    let sorted = table::shuffle_and_sort_by(&keys_in, &payloads_in)?;
    let (found_keys, found) = session.open(&sorted)?;
    clock.stop();
    let mut records: Vec<(u64, u64)> = keys.into_iter().zip(payloads).collect();
    records.sort_by_key(|(key, _)| *key);
    right(found_keys.into_iter().zip(found).eq(records))
}

fn hamming(session: &Session, clock: &mut Clock<'_>, made: &mut Inputs<'_>) -> Result<()> {
    let (x, y) = (made.values::<bool>(1 << 20), made.values::<bool>(1 << 20));
    let distance = apps::hamming_distance(&made.of(0, &x), &made.of(1, &y));
    let distance = session.open(&distance)?;
    clock.stop();
    right(distance == [x.iter().zip(&y).filter(|(x, y)| x != y).count() as u32])
}

fn edit(session: &Session, clock: &mut Clock<'_>, made: &mut Inputs<'_>) -> Result<()> {
    let (x, y) = (made.values::<Uint<2>>(1024), made.values::<Uint<2>>(1024));
    let distance = session.open(&apps::edit_distance(&made.of(0, &x), &made.of(1, &y))?)?;
    clock.stop();
    right(distance == [edit_distance(&x, &y)])
}

fn join(session: &Session, clock: &mut Clock<'_>, made: &mut Inputs<'_>) -> Result<()> {
    let (keys, others) = (made.keys(), made.keys());
    let payloads = made.values::<u32>(RECORDS);
    let joined = table::join(&made.of(0, &keys), &made.of(0, &payloads), &made.of(1, &others));
    let matched = &joined.matched & &joined.in_order;
    let (found, count) = table::compact(&matched, &joined.left);
    let (found, count) = session.open(&(found, count))?;
    clock.stop();
    let table: BTreeMap<u64, u32> = keys.into_iter().zip(payloads).collect();
    let expected: Vec<u32> = others.iter().filter_map(|key| table.get(key).copied()).collect();
    right(found[..count[0] as usize] == expected[..])
}

fn intersection(session: &Session, clock: &mut Clock<'_>, made: &mut Inputs<'_>) -> Result<()> {
    let (first, second) = (made.keys(), made.keys());
    let own: &[u64] = match session.me().0 {
        0 => &first,
        1 => &second,
        _ => &[],
    };
    let common = apps::intersection(session, own, RECORDS)?;
    clock.stop();
    let both: Vec<u64> = first
        .into_iter()
        .filter(|item| second.binary_search(item).is_ok())
        .collect();
    right(common == both)
}

fn aes(session: &Session, clock: &mut Clock<'_>, made: &mut Inputs<'_>) -> Result<()> {
    let (keys, messages) = (made.values::<u128>(BATCH), made.values::<u128>(BATCH));
    let ciphertexts = session.open(&apps::aes128(&made.of(0, &keys), &made.of(1, &messages)))?;
    clock.stop();
    let encrypt = |(key, message): (&u128, &u128)| {
        let mut block = message.to_be_bytes().into();
        Aes128::new(&key.to_be_bytes().into()).encrypt_block(&mut block);
        u128::from_be_bytes(block.into())
    };
    right(keys.iter().zip(&messages).map(encrypt).eq(ciphertexts))
}

fn sha(session: &Session, clock: &mut Clock<'_>, made: &mut Inputs<'_>) -> Result<()> {
    let bytes: Vec<Vec<u8>> = (0..55).map(|_| made.values::<u8>(BATCH)).collect();
    let message: Vec<Secret<u8>> = (0..)
        .zip(&bytes)
        .map(|(at, bytes)| made.of(at % 2, bytes))
        .collect();
    let digests: [Secret<u8>; 32] = apps::sha256(&message).try_into().expect("a digest has 32 bytes");
    let digests = session.open(&digests)?;
    clock.stop();
    let digest = |at: usize| Sha256::digest(bytes.iter().map(|bytes| bytes[at]).collect::<Vec<u8>>());
    right((0..BATCH).all(|at| digests.iter().map(|bytes| bytes[at]).eq(digest(at))))
}

fn billion(session: &Session, clock: &mut Clock<'_>, made: &mut Inputs<'_>) -> Result<()> {
    let (values, factors) = (made.values::<u64>(4096), made.values::<u64>(4096));
    let (mut row, factor) = (made.of(0, &values), made.of(1, &factors));
    // A product has 3,601 AND gates.
    let times = 1_000_000_000 / (3601 * 4096) + 1;
    for turn in 0..times {
        row = &row * &factor + turn;
    }
    let found = session.open(&row)?;
    clock.stop();
    let plain = |(value, factor): (&u64, &u64)| {
        (0..times).fold(*value, |x, turn| x.wrapping_mul(*factor).wrapping_add(turn))
    };
    right(found == values.iter().zip(&factors).map(plain).collect::<Vec<_>>())
}

/// 10,000 labels in a row.
const FLAT: Structure = Structure::CircuitOram {
    factor_bits: 3,
    cutoff: 10_000,
};

/// Accesses to a memory whose index, operation and value are secret.
fn accesses(
    session: &Session,
    clock: &mut Clock<'_>,
    made: &mut Inputs<'_>,
    structure: Option<Structure>,
) -> Result<()> {
    let settings = Settings {
        structure,
        ..Settings::default()
    };
    let mut memory = Memory::<u32>::with(session, 10_000, &settings);
    // A few places, so that most of what is read was written.
    let places: Vec<u32> = made
        .values::<u32>(ACCESSES)
        .into_iter()
        .map(|place| place % 4 * 2499)
        .collect();
    let (writes, values) = (made.values::<bool>(ACCESSES), made.values::<u32>(ACCESSES));
    let secret = (made.of(0, &writes), made.of(1, &places), made.of(0, &values));
    let mut plain = BTreeMap::new();
    let mut all_right = true;
    for at in 0..ACCESSES {
        let found = memory.access(&secret.0.at(at), &secret.1.at(at), secret.2.at(at))?;
        let found = session.open(&found)?[0];
        all_right &= found == plain.get(&places[at]).copied().unwrap_or(0);
        if writes[at] {
            plain.insert(places[at], values[at]);
        }
    }
    memory.check()?;
    clock.stop_after(ACCESSES);
    right(all_right)
}

/// Refuses a wrong outcome.
fn right(is_right: bool) -> Result<()> {
    let wrong = || cenote_session::Error::Internal("the outcome of a program is wrong".into());
    is_right.then_some(()).ok_or_else(|| wrong().into())
}

fn edit_distance(x: &[Uint<2>], y: &[Uint<2>]) -> u32 {
    let mut row: Vec<u32> = (0..=y.len() as u32).collect();
    for a in x {
        let mut diagonal = row[0];
        row[0] += 1;
        for (at, b) in y.iter().enumerate() {
            let replaced = diagonal + u32::from(a != b);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[y.len()]
}

/// Made-up values, the same at all parties.
struct Inputs<'a> {
    session: &'a Session,
    random: StdRng,
}

impl<'a> Inputs<'a> {
    fn new(session: &'a Session) -> Self {
        Self {
            session,
            random: StdRng::seed_from_u64(1),
        }
    }

    fn values<T: Word>(&mut self, count: usize) -> Vec<T> {
        (0..count).map(|_| T::from_bits(self.random.random())).collect()
    }

    /// Keys in order, of which about half are in another such list too.
    fn keys(&mut self) -> Vec<u64> {
        let mut keys: Vec<u64> = (0..RECORDS as u64)
            .map(|at| 1000 * at + self.random.random_range(0..2))
            .collect();
        keys.dedup();
        keys
    }

    /// As inputs of `owner`.
    fn of<T: Word>(&self, owner: u8, values: &[T]) -> Secret<T> {
        let owner = PartyId(owner);
        let own = (self.session.me() == owner).then_some(values);
        self.session.input(owner, values.len(), own)
    }
}

/// What one party has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AppParty {
    /// Seconds of what is measured, from inputs to outputs, material included.
    pub(super) seconds: f64,
    pub(super) and_gates: u64,
    pub(super) rounds: u64,
    pub(super) bytes_sent: u64,
    /// What the protocol says that it held at most.
    pub(super) memory_bound_bytes: u64,
    pub(super) peak_memory_bytes: Option<u64>,
}

/// Measures a part of a session.
pub(super) struct Clock<'a> {
    session: &'a Session,
    before: (Instant, Costs),
    measured: AppParty,
}

impl<'a> Clock<'a> {
    pub(super) fn start(session: &'a Session) -> Self {
        Self {
            session,
            before: (Instant::now(), session.costs()),
            measured: AppParty::default(),
        }
    }

    fn stop(&mut self) {
        self.stop_after(1);
    }

    /// Stops after what is done `times` times, and is told for one.
    fn stop_after(&mut self, times: usize) {
        let (start, before) = &self.before;
        let seconds = start.elapsed().as_secs_f64() / times as f64;
        let now = self.session.costs();
        let times = times as u64;
        self.measured = AppParty {
            seconds,
            and_gates: (now.and_gates - before.and_gates) / times,
            rounds: (now.rounds - before.rounds) / times,
            bytes_sent: (now.traffic.payload_sent - before.traffic.payload_sent) / times,
            memory_bound_bytes: now.memory_bytes,
            peak_memory_bytes: None,
        };
    }

    pub(super) fn measured(self) -> AppParty {
        self.measured
    }
}
