//! FROM of random queries: tables and subqueries, joined.

use cenote_tables::{Field, Type};

use super::expressions::{Sort, Sql};
use super::queries::{Column, Part, Queries};

/// The sort of a column of a table.
fn sort(field: &Field) -> Sort {
    match field.kind {
        Type::Bool => Sort::Bool,
        Type::Date => Sort::Date,
        Type::Timestamp => Sort::Timestamp,
        Type::Char(_) => Sort::Text,
        Type::Decimal {
            scale: scale @ 1.., ..
        } => Sort::Decimal(scale.into()),
        Type::Int { .. } | Type::Decimal { .. } => Sort::Int,
    }
}

pub(super) fn alike(one: Sort, other: Sort) -> bool {
    let class = |sort| {
        if let Sort::Decimal(_) = sort {
            Sort::Int
        } else {
            sort
        }
    };
    class(one) == class(other)
}

impl Queries<'_> {
    /// What FROM names, and a condition that belongs to it.
    pub(super) fn from(&mut self, depth: usize) -> (Part, Option<[String; 2]>) {
        let mut all = self.factor(depth);
        let mut filter: Option<[String; 2]> = None;
        let joins = match depth {
            0 => self.random.pick(&[0, 0, 1]),
            _ => self.random.pick(&[0, 1, 1, 1, 1, 2, 2, 3]),
        };
        for _ in 0..joins {
            let next = self.factor(depth);
            let Some((x, y)) = self.edge(&all, &next) else {
                continue;
            };
            let mut on = [
                format!("{} = {}", x.sql.ours, y.sql.ours),
                format!("{} = {}", x.sql.lite, y.sql.lite),
            ];
            if self.random.chance(15) {
                on = [
                    format!("{} = {}", y.sql.ours, x.sql.ours),
                    format!("{} = {}", y.sql.lite, x.sql.lite),
                ];
            }
            // A second column that is equal.
            if self.random.chance(15)
                && let Some((x, y)) = self.pair(&all, &next, |_, _| true)
            {
                on[0] += &format!(" and {} = {}", x.sql.ours, y.sql.ours);
                on[1] += &format!(" and {} = {}", x.sql.lite, y.sql.lite);
            }
            let promised = all.looks_up(&x) || next.looks_up(&y);
            let outer = match (promised, self.random.chance(40)) {
                (true, true) => self.random.pick(&["left", "left", "right", "full"]),
                (false, true) => "left",
                (_, false) => "",
            };
            if matches!(outer, "" | "left") && self.random.chance(15) {
                let own: Vec<Sql> = next.columns.iter().map(|column| column.sql.clone()).collect();
                let more = self.over(&own).condition(1);
                on[0] += &format!(" and {}", more.ours);
                on[1] += &format!(" and {}", more.lite);
            }
            let shared =
                |part: &Part| part.columns.iter().filter(|column| column.name == x.name).count() == 1;
            let same = x.name == y.name && shared(&all) && shared(&next);
            let using = same && outer != "full" && self.random.chance(40);
            let text = |at: usize| match using {
                true => format!(" using ({})", x.name),
                false => format!(" on {}", on[at]),
            };
            if outer.is_empty() && !using && self.random.chance(15) && filter.is_none() {
                all.ours += &format!(", {}", next.ours);
                all.lite += &format!(", {}", next.lite);
                filter = Some(on);
            } else {
                all.ours += &format!(" {outer} join {}{}", next.ours, text(0));
                all.lite += &format!(" {outer} join {}{}", next.lite, text(1));
            }
            let unique = |column: &Column| column.most == Some(1);
            let (keeps, gives) = (unique(&y), unique(&x));
            if !keeps || matches!(outer, "right" | "full") {
                all.columns.iter_mut().for_each(|column| column.most = None);
            }
            let own = next.columns.into_iter().map(|column| Column {
                most: column.most.filter(|_| gives && outer.is_empty()),
                ..column
            });
            all.columns.extend(own);
            all.owner = all.owner.filter(|_| all.owner == next.owner);
            if filter.is_some() {
                break;
            }
        }
        if depth > 0 && self.random.chance(8) {
            let only = self.only_row();
            all.ours += &format!(" cross join {}", only.ours);
            all.lite += &format!(" cross join {}", only.lite);
            all.columns.extend(only.columns);
            all.owner = None;
        }
        (all, filter)
    }

    /// A condition with a subquery, which may compare its rows with those of `around`.
    pub(super) fn subquery(&mut self, around: &Part) -> Option<[String; 2]> {
        let inner = self.factor(0);
        let (x, y) = self.pair(around, &inner, |_, _| true)?;
        let other = self.pair(around, &inner, |_, _| true)?;
        let own: Vec<Sql> = inner.columns.iter().map(|column| column.sql.clone()).collect();
        let more = self.random.chance(40).then(|| self.over(&own).condition(1));
        let (form, not) = (self.random.below(5), self.random.chance(40));
        let differs = self.random.chance(30);
        let text = |at: usize| {
            let of = |sql: &Sql| [&sql.ours, &sql.lite][at].clone();
            let from = [&inner.ours, &inner.lite][at];
            let (x, y, not) = (of(&x.sql), of(&y.sql), if not { "not " } else { "" });
            let more = more.as_ref().map(of);
            let and = more
                .as_ref()
                .map_or_else(String::new, |more| format!(" and {more}"));
            let only = more
                .as_ref()
                .map_or_else(String::new, |more| format!(" where {more}"));
            let differs = match differs {
                true => format!(" and {} <> {}", of(&other.0.sql), of(&other.1.sql)),
                false => String::new(),
            };
            match form {
                0 => format!("{not}exists (select 1 from {from} where {x} = {y}{and}{differs})"),
                1 => format!("{x} {not}in (select {y} from {from}{only})"),
                2 => format!("{x} >= (select min({y}) from {from}{only})"),
                3 => format!("(select count(*) from {from} where {y} = {x}{and}) < 2"),
                _ => {
                    let (u, v) = (of(&other.0.sql), of(&other.1.sql));
                    format!("{u} {not}in (select {v} from {from} where {x} = {y}{and})")
                }
            }
        };
        Some([text(0), text(1)])
    }

    /// A subquery of one row.
    fn only_row(&mut self) -> Part {
        let table = self.factor(0);
        let scope: Vec<Sql> = table.columns.iter().map(|column| column.sql.clone()).collect();
        let sql = loop {
            let sql = self.aggregate(&scope);
            if sql.exact {
                break sql;
            }
        };
        let column = Column {
            sql,
            name: self.name("c"),
            most: None,
        };
        let part = Part::new("select", vec![column], ["", ""], [&table.ours, &table.lite], true);
        self.named(part)
    }

    /// A subquery under a name of its own.
    pub(super) fn named(&mut self, part: Part) -> Part {
        let name = self.name("a");
        Part {
            ours: format!("({}) as {name}", part.ours),
            lite: format!("({}) as {name}", part.lite),
            columns: part.columns.iter().map(|column| column.of(&name)).collect(),
            grouped: false,
            owner: part.owner,
        }
    }

    /// Two columns that a join can be by.
    fn edge(&mut self, one: &Part, other: &Part) -> Option<(Column, Column)> {
        let careless = self.random.chance(2) || self.world.schema.max_join_rows.is_some();
        self.pair(one, other, |x, y| {
            careless || one.looks_up(x) || other.looks_up(y)
        })
    }

    fn pair(
        &mut self,
        one: &Part,
        other: &Part,
        fits: impl Fn(&Column, &Column) -> bool,
    ) -> Option<(Column, Column)> {
        let mut pairs = Vec::new();
        for x in &one.columns {
            for y in &other.columns {
                let exact = x.sql.exact && y.sql.exact;
                if exact && alike(x.sql.sort, y.sql.sort) && x.sql.sort != Sort::Bool && fits(x, y) {
                    // Mostly by the first column.
                    let times = if x.name == "id" && y.name == "id" { 6 } else { 1 };
                    pairs.extend(std::iter::repeat_n((x.clone(), y.clone()), times));
                }
            }
        }
        (!pairs.is_empty()).then(|| self.random.pick(&pairs))
    }

    /// A table or a subquery, under a name of its own.
    pub(super) fn factor(&mut self, depth: usize) -> Part {
        let name = self.name("a");
        if depth > 0 && self.random.chance(20) {
            let part = self.body(depth - 1);
            return self.named(part);
        }
        if !self.with.is_empty() && self.random.chance(60) {
            let (table, part) = self.random.pick(&self.with);
            let text = format!("{table} as {name}");
            return Part {
                ours: text.clone(),
                lite: text,
                columns: part.columns.iter().map(|column| column.of(&name)).collect(),
                grouped: false,
                owner: part.owner,
            };
        }
        // Mostly one table after the other, which are of several parties.
        let tables = &self.world.schema.tables;
        let declared = match self.random.chance(70) {
            true => &tables[self.names % tables.len()],
            false => &tables[self.random.below(tables.len())],
        };
        let column = |field: &Field| {
            let most = match declared.unique.contains(&vec![field.name.clone()]) {
                true => Some(1),
                false => declared.at_most.get(&field.name).copied(),
            };
            let size = if matches!(sort(field), Sort::Int | Sort::Decimal(_)) {
                70_000.0
            } else {
                0.0
            };
            let column = Column {
                sql: Sql::new(sort(field), "", "").sized(size),
                name: field.name.clone(),
                most,
            };
            column.of(&name)
        };
        let text = format!("{} {name}", declared.name);
        Part {
            ours: text.clone(),
            lite: text,
            columns: declared.fields.iter().map(column).collect(),
            grouped: false,
            owner: Some(declared.party),
        }
    }
}
