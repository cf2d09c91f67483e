//! The tables of TPC-H, and which party holds which.

use std::fmt::{Display, Write as _};
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

use super::values;
use cenote::Protocol;
use tpchgen::csv::{
    CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// A table: its columns, as wide as the specification of TPC-H lets their values be, and what its owner promises of them. Of two parties, the first has
/// what the third of three has.
struct Held {
    name: &'static str,
    party: u8,
    columns: &'static str,
    unique: &'static str,
    at_most: &'static str,
    below: &'static [(&'static str, Below)],
    values: &'static [Listed],
}

/// A column of text, and its values.
type Listed = (&'static str, fn() -> Vec<String>);

/// What the numbers of a column are less than.
enum Below {
    Number(u64),
    /// One more than so many times the rows of a table: keys are counted from 1.
    Rows(&'static str, u64),
}

use Below::{Number, Rows};

const TABLES: [Held; 8] = [
    Held {
        name: "customer",
        party: 0,
        columns: "c_custkey u32, c_name char(18), c_address char(40), c_nationkey u8, c_phone char(15), c_acctbal decimal(12,2), \
                  c_mktsegment char(10), c_comment char(117)",
        unique: "\"c_custkey\"",
        at_most: "",
        below: &[("c_custkey", Rows("customer", 1)), ("c_nationkey", Number(25))],
        values: &[("c_mktsegment", values::segments)],
    },
    Held {
        name: "supplier",
        party: 0,
        columns: "s_suppkey u32, s_name char(18), s_address char(40), s_nationkey u8, s_phone char(15), s_acctbal decimal(12,2), \
                  s_comment char(101)",
        unique: "\"s_suppkey\"",
        at_most: "",
        below: &[("s_suppkey", Rows("supplier", 1)), ("s_nationkey", Number(25))],
        values: &[],
    },
    Held {
        name: "part",
        party: 0,
        columns: "p_partkey u32, p_name char(55), p_mfgr char(14), p_brand char(8), p_type char(25), p_size u8, p_container char(10), \
                  p_retailprice decimal(12,2), p_comment char(23)",
        unique: "\"p_partkey\"",
        at_most: "",
        below: &[
            ("p_partkey", Rows("part", 1)),
            ("p_size", Number(51)),
            ("p_retailprice", Number(2100)),
        ],
        values: &[
            ("p_mfgr", values::manufacturers),
            ("p_brand", values::brands),
            ("p_type", values::types),
            ("p_container", values::containers),
        ],
    },
    Held {
        name: "partsupp",
        party: 0,
        columns: "ps_partkey u32, ps_suppkey u32, ps_availqty u16, ps_supplycost decimal(12,2), ps_comment char(199)",
        unique: "[\"ps_partkey\", \"ps_suppkey\"]",
        at_most: "ps_partkey = 4",
        below: &[
            ("ps_partkey", Rows("part", 1)),
            ("ps_suppkey", Rows("supplier", 1)),
            ("ps_availqty", Number(10000)),
            ("ps_supplycost", Number(1001)),
        ],
        values: &[],
    },
    Held {
        name: "orders",
        party: 1,
        columns: "o_orderkey u32, o_custkey u32, o_orderstatus char(1), o_totalprice decimal(12,2), o_orderdate date, \
                  o_orderpriority char(15), o_clerk char(15), o_shippriority u8, o_comment char(79)",
        unique: "\"o_orderkey\"",
        at_most: "",
        below: &[
            ("o_orderkey", Rows("orders", 4)),
            ("o_custkey", Rows("customer", 1)),
            ("o_totalprice", Number(1_000_000)),
            ("o_shippriority", Number(1)),
        ],
        values: &[
            ("o_orderstatus", values::statuses),
            ("o_orderpriority", values::priorities),
        ],
    },
    Held {
        name: "nation",
        party: 1,
        columns: "n_nationkey u8, n_name char(14), n_regionkey u8, n_comment char(152)",
        unique: "\"n_nationkey\"",
        at_most: "",
        below: &[("n_nationkey", Number(25)), ("n_regionkey", Number(5))],
        values: &[("n_name", values::nations)],
    },
    Held {
        name: "lineitem",
        party: 2,
        columns: "l_orderkey u32, l_partkey u32, l_suppkey u32, l_linenumber u8, l_quantity u8, l_extendedprice decimal(12,2), \
                  l_discount decimal(4,2), l_tax decimal(4,2), l_returnflag char(1), l_linestatus char(1), l_shipdate date, \
                  l_commitdate date, l_receiptdate date, l_shipinstruct char(17), l_shipmode char(7), l_comment char(44)",
        unique: "[\"l_orderkey\", \"l_linenumber\"]",
        at_most: "l_orderkey = 7",
        below: &[
            ("l_orderkey", Rows("orders", 4)),
            ("l_partkey", Rows("part", 1)),
            ("l_suppkey", Rows("supplier", 1)),
            ("l_linenumber", Number(8)),
            ("l_quantity", Number(51)),
            ("l_extendedprice", Number(105000)),
            ("l_discount", Number(1)),
            ("l_tax", Number(1)),
        ],
        values: &[
            ("l_returnflag", values::flags),
            ("l_linestatus", values::line_statuses),
            ("l_shipinstruct", values::instructions),
            ("l_shipmode", values::modes),
        ],
    },
    Held {
        name: "region",
        party: 2,
        columns: "r_regionkey u8, r_name char(11), r_comment char(152)",
        unique: "\"r_regionkey\"",
        at_most: "",
        below: &[("r_regionkey", Number(5))],
        values: &[("r_name", values::regions)],
    },
];

/// Tables that were written: how many rows each has.
pub(super) struct Written([usize; TABLES.len()]);

/// Makes the tables at `scale`, a CSV file for each in `folder`.
pub(super) fn write_tables(folder: &Path, scale: f64) -> Result<Written> {
    let mut rows = [0; TABLES.len()];
    for (rows, table) in rows.iter_mut().zip(&TABLES) {
        let file = BufWriter::new(File::create(folder.join(format!("{}.csv", table.name)))?);
        *rows = write_table(table.name, scale, file)?;
    }
    Ok(Written(rows))
}

fn write_table(name: &str, scale: f64, to: impl Write) -> Result<usize> {
    macro_rules! write_rows {
        ($generator:ident, $csv:ident) => {
            write_csv(
                to,
                $csv::header(),
                $generator::new(scale, 1, 1).iter().map($csv::new),
            )
        };
    }
    match name {
        "customer" => write_rows!(CustomerGenerator, CustomerCsv),
        "supplier" => write_rows!(SupplierGenerator, SupplierCsv),
        "part" => write_rows!(PartGenerator, PartCsv),
        "partsupp" => write_rows!(PartSuppGenerator, PartSuppCsv),
        "orders" => write_rows!(OrderGenerator, OrderCsv),
        "nation" => write_rows!(NationGenerator, NationCsv),
        "lineitem" => write_rows!(LineItemGenerator, LineItemCsv),
        _ => write_rows!(RegionGenerator, RegionCsv),
    }
}

fn write_csv(mut to: impl Write, header: &str, rows: impl Iterator<Item = impl Display>) -> Result<usize> {
    writeln!(to, "{header}")?;
    let mut count = 0;
    for row in rows {
        writeln!(to, "{row}")?;
        count += 1;
    }
    to.flush()?;
    Ok(count)
}

impl Written {
    /// How many rows a table has.
    pub(super) fn rows(&self, name: &str) -> usize {
        let mut tables = TABLES.iter().zip(self.0);
        tables
            .find_map(|(table, rows)| (table.name == name).then_some(rows))
            .unwrap_or(0)
    }

    /// The job file of a query whose answer has at most so many rows: it declares the tables that the query names.
    pub(super) fn job(
        &self,
        protocol: &Protocol,
        query: &str,
        answer_rows: usize,
        secret_only: bool,
    ) -> String {
        let (protocol, parties) = (protocol.name(), protocol.parties());
        let secret_only = if secret_only { "secret_only = true\n" } else { "" };
        let mut job = format!(
            "protocol = \"{protocol}\"\n{secret_only}query = \"\"\"\n{query}\"\"\"\n[answer]\nmax_rows = {answer_rows}\n"
        );
        let names: Vec<&str> = query.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for (table, rows) in TABLES
            .iter()
            .zip(self.0)
            .filter(|(table, _)| names.contains(&table.name))
        {
            let Held {
                name, party, columns, ..
            } = table;
            let (party, promises) = (party % parties, self.promises(table));
            let _ = writeln!(
                job,
                "[[table]]\nname = \"{name}\"\nparty = {party}\nfile = \"{name}.csv\"\nmax_rows = {rows}\n{promises}[table.columns]"
            );
            for (column, kind) in columns.split(", ").filter_map(|column| column.split_once(' ')) {
                let _ = writeln!(job, "{column} = \"{kind} not null\"");
            }
        }
        job
    }

    /// What the owner of a table promises of it, as the specification of TPC-H has it.
    fn promises(&self, table: &Held) -> String {
        // With fewer suppliers, one may supply a part twice.
        let unique = match table.name {
            "partsupp" if self.rows("supplier") < 100 => "",
            _ => table.unique,
        };
        let below = table.below.iter().map(|(column, below)| match below {
            Number(end) => format!("{column} = {end}"),
            Rows(of, times) => format!("{column} = {}", times * self.rows(of) as u64 + 1),
        });
        let values = table
            .values
            .iter()
            .map(|(column, values)| format!("{column} = {:?}", values()));
        let mut text = format!("unique = [{unique}]\nat_most = {{ {} }}\n", table.at_most);
        for (promise, columns) in [("below", below.collect::<Vec<_>>()), ("values", values.collect())] {
            if !columns.is_empty() {
                let _ = writeln!(text, "{promise} = {{ {} }}", columns.join(", "));
            }
        }
        text
    }

    /// The job file of a query that names all tables.
    pub(super) fn job_of_all(&self, protocol: &Protocol) -> String {
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        self.job(
            protocol,
            &format!("SELECT COUNT(*) FROM region -- {}\n", names.join(" ")),
            1,
            false,
        )
    }
}
