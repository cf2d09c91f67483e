//! What travels in a byte.

use cenote_net::{AbortReason, PartyId, Step};

use super::*;

const COIN: Check = Check {
    code: 4,
    name: "coin opening",
};

fn told(reason: Reason) -> Error {
    let step = Step {
        code: 1,
        name: "test",
    };
    Error::PeerStopped {
        peer: PartyId(2),
        step,
        reason,
    }
}

#[test]
fn reasons_survive_their_byte() {
    for party in (0..8).map(PartyId) {
        let others = (0..8)
            .map(PartyId)
            .filter(|&other| other != party)
            .map(|other| Reason::HeardLost(party, other));
        let told = (party.0 < OWN).then_some(Reason::HeardCheck(party, MESSAGE_FORM));
        let stopped = Cause::ALL.map(|cause| Reason::HeardOwn(party, cause));
        let stopped = stopped.into_iter().filter(|_| party.0 < SELF);
        let told = told.into_iter().chain(others).chain(stopped);
        for reason in told.chain([Reason::Lost(party)]) {
            assert_eq!(Reason::from_code(reason.code()), reason);
        }
    }
    let own = Cause::ALL.map(Reason::Own);
    for reason in own
        .into_iter()
        .chain([Reason::Check(MESSAGE_FORM), Reason::Stopped])
    {
        assert_eq!(Reason::from_code(reason.code()), reason);
    }
    let longer = [[].into(), [1, 2].into()];
    for code in (0..=u8::MAX).map(AbortReason::from).chain(longer) {
        assert_eq!(Reason::from_code(code).code(), code, "{code}");
    }
}

/// A code becomes a check of the protocol that knows it, and a code that nobody knows stays a failed check.
#[test]
fn checks_get_the_names_of_their_protocol() {
    for reason in [Reason::Check(COIN), Reason::HeardCheck(PartyId(0), COIN)] {
        let heard = told(Reason::from_code(reason.code()));
        assert_ne!(heard.check(), Some(COIN));
        let named = heard.with_checks(&[COIN]);
        assert!(
            matches!(named, Error::PeerStopped { reason: r, .. } if r == reason),
            "{named}"
        );
    }
    let unknown = Check { code: 31, ..COIN };
    let heard = told(Reason::from_code(Reason::Check(unknown).code())).with_checks(&[COIN]);
    assert_eq!(heard.check().map(|check| check.code), Some(31));
    assert_ne!(heard.check().map(|check| check.name), Some(COIN.name));
}

/// A peer's word is passed on as that peer's, never as what this party saw itself.
#[test]
fn hearsay_is_told_as_hearsay() {
    let [two, one] = [PartyId(2), PartyId(1)];
    let heard = |reason| told(reason).reason();
    assert_eq!(heard(Reason::Check(COIN)), Reason::HeardCheck(two, COIN));
    assert_eq!(
        heard(Reason::Check(COIN)).to_string(),
        "it heard from party 2 that the check \"coin opening\" failed there"
    );
    assert_eq!(heard(Reason::Lost(one)), Reason::HeardLost(two, one));
    assert_eq!(
        heard(Reason::Own(Cause::Operator)),
        Reason::HeardOwn(two, Cause::Operator)
    );
    assert_eq!(
        heard(Reason::Own(Cause::DiskFull)).to_string(),
        "it heard from party 2: its disk is full"
    );
    for other in [
        Reason::Lost(two),
        Reason::HeardOwn(one, Cause::Operator),
        Reason::Stopped,
        Reason::Unknown(0x3f.into()),
        Reason::HeardCheck(one, COIN),
        Reason::HeardLost(one, two),
    ] {
        assert_eq!(heard(other), Reason::Lost(two));
    }
}

/// What stops a party by itself is told as that, not as a stop without a cause.
#[test]
fn own_failures_are_told_by_their_cause() {
    use std::io::{Error as IoError, ErrorKind};
    let path = std::path::Path::new("stock/epoch");
    let file = |kind: ErrorKind| Error::file(path, "cannot be written", &IoError::from(kind));
    let closed = Error::Net(cenote_net::Error::Closed { peer: PartyId(1) });
    for (error, cause) in [
        (file(ErrorKind::StorageFull), Cause::DiskFull),
        (file(ErrorKind::QuotaExceeded), Cause::DiskFull),
        (file(ErrorKind::OutOfMemory), Cause::OutOfMemory),
        (file(ErrorKind::NotFound), Cause::Storage),
        (closed, Cause::Operator),
        (Error::Exhausted("x".into()), Cause::Exhausted),
        (Error::BadInput("x".into()), Cause::BadInput),
    ] {
        assert_eq!(error.reason(), Reason::Own(cause), "{error}");
    }
    assert_eq!(Error::Internal("x".into()).reason(), Reason::Stopped);
}
