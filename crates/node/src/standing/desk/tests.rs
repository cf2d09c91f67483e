use super::*;
use crate::compiled::tests::bundle;

fn desk(me: u8, callers: &[u8]) -> Desk {
    let compiled = Compiled::new(bundle("add8", 3), Digest::of(b""), me).expect("compiles");
    let standing = Standing {
        calls: 10,
        callers: callers.to_vec(),
        parameters: None,
    };
    Desk::new(me, JobId([1; 16]), standing, Arc::new(compiled))
}

fn id(number: u8) -> CallId {
    CallId([number; 16])
}

fn makes(calls: &[CallId]) -> Offers {
    Offers {
        make: calls.to_vec(),
        ..Offers::default()
    }
}

fn takes_back(call: CallId) -> Offers {
    Offers {
        take_back: vec![call],
        ..Offers::default()
    }
}

fn enter(desk: &Desk, number: u8) {
    let made = (Digest::of(b"inputs"), "ada".to_owned());
    let entered = desk.enter(id(number), Given::Inputs(Vec::new()), made, Box::new(|_| ()));
    assert!(matches!(entered, Ok(Entered::New)));
}

#[test]
fn no_call_begins_that_this_party_does_not_make_or_that_has_begun() {
    let desk = desk(1, &[1]);
    desk.begin_session();
    enter(&desk, 1);
    // It is not known yet whether it was made before.
    assert!(
        matches!(desk.begin(&[id(1)]), Begun::Lie)
            && desk.to_offer(Duration::ZERO) == Some(Offers::default())
    );
    desk.admit(id(1));
    assert_eq!(desk.to_offer(Duration::ZERO), Some(makes(&[id(1)])));
    assert!(matches!(desk.begin(&[id(2)]), Begun::Lie));
    assert!(matches!(desk.begin(&[id(1)]), Begun::Now(_)));
    assert!(matches!(desk.begin(&[id(1)]), Begun::Lie));
    enter(&desk, 3);
    desk.admit(id(3));
    assert!(
        matches!(desk.begin(&[id(3), id(3)]), Begun::Lie),
        "twice in one batch"
    );
}

#[test]
fn one_submitter_leaves_places_for_others() {
    let desk = desk(1, &[1]);
    let id = |number: usize| {
        let mut name = [0; 16];
        name[..8].copy_from_slice(&number.to_le_bytes());
        CallId(name)
    };
    let enter = |number: usize, submitter: &str| {
        let made = (Digest::of(b"inputs"), submitter.to_owned());
        desk.enter(id(number), Given::Inputs(Vec::new()), made, Box::new(|_| ()))
    };
    let most = MOST - MOST / 4;
    for number in 0..most {
        assert!(matches!(enter(number, "ada"), Ok(Entered::New)), "{number}");
    }
    let refused = |entered: Result<Entered>| match entered {
        Err(Error::Crowded(why)) => why,
        _ => panic!("there is a place"),
    };
    assert!(refused(enter(most, "ada")).contains("you have made"));
    assert!(matches!(enter(0, "ada"), Ok(Entered::Known)), "the same call");
    for number in most..MOST {
        assert!(matches!(enter(number, "bert"), Ok(Entered::New)), "{number}");
    }
    assert!(!refused(enter(MOST, "cleo")).contains("you have made"));
    // A call that has ended leaves its place.
    desk.end(id(0), || Err(Error::Call("over".into())));
    assert!(matches!(enter(MOST, "ada"), Ok(Entered::New)));
    desk.close("over");
    assert!(desk.calls().shares.is_empty());
}

#[test]
fn a_follower_offers_only_what_it_may() {
    let desk = desk(0, &[1, 2]);
    desk.begin_session();
    assert!(desk.hear_offers(1, &makes(&[id(1)])));
    assert!(!desk.hear_offers(1, &makes(&[id(1)])), "it has made this call");
    assert!(desk.hear_offers(2, &makes(&[id(1)])));
    assert_eq!(desk.next(8, Duration::ZERO), [id(1)]);
    let many: Vec<CallId> = (0..=MOST as u64)
        .map(|number| {
            let mut name = [0; 16];
            name[..8].copy_from_slice(&number.to_le_bytes());
            CallId(name)
        })
        .collect();
    assert!(!desk.hear_offers(1, &makes(&many)), "too many");
    assert!(desk.hear_offers(1, &makes(&many[..MOST])));
    assert!(!desk.hear_offers(1, &makes(&many[MOST..])), "one too many");
    // What one offers leaves the other as much room.
    assert!(desk.hear_offers(2, &makes(&many[1..])));
    let own = self::desk(0, &[1]);
    own.begin_session();
    assert!(!own.hear_offers(2, &makes(&[id(1)])), "it makes no calls");
    assert!(own.hear_offers(2, &makes(&[])));
}

#[test]
fn a_call_is_dropped_only_if_this_party_takes_it_back() {
    let desk = desk(1, &[1, 2]);
    desk.begin_session();
    for number in [1, 2] {
        enter(&desk, number);
        desk.admit(id(number));
    }
    assert!(!desk.drop(id(1)) && !desk.drop(id(3)), "nobody has taken it back");
    for call in desk.calls().waiting.values_mut() {
        call.is_taken_back = true;
    }
    assert!(matches!(desk.begin(&[id(1)]), Begun::Now(_)));
    assert!(!desk.drop(id(1)) && desk.drop(id(2)) && !desk.drop(id(2)));
}

/// What is taken back crosses with what others make: nobody is accused, and each may make it again.
#[test]
fn calls_that_are_taken_back_may_be_made_again() {
    let desk = desk(0, &[1, 2]);
    desk.begin_session();
    assert!(desk.hear_offers(1, &makes(&[id(1)])));
    assert!(desk.hear_offers(1, &takes_back(id(1))));
    assert!(desk.hear_offers(2, &makes(&[id(1)])));
    assert_eq!(desk.dropped(1), [id(1)]);
    assert!(desk.next(8, Duration::ZERO).is_empty());
    assert!(desk.hear_offers(1, &makes(&[id(1)])));
    assert_eq!(desk.next(8, Duration::ZERO), [id(1)]);
    // Too late: it begins all the same. What was never made is nothing.
    assert!(desk.hear_offers(2, &takes_back(id(1))) && desk.hear_offers(1, &takes_back(id(9))));
    assert!(desk.dropped(2).is_empty() && desk.dropped(1).is_empty());
    assert_eq!(desk.calls().outstanding, [0; 8]);
}

#[test]
fn what_has_not_begun_is_offered_again_in_the_next_session() {
    let desk = desk(1, &[1]);
    desk.begin_session();
    for number in [1, 2] {
        enter(&desk, number);
        desk.admit(id(number));
    }
    assert!(
        desk.to_offer(Duration::ZERO)
            .is_some_and(|offers| offers.make.len() == 2)
    );
    assert!(matches!(desk.begin(&[id(1)]), Begun::Now(_)));
    assert_eq!(desk.end_session(), [id(1)]);
    assert_eq!(desk.to_offer(Duration::ZERO), None);
    desk.begin_session();
    assert_eq!(desk.to_offer(Duration::ZERO), Some(makes(&[id(2)])));
    desk.close("it has ended");
    assert!(matches!(desk.begin(&[id(2)]), Begun::Over));
}

#[test]
fn a_check_that_failed_is_not_covered_up_by_a_lost_channel() {
    use cenote_service::job::FailKind;

    use crate::failure::Fault;
    use crate::standing::session::decisive;

    let desk = desk(0, &[0]);
    let lost = || cenote::Error::local("a channel", std::io::Error::other("it is closed"));
    desk.break_session(lost());
    let cheating = Fault::new(FailKind::Cheating, "a check");
    assert_eq!(decisive(cheating, &desk).kind, FailKind::Cheating);
    // Of anything else, what another thread has noticed is the cause.
    let after = Fault::new(FailKind::PeerLost, "gone");
    assert_eq!(decisive(after, &desk).kind, Fault::of(&lost()).kind);
}
