//! What is public is sizes: on tables of the same declaration, all parties send messages of the same sizes in the same order.

use std::time::Duration;

use cenote_net::{Label, PartyId};
use cenote_program::{Abilities, Session};
use cenote_protocol::{MaterialSource, Protocol};
use cenote_query::{Count, Query};
use cenote_session::{ClearEngine, Connections, Parties, Topology};
use cenote_testkit::{Sent, Transcript};
use cenote_three::Three;

use crate::common::{Outcome, World, outcome, party, rows};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Tables of three parties, declared alike.
fn world(a: &str, b: &str, c: &str, d: &str) -> World {
    let with = |rows: usize| move |table: &mut cenote_query::Declared| table.max_rows = rows;
    World::new(3)
        .table(0, "a", "id i16 unique, x i32, s char(3)", a)
        .with(with(7))
        .table(1, "b", "id i16 at_most 3, y i32", b)
        .with(with(6))
        .table(2, "c", "id i16 unique, z decimal(6,2)", c)
        .with(with(5))
        .table(1, "d", "id i16 unique, w u8", d)
        .with(|table| (table.max_rows, table.same_rows_as) = (5, Some("c".into())))
}

/// What each party sent over each channel, and what it was told.
type Recorded = (Vec<Vec<Vec<Sent>>>, Vec<crate::common::Told>);

/// Many matches and few, many rows and none, values that are large and small, nulls and ties.
fn worlds() -> [World; 3] {
    [
        world(
            "1 10 a | 2 20 b | 3 30 c",
            "1 5 | 1 6 | 1 7 | 2 8",
            "1 1.50 | 2 2.50 | 3 3.50",
            "3 3 | 2 2 | 1 1",
        ),
        world("", "", "", ""),
        world(
            "-9 -2000000000 zzz | null null null | 7 2000000000 '' | null 0 '' | 8 0 '' | 100 0 z | 5 5 a",
            "7 -1 | 7 -1 | 8 null | null 3 | null 4 | 5 5",
            "7 -99.99 | 8 null | -5 0.00 | null 1.00 | 100 1.00",
            "-5 255 | 100 0 | 7 null | null 1 | 8 8",
        ),
    ]
}

const QUERIES: [&str; 12] = [
    "select a.id, x + z from a join c using (id) where x > 0",
    "select a.id, y from a join b using (id) where y > 5 or x < 0",
    "select s, y from a left join b on a.id = b.id and b.y <> 6",
    "select s, count(*), sum(x * z), avg(y) from a join b using (id) join c using (id) group by s having count(*) > 1",
    "select id, count(*) as n from (select id from a union all select id from b) u group by id order by n desc limit 2",
    "select x from a join c using (id) order by z desc, s limit 3",
    "select c.id, w + z from c join d using (id) where w > 1 and z > 0",
    "select id from a union select id from c union select id from b where y > 0",
    "select case when w > 1 then x / w else x end from a join d using (id) where s like 'a%'",
    "select id, rank() over (order by x, z) r, lag(z) over (partition by s order by x) l from a join c using (id)",
    "select median(v) m, percentile_disc(0.9) within group (order by v) p from (select x as v from a union all select y from b) u",
    "select s, grouping(s), stddev(x), corr(x, y) from a join b using (id) group by rollup(s)",
];

/// Runs a query over channels that record what each party sends: for each party, and each of its channels.
fn recorded(
    topology: &Topology,
    run: impl Fn(PartyId, Connections) -> crate::common::Told + Sync,
) -> (Vec<Vec<Vec<Sent>>>, Vec<crate::common::Told>) {
    let mut transcripts: Vec<Vec<Transcript>> = Vec::new();
    let mut all = Vec::new();
    for connections in Connections::in_memory(topology, TIMEOUT) {
        let mut own = Vec::new();
        all.push(connections.map(|channel| {
            let transcript = Transcript::default();
            own.push(transcript.clone());
            Box::new(transcript.observe(channel, Label::from("any")))
        }));
        transcripts.push(own);
    }
    let told = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..)
            .map(PartyId)
            .zip(all)
            .map(|(me, connections)| scope.spawn(move || run(me, connections)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let sent = transcripts
        .iter()
        .map(|own| own.iter().map(Transcript::sent).collect());
    (sent.collect(), told)
}

fn take_part(query: &Query, world: &World, session: &Session) -> crate::common::Told {
    let told = party(query, session, &|query, me| query.prepare(me, &world.own(me))).unwrap();
    session.finish().unwrap();
    told
}

/// What is sent in the clear: an input that goes to all, and what is opened.
fn in_the_clear(query: &Query, world: &World) -> (Vec<Vec<Vec<Sent>>>, Vec<crate::common::Told>) {
    let topology = Topology {
        name: "clear".into(),
        parties: 3,
        workers: 1,
        purposes: &["values"],
        shared: &[],
    };
    recorded(&topology, |me, connections| {
        take_part(
            query,
            world,
            &Session::new(ClearEngine::new(me, connections.channels())),
        )
    })
}

fn in_three(query: &Query, world: &World) -> (Vec<Vec<Vec<Sent>>>, Vec<crate::common::Told>) {
    let protocol = Three::default();
    let tally = query.tally(Abilities::THREE).unwrap();
    let demand = tally.demand();
    recorded(&protocol.topology(), |me, connections| {
        let prepared = protocol.prepare(&demand).unwrap();
        let mut engine = protocol
            .start(prepared, me, connections, "in memory", MaterialSource::Live)
            .unwrap();
        demand.announce(&mut engine).unwrap();
        take_part(query, world, &Session::new(engine))
    })
}

fn sizes_are_those_of_the_declaration(of: fn(&Query, &World) -> Recorded, queries: &[&str]) {
    for sql in queries {
        for to in [Parties::all(3), Parties::one(PartyId(2))] {
            let mut seen: Vec<Vec<Vec<Vec<Sent>>>> = Vec::new();
            let mut answers = Vec::new();
            for mut world in worlds() {
                world.schema.answer.to = to;
                world.schema.answer.count = Count::AtMost(12);
                let query = Query::new(sql, world.schema.clone()).unwrap();
                let (sent, told) = of(&query, &world);
                let Outcome::Answer(table) = outcome(&query, told) else {
                    panic!("{sql} has no answer")
                };
                assert!(sent.iter().flatten().flatten().count() > 0);
                seen.push(sent);
                answers.push(rows(&table));
            }
            assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{sql}");
            answers.dedup();
            assert!(answers.len() > 1, "{sql}: the answers should differ: {answers:?}");
        }
    }
}

#[test]
fn messages_in_the_clear() {
    sizes_are_those_of_the_declaration(in_the_clear, &QUERIES);
}

#[test]
fn messages_of_three() {
    sizes_are_those_of_the_declaration(in_three, &QUERIES);
}

/// What a query takes is known with all rows that it may have, where how many there are is told in the end.
#[test]
fn what_is_revealed_in_the_end_is_counted() {
    let mut world = worlds()[0].clone();
    world.schema.answer.to = Parties::one(PartyId(2));
    world.schema.answer.count = Count::Revealed;
    let tally = world
        .plan(QUERIES[0])
        .unwrap()
        .tally(Abilities::default())
        .unwrap();
    let bits = tally
        .outputs
        .iter()
        .find(|(to, _)| *to == [2])
        .map(|(_, bits)| *bits);
    // Seven rows, and at least whether each counts and its id.
    assert!(bits.is_some_and(|bits| bits >= 7 * 17), "{:?}", tally.outputs);
}
