//! Random queries, in our dialect and in SQLite's.

use cenote_net::PartyId;
use cenote_tables::{Field, Type};

use super::expressions::{Expressions, Sort, Sql};
use super::random::Random;
use crate::common::World;

/// A column that can be named.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) sql: Sql,
    /// Its name without its table's.
    name: String,
    /// How often a value comes in it at most, if that is known.
    most: Option<usize>,
}

/// A query or a part of one, in both dialects, and its columns by name.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) ours: String,
    pub(crate) lite: String,
    pub(crate) columns: Vec<Column>,
    /// Whether its rows are of groups.
    grouped: bool,
    /// The only party that it is of, if there is one.
    owner: Option<PartyId>,
}

/// A query, and what is asked of its answer.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) ours: String,
    /// Its rows come in the order in which the answer has them.
    pub(crate) lite: String,
    /// What its columns are, and whether SQLite computes them without rounding.
    pub(crate) columns: Vec<(Sort, bool)>,
}

/// Makes queries over the tables of a world.
pub(crate) struct Queries<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) world: &'a World,
    names: usize,
    /// Subqueries of WITH.
    with: Vec<(String, Part)>,
    /// Smaller groups are left out of the answer.
    min_group: u64,
}

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

fn alike(one: Sort, other: Sort) -> bool {
    let class = |sort| {
        if let Sort::Decimal(_) = sort {
            Sort::Int
        } else {
            sort
        }
    };
    class(one) == class(other)
}

impl<'a> Queries<'a> {
    pub(crate) fn new(random: &'a mut Random, world: &'a World) -> Self {
        Queries {
            random,
            min_group: world.schema.answer.min_group,
            world,
            names: 0,
            with: Vec::new(),
        }
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn over<'b>(&'b mut self, columns: &'b [Sql]) -> Expressions<'b> {
        Expressions {
            random: self.random,
            columns,
        }
    }

    /// A whole query.
    pub(crate) fn query(&mut self) -> Asked {
        let mut with = [String::new(), String::new()];
        if self.random.chance(15) {
            let part = self.body(2);
            let name = self.name("w");
            with = [&part.ours, &part.lite].map(|text| format!("with {name} as ({text}) "));
            self.with.push((name, part));
        }
        if self.min_group > 1 {
            return self.of_groups(with);
        }
        if self.random.chance(15) {
            let part = self.union(1);
            return self.ordered(part, with, &[]);
        }
        let (part, scope) = self.select(2, None, false);
        self.ordered(part, with, &scope)
    }

    /// A query whose answer is of groups, so that small ones can be left out.
    fn of_groups(&mut self, with: [String; 2]) -> Asked {
        loop {
            let (part, scope) = self.select(2, None, true);
            if part.grouped {
                return self.ordered(part, with, &scope);
            }
        }
    }

    /// ORDER BY and LIMIT, by columns of the answer or by others of `scope`.
    fn ordered(&mut self, part: Part, [with_ours, with_lite]: [String; 2], scope: &[Sql]) -> Asked {
        let columns: Vec<(Sort, bool)> = part
            .columns
            .iter()
            .map(|column| (column.sql.sort, column.sql.exact))
            .collect();
        let (mut ours, mut lite) = (with_ours + &part.ours, with_lite + &part.lite);
        let exact = columns.iter().all(|(_, exact)| *exact);
        let mut order: Vec<[String; 2]> = Vec::new();
        if exact && self.random.chance(50) {
            for _ in 0..1 + self.random.below(2) {
                let by = match self.random.below(3) {
                    0 if !scope.is_empty() => {
                        let by = self.over(scope).any(1);
                        // A constant would be the number of a column.
                        if !by.names_any(scope) {
                            continue;
                        }
                        [by.ours, by.lite]
                    }
                    1 => [(); 2].map(|_| format!("{}", 1 + self.names % part.columns.len())),
                    _ => {
                        let name = self.random.pick(&part.columns).name;
                        [name.clone(), name]
                    }
                };
                let how = self
                    .random
                    .pick(&["", " asc", " desc", " desc nulls first", " nulls last"]);
                order.push(by.map(|by| by + how));
            }
        }
        if !order.is_empty() {
            let by: Vec<&str> = order.iter().map(|[ours, _]| ours.as_str()).collect();
            ours += &format!(" order by {}", by.join(", "));
        }
        let by: Vec<String> = order
            .into_iter()
            .map(|[_, lite]| lite)
            .chain((1..=columns.len()).map(|at| at.to_string()))
            .collect();
        lite += &format!(" order by {}", by.join(", "));
        if exact && self.random.chance(25) {
            let limit = format!(" limit {}", 1 + self.random.below(6));
            ours += &limit;
            lite += &limit;
        }
        Asked { ours, lite, columns }
    }

    /// SELECT, or a UNION of them.
    fn body(&mut self, depth: usize) -> Part {
        match self.random.below(5) {
            0 => self.union(depth),
            1 => {
                // The first rows in an order that leaves none equal.
                let (mut part, _) = self.select(depth, None, false);
                if part.columns.iter().all(|column| column.sql.exact) {
                    let by: Vec<String> = part.columns.iter().map(|column| column.name.clone()).collect();
                    let limit = format!(
                        " order by {} desc limit {}",
                        by.join(", "),
                        1 + self.random.below(5)
                    );
                    part.ours += &limit;
                    part.lite += &limit;
                }
                part
            }
            _ => self.select(depth, None, false).0,
        }
    }

    fn union(&mut self, depth: usize) -> Part {
        let distinct = self.random.chance(30);
        let (mut all, _) = self.select(depth.saturating_sub(1), None, false);
        while !all.columns.iter().all(|column| column.sql.exact) {
            all = self.select(depth.saturating_sub(1), None, false).0;
        }
        let sorts: Vec<Sort> = all.columns.iter().map(|column| column.sql.sort).collect();
        for _ in 0..1 + self.random.below(2) {
            let (part, _) = self.select(depth.saturating_sub(1), Some(&sorts), false);
            let operator = if distinct { " union " } else { " union all " };
            all.ours = all.ours + operator + &part.ours;
            all.lite = all.lite + operator + &part.lite;
            all.owner = all.owner.filter(|_| all.owner == part.owner);
            for (column, other) in all.columns.iter_mut().zip(&part.columns) {
                if let (Sort::Decimal(one), other @ (Sort::Decimal(_) | Sort::Int)) =
                    (column.sql.sort, other.sql.sort)
                {
                    let other = if let Sort::Decimal(other) = other {
                        other
                    } else {
                        0
                    };
                    column.sql.sort = Sort::Decimal(one.max(other));
                }
                column.sql.size = column.sql.size.max(other.sql.size);
            }
        }
        all.columns.iter_mut().for_each(|column| column.most = None);
        if distinct && all.columns.len() == 1 {
            all.columns[0].most = Some(1);
        }
        all.grouped = false;
        all
    }

    /// SELECT with columns of these sorts, if they matter; and what its ORDER BY can name besides them.
    fn select(&mut self, depth: usize, wanted: Option<&[Sort]>, grouped: bool) -> (Part, Vec<Sql>) {
        let (from, filter) = self.from(depth);
        let scope: Vec<Sql> = from.columns.iter().map(|column| column.sql.clone()).collect();
        let mut filters: Vec<[String; 2]> = filter.into_iter().collect();
        if self.random.chance(45) {
            let mut condition = self.over(&scope).condition(2);
            // Half of them leave most rows.
            if self.random.chance(50) && !scope.is_empty() {
                let column = self.random.pick(&scope);
                let known = |text: &str, column: &str| format!("({text} or {column} is not null)");
                condition.ours = known(&condition.ours, &column.ours);
                condition.lite = known(&condition.lite, &column.lite);
            }
            filters.push([condition.ours, condition.lite]);
        }
        let [mut from_ours, mut from_lite] = [from.ours.clone(), from.lite.clone()];
        if !filters.is_empty() {
            let all = |at: usize| {
                let all: Vec<&str> = filters.iter().map(|filter| filter[at].as_str()).collect();
                all.join(" and ")
            };
            from_ours += &format!(" where {}", all(0));
            from_lite += &format!(" where {}", all(1));
        }
        if grouped || self.random.chance(45) {
            let (part, scope) = self.grouped((from_ours, from_lite), &scope, wanted, grouped);
            return (
                Part {
                    owner: from.owner,
                    ..part
                },
                scope,
            );
        }
        let mut columns: Vec<Column> = Vec::new();
        let count = wanted.map_or_else(|| 1 + self.random.below(3), <[Sort]>::len);
        for at in 0..count {
            let plain = self.random.chance(50) && wanted.is_none() && !from.columns.is_empty();
            let (sql, most) = match wanted {
                Some(sorts) => (self.over(&scope).of(sorts[at], 2), None),
                None if plain => {
                    let column = self.random.pick(&from.columns);
                    (column.sql, column.most)
                }
                None if self.random.chance(10) => (self.over(&scope).quotient(1), None),
                None => (self.over(&scope).any(2), None),
            };
            columns.push(Column {
                sql,
                name: self.name("c"),
                most,
            });
        }
        let exact = columns.iter().all(|column| column.sql.exact);
        let distinct = exact && self.random.chance(15);
        let scope = if distinct { Vec::new() } else { scope };
        if distinct {
            let alone = columns.len() == 1;
            columns
                .iter_mut()
                .for_each(|column| column.most = alone.then_some(1));
        }
        let verb = if distinct { "select distinct" } else { "select" };
        let part = Part::new(verb, columns, ["", ""], [&from_ours, &from_lite], distinct);
        (
            Part {
                owner: from.owner,
                ..part
            },
            scope,
        )
    }

    fn grouped(
        &mut self,
        (from_ours, from_lite): (String, String),
        scope: &[Sql],
        wanted: Option<&[Sort]>,
        top: bool,
    ) -> (Part, Vec<Sql>) {
        let mut keys: Vec<Sql> = Vec::new();
        if self.random.chance(80) {
            for _ in 0..1 + self.random.below(2) {
                let key = match self.random.chance(75) {
                    true if scope.iter().any(|column| column.exact) => loop {
                        let column = self.random.pick(scope);
                        if column.exact {
                            break column;
                        }
                    },
                    _ => self.over(scope).any(1),
                };
                // A constant would be the number of a column.
                if key.names_any(scope) {
                    keys.push(key);
                }
            }
        }
        let mut made: Vec<Sql> = keys.clone();
        for _ in 0..1 + self.random.below(3) {
            let aggregate = self.aggregate(scope);
            made.push(aggregate);
        }
        let mut columns: Vec<Column> = Vec::new();
        let count = wanted.map_or_else(|| 1 + self.random.below(made.len()), <[Sort]>::len);
        for at in 0..count {
            let (sql, most) = match wanted {
                Some(sorts) => (self.over(&made).of(sorts[at], 1), None),
                None if self.random.chance(75) => {
                    let at = if at < made.len() {
                        at
                    } else {
                        self.random.below(made.len())
                    };
                    (made[at].clone(), (at == 0 && keys.len() == 1).then_some(1))
                }
                None => (self.over(&made).any(1), None),
            };
            columns.push(Column {
                sql,
                name: self.name("c"),
                most,
            });
        }
        let (mut ours, mut lite) = (String::new(), String::new());
        if !keys.is_empty() {
            let text = |of: fn(&Sql) -> &str| {
                let all: Vec<&str> = keys.iter().map(of).collect();
                format!(" group by {}", all.join(", "))
            };
            (ours, lite) = (text(|key| &key.ours), text(|key| &key.lite));
        }
        let mut having: Vec<[String; 2]> = Vec::new();
        if self.random.chance(30) {
            let condition = self.over(&made).condition(1);
            having.push([condition.ours, condition.lite]);
        }
        // SQLite wants an aggregate to see that there are no keys.
        let has = |column: &Column| {
            ["count(", "sum(", "min(", "max(", "avg("]
                .iter()
                .any(|name| column.sql.ours.contains(name))
        };
        if keys.is_empty() && !columns.iter().any(has) {
            return self.grouped((from_ours, from_lite), scope, wanted, top);
        }
        let least = if top { self.min_group } else { 0 };
        let all: Vec<&str> = having.iter().map(|[ours, _]| ours.as_str()).collect();
        if !all.is_empty() {
            ours += &format!(" having {}", all.join(" and "));
        }
        let enough = format!("count(*) >= {least}");
        let mut all: Vec<&str> = having.iter().map(|[_, lite]| lite.as_str()).collect();
        if least > 1 {
            all.push(&enough);
        }
        if !all.is_empty() {
            lite += &format!(" having {}", all.join(" and "));
        }
        let part = Part::new("select", columns, [&ours, &lite], [&from_ours, &from_lite], true);
        (part, made.into_iter().filter(|made| made.exact).collect())
    }

    fn aggregate(&mut self, scope: &[Sql]) -> Sql {
        let number = self.random.pick(&[Sort::Int, Sort::Decimal(2)]);
        match self.random.below(8) {
            0 | 1 => Sql::new(Sort::Int, "count(*)", "count(*)").sized(2000.0),
            2 => {
                let of = self.over(scope).any(1);
                Sql::new(
                    Sort::Int,
                    format!("count({})", of.ours),
                    format!("count({})", of.lite),
                )
                .sized(2000.0)
            }
            3 | 4 => {
                let of = self.over(scope).of(number, 1);
                let size = of.size * 2000.0;
                Sql::new(of.sort, format!("sum({})", of.ours), format!("sum({})", of.lite)).sized(size)
            }
            5 => {
                let of = self.over(scope).of(number, 1);
                let places = Sort::Decimal(of.places() + 6);
                let mut average = Sql::new(places, format!("avg({})", of.ours), format!("avg({})", of.lite));
                average.exact = false;
                average
            }
            _ => {
                let of = self.over(scope).any(1);
                let name = self.random.pick(&["min", "max"]);
                Sql::new(
                    of.sort,
                    format!("{name}({})", of.ours),
                    format!("{name}({})", of.lite),
                )
                .sized(of.size)
            }
        }
    }

    /// What FROM names, and a condition that belongs to it.
    fn from(&mut self, depth: usize) -> (Part, Option<[String; 2]>) {
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
            let left = next.looks_up(&y) && self.random.chance(35);
            if self.random.chance(15) {
                let own: Vec<Sql> = next.columns.iter().map(|column| column.sql.clone()).collect();
                let more = self.over(&own).condition(1);
                on[0] += &format!(" and {}", more.ours);
                on[1] += &format!(" and {}", more.lite);
            }
            let shared =
                |part: &Part| part.columns.iter().filter(|column| column.name == x.name).count() == 1;
            let using = x.name == y.name && shared(&all) && shared(&next) && self.random.chance(40);
            let join = if left { "left join" } else { "join" };
            let text = |at: usize| match using {
                true => format!(" using ({})", x.name),
                false => format!(" on {}", on[at]),
            };
            if !left && !using && self.random.chance(15) && filter.is_none() {
                all.ours += &format!(", {}", next.ours);
                all.lite += &format!(", {}", next.lite);
                filter = Some(on);
            } else {
                all.ours += &format!(" {join} {}{}", next.ours, text(0));
                all.lite += &format!(" {join} {}{}", next.lite, text(1));
            }
            let unique = |column: &Column| column.most == Some(1);
            let (keeps, gives) = (unique(&y), unique(&x));
            if !keeps {
                all.columns.iter_mut().for_each(|column| column.most = None);
            }
            let own = next.columns.into_iter().map(|column| Column {
                most: column.most.filter(|_| gives && !left),
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
    fn named(&mut self, part: Part) -> Part {
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
        let careless = self.random.chance(2);
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
    fn factor(&mut self, depth: usize) -> Part {
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
            let most = match declared.unique.contains(&field.name) {
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

impl Column {
    /// The same, of a table.
    fn of(&self, table: &str) -> Column {
        let text = format!("{table}.{}", self.name);
        Column {
            sql: Sql {
                ours: text.clone(),
                lite: text,
                ..self.sql.clone()
            },
            ..self.clone()
        }
    }
}

impl Part {
    fn new(verb: &str, columns: Vec<Column>, groups: [&str; 2], from: [&str; 2], grouped: bool) -> Self {
        let text = |of: fn(&Sql) -> &str, at: usize| {
            let told = columns
                .iter()
                .map(|column| format!("{} as {}", of(&column.sql), column.name));
            let told: Vec<String> = told.collect();
            format!("{verb} {} from {}{}", told.join(", "), from[at], groups[at])
        };
        let (ours, lite) = (text(|sql| &sql.ours, 0), text(|sql| &sql.lite, 1));
        let named = columns.into_iter().map(|column| Column {
            sql: Sql {
                ours: column.name.clone(),
                lite: column.name.clone(),
                ..column.sql
            },
            ..column
        });
        Part {
            ours,
            lite,
            columns: named.collect(),
            grouped,
            owner: None,
        }
    }

    /// Whether a join can look its rows up by `column`.
    fn looks_up(&self, column: &Column) -> bool {
        column.most == Some(1) || column.most.is_some() && self.owner.is_some()
    }
}
