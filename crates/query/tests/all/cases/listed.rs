//! Columns whose values are listed.

use crate::common::World;

/// Two tables of two parties, with lists of their values or without.
pub(crate) fn world(lists: [&str; 3]) -> World {
    let [mode, kind, other] = lists;
    World::new(3)
        .table(
            0,
            "a",
            &format!("id u8 not null unique, mode char(8){mode}, n u8"),
            "1 air 5 | 2 ship 6 | 3 null 7 | 4 rail 8 | 5 air 9 | 6 '' 1",
        )
        .table(
            1,
            "b",
            &format!("id u8 not null unique, kind char(10){kind}, mode char(8){other}"),
            "1 new air | 2 old rail | 3 new ship | 4 null null | 5 old air | 7 odd ship",
        )
}

const MODES: &str = " values air,rail,,ship,truck";
const KINDS: &str = " values odd,new,old";

const QUERIES: &[&str] = &[
    "select a.id, a.mode, kind from a join b using (id)",
    "select a.id, a.mode as m from a left join b using (id) where kind is null or kind <> 'odd'",
    "select kind, count(*), min(a.mode), max(a.mode), count(a.mode) from a join b using (id) group by kind",
    "select a.mode, sum(n) from a join b using (id) group by a.mode order by a.mode desc limit 3",
    "select distinct a.mode from a join b using (id)",
    "select a.id from a join b using (id) where a.mode = b.mode",
    "select a.id from a join b using (id) where a.mode < b.mode or a.mode >= 'rail'",
    "select count(*) from a join b using (id) where a.mode = 'zeppelin' or a.mode > 'b' and kind in ('new', 'none')",
    "select count(*) from a join b using (id) where 'b' < a.mode and not ('b' > kind)",
    "select a.id, case when n > 6 then a.mode else 'rail' end as c, case when n > 6 then a.mode end as d from a join b using (id)",
    "select a.id, case when n > 6 then a.mode else 'plane' end as c, coalesce(kind, '?') as k from a join b using (id)",
    "select a.id, coalesce(a.mode, b.mode) as m, coalesce(a.mode, 'air') as v from a join b using (id)",
    "select a.id from a join b using (id) where a.mode like 'a%' or kind like '%d'",
    "select mode from a union all select mode from b order by 1",
    "select mode, count(*) from (select mode from a union all select kind from b) u group by mode",
    "select a.mode, c.id from a join (select max(id) as id, mode from b group by mode) c on a.mode = c.mode",
    "select b.id, kind, n from b left join (select max(n) as n, mode from a group by mode) c on b.mode = c.mode",
    "select mode from a where mode in (select mode from b where kind = 'old')",
    "select kind from b where not exists (select * from a where a.mode = b.mode and a.id = b.id)",
    "select upper(a.mode) as u, count(*) from a join b using (id) group by upper(a.mode)",
    "select a.mode, kind, count(*) from a join b using (id) group by a.mode, kind having max(kind) > 'new'",
    "select mode from a intersect select mode from b",
    "select mode, count(distinct kind) from b join a using (id, mode) group by mode",
    "select id, mode from a where n > (select avg(id) from b) order by mode, id offset 1",
];

#[test]
fn listed_values_are_values() {
    let plain = world(["", "", ""]);
    for lists in [
        [MODES, KINDS, MODES],
        [MODES, "", " values ship,rail,air"],
        ["", KINDS, MODES],
    ] {
        let listed = world(lists);
        for sql in QUERIES {
            let right = plain.ask(sql);
            assert!(!right.contains("line 1"), "{sql}: {right}");
            assert_eq!(listed.ask(sql), right, "{sql}, {lists:?}");
        }
    }
}

#[test]
fn listed_values_take_fewer_bits() {
    let bits = |lists: [&str; 3], sql: &str| {
        fn most(step: &cenote_query::Explained) -> u64 {
            let own = if step.owner.is_none() { step.bits } else { 0 };
            step.of.iter().map(most).fold(own, u64::max)
        }
        let explained = world(lists).plan(sql).unwrap().explained();
        explained.of.iter().map(most).max().unwrap()
    };
    for sql in [QUERIES[2], QUERIES[3], QUERIES[5], QUERIES[17]] {
        let (listed, plain) = (bits([MODES, KINDS, MODES], sql), bits(["", "", ""], sql));
        assert!(listed < 40 && plain > 64, "{sql}: {listed} {plain}");
    }
}

#[test]
fn values_that_are_not_listed() {
    let told = world([" values air,ship,rail", "", ""]).ask(QUERIES[0]);
    assert_eq!(
        told,
        "table a: column mode has a value that `values` does not list"
    );
}

/// Conditions on a listed value ask for its place.
#[test]
fn conditions_on_listed_values() {
    let plain = world(["", "", ""]);
    let [listed, texts] = [[MODES, KINDS, MODES], ["", "", ""]].map(|lists| {
        let mut secret = world(lists);
        secret.schema.secret_only = true;
        secret
    });
    let (mut few, mut many) = (0, 0);
    for condition in [
        "a.mode like 'a%'",
        "a.mode like '%i%'",
        "a.mode not like '%r%'",
        "a.mode ilike 'S%'",
        "a.mode like '%'",
        "a.mode like '_%'",
        "a.mode like '%z'",
        "kind like '%d' or kind like 'n_w'",
        "ends_with(kind, 'd')",
        "(kind like '%d') is null",
        "a.mode like null",
        "'air' like a.mode",
        "case when n > 6 then a.mode else 'rail' end like '%r'",
    ] {
        let sql = format!("select id, {condition} as c from a join b using (id) order by 1");
        assert_eq!(listed.run(&sql), plain.run(&sql), "{condition}");
        let gates = |world: &World| {
            let query = world.plan(&sql).ok()?;
            Some(query.tally(Default::default()).unwrap().and_gates)
        };
        if let (Some(of_places), Some(of_texts)) = (gates(&listed), gates(&texts)) {
            few += of_places;
            many += of_texts;
        }
    }
    assert!(few < many, "{few} {many}");
}
