//! Random queries, in our dialect and in SQLite's.

use cenote_net::PartyId;

use super::expressions::{Expressions, Sort, Sql};
use super::random::Random;
use super::statistics::Rolled;
use crate::common::World;

/// A column that can be named.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) sql: Sql,
    /// Its name without its table's.
    pub(super) name: String,
    /// How often a value comes in it at most, if that is known.
    pub(super) most: Option<usize>,
}

/// A query or a part of one, in both dialects, and its columns by name.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) ours: String,
    pub(crate) lite: String,
    pub(crate) columns: Vec<Column>,
    /// Whether its rows are of groups.
    pub(super) grouped: bool,
    /// The only party that it is of, if there is one.
    pub(super) owner: Option<PartyId>,
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
    pub(super) names: usize,
    /// Subqueries of WITH.
    pub(super) with: Vec<(String, Part)>,
    /// Smaller groups are left out of the answer.
    min_group: u64,
}

/// How to order, for us and for SQLite, where nulls come first in ascending order.
pub(super) const ORDERS: [[&str; 2]; 6] = [
    ["", " nulls last"],
    [" asc", " asc nulls last"],
    [" desc", " desc nulls last"],
    [" nulls first", " nulls first"],
    [" desc nulls first", " desc nulls first"],
    [" nulls last", " nulls last"],
];

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

    pub(super) fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub(super) fn over<'b>(&'b mut self, columns: &'b [Sql]) -> Expressions<'b> {
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
    pub(super) fn ordered(&mut self, part: Part, with: [String; 2], scope: &[Sql]) -> Asked {
        let [with_ours, with_lite] = with;
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
                let [ours, lite] = by;
                let how = self.random.pick(&ORDERS);
                order.push([ours + how[0], lite + how[1]]);
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
            let mut limit = format!(" limit {}", 1 + self.random.below(6));
            if self.random.chance(30) {
                limit += &format!(" offset {}", self.random.below(15));
            }
            ours += &limit;
            lite += &limit;
        }
        Asked { ours, lite, columns }
    }

    /// SELECT, or a UNION of them.
    pub(super) fn body(&mut self, depth: usize) -> Part {
        match self.random.below(5) {
            0 => self.union(depth),
            1 => {
                // The first rows in an order that leaves none equal.
                let (mut part, _) = self.select(depth, None, false);
                if part.columns.iter().all(|column| column.sql.exact) {
                    let by: Vec<String> = part.columns.iter().map(|column| column.name.clone()).collect();
                    let limit = 1 + self.random.below(5);
                    part.ours += &format!(" order by {} desc limit {limit}", by.join(", "));
                    part.lite += &format!(" order by {} desc limit {limit}", by.join(" nulls last, "));
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
        if depth > 0
            && self.random.chance(20)
            && let Some(condition) = self.subquery(&from)
        {
            filters.push(condition);
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
                None if self.random.chance(25)
                    && let Some(window) = self.window(&scope) =>
                {
                    (window, None)
                }
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

    fn keys(&mut self, scope: &[Sql]) -> Vec<Sql> {
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
        keys
    }

    fn grouped(
        &mut self,
        (from_ours, from_lite): (String, String),
        scope: &[Sql],
        wanted: Option<&[Sort]>,
        top: bool,
    ) -> (Part, Vec<Sql>) {
        let keys = self.keys(scope);
        let rolled = wanted.is_none() && !top && self.random.chance(15) && Rolled::is_of(&keys, scope);
        let rolled = rolled.then(|| Rolled::new(self.random.chance(50), &keys));
        let mut made: Vec<Sql> = rolled.as_ref().map_or_else(|| keys.clone(), Rolled::marked);
        for _ in 0..1 + self.random.below(3) {
            let aggregate = self.aggregate(scope);
            made.push(aggregate);
        }
        let mut columns: Vec<Column> = Vec::new();
        let count = wanted.map_or_else(|| 1 + self.random.below(made.len()), <[Sort]>::len);
        for at in 0..count {
            let (sql, most) = match wanted {
                Some(sorts) => (self.over(&made).of(sorts[at], 1), None),
                None => self.of_group(&made, keys.len(), at, rolled.is_some()),
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
            ["count(", "sum(", "min(", "max(", "avg(", "var", "stddev", "corr("]
                .iter()
                .any(|name| column.sql.ours.contains(name))
        };
        let has_any = columns.iter().any(has);
        if !has_any && rolled.is_some() {
            columns.push(Column {
                sql: Sql::new(Sort::Int, "count(*)", "count(*)").sized(2000.0),
                name: self.name("c"),
                most: None,
            });
        }
        if keys.is_empty() && !has_any {
            return self.grouped((from_ours, from_lite), scope, wanted, top);
        }
        if let Some(rolled) = rolled {
            return (rolled.part(columns, [&from_ours, &from_lite], having), Vec::new());
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

    pub(super) fn plain_aggregate(&mut self, scope: &[Sql]) -> Sql {
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
}

impl Column {
    /// The same, of a table.
    pub(super) fn of(&self, table: &str) -> Column {
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
    pub(super) fn new(
        verb: &str,
        columns: Vec<Column>,
        groups: [&str; 2],
        from: [&str; 2],
        grouped: bool,
    ) -> Self {
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
    pub(super) fn looks_up(&self, column: &Column) -> bool {
        column.most == Some(1) || column.most.is_some() && self.owner.is_some()
    }
}
