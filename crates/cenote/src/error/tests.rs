use std::time::Duration;

use cenote_net::Step;
use cenote_session::Reason;
use cenote_three::checks;

use super::*;

const STEP: Step = Step {
    code: 7,
    name: "coin",
};

fn lost(peer: u8) -> Error {
    NetError::PeerLost {
        peer: PartyId(peer),
        step: STEP,
        reason: "reset".into(),
    }
    .into()
}

#[test]
fn kinds_follow_the_cause() {
    let timeout = NetError::Timeout {
        peer: PartyId(1),
        step: STEP,
        waited: Duration::from_secs(1),
    };
    let mismatch = NetError::Mismatch {
        peer: PartyId(1),
        field: "circuit".into(),
        ours: "a".into(),
        theirs: "b".into(),
    };
    let aborted = NetError::PeerAborted {
        peer: PartyId(1),
        step: STEP,
        reason: Reason::Check(checks::COIN_OPENING).code(),
    };
    let hearsay = NetError::PeerAborted {
        peer: PartyId(1),
        step: STEP,
        reason: Reason::HeardCheck(PartyId(2), checks::COIN_OPENING).code(),
    };
    let seen = EngineError::Aborted {
        check: checks::COIN_OPENING,
        peer: None,
        step: STEP,
        detail: "x".into(),
    };
    let stopped = NetError::PeerAborted {
        peer: PartyId(1),
        step: STEP,
        reason: Reason::Stopped.code(),
    };
    for (error, kind) in [
        (Error::from(timeout), Kind::Network),
        (mismatch.into(), Kind::Misuse),
        (aborted.into(), Kind::Reported),
        (hearsay.into(), Kind::Reported),
        (seen.into(), Kind::Cheating),
        (stopped.into(), Kind::Network),
        (EngineError::BadInput("x".into()).into(), Kind::Misuse),
        (EngineError::Storage("x".into()).into(), Kind::BadInput),
        (EngineError::DiskFull("x".into()).into(), Kind::Internal),
        (Error::data("f", Some(3), "x"), Kind::BadInput),
        (Error::config("f", None, "x"), Kind::Misuse),
        (Error::Usage("x".into()), Kind::Misuse),
        (
            Error::Query {
                at: None,
                what: "x".into(),
            },
            Kind::Misuse,
        ),
    ] {
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[test]
fn the_cause_comes_first_and_the_others_in_one_line_each() {
    let own = Error::data("values.csv", Some(3), "300 does not fit\n  what to do: ask");
    let failures = Failures::new(vec![
        Failure::new(PartyId(0), &lost(2)),
        Failure::new(PartyId(1), &lost(0)),
        Failure::new(PartyId(2), &own),
    ]);
    assert_eq!(failures.root().party, 2);
    assert_eq!(failures.root().kind, Kind::BadInput);
    let text = failures.to_string();
    assert!(
        text.starts_with("party 2: values.csv, line 3: 300 does not fit"),
        "{text}"
    );
    assert!(
        text.contains("\n  party 0 then stopped: lost party 2 in step \"coin\": reset"),
        "{text}"
    );
}

#[test]
fn among_equals_the_party_that_others_name_is_the_cause() {
    let failures = Failures::new(vec![
        Failure::new(PartyId(0), &lost(2)),
        Failure::new(PartyId(1), &lost(2)),
        Failure::new(PartyId(2), &lost(0)),
    ]);
    assert_eq!(failures.root().party, 2);
}
fn waited_for(peer: u8) -> Error {
    NetError::Timeout {
        peer: PartyId(peer),
        step: STEP,
        waited: Duration::from_secs(1),
    }
    .into()
}

/// Party 1 is stuck. Party 2 waits for it, and party 0 for party 2, whose last word comes too late.
#[test]
fn a_party_that_says_nothing_is_the_cause_of_waits_only() {
    let silent = || Failure::unheard(PartyId(1));
    let failures = Failures::new(vec![
        Failure::new(PartyId(0), &waited_for(2)),
        silent(),
        Failure::new(PartyId(2), &waited_for(1)),
    ]);
    assert_eq!(failures.root().party, 1);
    let text = failures.to_string();
    assert!(text.starts_with("party 1: did not answer"), "{text}");

    let own = Error::data("values.csv", Some(3), "300 does not fit");
    let failures = Failures::new(vec![
        Failure::new(PartyId(0), &waited_for(2)),
        silent(),
        Failure::new(PartyId(2), &own),
    ]);
    assert_eq!(failures.root().party, 2);
    assert!(
        !failures.to_string().contains("party 1"),
        "it has nothing to say: {failures}"
    );
}

/// Who hears of another's loss names the one that was lost.
#[test]
fn hearsay_names_the_lost_party() {
    let heard = Error::from(EngineError::PeerStopped {
        peer: PartyId(2),
        step: STEP,
        reason: Reason::Lost(PartyId(1)),
    });
    let failures = Failures::new(vec![
        Failure::new(PartyId(0), &heard),
        Failure::new(PartyId(2), &waited_for(1)),
    ]);
    assert_eq!(failures.root().party, 2);
    assert_eq!(failures.all()[1].peer, Some(1));
}
