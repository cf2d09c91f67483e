//! A peer chooses the query: one that stands as deep as any may is read, resolved, planned and dropped on the smallest stack of a thread that does so.

use cenote_net::PartyId;
use cenote_program::Abilities;

use super::world;

/// The stack of a thread of the standard library and of tokio unless somebody says otherwise: those of a service that serve its peers and its page have it.
/// The main thread of a party has more.
const STACK: usize = 2 << 20;

/// A way to put a part of a query into another part so many times.
type Way = (&'static str, fn(usize) -> String);

const WAYS: &[Way] = &[
    ("brackets", |n| {
        format!("select {}x{} from a", "(".repeat(n), ")".repeat(n))
    }),
    ("signs", |n| format!("select {}x from a", "- ".repeat(n))),
    ("not", |n| format!("select x from a where {}p", "not ".repeat(n))),
    ("calls", |n| {
        format!("select {}x{} from a", "coalesce(".repeat(n), ", 1)".repeat(n))
    }),
    ("casts", |n| {
        format!("select {}x{} from a", "cast(".repeat(n), " as i64)".repeat(n))
    }),
    ("casts behind", |n| {
        format!("select x{} from a", "::i64".repeat(n))
    }),
    ("cases", |n| {
        format!(
            "select {}x{} from a",
            "case when p then 1 else ".repeat(n),
            " end".repeat(n)
        )
    }),
    ("cases first", |n| {
        format!(
            "select {}x{} from a",
            "case ".repeat(n),
            " when 1 then 2 else 3 end".repeat(n)
        )
    }),
    ("betweens", |n| {
        format!("select x from a where x{}", " between 1 and 2".repeat(n))
    }),
    ("lists", |n| {
        format!("select x from a where {}x{}", "x in (".repeat(n), ")".repeat(n))
    }),
    ("is null", |n| {
        format!("select x from a where x{}", " is null".repeat(n))
    }),
    ("is true", |n| {
        format!("select x from a where p{}", " is true".repeat(n))
    }),
    ("sums", |n| format!("select x{} from a", " + 1".repeat(n))),
    ("sums to the right", |n| {
        format!("select {}x{} from a", "1 + (".repeat(n), ")".repeat(n))
    }),
    ("and", |n| {
        format!("select x from a where p{}", " and p".repeat(n))
    }),
    ("or and and", |n| {
        format!("select x from a where p{}", " or p and p".repeat(n))
    }),
    ("like", |n| {
        format!("select x from a where s{}", " like 'a'".repeat(n))
    }),
    ("collate", |n| {
        format!("select x{} from a", " collate c".repeat(n))
    }),
    ("zones", |n| {
        format!("select m{} from a", " at time zone 'UTC'".repeat(n))
    }),
    ("factorials", |n| format!("select x{} from a", " !".repeat(n))),
    ("subscripts", |n| format!("select x{} from a", "[1]".repeat(n))),
    ("arrays", |n| {
        format!("select {}x{} from a", "[".repeat(n), "]".repeat(n))
    }),
    ("types", |n| {
        format!(
            "select cast(x as {}int{}) from a",
            "array<".repeat(n),
            " >".repeat(n)
        )
    }),
    ("types behind", |n| {
        format!("select cast(x as int{}) from a", "[]".repeat(n))
    }),
    ("intervals", |n| {
        format!("select {}'1' day from a", "interval ".repeat(n))
    }),
    ("structs", |n| {
        format!("select {}x{} from a", "struct(".repeat(n), ")".repeat(n))
    }),
    ("subqueries", |n| {
        format!(
            "select x from {}a{}",
            "(select x from ".repeat(n),
            ") t".repeat(n)
        )
    }),
    ("scalar subqueries", |n| {
        format!("select {}x{} from a", "(select ".repeat(n), " from a)".repeat(n))
    }),
    ("exists", |n| {
        format!(
            "select x from a where {}p{}",
            "exists (select 1 from a where ".repeat(n),
            ")".repeat(n)
        )
    }),
    ("in subqueries", |n| {
        format!(
            "select x from a where {}p{}",
            "x in (select x from a where ".repeat(n),
            ")".repeat(n)
        )
    }),
    ("queries in brackets", |n| {
        format!("{}select x from a{}", "(".repeat(n), ")".repeat(n))
    }),
    ("with", |n| {
        format!(
            "{}select x from a{}",
            "with t as (".repeat(n),
            ") select x from t".repeat(n)
        )
    }),
    ("unions", |n| {
        format!("select x from a{}", " union all select x from a".repeat(n))
    }),
    ("unions to the right", |n| {
        format!(
            "{}select x from a{}",
            "select x from a union all (".repeat(n),
            ")".repeat(n)
        )
    }),
    ("joins", |n| {
        format!("select 1 from a{}", " join b on a.id = b.id".repeat(n))
    }),
    ("joins to the right", |n| {
        format!("select 1 from {}a{}", "b join (".repeat(n), ") on true".repeat(n))
    }),
    ("joins with their conditions last", |n| {
        format!("select 1 from a{}{}", " join b".repeat(n), " on true".repeat(n))
    }),
    ("joins in brackets", |n| {
        format!("select 1 from {}a{}", "(".repeat(n), " join b on true)".repeat(n))
    }),
    ("pivots", |n| {
        format!("select 1 from a{}", " pivot (sum(x) for y in (1))".repeat(n))
    }),
    ("lateral", |n| {
        format!(
            "select 1 from {}a{}",
            "lateral (select 1 from ".repeat(n),
            ") t".repeat(n)
        )
    }),
    ("windows", |n| {
        format!(
            "select {}x{} from a",
            "sum(".repeat(n),
            ") over (order by x)".repeat(n)
        )
    }),
    ("windows one after the other", |n| {
        let window = |at| format!("sum(x) over (order by x + {at})");
        format!(
            "select {} from a",
            (0..n).map(window).collect::<Vec<_>>().join(", ")
        )
    }),
    ("named windows", |n| {
        let window = |at| format!(", w{} as (w{at})", at + 1);
        let windows: String = (0..n).map(window).collect();
        format!("select sum(x) over w{n} from a window w0 as (order by x){windows}")
    }),
    ("medians", |n| {
        let median = |at| format!("median(x + {at})");
        format!(
            "select {} from a",
            (0..n).map(median).collect::<Vec<_>>().join(", ")
        )
    }),
    ("filters", |n| {
        format!(
            "select {}p{} from a",
            "count(*) filter (where ".repeat(n),
            ")".repeat(n)
        )
    }),
    ("lambdas", |n| format!("select f({}x) from a", "x -> ".repeat(n))),
    ("explain", |n| format!("{}select x from a", "explain ".repeat(n))),
    ("begin", |n| {
        format!("{}select x from a;{}", "begin ".repeat(n), " end;".repeat(n))
    }),
    ("if", |n| {
        format!(
            "{}select x from a;{}",
            "if p then ".repeat(n),
            " end if;".repeat(n)
        )
    }),
    ("tables", |n| {
        format!("create table t (x {}int{})", "array<".repeat(n), " >".repeat(n))
    }),
    ("values", |n| {
        format!("select x from {}1{}", "(values (".repeat(n), "))".repeat(n))
    }),
    ("deletes", |n| {
        format!(
            "delete from a where {}p{}",
            "exists (select 1 from a where ".repeat(n),
            ")".repeat(n)
        )
    }),
];

/// How often each is put into itself: up to where the parser says that it is too deep, and to where there are too many words.
const TIMES: [usize; 16] = [1, 5, 9, 12, 18, 19, 25, 37, 38, 39, 95, 190, 390, 650, 980, 1900];

#[test]
fn deep_queries_fit_the_threads_that_read_them() {
    for (way, nested) in WAYS {
        for times in TIMES {
            plan(format!("{way}, {times} times"), nested(times), None);
        }
    }
    // Joins in each of which a key comes several times on both sides.
    let join = |at| format!(" join b b{at} on a.x = b{at}.x");
    let joins: String = (0..30).map(join).collect();
    let planned = plan("joins".into(), format!("select 1 from a{joins}"), Some(1000));
    assert!(planned);
}

/// Plans a query on a thread, whose name an overflow tells, and says whether it can be run.
fn plan(name: String, sql: String, most: Option<usize>) -> bool {
    let thread = std::thread::Builder::new().stack_size(STACK).name(name);
    let thread = thread.spawn(move || {
        let mut world = world();
        world.schema.max_join_rows = most;
        let Ok(query) = world.plan(&sql) else {
            return false;
        };
        assert!(!query.explained().tree().is_empty());
        query.flows();
        query.bytes(PartyId(0));
        query.tally(Abilities::THREE).expect("it is counted");
        true
    });
    thread.expect("a thread").join().expect("no panic")
}
