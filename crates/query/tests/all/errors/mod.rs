//! What is refused, and what becomes of promises that are not kept.

mod declared;
mod limits;
mod mangled;
mod often;
mod promises;
mod stack;

use crate::common::{Outcome, World};

fn world() -> World {
    World::new(2)
        .table(
            0,
            "a",
            "id u32 unique, x i32, d date, s char(4), p bool, n decimal(38,30), m timestamp",
            "1 2 2024-01-01 ab true 0.5 2024-01-01T00:00",
        )
        .table(1, "b", "id u32, y i16 at_most 3, s char(2), x i8", "1 2 c 3")
}

/// Each query of refused.txt is refused where it is wrong, in these words.
#[test]
fn queries_that_are_refused() {
    let (world, mut queries) = (world(), 0);
    let (mut sql, mut wrong) = (String::new(), Vec::new());
    for line in include_str!("refused.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let Some(told) = line.strip_prefix("    ") else {
            sql = [&sql, line]
                .iter()
                .filter(|part| !part.is_empty())
                .map(|part| part.as_ref())
                .collect::<Vec<&str>>()
                .join("\n");
            continue;
        };
        let (at, what) = told.split_once(' ').unwrap();
        let at = match at.split_once(':') {
            None => String::new(),
            Some((line, column)) => format!(", line {line}, column {column}"),
        };
        let right = Outcome::Refused(format!("the query{at}: {what}"));
        match world.run(&sql) {
            outcome if outcome == right => (),
            outcome => wrong.push(format!("{sql}\n  is: {outcome:?}\n  should be: {right:?}")),
        }
        sql.clear();
        queries += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(queries > 150, "{queries} queries");
}
