//! Joins.

use crate::common::World;

/// Tables of two parties with keys that repeat.
fn world() -> World {
    World::new(2)
        .table(
            0,
            "a",
            "id i16 unique, k i8 at_most 2, x char(2)",
            "1 -3 p | 2 -3 q | 3 5 r | 4 null s | null 5 t | -6 0 u",
        )
        .table(
            1,
            "b",
            "id i32 unique, k i64 at_most 3, y char(2)",
            "-6 -3 m | 2 -3 n | 3 -3 o | 9 5 v | 10 null w | null 7 z",
        )
}

#[test]
fn unique_keys() {
    world().answers(&[
        // Negative keys, and null, which equals nothing.
        (
            "select a.id, x, y from a join b on a.id = b.id",
            "-6 u m | 2 q n | 3 r o",
        ),
        (
            "select * from a join b using (id)",
            "-6 0 u -3 m | 2 -3 q -3 n | 3 5 r -3 o",
        ),
        (
            "select x, y from b inner join a on b.id = a.id and a.k < 1",
            "q n | u m",
        ),
        ("select x, y from a, b where a.id = b.id and x > 'q'", "r o | u m"),
        (
            "select x, y from a, b where (a.id = b.id and x = 'q') or (a.id = b.id and y = 'm')",
            "q n | u m",
        ),
        ("select a.id from a join b on a.id = b.id where a.k = b.k", "2"),
        ("select a.id from a join b on a.id = b.id and a.k = b.k", "2"),
        ("select x, y from a join b on a.id + 1 = b.id", "p n | q o"),
        (
            "select x, y from a join b on coalesce(a.id, 9) = b.id",
            "q n | r o | t v | u m",
        ),
    ]);
}

#[test]
fn left_joins() {
    world().answers(&[
        (
            "select x, y from a left join b on a.id = b.id",
            "p null | q n | r o | s null | t null | u m",
        ),
        (
            "select x, y from a left join b on a.id = b.id and b.y > 'n'",
            "p null | q null | r o | s null | t null | u null",
        ),
        (
            "select x, y from a left join b on a.id = b.id where y is null",
            "p null | s null | t null",
        ),
        (
            "select x, y from a left join b on a.id = b.id where x < 'r' and y = 'n'",
            "q n",
        ),
        (
            "select x, y from a left join b on a.k = b.k",
            "p m | p n | p o | q m | q n | q o | r v | s null | t v | u null",
        ),
        (
            "select y, x from b left join a using (id) order by y",
            "m u | n q | o r | v null | w null | z null",
        ),
        (
            "select y, x from b left join a using (k)",
            "m p | m q | n p | n q | o p | o q | v r | v t | w null | z null",
        ),
        (
            "select count(*), count(y), count(b.id) from a left join b on a.id = b.id",
            "6 3 3",
        ),
        (
            "select x, coalesce(y, 'no') from a left join b on coalesce(a.id, 9) = b.id",
            "p no | q n | r o | s no | t v | u m",
        ),
        (
            "select x, y is null as missing from a left join b on b.id = a.id and true",
            "p true | q false | r false | s true | t true | u false",
        ),
    ]);
}

#[test]
fn many_to_many() {
    let pairs = "p m | p n | p o | q m | q n | q o | r v | t v";
    world().answers(&[
        ("select x, y from a join b on a.k = b.k", pairs),
        ("select x, y from b join a on a.k = b.k", pairs),
        (
            "select x, y from a join b using (k) where x <> 'q' and y < 'o'",
            "p m | p n",
        ),
        (
            "select a.k, count(*) from a join b using (k) group by a.k",
            "-3 6 | 5 2",
        ),
        (
            "select x from a join b using (k) order by y desc, x desc limit 3",
            "t | r | q",
        ),
    ]);
    // The bound of one side is enough.
    for bounded in [0, 1] {
        let mut world = world();
        world.schema.tables[1 - bounded].at_most.clear();
        world.answers(&[("select x, y from a join b on a.k = b.k", pairs)]);
    }
}

/// Counts of no rows are 0, though they are added up of other counts.
#[test]
fn nothing_is_counted() {
    let world = World::new(2)
        .table(0, "a", "k u8", "")
        .table(1, "b", "k u8, y u8", "1 2 | 1 3");
    world.answers(&[
        (
            "select count(*), count(y), sum(y) from a left join b using (k)",
            "0 0 null",
        ),
        ("select count(*) + 1 from a left join b using (k)", "1"),
    ]);
}

/// Keys that come several times on both sides, of which nothing is promised.
#[test]
fn keys_that_come_often() {
    let mut world = World::new(3)
        .table(
            0,
            "a",
            "k i16, x char(2)",
            "1 p | 2 q | 2 r | 3 s | null t | -6 u | 2 v",
        )
        .table(
            1,
            "b",
            "k i32, y char(2)",
            "2 m | 2 n | 1 o | 1 p | null w | 5 z | -6 e",
        )
        .table(2, "c", "k i8, z u8", "2 1 | 2 2 | 1 3 | -6 4 | 7 5")
        .table(0, "d", "k i16, w u8", "2 7 | 2 8 | 3 9");
    let refused = world.ask("select x, y from a join b using (k)");
    assert!(refused.contains("add `max_join_rows`"), "{refused}");
    world.schema.max_join_rows = Some(20);
    let cases = [
        (
            "select k, x, y from a join b using (k)",
            "-6 u e | 1 p o | 1 p p | 2 q m | 2 q n | 2 r m | 2 r n | 2 v m | 2 v n",
        ),
        (
            "select k, count(*), sum(z) from a join c using (k) group by k",
            "-6 1 4 | 1 1 3 | 2 6 9",
        ),
        (
            "select x, w from a join d using (k)",
            "q 7 | q 8 | r 7 | r 8 | s 9 | v 7 | v 8",
        ),
        (
            "select y, z, count(*) from a join b using (k) join c using (k) where x > 'q' group by y, z",
            "e 4 1 | m 1 2 | m 2 2 | n 1 2 | n 2 2",
        ),
        ("select x, y from a join b on a.k = b.k and a.x = b.y", "p p"),
        (
            "select one.x, two.x from a one join a two using (k) where one.x < two.x",
            "q r | q v | r v",
        ),
    ];
    world.answers(&cases);
    world.schema.max_join_rows = Some(8);
    assert_eq!(world.ask("select x, y from a join b using (k)"), "no answer");
    // What is looked up must be of one party, and no row may count twice where small groups are left out.
    let both = "select count(*) from (select a.k from a join c using (k)) u join (select b.k from b join c using (k)) v using (k)";
    for (secret_only, min_group, sql) in [(true, 0, cases[0].0), (false, 2, cases[1].0), (false, 0, both)] {
        world.schema.secret_only = secret_only;
        world.schema.answer.min_group = min_group;
        let refused = world.ask(sql);
        assert!(refused.contains("of one party alone"), "{refused}");
    }
    (world.schema.secret_only, world.schema.answer.min_group) = (false, 0);
    world.schema.max_join_rows = Some(6);
    let own = world.ask("select x, w from a join d using (k)");
    assert!(
        own.contains("more than 6 rows, the most that `max_join_rows` allows"),
        "{own}"
    );
    world.schema.max_join_rows = Some(0);
    let wrong = world.ask("select x, y from a join b using (k)");
    assert!(wrong.contains("`max_join_rows` is 1 to"), "{wrong}");
}

/// Joins by promises come before those that `max_join_rows` allows.
#[test]
fn keys_that_come_often_where_others_come_once() {
    let mut sold = World::new(2)
        .table(0, "a", "k u8 unique, x u8", "1 1 | 2 2")
        .table(0, "b", "k u8, y u8", "1 5 | 1 6 | 2 7 | 2 8")
        .table(1, "c", "k u8, z u8", "1 5 | 1 6 | 2 7 | 2 8");
    sold.schema.max_join_rows = Some(1);
    for (other, of) in [("b", "y"), ("c", "z")] {
        for from in [format!("a join {other}"), format!("{other} join a")] {
            let sql = format!("select x, {of} from {from} using (k)");
            assert_eq!(sold.ask(&sql), "1 5 | 1 6 | 2 7 | 2 8", "{sql}");
        }
    }
    // Nor where only some of the tables could be joined so.
    let mut sold = World::new(2)
        .table(0, "cust", "id u8 unique, n u8", "1 1 | 2 1 | 3 1")
        .table(0, "supp", "no u8 unique, n u8", "7 1 | 8 1 | 9 1")
        .table(1, "item", "id u8, no u8", "1 7 | 2 9 | 3 5");
    sold.schema.max_join_rows = Some(1);
    let sql = "select item.id, item.no from cust, supp, item where cust.n = supp.n and cust.id = item.id and supp.no = item.no";
    assert_eq!(sold.ask(sql), "1 7 | 2 9");
    // Where another join needs it, too.
    let mut sold =
        sold.with(|table| table.max_rows = 3)
            .table(0, "tag", "no u8, word char(2)", "7 a | 7 b | 9 c");
    sold.schema.max_join_rows = Some(3);
    let sql = format!(
        "{} and tag.no = item.no",
        sql.replace(", item where", ", item, tag where")
    );
    assert_eq!(
        sold.ask(&sql.replace("item.no from", "tag.word from")),
        "1 a | 1 b | 2 c"
    );
    // A join by one party without a promise is none to the next.
    let mut large = World::new(2)
        .table(0, "orders", "oid u32 unique, cust u32", "1 5 | 2 5")
        .with(|table| table.max_rows = 10_000)
        .table(0, "complaints", "cust u32, about u8", "5 1 | 5 2")
        .with(|table| table.max_rows = 10_000)
        .table(1, "payments", "oid u32, amount u32", "1 10 | 1 20 | 2 30")
        .with(|table| table.max_rows = 100_000);
    large.schema.max_join_rows = Some(50_000);
    let sql = "select sum(amount) from orders o join complaints c on o.cust = c.cust join payments p on p.oid = o.oid";
    large.plan(sql).expect("it is joined");
    // Where nothing is promised, each party joins its own first: of both a's and the first b there would be too many rows.
    let mut none = World::new(2)
        .table(0, "a1", "x u8, k u8", "1 1 | 2 1")
        .table(0, "a2", "k u8, w u8", "1 5 | 1 6")
        .table(1, "b1", "x u8, m u8", "1 3 | 1 4 | 2 4 | 2 4")
        .table(1, "b2", "m u8, z u8", "3 7 | 3 8");
    none.schema.max_join_rows = Some(4);
    let sql = "select w, z from a1 join a2 using (k) join b1 on a1.x = b1.x join b2 using (m)";
    assert_eq!(none.ask(sql), "5 7 | 5 8 | 6 7 | 6 8");
}

/// Keys of thousands of bits.
#[test]
fn long_text() {
    let [one, other, third] = ["a", "b", "c"].map(|letter| letter.repeat(250));
    let world = World::new(2)
        .table(
            0,
            "a",
            "s char(255) unique, x i8",
            &format!("{one} 1 | {other} 2 | '' 3 | null 4"),
        )
        .table(
            1,
            "b",
            "t char(251) at_most 2, y i8",
            &format!("{other} 5 | {other} 6 | {third} 7 | '' 8 | null 9"),
        );
    world.answers(&[
        ("select x, y from a join b on s = t", "2 5 | 2 6 | 3 8"),
        (
            "select y, x from b left join a on s = t",
            "5 2 | 6 2 | 7 null | 8 3 | 9 null",
        ),
        (
            "select count(*), max(y) from (select t, y from b union all select s, x from a) u group by t",
            "1 1 | 1 7 | 2 8 | 2 9 | 3 6",
        ),
        (
            "select x from a join b on s = t order by t desc, y limit 2",
            "2 | 2",
        ),
        (
            &format!("select x from a join b on s = t and t like '{other}%'"),
            "2 | 2",
        ),
    ]);
}

#[test]
fn several_keys_and_tables() {
    let world = World::new(3)
        .table(0, "c", "n u8 not null unique, m u8", "1 10 | 2 20 | 3 30")
        .table(
            1,
            "o",
            "n u8, m u8, v i32",
            "1 10 5 | 1 11 6 | 2 20 7 | 3 null 8 | null 30 9",
        )
        .table(2, "i", "m u16 unique, w decimal(4,1)", "10 0.5 | 20 1.5 | 40 2.5")
        .table(1, "l", "v i64 unique, label char(4)", "5 five | 7 VII");
    world.answers(&[
        ("select v from c join o on c.n = o.n and c.m = o.m", "5 | 7"),
        (
            "select v, w from c join o using (n) join i on o.m = i.m",
            "5 0.5 | 7 1.5",
        ),
        (
            "select v, w from c join o using (n) left join i on o.m = i.m",
            "5 0.5 | 6 null | 7 1.5 | 8 null",
        ),
        (
            "select o.v, w, label from o, c, i, l where o.n = c.n and o.m = i.m and l.v = o.v",
            "5 0.5 five | 7 1.5 VII",
        ),
        (
            "select label, sum(w * v) from o join l using (v) join i using (m) group by label",
            "VII 10.5 | five 2.5",
        ),
        (
            "select a.n, b.n from c a join c b on a.n = b.n and a.m > 10",
            "2 2 | 3 3",
        ),
        (
            "select v from (o join c on o.n = c.n) join i on i.m = o.m",
            "5 | 7",
        ),
    ]);
}

#[test]
fn rows_that_are_the_same() {
    let banks = World::new(3)
        .table(
            0,
            "a",
            "id char(4) not null unique, owed decimal(8,2)",
            "ann 10.50 | bob 3.00 | cy null | dee -2.25",
        )
        .table(
            1,
            "b",
            "id char(4) unique, owed decimal(8,2)",
            "dee 5.00 | ann 1.50 | cy 2.00 | bob 7.75 | null 9.00",
        )
        .with(|table| (table.same_rows_as, table.max_rows) = (Some("a".into()), 6))
        .table(
            2,
            "c",
            "key char(4) unique, since date, other char(4) unique",
            "bob 2020-01-01 ann | dee 2021-01-01 x | ann null bob | cy 2019-05-05 cy",
        )
        .with(|table| table.same_rows_as = Some("b".into()));
    banks.answers(&[
        ("select id, a.owed + b.owed from a join b using (id)", "ann 12.00 | bob 10.75 | cy null | dee 2.75"),
        ("select a.id, b.id from a join b on a.id = b.id where a.owed > 0", "ann ann | bob bob"),
        ("select a.id from a join b on a.id = b.id where a.owed > 0 and b.owed > 2", "bob"),
        ("select a.id from a join b on a.id = b.id and a.owed < b.owed", "bob | dee"),
        ("select a.id from a join b on a.id = b.id and a.owed - 4.5 = b.owed", ""),
        ("select id, sum(n) from (select a.id, 1 as n from a join b using (id) union all select id, 10 from b) u group by id", "null 10 | ann 11 | bob 11 | cy 11 | dee 11"),
        // Two columns of c are unique: none is that of the promise, but rows may be looked up by either.
        ("select a.id, since from a join c on a.id = c.key", "ann null | bob 2020-01-01 | cy 2019-05-05 | dee 2021-01-01"),
        ("select id, key from a join c on a.id = c.other", "ann bob | bob ann | cy cy"),
        ("select id, key from a left join c on a.id = c.other", "ann bob | bob ann | cy cy | dee null"),
    ]);
    let three = World::new(3)
        .table(0, "a", "id i32 not null unique, x u8", "-5 1 | 3 2 | 70000 3")
        .table(1, "b", "id i32 not null unique, y u8", "70000 30 | -5 10 | 3 20")
        .with(|table| table.same_rows_as = Some("a".into()))
        .table(
            2,
            "c",
            "id i32 not null unique, z u8",
            "3 200 | 70000 null | -5 100",
        )
        .with(|table| table.same_rows_as = Some("a".into()));
    three.answers(&[
        (
            "select id, x + y + z from a join b using (id) join c using (id)",
            "-5 111 | 3 222 | 70000 null",
        ),
        (
            "select x from a, b, c where a.id = c.id and b.id = a.id and x > 1 and y < 30 and z > 0",
            "2",
        ),
        (
            "select x from a, b, c where a.id = b.id and b.id = c.id and c.id = a.id",
            "1 | 2 | 3",
        ),
        (
            "select x from a join b on a.id = b.id join c on b.id = c.id and a.x * 100 = c.z",
            "1 | 2",
        ),
        ("select count(*) from a join b using (id) where x + y > 20", "2"),
        (
            "select x, z from a left join c using (id)",
            "1 100 | 2 200 | 3 null",
        ),
    ]);
}
