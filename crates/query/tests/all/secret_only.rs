//! Queries in which owners compute nothing alone: the same answers, for which they give no more than their rows.

use crate::common::{Outcome, World};

fn world(secret_only: bool) -> World {
    let mut world = World::new(3)
        .table(
            0,
            "a",
            "id u8 unique, x i32, s char(3)",
            "1 10 a | 2 20 b | 3 30 c | null 5 d",
        )
        .table(1, "b", "id u8 unique, y i32", "1 5 | 2 6 | 4 8")
        .table(
            2,
            "c",
            "id u8, z decimal(6,2)",
            "1 1.50 | 1 2.50 | 3 3.50 | 9 null",
        )
        .table(1, "d", "id u8 unique, w u8", "1 1 | 2 2 | 4 3")
        .with(|table| table.same_rows_as = Some("b".into()));
    world.schema.secret_only = secret_only;
    world
}

const QUERIES: [&str; 8] = [
    "select sum(x) from a where x > 10",
    "select count(*), left(s, 1) as l from a where s like '%a%' or s not like '_' or s like 'b' group by l order by l",
    "select s, x + 1 from a where s <> 'b' order by x",
    "select id, count(*), sum(z) from c group by id order by id",
    "select a.id, x + y from a join b using (id) where x > y",
    "select b.id, y, w from b join d using (id) where w > 1",
    "select a.id, z from c left join a using (id) order by z",
    "select id from a union select id from b union select id from c",
];

#[test]
fn answers_are_the_same() {
    for sql in QUERIES {
        let outcome = world(true).run(sql);
        assert!(matches!(outcome, Outcome::Answer(_)), "{sql}: {outcome:?}");
        assert_eq!(outcome, world(false).run(sql), "{sql}");
    }
}

#[test]
fn owners_only_give_the_columns_that_are_used() {
    for sql in QUERIES {
        let tree = world(true).plan(sql).unwrap().explained().tree();
        let alone: Vec<&str> = tree
            .lines()
            .filter(|line| line.contains("in the clear"))
            .collect();
        assert!(!alone.is_empty());
        for step in alone {
            assert!(step.trim_start().starts_with("read "), "{sql}\n{tree}");
        }
    }
    let tree = world(true).plan(QUERIES[0]).unwrap().explained().tree();
    assert!(tree.contains("read x of a"), "{tree}");
}

/// What only an owner can compute is refused, and so are joins of which only an owner can put the rows together.
#[test]
fn what_takes_an_owner_is_refused() {
    let upper = world(true).run("select x from a where upper(s) = 'A'");
    assert!(
        matches!(&upper, Outcome::Refused(what) if what.contains("UPPER has no secret computation")),
        "{upper:?}"
    );
    let repeated = world(true)
        .table(0, "e", "id u8 at_most 2, v u8", "1 1 | 1 2")
        .run("select b.id, v from c join e using (id) join b using (id)");
    assert!(matches!(&repeated, Outcome::Refused(_)), "{repeated:?}");
}
