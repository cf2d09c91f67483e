//! Random expressions, in our dialect and in SQLite's.

use cenote_tables::format_date;

use super::random::Random;

/// What the values of an expression are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Int,
    /// With so many places.
    Decimal(u32),
    Bool,
    Date,
    Timestamp,
    Text,
}

/// An expression in both dialects.
#[derive(Clone, Debug)]
pub(crate) struct Sql {
    pub(crate) ours: String,
    pub(crate) lite: String,
    pub(crate) sort: Sort,
    /// No number is further from zero.
    pub(crate) size: f64,
    /// Whether SQLite computes it without rounding.
    pub(crate) exact: bool,
}

/// Numbers do not get larger, so that SQLite has them exactly.
const LARGEST: f64 = 1e9;
const MOST_PLACES: u32 = 6;

impl Sql {
    pub(crate) fn new(sort: Sort, ours: impl Into<String>, lite: impl Into<String>) -> Self {
        Sql {
            ours: ours.into(),
            lite: lite.into(),
            sort,
            size: 0.0,
            exact: true,
        }
    }

    /// What both dialects write in the same way.
    fn same(sort: Sort, text: impl Into<String>) -> Self {
        let text = text.into();
        Sql::new(sort, text.clone(), text)
    }

    pub(crate) fn sized(self, size: f64) -> Self {
        Sql { size, ..self }
    }

    pub(crate) fn places(&self) -> u32 {
        match self.sort {
            Sort::Decimal(places) => places,
            _ => 0,
        }
    }

    /// Whether one of these columns is in it.
    pub(crate) fn names_any(&self, columns: &[Sql]) -> bool {
        columns.iter().any(|column| self.ours.contains(&column.ours))
    }

    fn is_number(&self) -> bool {
        matches!(self.sort, Sort::Int | Sort::Decimal(_))
    }
}

/// `template` with `{}` filled in by the parts, in both dialects.
pub(crate) fn fill(sort: Sort, template: &str, parts: &[&Sql]) -> Sql {
    let filled = |of: fn(&Sql) -> &str| {
        let mut pieces = template.split("{}");
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces
            .zip(parts)
            .fold(first, |text, (piece, part)| text + of(part) + piece)
    };
    let numbers = parts.iter().filter(|part| part.is_number());
    let size = numbers.map(|part| part.size).fold(0.0, f64::max);
    Sql::new(sort, filled(|part| &part.ours), filled(|part| &part.lite)).sized(size)
}

/// Makes expressions over some columns.
pub(crate) struct Expressions<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) columns: &'a [Sql],
}

impl Expressions<'_> {
    /// Any expression.
    pub(crate) fn any(&mut self, depth: usize) -> Sql {
        let sorts = [
            Sort::Int,
            Sort::Int,
            Sort::Decimal(2),
            Sort::Bool,
            Sort::Date,
            Sort::Timestamp,
            Sort::Text,
        ];
        let mut sort = self.random.pick(&sorts);
        if self.random.chance(60) && !self.columns.is_empty() {
            sort = self.random.pick(self.columns).sort;
        }
        self.of(sort, depth)
    }

    /// An expression of a sort; of decimals, with any number of places.
    pub(crate) fn of(&mut self, sort: Sort, depth: usize) -> Sql {
        if depth == 0 || self.random.chance(30) {
            return self.leaf(sort);
        }
        match sort {
            Sort::Bool => self.condition(depth),
            Sort::Int => self.integer(depth - 1),
            Sort::Decimal(_) => self.decimal(depth - 1),
            _ if self.random.chance(40) => self.leaf(sort),
            sort if self.random.chance(25) => self.function(sort, depth - 1),
            sort => self.choice(sort, depth - 1),
        }
    }

    /// A column or a constant.
    pub(crate) fn leaf(&mut self, sort: Sort) -> Sql {
        let alike = |column: &&Sql| {
            column.exact && std::mem::discriminant(&column.sort) == std::mem::discriminant(&sort)
        };
        let columns: Vec<Sql> = self.columns.iter().filter(alike).cloned().collect();
        if !columns.is_empty() && self.random.chance(85) {
            return self.random.pick(&columns);
        }
        self.constant(sort)
    }

    pub(crate) fn constant(&mut self, sort: Sort) -> Sql {
        match sort {
            Sort::Int => {
                let number = self.random.within(-5, 12);
                let text = if number < 0 {
                    format!("({number})")
                } else {
                    number.to_string()
                };
                Sql::same(sort, text).sized(number.abs() as f64)
            }
            Sort::Decimal(_) => {
                let text = self
                    .random
                    .pick(&["0.25", "1.5", "2.0", "(-0.75)", "10.00", "3.250", ".5", "0.0"]);
                let places = text.trim_end_matches(')').split_once('.').unwrap().1.len();
                Sql::same(Sort::Decimal(places as u32), text).sized(10.0)
            }
            Sort::Bool => Sql::same(sort, self.random.pick(&["true", "false", "(1 = 1)"])),
            Sort::Date => self.date(),
            Sort::Timestamp => {
                let text = self.random.pick(&[
                    "2024-02-28 00:00:00",
                    "2024-02-29 01:30:00",
                    "2024-03-01 03:00:00",
                ]);
                match self.random.chance(20) {
                    true => Sql::new(
                        sort,
                        format!("(timestamp '{text}' + interval '90' minute)"),
                        format!("datetime('{text}', '+90 minutes')"),
                    ),
                    false => Sql::new(sort, format!("timestamp '{text}'"), format!("'{text}'")),
                }
            }
            Sort::Text => Sql::same(
                sort,
                self.random.pick(&["''", "'a'", "'ab'", "'b'", "'abcdef'", "'B'"]),
            ),
        }
    }

    fn date(&mut self) -> Sql {
        // 2023-12-30 and what follows it.
        let text = format_date(19_721 + self.random.below(10) as i128);
        let (unit, lite) = self.random.pick(&[
            ("day", "days"),
            ("days", "days"),
            ("month", "months"),
            ("year", "years"),
        ]);
        // The last days of months are not the same in all.
        let text = if unit.starts_with("day") {
            text
        } else {
            "2023-10-04".into()
        };
        match self.random.below(4) {
            0 => {
                let count = self.random.below(4);
                let sign = self.random.pick(&["+", "-"]);
                Sql::new(
                    Sort::Date,
                    format!("(date '{text}' {sign} interval '{count}' {unit})"),
                    format!("date('{text}', '{sign}{count} {lite}')"),
                )
            }
            _ => Sql::new(Sort::Date, format!("date '{text}'"), format!("'{text}'")),
        }
    }

    /// CASE, COALESCE, NULLIF, GREATEST and LEAST.
    fn choice(&mut self, sort: Sort, depth: usize) -> Sql {
        let x = self.of(sort, depth);
        let y = self.of(sort, depth);
        let places = x.places().max(y.places());
        let both = match sort {
            Sort::Decimal(_) => Sort::Decimal(places),
            sort => sort,
        };
        match self.random.below(8) {
            0 => fill(both, "coalesce({}, {})", &[&x, &y]),
            1 => {
                let z = self.of(sort, depth);
                let both = match both {
                    Sort::Decimal(places) => Sort::Decimal(places.max(z.places())),
                    both => both,
                };
                fill(both, "coalesce({}, null, {}, {})", &[&x, &y, &z])
            }
            2 => fill(x.sort, "nullif({}, {})", &[&x, &y]),
            3 | 4 => {
                let condition = self.condition(depth);
                fill(both, "case when {} then {} else {} end", &[&condition, &x, &y])
            }
            5 => {
                let (operand, case) = (self.any(depth), self.random.below(2));
                let value = self.of(operand.sort, depth);
                let ends = [
                    "case {} when {} then {} else {} end",
                    "case {} when {} then {} when null then {} end",
                ];
                fill(both, ends[case], &[&operand, &value, &x, &y])
            }
            6 => {
                let mut greatest = fill(both, "greatest({}, {})", &[&x, &y]);
                greatest.lite = format!("coalesce(max({0}, {1}), {0}, {1})", x.lite, y.lite);
                greatest
            }
            _ => {
                let mut least = fill(both, "least({}, {})", &[&x, &y]);
                least.lite = format!("coalesce(min({0}, {1}), {0}, {1})", x.lite, y.lite);
                least
            }
        }
    }

    fn integer(&mut self, depth: usize) -> Sql {
        let x = self.of(Sort::Int, depth);
        let y = self.of(Sort::Int, depth);
        let product = x.size * y.size;
        match self.random.below(18) {
            0..3 if x.size + y.size < LARGEST => fill(
                Sort::Int,
                self.random.pick(&["({} + {})", "({} - {})"]),
                &[&x, &y],
            )
            .sized(x.size + y.size),
            3 | 4 if product < LARGEST => fill(Sort::Int, "({} * {})", &[&x, &y]).sized(product),
            5 => {
                let constant = self.random.pick(&["2", "3", "(-3)", "7", "1"]);
                let operator = self.random.pick(&["/", "%"]);
                fill(Sort::Int, &format!("({{}} {operator} {constant})"), &[&x])
            }
            6 => {
                let operator = self.random.pick(&["/", "%"]);
                fill(
                    Sort::Int,
                    &format!("({{}} {operator} nullif({{}}, 0))"),
                    &[&x, &y],
                )
            }
            7 => fill(Sort::Int, "(- {})", &[&x]),
            8 => fill(Sort::Int, "abs({})", &[&x]),
            9 => {
                let condition = self.condition(depth);
                let mut cast = fill(Sort::Int, "cast({} as i32)", &[&condition]).sized(1.0);
                cast.lite = format!("({})", condition.lite);
                cast
            }
            10 => {
                let of = self.of(Sort::Decimal(2), depth);
                let template = self
                    .random
                    .pick(&["cast({} as i64)", "round({})", "round({}, 0)"]);
                let mut rounded = fill(Sort::Int, template, &[&of]).sized(of.size + 1.0);
                rounded.lite = format!("cast(round({}) as integer)", of.lite);
                rounded
            }
            11 => {
                let (one, other) = (self.of(Sort::Date, depth), self.of(Sort::Date, depth));
                let mut days = fill(Sort::Int, "({} - {})", &[&one, &other]).sized(10_000.0);
                days.lite = format!(
                    "cast(julianday({}) - julianday({}) as integer)",
                    one.lite, other.lite
                );
                days
            }
            12 | 13 => self.integer_function(depth),
            _ => self.choice(Sort::Int, depth),
        }
    }

    fn number(&mut self, depth: usize) -> Sql {
        let sort = self.random.pick(&[Sort::Int, Sort::Decimal(2)]);
        self.of(sort, depth)
    }

    fn decimal(&mut self, depth: usize) -> Sql {
        let x = self.of(Sort::Decimal(2), depth);
        let y = self.number(depth);
        let places = x.places().max(y.places());
        let product = x.size * y.size;
        match self.random.below(8) {
            0 | 1 if x.size + y.size < LARGEST => {
                let template = self.random.pick(&["({} + {})", "({} - {})"]);
                fill(Sort::Decimal(places), template, &[&x, &y]).sized(x.size + y.size)
            }
            2 if product < LARGEST && x.places() + y.places() <= MOST_PLACES => {
                fill(Sort::Decimal(x.places() + y.places()), "({} * {})", &[&x, &y]).sized(product)
            }
            3 => fill(x.sort, "(- {})", &[&x]),
            4 => fill(x.sort, "abs({})", &[&x]),
            5 => {
                let of = self.of(Sort::Int, depth);
                let mut cast = fill(Sort::Decimal(2), "cast({} as decimal(18,2))", &[&of]);
                cast.lite = format!("cast({} as real)", of.lite);
                cast
            }
            _ => self.choice(Sort::Decimal(2), depth),
        }
    }

    /// A number that SQLite computes with floating-point numbers.
    pub(crate) fn quotient(&mut self, depth: usize) -> Sql {
        let (x, y) = (self.number(depth), self.of(Sort::Decimal(2), depth));
        let template = self.random.pick(&["({} / nullif({}, 0))", "({} / {})"]);
        let divisor = match template.contains("nullif") {
            true => y,
            false => Sql::same(Sort::Decimal(2), self.random.pick(&["0.25", "3.50", "(-7.0)"])),
        };
        let mut quotient = fill(Sort::Decimal(x.places() + 6), template, &[&x, &divisor]);
        quotient.lite = quotient
            .lite
            .replacen(&x.lite, &format!("cast({} as real)", x.lite), 1);
        if self.random.chance(30) {
            quotient.ours = format!("round({}, 1)", quotient.ours);
            quotient.sort = Sort::Decimal(1);
        }
        quotient.exact = false;
        quotient
    }

    pub(crate) fn condition(&mut self, depth: usize) -> Sql {
        if depth == 0 {
            return self.comparison(0);
        }
        let below = depth - 1;
        match self.random.below(22) {
            0..4 => {
                let (x, y) = (self.condition(below), self.condition(below));
                fill(
                    Sort::Bool,
                    self.random.pick(&["({} and {})", "({} or {})"]),
                    &[&x, &y],
                )
            }
            // What is common to both sides may be an edge of a join.
            4 => {
                let [x, y, z] = [0; 3].map(|_| self.condition(below));
                fill(Sort::Bool, "({} and {} or {} and {})", &[&x, &y, &x, &z])
            }
            5 => fill(Sort::Bool, "(not {})", &[&self.condition(below)]),
            6 => {
                let template = self.random.pick(&[
                    "({} is true)",
                    "({} is false)",
                    "({} is not true)",
                    "({} is not false)",
                ]);
                fill(Sort::Bool, template, &[&self.condition(below)])
            }
            7 | 8 => {
                let template = self.random.pick(&["({} is null)", "({} is not null)"]);
                fill(Sort::Bool, template, &[&self.any(below)])
            }
            9 => self.leaf(Sort::Bool),
            10 => self.choice(Sort::Bool, below),
            11 => {
                let x = self.leaf(Sort::Text);
                let template = self.random.pick(&[
                    "({} like 'a%')",
                    "({} like 'ab%')",
                    "({} not like 'b%')",
                    "({} like '%')",
                    "({} like 'ab')",
                    "({} like 'abcdef%')",
                ]);
                fill(Sort::Bool, template, &[&x])
            }
            12 => fill(Sort::Bool, "({} = null)", &[&self.any(below)]),
            13 | 14 => self.condition_function(below),
            _ => self.comparison(below),
        }
    }

    fn comparison(&mut self, depth: usize) -> Sql {
        let mut x = self.any(depth);
        if x.sort == Sort::Bool && self.random.chance(70) {
            x = self.number(depth);
        }
        let other = |this: &mut Self, x: &Sql| match x.is_number() {
            true => this.number(depth),
            false => this.of(x.sort, depth),
        };
        let y = other(self, &x);
        match self.random.below(10) {
            0 => {
                let z = other(self, &x);
                let template = self
                    .random
                    .pick(&["({} between {} and {})", "({} not between {} and {})"]);
                fill(Sort::Bool, template, &[&x, &y, &z])
            }
            1 | 2 => {
                let z = other(self, &x);
                let template = self.random.pick(&[
                    "({} in ({}, {}))",
                    "({} not in ({}, {}))",
                    "({} in ({}, null, {}))",
                ]);
                fill(Sort::Bool, template, &[&x, &y, &z])
            }
            // Text beside a date is one.
            3 if x.sort == Sort::Date => Sql::new(
                Sort::Bool,
                format!("({} >= '2024-01-03')", x.ours),
                format!("({} >= '2024-01-03')", x.lite),
            ),
            _ => {
                let operator = self.random.pick(&["=", "=", "<>", "<", "<=", ">", ">="]);
                fill(Sort::Bool, &format!("({{}} {operator} {{}})"), &[&x, &y])
            }
        }
    }
}
