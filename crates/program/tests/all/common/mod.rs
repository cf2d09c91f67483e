//! One program over every engine.
#![allow(dead_code, reason = "each test file uses a part of this")]

use std::fmt::Debug;

use cenote_authenticated::Authenticated;
use cenote_jimu::Jimu;
use cenote_lego::Lego;
use cenote_program::{Result, Session, local};
use cenote_session::Demand;
use cenote_three::Three;

/// Runs `program` in the clear, with three parties and with two: all must come to the same, which is returned.
pub(crate) fn everywhere<T: Send + PartialEq + Debug>(program: impl Fn(&Session) -> Result<T> + Sync) -> T {
    let clear = local::in_the_clear(2, &program).unwrap();
    let demand = Demand::new();
    let others = [
        ("in the clear", local::in_the_clear(3, &program)),
        ("three", local::in_memory(&Three::default(), &demand, &program)),
        ("lego", local::in_memory(&Lego::default(), &demand, &program)),
        ("jimu", local::in_memory(&Jimu::default(), &demand, &program)),
        (
            "authenticated",
            local::in_memory(&Authenticated::default(), &demand, &program),
        ),
    ];
    for (name, results) in others {
        for (party, result) in results.unwrap().iter().enumerate() {
            assert_eq!(result, &clear[0], "{name}, party {party}");
        }
    }
    clear.into_iter().next().unwrap()
}

/// Runs `program` in the clear by a single party.
pub(crate) fn alone<T: Send>(program: impl Fn(&Session) -> Result<T> + Sync) -> T {
    local::in_the_clear(1, program).unwrap().remove(0)
}

/// Runs `program` in the clear by a single party, whose engine moves lanes in secret orders or not.
pub(crate) fn alone_with<T: Send>(shuffles: bool, program: impl Fn(&Session) -> Result<T> + Sync) -> T {
    match shuffles {
        true => local::in_the_clear_shuffling(1, program).unwrap().remove(0),
        false => alone(program),
    }
}
