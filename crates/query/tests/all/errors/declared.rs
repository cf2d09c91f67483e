//! Tables that are declared wrongly, and rows that are not those that are declared.

use cenote_net::PartyId;
use cenote_query::{Count, Declared, Error, Query};
use cenote_session::Parties;
use cenote_tables::{Field, Type, Values};

use super::world;
use crate::common::World;

type Change = fn(&mut Declared);

#[test]
fn declarations_that_are_refused() {
    let wrong: [(Change, &str); 16] = [
        (
            |b| b.party = PartyId(2),
            "table b: it belongs to party 2, but there are only 2 parties",
        ),
        (
            |b| b.fields.clear(),
            "table b: it has no columns; declare at least one",
        ),
        (
            |b| b.max_rows = 0,
            "table b: `max_rows` is 0; it must be 1 to 268435456",
        ),
        (
            |b| b.max_rows = 1 << 29,
            "table b: `max_rows` is 536870912; it must be 1 to 268435456",
        ),
        (
            |b| b.fields[1].name = "ID".into(),
            "table b: two columns are called ID; names must differ in more than capitals",
        ),
        (
            |b| b.unique.push(vec!["z".into()]),
            "table b: `unique` names z, but the table has no such column",
        ),
        (
            |b| _ = b.at_most.insert("z".into(), 1),
            "table b: `at_most` names z, but the table has no such column",
        ),
        (
            |b| _ = b.distinct.insert("z".into(), 1),
            "table b: `distinct` names z, but the table has no such column",
        ),
        (
            |b| _ = b.at_most.insert("y".into(), 0),
            "table b: `at_most` and `distinct` must be 1 or more",
        ),
        (
            |b| b.same_rows_as = Some("b".into()),
            "table b: `same_rows_as` names the table itself",
        ),
        (
            |b| b.same_rows_as = Some("c".into()),
            "table b: `same_rows_as` names c, but there is no such table",
        ),
        (
            |b| (b.same_rows_as, b.max_rows) = (Some("a".into()), 9),
            "table b: `same_rows_as` names a, so both must have the same `max_rows`",
        ),
        (|b| b.name = "A".into(), "two tables are called A"),
        (
            |b| b.name = "b".repeat(129),
            "the name of a table may be at most 128 bytes long",
        ),
        (
            |b| b.fields[0].name = "b".repeat(129),
            "table b: the name of a column may be at most 128 bytes long",
        ),
        (
            |b| b.fields = vec![b.fields[0].clone(); 1001],
            "table b: it has 1001 columns, more than the limit of 1000",
        ),
    ];
    for (change, what) in wrong {
        let world = world().with(change);
        let found = world.ask("select x from a");
        assert!(found.starts_with(what), "{what}: {found}");
    }
    let mut world = world();
    world.schema.answer.count = Count::AtMost(0);
    assert_eq!(
        world.ask("select x from a"),
        "`max_rows` of the answer must be 1 or more"
    );
}

/// Those to whom an answer goes are parties, and there is one.
#[test]
fn answers_for_nobody() {
    let mut world = world();
    for to in [Parties::NONE, Parties::one(PartyId(2))] {
        world.schema.answer.to = to;
        let found = world.ask("select x from a");
        assert!(found.starts_with("the answer goes to"), "{found}");
    }
}

/// A column of text that has these values.
fn text(table: &mut Declared, values: &[&str]) {
    table.fields[1].kind = Type::Char(2);
    let values = values.iter().map(|&value| value.to_owned()).collect();
    table.values.insert("y".into(), values);
}

#[test]
fn promises_that_are_refused() {
    let wrong: [(Change, &str); 13] = [
        (
            |b| b.unique = vec![vec!["y".into()]; 5],
            "table b: `unique` names more columns than the table has",
        ),
        (
            |b| b.unique = vec![vec!["y".into(), "y".into()]],
            "table b: `unique` names columns that are unique together each once",
        ),
        (
            |b| b.unique = vec![Vec::new()],
            "table b: `unique` names columns that are unique together each once",
        ),
        (
            |b| b.unique = vec![vec!["y".into(), "z".into()]],
            "table b: `unique` names z, but the table has no such column",
        ),
        (
            |b| _ = b.below.insert("z".into(), 5),
            "table b: `below` names z, but the table has no such column",
        ),
        (
            |b| _ = b.below.insert("y".into(), 0),
            "table b: `below` of y must be 1 or more, and no more than",
        ),
        (
            |b| _ = b.below.insert("y".into(), u64::MAX),
            "table b: `below` of y must be 1 or more, and no more than",
        ),
        (
            |b| {
                b.fields[1].kind = Type::Bool;
                b.below.insert("y".into(), 1);
            },
            "table b: `below` names y, which is a truth value, not a number",
        ),
        (
            |b| _ = b.values.insert("z".into(), vec!["a".into()]),
            "table b: `values` names z, but the table has no such column",
        ),
        (
            |b| _ = b.values.insert("y".into(), vec!["a".into()]),
            "table b: `values` names y, which is",
        ),
        (
            |b| text(b, &[]),
            "table b: `values` of y must list 1 to 1000 values",
        ),
        (
            |b| text(b, &["ab", "abc", "d"]),
            "table b: `values` of y lists \"abc\", which char(2) does not hold",
        ),
        (
            |b| text(b, &["b", "a", "b"]),
            "table b: `values` of y lists \"b\" twice",
        ),
    ];
    for (change, what) in wrong {
        let found = world().with(change).ask("select x from a");
        assert!(found.starts_with(what), "{what}: {found}");
    }
}

/// What is promised of several columns together, and of numbers.
#[test]
fn rows_that_break_promises_of_columns() {
    let told = |rows: &str| {
        World::new(2)
            .table(
                0,
                "a",
                "x u8 unique_with y, y char(2), z decimal(4,1) below 10",
                rows,
            )
            .table(1, "b", "x u8 unique", "1")
            .ask("select count(*) from a join b using (x)")
    };
    assert_eq!(
        told("1 a 0 | 1 b 9.9 | 2 a null | 1 null 1 | 1 null 1 | null a 1 | null a 2"),
        "4"
    );
    assert_eq!(
        told("1 a 0 | 2 a 0 | 1 b 0 | 2 a 1"),
        "table a: two rows have the same values in the columns x, y, which are declared `unique` together"
    );
    for number in ["10", "-0.1"] {
        assert_eq!(
            told(&format!("1 a 0 | 1 b {number}")),
            "table a: column z has a value that is not 0 or more and less than 10, as `below` promises"
        );
    }
}

/// An owner is told what is wrong with its rows before it meets anybody.
#[test]
fn rows_that_are_not_as_declared() {
    let world = World::new(2)
        .table(
            0,
            "a",
            "id u8 unique, k char(2) at_most 2, v i8 distinct 2, w i8 not null",
            "1 a 1 1 | 2 a 2 1 | null b null 1 | null b 2 1 | 3 null 1 1",
        )
        .table(1, "b", "id u8 unique", "1");
    let sql = "select * from a left join b on a.id = b.id";
    let told = |world: &World| world.ask(sql);
    assert!(!told(&world).contains("table"));
    let with = |row: usize, column: usize, cell: Option<i128>| {
        let mut world = world.clone();
        let column = &mut world.tables[0].columns[column];
        let nulls = column.nulls.get_or_insert_with(|| vec![false; 5]);
        nulls[row] = cell.is_none();
        if let (Values::Numbers(numbers), Some(cell)) = (&mut column.values, cell) {
            numbers.set(row, cell);
        }
        told(&world)
    };
    assert_eq!(
        with(4, 0, Some(1)),
        "table a: a value occurs 2 times in column id, which is declared `unique`"
    );
    assert_eq!(
        with(3, 2, Some(7)),
        "table a: column v has 3 different values, but `distinct` allows 2"
    );
    assert_eq!(
        with(3, 2, Some(200)),
        "table a: column v has values that do not fit its type"
    );
    assert_eq!(
        with(1, 3, None),
        "table a: column w has values that do not fit its type"
    );
    let mut more = world.clone();
    if let Values::Text(_, text) = &mut more.tables[0].columns[1].values {
        text[4..6].copy_from_slice(b"a\0");
    }
    assert_eq!(
        told(&more),
        "table a: a value occurs 3 times in column k, but `at_most` allows 2"
    );
    more.schema.tables[0].max_rows = 4;
    assert_eq!(
        told(&more),
        "table a: it has 5 rows, more than its `max_rows` of 4"
    );
    let mut short = world.clone();
    short.tables[0].columns[2].values = Values::Numbers(vec![1; 4].into());
    assert_eq!(
        told(&short),
        "table a: column v has values that do not fit its type"
    );
    short.tables[0].columns.pop();
    assert_eq!(told(&short), "table a: its columns are not the declared ones");
    let mut other = world.clone();
    other.tables[0].fields[0] = Field {
        name: "id".into(),
        kind: Type::Bool,
        nullable: true,
    };
    assert_eq!(told(&other), "table a: its columns are not the declared ones");
    let query = Query::new(sql, world.schema.clone()).unwrap();
    for none in [&[][..], &[None, None]] {
        let error = query.prepare(PartyId(0), none).map(|_| ()).unwrap_err();
        assert!(
            matches!(&error, Error::Rows { table, what } if table == "a" && what == "its rows are missing"),
            "{error}"
        );
    }
    // What another party has is nothing to this one.
    assert!(query.prepare(PartyId(1), &world.own(PartyId(1))).is_ok());
}
