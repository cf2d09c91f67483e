//! Windows: what is made of the rows around each row, at one owner and secretly.

use cenote_program::Abilities;
use cenote_query::FlowKind;

use crate::common::World;

const ROWS: [&str; 2] = [
    "1 1 5 | 2 1 7 | 3 2 null | 4 2 4 | 5 1 5 | 6 null 9",
    "11 2 8 | 12 1 7 | 13 null 9",
];

/// The same rows as one party's table, and as two parties' tables.
fn world() -> World {
    let columns = "id u32 not null unique, g u8, x i16";
    World::new(2)
        .table(0, "one", columns, &ROWS.join(" | "))
        .table(0, "a", columns, ROWS[0])
        .table(1, "b", columns, ROWS[1])
        .table(1, "none", columns, "")
}

const SOURCES: [&str; 2] = ["one", "(select * from a union all select * from b) u"];

/// Each query, of rows of one party and of several, has this answer.
fn answers(world: &World, cases: &[(&str, &str)]) {
    for (sql, answer) in cases {
        for source in SOURCES {
            let sql = sql.replace("FROM", &format!("from {source}"));
            assert_eq!(world.ask(&sql), *answer, "{sql}");
        }
    }
}

#[test]
fn ranks() {
    answers(
        &world(),
        &[
            (
                "select id, row_number() over (partition by g order by x, id), rank() over (partition by g order by x), \
                 dense_rank() over (partition by g order by x) FROM",
                "1 1 1 1 | 2 3 3 2 | 3 3 3 3 | 4 1 1 1 | 5 2 1 1 | 6 1 1 1 | 11 2 2 2 | 12 4 3 2 | 13 2 1 1",
            ),
            // Rows that are equal in order are told apart by the other columns.
            (
                "select id, row_number() over (order by g) FROM",
                "1 1 | 2 2 | 3 5 | 4 6 | 5 3 | 6 8 | 11 7 | 12 4 | 13 9",
            ),
            (
                "select id, rank() over (), row_number() over (order by g desc nulls first, x desc, id desc) n FROM where id > 4 order by n",
                "13 1 1 | 6 1 2 | 11 1 3 | 12 1 4 | 5 1 5",
            ),
            (
                "select rank() over (order by x) r, count(*) over () c FROM where id in (3, 1, 5)",
                "1 3 | 1 3 | 3 3",
            ),
        ],
    );
}

/// Nulls may come several times in a column that is unique.
#[test]
fn unique_columns_have_nulls() {
    World::new(2)
        .table(0, "n", "id u8 unique, x u8", "null 3 | 1 9 | null 2 | null 4")
        .table(1, "m", "x u8 not null unique", "2 | 3 | 4 | 9")
        .answers(&[
            (
                "select x, row_number() over (order by id) from n",
                "2 2 | 3 3 | 4 4 | 9 1",
            ),
            (
                "select x, row_number() over (order by id) from n join m using (x)",
                "2 2 | 3 3 | 4 4 | 9 1",
            ),
        ]);
}

#[test]
fn sums_in_frames() {
    answers(
        &world(),
        &[
            (
                "select id, sum(x) over (partition by g order by x) s, \
                 sum(x) over (partition by g order by x, id rows unbounded preceding) r, \
                 count(*) over (partition by g) n, avg(x) over (partition by g) FROM",
                "1 10 5 4 6.000000 | 2 24 17 4 6.000000 | 3 12 12 3 6.000000 | 4 4 4 3 6.000000 | 5 10 10 4 6.000000 | \
                 6 18 9 2 9.000000 | 11 12 12 3 6.000000 | 12 24 24 4 6.000000 | 13 18 18 2 9.000000",
            ),
            (
                "select id, sum(x) over (), max(x) over (), count(x) over () FROM where id < 4",
                "1 12 7 2 | 2 12 7 2 | 3 12 7 2",
            ),
            (
                "select id, min(x) over (order by id range between unbounded preceding and current row) m, \
                 max(x) over (order by id rows between unbounded preceding and unbounded following) FROM where id > 2",
                "3 null 9 | 4 4 9 | 5 4 9 | 6 4 9 | 11 4 9 | 12 4 9 | 13 4 9",
            ),
            (
                "select id, count(*) filter (where x > 5) over (partition by g) c FROM where g < 3",
                "1 2 | 2 2 | 3 1 | 4 1 | 5 2 | 11 1 | 12 2",
            ),
            (
                "select sum(x) over (), row_number() over (order by id) FROM where id > 99",
                "",
            ),
        ],
    );
}

#[test]
fn rows_around() {
    answers(
        &world(),
        &[
            (
                "select id, lag(x) over w, lead(x, 2, -1) over w, lag(x, 1, 0) over w, first_value(id) over w, last_value(id) over w FROM \
                 window w as (partition by g order by x, id)",
                "1 null 7 0 1 1 | 2 5 -1 5 1 2 | 3 8 -1 8 4 3 | 4 null null 0 4 4 | 5 5 7 5 1 5 | 6 null -1 0 6 6 | 11 4 -1 4 4 11 | \
                 12 7 -1 7 1 12 | 13 9 -1 9 6 13",
            ),
            (
                "select id, lag(id, 3) over (order by id), lead(id, 5) over (order by id), lag(id, 100) over (order by id), lag(id, 0) over (order by id), \
                 lag(id, -1) over (order by id) FROM where id < 7",
                "1 null 6 null 1 2 | 2 null null null 2 3 | 3 null null null 3 4 | 4 1 null null 4 5 | 5 2 null null 5 6 | 6 3 null null 6 null",
            ),
            (
                "select id, last_value(id) over (w rows between unbounded preceding and unbounded following) l, \
                 last_value(x) over (w rows unbounded preceding) m FROM where id < 5 window v as (partition by g), w as (v order by x, id)",
                "1 2 5 | 2 2 7 | 3 3 null | 4 3 4",
            ),
        ],
    );
}

#[test]
fn groups_and_the_first_of_each() {
    answers(
        &world(),
        &[
            (
                "select g, sum(x) s, sum(sum(x)) over () t, rank() over (order by sum(x) desc) r FROM group by g",
                "null 18 54 2 | 1 24 54 1 | 2 12 54 3",
            ),
            (
                "select g, id from (select g, id, row_number() over (partition by g order by x desc, id) n FROM) q where n <= 2",
                "null 6 | null 13 | 1 2 | 1 12 | 2 4 | 2 11",
            ),
            (
                "select g, id FROM qualify row_number() over (partition by g order by x desc, id) <= 2 order by g, id",
                "1 2 | 1 12 | 2 4 | 2 11 | null 6 | null 13",
            ),
            (
                "select distinct g, first_value(id) over (partition by g order by x desc, id) FROM where g is not null",
                "1 2 | 2 11",
            ),
            (
                "select g, count(*) from (select g, x - lag(x, 1, x) over (partition by g order by id) d FROM) q where d <> 0 group by g",
                "1 3 | 2 1",
            ),
            (
                "select id, x > (select avg(x) from one) above, rank() over (order by x = (select max(x) from one) desc, id) FROM where id > 4",
                "5 false 3 | 6 true 1 | 11 true 4 | 12 true 5 | 13 true 2",
            ),
            (
                "select id FROM where x in (select max(x) over (partition by g) from one) and id > 5",
                "6 | 11 | 12 | 13",
            ),
            (
                "select id, upper('g' || g) from (select id, g, rank() over (order by x desc) r FROM) q where r < 3",
                "6 null | 13 null",
            ),
        ],
    );
    let mut world = world();
    world.schema.answer.min_group = 3;
    answers(
        &world,
        &[(
            "select g, sum(x) s, sum(sum(x)) over () t, rank() over (order by sum(x) desc) r FROM group by g",
            "1 24 36 1 | 2 12 36 2",
        )],
    );
}

#[test]
fn nothing_and_too_much() {
    world().answers(&[
        ("select id, sum(x) over (order by id) from none", ""),
        ("select count(*) from (select lag(x) over (order by id) l from none union all select 1 from none) q", "0"),
    ]);
    let large = "90000000000000000000000000000000000000";
    let world = World::new(2)
        .table(
            0,
            "a",
            "id u8 not null, x decimal(38,0)",
            &format!("1 {large} | 2 -{large}"),
        )
        .table(
            1,
            "b",
            "id u8 not null, x decimal(38,0)",
            &format!("3 {large} | 4 -{large}"),
        );
    let all = "(select * from a union all select * from b) u";
    // A sum that is too large on the way is none if its frame ends where it fits.
    world.answers(&[
        (
            &format!("select id, sum(x) over (order by id) s from {all} where id > 3"),
            &format!("4 -{large}"),
        ),
        (
            &format!("select count(s) from (select sum(x) over (order by id % 2) s from {all}) q"),
            "no answer",
        ),
        (
            &format!("select count(s) from (select sum(x) over () s from {all}) q"),
            "4",
        ),
        (
            &format!("select sum(x) over (order by x desc) s from {all}"),
            "no answer",
        ),
    ]);
}

#[test]
fn values_of_a_list() {
    let columns = "id u8 not null, c char(6) values red,green,blue";
    World::new(2)
        .table(0, "a", columns, "1 red | 2 blue | 3 null")
        .table(1, "b", columns, "4 green | 5 red")
        .answers(&[
            (
                "select id, rank() over (order by c), lag(c, 1, 'blue') over (order by c, id), max(c) over (partition by c), count(c) over (order by c) \
                 from (select * from a union all select * from b) u",
                "1 3 green red 4 | 2 1 blue blue 1 | 3 5 red null 4 | 4 2 blue green 2 | 5 3 red red 4",
            ),
            ("select quantile_disc(c, 0.5) from (select * from a union all select * from b) u", "green"),
        ]);
}

/// All that has the same partition and order is made in one sort.
#[test]
fn windows_in_one_order_are_one_step() {
    let sql = "select id, rank() over w, sum(x) over w, max(x) over (partition by g), lag(id) over (partition by g order by x) from \
               (select * from a union all select * from b) u window w as (partition by g order by x)";
    let tree = world().plan(sql).unwrap().explained().tree();
    let steps: Vec<&str> = tree
        .lines()
        .filter(|line| line.contains("for each row"))
        .collect();
    let [step] = steps[..] else { panic!("{tree}") };
    assert!(
        step.trim_start().starts_with(
            "for each row among rows with the same a.g in the order of a.x, a.id: RANK(), SUM(a.x), MAX(a.x), LAG(a.id, 1) (all, secretly; 13 rows of"
        ),
        "{tree}"
    );
    // What depends on the order already tells nothing apart.
    let unique = world().plan("select lag(x) over (order by id) from one").unwrap();
    assert!(
        unique
            .explained()
            .tree()
            .contains("in the order of one.id: LAG(one.x, 1)"),
        "{}",
        unique.explained().tree()
    );
    let alone = world()
        .plan(&sql.replace("(select * from a union all select * from b) u", "a"))
        .unwrap();
    assert!(
        alone.explained().tree().contains("(party 0, in the clear"),
        "{}",
        alone.explained().tree()
    );
}

/// What a window makes tells of single rows, by what it is made of and by its order; of groups, as much as these do.
#[test]
fn windows_tell_of_what_they_are_made_of() {
    let told = |sql: &str| {
        let flows = world().plan(sql).unwrap().flows();
        flows
            .into_iter()
            .map(|flow| (flow.column, flow.kind))
            .collect::<Vec<_>>()
    };
    let (rows, values, totals) = (FlowKind::Rows, FlowKind::Values, FlowKind::Totals);
    let of = |column: &str, kind| (column.to_owned(), kind);
    assert_eq!(
        told("select sum(x) over (partition by g order by id) from one"),
        [of("id", rows), of("g", rows), of("x", rows)]
    );
    assert_eq!(
        told("select g, rank() over (order by sum(x)) from one group by g"),
        [of("g", values), of("x", totals)]
    );
    assert_eq!(
        told("select median(x) from one"),
        [of("x", values), of("x", totals)]
    );
}

/// A group of rows that a window has sorted needs no sort of its own, nor does what is made of all rows.
#[test]
fn rows_are_sorted_once() {
    let mut world = world();
    world
        .schema
        .tables
        .iter_mut()
        .for_each(|table| table.max_rows = 500);
    let ands = |sql: &str| {
        let sql = sql.replace("FROM", "from (select * from a union all select * from b) u");
        let query = world.plan(&sql).unwrap();
        query.tally(Abilities::default()).unwrap().and_gates
    };
    let groups =
        "select g, max(n) from (select g, row_number() over (partition by g order by x) n FROM) q group by g";
    let filtered = groups.replace("q group", "q where n > 0 group");
    let (once, twice) = (ands(groups), ands(&filtered));
    assert!(once * 5 < twice * 4, "{once} and {twice} ANDs");
    let (all, sorted) = (
        ands("select sum(x) over () FROM"),
        ands("select sum(x) over (order by id) FROM"),
    );
    assert!(all * 3 < sorted, "{all} and {sorted} ANDs");
    let medians = ["median(x)", "median(x), median(x + 1)"]
        .map(|made| ands(&format!("select g, {made} FROM group by g")));
    let (one, both) = (
        medians[0],
        ands("select g, median(x), quantile_disc(x, 0.9) FROM group by g"),
    );
    assert!(
        both - one < (medians[1] - one) / 2,
        "{one}, {both} and {} ANDs",
        medians[1]
    );
}

/// There are more rows than in the tables.
#[test]
fn windows_over_groupings() {
    let world = World::new(2)
        .table(0, "a", "x u8 not null, y u8 not null", "1 1 | 2 2")
        .with(|table| table.max_rows = 2)
        .table(1, "b", "x u8 not null, y u8 not null", "3 3 | 4 4")
        .with(|table| table.max_rows = 2);
    let all = "(select * from a union all select * from b) u group by cube(x, y)";
    world.answers(&[
        (
            &format!("select count(*) from (select x, y, count(*) as n from {all}) q"),
            "13",
        ),
        (
            &format!(
                "select max(r), count(*) from (select row_number() over (order by x, y) as r from {all}) q"
            ),
            "13 13",
        ),
        (
            &format!("select distinct sum(count(*)) over () as n from {all}"),
            "16",
        ),
    ]);
}

/// Rows that stand by a key and another column do not stand by the key.
#[test]
fn rows_of_a_partition_are_not_those_of_a_group() {
    let world = World::new(2)
        .table(0, "a", "k char(2) not null, x u8 not null", "p 2 | q 1 | p 1")
        .table(1, "b", "k char(2) not null, x u8 not null", "q 2 | p 3 | q 3");
    let numbered = "(select k, x, count(*) over (partition by x, k) as c from (select * from a union all select * from b) u) w";
    world.answers(&[(
        &format!("select upper(k) as u, sum(x) as s, sum(c) as n from {numbered} group by k"),
        "P 6 3 | Q 6 3",
    )]);
}
