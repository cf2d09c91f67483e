//! Tables in the manner of TPC-H: its columns as far as the queries use them, with made-up rows.

use cenote_net::PartyId;
use cenote_query::{Answer, Count, Declared, Schema};
use cenote_session::Parties;
use cenote_tables::{Column, Field, Table, Type, Values, days};

use crate::sqlite::Sqlite;

/// Pseudorandom numbers (SplitMix64, Steele et al. 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ x >> 31) % most
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }

    fn phone(&mut self) -> String {
        format!("{}-{:07}", 10 + self.below(25), self.below(10_000_000))
    }

    /// A day of the years 1992 to 1998.
    fn day(&mut self) -> i128 {
        i128::from(days(1992, 1, 1).unwrap()) + i128::from(self.below(2400))
    }
}

/// A value of a row.
enum Cell {
    Number(i128),
    Text(String),
}

fn n(number: impl Into<i128>) -> Cell {
    Cell::Number(number.into())
}

fn t(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// The tables, and who holds which.
pub(crate) struct Tpch {
    pub(crate) schema: Schema,
    pub(crate) tables: Vec<Table>,
    customers: u64,
    orders: u64,
    parts: u64,
    suppliers: u64,
}

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];

/// Each nation, and the region that it is in.
const NATIONS: [(&str, u8); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];

/// Where suppliers are: the nations that queries ask for.
const SUPPLYING: [u8; 6] = [2, 3, 6, 7, 8, 20];

impl Tpch {
    /// So many ten-thousandths of the full size.
    pub(crate) fn new(size: u64) -> Self {
        let mut random = Random(7);
        let mut tpch = Tpch {
            schema: Schema {
                parties: 3,
                tables: Vec::new(),
                answer: Answer {
                    to: Parties::all(3),
                    count: Count::AtMost(200),
                    min_group: 0,
                },
                max_join_rows: None,
                parameters: Vec::new(),
                secret_only: false,
            },
            tables: Vec::new(),
            customers: 15 * size,
            orders: 150 * size,
            parts: 20 * size,
            // Each part has four suppliers.
            suppliers: size.max(10),
        };
        tpch.add_places();
        tpch.add_goods(&mut random);
        tpch.add_customers(&mut random);
        let dates = tpch.add_orders(&mut random);
        tpch.add_items(&mut random, &dates);
        tpch
    }

    fn add_places(&mut self) {
        let region = (0..5).map(|key| vec![n(key), t(REGIONS[key as usize])]).collect();
        self.add("region", 2, "r_regionkey u8 unique, r_name char(12)", region);
        let nation = (0..)
            .zip(NATIONS)
            .map(|(key, (name, region))| vec![n(key), t(name), n(region)])
            .collect();
        self.add(
            "nation",
            2,
            "n_nationkey u8 unique, n_name char(14), n_regionkey u8",
            nation,
        );
    }

    fn add_goods(&mut self, random: &mut Random) {
        let supplier = (1..=self.suppliers)
            .map(|key| {
                let comment = random.of(&["quick deposits", "Customer has Complaints", "even requests"]);
                vec![
                    n(key),
                    n(SUPPLYING[key as usize % SUPPLYING.len()]),
                    t(format!("Supplier#{key:06}")),
                    n(random.below(1_000_000) as i128 - 100_000),
                    t(comment),
                    t(format!("{key} Main Street")),
                    t(random.phone()),
                ]
            })
            .collect();
        let columns = "s_suppkey u32 unique, s_nationkey u8, s_name char(16), s_acctbal decimal(12,2), s_comment char(40), s_address char(20), s_phone char(15)";
        self.add("supplier", 2, columns, supplier);
        let part = (1..=self.parts)
            .map(|key| {
                let kind = random.of(&[
                    "PROMO BRUSHED TIN",
                    "LARGE PLATED BRASS",
                    "ECONOMY ANODIZED STEEL",
                    "MEDIUM POLISHED COPPER",
                ]);
                let brand = random.of(&["Brand#12", "Brand#23", "Brand#34", "Brand#45"]);
                let container = random.of(&["SM CASE", "MED BAG", "MED BOX", "LG BOX"]);
                let size = [1, 3, 5, 9, 14, 15, 19, 23, 45, 50][random.below(10) as usize];
                let color = random.of(&["forest green", "dark olive", "pale rose", "light green"]);
                vec![
                    n(key),
                    t(brand),
                    t(kind),
                    n(size),
                    t(container),
                    t(color),
                    t(format!("Manufacturer#{}", 1 + random.below(5))),
                ]
            })
            .collect();
        let columns = "p_partkey u32 unique, p_brand char(10), p_type char(25), p_size u8, p_container char(10), p_name char(16), p_mfgr char(16)";
        self.add("part", 2, columns, part);
        let offers = (1..=self.parts).flat_map(|part| (0..4).map(move |at| (part, at)));
        let offers: Vec<Vec<Cell>> = offers
            .map(|(part, at)| {
                let supplier = 1 + (part + at * (self.suppliers / 4 + 1)) % self.suppliers;
                vec![
                    n(part),
                    n(supplier),
                    n(1 + random.below(9999)),
                    n(100 + random.below(99_900)),
                ]
            })
            .collect();
        let columns = "ps_partkey u32, ps_suppkey u32, ps_availqty u32, ps_supplycost decimal(12,2)";
        self.add("partsupp", 1, columns, offers);
        let declared = self.schema.tables.last_mut().unwrap();
        declared.at_most = [("ps_partkey".to_owned(), 4)].into();
    }

    fn add_customers(&mut self, random: &mut Random) {
        let customer = (1..=self.customers)
            .map(|key| {
                let segment = random.of(&["BUILDING", "MACHINERY", "AUTOMOBILE"]);
                let balance = random.below(1_000_000) as i128 - 100_000;
                vec![
                    n(key),
                    t(format!("Customer#{key:06}")),
                    n(random.below(25)),
                    n(balance),
                    t(segment),
                    t(random.phone()),
                    t(format!("{key} High Street")),
                    t(random.of(&["even ideas", "final requests"])),
                ]
            })
            .collect();
        let columns = "c_custkey u32 unique, c_name char(16), c_nationkey u8, c_acctbal decimal(12,2), c_mktsegment char(10), c_phone char(15), c_address char(20), c_comment char(20)";
        self.add("customer", 0, columns, customer);
    }

    /// Adds the orders, and gives their dates.
    fn add_orders(&mut self, random: &mut Random) -> Vec<i128> {
        let mut dates = Vec::new();
        let rows = (1..=self.orders)
            .map(|key| {
                let date = random.day();
                dates.push(date);
                let priority = random.of(&["1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW"]);
                vec![
                    n(key * 4),
                    // A third of the customers never order.
                    n(1 + random.below(2) + 3 * random.below(self.customers / 3)),
                    n(date),
                    t(priority),
                    n(0),
                    t(random.of(&["F", "O", "P"])),
                    n(100_000 + random.below(40_000_000)),
                    t(random.of(&[
                        "special packages requests",
                        "regular deposits",
                        "pending accounts",
                    ])),
                ]
            })
            .collect();
        let columns = "o_orderkey u32 unique, o_custkey u32, o_orderdate date, o_orderpriority char(15), o_shippriority u8, o_orderstatus char(1), o_totalprice decimal(12,2), o_comment char(30)";
        self.add("orders", 0, columns, rows);
        dates
    }

    /// Adds the items of the orders of these dates.
    fn add_items(&mut self, random: &mut Random, dates: &[i128]) {
        // The items of an order lie with two parties.
        let mut halves = [Vec::new(), Vec::new()];
        for (order, date) in dates.iter().enumerate() {
            // Some orders are large.
            let least = if random.below(6) == 0 { 41 } else { 1 };
            for _ in 0..1 + random.below(7) {
                let ship = date + 1 + i128::from(random.below(121));
                let commit = date + 30 + i128::from(random.below(61));
                let receipt = ship + 1 + i128::from(random.below(30));
                let quantity = least + random.below(51 - least);
                let row = vec![
                    n(4 * (order as u64 + 1)),
                    n(1 + random.below(self.parts)),
                    n(1 + random.below(self.suppliers)),
                    n(quantity),
                    n(quantity * (90_000 + random.below(100_000))),
                    n(random.below(11)),
                    n(random.below(9)),
                    t(random.of(&["A", "N", "R"])),
                    t(random.of(&["F", "O"])),
                    n(ship),
                    n(commit),
                    n(receipt),
                    t(random.of(&["MAIL", "SHIP", "AIR", "AIR REG", "TRUCK"])),
                    t(random.of(&["DELIVER IN PERSON", "COLLECT COD", "NONE"])),
                ];
                halves[random.below(2) as usize].push(row);
            }
        }
        let columns = "l_orderkey u32, l_partkey u32, l_suppkey u32, l_quantity u8, l_extendedprice decimal(12,2), l_discount decimal(4,2), \
                       l_tax decimal(4,2), l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date, l_receiptdate date, \
                       l_shipmode char(10), l_shipinstruct char(20)";
        for (half, (party, name)) in halves.into_iter().zip([(0, "lineitem_a"), (1, "lineitem_b")]) {
            self.add(name, party, columns, half);
            let declared = self.schema.tables.last_mut().unwrap();
            declared.distinct = [("l_returnflag".to_owned(), 3), ("l_linestatus".to_owned(), 2)].into();
        }
    }

    fn add(&mut self, name: &str, party: u8, columns: &str, rows: Vec<Vec<Cell>>) {
        let mut unique = Vec::new();
        let fields: Vec<Field> = columns
            .split(", ")
            .map(|column| {
                let words: Vec<&str> = column.split_whitespace().collect();
                if words.get(2) == Some(&"unique") {
                    unique.push(vec![words[0].to_owned()]);
                }
                Field {
                    name: words[0].into(),
                    kind: words[1].parse().unwrap(),
                    nullable: false,
                }
            })
            .collect();
        let columns = fields.iter().enumerate().map(|(at, field)| {
            let values = match field.kind {
                Type::Char(width) => {
                    let text = |row: &Vec<Cell>| {
                        let mut bytes = match &row[at] {
                            Cell::Text(text) => text.as_bytes().to_vec(),
                            Cell::Number(_) => panic!("a number in {}", field.name),
                        };
                        assert!(bytes.len() <= width.into(), "{}", field.name);
                        bytes.resize(width.into(), 0);
                        bytes
                    };
                    Values::Text(width.into(), rows.iter().flat_map(text).collect())
                }
                _ => {
                    let number = |row: &Vec<Cell>| match row[at] {
                        Cell::Number(number) => number,
                        Cell::Text(_) => panic!("text in {}", field.name),
                    };
                    Values::Numbers(rows.iter().map(number).collect::<Vec<_>>().into())
                }
            };
            Column { values, nulls: None }
        });
        let columns = columns.collect();
        self.schema.tables.push(Declared {
            name: name.into(),
            party: PartyId(party),
            max_rows: rows.len() + rows.len() / 50,
            fields: fields.clone(),
            unique,
            at_most: [].into(),
            distinct: [].into(),
            below: [].into(),
            values: [].into(),
            same_rows_as: None,
        });
        self.tables.push(Table {
            columns,
            rows: rows.len(),
            fields,
        });
    }

    /// The same tables in SQLite.
    pub(crate) fn in_sqlite(&self) -> Sqlite {
        let tables = self.schema.tables.iter().zip(&self.tables);
        Sqlite::new(tables.map(|(declared, table)| (declared.name.as_str(), table))).unwrap()
    }
}
