//! What has no meaning is told by the next reveal, with its place in the program.

use cenote_net::PartyId;
use cenote_program::memory::{Settings, Structure};
use cenote_program::{Bits, Error, Function, Memory, Result, Secret, Session, apps, table};
use cenote_session::{ClearEngine, Parties};

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
fn an_order_moves_as_many_records_as_it_has() {
    let session = session();
    let order = table::Order::random(&row(&session, 3));
    let line = line!() + 1;
    let moved = order.apply(&row(&session, 2));
    told(session.open(&moved), line, "row of 2 secrets meets a row of 3");
}

#[test]
fn tables_that_are_compared_have_one_shape() {
    let one = session();
    let (three, four) = (row(&one, 3), row(&one, 4));
    let line = line!() + 1;
    let same = table::same_rows(&three, &four);
    told(one.open(&same), line, "row of 4 secrets meets a row of 3");
    let one = session();
    let columns = [3, 4].map(|width| one.public_bits(width, 1));
    let line = line!() + 1;
    let same = Bits::same_rows(&[&columns[0]], &[&columns[1]]);
    let opened = one.reveal_bits(&[same], Parties::all(1));
    told(
        opened,
        line,
        "columns of [3] bits are compared with columns of [4]",
    );
    let (one, other) = (session(), session());
    let line = line!() + 1;
    let same = table::same_rows(&row(&one, 3), &row(&other, 3));
    told(one.open(&same), line, "different sessions");
    told(other.open(&row(&other, 1)), line, "different sessions");
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

/// Words of the misuse that the next reveal tells after `what`.
fn refused(what: impl FnOnce(&Session), words: &str) {
    let session = session();
    what(&session);
    match session.open(&row(&session, 1)) {
        Err(Error::Misuse(misuse)) => assert!(misuse.what.contains(words), "{misuse}"),
        other => panic!("{words}: {other:?}"),
    }
}

#[test]
fn columns_of_a_table_have_one_length() {
    let words = "rows must be of one length";
    refused(
        |session| drop(table::sort_by(&row(session, 3), &row(session, 4))),
        words,
    );
    refused(
        |session| drop(table::group(&row(session, 2), &row(session, 4), |(x, y)| x + y)),
        words,
    );
    refused(
        |session| drop(table::compact(&row(session, 3).bit(0), &row(session, 5))),
        words,
    );
    refused(
        |session| drop(table::compact(&row(session, 8).bit(0), &row(session, 4))),
        words,
    );
    refused(
        |session| drop(table::join(&row(session, 3), &row(session, 2), &row(session, 2))),
        words,
    );
}

/// A single secret, or a public value, is in every record.
#[test]
fn single_columns_are_in_every_record() {
    let session = session();
    let key = session.input(ME, 4, Some(&[1u8, 1, 1, 2]));
    let (is_last, count) = table::group(&key, &session.public(1u32), |(x, y)| x + y).unwrap();
    assert_eq!(session.open(&is_last).unwrap(), [false, false, true, true]);
    assert_eq!(session.open(&count).unwrap(), [1, 2, 3, 1]);
    let ((kept, one), count) = table::compact(
        &key.equals(1),
        &(key.clone(), session.input(ME, 1, Some(&[9u16]))),
    );
    assert_eq!(session.open(&count).unwrap(), [3]);
    assert_eq!(session.open(&kept).unwrap()[..3], [1, 1, 1]);
    assert_eq!(session.open(&one).unwrap(), [9; 4]);
    let (all, count) = table::compact(&session.public(true), &key);
    assert_eq!(
        (session.open(&all).unwrap(), session.open(&count).unwrap()),
        (vec![1, 1, 1, 2], vec![4])
    );
}

#[test]
fn rows_have_secrets() {
    let words = "a row of no secrets";
    refused(|session| drop(session.input::<u8>(ME, 0, Some(&[]))), words);
    refused(|session| drop(session.public_row::<u8>(&[]).sort()), words);
    refused(|session| drop(session.public_row::<bool>(&[]).count()), words);
    refused(|session| drop(session.public_row::<u8>(&[]).is_sorted()), words);
    refused(
        |session| {
            let none = session.public_row::<u8>(&[]);
            drop(apps::edit_distance(&none, &none));
        },
        words,
    );
    refused(
        |session| {
            if let Ok(mut memory) = Memory::of_row(&session.public_row::<u8>(&[])) {
                drop(memory.read(&session.public(0u8).repeat(1)));
            }
        },
        words,
    );
    let error = apps::intersection(&session(), &[], 0).unwrap_err().to_string();
    assert!(error.contains("at least one"), "{error}");
    refused(
        |session| drop(row(session, 3).repeat(usize::MAX)),
        "fewer than 2^32",
    );
    refused(
        |session| drop(Memory::<u8>::new(session, (1 << 30) + 1)),
        "1 to 2^30 blocks",
    );
}

/// Smaller buckets have no bound, unless somebody says how large the stash is.
#[test]
fn memories_have_a_bound() {
    let settings = |stash| Settings {
        structure: Some(Structure::CIRCUIT_ORAM),
        bucket: 3,
        stash,
        ..Settings::default()
    };
    refused(
        |session| drop(Memory::<u8>::with(session, 500, &settings(None))),
        "no memory with these settings",
    );
    let session = session();
    drop(Memory::<u8>::with(&session, 500, &settings(Some(20))));
    assert_eq!(session.open(&row(&session, 1)).unwrap(), [7]);
}

#[test]
fn functions_give_what_they_are_given() {
    let session = session();
    let captured = row(&session, 1);
    let alone = Function::<Secret<u32>, Secret<u32>>::record(|_| captured.clone());
    let both = Function::<Secret<u32>, [Secret<u32>; 2]>::record(|x| [x, captured.clone()]);
    let nothing = Function::<[Secret<u32>; 0], Secret<u32>>::record(|_| captured.clone());
    for error in [alone.err(), both.err(), nothing.err()] {
        assert!(
            error
                .expect("it is refused")
                .to_string()
                .contains("a function has arguments")
        );
    }
}

/// Whatever is still held when a session ends, it says that it has ended.
#[test]
fn secrets_may_outlive_their_session() {
    let session = session();
    let (kept, dropped) = (row(&session, 3), row(&session, 2));
    session.open(&(&kept + 1)).unwrap();
    drop(dropped);
    session.finish().unwrap();
    drop(kept.clone());
    drop(kept);
    let after = session.open(&row(&session, 1));
    assert!(matches!(after, Err(Error::Failed(words)) if words.contains("finished")));
}
