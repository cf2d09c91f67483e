//! Rows that a session keeps, and a later one takes.

use cenote_authenticated::Authenticated;
use cenote_jimu::Jimu;
use cenote_lego::Lego;
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::kept::rows_in_parts;
use cenote_program::local::{in_memory, in_the_clear};
use cenote_program::{Error, KEPT_VALUE, Result, Session};
use cenote_protocol::Protocol;
use cenote_session::{Demand, Error as EngineError, Parties};
use cenote_three::Three;

const LANES: usize = 70;
const WIDTHS: [u32; 2] = [60, 10];

fn value(row: usize, lane: usize) -> bool {
    (row * 7 + lane * 13) % 5 < 2
}

/// Keeps rows of party 0.
fn keep(session: &Session) -> Result<BitMatrix> {
    let own = BitMatrix::from_fn(70, LANES, value);
    let own = (session.me() == PartyId(0)).then_some(&own);
    let rows = session.input_bits(PartyId(0), &WIDTHS, LANES, own);
    let [low, high] = &rows[..] else {
        panic!("there are two columns")
    };
    session.keep_bits(&cenote_program::Bits::join(&[&low.not(), high]))
}

/// Takes what two sessions have kept, of which `shares` are those of each party, and opens the sum of both modulo 2.
fn take(session: &Session, shares: &[Vec<BitMatrix>]) -> Result<Option<BitMatrix>> {
    let taken = session.take_bits(70, LANES, &shares[session.me().index()])?;
    session.reveal_bits(&[taken[0].xor(&taken[1].not())], Parties::one(PartyId(1)))
}

fn demand() -> Demand<'static> {
    Demand::new().and_gates(100_000)
}

fn kept<P: Protocol>(protocol: &P) -> Vec<Vec<BitMatrix>> {
    let mut all = vec![Vec::new(); protocol.topology().parties.into()];
    for _ in 0..2 {
        let shares = in_memory(protocol, &demand(), keep).unwrap();
        all.iter_mut()
            .zip(shares)
            .for_each(|(all, share)| all.push(share));
    }
    all
}

fn is_taken<P: Protocol>(protocol: &P) {
    let shares = kept(protocol);
    // Both sessions have kept the same, and their shares are others.
    assert!(shares.iter().any(|own| own[0] != own[1]));
    let opened = in_memory(protocol, &demand(), |session| take(session, &shares)).unwrap();
    assert_eq!(opened[0], None);
    let opened = opened[1].as_ref().expect("party 1 learns it");
    assert!((0..70).all(|row| (0..LANES).all(|lane| opened.get(row, lane))));
}

#[test]
fn what_was_kept_is_taken() {
    is_taken(&Three::default());
    is_taken(&Authenticated::default());
    is_taken(&Jimu::default());
    let shares = in_the_clear(2, keep).unwrap();
    assert!(shares[0].get(0, 0) != value(0, 0) && shares[0].get(69, 3) == value(69, 3));
}

#[test]
fn two_parties_in_constant_rounds_keep_too() {
    is_taken(&Lego::default());
}

/// A bit of any part of what a party has: its share, its secrets, its tags.
#[test]
fn who_changes_what_it_holds_is_caught() {
    let shares = kept(&Authenticated::default());
    assert_eq!(shares[0][0].rows(), rows_in_parts(70));
    for (cheat, row) in [
        (0, 3),
        (1, 69),
        (0, 75),
        (1, 140),
        (0, 200),
        (1, 270),
        (0, 330),
        (1, 450),
    ] {
        let mut changed = shares.clone();
        let bits = &mut changed[cheat][1];
        let bit = bits.get(row, 5);
        bits.set(row, 5, !bit);
        let ended = in_memory(&Authenticated::default(), &demand(), |session| {
            Ok(take(session, &changed))
        });
        for (party, result) in ended.into_iter().flatten().enumerate() {
            match result {
                Err(Error::Session(EngineError::Aborted { check, .. })) => assert_eq!(check, KEPT_VALUE),
                other => panic!("party {party}, {cheat} has changed {row}: {other:?}"),
            }
        }
    }
    // What another session has kept does not go with it.
    let mut changed = shares.clone();
    changed[1].swap(0, 1);
    let ended = in_memory(&Authenticated::default(), &demand(), |session| {
        take(session, &changed)
    });
    assert!(matches!(ended, Err(Error::Session(EngineError::Aborted { check, .. })) if check == KEPT_VALUE));
}

#[test]
fn three_parties_whose_shares_differ_do_not_go_on() {
    let mut shares = kept(&Three::default());
    let bit = shares[2][0].get(9, 9);
    shares[2][0].set(9, 9, !bit);
    let ended = in_memory(&Three::default(), &demand(), |session| take(session, &shares));
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("kept"), "{error}");
}
