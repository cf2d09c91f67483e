//! Cards that two issuers together see too much of.

use super::{Words, padded};
use crate::error::Result;
use crate::session::Session;
use crate::table;
use cenote_net::PartyId;

/// What an issuer knows of a card: a number that stands for it at both issuers, such as a keyed hash, and what was spent with it.
pub type Spent = (u64, u64);

/// The key of a record that is no card's.
const NO_CARD: u64 = u64::MAX;

const CARDS: Words = Words {
    records: "cards",
    one: "card",
    twice: "a card comes twice: add up what was spent with it",
};

/// The cards with which more than `limit` was spent at the issuers, parties 0 and 1, together; and how much. Nothing is revealed of other
/// cards, not even who knows them. Each issuer gives its own `cards`, at most `most` of them, where each comes once; another party none.
///
/// # Errors
/// What happened to the session; [`Error::BadInput`](crate::Error::BadInput) for cards that are too many, come twice, or have the greatest number.
pub fn joint_spending(session: &Session, cards: &[Spent], most: usize, limit: u64) -> Result<Vec<Spent>> {
    let issuer = |id: u8| -> Result<_> {
        let own = (session.me() == PartyId(id))
            .then(|| padded(cards, most, (NO_CARD, 0), |card| card.0, &CARDS))
            .transpose()?;
        let (keys, spent): (Vec<u64>, Vec<u64>) = own.iter().flatten().copied().unzip();
        let given = own.is_some();
        Ok((
            session.input(PartyId(id), most, given.then_some(&keys[..])),
            session.input(PartyId(id), most, given.then_some(&spent[..])),
        ))
    };
    let (first, second) = (issuer(0)?, issuer(1)?);
    let (card, spent) = table::merge_by((&first.0, &first.1), (&second.0, &second.1));
    let (is_last, joint) = table::group(&card, &spent, |(x, y)| x + y)?;
    let flagged = is_last & joint.gt(limit) & card.differs(NO_CARD);
    // Sorted as promised, or nothing is told.
    let in_order = first.0.is_sorted() & second.0.is_sorted();
    let flagged = flagged & in_order;
    let ((card, joint), count) = table::compact(&flagged, &(card, joint));
    let count = session.open(&count)?[0] as usize;
    if count == 0 {
        return Ok(Vec::new());
    }
    let (cards, joint) = session.open(&(card.slice(0..count), joint.slice(0..count)))?;
    Ok(cards.into_iter().zip(joint).collect())
}
