//! ROLLUP, CUBE and GROUPING SETS beside the groupings that they stand for.

use crate::common::World;

fn world() -> World {
    let columns = "id u8 not null unique, a u8, b char(2), x i16";
    World::new(2)
        .table(
            0,
            "s",
            columns,
            "1 1 p 5 | 2 1 q -2 | 3 2 p 7 | 4 null q 1 | 5 2 null null",
        )
        .table(1, "t", columns, "6 1 p 4 | 7 3 r 9 | 8 2 p 7")
        .table(
            1,
            "k",
            "id u8 not null unique, h u8",
            "1 1 | 2 1 | 3 2 | 4 1 | 5 1",
        )
        .table(0, "none", columns, "")
}

/// Each query has the rows of the others, one after the other: of one party, of several, and of secret rows.
#[test]
fn groupings_are_those_that_they_stand_for() {
    let cases: [(&str, &[&str]); 6] = [
        (
            "select a, b, sum(x), count(*), min(x) from T group by rollup(a, b)",
            &[
                "select a, b, sum(x), count(*), min(x) from T group by a, b",
                "select a, null, sum(x), count(*), min(x) from T group by a",
                "select null, null, sum(x), count(*), min(x) from T",
            ],
        ),
        (
            "select b, a, avg(x), grouping(a), grouping(b), grouping(b, a) from T group by cube(a, b)",
            &[
                "select b, a, avg(x), 0, 0, 0 from T group by a, b",
                "select null, a, avg(x), 0, 1, 2 from T group by a",
                "select b, null, avg(x), 1, 0, 1 from T group by b",
                "select null, null, avg(x), 1, 1, 3 from T",
            ],
        ),
        (
            "select a, b, max(x) + count(*) from T group by grouping sets ((b), (a, b), (b))",
            &[
                "select null, b, max(x) + count(*) from T group by b",
                "select a, b, max(x) + count(*) from T group by a, b",
                "select null, b, max(x) + count(*) from T group by b",
            ],
        ),
        (
            "select a, b, count(distinct x), stddev_pop(x) from T group by a, rollup(b)",
            &[
                "select a, b, count(distinct x), stddev_pop(x) from T group by a, b",
                "select a, null, count(distinct x), stddev_pop(x) from T group by a",
            ],
        ),
        (
            "select a, b, id > 4, count(x) from T group by rollup((a, b), id > 4) having count(x) > 0",
            &[
                "select a, b, id > 4, count(x) from T group by a, b, id > 4 having count(x) > 0",
                "select a, b, null, count(x) from T group by a, b having count(x) > 0",
                "select null, null, null, count(x) from T having count(x) > 0",
            ],
        ),
        (
            "select coalesce(b, 'zz'), sum(x) from T where id < 8 group by grouping sets ((), b) having grouping(b) = 1 or b = 'p'",
            &[
                "select 'zz', sum(x) from T where id < 8",
                "select b, sum(x) from T where id < 8 group by b having b = 'p'",
            ],
        ),
    ];
    for from in [
        "s",
        "(select * from s union all select * from t)",
        "s join k using (id)",
    ] {
        for (sql, parts) in cases {
            let from = format!("from {from} u");
            let from = from.replace("s join k using (id) u", "s join k using (id)");
            let of = |sql: &str| sql.replace("from T", &from);
            let all: Vec<String> = parts.iter().map(|part| of(part)).collect();
            let sorted = |rows: String| {
                let mut rows: Vec<String> = rows.split(" | ").map(str::to_owned).collect();
                rows.sort();
                rows
            };
            let (one, other) = (world().ask(&of(sql)), world().ask(&all.join(" union all ")));
            assert_eq!(sorted(one), sorted(other), "{}", of(sql));
        }
    }
}

#[test]
fn totals_stand_where_groups_do() {
    world().answers(&[
        (
            "select a, sum(x) from s group by rollup(a) order by grouping(a), a nulls last limit 3",
            "1 3 | 2 7 | null 1",
        ),
        ("select a, b, count(*), sum(x) from none group by rollup(a, b)", "null null 0 null"),
        ("select a, count(*) from none group by grouping sets ((a))", ""),
        ("select count(*) from s group by ()", "5"),
        ("select a, grouping(a) from s where id = 1 group by a", "1 0"),
        (
            "select n, count(*) from (select a, b, count(*) as n from s group by cube(a, b)) c group by n order by n",
            "1 7 | 2 4 | 5 1",
        ),
        ("select a + 1, sum(x) from s where a = 1 group by rollup(1)", "null 3 | 2 3"),
    ]);
}

#[test]
fn groupings_that_are_too_many_or_no_groupings_are_refused() {
    let refused = |sql: &str, what: &str| {
        let told = world().ask(sql);
        assert!(told.contains(what), "{sql}: {told}");
    };
    refused(
        "select count(*) from s group by cube(a, b, x, id, a + 1, a + 2, a + 3)",
        "more than 64 groupings",
    );
    refused(
        "select count(*) from s group by cube(a, b, x, id), cube(a + 1, a + 2, a + 3)",
        "more than 64 groupings",
    );
    let many: Vec<String> = (0..70).map(|at| format!("a + {at}")).collect();
    refused(
        &format!("select count(*) from s group by cube({})", many.join(", ")),
        "more than 64 groupings",
    );
    refused(
        &format!("select count(*) from s group by rollup({})", many.join(", ")),
        "more than 64 groupings",
    );
    refused(
        &format!(
            "select count(*) from s group by rollup({})",
            vec!["1"; 30_000].join(",")
        ),
        "more than 64 groupings",
    );
    refused(
        "select x from s where x = (select max(x) from t group by grouping sets ((), ()))",
        "a subquery that stands for a value",
    );
    refused("select x from s group by rollup(a)", "not in GROUP BY");
    refused(
        "select grouping(x) from s group by rollup(a)",
        "GROUPING takes what is grouped by",
    );
    refused("select grouping(a) from s", "GROUPING takes what is grouped by");
    let mut small = world();
    small.schema.answer.min_group = 2;
    let told = small.ask("select a, sum(x) from s group by rollup(a)");
    assert!(told.contains("would tell of groups that are left out"), "{told}");
}
