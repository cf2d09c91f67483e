//! Window functions: what stands before OVER, and behind it.

use std::cell::RefCell;

use sqlparser::ast::{self, NamedWindowExpr, WindowFrameBound, WindowFrameUnits, WindowType};

use super::expression::{Context, at};
use super::from::few_steps;
use super::function::{Values, aggregate_of, arguments, quotient_of};
use super::order::ordered_by;
use super::scope::place;
use crate::error::{Error, Place, Result};
use crate::expr::{Expr, Node};
use crate::relation::{Aggregate, Function, Order, Relation};
use crate::window::{Made, Reach, Window, WindowColumn};
use crate::work::{Work, few_columns};

/// From here on the columns of an expression are those that windows add.
pub(super) const WINDOWED: usize = 1 << 26;

const WHERE: &str = "a window function can stand after SELECT, in ORDER BY and in QUALIFY, but not inside another or an aggregate; elsewhere, compute it in a \
                     subquery in FROM";

/// The windows of a SELECT.
pub(super) struct Windows<'a> {
    named: &'a [ast::NamedWindowDefinition],
    /// The most rows that there are.
    rows: u64,
    windows: RefCell<Vec<Window>>,
    /// Of each column that was asked for, the window and its place there.
    columns: RefCell<Vec<(usize, usize)>>,
}

/// What stands behind OVER.
#[derive(Clone)]
struct Over {
    partition: Vec<Expr>,
    order: Vec<Order>,
    reach: Reach,
}

impl<'a> Windows<'a> {
    pub(super) fn new(select: &'a ast::Select, rows: u64) -> Self {
        Windows {
            named: &select.named_window,
            rows: rows.max(1),
            windows: RefCell::default(),
            columns: RefCell::default(),
        }
    }

    /// What a definition refers to: those that stand before it may be named.
    fn spec(&self, name: &ast::Ident, before: usize) -> Result<(&'a ast::WindowSpec, usize)> {
        let same = |one: &ast::Ident, other: &ast::Ident| match (one.quote_style, other.quote_style) {
            (None, None) => one.value.eq_ignore_ascii_case(&other.value),
            _ => one.value == other.value,
        };
        let known = |name: &ast::Ident, before: usize| {
            let mut named = self.named[..before].iter();
            named.position(|known| same(name, &known.0))
        };
        let mut found = known(name, before);
        while let Some(at) = found {
            match &self.named[at].1 {
                NamedWindowExpr::WindowSpec(spec) => return Ok((spec, at)),
                NamedWindowExpr::NamedWindow(other) => found = known(other, at),
            }
        }
        let what = format!(
            "there is no window {name}; define it with WINDOW {name} AS (…), before others that use it"
        );
        Err(Error::query(place(name.span), what))
    }

    /// A column that is made of the rows around each, once for all that ask for it.
    fn add(
        &self,
        work: &Work,
        Over { partition, order, .. }: Over,
        column: WindowColumn,
        at: Option<Place>,
    ) -> Result<Expr> {
        let (kind, nullable) = column.kind(self.rows);
        let exprs = partition
            .iter()
            .chain(order.iter().map(|order| &order.by))
            .chain(&column.of);
        let parts: usize = exprs.map(|expr| expr.extent().parts).sum();
        work.make(parts, at)?;
        work.look(parts.saturating_mul(1 + self.columns.borrow().len()), at)?;
        let mut windows = self.windows.borrow_mut();
        let any_order = |window: &Window| {
            column.made.is_of_all() || window.columns.iter().all(|column| column.made.is_of_all())
        };
        let fits =
            |window: &Window| window.partition == partition && (window.order == order || any_order(window));
        let at = windows.iter().position(fits).unwrap_or_else(|| {
            windows.push(Window {
                partition,
                order: Vec::new(),
                is_exact: true,
                columns: Vec::new(),
            });
            windows.len() - 1
        });
        let window = &mut windows[at];
        if !column.made.is_of_all() {
            window.order = order;
        }
        let known = window.columns.iter().position(|other| *other == column);
        let in_window = known.unwrap_or_else(|| {
            window.columns.push(column);
            window.columns.len() - 1
        });
        let mut columns = self.columns.borrow_mut();
        let known = columns.iter().position(|other| *other == (at, in_window));
        let number = known.unwrap_or_else(|| {
            columns.push((at, in_window));
            columns.len() - 1
        });
        Ok(Expr::column(WINDOWED + number, kind, nullable))
    }

    /// All expressions that windows are made of.
    pub(super) fn exprs(&self) -> Vec<Expr> {
        let windows = self.windows.borrow();
        windows.iter().flat_map(Window::exprs).cloned().collect()
    }

    /// The relation with what windows add, these having become `exprs`; and where that stands in it.
    pub(super) fn over(
        self,
        mut relation: Relation,
        exprs: impl IntoIterator<Item = Expr>,
    ) -> Result<(Relation, Vec<Expr>)> {
        let mut windows = self.windows.into_inner();
        let own = windows.iter_mut().flat_map(Window::exprs_mut);
        own.zip(exprs).for_each(|(own, expr)| *own = expr);
        let mut firsts = Vec::new();
        for window in windows {
            firsts.push(relation.columns.len());
            few_columns(relation.columns.len() + window.columns.len(), relation.at)?;
            relation = relation.windowed(window, self.rows);
        }
        few_steps(&relation, relation.at)?;
        let all = relation.all();
        let columns = self.columns.into_inner().into_iter();
        let columns = columns.map(|(window, column)| all[firsts[window] + column].clone());
        Ok((relation, columns.collect()))
    }
}

/// The expression with what windows add in its place.
pub(super) fn in_place(expr: &Expr, columns: &[Expr]) -> Expr {
    expr.placed(&|part| match part.node {
        Node::Column(column) => column.checked_sub(WINDOWED).map(|at| columns[at].clone()),
        _ => None,
    })
}

/// Whether SELECT has window functions, or QUALIFY.
pub(super) fn has_windows(select: &ast::Select) -> bool {
    let mut found = select.qualify.is_some();
    for item in &select.projection {
        if let ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } = item {
            super::group_by::each(expr, &mut |part| {
                found |= matches!(part, ast::Expr::Function(function) if function.over.is_some());
            });
        }
    }
    found
}

impl Context<'_> {
    /// A function over a window.
    pub(super) fn windowed(
        &mut self,
        whole: &ast::Expr,
        function: &ast::Function,
        over: &WindowType,
    ) -> Result<Expr> {
        let Some(windows) = self.windows.take() else {
            return Err(Error::query(at(whole), WHERE));
        };
        let found = self.made_over(windows, whole, function, over);
        self.windows = Some(windows);
        found
    }

    fn made_over(
        &mut self,
        windows: &Windows<'_>,
        whole: &ast::Expr,
        function: &ast::Function,
        over: &WindowType,
    ) -> Result<Expr> {
        let name = function.name.to_string().to_ascii_uppercase();
        let over = match over {
            WindowType::WindowSpec(spec) => self.over(windows, (spec, windows.named.len()), at(whole))?,
            WindowType::NamedWindow(named) => {
                let spec = windows.spec(named, windows.named.len())?;
                self.over(windows, spec, at(whole))?
            }
        };
        let arguments = arguments(function, &name, at(whole))?;
        let values = Values::of(function);
        if let Some(aggregate) = aggregate_of(&name, &arguments, values) {
            return self.total(windows, whole, (aggregate, arguments[0], values), over);
        }
        if name == "AVG" && matches!(arguments[..], [Some(_)]) {
            let mut part =
                |function| self.total(windows, whole, (function, arguments[0], values), over.clone());
            return quotient_of(part(Function::Sum)?, part(Function::Count)?, at(whole));
        }
        let only = |what: &str| Err(Error::query(at(whole), format!("{name} {what}")));
        if values.is_some() {
            return only("takes neither DISTINCT nor FILTER");
        }
        let Some(arguments) = arguments.into_iter().collect::<Option<Vec<&ast::Expr>>>() else {
            return only("takes values, not *");
        };
        let work = self.work();
        let column = |made, of| windows.add(work, over.clone(), WindowColumn { made, of }, at(whole));
        match (name.as_str(), &arguments[..]) {
            ("ROW_NUMBER", []) => column(Made::Total(Function::Rows, Reach::Row), None),
            ("RANK" | "DENSE_RANK", []) if over.order.is_empty() => Ok(Expr::number(1, 0)),
            ("RANK", []) => column(Made::Rank, None),
            ("DENSE_RANK", []) => column(Made::DenseRank, None),
            ("FIRST_VALUE", [of]) => {
                let of = self.expression(of)?;
                column(Made::First, Some(of))
            }
            ("LAST_VALUE", [of]) => {
                let of = self.expression(of)?;
                match over.reach {
                    Reach::Row => Ok(of),
                    reach => column(Made::Last(reach), Some(of)),
                }
            }
            ("LAG" | "LEAD", [of, more @ ..]) if more.len() < 3 => {
                let places = self.places(more.first(), &name)?;
                let places = if name == "LAG" { places } else { -places };
                let value = self.expression(of)?;
                if places == 0 {
                    return Ok(value);
                }
                let there = if value.nullable {
                    Expr::bool(true)
                } else {
                    value.clone()
                };
                let found = column(Made::Shifted(places), Some(value))?;
                let Some(default) = more.get(1) else {
                    return Ok(found);
                };
                let (there, default) = (
                    column(Made::Shifted(places), Some(there))?,
                    self.expression(default)?,
                );
                self.choice(whole, there.missing(), default, found)
            }
            _ => only(
                "is no window function with these arguments; there are ROW_NUMBER, RANK, DENSE_RANK, LAG, LEAD, FIRST_VALUE, LAST_VALUE, SUM, COUNT, AVG, MIN \
                 and MAX",
            ),
        }
    }

    /// The constant number of places of LAG or LEAD.
    fn places(&mut self, places: Option<&&ast::Expr>, name: &str) -> Result<i64> {
        let Some(places) = places else { return Ok(1) };
        let number = self.expression(places)?;
        match (&number.node, number.kind.scale()) {
            (Node::Number(number), 0) => i32::try_from(*number).ok().map(i64::from),
            _ => None,
        }
        .ok_or_else(|| {
            let what = format!("{name} takes a constant whole number of rows");
            Error::query(at(places), what)
        })
    }

    /// An aggregate over a window.
    fn total(
        &mut self,
        windows: &Windows<'_>,
        whole: &ast::Expr,
        (function, of, values): (Function, Option<&ast::Expr>, Values<'_>),
        over: Over,
    ) -> Result<Expr> {
        let (Aggregate { function, of }, distinct) = self.made_of(at(whole), function, of, values)?;
        if distinct {
            let what =
                "an aggregate with OVER takes no DISTINCT; use GROUP BY in a subquery, and join with it";
            return Err(Error::query(at(whole), what));
        }
        let of = (function != Function::Rows).then_some(of);
        let made = Made::Total(function, over.reach);
        windows.add(self.work(), over, WindowColumn { made, of }, at(whole))
    }

    /// What stands behind OVER, where so many named windows may be named.
    fn over(
        &mut self,
        windows: &Windows<'_>,
        (spec, before): (&ast::WindowSpec, usize),
        at: Option<Place>,
    ) -> Result<Over> {
        let base = match &spec.window_name {
            None => None,
            Some(name) => {
                let spec = windows.spec(name, before)?;
                Some((self.over(windows, spec, at)?, name))
            }
        };
        few_columns(spec.partition_by.len() + spec.order_by.len(), at)?;
        let partition = spec.partition_by.iter().map(|key| self.expression(key));
        let partition = partition.collect::<Result<Vec<_>>>()?;
        let order = spec.order_by.iter().map(|by| {
            let expr = self.expression(&by.expr)?;
            ordered_by(by, expr)
        });
        let order = order.collect::<Result<Vec<_>>>()?;
        let (partition, order) = match base {
            None => (partition, order),
            Some((base, _)) if partition.is_empty() && (order.is_empty() || base.order.is_empty()) => {
                let order = if order.is_empty() { base.order } else { order };
                (base.partition, order)
            }
            Some((_, name)) => {
                let what = format!(
                    "a window that begins with {name} has its PARTITION BY, and its ORDER BY if there is one; leave them out"
                );
                return Err(Error::query(place(name.span), what));
            }
        };
        let reach = reach(spec.window_frame.as_ref(), order.is_empty(), at)?;
        Ok(Over {
            partition,
            order,
            reach,
        })
    }
}

/// How far a frame reaches.
fn reach(frame: Option<&ast::WindowFrame>, unordered: bool, at: Option<Place>) -> Result<Reach> {
    use WindowFrameBound as Bound;
    let peers = if unordered { Reach::Partition } else { Reach::Peers };
    let Some(frame) = frame else {
        return Ok(peers);
    };
    match (&frame.start_bound, &frame.end_bound, frame.units) {
        (Bound::Preceding(None), Some(Bound::Following(None)), _) => Ok(Reach::Partition),
        (Bound::Preceding(None), None | Some(Bound::CurrentRow), WindowFrameUnits::Rows) => Ok(Reach::Row),
        (Bound::Preceding(None), None | Some(Bound::CurrentRow), _) => Ok(peers),
        _ => {
            let what = "a frame begins at UNBOUNDED PRECEDING, and ends at CURRENT ROW or UNBOUNDED FOLLOWING; LAG and LEAD give single rows around";
            Err(Error::query(at, what))
        }
    }
}
