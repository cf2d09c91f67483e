//! Random window functions.

use super::Case;
use super::expressions::{Sort, Sql};
use super::queries::{Asked, ORDERS, Queries};
use crate::common::World;

/// Small queries with windows and percentiles, for real protocols.
pub(crate) fn small(parties: u8) -> [Case; 2] {
    let world = World::new(parties)
        .table(0, "a", "g u8, x i8", "1 2 | 1 -3")
        .table(1, "b", "g u8, x i8", "1 3 | null 4");
    let from = "from (select g, x from a union all select g, x from b) u";
    let windows = format!(
        "select x, rank() over (order by x desc) as r, sum(x) over (partition by g order by x) as s, \
         lag(x, 1, 0) over (partition by g order by x) as l {from}"
    );
    let case = |ours: String, lite: String, columns| Case {
        world: world.clone(),
        asked: Asked { ours, lite, columns },
    };
    let lite = format!("{windows} order by 1");
    // SQLite has no medians.
    let median = format!("select median(x) as m, quantile_disc(x, 0.5) as q {from}");
    [
        case(windows, lite, vec![(Sort::Int, true); 4]),
        case(
            median,
            "select 2.5, 2".into(),
            vec![(Sort::Decimal(6), true), (Sort::Int, true)],
        ),
    ]
}

impl Queries<'_> {
    /// The column `at` of groups by so many of the columns that are `made`, and how often a value comes in it.
    pub(super) fn of_group(
        &mut self,
        made: &[Sql],
        keys: usize,
        at: usize,
        rolled: bool,
    ) -> (Sql, Option<usize>) {
        if self.random.chance(75) {
            let at = if at < made.len() {
                at
            } else {
                self.random.below(made.len())
            };
            return (made[at].clone(), (at == 0 && keys == 1 && !rolled).then_some(1));
        }
        let window = (keys > 0 && !rolled && self.random.chance(40))
            .then(|| self.window(made))
            .flatten();
        (window.unwrap_or_else(|| self.over(made).any(1)), None)
    }

    /// A function over a window of rows with these columns; nothing if SQLite rounds some of them.
    pub(super) fn window(&mut self, scope: &[Sql]) -> Option<Sql> {
        if scope.is_empty() || scope.iter().any(|column| !column.exact) {
            return None;
        }
        let (function, is_exact) = self.over_rows(scope);
        let mut partition: Vec<Sql> = Vec::new();
        for _ in 0..self.random.below(3) {
            partition.push(self.key(scope));
        }
        let mut order: Vec<(Sql, [&str; 2])> = Vec::new();
        for _ in 0..self.random.below(3) {
            let how = self.random.pick(&ORDERS);
            order.push((self.key(scope), how));
        }
        let frame = self.random.pick(&[
            "",
            "",
            "",
            " rows unbounded preceding",
            " rows between unbounded preceding and unbounded following",
        ]);
        let by_row = frame == " rows unbounded preceding";
        if is_exact || by_row {
            // Rows that are equal in all columns may come in any order.
            order.extend(scope.iter().map(|column| (column.clone(), ORDERS[0])));
        }
        let text = |of: fn(&Sql) -> &str, dialect: usize| {
            let keys: Vec<&str> = partition.iter().map(of).collect();
            let by: Vec<String> = order
                .iter()
                .map(|(by, how)| of(by).to_owned() + how[dialect])
                .collect();
            let part = |word: &str, list: String| match list.is_empty() {
                true => list,
                false => format!("{word} by {list} "),
            };
            let window = part("partition", keys.join(", ")) + &part("order", by.join(", ")) + frame.trim();
            format!("{} over ({})", of(&function), window.trim())
        };
        Some(Sql {
            ours: text(|sql| &sql.ours, 0),
            lite: text(|sql| &sql.lite, 1),
            ..function
        })
    }

    /// What rows are parted or ordered by.
    fn key(&mut self, scope: &[Sql]) -> Sql {
        match self.random.chance(75) {
            true => self.random.pick(scope),
            false => self.over(scope).any(1),
        }
    }

    /// What stands before OVER, and whether it matters which of equal rows comes first.
    fn over_rows(&mut self, scope: &[Sql]) -> (Sql, bool) {
        let number = |name: &str| Sql::new(Sort::Int, name, name).sized(2000.0);
        match self.random.below(9) {
            0 => (number("row_number()"), true),
            1 => (number("rank()"), false),
            2 => (number("dense_rank()"), false),
            3 | 4 => {
                let of = self.random.pick(scope);
                let name = self.random.pick(&["lag", "lead"]);
                let places = self.random.below(4);
                let text = |of: &str| format!("{name}({of}, {places})");
                (
                    Sql {
                        ours: text(&of.ours),
                        lite: text(&of.lite),
                        ..of
                    },
                    true,
                )
            }
            5 => {
                let of = self.over(scope).any(1);
                let name = self.random.pick(&["first_value", "last_value"]);
                let text = |of: &str| format!("{name}({of})");
                (
                    Sql {
                        ours: text(&of.ours),
                        lite: text(&of.lite),
                        ..of
                    },
                    true,
                )
            }
            _ => (self.plain_aggregate(scope), false),
        }
    }
}
