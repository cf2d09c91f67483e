//! The clauses of a query.

use cenote_net::PartyId;
use cenote_query::Count;
use cenote_session::Parties;

use crate::common::World;

/// Orders and customers of two parties, and one table that has no rows.
fn world() -> World {
    World::new(2)
        .table(
            0,
            "a",
            "id u32 unique, x i32",
            "3 -5 | 1 10 | 7 null | null 4 | 9 100",
        )
        .table(
            1,
            "b",
            "id u32 at_most 2, y i16, g u8",
            "1 2 1 | 1 3 2 | 3 4 1 | 4 5 null | 9 null 2 | null 9 2",
        )
        .table(1, "none", "id u32 unique, z i32", "")
}

#[test]
fn select_and_where() {
    world().answers(&[
        ("select * from a", "null 4 | 1 10 | 3 -5 | 7 null | 9 100"),
        (
            "select id, x + 1 as more from a where x > 0",
            "null 5 | 1 11 | 9 101",
        ),
        ("SELECT A.ID, \"x\" FROM a WHERE a.x IS NULL;", "7 null"),
        ("select t.* from a as t where t.id = 9", "9 100"),
        ("select i from a as t (i, j) where j < 0", "3"),
        ("select x from a where false", ""),
        ("select x from a where null", ""),
        (
            "select 1, 'text', null from a where id < 4",
            "1 text null | 1 text null",
        ),
        ("select a.id from a, b where false and a.id = b.id", ""),
    ]);
}

#[test]
fn grouping() {
    world().answers(&[
        (
            "select g, count(*), sum(x * y), avg(y), min(x) from a join b using (id) group by g",
            "1 2 0 3.000000 -5 | 2 2 30 3.000000 10",
        ),
        (
            "select g, count(*), count(y), sum(y), min(y), max(y), avg(y) from b group by g",
            "null 1 1 5 5 5 5.000000 | 1 2 2 6 2 4 3.000000 | 2 3 2 12 3 9 6.000000",
        ),
        ("select count(*) n, sum(y) from b where y > 100", "0 null"),
        (
            "select count(*), sum(z), max(z), avg(z) from none",
            "0 null null null",
        ),
        ("select g, count(*) from none join b using (id) group by g", ""),
        ("select count(*), min(y) from none join b using (id)", "0 null"),
        (
            "select sum(y) + 1 as s from b group by g having count(*) > 1",
            "7 | 13",
        ),
        (
            "select y > 3 as big, count(*) from b group by big",
            "null 1 | false 2 | true 3",
        ),
        (
            "select y % 2, count(*) from b group by 1 order by 2 desc, 1",
            "1 3 | 0 2 | null 1",
        ),
        ("select 'all' as k, count(*) from b group by k", "all 6"),
        ("select count(*) from b group by g, y", "1 | 1 | 1 | 1 | 1 | 1"),
        ("select 1 as one from b having count(*) > 5", "1"),
        (
            "select case when sum(y) > 20 then 'many' else 'few' end from b",
            "many",
        ),
        (
            "select g + 1, g * 10 from b group by g",
            "null null | 2 10 | 3 20",
        ),
        (
            "select max(id), min(id) from (select id from a union all select id from b) u",
            "9 1",
        ),
    ]);
}

#[test]
fn distinct_and_union() {
    world().answers(&[
        ("select distinct g from b", "null | 1 | 2"),
        ("select distinct id from a join b using (id)", "1 | 3 | 9"),
        (
            "select id from a union all select id from b",
            "null | null | 1 | 1 | 1 | 3 | 3 | 4 | 7 | 9 | 9",
        ),
        ("select id from a union select id from b", "null | 1 | 3 | 4 | 7 | 9"),
        ("select g from b union select g from b", "null | 1 | 2"),
        (
            "select id, x from a where id = 1 union all select id, 0.5 from b where id = 3",
            "1 10.0 | 3 0.5",
        ),
        (
            "select 'a' as src, count(*) from a union all select 'some b', count(*) from b order by 2",
            "a 5 | some b 6",
        ),
        ("(select id from a where x > 50) union all (select id from none)", "9"),
        (
            "select id, count(*) c from (select id from a union all select id from b) u group by id order by c desc, id limit 3",
            "1 3 | 3 2 | 9 2",
        ),
    ]);
}

#[test]
fn order_and_limit() {
    world().answers(&[
        ("select x from a order by x", "-5 | 4 | 10 | 100 | null"),
        ("select x from a order by x desc", "100 | 10 | 4 | -5 | null"),
        (
            "select x from a order by x desc nulls first",
            "null | 100 | 10 | 4 | -5",
        ),
        (
            "select x from a order by x nulls last",
            "-5 | 4 | 10 | 100 | null",
        ),
        // What it is ordered by is no column of the answer.
        ("select id from a order by x desc", "9 | 1 | null | 3 | 7"),
        (
            "select y from a join b using (id) order by x desc, y desc",
            "null | 3 | 2 | 4",
        ),
        ("select id from a order by x desc limit 2", "9 | 1"),
        ("select g from b group by g order by sum(y) desc", "2 | 1 | null"),
        (
            "select g, max(y) as m from b group by g having count(*) > 1 order by m limit 1",
            "1 4",
        ),
        // Equal rows come in the order of their columns.
        (
            "select y, g from b order by g limit 4",
            "2 1 | 4 1 | null 2 | 3 2",
        ),
        ("select g from b order by g desc limit 4", "2 | 2 | 2 | 1"),
        ("select x from a limit 2", "null | -5"),
        ("select x from a order by x limit 2 offset 1", "4 | 10"),
        ("select x from a order by x desc offset 3", "-5 | null"),
        ("select x from a order by x limit 3 offset 4", "null"),
        ("select x from a order by x offset 5", ""),
        ("select x from a order by x limit 1 offset 1000000", ""),
        (
            "select b.y from a join b on a.id = b.y or a.id = b.y order by y limit 2 offset 1000000",
            "",
        ),
        (
            "select count(*) from (select x from a order by x limit 3 offset 1) s where x > 0",
            "3",
        ),
        ("select x from a order by x limit 100", "-5 | 4 | 10 | 100 | null"),
        ("select z from none order by z limit 1", ""),
        ("select x from a order by 1 desc limit 1", "100"),
        ("select x + 1 as more from a order by more limit 2", "-4 | 5"),
        ("(select id from a order by x desc)", "9 | 1 | null | 3 | 7"),
        ("select distinct g from b order by g desc", "2 | 1 | null"),
    ]);
}

#[test]
fn subqueries() {
    world().answers(&[
        ("select s.big from (select x * 2 as big from a where x > 0) s where s.big < 50", "8 | 20"),
        ("select sum(m) from (select g, max(y) as m from b group by g) s", "18"),
        (
            "with t as (select id, sum(y) as s from b group by id), u as (select id from t where s > 4) select a.id, x from a join u using (id)",
            "1 10",
        ),
        (
            "with t as (select id from a), t2 (key) as (select id from t) select count(*) from t join t2 on t.id = t2.key",
            "4",
        ),
        ("select x from (select x from a order by x desc limit 2) s", "10 | 100"),
        // A subquery of one row goes together with everything.
        ("select x - low as above from a, (select min(y) as low from b) s where x > 0", "2 | 8 | 98"),
        ("select x from a cross join (select count(*) as n from none) s where n = 0 and x > 9", "10 | 100"),
        ("select x from a left join b on a.id = b.id and b.y > 2 where b.id is null", "null | 4 | 100"),
        ("select n from (select count(*) as n from b having count(*) > 100) s", ""),
        ("select x from a, (select sum(y) as s from b having count(*) > 100) t", ""),
    ]);
}

#[test]
fn small_groups_are_left_out() {
    let mut world = world();
    world.schema.answer.min_group = 2;
    world.answers(&[
        ("select g, count(*) from b group by g", "1 2 | 2 3"),
        ("select g from b group by g order by g desc limit 1", "2"),
        ("select sum(y) from b", "23"),
        ("select sum(y) from b where g is null", ""),
        ("select id, count(*) c from (select id from a union all select id from b) u group by id having id > 0", "1 3 | 3 2 | 9 2"),
    ]);
    assert!(
        world
            .ask("select * from b")
            .contains("the job sets `min_group`, so the answer must be made of groups")
    );
    assert!(
        world
            .ask("select g from b union all select id from a")
            .contains("the job sets `min_group`")
    );
    // Rows count, and not the values that are counted once.
    world.schema.answer.min_group = 6;
    world.answers(&[("select count(distinct g), count(*) from b", "2 6")]);
    let beside = world.ask("select count(*) from b having count(*) > (select count(*) from a)");
    assert!(beside.contains("without subqueries beside them"), "{beside}");
}

#[test]
fn how_many_rows_are_told() {
    let mut world = world();
    let all = "select id from a union all select id from b";
    let ids = "null | null | 1 | 1 | 1 | 3 | 3 | 4 | 7 | 9 | 9";
    for count in [
        Count::AtMost(11),
        Count::AtMost(12),
        Count::AtMost(1000),
        Count::Revealed,
    ] {
        world.schema.answer.count = count;
        world.answers(&[
            (all, ids),
            ("select id from a where x > 1000", ""),
            ("select y from b where g = 2 order by id desc", "null | 3 | 9"),
        ]);
    }
    world.schema.answer.count = Count::AtMost(10);
    world.answers(&[(all, "no answer"), ("select count(*) from a", "5")]);
    world.schema.answer.count = Count::AtMost(1);
    world.answers(&[
        ("select max(x) from a", "100"),
        ("select g from b order by g limit 2", "no answer"),
        ("select g from b order by g limit 1", "1"),
    ]);
}

/// A row that is counted several times makes no group of several rows.
#[test]
fn rows_are_counted_once_for_min_group() {
    let mut world = world();
    world.schema.answer.min_group = 2;
    for sql in [
        "select id, sum(x) from (select * from a union all select * from a) u group by id",
        "select distinct id, s from (select id, sum(x) as s from a group by grouping sets ((id), (id))) q",
    ] {
        let told = world.ask(sql);
        assert!(
            told.contains("the rows of one table may come once only"),
            "{sql}: {told}"
        );
    }
    let both = "select id, count(*) from (select id from a union all select id from b) u group by id";
    world.answers(&[(both, "null 2 | 1 3 | 3 2 | 9 2")]);
}

/// What is computed of groups is computed of as many as the answer may have.
#[test]
fn groups_are_no_more_than_the_answer_may_have() {
    let mut world = world();
    let sql = "select id, sum(x) / count(*) as m from a join b using (id) group by id";
    for (most, answer) in [(4, "1 10 | 3 -5 | 9 100"), (2, "no answer")] {
        world.schema.answer.count = Count::AtMost(most);
        world.answers(&[(sql, answer)]);
        assert_eq!(world.plan(sql).unwrap().explained().rows, most);
    }
}

#[test]
fn an_answer_goes_to_whom_it_is_for() {
    let mut world = world();
    for to in [Parties::one(PartyId(0)), Parties::one(PartyId(1))] {
        world.schema.answer.to = to;
        for count in [Count::AtMost(20), Count::Revealed] {
            world.schema.answer.count = count;
            world.answers(&[
                (
                    "select a.id, x, y from a join b using (id) where x < 50",
                    "1 10 2 | 1 10 3 | 3 -5 4",
                ),
                ("select x from a where x > 1000", ""),
                ("select x / 0 from a join b using (id)", "no answer"),
            ]);
        }
    }
}

#[test]
fn tables_of_one_row_and_of_none() {
    let world = World::new(2)
        .table(0, "one", "k i8, v i8", "5 6")
        .with(|table| table.max_rows = 1)
        .table(1, "other", "k i8, w i8", "5 7")
        .with(|table| table.max_rows = 1)
        .table(1, "empty", "k i8, u i8", "")
        .with(|table| table.max_rows = 1);
    world.answers(&[
        ("select * from one join other using (k)", "5 6 7"),
        ("select v, w from one, other", "6 7"),
        ("select v, u from one left join empty on one.k = empty.k", "6 null"),
        ("select v, u from one, empty", ""),
        ("select k, count(*), sum(v) from (select k, v from one union all select k, w from other union all select * from empty) s group by k", "5 2 13"),
        ("select v from one order by k limit 5", "6"),
        ("select count(*), max(u) from empty", "0 null"),
        ("select distinct k from empty", ""),
        ("select w + v from one, other where w > v order by w - v", "13"),
    ]);
}
