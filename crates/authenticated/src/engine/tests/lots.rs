//! Lots that grow where messages take long.

use super::*;

const LOTS: [u32; 2] = [192, 768];

type Told = Arc<Mutex<Vec<u32>>>;

/// What the garbler says of the sizes of lots, in turn.
fn listening(told: &Told) -> Adversary {
    let told = told.clone();
    changing(steps::LOT, move |_, body| {
        let size = u32::from_le_bytes((&body[..]).try_into().expect("four bytes"));
        told.lock().unwrap().push(size);
    })
}

/// Garbler and evaluator, whose shares of coins are so late.
fn session(late: Duration, told: &Told) -> Session {
    let slow = changing(steps::COIN, move |_, _| std::thread::sleep(late));
    let mut session = Session::with(5, [listening(told), slow]);
    session.lots = LOTS;
    session
}

#[test]
fn lots_double_up_to_the_largest() {
    for generator in [None, Some(GENERATOR)] {
        let told = Told::default();
        let mut session = session(Duration::from_millis(100), &told);
        session.generator = generator;
        let done = session.run(program(900));
        assert_eq!(done.map(Result::unwrap), [expected(900), expected(900)]);
        // A pool of 64, and 2,700 that are drawn.
        let told = told.lock().unwrap();
        assert_eq!(**told, [384, 768, 768, 768, 768], "{told:?}");
    }
}

#[test]
fn nothing_is_said_of_lots_of_one_size() {
    let told = Told::default();
    let mut session = session(Duration::ZERO, &told);
    session.lots = [192; 2];
    let done = session.run(program(100));
    assert_eq!(done.map(Result::unwrap), [expected(100), expected(100)]);
    assert!(told.lock().unwrap().is_empty());
}

#[test]
fn other_sizes_than_were_agreed_on_are_refused() {
    let [least, most] = LOTS;
    for size in [0, least - 1, most + 1, u32::MAX] {
        let adversary = changing(steps::LOT, move |_, body| {
            body.copy_from_slice(&size.to_le_bytes())
        });
        let mut session = Session::cheating(7, GARBLER, &adversary);
        session.lots = LOTS;
        let [_, evaluator] = session.run(program(100));
        assert_eq!(check(&evaluator), cenote_session::MESSAGE_FORM, "{size}");
    }
}

#[test]
fn parties_agree_on_the_largest_lot_first() {
    let config = |largest_lot| {
        let mut config = config(1);
        config.largest_lot = largest_lot;
        config
    };
    assert_ne!(config(None).terms(), config(Some(768)).terms());
    assert_eq!(config(None).terms(), config(Some(192)).terms());
    for wrong in [191, MAX_LOT + 1] {
        assert!(config(Some(wrong)).check().is_err(), "{wrong}");
    }
}
