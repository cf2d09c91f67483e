//! What two parties both have.

use cenote_net::PartyId;

use crate::error::{Error, Result};
use crate::session::Session;
use crate::table;

/// The items that parties 0 and 1 both have, in order, and nothing of others. Each gives its own `items`, at most `most` of them, which are less than
/// `u64::MAX - most`, in any order; another party none.
///
/// The lists are sorted by their owners, merged, and neighbours compared (Huang, Evans, Katz, NDSS 2012).
///
/// # Errors
/// What happened to the session; [`Error::BadInput`] for items that are too many, too large, or come twice.
pub fn intersection(session: &Session, items: &[u64], most: usize) -> Result<Vec<u64>> {
    if most == 0 {
        return Err(Error::BadInput("no items were agreed on: at least one".into()));
    }
    // What there is no item for has a number of its own.
    let limit = u64::MAX - most as u64;
    let of = |owner: PartyId| -> Result<_> {
        let own = (session.me() == owner)
            .then(|| padded(items, most, limit))
            .transpose()?;
        Ok(session.input(owner, most, own.as_deref()))
    };
    let (first, second) = (of(PartyId(0))?, of(PartyId(1))?);
    // Without repetition, or what one party has twice would seem to be the other's too.
    let in_order = first.is_strictly_sorted() & second.is_strictly_sorted();
    let merged = first.merge(&second);
    let (each, next) = (merged.slice(0..2 * most - 1), merged.slice(1..2 * most));
    let common = each.equals(&next) & each.lt(limit) & in_order;
    let (items, count) = table::compact(&common, &each);
    match session.open(&count)?[0] as usize {
        0 => Ok(Vec::new()),
        count => session.open(&items.slice(0..count)),
    }
}

/// A party's items, and numbers of no item up to `most`, in order.
fn padded(items: &[u64], most: usize, limit: u64) -> Result<Vec<u64>> {
    let mut items = items.to_vec();
    items.sort_unstable();
    let refused = if items.len() > most {
        Some(format!("{} items, where {most} were agreed at most", items.len()))
    } else if items.windows(2).any(|pair| pair[0] == pair[1]) {
        Some("an item comes twice".into())
    } else {
        let too_large = items.last().is_some_and(|&item| item >= limit);
        too_large.then(|| format!("an item is too large: items are less than {limit}"))
    };
    if let Some(what) = refused {
        return Err(Error::BadInput(what));
    }
    items.extend((limit..).take(most - items.len()));
    Ok(items)
}
