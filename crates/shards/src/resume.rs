//! How a job begins, or goes on where its coordinators stopped.
//!
//! Each party says which job it has begun, by a name that no other job has. If all say the same, each says for every piece which attempt was the last and whether
//! it is done. An attempt that was handed out and is not done is lost. A piece is done only if all parties say so of the same attempt. The
//! next attempt has the number after the greatest that anybody knows of.
//!
//! If the names differ, a party has lost its ledger, or the job is new: all start over, with a new coin. What was handed out before still counts as so
//! many attempts, so that nobody gets more of them by losing a ledger.

use cenote_net::PartyId;
use cenote_primitives::Entropy;
use cenote_session::{Error, Result};

use crate::all::All;
use crate::book::{Book, Count, Entry, State};
use crate::checks::ATTEMPTS;
use crate::ledger::{Begun, Ledger};
use crate::message::malformed;
use crate::steps::{JOB, STATE};
use crate::{Attempt, JobName, coin};

/// Brings the ledger to where all parties stand. Gives attempts that do not count, which a worker may still be at.
///
/// # Errors
/// [`ATTEMPTS`] for a party that says what cannot be; [`Error::BadInput`] if a check failed in the job before, or the keys are others than those with
/// which it began; those of the coin, the channels and the ledger.
pub(crate) fn resume(
    all: &mut All,
    run: &str,
    keys: &[u8; 32],
    ledger: &mut Ledger,
    entropy: &mut Entropy,
) -> Result<Vec<Attempt>> {
    check_unfailed(ledger)?;
    let begun = ledger.begun();
    let keys_digest = coin::keys_digest(keys);
    if begun.is_some_and(|begun| begun.keys != keys_digest) {
        let what = "the keys of this party's rows are not those with which the job began; it can only begin anew, without this ledger";
        return Err(Error::BadInput(what.into()));
    }
    let name = begun.map(|begun| begun.name.0);
    let handed_out = ledger.book().handed_out();
    let own = [
        &[u8::from(name.is_some())][..],
        &name.unwrap_or_default(),
        &handed_out.to_le_bytes(),
    ]
    .concat();
    let said = all.agree(JOB, &own, ATTEMPTS)?;
    let most = said.iter().map(|said| total(said)).max().unwrap_or_default();
    for pair in &all.pairs {
        if total(&said[pair.peer.index()]) > ledger.job().attempts() {
            return Err(impossible(
                pair.peer,
                "it has handed out more attempts than there may be",
            ));
        }
    }
    if name.is_some() && said.iter().all(|said| said[..33] == own[..33]) {
        return catch_up(all, ledger);
    }
    let coin = coin::toss(all, run, keys, entropy)?;
    ledger.begin(Begun {
        name: JobName(coin::name(run, &coin)),
        coin,
        before: most,
        keys: keys_digest,
    })?;
    Ok(Vec::new())
}

/// A job in which a check failed has ended for good: somebody must look at it before it begins anew.
fn check_unfailed(ledger: &Ledger) -> Result<()> {
    let Some(attempt) = ledger.book().failed() else {
        return Ok(());
    };
    let what = format!(
        "a check failed in {attempt}, which ended the job; find out why before it begins anew, without this ledger"
    );
    Err(Error::BadInput(what))
}

/// How many attempts a party says it has handed out.
fn total(said: &[u8]) -> u32 {
    said.last_chunk().copied().map_or(0, u32::from_le_bytes)
}

fn impossible(peer: PartyId, detail: impl Into<String>) -> Error {
    Error::cheated(ATTEMPTS, peer, STATE, detail)
}

/// Compares where all parties stand, and records it.
fn catch_up(all: &mut All, ledger: &mut Ledger) -> Result<Vec<Attempt>> {
    let own: Vec<[u8; 8]> = ledger.book().counts().iter().map(encode).collect();
    let said = all.agree(STATE, own.as_flattened(), ATTEMPTS)?;
    let mut counts: Vec<Vec<(u32, u32)>> = Vec::new();
    for (party, said) in (0..).map(PartyId).zip(&said) {
        let each: Option<Vec<_>> = said.as_chunks().0.iter().map(decode).collect();
        let each =
            each.ok_or_else(|| malformed(party, "a piece is done in another attempt than the last"))?;
        counts.push(each);
    }
    let before = ledger.begun().map_or(0, |begun| begun.before);
    for pair in &all.pairs {
        let each = counts[pair.peer.index()].iter().map(|(last, _)| u64::from(*last));
        if u64::from(before) + each.sum::<u64>() > ledger.job().attempts().into() {
            return Err(impossible(
                pair.peer,
                "it has handed out more attempts than there may be",
            ));
        }
    }
    let (entries, lost) = differences(ledger, &counts);
    check_total(ledger.book(), &entries)?;
    ledger.note(&entries)?;
    Ok(lost)
}

/// Together the parties may know of more attempts than there may be, though none does alone.
fn check_total(book: &Book, entries: &[Entry]) -> Result<()> {
    let mut then = book.clone();
    for &entry in entries {
        then.note(entry).map_err(Error::Exhausted)?;
    }
    Ok(())
}

/// What to record so that this party stands where all together do, and which of its own attempts do not count.
fn differences(ledger: &Ledger, counts: &[Vec<(u32, u32)>]) -> (Vec<Entry>, Vec<Attempt>) {
    let (mut entries, mut lost) = (Vec::new(), Vec::new());
    for (at, piece) in ledger.job().all_pieces().enumerate() {
        let attempt = |number| Attempt { piece, number };
        let Count { last, state } = ledger.book().count(piece);
        let greatest = counts.iter().map(|each| each[at].0).max().unwrap_or_default();
        let is_done = last > 0 && counts.iter().all(|each| each[at] == (last, last));
        if state != State::Open && !is_done {
            entries.push(Entry::Lost(attempt(last)));
            lost.push(attempt(last));
        }
        if greatest > last {
            entries.extend([
                Entry::HandedOut(attempt(greatest)),
                Entry::Lost(attempt(greatest)),
            ]);
            lost.push(attempt(greatest));
        }
    }
    (entries, lost)
}

fn encode(count: &Count) -> [u8; 8] {
    let done = if count.state == State::Done { count.last } else { 0 };
    (u64::from(count.last) | u64::from(done) << 32).to_le_bytes()
}

/// The last attempt, and the one that is done, or 0.
fn decode(bytes: &[u8; 8]) -> Option<(u32, u32)> {
    let word = u64::from_le_bytes(*bytes);
    let (last, done) = (word as u32, (word >> 32) as u32);
    (done == 0 || done == last).then_some((last, done))
}
