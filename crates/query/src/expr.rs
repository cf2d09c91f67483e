//! Expressions over the columns of a row, with their types.
//!
//! A number is a whole number of its last decimal place, between bounds that follow from the expression, so that it gets no more bits than it
//! needs. Nothing wraps: what does not fit 128 bits is an overflow, and so is a division by zero.

mod bounds;
mod gates;

pub(crate) use self::bounds::may_fail;
use self::bounds::result;
use crate::call::{Call, Named};
use crate::formula::Formula;
pub(crate) use crate::kind::ValueKind;
use crate::kind::{scaled, scaled_exactly};
use crate::listed::List;
use crate::work::Extent;

/// Places behind the point that a division adds.
pub(crate) const DIVISION_PLACES: u8 = 6;

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Comparison {
    Equal,
    Less,
}

/// An arithmetic operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    /// The quotient towards zero, or, if it is `rounded`, the nearest number, halves away from zero.
    Divide {
        rounded: bool,
    },
    Remainder,
}

/// How an expression is made up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Column(usize),
    Number(i128),
    Text(Vec<u8>),
    Null,
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    /// The same value as another kind: more places, other bounds that hold it, longer text.
    As(Box<Expr>),
    /// The same number as another kind, which may not hold it.
    Within(Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    /// The second where the first is true, and the third elsewhere.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    StartsWith(Box<Expr>, Vec<u8>),
    /// The text that stands in a list at a place.
    Listed(Box<Expr>, List),
    /// A function that parties rather compute of their own columns.
    Call(Call, Named, Vec<Expr>),
    Formula(Formula, Vec<Expr>),
}

/// An expression over the columns of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Expr {
    pub(crate) node: Node,
    pub(crate) kind: ValueKind,
    pub(crate) nullable: bool,
}

impl Node {
    /// The same of what `of` makes of its parts.
    pub(crate) fn with_parts(&self, of: &dyn Fn(&Expr) -> Expr) -> Self {
        let part = |x: &Expr| Box::new(of(x));
        match self {
            Node::Column(_) | Node::Number(_) | Node::Text(_) | Node::Null => self.clone(),
            Node::As(x) => Node::As(part(x)),
            Node::Within(x) => Node::Within(part(x)),
            Node::Call(call, named, parts) => Node::Call(*call, *named, parts.iter().map(of).collect()),
            Node::Formula(formula, parts) => Node::Formula(*formula, parts.iter().map(of).collect()),
            Node::Not(x) => Node::Not(part(x)),
            Node::IsNull(x) => Node::IsNull(part(x)),
            Node::StartsWith(x, prefix) => Node::StartsWith(part(x), prefix.clone()),
            Node::Listed(x, list) => Node::Listed(part(x), list.clone()),
            Node::Arithmetic(operation, x, y) => Node::Arithmetic(*operation, part(x), part(y)),
            Node::Compare(comparison, x, y) => Node::Compare(*comparison, part(x), part(y)),
            Node::And(x, y) => Node::And(part(x), part(y)),
            Node::Or(x, y) => Node::Or(part(x), part(y)),
            Node::If(x, y, z) => Node::If(part(x), part(y), part(z)),
        }
    }
}

impl Expr {
    pub(crate) fn column(index: usize, kind: ValueKind, nullable: bool) -> Self {
        Expr {
            node: Node::Column(index),
            kind,
            nullable,
        }
    }

    pub(crate) fn number(value: i128, scale: u8) -> Self {
        Self::constant(Node::Number(value), ValueKind::exactly(value, scale))
    }

    pub(crate) fn bool(value: bool) -> Self {
        Self::constant(Node::Number(value.into()), ValueKind::Bool)
    }

    pub(crate) fn constant(node: Node, kind: ValueKind) -> Self {
        Expr {
            node,
            kind,
            nullable: false,
        }
    }

    pub(crate) fn null(kind: ValueKind) -> Self {
        Expr {
            node: Node::Null,
            kind,
            nullable: true,
        }
    }

    /// This as `kind`, which holds all of its values.
    pub(crate) fn into_kind(self, kind: ValueKind) -> Self {
        if self.kind == kind {
            return self;
        }
        match self.node {
            Node::Null => Expr::null(kind),
            Node::Number(value) => {
                let places = kind.scale().saturating_sub(self.kind.scale());
                match scaled_exactly(value, places) {
                    Some(value) => Self::constant(Node::Number(value), kind),
                    // It overflows wherever it is needed.
                    None => Self::constant(Node::As(Box::new(self)), kind),
                }
            }
            _ => Expr {
                nullable: self.nullable,
                kind,
                node: Node::As(Box::new(self)),
            },
        }
    }

    /// An operation on two numbers.
    pub(crate) fn arithmetic(operation: Arithmetic, x: Expr, y: Expr) -> Self {
        let nullable = x.nullable || y.nullable;
        let (x, y) = match operation {
            Arithmetic::Multiply | Arithmetic::Divide { .. } => (x, y),
            _ => {
                let places = x.kind.scale().max(y.kind.scale());
                (x.with_places(places), y.with_places(places))
            }
        };
        let kind = result(operation, x.kind, y.kind);
        Expr {
            node: Node::Arithmetic(operation, Box::new(x), Box::new(y)),
            kind,
            nullable,
        }
    }

    /// The quotient as numbers with places have it.
    pub(crate) fn quotient(x: Expr, y: Expr) -> Self {
        // As a whole number of its last place it is x·10^(places + scale of y) / y.
        let places = x.kind.scale().max((x.kind.scale() + DIVISION_PLACES).min(30));
        let x = x.with_places(places.saturating_add(y.kind.scale()));
        let mut quotient = Self::arithmetic(Arithmetic::Divide { rounded: true }, x, y);
        if let ValueKind::Number { scale, .. } = &mut quotient.kind {
            *scale = places;
        }
        quotient
    }

    /// A number with so many places, not fewer than it has.
    pub(crate) fn with_places(self, scale: u8) -> Self {
        let ValueKind::Number {
            least,
            most,
            scale: own,
        } = self.kind
        else {
            return self;
        };
        let more = scale - own;
        let kind = ValueKind::Number {
            least: scaled(least, more),
            most: scaled(most, more),
            scale,
        };
        self.into_kind(kind)
    }

    pub(crate) fn compare(comparison: Comparison, x: Expr, y: Expr) -> Option<Self> {
        let kind = x.kind.unified(y.kind)?;
        let nullable = x.nullable || y.nullable;
        // Numbers meet with as many places; their bounds may differ.
        let places = |side: Expr| match kind {
            ValueKind::Number { scale, .. } => side.with_places(scale),
            kind => side.into_kind(kind),
        };
        let node = Node::Compare(comparison, Box::new(places(x)), Box::new(places(y)));
        Some(Expr {
            node,
            kind: ValueKind::Bool,
            nullable,
        })
    }

    pub(crate) fn and(self, other: Self) -> Self {
        let nullable = self.nullable || other.nullable;
        Expr {
            node: Node::And(Box::new(self), Box::new(other)),
            kind: ValueKind::Bool,
            nullable,
        }
    }

    /// All of these, none of which is deep within others; nothing if there are none.
    pub(crate) fn all(exprs: Vec<Expr>) -> Option<Self> {
        balanced(exprs, &Expr::and)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        let nullable = self.nullable || other.nullable;
        Expr {
            node: Node::Or(Box::new(self), Box::new(other)),
            kind: ValueKind::Bool,
            nullable,
        }
    }

    #[allow(clippy::should_implement_trait, reason = "it is the negation of SQL")]
    pub(crate) fn not(self) -> Self {
        let nullable = self.nullable;
        Expr {
            node: Node::Not(Box::new(self)),
            kind: ValueKind::Bool,
            nullable,
        }
    }

    pub(crate) fn missing(self) -> Self {
        Expr {
            node: Node::IsNull(Box::new(self)),
            kind: ValueKind::Bool,
            nullable: false,
        }
    }

    pub(crate) fn choice(condition: Expr, yes: Expr, no: Expr) -> Option<Self> {
        let kind = match (&yes.node, &no.node) {
            (Node::Null, _) => no.kind,
            (_, Node::Null) => yes.kind,
            _ => yes.kind.unified(no.kind)?,
        };
        let (yes, no) = (yes.into_kind(kind), no.into_kind(kind));
        let nullable = yes.nullable || no.nullable;
        let node = Node::If(Box::new(condition), Box::new(yes), Box::new(no));
        Some(Expr { node, kind, nullable })
    }

    /// This, and where it is null a value of its kind that never is.
    pub(crate) fn with_default(self, default: Expr) -> Self {
        if !self.nullable {
            return self;
        }
        let chosen = Expr::choice(self.clone().missing(), default, self).expect("both are of a kind");
        Expr {
            nullable: false,
            ..chosen
        }
    }

    pub(crate) fn starts_with(self, prefix: Vec<u8>) -> Self {
        let nullable = self.nullable;
        Expr {
            node: Node::StartsWith(Box::new(self), prefix),
            kind: ValueKind::Bool,
            nullable,
        }
    }

    /// The column whose values it has, if it is one, perhaps with more bits or places, or as text.
    pub(crate) fn as_column(&self) -> Option<usize> {
        match &self.node {
            Node::Column(column) => Some(*column),
            Node::As(part) | Node::Listed(part, _) => part.as_column(),
            _ => None,
        }
    }

    /// The text in `list` at this place.
    pub(crate) fn listed(self, list: List, kind: ValueKind) -> Self {
        Expr {
            nullable: self.nullable,
            node: Node::Listed(Box::new(self), list),
            kind,
        }
    }

    /// The place that it is the text of, and the list.
    pub(crate) fn as_place(&self) -> Option<(&Expr, &List)> {
        match &self.node {
            Node::Listed(place, list) => Some((place, list)),
            _ => None,
        }
    }

    /// The text that it is, perhaps filled up with zeros.
    pub(crate) fn as_text(&self) -> Option<&[u8]> {
        match &self.node {
            Node::Text(bytes) => Some(bytes),
            Node::As(part) => part.as_text(),
            _ => None,
        }
    }

    /// The same of columns that come so many places later.
    pub(crate) fn moved(self, places: usize) -> Self {
        let column = |part: &Expr| match part.node {
            Node::Column(at) => Some(Expr::column(at + places, part.kind, part.nullable)),
            _ => None,
        };
        self.placed(&column)
    }

    /// The expressions that it is made of.
    pub(crate) fn parts(&self) -> Vec<&Expr> {
        match &self.node {
            Node::Column(_) | Node::Number(_) | Node::Text(_) | Node::Null => Vec::new(),
            Node::As(x) | Node::Within(x) | Node::Not(x) | Node::IsNull(x) => vec![x],
            Node::StartsWith(x, _) | Node::Listed(x, _) => vec![x],
            Node::Call(.., parts) | Node::Formula(_, parts) => parts.iter().collect(),
            Node::Arithmetic(_, x, y) | Node::Compare(_, x, y) | Node::And(x, y) | Node::Or(x, y) => {
                vec![x, y]
            }
            Node::If(x, y, z) => vec![x, y, z],
        }
    }

    /// How large it is.
    pub(crate) fn extent(&self) -> Extent {
        self.extent_over(&|_| Extent { parts: 1, levels: 1 })
    }

    /// How large it is once an expression of such an extent stands for each column.
    pub(crate) fn extent_over(&self, of: &impl Fn(usize) -> Extent) -> Extent {
        match self.node {
            Node::Column(column) => of(column),
            _ => {
                let mut all = Extent { parts: 1, levels: 1 };
                for part in self.parts() {
                    let part = part.extent_over(of);
                    all.parts = all.parts.saturating_add(part.parts);
                    all.levels = all.levels.max(1 + part.levels);
                }
                all
            }
        }
    }

    /// Calls `each` with every column that it reads.
    pub(crate) fn columns(&self, each: &mut impl FnMut(usize)) {
        self.each_column(&mut |column, _| each(column));
    }

    /// The same with the kinds of the columns.
    pub(crate) fn each_column(&self, each: &mut impl FnMut(usize, ValueKind)) {
        if let Node::Column(column) = self.node {
            each(column, self.kind);
        }
        self.parts().into_iter().for_each(|part| part.each_column(each));
    }

    /// Whether it is the same in all rows, and never fails.
    pub(crate) fn is_constant(&self) -> bool {
        self.has_no_columns() && !self.may_fail() && self.calls().is_none()
    }

    pub(crate) fn has_no_columns(&self) -> bool {
        let mut columns = 0;
        self.columns(&mut |_| columns += 1);
        columns == 0
    }

    /// The same over other columns: `of` gives what stands for each.
    pub(crate) fn over(&self, of: &impl Fn(usize) -> Expr) -> Self {
        // What stands for it may hold more.
        if let Node::Column(column) = self.node {
            return of(column);
        }
        let node = self.node.with_parts(&|part| part.over(of));
        let nullable = match &node {
            Node::Null => true,
            Node::Number(_) | Node::Text(_) | Node::IsNull(_) => false,
            Node::If(_, yes, no) => yes.nullable || no.nullable,
            Node::As(x) | Node::Within(x) | Node::Not(x) => x.nullable,
            Node::StartsWith(x, _) | Node::Listed(x, _) => x.nullable,
            Node::Call(.., parts) => parts.iter().any(|part| part.nullable),
            Node::Formula(formula, parts) => formula.may_be_null() || parts.iter().any(|part| part.nullable),
            Node::Arithmetic(_, x, y) | Node::Compare(_, x, y) | Node::And(x, y) | Node::Or(x, y) => {
                x.nullable || y.nullable
            }
            Node::Column(_) => self.nullable,
        };
        // COALESCE is less often null than its parts.
        Expr {
            node,
            kind: self.kind,
            nullable: nullable && self.nullable,
        }
        .settled()
    }

    /// The conditions that it is the conjunction of.
    pub(crate) fn conjuncts(self) -> Vec<Expr> {
        match self.node {
            Node::And(x, y) => [x.conjuncts(), y.conjuncts()].concat(),
            _ => vec![self],
        }
    }

    /// Whether it may overflow, divide by zero, or not fit its kind.
    pub(crate) fn may_fail(&self) -> bool {
        self.fails_itself() || self.parts().iter().any(|part| part.may_fail())
    }

    /// The same where none of its parts fails.
    pub(crate) fn fails_itself(&self) -> bool {
        match &self.node {
            Node::Arithmetic(operation, x, y) => may_fail(*operation, x.kind, y.kind),
            Node::As(x) => {
                let more = self.kind.scale().saturating_sub(x.kind.scale());
                x.kind.range().is_some_and(|(least, most)| {
                    [least, most]
                        .iter()
                        .any(|&bound| scaled_exactly(bound, more).is_none())
                })
            }
            Node::Within(x) => !self.kind.holds(x.kind),
            Node::Call(call, _, parts) => call.may_fail(&kinds(parts)),
            Node::Formula(formula, parts) => formula.may_fail(&kinds(parts)),
            _ => false,
        }
    }
}

/// Two conditions that AND or OR joins: one that decides where the other matters, and the other. That is the one that cannot fail, or else the first.
pub(crate) fn guarded<'a>(x: &'a Expr, y: &'a Expr) -> (&'a Expr, &'a Expr) {
    match x.may_fail() && !y.may_fail() {
        true => (y, x),
        false => (x, y),
    }
}

/// The kinds of some expressions.
pub(crate) fn kinds(parts: &[Expr]) -> Vec<ValueKind> {
    parts.iter().map(|part| part.kind).collect()
}

/// Makes one expression of two.
pub(crate) type Together = dyn Fn(Expr, Expr) -> Expr;

/// One of several, none of which is deep within others.
pub(crate) fn balanced<T>(mut parts: Vec<T>, together: &dyn Fn(T, T) -> T) -> Option<T> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let later = parts.split_off(parts.len() / 2);
    Some(together(balanced(parts, together)?, balanced(later, together)?))
}
