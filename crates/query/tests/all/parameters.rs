//! Parameters: a value stands in the query as if it were written there, and as nothing else.

use cenote_query::{Parameter, Query};
use cenote_tables::Type;

use crate::common::{Outcome, World};

/// The world, with these parameters and values.
fn world(parameters: &[(&str, &str, &str)]) -> World {
    let mut world = World::new(3)
        .table(
            0,
            "a",
            "id u8 not null unique, x i32 not null, s char(6), day date",
            "1 10 a'b 2024-01-31 | 2 -20 b 2024-02-29 | 3 30 a'b 2024-03-01",
        )
        .table(
            1,
            "b",
            "id u8 not null unique, owed decimal(6,2) not null, at timestamp, is bool",
            "1 1.50 2024-01-01T00:00:00 true | 2 2.50 2024-01-02T12:00:00 false | 4 8.00 null null",
        );
    world.schema.parameters = parameters
        .iter()
        .map(|given| parameter(*given).unwrap())
        .collect();
    world
}

fn parameter((name, kind, value): (&str, &str, &str)) -> Result<Parameter, String> {
    Parameter::new(name, kind.parse().unwrap(), value)
}

#[test]
fn a_value_stands_for_the_constant_that_it_is() {
    for (kind, value, sql, constant) in [
        ("i32", "10", "select id from a where x >= :p order by id", "10"),
        (
            "i32",
            "-20",
            "select id, x - :p as y from a where x >= :p order by id",
            "-20",
        ),
        ("i32", "-20", "select id, x*:p as y from a order by id", "(-20)"),
        (
            "char(6)",
            "a'b",
            "select count(*) as n from a where s = :p",
            "'a''b'",
        ),
        (
            "char(6)",
            "a%",
            "select count(*) as n from a where s like :p",
            "'a%'",
        ),
        (
            "date",
            "2024-02-29",
            "select id from a where day <= :p order by id",
            "date '2024-02-29'",
        ),
        (
            "decimal(6,2)",
            "2.5",
            "select id from b where owed >= :p order by id",
            "2.50",
        ),
        (
            "timestamp",
            "2024-01-02T12:00:00",
            "select id from b where at >= :p order by id",
            "timestamp '2024-01-02 12:00:00'",
        ),
        (
            "bool",
            "false",
            "select id from b where \"is\" = :p order by id",
            "false",
        ),
        (
            "u8",
            "2",
            "select a.id, owed * :p as o from a join b using (id) where a.id in (1, :p) order by 1",
            "2",
        ),
        ("u8", "2", "select id from a order by id limit :p", "2"),
    ] {
        let given = world(&[("p", kind, value)]).run(sql);
        let written = world(&[]).run(&sql.replace(":p", constant));
        assert!(matches!(given, Outcome::Answer(_)), "{sql}: {given:?}");
        assert_eq!(given, written, "{sql}");
    }
}

#[test]
fn a_value_is_no_text_that_is_read_again() {
    for value in [
        "' or true --",
        "a' or '1'='1",
        "\\' or true --",
        "a\n:q",
        "<b>:p</b>",
        "",
    ] {
        let outcome = world(&[("p", "char(40)", value)]).run("select count(*) as n from a where s = :p");
        let Outcome::Answer(answer) = outcome else {
            panic!("{value:?}: {outcome:?}");
        };
        assert_eq!(
            cenote_tables::cell(&answer.columns[0], &answer.fields[0], 0),
            "0",
            "{value:?}"
        );
    }
    // Nor is what only looks like a parameter.
    let outcome = world(&[("p", "u8", "1")]).run("select count(*) as n from a where id = :p and s <> ':p'");
    assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
}

#[test]
fn values_that_are_not_of_their_types_are_refused() {
    for (kind, value) in [
        ("u8", "256"),
        ("u8", "-1"),
        ("u8", ""),
        ("u8", "1; drop"),
        ("i32", "2147483648"),
        ("decimal(6,2)", "1.234"),
        ("decimal(6,2)", "10000"),
        ("date", "2023-02-29"),
        ("timestamp", "yesterday"),
        ("bool", "maybe"),
        ("char(3)", "four"),
        ("char(3)", "a\0b"),
    ] {
        let refused = parameter(("p", kind, value));
        let what = refused.expect_err(value);
        assert!(
            what.contains("parameter p") && (value.len() < 4 || !what.contains(value)),
            "{what}"
        );
    }
    for name in ["", "1st", "a b", "a:b", "é", &"n".repeat(129)] {
        assert!(parameter((name, "u8", "1")).is_err(), "{name}");
    }
}

#[test]
fn parameters_that_do_not_fit_the_query_are_told_of() {
    let plan = |parameters: &[(&str, &str, &str)], sql: &str| {
        let refused = Query::new(sql, world(parameters).schema).map(drop);
        refused.expect_err(sql).to_string()
    };
    let what = plan(&[], "select id from a where x > :limit");
    assert!(what.contains("line 1") && what.contains("[parameters]"), "{what}");
    let what = plan(&[("limit", "i32", "1")], "select id from a");
    assert!(what.contains("no parameter :limit"), "{what}");
    let what = plan(
        &[("limit", "date", "2024-01-01")],
        "select id from a where x > :limit",
    );
    assert!(what.contains("date"), "{what}");
    let many: Vec<String> = (0..65).map(|number| format!("p{number}")).collect();
    let many: Vec<(&str, &str, &str)> = many.iter().map(|name| (name.as_str(), "u8", "1")).collect();
    let what = plan(&many, &format!("select id from a where x > {}", ":p0"));
    assert!(what.contains("at most 64 parameters"), "{what}");
}

#[test]
fn samples_are_values_of_their_types() {
    for kind in [
        "bool",
        "u8",
        "i8",
        "u64",
        "i64",
        "decimal(38,2)",
        "decimal(6,0)",
        "date",
        "timestamp",
        "char(1)",
        "char(255)",
    ] {
        let kind: Type = kind.parse().unwrap();
        let samples = Parameter::samples("p", kind).unwrap_or_else(|what| panic!("{kind}: {what}"));
        for sample in samples {
            assert_eq!(
                Parameter::new("p", kind, sample.value()),
                Ok(sample.clone()),
                "{kind}"
            );
        }
    }
}
