//! How long and how deep a query may be: what is longer or deeper is refused, and never a panic, an overflow of the stack or a wait.

use super::world;
use crate::common::World;

fn refused(sql: &str, what: &str) {
    let found = world().ask(sql);
    assert!(found.contains(what), "{}… {found}", &sql[..sql.len().min(100)]);
}

#[test]
fn text() {
    refused(
        &format!("select x from a where x = {}", " ".repeat(1 << 16)),
        "it has more than 65536 bytes",
    );
    refused(
        &format!("select '{}' from a", "a".repeat(256)),
        "line 1, column 8: text has at most 255 bytes",
    );
    refused("select '\0' from a", "text has no zero bytes");
    refused(
        "select x from a where s like 'a\0%'",
        "LIKE takes a fixed beginning",
    );
}

#[test]
fn words() {
    let ors = |count: usize| format!("select x from a where x = 1{}", " or x = 2".repeat(count));
    refused(
        &ors(1000),
        "it has more than 2000 words and signs besides constants and commas",
    );
    refused(
        &format!("select x from a{}", " union all select x from a".repeat(450)),
        "more than 2000 words",
    );
    let world = world();
    assert_eq!(world.ask(&ors(600)), "2");
    let numbers: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
    assert_eq!(
        world.ask(&format!("select x from a where x in ({})", numbers.join(", "))),
        "2"
    );
}

#[test]
fn depth() {
    let nested = |count: usize| format!("select {}x{} from a", "(".repeat(count), ")".repeat(count));
    refused(
        &nested(50),
        "its parts stand within one another more than 40 deep",
    );
    refused(
        &format!("select x{} from a", " + 1".repeat(100)),
        "line 1, column 8: this stands within 100 others",
    );
    refused(
        &format!("select {}x from a", "- ".repeat(60)),
        "more than 40 deep",
    );
    refused(
        &format!("select x from a where x{}", " is null".repeat(300)),
        "this stands within 100 others",
    );
    let world = world();
    assert_eq!(world.ask(&nested(12)), "2");
    assert_eq!(world.ask(&format!("select x{} from a", " + 1".repeat(90))), "92");
}

/// Parts that are written once and computed again and again.
#[test]
fn size() {
    let abs = |count: usize| format!("select {}x{} from a", "abs(".repeat(count), ")".repeat(count));
    refused(
        &abs(12),
        "this has more than 65536 parts; write a part of it in a subquery",
    );
    let doubled: Vec<String> = (1..60)
        .map(|at| format!("t{at} as (select x + x as x from t{})", at - 1))
        .collect();
    let doubled = format!(
        "with t0 as (select x from a), {} select x from t59",
        doubled.join(", ")
    );
    refused(
        &doubled,
        "with the subqueries put in, this has expressions of more than 65536 parts",
    );
    let joined: Vec<String> = (1..30)
        .map(|at| {
            format!(
                "t{at} as (select p.id from t{0} p join t{0} q on p.id = q.id)",
                at - 1
            )
        })
        .collect();
    let joined = format!(
        "with t0 as (select id from a), {} select id from t29",
        joined.join(", ")
    );
    refused(
        &joined,
        "with subqueries put in wherever they are named, it is of more than 64 tables",
    );
    let world = world();
    assert_eq!(world.ask(&abs(6)), "2");
    let many = ", x".repeat(30);
    assert_eq!(
        world.ask(&format!("select greatest(1{many}), coalesce(null{many}) from a")),
        "2 2"
    );
}

#[test]
fn rows() {
    let mut world =
        World::new(2)
            .table(0, "a", "k u8 at_most 200", "1")
            .table(1, "b", "k u8 at_most 200", "1");
    world
        .schema
        .tables
        .iter_mut()
        .for_each(|table| table.max_rows = 1 << 22);
    let what = "this has up to 838860800 rows, and 268435456 is the most: make `max_rows` or `at_most` of the tables smaller";
    let left = world.ask("select a.k from a left join b on a.k = b.k");
    assert!(left.ends_with(what), "{left}");
    world
        .schema
        .tables
        .iter_mut()
        .for_each(|table| table.max_rows = 1 << 28);
    let union = world.ask("select k from a union all select k from b");
    assert!(union.contains("this has up to 536870912 rows"), "{union}");
}
