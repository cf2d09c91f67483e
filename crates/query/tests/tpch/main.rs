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

/// Compares the answers to a query, whose rows have an order. `YEAR(…)` is of a date.
fn agrees(sql: &str) {
    let tpch = Tpch::new(thousandths());
    let with = match sql.trim_start().strip_prefix("WITH ") {
        Some(rest) => format!("{},{rest}", ITEMS.trim_end()),
        None => format!("{ITEMS}{sql}"),
    };
    let table = ours(&tpch, &with.replace("YEAR(", "EXTRACT(YEAR FROM "));
    let sqlite = tpch.in_sqlite();
    let mut statement = sqlite
        .prepare(&with.replace("YEAR(", "0 + STRFTIME('%Y', "))
        .unwrap();
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
        Value::Text(text) => text.parse().ok(),
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
fn q2_minimum_cost_supplier() {
    agrees(
        "SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr FROM part, supplier, partsupp, nation, region
         WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size < 15 AND p_type LIKE '%STEEL'
           AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
           AND ps_supplycost = (SELECT MIN(ps_supplycost) FROM partsupp, supplier, nation, region
             WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey
               AND r_name = 'EUROPE')
         ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100",
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

#[test]
fn q4_order_priority() {
    agrees(
        "SELECT o_orderpriority, COUNT(*) AS order_count FROM orders
         WHERE o_orderdate >= '1993-07-01' AND o_orderdate < '1993-10-01'
           AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
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
fn q7_volume_shipping() {
    agrees(
        "SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue
         FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, YEAR(l_shipdate) AS l_year, l_extendedprice * (1 - l_discount) AS volume
           FROM supplier, lineitem, orders, customer, nation n1, nation n2
           WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
             AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
             AND ((n1.n_regionkey = 1 AND n2.n_regionkey = 2) OR (n1.n_regionkey = 2 AND n2.n_regionkey = 1))
             AND l_shipdate BETWEEN '1995-01-01' AND '1996-12-31') AS shipping
         GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year",
    );
}

#[test]
fn q8_market_share() {
    agrees(
        "SELECT o_year, SUM(CASE WHEN nation = 'NATION 7' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share
         FROM (SELECT YEAR(o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
           FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
           WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
             AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA'
             AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31'
             AND p_type = 'ECONOMY STEEL') AS all_nations
         GROUP BY o_year ORDER BY o_year",
    );
}

#[test]
fn q9_product_profit() {
    agrees(
        "SELECT nation, o_year, SUM(amount) AS sum_profit
         FROM (SELECT n_name AS nation, YEAR(o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
           FROM part, supplier, lineitem, partsupp, orders, nation
           WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
             AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%') AS profit
         GROUP BY nation, o_year ORDER BY nation, o_year DESC",
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
fn q11_important_stock() {
    agrees(
        "SELECT ps_partkey, SUM(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation
         WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_regionkey < 4
         GROUP BY ps_partkey HAVING SUM(ps_supplycost * ps_availqty) > (SELECT SUM(ps_supplycost * ps_availqty) * 0.01
           FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_regionkey < 4)
         ORDER BY value DESC",
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
fn q13_customer_distribution() {
    agrees(
        "SELECT c_count, COUNT(*) AS custdist
         FROM (SELECT c_custkey, COUNT(o_orderkey) AS c_count
           FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
           GROUP BY c_custkey) AS c_orders
         GROUP BY c_count ORDER BY custdist DESC, c_count DESC",
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
fn q15_top_supplier() {
    agrees(
        "WITH revenue AS (SELECT l_suppkey AS supplier_no, SUM(l_extendedprice * (1 - l_discount)) AS total_revenue FROM lineitem
           WHERE l_shipdate >= '1996-01-01' AND l_shipdate < '1996-04-01' GROUP BY l_suppkey)
         SELECT s_suppkey, s_name, total_revenue FROM supplier, revenue
         WHERE s_suppkey = supplier_no AND total_revenue = (SELECT MAX(total_revenue) FROM revenue) ORDER BY s_suppkey",
    );
}

#[test]
fn q16_parts_and_suppliers() {
    agrees(
        "SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part
         WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'PROMO PLATED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
           AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
         GROUP BY p_brand, p_type, p_size ORDER BY supplier_cnt DESC, p_brand, p_type, p_size",
    );
}

#[test]
fn q17_small_quantity_orders() {
    agrees(
        "SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly FROM lineitem, part
         WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BAG'
           AND l_quantity < (SELECT 0.5 * AVG(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)",
    );
}

#[test]
fn q18_large_volume_customers() {
    agrees(
        "SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity) FROM customer, orders, lineitem
         WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 240)
           AND c_custkey = o_custkey AND o_orderkey = l_orderkey
         GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate LIMIT 100",
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

#[test]
fn q20_part_promotion() {
    agrees(
        "SELECT s_name FROM supplier, nation
         WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp
             WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
               AND ps_availqty > (SELECT 0.5 * SUM(l_quantity) FROM lineitem
                 WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01'))
           AND s_nationkey = n_nationkey AND n_regionkey < 4
         ORDER BY s_name",
    );
}

#[test]
fn q21_suppliers_who_kept_orders_waiting() {
    agrees(
        "SELECT s_name, COUNT(*) AS numwait FROM supplier, lineitem l1, orders, nation
         WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate
           AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
           AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
             AND l3.l_receiptdate > l3.l_commitdate)
           AND s_nationkey = n_nationkey AND n_regionkey < 4
         GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100",
    );
}

#[test]
fn q22_global_sales_opportunity() {
    agrees(
        "SELECT cntrycode, COUNT(*) AS numcust, SUM(c_acctbal) AS totacctbal
         FROM (SELECT SUBSTRING(c_phone, 1, 2) AS cntrycode, c_acctbal FROM customer
           WHERE SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
             AND c_acctbal > (SELECT AVG(c_acctbal) FROM customer WHERE c_acctbal > 0.00
               AND SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17'))
             AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey AND o_orderdate > '1997-06-01')) AS custsale
         GROUP BY cntrycode ORDER BY cntrycode",
    );
}
