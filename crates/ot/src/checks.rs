//! The checks of the protocols. Protocols built on this crate give their own checks codes from 4 on, or
//! above those of the checks that they use.

use cenote_primitives::{Block, as_bytes};
use subtle::ConstantTimeEq;

cenote_session::checks! {
    /// Every check but the form of messages.
    ALL;
    /// The receiver of an OT extension used different choices in different columns (Roy 2022, Figure 10).
    OT_CONSISTENCY = 1, "OT consistency";
    /// An opened bit, or sum of bits, is not what was authenticated.
    BIT_OPENING = 2, "opened bits";
    /// The shares that hide a watch list are not those of the polynomial that their sender opens.
    WATCH_SHARES = 3, "shares of a watch list";
    /// The receiver of a watch list did not know the shared secret: it took more seeds than it may.
    WATCH_SECRET = 4, "secret of a watch list";
    /// Trees that make authenticated bits have other leaves than one that differs (the consistency check of Ferret, CCS 2020).
    POINTS = 5, "single-point OTs";
}

/// Whether all of `differences` are 0. How long it takes does not tell which are not.
pub(crate) fn are_zero(differences: impl Iterator<Item = Block>) -> bool {
    let all = differences.fold([0; 2], |[low, high], Block([a, b])| [low | a, high | b]);
    as_bytes(&all).ct_eq(&[0; 16]).into()
}
