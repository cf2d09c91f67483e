//! Keys of tables: what depends on them, and what is promised of them.

use crate::common::{Outcome, World};

/// Clerks of one party, what each sold of what in which shop, and the shops of the other.
fn world() -> World {
    World::new(2)
        .table(
            0,
            "clerk",
            "id u16 not null unique, name char(12) not null, shop u8",
            "7 ann 1 | 8 ann 2 | 9 bob 1 | 10 cy null",
        )
        .table(
            1,
            "shop",
            "no u8 not null unique, town char(10), size u8",
            "1 rome 5 | 2 oslo 6 | 3 null 7",
        )
        .table(
            1,
            "sold",
            "clerk u16 not null unique_with what, what u16 not null, price u16 below 600",
            "7 1 500 | 7 2 80 | 8 1 70 | 9 2 null | 11 1 9",
        )
}

/// The first columns by which `sql` sorts its groups, as its plan tells them.
fn grouped_by(world: &World, sql: &str) -> String {
    let tree = world.plan(sql).unwrap().explained().tree();
    let line = tree
        .lines()
        .find(|line| line.contains("group by") || line.contains("once"));
    let line = line.unwrap_or_else(|| panic!("{tree}")).trim();
    let line = line.split(" (").next().unwrap();
    line.to_owned()
}

#[test]
fn what_depends_on_a_key_is_not_sorted_by() {
    let world = world();
    let of_clerks = "select id, name, town, size * 2 as double, sum(price), count(*) from clerk join sold on id = clerk \
                     join shop on no = shop group by id, name, town, size * 2";
    world.answers(&[(
        of_clerks,
        "7 ann rome 10 580 2 | 8 ann oslo 12 70 1 | 9 bob rome 10 null 1",
    )]);
    let groups = grouped_by(&world, of_clerks);
    assert!(
        groups.starts_with("group by sold.clerk: ") || groups.starts_with("group by clerk.id: "),
        "{groups}"
    );
    assert!(groups.contains("clerk.name as it is in all rows"), "{groups}");
    // A key of a join stands for the other side's, and rows that are not found are null alike.
    let left = "select clerk, name, shop, count(*) from sold left join clerk on id = clerk group by clerk, name, shop";
    world.answers(&[(left, "7 ann 1 2 | 8 ann 2 1 | 9 bob 1 1 | 11 null null 1")]);
    assert!(
        grouped_by(&world, left).starts_with("group by sold.clerk, in whose order rows come: clerk.name as")
    );
    let distinct = "select distinct name, id, shop from clerk join sold on id = clerk";
    world.answers(&[(distinct, "ann 7 1 | ann 8 2 | bob 9 1")]);
    assert!(grouped_by(&world, distinct).contains("as it is in all rows"));
    // Two columns are a key together, and neither is alone.
    let both = "select clerk, what, price, max(size) from sold join clerk on id = clerk join shop on no = shop group by price, what, clerk";
    world.answers(&[(both, "7 1 500 5 | 7 2 80 5 | 8 1 70 6 | 9 2 null 5")]);
    let groups = grouped_by(&world, both);
    assert!(
        groups.contains("sold.price as it is in all rows") && !groups.contains("what as"),
        "{groups}"
    );
}

#[test]
fn what_only_seems_to_depend_on_a_key() {
    // Nulls come more than once in a unique column.
    let world = World::new(2)
        .table(
            0,
            "a",
            "id u8 unique, x u8 not null unique",
            "1 5 | null 6 | null 7 | 2 8",
        )
        .table(1, "b", "x u8 unique, y u8", "5 50 | 6 60 | 7 70 | null 80");
    world.answers(&[
        ("select id, a.x, sum(y) from a join b using (x) group by id, a.x", "null 6 60 | null 7 70 | 1 5 50"),
        // Rows that are not found are null in a column that is null in rows that are.
        (
            "select y, v, count(*) from b left join (select id, x as v, max(id) as m from a group by id, x) s on v = b.x group by y, v",
            "50 5 1 | 60 6 1 | 70 7 1 | 80 null 1",
        ),
        (
            "select s.id, s.n, count(*) from b left join (select id, x, count(*) as n from a group by id, x) s on s.x = b.x group by s.id, s.n",
            "null null 1 | null 1 2 | 1 1 1",
        ),
    ]);
}

#[test]
fn several_columns_are_looked_up_by_together() {
    let world = World::new(2)
        .table(
            0,
            "stock",
            "part u8 not null unique_with maker, maker u8 not null, cost u8",
            "1 1 10 | 1 2 20 | 2 1 30 | 2 3 40",
        )
        .table(
            1,
            "item",
            "part u8, maker u8, n u8",
            "1 1 3 | 1 2 4 | 2 3 5 | 2 2 6 | 1 1 7 | null 1 8",
        );
    let sql = "select item.part, item.maker, n * cost as c from item join stock on item.part = stock.part and item.maker = stock.maker";
    world.answers(&[
        (sql, "1 1 30 | 1 1 70 | 1 2 80 | 2 3 200"),
        (
            "select sum(n * cost) from item, stock where stock.part = item.part and stock.maker = item.maker",
            "380",
        ),
        (
            "select n, cost from item left join stock using (part, maker)",
            "3 10 | 4 20 | 5 40 | 6 null | 7 10 | 8 null",
        ),
    ]);
    let refused = world.ask("select n, cost from item join stock using (part)");
    assert!(refused.contains("add `unique`"), "{refused}");
}

#[test]
fn numbers_below_a_bound_take_fewer_bits() {
    let columns = |promise: &str| {
        World::new(2)
            .table(
                0,
                "a",
                &format!("id u32 not null{promise}, x decimal(12,2)"),
                "1 0.5 | 900 2.5",
            )
            .table(
                1,
                "b",
                &format!("id u32 not null{promise} unique, y i64"),
                "900 7 | 5 -3",
            )
    };
    let sql = "select id, x * y from a join b using (id)";
    let (wide, narrow) = (columns(""), columns(" below 1000"));
    assert_eq!(
        (wide.ask(sql), narrow.ask(sql)),
        ("900 17.50".into(), "900 17.50".into())
    );
    let bits = |world: &World| {
        world
            .plan(sql)
            .unwrap()
            .explained()
            .of
            .iter()
            .map(|step| step.bits)
            .max()
    };
    assert!(bits(&narrow) < bits(&wide));
    // As many groups as numbers.
    let groups = World::new(2)
        .table(
            0,
            "a",
            "k u32 not null, g u16 not null below 3",
            "1 2 | 2 2 | 3 0 | 4 1 | 5 1",
        )
        .table(
            1,
            "b",
            "k u32 not null unique, y u8",
            "1 1 | 2 2 | 3 3 | 4 4 | 6 6",
        );
    let sql = "select g, sum(y) from a join b using (k) group by g";
    groups.answers(&[(sql, "0 3 | 1 4 | 2 3")]);
    assert_eq!(groups.plan(sql).unwrap().explained().rows, 3);
}

/// Customers of one party, their orders of another, and what was ordered of a third.
fn sales() -> World {
    World::new(3)
        .table(
            0,
            "customer",
            "id u16 not null unique, name char(60) not null, note char(90), since u16",
            "1 ann x 7 | 2 bob null 8 | 3 cy y 9 | 4 dan z null",
        )
        .table(
            1,
            "orders",
            "no u16 not null unique, customer u16 below 100",
            "10 1 | 11 2 | 12 1 | 13 null | 14 5 | 15 4",
        )
        .table(
            2,
            "item",
            "no u16 not null below 100, price u16 below 600",
            "10 5 | 10 7 | 11 20 | 12 1 | 13 500 | 14 90 | 16 3 | 15 null",
        )
}

const FROM: &str = "from customer join orders on id = customer join item on orders.no = item.no";

#[test]
fn what_groups_only_show_is_looked_up_behind_them() {
    let world = sales();
    let shown = format!("select id, name, note, sum(price), count(*) {FROM} group by id, name, note");
    world.answers(&[
        (&shown, "1 ann x 13 3 | 2 bob null 20 1 | 4 dan z null 1"),
        // What is found decides, too, and stands with what is made of groups.
        (
            &format!("select name, sum(price) * 2 {FROM} where since > 7 group by id, name having count(*) < 3"),
            "bob 40",
        ),
        (
            &format!("select upper(name), customer, max(price), note is null {FROM} group by customer, name, note order by 3 desc limit 2"),
            "BOB 2 20 true | ANN 1 7 false",
        ),
        (
            &format!("select note, count(price), avg(price), count(customer), min(since) {FROM} group by note, customer"),
            "null 1 20.000000 1 8 | x 3 4.333333 3 7 | z 0 null 1 null",
        ),
        // The groups are known by their keys afterwards.
        (
            &format!("select g.name, g.total, orders.no from orders join (select id, name, note, sum(price) as total {FROM} group by id, name, note) g on g.id = customer"),
            "ann 13 10 | ann 13 12 | bob 20 11 | dan null 15",
        ),
        (
            &format!("select g.name, v.no from orders v join (select customer, name, note, sum(price) {FROM} group by customer, name, note) g on g.customer = v.customer"),
            "ann 10 | ann 12 | bob 11 | dan 15",
        ),
        (
            &format!("select count(*) from (select distinct id, name, note {FROM}) d join customer c on c.id = d.id"),
            "3",
        ),
    ]);
    let late = world.plan(&shown).unwrap().explained().tree();
    assert!(late.starts_with("join on "), "{late}");
    assert!(
        late.contains("group by customer.id: SUM(item.price), COUNT(*)"),
        "{late}"
    );
}

#[test]
fn tables_that_others_know_are_looked_up_behind_groups() {
    let world = World::new(3)
        .table(
            0,
            "customer",
            "id u16 not null unique, name char(60) not null, nation u8 not null",
            "1 ann 1 | 2 bob 2 | 3 cy 1",
        )
        .table(
            1,
            "nation",
            "no u8 not null unique, name char(80) not null",
            "1 here | 2 there | 3 nowhere",
        )
        .table(
            2,
            "sale",
            "customer u16 not null, price u16",
            "1 3 | 2 4 | 1 8 | 3 null | 9 9",
        );
    let from = "from customer, nation, sale where nation = nation.no and customer = id";
    let sql = format!(
        "select id, customer.name, nation.name, sum(price) {from} group by id, customer.name, nation.name"
    );
    world.answers(&[(&sql, "1 ann here 11 | 2 bob there 4 | 3 cy here null")]);
    let late = world.plan(&sql).unwrap().explained().tree();
    assert!(
        late.contains(
            "group by customer.id, in whose order rows come: nation.no as it is in all rows, SUM(sale.price)"
        ),
        "{late}"
    );
}

/// What cannot be computed of a row that the query leaves out is not computed of it.
#[test]
fn what_is_shown_is_computed_of_the_rows_that_are_asked_for() {
    let world = World::new(2)
        .table(
            0,
            "customer",
            "id u16 not null unique, code char(4) not null, note char(30) not null, since u16 not null",
            "1 17 x 7 | 2 none y 3",
        )
        .table(1, "sale", "customer u16 not null, price u16", "1 5 | 2 6 | 1 7");
    let asked = |condition: &str| {
        format!(
            "select cast(code as integer), note, sum(price) from sale join customer on id = customer where {condition} group by id, code, note"
        )
    };
    let sql = asked("since > 3");
    world.answers(&[(&sql, "17 x 12")]);
    let late = world.plan(&sql).unwrap().explained().tree();
    assert!(
        late.contains("group by customer.id, in whose order rows come: SUM(sale.price)"),
        "{late}"
    );
    assert!(matches!(world.run(&asked("since > 0")), Outcome::Rows(_)));
}

#[test]
fn what_is_used_elsewhere_too_is_not_looked_up_behind_groups() {
    let world = sales();
    // A row that came twice could have one value when it is compared or added up, and another when it is shown.
    for sql in [
        format!("select id, name, sum(price) {FROM} where name > 'b' group by id, name"),
        format!("select id, name, max(name) {FROM} group by id, name"),
        format!("select name, sum(price + since) {FROM} group by name"),
        format!("select id, since, sum(price) {FROM} group by id, since"),
    ] {
        let tree = world.plan(&sql).unwrap().explained().tree();
        assert!(tree.starts_with("group by "), "{tree}");
    }
}
