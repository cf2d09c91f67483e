//! Functions of texts that are secret: what they give is what owners compute in the clear.

use crate::common::{Outcome, World};
use crate::differential::Random;

/// Queries of patterns and parts in one test.
const QUERIES: usize = 12;
/// Results of one query.
const RESULTS: usize = 8;

/// Characters of one byte to four.
const CHARACTERS: [&str; 6] = ["a", "b", "a", "é", "€", "😀"];

/// Random characters that take at most so many bytes.
fn text(random: &mut Random, characters: &[&str], bytes: usize) -> String {
    let mut text = String::new();
    for _ in 0..random.below(bytes + 2) {
        let next = random.pick(characters);
        if text.len() + next.len() <= bytes {
            text += next;
        }
    }
    text
}

/// A table of these texts, which take at most so many bytes, and a null.
fn world(texts: &[String], bytes: usize) -> World {
    let cell = |(at, text): (usize, &String)| match text.as_str() {
        "" => format!("{at} ''"),
        text => format!("{at} {text}"),
    };
    let rows: Vec<String> = texts.iter().enumerate().map(cell).collect();
    let rows = format!("{} | 99 null", rows.join(" | "));
    World::new(2).table(0, "a", &format!("id u8 not null, s char({bytes})"), &rows)
}

/// Asserts that results are the same where an owner computes them and where they are secret.
fn agree(world: &World, results: &[String]) {
    let sql = format!("select id, {} from a order by id", results.join(", "));
    let mut secret = world.clone();
    secret.schema.secret_only = true;
    let outcome = secret.run_by(true, &sql, |query, me| query.prepare(me, &secret.own(me)));
    assert!(matches!(outcome, Outcome::Answer(_)), "{sql}: {outcome:?}");
    assert_eq!(outcome, world.run(&sql), "{sql}\n{}", world.told());
}

/// Worlds of random texts, and results for each.
fn random_results(seed: u64, result: impl Fn(&mut Random, usize) -> String) {
    let mut random = Random::new(seed);
    for _ in 0..QUERIES {
        let bytes = 1 + random.below(7);
        let texts: Vec<String> = (0..25).map(|_| text(&mut random, &CHARACTERS, bytes)).collect();
        let results: Vec<String> = (0..RESULTS).map(|_| result(&mut random, bytes)).collect();
        agree(&world(&texts, bytes), &results);
    }
}

#[test]
fn random_patterns() {
    let pieces = [
        "a", "b", "é", "€", "%", "%", "_", "%a", "a%", "!%", "!_", "!!", "%_",
    ];
    random_results(1, |random, bytes| {
        let pattern = text(random, &pieces, bytes + 2);
        let not = random.pick(&["", "not "]);
        format!("s {not}like '{pattern}%%' escape '!', s like '{pattern}' escape '!'")
    });
}

#[test]
fn random_parts() {
    random_results(2, |random, bytes| {
        let (from, count) = (random.within(-2, bytes as i64 + 1), random.below(bytes + 2));
        let parts = [
            format!("substring(s from {from} for {count})"),
            format!("substr(s, {from})"),
            format!("left(s, {count})"),
            format!("substring(s from {from} for {count}) like '%a'"),
        ];
        random.pick(&parts)
    });
}

#[test]
fn patterns_at_their_edges() {
    let texts = [
        "", "a", "aa", "aaa", "aaaa", "ab", "aba", "abab", "babab", "aabaa", "abcab", "%a_b",
    ];
    let patterns = [
        "%%", "%aa%aa%", "%aaa%", "a%a", "%a", "_%_", "%ab%ab", "ab%ab%", "%b%b%", "_____", "%_____%",
        "aab_a", "%aabaa%", "%aabaaa", "%!%%", "a!_", "%!_b", "_%", "%_",
    ];
    let texts = texts.map(str::to_owned);
    let results = patterns.map(|pattern| format!("s like '{pattern}' escape '!'"));
    let world = world(&texts, 5);
    agree(&world, &results);
    let more = [
        "ends_with(s, 'ab')",
        "ends_with(s, '')",
        "s like '%b' is null",
        "case when s like '%b%' then left(s, 2) else s end",
        "substr(s, -3, 5)",
        "substr(s, 9223372036854775807, 9223372036854775807)",
        "left(s, 300)",
        "substr(s, 2, -1)",
        "substring(left(s, 3), 2) like 'b_'",
        "coalesce(s, 'b') not like '%a%'",
    ];
    agree(&world, &more.map(str::to_owned));
}

/// Functions of the columns of two parties meet in one.
#[test]
fn texts_of_several_parties() {
    let world = World::new(2)
        .table(
            0,
            "a",
            "id u8 unique, s char(6)",
            "1 xab | 2 bab | 3 null | 4 aba",
        )
        .table(1, "b", "id u8 unique, t char(4)", "1 cab | 2 c | 3 acb | 4 ccc");
    world.answers(&[
        (
            "select a.id from a join b using (id) where coalesce(s, t) like '%a_' or coalesce(t, s) like '%b' order by 1",
            "1 | 2 | 3",
        ),
        (
            "select left(case when a.id > 1 then s else t end, 2) as l, count(*) from a join b using (id) group by l order by l",
            "ab 1 | ba 1 | ca 1 | null 1",
        ),
        (
            "select count(*) from a join b using (id) group by left(s, 1) having max(t) like '%c%' and min(t) not like '%a%' order by 1",
            "1 | 1",
        ),
    ]);
}
