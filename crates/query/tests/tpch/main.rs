//! Queries of TPC-H over tables that three parties hold, compared with what SQLite says.
//!
//! Tables have a thousandth of their full size; `CENOTE_TPCH=10` makes them ten times as large.

mod data;
mod sqlite;

use std::num::NonZero;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::local::in_the_clear;
use cenote_query::{Error, HashKey, Query};
use cenote_tables::{Table, cell};

use self::data::Tpch;
use self::sqlite::difference;

/// What stands before every query: the items lie with two parties.
const ITEMS: &str = "WITH lineitem AS (SELECT * FROM lineitem_a UNION ALL SELECT * FROM lineitem_b) ";

fn ten_thousandths() -> u64 {
    let thousandths = std::env::var("CENOTE_TPCH");
    10 * thousandths.map_or(1, |scale| scale.parse::<u64>().expect("a number of thousandths"))
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

/// The same, computed in `shards`: nothing if the query cannot be cut.
fn ours_in_shards(tpch: &Tpch, sql: &str, shards: NonZero<u32>) -> Table {
    let query = Query::new(sql, tpch.schema.clone()).unwrap_or_else(|error| panic!("{error}: {sql}"));
    let cut = query
        .cut(shards, 40)
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
    let own = |me: PartyId| -> Vec<Option<Table>> {
        let declared = tpch.schema.tables.iter().zip(&tpch.tables);
        declared
            .map(|(declared, table)| (declared.party == me).then(|| table.clone()))
            .collect()
    };
    let key = HashKey::new([3; 32]);
    let in_session = |result: cenote_query::Result<_>| match result {
        Ok(kept) => Ok(kept),
        Err(Error::Session(error)) => Err(error),
        Err(error) => panic!("{error}: {sql}"),
    };
    let kept: Vec<Vec<Vec<BitMatrix>>> = (0..cut.shards())
        .map(|shard| {
            let kept = in_the_clear(3, |session| {
                let own = own(session.me());
                let own = &cut.in_shards(&key, &own).unwrap()[shard as usize];
                let given = cut.shard().prepare(session.me(), own).unwrap();
                in_session(cut.shard().keep(session, given))
            });
            kept.unwrap()
        })
        .collect();
    let answers = in_the_clear(3, |session| {
        let me = session.me();
        let kept = kept.iter().map(|parties| parties[me.index()].clone()).collect();
        let given = cut.merge().prepare(me, &own(me)).unwrap().with_kept(kept);
        match cut.merge().run(session, given) {
            Ok(answer) => Ok(answer.expect("all learn it")),
            Err(Error::Session(error)) => Err(error),
            Err(error) => panic!("{error}: {sql}"),
        }
    });
    answers.unwrap().swap_remove(0)
}

/// Compares the answers to a query, whose rows have an order.
fn agrees(sql: &str) {
    compare(&Tpch::new(ten_thousandths()), sql);
}

/// The same where owners compute nothing, of smaller tables.
fn agrees_secretly(sql: &str) {
    let mut tpch = Tpch::new(3);
    tpch.schema.secret_only = true;
    let mut tables = tpch.schema.tables.iter_mut();
    let offers = tables.find(|table| table.name == "partsupp").unwrap();
    offers.unique = vec![vec!["ps_partkey".into(), "ps_suppkey".into()]];
    compare(&tpch, sql);
}

/// The same in shards.
fn agrees_in_shards(sql: &str) {
    agrees_in(4, sql);
}

fn agrees_in(shards: u32, sql: &str) {
    let tpch = Tpch::new(ten_thousandths());
    let shards = NonZero::new(shards).expect("it is not 0");
    compare_with(&tpch, sql, |sql| ours_in_shards(&tpch, sql, shards));
}

fn compare(tpch: &Tpch, sql: &str) {
    compare_with(tpch, sql, |sql| ours(tpch, sql));
}

fn compare_with(tpch: &Tpch, sql: &str, ours: impl Fn(&str) -> Table) {
    let sql = match sql.strip_prefix("WITH ") {
        Some(rest) => format!("{},{rest}", ITEMS.trim_end()),
        None => format!("{ITEMS}{sql}"),
    };
    let right = tpch.in_sqlite().answer(&sql).unwrap();
    let is_of_use = right
        .iter()
        .flatten()
        .any(|value| *value != rusqlite::types::Value::Null);
    assert!(is_of_use, "the query is of no use: {right:?}");
    let table = ours(&sql);
    let row = |row: usize| -> Vec<Option<String>> {
        let cells = table.columns.iter().zip(&table.fields);
        cells
            .map(|(column, field)| (!column.is_null(row)).then(|| cell(column, field, row)))
            .collect()
    };
    let found: Vec<_> = (0..table.rows).map(row).collect();
    if let Some(difference) = difference(&found, &right) {
        panic!("{difference}: {sql}");
    }
}

macro_rules! queries {
    ($agrees:ident: $($name:ident $file:literal)*) => {
        $(
            #[test]
            fn $name() {
                $agrees(include_str!(concat!("queries/", $file, ".sql")));
            }
        )*
    };
}

queries! {
    agrees:
    q1_pricing_summary "q1"
    q2_minimum_cost_supplier "q2"
    q3_shipping_priority "q3"
    q4_order_priority "q4"
    q5_local_supplier_volume "q5"
    q6_forecasting_revenue "q6"
    q7_volume_shipping "q7"
    q8_market_share "q8"
    q9_product_profit "q9"
    q10_returned_items "q10"
    q11_important_stock "q11"
    q12_shipping_modes "q12"
    q13_customer_distribution "q13"
    q14_promotion_effect "q14"
    q15_top_supplier "q15"
    q16_parts_and_suppliers "q16"
    q17_small_quantity_orders "q17"
    q18_large_volume_customers "q18"
    q19_discounted_revenue "q19"
    q20_part_promotion "q20"
    q21_suppliers_who_kept_orders_waiting "q21"
    q22_global_sales_opportunity "q22"
}

// Those with patterns and parts of texts.
queries! {
    agrees_secretly:
    q2_secretly "q2"
    q9_secretly "q9"
    q13_secretly "q13"
    q16_secretly "q16"
    q22_secretly "q22"
}

queries! {
    agrees_in_shards:
    q1_in_shards "q1"
    q3_in_shards "q3"
    q5_in_shards "q5"
    q6_in_shards "q6"
    q11_in_shards "q11"
    q13_in_shards "q13"
    q15_in_shards "q15"
    q18_in_shards "q18"
    q22_in_shards "q22"
}

/// Groups and the total that they are compared with are parts of one shard.
#[test]
fn q11_in_any_number_of_shards() {
    for shards in [1, 2, 16] {
        agrees_in(shards, include_str!("queries/q11.sql"));
    }
}
