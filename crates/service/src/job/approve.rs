//! What this party's approval binds, and how often outputs on its data may be learnt.
//!
//! A disclosure is counted for each piece of named data when the job is approved, in the same transaction. It is given back when the job
//! ends without having begun here, since nothing of this party's data was touched then; what began counts for good, however it ended. A job that stands is
//! counted with all its calls; those that did not begin are given back.

use super::{Binding, Digest, Job, JobId, Proposal, Source};
use crate::audit::DataFile;
use crate::database::{Connection, Transaction, Value};
use crate::words::steers;
use crate::{Error, Result};

/// Bytes of the name of data, at most.
const NAME: usize = 128;
/// What the name of a kept value begins with among names of data. No name in a folder of data holds a colon.
const KEPT: &str = "kept:";

/// The names of this party's data that a job uses, each once, in order. A kept value is data of every party that holds a part of it.
pub(super) fn data(proposal: &Proposal, binding: &[Binding]) -> Vec<String> {
    let kept = proposal.takes.iter().map(|take| format!("{KEPT}{}", take.name));
    let mut names: Vec<String> = named(binding).map(str::to_owned).chain(kept).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn named(binding: &[Binding]) -> impl Iterator<Item = &str> {
    binding.iter().filter_map(|bound| match &bound.source {
        Source::Data(name) => Some(name.as_str()),
        Source::Posted => None,
    })
}

/// The files that a job uses from its beginning on.
pub(super) fn files(binding: &[Binding]) -> Vec<DataFile> {
    let file = |bound: &Binding| match (&bound.source, bound.file) {
        (Source::Data(name), Some(mark)) => Some(DataFile {
            name: name.clone(),
            bytes: mark.bytes,
            changed: mark.changed.to_string(),
        }),
        _ => None,
    };
    binding.iter().filter_map(file).collect()
}

/// Refuses a binding that is not one source for each input of this party.
pub(super) fn check(job: &Job, me: u8, binding: &[Binding]) -> Result<()> {
    let mut wanted: Vec<&str> = job
        .proposal
        .inputs
        .iter()
        .filter(|input| input.owner == me && !job.proposal.is_caller(me))
        .map(|input| input.name.as_str())
        .collect();
    let mut given: Vec<&str> = binding.iter().map(|bound| bound.input.as_str()).collect();
    wanted.sort_unstable();
    given.sort_unstable();
    if wanted != given {
        return Err(Error::Proposal(format!(
            "each of this party's inputs ({}) needs one source",
            wanted.join(", ")
        )));
    }
    let bad = |name: &str| name.is_empty() || name.len() > NAME || name.chars().any(steers);
    if named(binding).any(bad) {
        return Err(Error::Proposal(format!(
            "names of data have 1 to {NAME} bytes and no characters that steer a screen"
        )));
    }
    Ok(())
}

/// How often outputs of `program` on `data` have been allowed.
pub(super) fn used(connection: &mut Connection, program: &Digest, data: &str) -> Result<u64> {
    connection
        .one(
            "SELECT used FROM disclosure WHERE program = $1 AND data = $2",
            &[Value::from(program.to_string()), Value::from(data)],
        )?
        .map_or(Ok(0), |row| row.count(0))
}

/// Counts a disclosure of each piece of data in `binding`, and of each kept value that the job takes.
pub(super) fn charge(transaction: &mut Transaction<'_>, job: &Job, binding: &[Binding]) -> Result<()> {
    let program = job.proposal.program.digest.to_string();
    let amount = i64::try_from(job.proposal.disclosures()).unwrap_or(i64::MAX);
    for name in data(&job.proposal, binding) {
        transaction.run(
            "INSERT INTO disclosure (program, data, used) VALUES ($1, $2, $3)
             ON CONFLICT (program, data) DO UPDATE SET used = disclosure.used + $3",
            &[
                Value::from(program.as_str()),
                Value::from(name.as_str()),
                Value::from(amount),
            ],
        )?;
        transaction.run(
            "INSERT INTO charge (job, program, data, amount) VALUES ($1, $2, $3, $4)",
            &[
                Value::from(job.proposal.id.to_string()),
                Value::from(program.as_str()),
                Value::from(name),
                Value::from(amount),
            ],
        )?;
    }
    Ok(())
}

/// Makes so many of the disclosures final that were counted for a job, because its data will be used.
pub(super) fn spend(transaction: &mut Transaction<'_>, job: JobId, disclosures: i64) -> Result<()> {
    let id = Value::from(job.to_string());
    transaction.run(
        "UPDATE charge SET amount = amount - $2 WHERE job = $1",
        &[id.clone(), Value::from(disclosures)],
    )?;
    transaction.run("DELETE FROM charge WHERE job = $1 AND amount <= 0", &[id])?;
    Ok(())
}

/// Gives back what was counted for a job and not spent. Gives the names of the data.
pub(super) fn refund(transaction: &mut Transaction<'_>, job: JobId) -> Result<Vec<String>> {
    let id = Value::from(job.to_string());
    let rows = transaction.rows(
        "SELECT program, data, amount FROM charge WHERE job = $1 ORDER BY data",
        std::slice::from_ref(&id),
    )?;
    let mut names = Vec::new();
    for row in &rows {
        let (program, data) = (row.text(0)?, row.text(1)?);
        transaction.run(
            "UPDATE disclosure SET used = used - $3 WHERE program = $1 AND data = $2",
            &[
                Value::from(program),
                Value::from(data),
                Value::from(row.integer(2)?),
            ],
        )?;
        names.push(data.to_owned());
    }
    transaction.run("DELETE FROM charge WHERE job = $1", &[id])?;
    Ok(names)
}
