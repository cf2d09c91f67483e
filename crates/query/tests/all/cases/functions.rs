//! Functions: of one party's columns, which it computes in the clear, and of the columns of several, which only some are computed of.

use super::expressions::are;
use crate::common::World;

#[test]
fn patterns() {
    are(&[
        ("t like '%b%'", "true true false true false"),
        ("t like '%b'", "true false false true false"),
        ("t like 'a_'", "true false false false false"),
        ("t like '_'", "false false true true false"),
        ("t like '_%c'", "false true false false false"),
        ("t not like '%z%'", "true true true true false"),
        ("t like '%%'", "true true true true true"),
        ("t ilike 'A%'", "true true true false false"),
        ("t ilike 'AB'", "true false false false false"),
        ("t like '%!%%' escape '!'", "false false false false false"),
        ("'a%c' like 'a!%c' escape '!'", "true true true true true"),
        ("'abc' like 'a!%c' escape '!'", "false false false false false"),
        ("s like s", "true true true null null"),
        ("'abab' like '%' || s || '%b'", "true true true null null"),
        ("t like null", "null null null null null"),
        ("'mississippi' like '%iss%ip%'", "true true true true true"),
        ("'ab\u{e9}' like 'ab_'", "true true true true true"),
    ]);
}

#[test]
fn texts() {
    are(&[
        ("upper(t)", "AB ABC A B ZZ"),
        ("lower('ÀB')", "àb àb àb àb àb"),
        ("length(t)", "2 3 1 1 2"),
        ("length(s)", "2 2 0 null null"),
        ("length('né')", "2 2 2 2 2"),
        ("octet_length('né')", "3 3 3 3 3"),
        ("substring(t from 2 for 1)", "b b '' '' z"),
        ("substring(t, 2)", "b bc '' '' z"),
        ("substr(t, 0, 2)", "a a a b z"),
        ("substring(t from 1 for y)", "ab ab '' b null"),
        ("left(t, 1)", "a a a b z"),
        ("left(t, -1)", "a ab '' '' z"),
        ("right(t, 2)", "ab bc a b zz"),
        ("right(t, -1)", "b bc '' '' z"),
        ("t || '-' || t", "ab-ab abc-abc a-a b-b zz-zz"),
        ("s || 'c' = 'abc'", "true true false null null"),
        ("concat(s, 'c', x)", "abc7 abc-7 c7 c c0"),
        ("x || ''", "7 -7 7 null 0"),
        ("d || '/' || p", "1.50/true -1.50/true 0.05/false null 2.50/false"),
        ("cast(f as varchar)", "2024-02-28 2024-02-29 2023-12-31 null null"),
        ("cast(k as text) like '%.000001'", "false false null null true"),
        ("cast(x as varchar(11))", "7 -7 7 null 0"),
        ("trim('  a b ') || '.'", "a b. a b. a b. a b. a b."),
        ("ltrim(t, 'az')", "b bc '' b ''"),
        ("rtrim(t, 'bc')", "a a a '' zz"),
        ("trim(leading 'a' from t)", "b bc '' b zz"),
        ("trim(both 'ab' from t)", "'' c '' '' zz"),
        ("replace(t, 'b', 'xy')", "axy axyc a xy zz"),
        ("position('b' in t)", "2 2 0 1 0"),
        ("strpos(t, 'c')", "0 3 0 0 0"),
        ("starts_with(t, 'ab')", "true true false false false"),
        ("contains(t, 'b')", "true true false true false"),
        ("reverse(t)", "ba cba a b zz"),
        ("lpad(t, 3, '*')", "*ab abc **a **b *zz"),
        ("rpad(t, 2, '*')", "ab ab a* b* zz"),
        (
            "case when t like '%c' then upper(t) else left(t, 1) end",
            "a ABC a b z",
        ),
    ]);
}

#[test]
fn numbers() {
    are(&[
        ("floor(d)", "1 -2 0 null 2"),
        ("ceil(d)", "2 -1 1 null 3"),
        ("ceiling(x)", "7 -7 7 null 0"),
        ("floor(d * e)", "0 -3 -1 null null"),
        ("ceil(d * e)", "1 -3 0 null null"),
        ("trunc(d)", "1 -1 0 null 2"),
        ("trunc(e, 1)", "0.1 2.0 0.0 1.0 null"),
        ("sign(d)", "1 -1 1 null 1"),
        ("sign(x * y)", "1 -1 -1 null null"),
        ("mod(x, y)", "1 -1 1 null null"),
        ("power(x, 2)", "49 49 49 null 0"),
        ("power(x + y, 3)", "729 -125 125 null null"),
        ("power(d, 0)", "1 1 1 null 1"),
        ("x = '7'", "true false true null false"),
    ]);
}

#[test]
fn choices() {
    are(&[
        ("ifnull(x, y)", "7 -7 7 3 0"),
        ("if(x > 0, 'more', 'less')", "more less more less less"),
        ("x is distinct from 7", "false true false true true"),
        ("x is not distinct from null", "false false false true false"),
        ("x is not distinct from y", "false false false false false"),
        ("(x, y) in ((7, 2), (0, 5))", "true false false false null"),
        ("(x, p) = (7, false)", "false false true null false"),
        ("x not in (null)", "null null null null null"),
        ("case when x > 0 then null else y end", "null 2 null 3 null"),
        ("coalesce(null, null)", "null null null null null"),
        ("s || null", "null null null null null"),
    ]);
}

/// Tables of two parties.
fn apart() -> World {
    World::new(2)
        .table(
            0,
            "a",
            "id u8 not null unique, s char(4), d date, n i32",
            "1 ab 2024-01-31 1 | 2 Cd 2024-02-29 2 | 3 null null 3",
        )
        .table(
            1,
            "b",
            "id u8 not null unique, t char(4), e date unique, k char(2) distinct 3",
            "1 x 2024-01-01 p | 2 Cd 2024-03-15 q | 4 null null q",
        )
}

/// Whatever is done with the rows, a function of one party's columns is computed by that party.
#[test]
fn functions_of_one_partys_columns() {
    apart().answers(&[
        ("select a.id from a join b on length(s) = b.id", "1 | 2"),
        ("select a.id from a join b on d + interval '15' day = e", "2"),
        (
            "select a.id from a join b on upper(s) = 'AB' and a.id = b.id",
            "1",
        ),
        (
            "select upper(t) from a left join b using (id) order by a.id",
            "X | CD | null",
        ),
        (
            "select length(t) + n from a left join b using (id) order by a.id",
            "2 | 4 | null",
        ),
        // What is not null where no row is found.
        (
            "select upper(coalesce(t, 'none')), concat(t, '!') from a left join b using (id) order by a.id",
            "X x! | CD Cd! | NONE !",
        ),
        // Columns that are grouped by.
        (
            "select upper(k), count(*) from a join b using (id) group by k order by 1",
            "P 1 | Q 1",
        ),
        (
            "select count(*) from a join b using (id) group by k having upper(k) = 'Q'",
            "1",
        ),
        (
            "select k from a join b using (id) group by k order by lower(k) desc",
            "q | p",
        ),
        (
            "select extract(year from d) as y, count(*), sum(length(t)) from a join b using (id) group by y",
            "2024 2 3",
        ),
        (
            "select distinct date_trunc('year', e) from a join b using (id)",
            "2024-01-01",
        ),
        (
            "select lower(v) from (select s as v from a union all select t from b) u order by 1",
            "ab | cd | cd | x | null | null",
        ),
        ("select max(upper(s)) from a join b using (id)", "CD"),
        // The second part is of both, and the first is not.
        (
            "select n + length(t), upper(s) from a join b using (id) where n + length(t) > 2",
            "4 CD",
        ),
        (
            "select v from (select upper(s) as v, n from a join b using (id) order by n limit 1) f",
            "AB",
        ),
        (
            "select upper(s) from (select s, n from a join b using (id) order by n limit 1) f",
            "AB",
        ),
    ]);
}

/// Conditions on one party's columns cost the same, whatever is in them.
#[test]
fn functions_of_one_partys_columns_cost_nothing() {
    let apart = apart();
    let cost = |condition: &str| {
        let sql = format!("select count(*) from a join b using (id) where {condition}");
        apart.plan(&sql).unwrap().exchanges()
    };
    let least = cost("n = 1");
    for condition in [
        "extract(year from d) = 2024",
        "d + interval '1' month < date '2024-03-01'",
        "date_trunc('week', d) = d and extract(dow from d) > 2",
        "s like '%b_'",
        "upper(s) || length(s) = 'AB2'",
        "cast(d as timestamp) + interval '1 hour' > '2024-01-01'",
        "floor(n / 2.5) + power(n, 3) + mod(n, 2) > sign(n)",
        "replace(substring(s from 2), 'b', 'c') in ('c', 'd')",
    ] {
        assert_eq!(cost(condition), least, "{condition}");
    }
    // So do columns of the second table of a LEFT JOIN.
    let told = |told: &str| {
        let sql = format!("select {told} from a left join b using (id)");
        apart.plan(&sql).unwrap().exchanges()
    };
    assert_eq!(told("e"), told("date_trunc('month', e + 1)"));
}

#[test]
fn functions_of_several_parties_columns() {
    let apart = apart();
    for (sql, what) in [
        (
            "select upper(case when n > 1 then s else t end) from a join b using (id)",
            "line 1, column 8: UPPER has no secret computation, and here columns of several parties meet in it; apply it to each party's own columns alone",
        ),
        (
            "select s || t from a join b using (id)",
            "line 1, column 8: || has no secret computation, and here columns of several parties meet in it",
        ),
        (
            "select extract(week from max(d)) from a join b using (id) group by k",
            "line 1, column 26: EXTRACT has no secret computation, and here it is of a value made of many rows; apply it to a party's own column before GROUP BY",
        ),
        (
            "select a.id from a join b using (id) where s like t || '%'",
            "line 1, column 51: LIKE with a pattern that is not a constant text has no secret computation, and here columns of several parties meet in it",
        ),
        (
            "select left(coalesce(s, t), n - b.id) from a join b using (id)",
            "line 1, column 8: LEFT with a number that is not a constant from 0 on has no secret computation, and here columns of several parties meet in it",
        ),
        (
            "select upper(coalesce(v, 'none')) from (select min(s) as v from a join b using (id) group by k) g",
            "line 1, column 8: UPPER has no secret computation, and here it is of a value made of many rows",
        ),
    ] {
        let found = apart.ask(sql);
        assert!(found.contains(what), "{sql}: {found}");
    }
    let remedies = [
        (
            "select case when n > 1 then upper(s) else upper(t) end from a join b using (id) order by 1",
            "CD | X",
        ),
        (
            "select max(extract(year from d)) from a join b using (id) group by k",
            "2024 | 2024",
        ),
    ];
    apart.answers(&remedies);
}

#[test]
fn what_is_too_long_or_leaves_the_calendar() {
    let world = World::new(2)
        .table(
            0,
            "a",
            "id u8 unique, s char(200), d date",
            &format!("1 {} +5881580-07-01", "x".repeat(200)),
        )
        .table(1, "b", "id u8 unique", "1");
    let what = "on its rows a calculation of the query overflows, divides by zero, or has a text that is too long, or not of the type to which it is cast";
    for sql in [
        "select s || s from a",
        "select d + 30 from a",
        "select d + interval '1 month' from a",
        "select cast(d as timestamp) from a",
        "select s || s from a join b using (id)",
    ] {
        let found = world.ask(sql);
        assert_eq!(found, format!("table a: {what}"), "{sql}");
    }
    world.answers(&[
        ("select length(s || s) from a where length(s) < 100", ""),
        ("select d + b.id from a join b using (id)", "+5881580-07-02"),
        ("select d + b.id * 255 from a join b using (id)", "no answer"),
    ]);
    let found = world.ask("select date '2024-01-01' + interval '9000000' year from a");
    assert!(
        found.contains("this interval leads outside the range of dates"),
        "{found}"
    );
}

/// NULL as it is written is of the type of what it meets.
#[test]
fn nulls() {
    apart().answers(&[
        ("select s, n as v from a union all select t, null from b order by 1, 2", "Cd 2 | Cd null | ab 1 | x null | null 3 | null null"),
        ("select null as v from b union all select s from a union all select null from b order by 1", "Cd | ab | null | null | null | null | null | null | null"),
        ("select v from (select null as v from a) q union select d from a order by 1", "2024-01-31 | 2024-02-29 | null"),
        ("select null from a union all select null from b limit 1", "null"),
        ("select distinct null as v from a union all select n from a order by 1 desc limit 1", "3"),
        ("select sum(null), min(null), count(null) from a", "null null 0"),
        ("select count(*) from a where s like null", "0"),
        ("select count(*) from a join b using (id) where n > null or t is null", "0"),
        ("select case when n > 1 then null else t end from a join b using (id) order by 1", "x | null"),
        ("select coalesce(null, t) || null from b limit 1", "null"),
        ("select cast(null as varchar(3)) from a limit 1", "null"),
        ("select d from a union all select cast('2024-01-01 10:00:00' as timestamp) from b order by 1 desc limit 2", "2024-02-29 00:00:00 | 2024-01-31 00:00:00"),
    ]);
}

#[test]
fn aggregates() {
    apart().answers(&[
        ("select count(*) filter (where n > 1), sum(n) filter (where s is null), avg(n) filter (where n < 3) from a", "2 3 1.500000"),
        ("select k, count(*) filter (where n > 1) from a join b using (id) group by k order by 1", "p 0 | q 1"),
        ("select bool_and(n > 1), bool_or(n > 1), every(n > 0) from a", "false true true"),
        ("select any_value(k) from a join b using (id) where n = 2", "q"),
        ("select count(*) from a natural join b", "2"),
        ("select b.t from a natural left join b order by a.id", "x | Cd | null"),
    ]);
}

/// What one party has as text is read as files are.
#[test]
fn casts_of_text() {
    let world = World::new(2)
        .table(
            0,
            "a",
            "id u8 not null unique, s char(20)",
            "1 12 | 2 -7 | 3 null",
        )
        .table(
            1,
            "b",
            "id u8 not null unique, t char(20), w char(8)",
            "1 2024-02-29T12:00Z 1.5 | 2 2024-03-01 -2.25 | 3 null x",
        );
    world.answers(&[
        ("select cast(s as i32) + 1 from a order by id", "13 | -6 | null"),
        ("select cast(s as bigint) + b.id from a join b using (id) order by id", "13 | -5 | null"),
        ("select cast(t as timestamp) from b order by id", "2024-02-29 12:00:00 | 2024-03-01 00:00:00 | null"),
        ("select cast(w as decimal(4,2)) from b where w <> 'x' order by id", "1.50 | -2.25"),
        ("select case when w <> 'x' then w::decimal(4,2) end from a join b using (id) order by id", "1.50 | -2.25 | null"),
        ("select cast('12' as i32) + 1, cast('yes' as bool) from a limit 1", "13 true"),
        (
            "select cast(w as decimal(4,2)) from b",
            "table b: on its rows a calculation of the query overflows, divides by zero, or has a text that is too long, or not of the type to which it is cast",
        ),
        (
            "select cast(s as u8) from a",
            "table a: on its rows a calculation of the query overflows, divides by zero, or has a text that is too long, or not of the type to which it is cast",
        ),
        ("select cast('x' as i32) from a", "the query, line 1, column 13: text cannot be cast to i32"),
        ("select cast('2024-02-30' as date) from a", "the query, line 1, column 13: this is not a date; write it as 'YYYY-MM-DD', such as '2024-02-29'"),
    ]);
}

/// Whoever approves a query reads what each party computes.
#[test]
fn functions_are_told_in_plans() {
    let world = World::new(2).table(0, "a", "s char(4), d date, n i32", "ab 2024-01-31 1");
    for (expression, told) in [
        ("extract(doy from d)", "EXTRACT(DOY FROM a.d)"),
        ("extract(week from d)", "EXTRACT(WEEK FROM a.d)"),
        ("date_trunc('quarter', d)", "DATE_TRUNC('quarter', a.d)"),
        ("d - interval '1 month'", "(a.d + interval '-1 months')"),
        ("s like '%a!%' escape '!'", "(a.s LIKE '%a!%' ESCAPE '!')"),
        ("s ilike '_b'", "(a.s ILIKE '_b')"),
        ("s || n", "(a.s || CAST(a.n AS varchar))"),
        ("cast(s as decimal(4,2))", "CAST(a.s AS decimal(4,2))"),
        ("rtrim(s, 'b')", "RTRIM(a.s, 'b')"),
        ("lpad(s, 3)", "LPAD(a.s, 3, ' ')"),
        ("position('b' in s)", "POSITION('b' IN a.s)"),
        (
            "substring(upper(left(s, 2)) from 1 for 1)",
            "SUBSTRING(UPPER(LEFT(a.s, 2)), 1, 1)",
        ),
        (
            "replace(reverse(s), 'a', lower(right(s, 1)))",
            "REPLACE(REVERSE(a.s), 'a', LOWER(RIGHT(a.s, 1)))",
        ),
        ("length(s) + octet_length(s)", "(LENGTH(a.s) + OCTET_LENGTH(a.s))"),
        (
            "ends_with(s, 'b') and starts_with(s, s)",
            "ENDS_WITH(a.s, 'b') AND STARTS_WITH(a.s, a.s)",
        ),
    ] {
        let query = world.plan(&format!("select {expression} as v from a")).unwrap();
        let tree = query.explained().tree();
        assert!(tree.contains(told), "{expression}: {tree}");
    }
}
