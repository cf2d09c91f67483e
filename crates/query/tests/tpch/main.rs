//! Queries of TPC-H over tables that three parties hold, compared with what SQLite says.
//!
//! Tables have a thousandth of their full size; `CENOTE_TPCH=10` makes them ten times as large.

mod data;

use cenote_program::local::in_the_clear;
use cenote_query::{Error, Query};
use cenote_tables::{Table, cell};
use rusqlite::types::Value;

use self::data::Tpch;

/// What stands before every query: the items lie with two parties.
const ITEMS: &str = "WITH lineitem AS (SELECT * FROM lineitem_a UNION ALL SELECT * FROM lineitem_b) ";

fn thousandths() -> u64 {
    std::env::var("CENOTE_TPCH").map_or(1, |scale| scale.parse().expect("a number of thousandths"))
}

/// The answer to `sql`, the same at all parties.
fn ours(tpch: &Tpch, sql: &str) -> Table {
    let query = Query::new(sql, tpch.schema.clone()).unwrap_or_else(|error| panic!("{error}: {sql}"));
    let answers = in_the_clear(3, |session| {
        let me = session.me();
        let declared = tpch.schema.tables.iter().zip(&tpch.tables);
        let own: Vec<Option<Table>> = declared
            .map(|(declared, table)| (declared.party == me).then(|| table.clone()))
            .collect();
        let given = query.prepare(me, &own).unwrap_or_else(|error| panic!("{error}"));
        match query.run(session, given) {
            Ok(answer) => Ok(answer.expect("all learn it")),
            Err(Error::Session(error)) => Err(error),
            Err(error) => panic!("{error}: {sql}"),
        }
    })
    .unwrap();
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    answers.into_iter().next().unwrap()
}

/// Compares the answers to a query, whose rows have an order.
fn agrees(sql: &str) {
    let tpch = Tpch::new(thousandths());
    let sql = format!("{ITEMS}{sql}");
    let table = ours(&tpch, &sql);
    let sqlite = tpch.in_sqlite();
    let mut statement = sqlite.prepare(&sql).unwrap();
    let columns = statement.column_count();
    let right: Vec<Vec<Value>> = statement
        .query_map([], |row| (0..columns).map(|column| row.get(column)).collect())
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(!right.is_empty(), "the query is of no use");
    let row = |row: usize| -> Vec<Value> {
        let cells = table.columns.iter().zip(&table.fields);
        cells
            .map(
                |(column, field)| match (column.is_null(row), cell(column, field, row)) {
                    (true, _) => Value::Null,
                    (false, text) => text.parse().map_or(Value::Text(text), Value::Real),
                },
            )
            .collect()
    };
    let found: Vec<Vec<Value>> = (0..table.rows).map(row).collect();
    assert_eq!(found.len(), right.len(), "{found:?}\n{right:?}");
    for (found, right) in found.iter().zip(&right) {
        assert!(
            found.iter().zip(right).all(|(found, right)| same(found, right)),
            "{found:?}\n{right:?}"
        );
    }
}

/// Numbers of SQLite have some 15 digits.
fn same(found: &Value, right: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        _ => None,
    };
    match (number(found), number(right)) {
        (Some(found), Some(right)) => (found - right).abs() <= 1e-5 + 1e-9 * right.abs(),
        _ => found == right,
    }
}

#[test]
fn q1_pricing_summary() {
    agrees(
        "SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice), SUM(l_extendedprice * (1 - l_discount)),
         SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)), AVG(l_quantity), AVG(l_extendedprice), AVG(l_discount), COUNT(*)
         FROM lineitem WHERE l_shipdate <= '1998-09-02' GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus",
    );
}

#[test]
fn q3_shipping_priority() {
    agrees(
        "SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
         FROM customer, orders, lineitem
         WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
           AND o_orderdate < '1995-03-15' AND l_shipdate > '1995-03-15'
         GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10",
    );
}

/// Orders with an item that came late; the subquery of the original stands in FROM.
#[test]
fn q4_order_priority() {
    agrees(
        "SELECT o_orderpriority, COUNT(*) AS order_count
         FROM orders JOIN (SELECT DISTINCT l_orderkey FROM lineitem WHERE l_commitdate < l_receiptdate) late ON l_orderkey = o_orderkey
         WHERE o_orderdate >= '1993-07-01' AND o_orderdate < '1993-10-01'
         GROUP BY o_orderpriority ORDER BY o_orderpriority",
    );
}

#[test]
fn q5_local_supplier_volume() {
    agrees(
        "SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue
         FROM customer, orders, lineitem, supplier, nation, region
         WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
           AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
           AND o_orderdate >= '1994-01-01' AND o_orderdate < '1997-01-01'
         GROUP BY n_name ORDER BY revenue DESC",
    );
}

#[test]
fn q6_forecasting_revenue() {
    agrees(
        "SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem
         WHERE l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    );
}

#[test]
fn q10_returned_items() {
    agrees(
        "SELECT c_custkey, c_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name
         FROM customer, orders, lineitem, nation
         WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= '1993-10-01' AND o_orderdate < '1994-01-01'
           AND l_returnflag = 'R' AND c_nationkey = n_nationkey
         GROUP BY c_custkey, c_name, c_acctbal, n_name ORDER BY revenue DESC LIMIT 20",
    );
}

#[test]
fn q12_shipping_modes() {
    agrees(
        "SELECT l_shipmode,
           SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
           SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
         FROM orders, lineitem
         WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
           AND l_receiptdate >= '1994-01-01' AND l_receiptdate < '1995-01-01'
         GROUP BY l_shipmode ORDER BY l_shipmode",
    );
}

#[test]
fn q14_promotion_effect() {
    agrees(
        "SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
           / SUM(l_extendedprice * (1 - l_discount)) AS promo_revenue
         FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= '1995-09-01' AND l_shipdate < '1995-10-01'",
    );
}

#[test]
fn q19_discounted_revenue() {
    let branch = |brand: &str, container: &str, from: u32, size: u32| {
        format!(
            "(p_partkey = l_partkey AND p_brand = '{brand}' AND p_container IN ('{container}', 'LG BOX') AND l_quantity >= {from}
              AND l_quantity <= {from} + 30 AND p_size BETWEEN 1 AND {size} AND l_shipmode IN ('AIR', 'AIR REG')
              AND l_shipinstruct = 'DELIVER IN PERSON')"
        )
    };
    agrees(&format!(
        "SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem, part WHERE {} OR {} OR {}",
        branch("Brand#12", "SM CASE", 1, 25),
        branch("Brand#23", "MED BAG", 10, 40),
        branch("Brand#34", "JUMBO JAR", 20, 45)
    ));
}
