//! How many patients two hospitals have in common, and how many days these spent at the second, by look-ups that neither can follow.
//!
//! `cargo run --release --example hospitals -- PATIENTS STAYS` with a file of one patient's number a line, and one of `patient,days` lines;
//! without files, on those in `examples/data`. Both hospitals are threads of this process here; each reads its own file only.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cenote_lego::Lego;
use cenote_program::{apps, local};
use cenote_session::Demand;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data");
    let files: [PathBuf; 2] = match &arguments[..] {
        [] => ["patients.csv", "stays.csv"].map(|name| data.join(name)),
        [patients, stays] => [patients.into(), stays.into()],
        _ => return Err("give a file of patients and one of stays, or nothing".into()),
    };
    let patients: Vec<u32> = lines(&files[0], number)?;
    let stays: Vec<apps::Stay> = lines(&files[1], |line| {
        let (patient, days) = line.split_once(',')?;
        Some((number(patient)?, number(days)?))
    })?;
    let most = (patients.len(), stays.len());
    let found = local::in_memory(&Lego::default(), &Demand::new(), |session| {
        // What is not one's own is not looked at.
        let own = |party: usize| session.me().index() == party;
        let patients = if own(0) { &patients[..] } else { &[] };
        let stays = if own(1) { &stays[..] } else { &[] };
        apps::joint_stays(session, (patients, most.0), (stays, most.1))
    })?;
    println!(
        "{} patients in common, with {} days",
        found[0].patients, found[0].days
    );
    Ok(())
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

/// What is on the lines of a file.
fn lines<T>(path: &Path, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let numbered = (1..).zip(text.lines());
    numbered
        .map(|(number, line)| {
            read(line).ok_or_else(|| format!("{}, line {number}: not a record", path.display()).into())
        })
        .collect()
}
