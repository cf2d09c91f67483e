//! What SQLite lacks, as what it stands for: variances as sums, and ROLLUP and CUBE as all of their groupings.

use super::expressions::{Sort, Sql};
use super::queries::{Column, Part, Queries};

/// Numbers that are not larger have sums of products that SQLite adds up without rounding.
const LARGEST: f64 = 1e4;

impl Queries<'_> {
    /// A variance or the like.
    pub(super) fn aggregate(&mut self, scope: &[Sql]) -> Sql {
        match self.random.below(9) {
            0 => self.statistic(scope),
            _ => self.plain_aggregate(scope),
        }
    }

    fn statistic(&mut self, scope: &[Sql]) -> Sql {
        let [x, y] = [(); 2].map(|()| self.over(scope).of(Sort::Int, 1));
        let name = self.random.pick(&[
            "variance",
            "var_pop",
            "stddev",
            "stddev_pop",
            "covar_samp",
            "covar_pop",
            "corr",
        ]);
        if x.size.max(y.size) > LARGEST {
            return Sql::new(Sort::Int, "count(*)", "count(*)").sized(2000.0);
        }
        let of_two = name.starts_with("co");
        let with =
            |own: &Sql, other: &Sql| format!("(case when {} is not null then {} end)", other.lite, own.lite);
        let (one, other) = match of_two {
            true => (with(&x, &y), with(&y, &x)),
            false => (x.lite.clone(), x.lite.clone()),
        };
        let excess =
            |x: &str, y: &str| format!("(count({one}) * sum({x} * {y}) - sum({x}) * sum({y})) * 1.0");
        let one_less = if name.ends_with("pop") { 0 } else { 1 };
        let quotient = format!(
            "({} / nullif(count({one}) * (count({one}) - {one_less}), 0))",
            excess(&one, &other)
        );
        let lite = match name {
            "corr" => format!(
                "({} / nullif(sqrt({} * {}), 0))",
                excess(&one, &other),
                excess(&one, &one),
                excess(&other, &other)
            ),
            name if name.starts_with("std") => format!("sqrt({quotient})"),
            _ => quotient,
        };
        let ours = match of_two {
            true => format!("{name}({}, {})", x.ours, y.ours),
            false => format!("{name}({})", x.ours),
        };
        let mut made = Sql::new(Sort::Decimal(6), ours, lite);
        made.exact = false;
        made
    }
}

/// Several groupings of the same rows.
pub(super) struct Rolled {
    /// Of all sets of keys, or of the first so many.
    cube: bool,
    keys: Vec<Sql>,
}

impl Rolled {
    /// Whether all keys are columns, none twice: parts of an expression that is a key are no keys.
    pub(super) fn is_of(keys: &[Sql], scope: &[Sql]) -> bool {
        let is_column = |key: &Sql| scope.iter().any(|column| column.ours == key.ours);
        let once = |at: usize| keys[..at].iter().all(|other| other.ours != keys[at].ours);
        !keys.is_empty() && keys.iter().all(is_column) && (0..keys.len()).all(once)
    }

    pub(super) fn new(cube: bool, keys: &[Sql]) -> Self {
        Rolled {
            cube,
            keys: keys.to_vec(),
        }
    }

    /// The keys with marks that stand for them in what SQLite is asked.
    pub(super) fn marked(&self) -> Vec<Sql> {
        let marked = |(at, key): (usize, &Sql)| Sql {
            lite: mark(at),
            ..key.clone()
        };
        self.keys.iter().enumerate().map(marked).collect()
    }

    pub(super) fn part(&self, columns: Vec<Column>, from: [&str; 2], having: Vec<[String; 2]>) -> Part {
        let names: Vec<&str> = self.keys.iter().map(|key| key.ours.as_str()).collect();
        let name = if self.cube { "cube" } else { "rollup" };
        let mut ours = format!(" group by {name}({})", names.join(", "));
        let conditions: Vec<&str> = having.iter().map(|[ours, _]| ours.as_str()).collect();
        if !conditions.is_empty() {
            ours += &format!(" having {}", conditions.join(" and "));
        }
        let kept = |set: usize, at: usize| match self.cube {
            true => set >> at & 1 == 1,
            false => at < set,
        };
        let sets = if self.cube {
            1 << self.keys.len()
        } else {
            self.keys.len() + 1
        };
        let lite: Vec<String> = (0..sets)
            .map(|set| {
                let places = 0..self.keys.len();
                let keys: Vec<&str> = places
                    .clone()
                    .filter(|at| kept(set, *at))
                    .map(|at| self.keys[at].lite.as_str())
                    .collect();
                let by = if keys.is_empty() {
                    String::new()
                } else {
                    format!(" group by {}", keys.join(", "))
                };
                let told = columns
                    .iter()
                    .map(|column| format!("{} as {}", column.sql.lite, column.name));
                let told: Vec<String> = told.collect();
                // SQLite wants an aggregate to see that there are no keys.
                let conditions = having
                    .iter()
                    .map(|[_, lite]| lite.as_str())
                    .chain(["count(*) >= 0"]);
                let conditions: Vec<&str> = conditions.collect();
                let text = format!(
                    "select {} from {}{by} having {}",
                    told.join(", "),
                    from[1],
                    conditions.join(" and ")
                );
                places.fold(text, |text, at| {
                    let value = if kept(set, at) {
                        self.keys[at].lite.as_str()
                    } else {
                        "null"
                    };
                    text.replace(&mark(at), value)
                })
            })
            .collect();
        let part = Part::new("select", columns, [&ours, ""], from, false);
        Part {
            lite: format!("select * from ({})", lite.join(" union all ")),
            ..part
        }
    }
}

fn mark(key: usize) -> String {
    format!("<key {key}>")
}
