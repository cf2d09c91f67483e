//! Shares that outlive their session: what a party kept is taken in a later one, and a party that changes its own is caught.

use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::PartyId;
use cenote_params::three::Variant;
use cenote_primitives::BitMatrix;
use cenote_session::conformance::Cluster;
use cenote_session::{Check, Engine, Error, Parties, Result, WireVector};
use cenote_three::{ThreeEngine, ViewCheck, checks};

use crate::common::session::random_bits;
use crate::common::{Three, proofs, tiny};

const WIRES: usize = 5;
const LANES: usize = 70;

/// Each bit AND the next one, beside them all.
fn plan() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", WIRES as u32, BitOrder::Lsb);
    let both: Vec<_> = x.windows(2).map(|pair| b.and(pair[0], pair[1])).collect();
    b.output("x", &x, BitOrder::Lsb);
    b.output("both", &both, BitOrder::Lsb);
    Plan::new(&b.finish())
}

/// Sessions that check products in either way.
fn clusters() -> [Three; 2] {
    [tiny(Variant::OnDemand).into(), proofs(40, 1 << 10).into()].map(|method| Three {
        method,
        view_check: ViewCheck::Mac,
    })
}

fn value() -> BitMatrix {
    random_bits(7, WIRES, LANES)
}

/// The shares of what the plan makes of the value, of each party.
fn kept(cluster: &Three) -> Vec<BitMatrix> {
    let value = value();
    let ended = cluster.run(|engine| {
        let own = (engine.me() == PartyId(1)).then_some(&value);
        let wires = engine.input(PartyId(1), WIRES, LANES, own)?;
        let wires = engine.run(&plan(), &wires)?;
        let share = engine.keep(&wires)?;
        engine.finish()?;
        Ok(share)
    });
    ended.into_iter().map(|share| share.unwrap()).collect()
}

/// What all learn of a session that goes on with these shares.
fn go_on(
    cluster: &Three,
    shares: &[BitMatrix],
    change: impl Fn(&mut ThreeEngine, <ThreeEngine as Engine>::Wires) -> Result<<ThreeEngine as Engine>::Wires>
    + Sync,
) -> Vec<Result<BitMatrix>> {
    cluster.run(|engine| {
        let share = &shares[usize::from(engine.me().0)];
        let wires = engine.take(share.rows() / 2, share)?;
        let wires = change(engine, wires)?;
        let both = engine.run(&plan(), &wires.select(0..WIRES))?;
        let all = WireVector::concat(&[&wires, &both]);
        let learnt = engine.reveal(&all, Parties::all(3))?;
        engine.finish()?;
        Ok(learnt.expect("all learn it"))
    })
}

fn expected() -> BitMatrix {
    let value = value();
    let both = |row: usize, lane: usize| value.get(row, lane) && value.get(row + 1, lane);
    let once = |row: usize, lane: usize| match row {
        row if row < WIRES => value.get(row, lane),
        row => both(row - WIRES, lane),
    };
    let each = 2 * WIRES - 1;
    BitMatrix::from_fn(2 * each, LANES, |row, lane| once(row % each, lane))
}

#[test]
fn shares_are_taken_in_a_later_session_again_and_again() {
    for (before, after) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        // Shares are the same, however the session checked them.
        let shares = kept(&clusters()[before]);
        assert!(shares.iter().all(|share| share.rows() == 2 * (2 * WIRES - 1)));
        for _ in 0..2 {
            for learnt in go_on(&clusters()[after], &shares, |_, wires| Ok(wires)) {
                assert_eq!(learnt.unwrap(), expected());
            }
        }
    }
}

#[test]
fn a_changed_share_is_seen_by_who_holds_the_same_component() {
    let wires = 2 * WIRES - 1;
    for (cluster, cheater) in clusters()
        .iter()
        .flat_map(|cluster| [0, 1, 2u8].map(|cheater| (cluster, cheater)))
    {
        let shares = kept(cluster);
        // The previous party holds the first component as well, the next one the second.
        for (row, holder) in [(2, (cheater + 2) % 3), (wires + 2, (cheater + 1) % 3)] {
            let mut shares = shares.clone();
            let share = &mut shares[usize::from(cheater)];
            let bit = share.get(row, LANES - 1);
            share.set(row, LANES - 1, !bit);
            let ended = go_on(cluster, &shares, |_, wires| Ok(wires));
            for (me, end) in (0..).zip(ended).filter(|(me, _)| *me != cheater) {
                let error = end.map(drop).unwrap_err();
                match error {
                    Error::Aborted { check, peer, .. } => {
                        assert_eq!((check, peer), (checks::KEPT_SHARE, Some(PartyId(cheater))));
                        assert_eq!(me, holder);
                    }
                    other => {
                        assert_ne!(me, holder, "{other}");
                        assert_eq!(other.check(), Some(checks::KEPT_SHARE), "{other}");
                    }
                }
            }
        }
    }
}

/// A party tells the right digests, and goes on with another component than it holds: one of its constants is another than the others'.
#[test]
fn who_goes_on_with_another_share_than_it_told_is_caught() {
    let known: [&[Check]; 2] = [
        &[
            checks::VIEW_COMPARISON,
            checks::PRODUCT_COMPARISON,
            checks::OUTPUT_OPENING,
        ],
        &[checks::PROOF_OPERANDS],
    ];
    for ((cluster, known), cheater) in clusters()
        .iter()
        .zip(known)
        .flat_map(|session| [0, 2u8].map(|cheater| (session, cheater)))
    {
        let ended = go_on(cluster, &kept(cluster), |engine, wires| {
            let mut b = Builder::new();
            let x = b.input("x", wires.wires() as u32, BitOrder::Lsb);
            let y = b.input("y", wires.wires() as u32, BitOrder::Lsb);
            let sum: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| b.xor(x, y)).collect();
            b.output("sum", &sum, BitOrder::Lsb);
            let add = Plan::new(&b.finish());
            let lies = engine.me() == PartyId(cheater);
            let bits = BitMatrix::from_fn(wires.wires(), LANES, |row, lane| lies && row == 1 && lane == 3);
            let change = engine.constant(&bits)?;
            engine.run(&add, &WireVector::concat(&[&wires, &change]))
        });
        for (me, end) in (0..).zip(ended).filter(|(me, _)| *me != cheater) {
            let error = end.map(drop).unwrap_err();
            let check = error.check().unwrap_or_else(|| panic!("party {me}: {error}"));
            assert!(known.contains(&check), "party {me}: {error}");
        }
    }
}

#[test]
fn a_share_of_another_shape_is_refused() {
    let [cluster, _] = clusters();
    let shares = kept(&cluster);
    let ended = cluster.run(|engine| {
        let share = &shares[usize::from(engine.me().0)];
        let refused = engine.take(WIRES, share).map(drop);
        engine.finish()?;
        Ok(refused)
    });
    for refused in ended {
        let error = refused.unwrap().unwrap_err();
        assert!(matches!(error, Error::BadInput(_)), "{error}");
    }
}
