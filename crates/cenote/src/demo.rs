//! The demonstration: three banks learn which customers' joint exposure passes a limit, and nothing else.
//!
//! Each bank has a file of the same customers in the same order, one `id,exposure` a line. The ids are common knowledge of
//! the three banks; the exposures are each bank's secret. A circuit adds the three exposures of a customer and
//! compares the sum with the limit; one lane for each customer.

mod ids;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use cenote_circuit::library::{Goal, exposure_over_limit};
use cenote_circuit::{BitOrder, Value};
use cenote_net::{Error as NetError, PartyId};
use cenote_primitives::BitMatrix;
use cenote_session::{Error as EngineError, Parties};
use serde::{Deserialize, Serialize};

use crate::data::Lines;
use crate::runner::{AlsoAgree, Outcome, Terms};
use crate::{Error, PARTIES, PartyReport, Program, Result};

/// Customers in the sample files.
pub const SAMPLE_CUSTOMERS: usize = 20_000;
/// The limit, in cents, unless another is asked for: a million euros or dollars.
pub const DEFAULT_LIMIT: u64 = 100_000_000;
/// Bits of an exposure: just above ten billions, in cents.
const EXPOSURE_BITS: u32 = 40;
/// The first line of a bank's file.
const HEADER: &str = "id,exposure_cents";
/// Longest line of a bank's file.
const LONGEST_LINE: usize = 256;
/// The file of a bank in the demonstration's folder.
pub fn bank_file(folder: &Path, bank: PartyId) -> PathBuf {
    folder.join(format!("bank-{}.csv", bank.0))
}

/// Writes sample files for the banks that have none. Gives the files written.
///
/// # Errors
/// [`Error::Data`] if the folder or a file cannot be written.
pub fn write_samples(folder: &Path) -> Result<Vec<PathBuf>> {
    let fault = |path: &Path, error: std::io::Error| {
        Error::data(
            path,
            None,
            format!("cannot be written: {error}; name another folder with --dir"),
        )
    };
    std::fs::create_dir_all(folder).map_err(|error| fault(folder, error))?;
    let mut written = Vec::new();
    for bank in (0..PARTIES).map(PartyId) {
        let path = bank_file(folder, bank);
        match File::create_new(&path) {
            Ok(file) => write_sample(file, bank).map_err(|error| fault(&path, error))?,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(fault(&path, error)),
        }
        written.push(path);
    }
    Ok(written)
}

/// A fixed mixing of 64 bits (the finaliser of SplitMix64, Steele et al. 2014).
fn scramble(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Made-up exposures, the same at every call. No bank alone sees one above [`DEFAULT_LIMIT`]; some joint ones are.
fn write_sample(file: File, bank: PartyId) -> std::io::Result<()> {
    let mut file = BufWriter::new(file);
    writeln!(file, "{HEADER}")?;
    for customer in 0..SAMPLE_CUSTOMERS as u64 {
        // Few customers are large at all banks.
        let large = scramble(customer).is_multiple_of(1500);
        let (least, most) = if large { (20, 60) } else { (0, 20) };
        let percent = DEFAULT_LIMIT / 100;
        let spread = (most - least) * percent;
        let exposure = least * percent + scramble((customer << 8) + u64::from(bank.0) + 1) % spread;
        writeln!(file, "customer-{:05},{exposure}", customer + 1)?;
    }
    file.flush()
}

/// What an exposure is in a circuit.
fn exposure() -> Value {
    Value {
        name: String::new(),
        width: EXPOSURE_BITS,
        order: BitOrder::Lsb,
    }
}

/// A bank's file, read and checked.
pub struct Bank {
    path: PathBuf,
    /// The line of the first customer.
    first_line: usize,
    ids: Vec<String>,
    /// In cents. Never shown.
    exposures: Vec<u64>,
}

impl Bank {
    /// Reads a bank's file: `id,exposure` a line, the exposure in whole cents, an optional header.
    ///
    /// # Errors
    /// [`Error::Data`] with the line, if one is malformed or an id occurs twice.
    pub fn read(path: &Path) -> Result<Self> {
        let mut lines = Lines::open(path, LONGEST_LINE)?;
        let exposure = exposure();
        let mut bank = Bank {
            path: path.to_owned(),
            first_line: 1,
            ids: Vec::new(),
            exposures: Vec::new(),
        };
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut ended = None;
        while let Some(line) = lines.next()? {
            let line = line.to_owned();
            if line.is_empty() {
                ended.get_or_insert(lines.number());
                continue;
            }
            if let Some(empty) = ended {
                return Err(Error::data(path, Some(empty), "is empty; remove the line"));
            }
            if lines.number() == 1 && line == HEADER {
                bank.first_line = 2;
                continue;
            }
            let (id, cents) = match line.split_once(',') {
                Some((id, cents)) if !id.trim().is_empty() => (id.trim(), cents.trim()),
                _ => return Err(lines.fault("is not `id,exposure in cents`, such as customer-00001,1250000")),
            };
            let mut number = [0];
            exposure.parse_decimal(cents, &mut number).map_err(|error| {
                let header = match lines.number() {
                    1 => format!(", or the header {HEADER}"),
                    _ => String::new(),
                };
                lines.fault(format!(
                    "the exposure is no whole number of cents from 0 to {} ({error}); write digits only{header}",
                    (1u64 << EXPOSURE_BITS) - 1
                ))
            })?;
            if let Some(first) = seen.insert(id.to_owned(), lines.number()) {
                return Err(lines.fault(format!(
                    "the id stands in line {first} already; list each customer once"
                )));
            }
            if bank.ids.len() == ids::MAX_IDS {
                return Err(lines.fault(format!(
                    "the demonstration takes at most {} customers",
                    ids::MAX_IDS
                )));
            }
            bank.ids.push(id.to_owned());
            bank.exposures.push(number[0]);
        }
        if bank.ids.is_empty() {
            return Err(Error::data(
                path,
                None,
                "lists no customers; write `id,exposure in cents` lines",
            ));
        }
        Ok(bank)
    }

    /// Customers listed.
    pub fn customers(&self) -> usize {
        self.ids.len()
    }

    /// The exposures as bits: one wire for each bit, least significant first, one lane for each customer.
    fn bits(&self) -> BitMatrix {
        let (value, width) = (exposure(), EXPOSURE_BITS as usize);
        let mut bits = BitMatrix::zeros(width, self.customers());
        for (group, numbers) in self.exposures.chunks(64).enumerate() {
            value.store(numbers, &mut bits, 0..width, group);
        }
        bits
    }

    /// A disagreement on ids, in terms of this bank's file.
    fn explain(&self, error: Error) -> Error {
        let Error::Protocol {
            error: EngineError::Net(NetError::Mismatch { peer, field, .. }),
        } = &error
        else {
            return error;
        };
        let Some(range) = ids::range(field) else {
            return error;
        };
        let (position, what) = if range.start < self.customers() {
            let ids = match self.customers().min(range.end) - range.start {
                1 => "the id differs".to_owned(),
                more => format!("an id in the {more} lines from here on differs"),
            };
            (range.start, format!("{ids} from that of {peer}"))
        } else {
            (
                self.customers() - 1,
                format!("the file ends here, but {peer} lists more customers"),
            )
        };
        Error::Differs {
            file: self.path.clone(),
            line: Some(self.first_line + position),
            peer: *peer,
            what: format!(
                "{what}; all three files must list the same ids in the same order: sort them alike, and compare the \
                 id columns, for example with `cut -d, -f1 FILE | sha256sum`"
            ),
        }
    }
}

/// The banks compare their ids before they compute.
///
/// A digest lets a peer test guesses of ids that it does not know, so ids must be no secret among the banks.
impl AlsoAgree for Bank {
    fn terms(&self) -> Terms {
        ids::fields(&self.ids)
    }

    fn finer(&self, differing: &str) -> Option<Terms> {
        ids::finer(&self.ids, differing)
    }
}

/// One bank's part of the demonstration, as its process is told it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The folder of the banks' files. A bank reads its own only.
    pub folder: PathBuf,
    /// The limit, in cents.
    pub limit: u64,
}

/// What one bank tells at the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Findings {
    /// The customers whose joint exposure passes the limit.
    pub over_limit: Vec<String>,
    /// What the computation cost, without outputs.
    pub report: PartyReport,
}

impl Task {
    /// Sees that the limit can be passed.
    ///
    /// # Errors
    /// [`Error::Usage`] if it cannot.
    pub fn check(&self) -> Result<()> {
        let most = u64::from(PARTIES) * ((1 << EXPOSURE_BITS) - 1);
        if self.limit < most {
            return Ok(());
        }
        let limit = self.limit;
        Err(Error::Usage(format!(
            "the limit {limit} cannot be passed: three exposures are at most {most} cents"
        )))
    }

    /// Reads the file of bank `me`, computes with the others, and finds the customers over the limit. `compute` runs the
    /// program with this bank's inputs, after comparing the fields given.
    ///
    /// # Errors
    /// [`Error::Data`] if the file is malformed or lists other customers than the peers' files do; otherwise those of
    /// `compute`.
    pub fn run(
        &self,
        me: PartyId,
        compute: impl FnOnce(&Program, &[Option<BitMatrix>], &dyn AlsoAgree) -> Result<Outcome>,
    ) -> Result<Findings> {
        let bank = Bank::read(&bank_file(&self.folder, me))?;
        let program = program(self.limit, bank.customers())?;
        let inputs: Vec<Option<BitMatrix>> = program
            .owners()
            .iter()
            .map(|&owner| (owner == me).then(|| bank.bits()))
            .collect();
        let outcome = compute(&program, &inputs, &bank).map_err(|error| bank.explain(error))?;
        let over = outcome.outputs[0]
            .as_ref()
            .expect("the output goes to all parties");
        let over_limit = (0..bank.customers())
            .filter(|&lane| over.get(0, lane))
            .map(|lane| bank.ids[lane].clone())
            .collect();
        let mut report = outcome.report;
        for output in &mut report.outputs {
            output.values = None;
        }
        Ok(Findings { over_limit, report })
    }
}

/// The demonstration's program, for so many customers.
///
/// # Errors
/// Those of [`Program::new`].
fn program(limit: u64, customers: usize) -> Result<Program> {
    let circuit = exposure_over_limit(usize::from(PARTIES), EXPOSURE_BITS, limit, Goal::FewestAnds);
    let owners = (0..PARTIES).map(PartyId).collect();
    let all = Parties::all(usize::from(PARTIES));
    Program::new(
        "joint exposure over a limit",
        circuit,
        owners,
        vec![all],
        customers,
    )
}
