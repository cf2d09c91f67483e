//! Parties that run different programs learn it before anything is revealed, and accuse nobody.

use cenote_lego::Lego;
use cenote_net::{Error as NetError, PartyId};
use cenote_program::{Error, Result, Secret, Session, local, table};
use cenote_session::{Demand, Error as SessionError, Parties};
use cenote_three::Three;

/// Every engine: `program` must fail at all of `parties`, which see that their programs differ.
fn all_see(program: impl Fn(&Session) -> Result<()> + Sync) {
    let demand = Demand::new();
    for (name, result) in [
        ("clear", local::in_the_clear(3, &program)),
        ("three", local::in_memory(&Three::default(), &demand, &program)),
        ("lego", local::in_memory(&Lego::default(), &demand, &program)),
    ] {
        match result {
            Err(Error::Session(SessionError::Net(NetError::Mismatch { field, .. }))) => {
                assert_eq!(field, "program", "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

fn number(session: &Session) -> Secret<u32> {
    let owner = PartyId(0);
    session.input(owner, 200, (session.me() == owner).then_some(&[500; 200][..]))
}

/// Two of three parties would not notice by their messages: constants are in no message.
#[test]
fn other_constants_are_noticed() {
    for odd in [PartyId(0), PartyId(1)] {
        all_see(|session| {
            let limit = if session.me() == odd { 1000 } else { 24 };
            let over = number(session).gt(limit);
            session.open(&over).map(drop)
        });
        all_see(|session| {
            let mask = if session.me() == odd { 7 } else { 1 };
            session.open(&(number(session) ^ mask)).map(drop)
        });
        all_see(|session| {
            let last = if session.me() == odd { 5 } else { 6 };
            let row = session.public_row(&[1u8, 2, last]);
            session.open(&row).map(drop)
        });
    }
}

#[test]
fn other_places_and_other_receivers_are_noticed() {
    let odd = PartyId(1);
    all_see(|session| {
        let place = if session.me() == odd { 3 } else { 4 };
        session.open(&number(session).at(place)).map(drop)
    });
    all_see(|session| {
        let to = if session.me() == odd {
            Parties::all(2)
        } else {
            Parties::one(PartyId(0))
        };
        session.reveal(&number(session), to).map(drop)
    });
}

/// Before a coin is tossed for them, which not all would toss.
#[test]
fn other_tables_that_are_compared_are_noticed() {
    let odd = PartyId(1);
    all_see(|session| {
        let row = number(session);
        let first = if session.me() == odd { 1 } else { 0 };
        let (these, those) = (row.slice(first..first + 100), row.slice(100..200));
        session.open(&table::same_rows(&these, &those)).map(drop)
    });
    all_see(|session| {
        let row = number(session);
        let (these, those) = (row.slice(0..100), row.slice(100..200));
        let same = match session.me() == odd {
            true => these.slice(0..1).equals(those.slice(0..1)),
            false => table::same_rows(&these, &those),
        };
        session.open(&same).map(drop)
    });
}

/// What comes after the last reveal is compared at the end.
#[test]
fn other_ends_are_noticed() {
    all_see(|session| {
        let x = number(session);
        session.open(&x.at(0))?;
        let mine = session.public_row(&[session.me().0, 1]);
        drop(mine);
        Ok(())
    });
}
