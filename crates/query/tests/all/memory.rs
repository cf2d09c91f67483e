//! Bytes that a query takes at a party.

use cenote_net::PartyId;
use cenote_query::{Answer, Count, Declared, Query, Schema};
use cenote_session::Parties;
use cenote_tables::Field;

/// A row of a table takes 8 + 4 + 1 + 1 bytes, and 64 + 1 bits of it are given.
#[test]
fn rows_are_kept_in_the_bytes_that_they_need() {
    let field = |name: &str, kind: &str, nullable| Field {
        name: name.into(),
        kind: kind.parse().unwrap(),
        nullable,
    };
    let table = |name: &str, party| Declared {
        name: name.into(),
        party: PartyId(party),
        fields: vec![
            field("id", "u64", false),
            field("day", "date", false),
            field("few", "u8", true),
        ],
        max_rows: 10_000_000,
        unique: vec![vec!["id".into()]],
        at_most: [].into(),
        distinct: [].into(),
        below: [].into(),
        values: [].into(),
        same_rows_as: None,
    };
    let schema = Schema {
        parties: 3,
        tables: vec![table("a", 0), table("b", 1)],
        answer: Answer {
            to: Parties::all(3),
            count: Count::AtMost(1),
            min_group: 0,
        },
        max_join_rows: None,
        parameters: Vec::new(),
        secret_only: false,
    };
    let sql =
        "SELECT SUM(id) FROM (SELECT id FROM a WHERE few > 5 UNION ALL SELECT id FROM b) u WHERE id > 7";
    let query = Query::new(sql, schema).unwrap();
    let bytes = query.bytes(PartyId(0));
    assert!(bytes.given < 1 << 20, "it adds them up by itself: {bytes:?}");
    // Its ids in their order besides.
    assert!((220_000_000..225_000_000).contains(&bytes.before), "{bytes:?}");
    assert_eq!(query.least_bytes(), 0);
    let none = query.bytes(PartyId(2));
    assert_eq!((none.before, none.given), (0, 0));
}
