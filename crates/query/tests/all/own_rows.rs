//! What owners calculate with their rows for a shard.

use cenote_net::PartyId;
use cenote_query::Placing;

use crate::shards::{sales, shards};

/// Only then are they gone through before there is a shard, so that nobody learns in which one a row is that its owner cannot calculate with.
#[test]
fn calculations_that_may_fail_are_known() {
    let world = sales();
    for (sql, may) in [
        (
            "SELECT SUM(price * count) FROM orders JOIN items ON id = of WHERE count > 1 OR price < 5",
            false,
        ),
        ("SELECT day, price FROM orders JOIN items ON id = of", false),
        // What a shard computes secretly fails in all of them alike.
        (
            "SELECT SUM(price / count) FROM orders JOIN items ON id = of",
            false,
        ),
        (
            "SELECT COUNT(*) FROM orders JOIN items ON id = of WHERE price / count > 3",
            true,
        ),
        // Its owner adds up.
        ("SELECT SUM(price) FROM items", true),
    ] {
        let ways = world.plan(sql).unwrap().ways_to_cut(shards(2), 40).unwrap();
        let cut = ways.iter().find(|cut| cut.tables()[2].placing != Placing::Whole);
        let shard = cut.expect("items are cut").shard();
        let own = world.own(PartyId(2));
        assert_eq!(shard.may_fail(PartyId(2)), may, "{sql}");
        assert!(!shard.may_fail(PartyId(0)), "{sql}");
        // What is said to go well does.
        assert!(may || shard.prepare_unchecked(PartyId(2), &own).is_ok());
    }
}
