//! What becomes of a party that gives other groups than its rows make.

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::local::in_the_clear;
use cenote_query::{Answer, Count, Declared, Error, Query, Result, Schema};
use cenote_session::Parties;
use cenote_tables::{Column, Field, Table, Type, Values};

fn groups(name: &str, party: u8) -> Declared {
    let kind = Type::Int {
        signed: false,
        bits: 8,
    };
    let field = |name: &str| Field {
        name: name.into(),
        kind,
        nullable: false,
    };
    Declared {
        name: name.into(),
        party: PartyId(party),
        fields: vec![field("g"), field("x")],
        max_rows: 5,
        unique: Vec::new(),
        at_most: [].into(),
        distinct: [].into(),
        same_rows_as: None,
    }
}

/// What becomes of sums by group if party 1 changes what it gives: bit by bit, by row and column.
fn told(change: impl Fn(&mut BitMatrix) + Sync) -> Result<Vec<String>> {
    let schema = Schema {
        parties: 2,
        tables: vec![groups("a", 0), groups("b", 1)],
        answer: Answer {
            to: Parties::all(2),
            count: Count::AtMost(10),
            min_group: 0,
        },
        secret_only: false,
    };
    let sql =
        "SELECT g, SUM(x), COUNT(*) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY g ORDER BY g";
    let query = Query::new(sql, schema)?;
    let column = |numbers: &[i128]| Column {
        values: Values::Numbers(numbers.to_vec().into()),
        nulls: None,
    };
    let table = Table {
        fields: query.schema().tables[0].fields.clone(),
        columns: vec![column(&[1, 1, 2]), column(&[10, 20, 30])],
        rows: 3,
    };
    let answers = in_the_clear(2, |session| {
        let me = session.me();
        let own = [0, 1].map(|party| (me == PartyId(party)).then(|| table.clone()));
        let mut given = query.prepare(me, &own).expect("the tables are fine");
        if me == PartyId(1) {
            given.bits().for_each(&change);
        }
        match query.run(session, given) {
            Err(Error::Session(error)) => Err(error),
            other => Ok(other),
        }
    })?;
    let table = answers
        .into_iter()
        .next()
        .expect("there are parties")?
        .expect("all learn it");
    let cell = |row: usize, at: usize| cenote_tables::cell(&table.columns[at], &table.fields[at], row);
    Ok((0..table.rows)
        .map(|row| [0, 1, 2].map(|at| cell(row, at)).join(" "))
        .collect())
}

/// A row of party 1 is: whether it counts, eight bits of the group, eleven of the sum, and three of the count.
#[test]
fn groups_that_no_rows_give_are_no_answer() {
    assert_eq!(told(|_| ()).unwrap(), ["1 60 4", "2 60 2"]);
    let set = |bits: &mut BitMatrix, lane: usize, from: usize, width: usize, value: usize| {
        (0..width).for_each(|at| bits.set(from + at, lane, value >> at & 1 == 1));
    };
    let sum_at = 9;
    let width = told_width();
    let count_at = width - 3;
    // Other rows are what they could have been.
    assert_eq!(told(|bits| set(bits, 0, sum_at, 8, 31)).unwrap()[0], "1 61 4");
    assert_eq!(told(|bits| set(bits, 0, count_at, 3, 3)).unwrap()[0], "1 60 5");
    type Lie<'a> = (&'a str, &'a (dyn Fn(&mut BitMatrix) + Sync));
    let lies: [Lie<'_>; 4] = [
        ("more rows than there may be", &|bits| {
            set(bits, 0, count_at, 3, 5);
            set(bits, 1, count_at, 3, 5);
        }),
        ("a group of no rows", &|bits| set(bits, 0, count_at, 3, 0)),
        ("a sum that one row cannot have", &|bits| {
            set(bits, 1, sum_at, 9, 256)
        }),
        ("rows that do not fit the bits", &|bits| {
            set(bits, 0, count_at, 3, 7)
        }),
    ];
    for (lie, change) in lies {
        assert!(matches!(told(change), Err(Error::NoAnswer)), "{lie}");
    }
}

fn told_width() -> usize {
    let width = std::sync::Mutex::new(0);
    told(|bits| *width.lock().unwrap() = bits.rows()).unwrap();
    width.into_inner().unwrap()
}
