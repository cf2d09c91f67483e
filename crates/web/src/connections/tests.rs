//! Places for connections, and who gives them up.

use futures_util::FutureExt;

use super::*;

fn connections() -> Arc<Connections> {
    let limits = Limits {
        connections: 16,
        connections_of_this_machine: 8,
        connections_per_address: 8,
        connections_per_token: 4,
        ..Limits::default()
    };
    Arc::new(Connections::new(limits, Arc::default()))
}

fn address(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

fn is_taken(seat: &Seat) -> bool {
    seat.is_taken().now_or_never().is_some()
}

#[test]
fn the_longest_idle_stranger_of_the_largest_crowd_goes_first() {
    let all = connections();
    let take = |last| all.seat(address(last)).expect("a place");
    let lone = take(1);
    let crowd: Vec<Seat> = (0..8).map(|_| take(2)).collect();
    let more: Vec<Seat> = (0..7).map(|_| take(3)).collect();
    crowd[0].set_busy(true);
    let _newcomer = take(4);
    assert!(is_taken(&crowd[1]));
    assert!(!is_taken(&crowd[0]) && !is_taken(&lone) && !more.iter().any(is_taken));
}

#[test]
fn among_equal_crowds_the_longest_idle_goes_whatever_its_address() {
    let all = connections();
    let idle = all.seat(address(200)).expect("a place");
    let others: Vec<Seat> = (1..16)
        .map(|last| all.seat(address(last)).expect("a place"))
        .collect();
    let six = IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]);
    let newcomer = all.seat(six).expect("a place");
    assert!(is_taken(&idle) && !others.iter().any(is_taken));
    let _next = all.seat(address(99)).expect("a place");
    assert!(is_taken(&others[0]) && !is_taken(&newcomer));
}

#[test]
fn a_token_that_was_revoked_keeps_no_place() {
    let all = connections();
    let here = IpAddr::from([127, 0, 0, 1]);
    let seats: Vec<Seat> = (0..8).map(|_| all.seat(here).expect("a place")).collect();
    assert!(seats[0].show("a") && seats[1].show("b") && seats[2].show("b"));
    all.forget("a");
    seats[1].forget();
    let mut newcomers = Vec::new();
    for taken in [0, 1, 3] {
        newcomers.push(all.seat(here).expect("a place"));
        assert!(is_taken(&seats[taken]), "{taken}");
    }
    assert!(!is_taken(&seats[2]));
}

#[test]
fn a_connection_is_busy_until_its_answer_has_gone() {
    let all = connections();
    let here = IpAddr::from([127, 0, 0, 1]);
    let seats: Vec<Arc<Seat>> = (0..8)
        .map(|_| Arc::new(all.seat(here).expect("a place")))
        .collect();
    let answer = Answering::new(Body::from("events"), seats[0].begin());
    let _newcomer = all.seat(here).expect("a place");
    assert!(!is_taken(&seats[0]) && is_taken(&seats[1]));
    drop(answer);
    let mut newcomers = Vec::new();
    for seat in &seats[2..] {
        newcomers.push(all.seat(here).expect("a place"));
        assert!(is_taken(seat));
    }
    let _newcomer = all.seat(here).expect("a place");
    assert!(
        !is_taken(&seats[0]),
        "it has been idle for less long than the first newcomer"
    );
}

#[test]
fn strangers_that_are_busy_go_where_no_other_is_left() {
    let all = connections();
    let here = IpAddr::from([127, 0, 0, 1]);
    let seats: Vec<Seat> = (0..8).map(|_| all.seat(here).expect("a place")).collect();
    seats.iter().for_each(|seat| seat.set_busy(true));
    let _newcomer = all.seat(here).expect("a place");
    assert!(is_taken(&seats[0]) && !is_taken(&seats[1]));
    assert!(!seats[0].show("a"), "it has no place any more");
}

#[test]
fn tokens_keep_their_places_and_leave_some() {
    let all = connections();
    let mut held = Vec::new();
    for token in ["a", "b", "c", "d"] {
        for place in 0..5 {
            let seat = all.seat(address(token.as_bytes()[0])).expect("a place");
            if seat.show(token) {
                held.push(seat);
            } else {
                assert!(place == 4 || held.len() == 14, "{token} {place}");
            }
        }
    }
    assert_eq!(held.len(), 14);
    let flood: Vec<Seat> = (0..50)
        .map(|last| all.seat(address(last)).expect("a place"))
        .collect();
    assert_eq!(flood.iter().filter(|seat| is_taken(seat)).count(), 48);
    assert!(!held.iter().any(is_taken));
    assert!(held[0].show("a"), "what was shown holds");
}
