//! The demonstration: a query of three banks over made-up files, for people to edit and run again.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use cenote_net::PartyId;

use crate::{Error, PARTIES, Result};

/// Customers in the sample files.
pub const SAMPLE_CUSTOMERS: u64 = 20_000;

/// The limit in the sample query, in cents.
const LIMIT: u64 = 100_000_000;

/// The job file of the demonstration's folder.
pub fn job_file(folder: &Path) -> PathBuf {
    folder.join("job.toml")
}

/// Writes the job file and the banks' files, as far as they are missing. Gives those written.
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
    let banks = (0..PARTIES).map(|bank| {
        let path = folder.join(format!("bank-{bank}.csv"));
        (path, Some(PartyId(bank)))
    });
    let mut written = Vec::new();
    for (path, bank) in std::iter::once((job_file(folder), None)).chain(banks) {
        let file = match File::create_new(&path) {
            Ok(file) => BufWriter::new(file),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(fault(&path, error)),
        };
        let result = match bank {
            None => write_job(file),
            Some(bank) => write_bank(file, bank, SAMPLE_CUSTOMERS),
        };
        result.map_err(|error| fault(&path, error))?;
        written.push(path);
    }
    Ok(written)
}

fn write_job(mut file: impl Write) -> std::io::Result<()> {
    write!(
        file,
        r#"# Three banks, each with a file of its own: which customers owe them more than a million together?
# Edit the query, and run `cenote demo` again.
protocol = "three"
query = """
SELECT id, a.owed + b.owed + c.owed AS joint
FROM bank_a a JOIN bank_b b USING (id) JOIN bank_c c USING (id)
WHERE a.owed + b.owed + c.owed > 1000000
ORDER BY joint DESC
"""

[answer]
max_rows = 1000
"#
    )?;
    for bank in 0..PARTIES {
        let of = format!("party = {bank}\nfile = \"bank-{bank}.csv\"\n");
        write!(file, "\n{}", bank_table(bank, SAMPLE_CUSTOMERS, &of))?;
    }
    file.flush()
}

/// How a bank's table of so many customers is declared. `of` stands behind its name: whose it is, or where its rows are.
pub fn bank_table(bank: u8, customers: u64, of: &str) -> String {
    let letter = char::from(b'a' + bank % 26);
    let same = match bank {
        0 => "",
        _ => "same_rows_as = \"bank_a\"\n",
    };
    format!(
        "[[table]]\nname = \"bank_{letter}\"\n{of}columns = {{ id = \"char(14) not null\", owed = \"decimal(12,2) not null\" }}\n\
         max_rows = {customers}\nunique = [\"id\"]\n{same}"
    )
}

/// A fixed mixing of 64 bits (the finaliser of SplitMix64, Steele et al. 2014).
fn scramble(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The rows of a bank of so many customers: made-up debts, the same at every call. No bank alone sees one above the limit; some joint ones are.
///
/// # Errors
/// Those of `file`.
pub fn write_bank(mut file: impl Write, bank: PartyId, customers: u64) -> std::io::Result<()> {
    writeln!(file, "id,owed")?;
    // However many there are, about 13 of them.
    let few = (customers * 3 / 40).max(1);
    for customer in 0..customers {
        // Few customers are large at all banks.
        let large = scramble(customer).is_multiple_of(few);
        let (least, most) = if large { (20, 60) } else { (0, 20) };
        let percent = LIMIT / 100;
        let spread = (most - least) * percent;
        let owed = least * percent + scramble((customer << 8) + u64::from(bank.0) + 1) % spread;
        writeln!(
            file,
            "customer-{:05},{}.{:02}",
            customer + 1,
            owed / 100,
            owed % 100
        )?;
    }
    file.flush()
}
