//! How three parties begin together, and how they end.

pub(crate) mod eras;
pub(crate) mod keys;
pub(crate) mod lag;

use cenote_net::PartyId;
use cenote_session::{Error, Result, Terms};

use crate::ring::Ring;
use crate::settings::Links;
use crate::steps;

/// Checks that there are workers, and that their channels lead where party `me` needs them to.
pub(crate) fn check_links(me: PartyId, links: &[Links]) -> Result<()> {
    if !(1..=255).contains(&links.len()) {
        return Err(Error::BadInput(format!(
            "a party has 1 to 255 workers, not {}",
            links.len()
        )));
    }
    links.iter().try_for_each(|link| {
        link.generator.check_peers(me)?;
        link.evaluator.check_peers(me)
    })
}

/// Says to both peers that the session has come to its good end, and waits until both say the same.
pub(crate) fn farewell(ring: &mut Ring) -> Result<()> {
    let Ring { previous, next } = ring;
    cenote_session::farewell([previous.as_mut(), next.as_mut()], steps::FINISH)
}

/// Makes sure that both peers were started on the same terms.
pub(crate) fn compare(terms: &Terms, ring: &mut Ring) -> Result<()> {
    // With both at once: at both ends of each pair the error says what differs, or which party is missing.
    let Ring { previous, next } = &mut *ring;
    let (with_previous, with_next) = std::thread::scope(|scope| {
        let with_previous = scope.spawn(|| cenote_net::agree(previous.as_mut(), terms));
        let with_next = cenote_net::agree(next.as_mut(), terms);
        (with_previous.join(), with_next)
    });
    with_previous.map_err(|_| Error::Internal("the agreement with a peer panicked".into()))??;
    Ok(with_next?)
}
