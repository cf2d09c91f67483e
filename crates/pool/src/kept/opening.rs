//! The pool with which a session begins: the one that both parties keep and can put back, or a new one.

use cenote_net::{Channel, PartyId};
use cenote_primitives::{as_bytes, as_bytes_mut};
use cenote_session::{Error, MESSAGE_FORM, Result};
use cenote_store::{Hold, Living};

use super::creation::create;
use super::folder::{Found, Known};
use super::journal::{Message, Told};
use super::keep::Keep;
use super::opened::{Common, Opened, Which};
use super::resuming::resume;

/// The pool that both parties keep and can put back, or a new one with `sizes`. Pools of which one party knows more than the other, whose
/// check was cut off, or which either party's journal says are spent, are deleted.
///
/// # Errors
/// [`Error::Storage`] for what is wrong with the folder, or if what the parties keep is not the same; [`MESSAGE_FORM`] if the peer tells
/// nonsense; those of setting a pool up, and of the channel.
pub fn open<K: Keep>(
    me: PartyId,
    channel: &mut dyn Channel,
    keep: &mut K,
    sizes: &K::Sizes,
    hold: Hold,
) -> Result<Opened<K::Sizes, K::Base>> {
    let mut found = Found::of(me, keep, &hold)?;
    let [mine, theirs] = tell(channel, keep, &found.known)?;
    // The garbler's nonce and pools come first.
    let [first, second] = match me == keep.garbler() {
        true => [&mine, &theirs],
        false => [&theirs, &mine],
    };
    let nonce = [first.nonce, second.nonce];
    let usable = usable(&found.known, [&mine, &theirs], &mut found.gone);
    // The garbler's latest.
    let chosen = first.pools.iter().find_map(|told| {
        let of = |(at, _): &&(usize, Common)| found.known[*at].item.id.0 == told.id;
        usable.iter().find(of)
    });
    let opened = match chosen {
        None => {
            tracing::info!("there is no pool in stock that both parties have: one is made");
            create(me, channel, keep, sizes, hold, &mut found)?
        }
        Some(&(at, common)) => {
            let known = found.known.swap_remove(at);
            resume(channel, keep, known, common, found.history, hold)?
        }
    };
    let gone = found.gone.iter().chain(&found.notes);
    gone.into_iter().try_for_each(Living::discard)?;
    let which = Which {
        nonce,
        ..opened.which
    };
    Ok(Opened { which, ..opened })
}

/// Tells the peer of the pools that there are. What this party tells, and what the peer does.
fn tell<K: Keep>(channel: &mut dyn Channel, keep: &mut K, known: &[Known<K::Sizes>]) -> Result<[Message; 2]> {
    let mut mine: Message = bytemuck::Zeroable::zeroed();
    keep.entropy().fill(&mut mine.nonce);
    for (told, known) in mine.pools.iter_mut().zip(known) {
        let is_spent = keep.is_spent(&known.sizes, &known.journal.spent);
        *told = Told::of(known.item.id, &known.journal, is_spent);
    }
    let mut theirs: Message = bytemuck::Zeroable::zeroed();
    channel.send(K::STEP, as_bytes(&[mine]))?;
    channel.recv(K::STEP, as_bytes_mut(std::slice::from_mut(&mut theirs)))?;
    let told = theirs.pools.iter().map(|told| told.id);
    let mut ids: Vec<[u8; 32]> = told.filter(|id| *id != [0; 32]).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        let (peer, detail) = (channel.peer(), "it tells of a pool twice");
        return Err(Error::cheated(MESSAGE_FORM, peer, K::STEP, detail));
    }
    Ok([mine, theirs])
}

/// The places in `known` of the pools that both parties can put back. Those that nobody will are added to `gone`.
fn usable<Sizes>(
    known: &[Known<Sizes>],
    [mine, theirs]: [&Message; 2],
    gone: &mut Vec<Living>,
) -> Vec<(usize, Common)> {
    let mut usable = Vec::new();
    for (at, (known, told)) in known.iter().zip(&mine.pools).enumerate() {
        let Known {
            item,
            living,
            journal,
            ..
        } = known;
        let other = theirs.pools.iter().find(|other| other.id == item.id.0);
        match other.map(|other| (told.common(other), other.session())) {
            Some((Some(since), session)) => {
                let session = journal.session.max(session);
                usable.push((at, Common { since, session }));
            }
            // It may be another peer's.
            None if !journal.checking => {}
            Some(_) if told.is_spent() || other.is_some_and(Told::is_spent) => {
                tracing::info!(pool = %item.id, "a pool has been used as much as its bounds allow: another takes its place");
                gone.push(living.clone());
            }
            _ => {
                let checking = journal.checking;
                tracing::warn!(pool = %item.id, checking, "a pool is given up: the parties were cut off at different places");
                gone.push(living.clone());
            }
        }
    }
    usable
}
