//! Random queries on the real protocols: the answers are those of SQLite.
//!
//! `CENOTE_ENGINES=200` runs so many on each protocol instead of a few.

use cenote_authenticated::Authenticated;
use cenote_jimu::Jimu;
use cenote_lego::Lego;
use cenote_program::local::in_memory;
use cenote_protocol::Protocol;
use cenote_query::Query;
use cenote_three::Three;

use crate::common::{Outcome, outcome, party};
use crate::differential::{Case, number};

/// Queries on each protocol in a run that is not told how many.
const FEW: u64 = 12;

/// Queries that are not refused, of as many parties as the protocol has.
fn cases(parties: u8) -> impl Iterator<Item = (u64, Case, Query)> {
    (0..).filter_map(move |seed| {
        let case = Case::new(seed);
        let query = case.world.plan(&case.asked.ours).ok()?;
        (case.world.schema.parties == parties).then_some((seed, case, query))
    })
}

fn run<P: Protocol>(protocol: &P) {
    let parties = protocol.topology().parties;
    let count = number("CENOTE_ENGINES").unwrap_or(FEW);
    for (seed, case, query) in cases(parties).take(count as usize) {
        let tally = query.tally(false).unwrap();
        let results = in_memory(protocol, &tally.demand(), |session| {
            party(&query, session, &|query, me| {
                query.prepare(me, &case.world.own(me))
            })
        });
        let outcome: Outcome = outcome(&query, results.unwrap());
        if let Some(wrong) = case.wrong(&outcome) {
            panic!("seed {seed}\n{}\n{wrong}", case.told());
        }
    }
}

#[test]
fn three() {
    run(&Three::default());
}

#[test]
fn lego() {
    run(&Lego::default());
}

#[test]
fn jimu() {
    run(&Jimu::default());
}

#[test]
fn authenticated() {
    run(&Authenticated::default());
}
