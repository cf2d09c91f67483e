//! LEFT, RIGHT and FULL JOIN of tables in one of which keys come once, or a few times: random rows, compared with what SQLite says.

use super::subqueries::lite;
use crate::common::{Outcome, World};
use crate::differential::Random;

/// Keys of which each comes once, once in a pair, up to twice, and often.
fn world(random: &mut Random, owners: [u8; 2]) -> World {
    let mut rows = |keys: &[&str], most: usize| -> String {
        let rows: Vec<String> = (0..1 + random.below(most))
            .map(|at| {
                let key = keys[at % keys.len()];
                let other = ["1", "2", "null"][random.below(3)];
                format!("{key} {other} {}", ["ab", "null", "cde"][random.below(3)])
            })
            .collect();
        rows.join(" | ")
    };
    let once = ["1", "null", "3", "5", "7", "9"];
    let twice = ["3", "3", "null", "4", "4", "null", "1"];
    let often = ["3", "2", "3", "null", "3", "1", "3", "8"];
    let (a, b, c) = (rows(&once, 6), rows(&often, 9), rows(&twice, 7));
    World::new(2)
        .table(owners[0], "a", "k u8 unique, x u8, s char(3)", &a)
        .table(owners[1], "b", "k i16, y u8, t char(4)", &b)
        .table(owners[0], "c", "k u8 at_most 2, z u8, s char(3)", &c)
}

const QUERIES: [&str; 25] = [
    "select a.k, x, b.k, y from a left join b on a.k = b.k",
    "select a.k, x, b.k, y from b right join a on a.k = b.k",
    "select a.k, x, b.k, y from a full join b on a.k = b.k",
    "select a.k, x, b.k, y from b full join a on a.k = b.k",
    "select c.k, z, b.k, y from c left join b on c.k = b.k",
    "select c.k, z, b.k, y from c full join b on c.k = b.k",
    "select c.k, z, b.k, y from b full join c on c.k = b.k",
    "select c.k, a.k, z, x from c full join a on c.k = a.k",
    "select a.k, b.k from a left join b on a.k = b.k and a.x = b.y",
    "select a.k, b.k, x from a left join b on a.k = b.k and b.y > 1",
    "select a.k, b.k, y from a full join b on a.k = b.k and a.x = b.y",
    "select x, y from a left join b on a.k = b.k where b.k is null or y = 2",
    "select x, y from a full join b on a.k = b.k where a.k is null and y > 0",
    "select length(coalesce(s, 'none')), length(coalesce(t, '')), x, y from a full join b on a.k = b.k",
    "select length(coalesce(s, 'none')), length(coalesce(t, '')), z, y from b full join c on c.k = b.k",
    "select coalesce(x, 0) + coalesce(y, 0), coalesce(a.k, b.k) from a full join b on a.k = b.k",
    "select a.k, count(*), count(b.k), sum(x), sum(y) from a full join b on a.k = b.k group by a.k",
    "select b.k, count(*), count(x), max(x) from a full join b on a.k = b.k group by b.k",
    "select a.k, b.k, c.k from a left join b on a.k = b.k left join c on b.k = c.k",
    "select a.k, b.k, c.k from a full join b on a.k = b.k full join c on a.k = c.k",
    // Keys that are not null where their columns are.
    "select case when c.k is null then 5 else c.z end, a.k from c full join a on case when c.k is null then 5 else c.z end = a.k",
    "select case when b.k is null then 5 else b.y end, a.k from a left join b on a.k = case when b.k is null then 5 else b.y end",
    "select coalesce(b.k, 5), a.k from a full join b on coalesce(b.k, 5) = a.k",
    // One row, and nobody knows how often anything comes then.
    "select t.y, c.z from (select b.y from (select max(x) as m from a) s full join b on s.m = b.k) t join c on t.y = c.k",
    "select t.m, t.k, c.z from (select s.m, a.k from (select max(y) as m from b) s full join a on s.m = a.k) t join c on t.k = c.k",
];

#[test]
fn as_sqlite_says() {
    let sorted = |rows: &str| {
        let mut rows: Vec<String> = rows.split(" | ").map(str::to_owned).collect();
        rows.sort();
        rows
    };
    for seed in 0..6 {
        // Of two parties, or of one, which joins them by itself.
        for owners in [[0, 1], [1, 1]] {
            let world = world(&mut Random::new(seed), owners);
            for sql in QUERIES {
                let (ours, right) = (world.ask(sql), lite(&world, sql));
                assert_eq!(sorted(&ours), sorted(&right), "{sql}\n{}", world.told());
            }
        }
    }
}

/// The table in which keys come once is looked up, whichever it is, and each table is given once.
#[test]
fn each_table_is_given_once() {
    let world = world(&mut Random::new(0), [0, 1]);
    for (sql, step) in [
        (QUERIES[0], "right join on b.k = a.k"),
        (QUERIES[1], "right join on b.k = a.k"),
        (QUERIES[2], "full join on b.k = a.k"),
        (QUERIES[3], "full join on b.k = a.k"),
    ] {
        let tree = world.plan(sql).unwrap().explained().tree();
        let given = tree.matches("become secrets").count();
        assert!(tree.contains(step) && given == 2, "{sql}: {tree}");
    }
}

/// Rows of groups may be joined with several others, and count as often.
#[test]
fn small_groups_are_left_out() {
    let mut world = World::new(2)
        .table(0, "a", "k u8 not null unique, x u8", "1 1 | 2 1 | 3 2 | 4 2")
        .table(1, "b", "k u8, y u8", "1 5 | 1 6 | 9 7 | null 8");
    world.schema.answer.min_group = 3;
    let sql = "select x, count(*), sum(y) from a full join b on a.k = b.k group by x";
    assert_eq!(world.ask(sql), "1 3 11");
    assert!(matches!(world.run(sql), Outcome::Answer(_)));
}

/// Keys that come often on both sides.
#[test]
fn keys_that_come_often() {
    let mut world = World::new(2)
        .table(0, "a", "k u8, x u8", "1 1 | 1 2 | 2 3 | null 4 | 5 5 | 5 6")
        .table(1, "b", "k u8, y u8", "1 7 | 1 8 | 5 9 | null 1 | 6 2");
    let sql = "select x, y from a left join b on a.k = b.k order by x, y";
    let all = "1 7 | 1 8 | 2 7 | 2 8 | 3 null | 4 null | 5 9 | 6 9";
    world.schema.max_join_rows = Some(8);
    assert_eq!(world.ask(sql), all);
    world.schema.max_join_rows = Some(7);
    assert_eq!(world.ask(sql), "no answer");
}

/// More rows than any table may have are no number, and not another one.
#[test]
fn more_rows_than_there_may_be() {
    let rows = |count: usize| vec!["1 2"; count].join(" | ");
    let ask = |count: usize, sql: &str| {
        let world =
            World::new(2)
                .table(1, "a", "k u8, x u8", &rows(count))
                .table(1, "b", "k u8, y u8", &rows(count));
        world.ask(sql)
    };
    for join in ["left join", "join"] {
        let sql = format!("select count(*), sum(x * y) from a {join} b on a.k = b.k");
        assert_eq!(ask(16_384, &sql), "268435456 1073741824", "{sql}");
        let told = ask(16_385, &sql);
        assert!(told.contains("overflows"), "{sql}: {told}");
    }
}

/// Rows do not count several times where small groups are left out.
#[test]
fn small_groups_are_of_single_rows() {
    let mut world =
        World::new(2)
            .table(0, "a", "k u8, g u8", "1 1 | 1 1")
            .table(1, "b", "k u8, y u8", "1 5 | 1 6");
    for join in ["left join", "join"] {
        let sql = format!("select g, count(*), sum(y) from a {join} b on a.k = b.k group by g");
        world.schema.answer.min_group = 0;
        assert_eq!(world.ask(&sql), "1 4 22");
        world.schema.answer.min_group = 4;
        assert!(world.ask(&sql).contains("add `unique`"), "{}", world.ask(&sql));
    }
}
