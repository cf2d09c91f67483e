//! Subqueries in conditions and expressions: random rows with nulls and repeated values, compared with what SQLite says.

use rusqlite::types::Value;

use crate::common::World;
use crate::differential::{Random, in_sqlite};

/// Tables of three parties: keys that repeat, values that are missing.
fn world(random: &mut Random) -> World {
    let cell = |random: &mut Random, most: usize| match random.below(6) {
        0 => "null".to_owned(),
        _ => random.below(most).to_string(),
    };
    let rows = |random: &mut Random, count: usize, most: [usize; 2]| -> String {
        let rows: Vec<String> = (0..count)
            .map(|at| format!("{at} {} {}", cell(random, most[0]), cell(random, most[1])))
            .collect();
        rows.join(" | ")
    };
    let count = |random: &mut Random| random.below(7);
    let (a, b, c) = (1 + count(random), count(random), count(random));
    World::new(3)
        .table(
            0,
            "a",
            "id u8 not null unique, k u8, x u8",
            &rows(random, a, [4, 5]),
        )
        .table(
            1,
            "b",
            "id u8 not null unique, k u8, y u8",
            &rows(random, b, [4, 5]),
        )
        .table(
            2,
            "c",
            "id u8 not null unique, k u8, z u8",
            &rows(random, c, [4, 5]),
        )
}

/// The rows that SQLite gives, as `World::ask` writes them.
pub(super) fn lite(world: &World, sql: &str) -> String {
    let sqlite = in_sqlite(world);
    let mut statement = sqlite
        .prepare(sql)
        .unwrap_or_else(|error| panic!("{error}\n{sql}"));
    let columns = statement.column_count();
    let text = |value: Value| match value {
        Value::Null => "null".to_owned(),
        Value::Integer(number) => number.to_string(),
        other => panic!("{other:?} in {sql}"),
    };
    let rows = statement.query_map((), |row| {
        let cells: Result<Vec<String>, _> = (0..columns).map(|at| row.get(at).map(text)).collect();
        Ok(cells?.join(" "))
    });
    let rows: Vec<String> = rows.unwrap().collect::<Result<_, _>>().unwrap();
    rows.join(" | ")
}

const QUERIES: [&str; 68] = [
    "select id from a where exists (select * from b where b.k = a.k) order by id",
    "select id from a where exists (select 1 from b where b.k = a.k and y > 2 and a.x = b.y) order by id",
    "select id from a where not exists (select * from b where b.k = a.k) order by id",
    "select id from a where x > 1 and not exists (select * from b where b.k = a.k and b.y < 3) order by id",
    "select id from a where exists (select * from b where b.k = a.k and b.y <> a.x) order by id",
    "select id from a where not exists (select * from b where b.k = a.k and b.y <> a.x) order by id",
    "select id from a where exists (select * from b where y > 3) order by id",
    "select id from a where not exists (select * from b where y > 3) order by id",
    "select id from a where k in (select k from b) order by id",
    "select id from a where k in (select k from b where y > 2) order by id",
    "select id from a where k not in (select k from b) order by id",
    "select id from a where k not in (select k from b where k is not null) order by id",
    "select id from a where id not in (select id from b where y < 4) order by id",
    "select id from a where x in (select y from b where b.k = a.k) order by id",
    "select id from a where x not in (select y from b where b.k = a.k) order by id",
    "select id from a where k in (select k from b group by k having count(*) > 1) order by id",
    "select id from a where not (k in (select k from b)) order by id",
    "select id from a where k in (select k from b) or x = 1 order by id",
    "select id from a where (k in (select k from b)) is null order by id",
    "select id from a where x > (select min(y) from b) order by id",
    "select id from a where x = (select max(y) from b where b.k = a.k) order by id",
    "select id from a where x + 1 > (select sum(y) from b where b.k = a.k) order by id",
    "select id from a where 1 > (select count(*) from b where b.k = a.k) order by id",
    "select id from a where x >= (select count(y) + 1 from b where b.k = a.k and y > 1) order by id",
    "select id from a where (select max(y) from b where b.k = a.k) is null order by id",
    "select id, (select count(*) from b where b.k = a.k) from a order by id",
    "select id, (select max(y) from b) from a order by id",
    "select id, coalesce((select sum(y) from b where b.k = a.k), 0) + x from a order by id",
    "select k, count(*) from a group by k having count(*) >= (select count(*) from b where y = 1) order by k",
    "select k, count(*) from a group by k having k in (select k from b) order by k",
    "select id from a where k in (select k from b where y in (select z from c)) order by id",
    "select id from a where exists (select * from b where b.k = a.k and exists (select * from c where c.k = b.k and c.z <> b.y)) order by id",
    "select id from a where exists (select * from b where b.k = a.k) and not exists (select * from c where c.k = a.k) order by id",
    "select id from a where exists (select * from b where b.k = a.k and b.y > (select min(z) from c where c.k = b.k)) order by id",
    "select a.id, b.id from a join b on a.k = b.id where exists (select * from c where c.k = a.k and c.z = b.y) order by a.id",
    "select id from a where x > (select min(y) from b) and x < (select max(z) from c) order by id",
    "select id from a where (select min(y) from b) in (select z from c) order by id",
    "select count(distinct k), count(*), sum(x), min(x) from a",
    "select k, count(distinct x), count(x), sum(x), max(x) from a group by k order by k",
    "select k, sum(distinct x) from a group by k having count(distinct x) > 1 order by k",
    "select count(distinct y) from a join b on a.k = b.id",
    "select count(distinct k) from (select k from a union all select k from b)",
    "select k, count(distinct id) from (select k, id from a union all select k, id from b) group by k order by k",
    "select a.id, count(b.y), count(*), sum(b.y), max(b.y) from a left join b on a.k = b.k group by a.id order by a.id",
    "select x, count(b.id), count(*) from a left join b on a.k = b.k and b.y > 1 group by x order by x",
    "select n, count(*) from (select a.id, count(b.id) as n from a left join b on a.k = b.k group by a.id) t group by n order by n",
    "select a.k, min(b.y + 1), sum(b.y * 2) from a left join b on a.x = b.k group by a.k order by a.k",
    "select count(*) from a join b on a.k = b.k",
    "select count(*), sum(x), sum(y), count(x), count(y), min(x), max(y) from a, b where a.k = b.k and y < 4 and x > 0",
    "select sum(x * y), count(x * y), sum(y * (x + 1)), max(x + 1) from a join b on a.k = b.k",
    "select x, count(*), sum(y), sum(x * y), min(y) from a join b on a.k = b.k group by x order by x",
    "select y, count(*), sum(x), count(a.id) from a join b using (k) where a.id < 5 group by y having count(*) > 1 order by y",
    "select x, count(b.id), sum(x), sum(x * y), count(x), max(x) from a left join b on a.k = b.k group by x order by x",
    "select x, 7, count(b.id), count(*) from a left join b on a.k = b.k and 1 = 1 group by x, 3 - 3 order by x",
    "select sum(a.x * (b.y + 1)) from a join b on a.k = b.k and 2 > 1",
    "select distinct x from a join b on a.k = b.k order by x",
    "select sum(s.x * b.y) from (select k, x from a where x < 4) s join b on s.k = b.k and s.x = b.y",
    "select k from a intersect select k from b order by k",
    "select k, x from a except select k, y from b order by k, x",
    "select k from (select k from a except select k from b where y = 1) t order by k",
    "select k from a where k in (select k from b intersect select k from c) order by k",
    "select a.id, b.id, b.y from a right join b on a.id = b.k order by b.id",
    "select count(*), sum(y), sum(x) from a right join b on a.id = b.k",
    "select a.id, b.id, x, y from a full join b on a.id = b.id order by coalesce(a.id, b.id)",
    "select count(*), sum(x), sum(y) from a full join b on a.id = b.id",
    "select a.id, b.id from a full join b on a.id = b.id where x = 1 or y = 2 order by coalesce(a.id, b.id)",
    "select count(*) from a full join b on a.id = b.id where a.id is null",
    "select count(*) from a where case when k in (select k from b) then x else 1 end = 1",
];

#[test]
fn as_sqlite_says() {
    let mut empty = 0;
    for seed in 0..5 {
        let world = world(&mut Random::new(seed));
        for sql in QUERIES {
            // There nulls come first.
            let last = |by: &str| by.replace(", ", " nulls last, ") + " nulls last";
            let right = match sql.rsplit_once(" order by ") {
                Some((query, by)) if !by.contains('(') => {
                    lite(&world, &format!("{query} order by {}", last(by)))
                }
                _ => lite(&world, sql),
            };
            assert_eq!(world.ask(sql), right, "{sql}\n{}", world.told());
            empty += usize::from(right.is_empty());
        }
    }
    assert!(empty < 5 * QUERIES.len() / 2, "{empty} answers have no rows");
}

/// What is refused, and why.
#[test]
fn what_subqueries_cannot_do() {
    let world = world(&mut Random::new(0));
    for (sql, why) in [
        (
            "select id from a where x = (select y from b)",
            "must give one row",
        ),
        (
            "select id from a where x = (select max(y) from b group by k)",
            "must give one row",
        ),
        (
            "select id from a where k in (select k, y from b)",
            "must have one column",
        ),
        (
            "select id from a where exists (select * from b where b.y > a.x)",
            "by = only",
        ),
        (
            "select id from a where exists (select * from b where b.y <> a.x)",
            "may compare its columns",
        ),
        (
            "select id from a where exists (select k from b where b.k = a.k group by k)",
            "uses no columns of the query around it",
        ),
        (
            "select id from a where x > any (select y from b)",
            "ANY and ALL are not supported",
        ),
        (
            "select sum((select max(y) from b)) from a",
            "a subquery can stand in",
        ),
        (
            "select id from a join b on a.k = (select max(z) from c)",
            "a subquery can stand in",
        ),
        (
            "select id from a where exists (select * from b where b.q = a.k)",
            "there is no column b.q",
        ),
        ("select id from a where k in (select 'x' from b)", "IN looks for"),
    ] {
        let found = world.ask(sql);
        assert!(found.contains(why), "{sql}: {found}");
    }
}
