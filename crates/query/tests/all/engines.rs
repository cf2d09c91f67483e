//! Random queries on the real protocols: the answers are those of SQLite.
//!
//! `CENOTE_ENGINES=200` runs so many on each protocol instead of a few small ones.

use cenote_authenticated::Authenticated;
use cenote_jimu::Jimu;
use cenote_lego::Lego;
use cenote_program::Abilities;
use cenote_program::local::in_memory;
use cenote_protocol::Protocol;
use cenote_query::Query;
use cenote_session::Demand;
use cenote_three::Three;

use crate::common::{outcome, party};
use crate::differential::{Case, number, small_windows};

/// Queries on each protocol in a run that is not told how many.
const FEW: usize = 12;
/// AND gates that each of them has at most.
const SMALL: u64 = 12_000;
/// Queries in each session, so that not all of them wait for what a session begins with.
const TOGETHER: usize = 4;

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
    let (count, most) = match number("CENOTE_ENGINES") {
        Some(count) => (count as usize, u64::MAX),
        None => (FEW, SMALL),
    };
    let is_small = |query: &Query| query.tally(Abilities::default()).unwrap().and_gates <= most;
    let cases = cases(parties).filter(|(_, _, query)| is_small(query));
    let windows = small_windows(parties).into_iter().map(|case| {
        let query = case.world.plan(&case.asked.ours).expect("it is planned");
        (0, case, query)
    });
    let cases: Vec<_> = cases.take(count).chain(windows).collect();
    for cases in cases.chunks(TOGETHER) {
        let demand = cases.iter().fold(Demand::new(), |demand, (_, _, query)| {
            let one = query.tally(Abilities::default()).unwrap().demand();
            let demand = demand
                .and_gates(one.unknown_ands())
                .and_wires(one.unknown_wires());
            let demand = one
                .inputs()
                .iter()
                .fold(demand, |demand, &(owner, bits)| demand.and_input(owner, bits));
            one.outputs()
                .iter()
                .fold(demand, |demand, &(to, bits)| demand.and_output(to, bits))
        });
        let told = in_memory(protocol, &demand, |session| {
            let one = |(_, case, query): &(u64, Case, Query)| {
                party(query, session, &|query, me| {
                    query.prepare(me, &case.world.own(me))
                })
            };
            cases.iter().map(one).collect::<Result<Vec<_>, _>>()
        });
        let mut told: Vec<_> = told.unwrap().into_iter().map(Vec::into_iter).collect();
        for (seed, case, query) in cases {
            let results = told.iter_mut().map(|party| party.next().expect("all took part"));
            let outcome = outcome(query, results.collect());
            if let Some(wrong) = case.wrong(&outcome) {
                panic!("seed {seed}\n{}\n{wrong}", case.told());
            }
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
