//! What becomes of a party that gives other groups than its rows make.

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::local::in_the_clear;
use cenote_query::{Answer, Count, Declared, Error, Query, Result, Schema};
use cenote_session::Parties;
use cenote_tables::{Column, Field, Table, Type, Values};

fn groups(name: &str, party: u8, nullable: bool) -> Declared {
    let kind = Type::Int {
        signed: false,
        bits: 8,
    };
    let field = |name: &str| Field {
        name: name.into(),
        kind,
        nullable: nullable && name == "x",
    };
    Declared {
        name: name.into(),
        party: PartyId(party),
        fields: vec![field("g"), field("x")],
        max_rows: 5,
        unique: Vec::new(),
        at_most: [].into(),
        distinct: [].into(),
        below: [].into(),
        values: [].into(),
        same_rows_as: None,
    }
}

/// What becomes of sums by group if party 1 changes what it gives: bit by bit, by row and column.
fn told(change: impl Fn(&mut BitMatrix) + Sync) -> Result<Vec<String>> {
    told_of("g, SUM(x), COUNT(*)", false, change)
}

/// The same of what is told of each group, where `x` may be null.
fn told_of(columns: &str, nullable: bool, change: impl Fn(&mut BitMatrix) + Sync) -> Result<Vec<String>> {
    let schema = Schema {
        parties: 2,
        tables: vec![groups("a", 0, nullable), groups("b", 1, nullable)],
        answer: Answer {
            to: Parties::all(2),
            count: Count::AtMost(10),
            min_group: 0,
        },
        max_join_rows: None,
        parameters: Vec::new(),
        secret_only: false,
    };
    let sql =
        format!("SELECT {columns} FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY g ORDER BY g");
    let query = Query::new(&sql, schema)?;
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
        .map(|row| {
            (0..table.fields.len())
                .map(|at| cell(row, at))
                .collect::<Vec<_>>()
                .join(" ")
        })
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

fn set(bits: &mut BitMatrix, lane: usize, from: usize, width: usize, value: usize) {
    (0..width).for_each(|at| bits.set(from + at, lane, value >> at & 1 == 1));
}

/// A row of party 1 is: whether it counts, eight bits of the group, three of the count, eleven of the sum, and nineteen of the sum of squares. The first group has 10
/// and 20.
#[test]
fn sums_of_squares_that_no_rows_give_are_no_answer() {
    let (count_at, sum_at, squares_at) = (9, 12, 23);
    let told =
        |change: &(dyn Fn(&mut BitMatrix) + Sync)| told_of("g, VAR_POP(x), STDDEV_POP(x)", false, change);
    assert_eq!(
        told(&|_| ()).unwrap(),
        ["1 25.000000 5.000000", "2 0.000000 0.000000"]
    );
    // Twice 15, though no other rows are as near.
    let other = told(&|bits| set(bits, 0, squares_at, 19, 450)).unwrap();
    assert_eq!(other[0], "1 12.500000 3.535534");
    type Lie<'a> = (&'a str, &'a (dyn Fn(&mut BitMatrix) + Sync));
    let lies: [Lie<'_>; 5] = [
        ("squares less than of equal numbers", &|bits| {
            set(bits, 0, squares_at, 19, 449)
        }),
        ("no squares", &|bits| set(bits, 0, squares_at, 19, 0)),
        ("squares larger than a row's can be", &|bits| {
            set(bits, 1, squares_at, 19, (1 << 16) + 1)
        }),
        ("a sum that is too large for the squares", &|bits| {
            set(bits, 0, sum_at, 11, 32)
        }),
        ("one row with the sum of two", &|bits| {
            set(bits, 0, count_at, 3, 1)
        }),
    ];
    for (lie, change) in lies {
        assert!(matches!(told(change), Err(Error::NoAnswer)), "{lie}");
    }
}

/// The same where values may be null: whether each sum is follows it.
#[test]
fn sums_that_are_null_are_null_together() {
    let (count_at, sum_null, squares_null) = (9, 23, 43);
    let told = |change: &(dyn Fn(&mut BitMatrix) + Sync)| told_of("g, VAR_SAMP(x)", true, change);
    assert_eq!(told(&|_| ()).unwrap(), ["1 33.333333", "2 0.000000"]);
    type Lie<'a> = (&'a str, &'a (dyn Fn(&mut BitMatrix) + Sync));
    let lies: [Lie<'_>; 4] = [
        ("no sum of some values", &|bits| set(bits, 0, sum_null, 1, 1)),
        ("no squares of some values", &|bits| {
            set(bits, 0, squares_null, 1, 1)
        }),
        ("neither of some values", &|bits| {
            set(bits, 0, sum_null, 1, 1);
            set(bits, 0, squares_null, 1, 1);
        }),
        ("sums of no values", &|bits| set(bits, 0, count_at, 3, 0)),
    ];
    for (lie, change) in lies {
        assert!(matches!(told(change), Err(Error::NoAnswer)), "{lie}");
    }
}

/// A row of party 1 is: whether it counts, eight bits of the group, three of the count, and the sums: of the numbers and their products with others, and of the squares.
#[test]
fn sums_of_products_that_no_rows_give_are_no_answer() {
    let products_at = 9 + 3 + 11 + 12;
    let told = |change: &(dyn Fn(&mut BitMatrix) + Sync)| {
        told_of("g, CORR(x, 30 - x), COVAR_POP(x, 30 - x)", false, change)
    };
    let honest = told(&|_| ()).unwrap();
    assert_eq!(honest, ["1 -1.000000 -25.000000", "2  0.000000"]);
    // 10 and 20 with 20 and 10: 400, and 500 at the most.
    for (products, possible) in [(399, false), (400, true), (450, true), (500, true), (501, false)] {
        let result = told(&|bits| set(bits, 0, products_at, 20, products));
        assert_eq!(result.is_ok(), possible, "{products}: {result:?}");
    }
}
