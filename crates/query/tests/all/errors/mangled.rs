//! Queries with words out of place: they are refused or run, and nothing panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cenote_query::Query;

use crate::differential::{Case, Random, number};

/// What random queries do not have.
const WORDS: [&str; 40] = [
    "(",
    ")",
    ",",
    "*",
    "-",
    "/",
    "%",
    "=",
    "0",
    "1",
    "99999999999999999999999999999999999999",
    "0.00000000000000000000000000000000000001",
    "null",
    "''",
    "'a%'",
    "'2024-01-01'",
    "date '9999-12-31'",
    "interval '1' month",
    "and",
    "or",
    "not",
    "is null",
    "in",
    "between",
    "like",
    "case",
    "end",
    "distinct",
    "group by",
    "having",
    "order by",
    "limit 1",
    "union all",
    "left join",
    "using (id)",
    "count(*)",
    "sum(",
    "coalesce(",
    "cast(",
    "as decimal(38,38))",
];

/// Constants that random queries do not have.
const CONSTANTS: [&str; 12] = [
    "null",
    "99999999999999999999999999999999999999",
    "-99999999999999999999999999999999999999",
    "0.00000000000000000000000000000000000001",
    "18446744073709551616.5",
    "-1",
    "''",
    "'2024-01-01'",
    "date '+999999-12-31'",
    "timestamp '1969-12-31 23:59:59.999999'",
    "(1 = 0)",
    "'ä'",
];

fn is_value(word: &str) -> bool {
    word.contains('.') || word.starts_with(|first: char| first.is_ascii_digit() || first == '\'')
}

/// The words of a query, with some left out, repeated, exchanged or replaced: mostly columns and constants by others.
fn mangled(sql: &str, random: &mut Random) -> String {
    let spaced = sql.replace('(', " ( ").replace(')', " ) ").replace(',', " , ");
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    let values: Vec<usize> = (0..words.len()).filter(|&at| is_value(words[at])).collect();
    for _ in 0..1 + random.below(2) {
        if random.chance(75) && !values.is_empty() {
            let other = words[random.pick(&values)];
            words[random.pick(&values)] = if random.chance(50) {
                other
            } else {
                random.pick(&CONSTANTS)
            };
            continue;
        }
        let (at, other) = (random.below(words.len()), random.below(words.len()));
        match random.below(4) {
            0 => words[at] = "",
            1 => words[at] = words[other],
            2 => words.swap(at, other),
            _ => words[at] = random.pick(&WORDS),
        }
    }
    words.join(" ")
}

/// Queries in a run that is not told how many by `CENOTE_MANGLED`: each is mangled twice.
const FEW: u64 = 400;

#[test]
fn nothing_panics() {
    let count = number("CENOTE_MANGLED").unwrap_or(FEW);
    let (mut planned, mut wrong) = (0, Vec::new());
    for seed in 0..count {
        let Case { world, asked } = Case::new(seed);
        let mut random = Random::new(seed);
        for _ in 0..2 {
            let sql = mangled(&asked.ours, &mut random);
            let found = catch_unwind(AssertUnwindSafe(|| {
                let is_planned = Query::new(&sql, world.schema.clone()).is_ok();
                if is_planned {
                    world.run(&sql);
                }
                is_planned
            }));
            match found {
                Ok(is_planned) => planned += u64::from(is_planned),
                Err(_) => wrong.push(format!("seed {seed}: {sql}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(planned > count / 10, "{planned} were planned");
}
