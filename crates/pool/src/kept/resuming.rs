//! A pool that both parties keep is put back.

use cenote_net::Channel;
use cenote_primitives::as_bytes_mut;
use cenote_session::{Error, Result, room};
use cenote_store::{Hold, Living};

use super::disk::{KeptPool, retire};
use super::folder::{History, Known};
use super::journal::{JOURNAL, KINDS, NONE};
use super::keep::{Keep, Shape};
use super::opened::{Common, Copies, Opened, Which};
use super::prepared::compare;
use crate::touched;

/// Puts back a pool, of which the parties have told each other what they have in `common`, and compares which gadget lies where.
pub(super) fn resume<K: Keep>(
    channel: &mut dyn Channel,
    keep: &K,
    known: Known<K::Sizes>,
    common: Common,
    history: History,
    hold: Hold,
) -> Result<Opened<K::Sizes, K::Base>> {
    let read = put_back(keep, &known, common.since);
    let (base, copies) = read.map_err(|error| given_up(&known.living, error))?;
    let Known {
        living,
        sizes,
        mut journal,
        ..
    } = known;
    let mut theirs = [0; blake3::OUT_LEN];
    let digest = digest_of::<K>(&copies, &keep.shapes(&sizes));
    channel.send(K::STEP, &digest)?;
    channel.recv(K::STEP, &mut theirs)?;
    if digest != theirs {
        retire(&living)?;
        let reason = format!(
            "pool {} is not the same at both parties, of which one was put back to an earlier state, or lies. It is given up: run again, \
             to make another",
            living.id()
        );
        return Err(Error::Storage(reason));
    }
    if K::PREPARES {
        compare(channel, K::STEP, &mut journal, &living)?;
    }
    for (track, since) in journal.tracks.iter_mut().zip(common.since) {
        // What fills empty places is told by no coin: so far back, this party's copy is no better than the peer's.
        track.copied = since;
        if since.is_none() {
            track.forget();
        }
    }
    let number = common.session + 1;
    journal.session = number;
    history.write_to(&mut journal);
    living.write(JOURNAL, &[&journal.encode()])?;
    Ok(Opened {
        base,
        sizes,
        which: Which {
            number,
            ..Which::default()
        },
        copies,
        kept: KeptPool::new::<K>(living, journal, hold),
    })
}

/// What cannot be read is of no use, and would be in the way of every session.
fn given_up(living: &Living, error: Error) -> Error {
    let Error::Storage(reason) = error else {
        return error;
    };
    match retire(living) {
        Ok(()) => {
            let id = living.id();
            Error::Storage(format!(
                "{reason}. Pool {id} is given up: run again, to make another"
            ))
        }
        Err(error) => error,
    }
}

/// Keys and copies of a pool, of which the places are empty that deliveries `since` the given ones may have touched.
fn put_back<K: Keep>(
    keep: &K,
    known: &Known<K::Sizes>,
    since: [Option<u64>; KINDS],
) -> Result<(K::Base, Copies)> {
    let Known {
        item,
        living,
        sizes,
        journal,
    } = known;
    let base = keep
        .decode(&item.keys.0, sizes)
        .ok_or_else(|| Error::Storage(format!("the keys of pool {} are garbled", item.id)))?;
    let mut copies = [None, None];
    for (kind, (shape, since)) in keep.shapes(sizes).into_iter().zip(since).enumerate() {
        let Some(since) = since else { continue };
        let mut copy = room::secret("a pool", shape.blocks)?;
        living.read_into(K::COPIES[kind], &mut [as_bytes_mut(&mut copy)])?;
        let track = &journal.tracks[kind];
        let coins = track.coins.iter().skip((since - track.first) as usize);
        let mut is_empty = vec![false; shape.size];
        for &(coin, kept) in coins {
            for place in touched(coin, kept as usize, shape.together, shape.size) {
                is_empty[place as usize] = true;
            }
        }
        let gaps = (0..shape.size as u32).filter(|&place| is_empty[place as usize]);
        copies[kind] = Some((copy, gaps.collect()));
    }
    Ok((base, copies))
}

/// What both parties must have alike: which gadget lies where.
fn digest_of<K: Keep>(copies: &Copies, shapes: &[Shape]) -> [u8; blake3::OUT_LEN] {
    let mut hasher = blake3::Hasher::new_derive_key("Cenote 2026 pool: the gadgets of a kept pool");
    for (shape, copy) in shapes.iter().zip(copies) {
        let Some((records, gaps)) = copy else {
            hasher.update(&[0]);
            continue;
        };
        let mut gaps = gaps.iter().peekable();
        for place in 0..shape.size {
            let number = match gaps.next_if_eq(&&(place as u32)) {
                Some(_) => NONE,
                None => K::number(shape, records, place),
            };
            hasher.update(&number.to_le_bytes());
        }
    }
    *hasher.finalize().as_bytes()
}
