//! Random queries in which groups meet totals, or other groups by what is made of them.

use super::expressions::{Sort, Sql};
use super::from::alike;
use super::queries::{Asked, Column, Part, Queries};

/// FROM with a condition, in both dialects, and what it names.
struct Rows {
    from: [String; 2],
    scope: Vec<Sql>,
}

/// A text of both dialects.
fn of(sql: &Sql, dialect: usize) -> &str {
    [&sql.ours, &sql.lite][dialect]
}

impl Queries<'_> {
    /// Such a query.
    pub(crate) fn with_totals(&mut self) -> Asked {
        let part = match self.random.below(4) {
            0 => self.groups_above_a_total(),
            1 => self.rows_above_a_total(),
            2 => self.total_of_groups(),
            _ => self.groups_that_meet(),
        };
        self.ordered(part, Default::default(), &[])
    }

    fn rows(&mut self) -> Rows {
        let table = self.factor(0);
        let scope: Vec<Sql> = table.columns.iter().map(|column| column.sql.clone()).collect();
        let mut from = [table.ours, table.lite];
        if self.random.chance(40) {
            let condition = self.over(&scope).condition(1);
            from[0] += &format!(" where {}", condition.ours);
            from[1] += &format!(" where {}", condition.lite);
        }
        Rows { from, scope }
    }

    /// An aggregate that is a number.
    fn number_of(&mut self, scope: &[Sql]) -> Sql {
        loop {
            let made = self.plain_aggregate(scope);
            if made.exact && alike(made.sort, Sort::Int) {
                return made;
            }
        }
    }

    fn column(&mut self, sql: Sql) -> Column {
        Column {
            sql,
            name: self.name("c"),
            most: None,
        }
    }

    /// `sql` compared with a total of rows of their own.
    fn above_a_total(&mut self, sql: &Sql) -> [String; 2] {
        let Rows { from, scope } = self.rows();
        let total = self.number_of(&scope);
        let compared = self.random.pick(&["<", ">", "<=", "<>"]);
        let part = self.random.pick(&["", " * 2", " - 3"]);
        [0, 1].map(|dialect| {
            let (total, from) = (of(&total, dialect), &from[dialect]);
            format!(
                "{} {compared} (select {total}{part} from {from})",
                of(sql, dialect)
            )
        })
    }

    /// A key and a number of each group; those that are above a total, if that is wanted.
    fn groups(&mut self, above: bool) -> Part {
        let Rows { from, scope } = self.rows();
        let (key, made) = (self.random.pick(&scope), self.number_of(&scope));
        let mut groups = [0, 1].map(|dialect| format!(" group by {}", of(&key, dialect)));
        if above {
            let having = self.above_a_total(&made);
            for (groups, having) in groups.iter_mut().zip(having) {
                *groups += &format!(" having {having}");
            }
        }
        let columns = vec![self.column(key), self.column(made)];
        let [ours, lite] = &groups;
        Part::new("select", columns, [ours, lite], [&from[0], &from[1]], true)
    }

    fn groups_above_a_total(&mut self) -> Part {
        self.groups(true)
    }

    /// A number of the rows of which a column is above a total.
    fn rows_above_a_total(&mut self) -> Part {
        let table = self.factor(0);
        let scope: Vec<Sql> = table.columns.iter().map(|column| column.sql.clone()).collect();
        let of_table = self.over(&scope).of(Sort::Int, 1);
        let [ours, lite] = self.above_a_total(&of_table);
        let from = [
            format!("{} where {ours}", table.ours),
            format!("{} where {lite}", table.lite),
        ];
        let made = self.number_of(&scope);
        let columns = vec![self.column(made)];
        Part::new("select", columns, ["", ""], [&from[0], &from[1]], true)
    }

    /// A number of all groups that are above a total.
    fn total_of_groups(&mut self) -> Part {
        let groups = self.groups(true);
        let groups = self.named(groups);
        let scope: Vec<Sql> = groups.columns.iter().map(|column| column.sql.clone()).collect();
        let made = self.number_of(&scope);
        let columns = vec![self.column(made)];
        Part::new("select", columns, ["", ""], [&groups.ours, &groups.lite], true)
    }

    /// Groups with other groups that have their number, as a key if it can be one.
    fn groups_that_meet(&mut self) -> Part {
        let above = self.random.chance(20);
        let [one, other] = [above, false].map(|above| {
            let groups = self.groups(above);
            self.named(groups)
        });
        let is_number = |column: &&Column| alike(column.sql.sort, Sort::Int);
        let y = other.columns.iter().find(is_number).map(|column| &column.sql);
        let (x, y) = (&one.columns[1].sql, y.expect("the second is one"));
        let join = self.random.pick(&["join", "left join"]);
        let from = [0, 1].map(|dialect| {
            let [one, other] = [&one, &other].map(|part| [&part.ours, &part.lite][dialect]);
            format!("{one} {join} {other} on {} = {}", of(x, dialect), of(y, dialect))
        });
        let all = one.columns.iter().chain(&other.columns);
        let all: Vec<Sql> = all.map(|column| column.sql.clone()).collect();
        let columns = all.into_iter().map(|sql| self.column(sql)).collect();
        Part::new("select", columns, ["", ""], [&from[0], &from[1]], false)
    }
}
