//! What has no meaning is told by the next reveal, with its place in the program.

use cenote_net::PartyId;
use cenote_program::{Error, Result, Secret, Session};
use cenote_session::ClearEngine;

const ME: PartyId = PartyId(0);

fn session() -> Session {
    Session::new(ClearEngine::new(ME, Vec::new()))
}

fn row(session: &Session, len: usize) -> Secret<u32> {
    session.input(ME, len, Some(&vec![7; len]))
}

fn told<T>(result: Result<T>, line: u32, words: &str) {
    match result {
        Err(Error::Misuse(misuse)) => {
            assert!(misuse.what.contains(words), "{misuse}");
            assert_eq!((misuse.at.line(), misuse.at.file()), (line, file!()), "{misuse}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("nobody noticed"),
    }
}

#[test]
fn sessions_are_not_mixed() {
    let (one, other) = (session(), session());
    let (x, y) = (row(&one, 1), row(&other, 1));
    let line = line!() + 1;
    let sum = &x + &y;
    told(one.open(&sum), line, "different sessions");
    told(other.open(&y), line, "different sessions");
    let (third, fourth) = (session(), session());
    let x = row(&third, 1);
    told(fourth.open(&x), line!(), "another session");
}

#[test]
fn rows_that_meet_have_one_length() {
    let session = session();
    let (three, four) = (row(&session, 3), row(&session, 4));
    let line = line!() + 1;
    let sum = three + four;
    told(session.open(&sum), line, "row of 3 secrets meets a row of 4");
    // From then on the session is over, and says why.
    let again = session.open(&row(&session, 1));
    assert!(matches!(again, Err(Error::Failed(words)) if words.contains("row of 3")));
}

#[test]
fn places_are_within_the_row() {
    let wrong = |what: fn(&Secret<u32>) -> Secret<u32>, words: &str| {
        let session = session();
        let x = row(&session, 5);
        match session.open(&what(&x)) {
            Err(Error::Misuse(misuse)) => assert!(misuse.what.contains(words), "{misuse}"),
            other => panic!("{other:?}"),
        }
    };
    wrong(|x| x.at(5), "places 5..6 of a row of 5");
    wrong(|x| x.slice(2..9), "places 2..9");
    wrong(|x| x.slice(2..2), "places 2..2");
    wrong(|x| x.gather(&[0, 7]), "place 7 of a row of 5");
    wrong(|x| x.repeat(0), "no secrets");
    wrong(|x| x.bit(32).to_integer(), "no bit 32 in 32 bits");
    wrong(
        |x| Secret::from_bits(&[x.bit(0)]),
        "1 bits were given for a number of 32",
    );
}

#[test]
fn inputs_have_the_length_agreed() {
    let session = session();
    let line = line!() + 1;
    let x = session.input::<u8>(ME, 3, Some(&[1, 2]));
    told(session.open(&x), line, "2 values were given for an input of 3");
}

#[test]
fn nothing_is_computed_after_the_end() {
    let session = session();
    let x = row(&session, 2);
    session.finish().unwrap();
    assert!(matches!(session.open(&(&x + 1)), Err(Error::Failed(words)) if words.contains("finished")));
}
