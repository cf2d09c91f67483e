//! The tables of TPC-H, and which party holds which.

use std::fmt::{Display, Write as _};
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

use tpchgen::csv::{
    CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// A table: its columns, as wide as the specification of TPC-H lets their values be, and what its owner promises of them, as a job file has it.
struct Held {
    name: &'static str,
    party: u8,
    columns: &'static str,
    promises: &'static str,
}

const TABLES: [Held; 8] = [
    Held {
        name: "customer",
        party: 0,
        columns: "c_custkey u32, c_name char(18), c_address char(40), c_nationkey u8, c_phone char(15), c_acctbal decimal(12,2), \
                  c_mktsegment char(10), c_comment char(117)",
        promises: "unique = [\"c_custkey\"]\ndistinct = { c_nationkey = 25, c_mktsegment = 5 }",
    },
    Held {
        name: "supplier",
        party: 0,
        columns: "s_suppkey u32, s_name char(18), s_address char(40), s_nationkey u8, s_phone char(15), s_acctbal decimal(12,2), \
                  s_comment char(101)",
        promises: "unique = [\"s_suppkey\"]\ndistinct = { s_nationkey = 25 }",
    },
    Held {
        name: "part",
        party: 0,
        columns: "p_partkey u32, p_name char(55), p_mfgr char(14), p_brand char(8), p_type char(25), p_size u8, p_container char(10), \
                  p_retailprice decimal(12,2), p_comment char(23)",
        promises: "unique = [\"p_partkey\"]\ndistinct = { p_mfgr = 5, p_brand = 25, p_type = 150, p_size = 50, p_container = 40 }",
    },
    Held {
        name: "partsupp",
        party: 0,
        columns: "ps_partkey u32, ps_suppkey u32, ps_availqty u16, ps_supplycost decimal(12,2), ps_comment char(199)",
        promises: "at_most = { ps_partkey = 4 }",
    },
    Held {
        name: "orders",
        party: 1,
        columns: "o_orderkey u32, o_custkey u32, o_orderstatus char(1), o_totalprice decimal(12,2), o_orderdate date, \
                  o_orderpriority char(15), o_clerk char(15), o_shippriority u8, o_comment char(79)",
        promises: "unique = [\"o_orderkey\"]\ndistinct = { o_orderstatus = 3, o_orderpriority = 5 }",
    },
    Held {
        name: "nation",
        party: 1,
        columns: "n_nationkey u8, n_name char(14), n_regionkey u8, n_comment char(152)",
        promises: "unique = [\"n_nationkey\"]\ndistinct = { n_name = 25, n_regionkey = 5 }",
    },
    Held {
        name: "lineitem",
        party: 2,
        columns: "l_orderkey u32, l_partkey u32, l_suppkey u32, l_linenumber u8, l_quantity u8, l_extendedprice decimal(12,2), \
                  l_discount decimal(4,2), l_tax decimal(4,2), l_returnflag char(1), l_linestatus char(1), l_shipdate date, \
                  l_commitdate date, l_receiptdate date, l_shipinstruct char(17), l_shipmode char(7), l_comment char(44)",
        promises: "distinct = { l_returnflag = 3, l_linestatus = 2, l_shipinstruct = 4, l_shipmode = 7 }",
    },
    Held {
        name: "region",
        party: 2,
        columns: "r_regionkey u8, r_name char(11), r_comment char(152)",
        promises: "unique = [\"r_regionkey\"]\ndistinct = { r_name = 5 }",
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
    pub(super) fn job(&self, query: &str, answer_rows: usize, secret_only: bool) -> String {
        let secret_only = if secret_only { "secret_only = true\n" } else { "" };
        let mut job = format!(
            "protocol = \"three\"\n{secret_only}query = \"\"\"\n{query}\"\"\"\n[answer]\nmax_rows = {answer_rows}\n"
        );
        let names: Vec<&str> = query.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for (table, rows) in TABLES
            .iter()
            .zip(self.0)
            .filter(|(table, _)| names.contains(&table.name))
        {
            let Held {
                name,
                party,
                columns,
                promises,
            } = table;
            let _ = writeln!(
                job,
                "[[table]]\nname = \"{name}\"\nparty = {party}\nfile = \"{name}.csv\"\nmax_rows = {rows}\n{promises}\n[table.columns]"
            );
            for (column, kind) in columns.split(", ").filter_map(|column| column.split_once(' ')) {
                let _ = writeln!(job, "{column} = \"{kind} not null\"");
            }
        }
        job
    }

    /// The job file of a query that names all tables.
    pub(super) fn job_of_all(&self) -> String {
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        self.job(
            &format!("SELECT COUNT(*) FROM region -- {}\n", names.join(" ")),
            1,
            false,
        )
    }
}
