//! Random functions of dates, timestamps and texts.

use super::expressions::{Expressions, Sort, Sql, fill};

/// `ours` and `lite` with `{}` filled in by the parts.
fn both(sort: Sort, (ours, lite): (&str, &str), parts: &[&Sql]) -> Sql {
    Sql {
        lite: fill(sort, lite, parts).lite,
        ..fill(sort, ours, parts)
    }
}

impl Expressions<'_> {
    /// What a function is of: mostly a column, as functions of several parties' columns are refused.
    fn operand(&mut self, sort: Sort, depth: usize) -> Sql {
        match self.random.chance(85) {
            true => self.leaf(sort),
            false => self.of(sort, depth),
        }
    }

    fn a_moment(&mut self, depth: usize) -> Sql {
        let sort = self.random.pick(&[Sort::Date, Sort::Timestamp]);
        self.operand(sort, depth)
    }

    /// A whole number: a part of a date, or something of a text.
    pub(crate) fn integer_function(&mut self, depth: usize) -> Sql {
        let text = ("length({})", "length({})");
        match self.random.below(5) {
            0 => both(Sort::Int, text, &[&self.operand(Sort::Text, depth)]).sized(20.0),
            1 => {
                let part = self.random.pick(&["a", "b", "bc", "z"]);
                let x = self.operand(Sort::Text, depth);
                let forms = (
                    format!("position('{part}' in {{}})"),
                    format!("instr({{}}, '{part}')"),
                );
                both(Sort::Int, (&forms.0, &forms.1), &[&x]).sized(20.0)
            }
            2 => {
                let x = self.operand(Sort::Decimal(2), depth);
                let mut floor = fill(Sort::Int, "floor({})", &[&x]).sized(x.size + 1.0);
                floor.lite = format!("(cast({0} as integer) - ({0} < cast({0} as integer)))", x.lite);
                floor
            }
            _ => {
                let x = self.a_moment(depth);
                let (ours, lite) = self.random.pick(&[
                    ("extract(year from {})", "cast(strftime('%Y', {}) as integer)"),
                    ("extract(month from {})", "cast(strftime('%m', {}) as integer)"),
                    ("extract(day from {})", "cast(strftime('%d', {}) as integer)"),
                    ("extract(dow from {})", "cast(strftime('%w', {}) as integer)"),
                    ("extract(doy from {})", "cast(strftime('%j', {}) as integer)"),
                    ("quarter({})", "((cast(strftime('%m', {}) as integer) + 2) / 3)"),
                    (
                        "date_part('hour', cast({} as timestamp))",
                        "cast(strftime('%H', {}) as integer)",
                    ),
                ]);
                both(Sort::Int, (ours, lite), &[&x]).sized(3000.0)
            }
        }
    }

    /// A date, a timestamp or a text.
    pub(crate) fn function(&mut self, sort: Sort, depth: usize) -> Sql {
        match sort {
            Sort::Date => {
                let number = self.operand(Sort::Int, depth);
                if number.size <= 1000.0 && self.random.chance(30) {
                    let x = self.operand(Sort::Date, depth);
                    return both(sort, ("({} + {})", "date({}, {} || ' days')"), &[&x, &number]);
                }
                let x = self.a_moment(depth);
                let forms = self.random.pick(&[
                    ("cast({} as date)", "date({})"),
                    (
                        "date_trunc('month', cast({} as date))",
                        "date({}, 'start of month')",
                    ),
                    (
                        "date_trunc('year', cast({} as date))",
                        "date({}, 'start of year')",
                    ),
                    ("(cast({} as date) - interval '3' day)", "date({}, '-3 days')"),
                ]);
                both(sort, forms, &[&x])
            }
            Sort::Timestamp => {
                let x = self.a_moment(depth);
                let forms = self.random.pick(&[
                    ("cast({} as timestamp)", "datetime({})"),
                    (
                        "date_trunc('day', cast({} as timestamp))",
                        "datetime({}, 'start of day')",
                    ),
                    (
                        "date_trunc('month', cast({} as timestamp))",
                        "datetime({}, 'start of month')",
                    ),
                    ("({} + interval '90' minute)", "datetime({}, '+90 minutes')"),
                    ("(interval '1 day 1 hour' + {})", "datetime({}, '+25 hours')"),
                ]);
                both(sort, forms, &[&x])
            }
            _ => {
                let (x, y) = (self.operand(Sort::Text, depth), self.leaf(Sort::Text));
                let number = self.operand(Sort::Int, 0);
                match self.random.below(4) {
                    0 => fill(sort, "({} || {})", &[&x, &y]),
                    1 => both(
                        sort,
                        ("concat({}, {})", "(coalesce({}, '') || coalesce({}, ''))"),
                        &[&x, &y],
                    ),
                    2 => both(sort, ("({} || {})", "({} || cast({} as text))"), &[&x, &number]),
                    _ => {
                        let forms = self.random.pick(&[
                            ("upper({})", "upper({})"),
                            ("lower({})", "lower({})"),
                            ("substring({} from 2 for 2)", "substr({}, 2, 2)"),
                            ("left({}, 1)", "substr({}, 1, 1)"),
                            ("substr({}, 0, 3)", "substr({}, 1, 2)"),
                            ("substring({} from 2)", "substr({}, 2)"),
                            ("right({}, 2)", "substr({}, -2)"),
                            ("replace({}, 'b', 'xy')", "replace({}, 'b', 'xy')"),
                            ("ltrim({}, 'a')", "ltrim({}, 'a')"),
                            ("trim({}, 'ab')", "trim({}, 'ab')"),
                        ]);
                        both(sort, forms, &[&x])
                    }
                }
            }
        }
    }

    /// A condition on a text, or one that takes nulls for values.
    pub(crate) fn condition_function(&mut self, depth: usize) -> Sql {
        if self.random.chance(30) {
            let x = self.any(depth);
            let y = self.of(x.sort, depth);
            let forms = self.random.pick(&[
                ("({} is distinct from {})", "({} is not {})"),
                ("({} is not distinct from {})", "({} is {})"),
            ]);
            return both(Sort::Bool, forms, &[&x, &y]);
        }
        let x = self.operand(Sort::Text, depth);
        let forms = self.random.pick(&[
            ("({} like '%b%')", "({} like '%b%')"),
            ("({} like '_b%')", "({} like '_b%')"),
            ("({} like '%a%b%')", "({} like '%a%b%')"),
            ("({} not like 'a%b')", "({} not like 'a%b')"),
            ("({} not like '%_b')", "({} not like '%_b')"),
            ("({} like '_')", "({} like '_')"),
            ("({} ilike '%B%')", "(lower({}) like '%b%')"),
            ("({} like null)", "({} like null)"),
            ("starts_with({}, 'a')", "({} like 'a%')"),
        ]);
        both(Sort::Bool, forms, &[&x])
    }
}
