//! Functions that parties compute of their own columns, as parts of expressions.

use super::{Call, Named};
use crate::expr::{Expr, Node, ValueKind, kinds};
use crate::local::column::{Column, Values};
use crate::local::evaluate;

impl Expr {
    /// A function of some values.
    pub(crate) fn call(call: Call, named: Named, parts: Vec<Expr>) -> Self {
        let kind = call.kind(&kinds(&parts));
        let nullable = parts.iter().any(|part| part.nullable);
        let node = Node::Call(call, named, parts);
        Expr { node, kind, nullable }.settled()
    }

    /// A number as `kind`, which may not hold it.
    pub(crate) fn within(self, kind: ValueKind) -> Self {
        Expr {
            nullable: self.nullable,
            kind,
            node: Node::Within(Box::new(self)),
        }
        .settled()
    }

    /// The value of a function of constants, which are the same in all rows.
    pub(crate) fn settled(self) -> Self {
        if !matches!(self.node, Node::Call(..) | Node::Formula(..) | Node::Within(_))
            || !self.has_no_columns()
        {
            return self;
        }
        // What fails does so where it is needed.
        let Ok(Column { values, nulls }) = evaluate(&self, &[], 1, None) else {
            return self;
        };
        match values {
            _ if nulls.is_some_and(|nulls| nulls[0]) => Expr::null(self.kind),
            Values::Numbers(numbers) => Expr::constant(Node::Number(numbers[0]), self.kind),
            Values::Text(_, bytes) => Expr::constant(Node::Text(bytes), self.kind),
        }
    }

    /// The first function that cannot be computed secretly that is in it.
    pub(crate) fn calls(&self) -> Option<(Call, Named, &[Expr])> {
        match &self.node {
            Node::Call(call, named, parts) if call.circuit(parts).is_none() => Some((*call, *named, parts)),
            _ => self.parts().into_iter().find_map(Expr::calls),
        }
    }

    /// Whether it is a function that parties rather compute of their own columns.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self.node, Node::Call(..))
    }

    /// Whether arithmetic in it may overflow or divide by zero: a condition may guard against that. A date that leaves the calendar, and a text
    /// that gets too long, do not count.
    pub(crate) fn is_fragile(&self) -> bool {
        let own = matches!(self.node, Node::Arithmetic(..) | Node::Formula(..) | Node::As(_))
            && self.fails_itself();
        own || self.parts().into_iter().any(Expr::is_fragile)
    }

    /// The same over what `place` says, where it says something.
    pub(crate) fn placed(&self, place: &dyn Fn(&Expr) -> Option<Expr>) -> Expr {
        place(self).unwrap_or_else(|| Expr {
            node: self.node.with_parts(&|part| part.placed(place)),
            kind: self.kind,
            nullable: self.nullable,
        })
    }

    /// Whether it is null wherever its columns are, of which it has some.
    pub(crate) fn is_null_with_columns(&self) -> bool {
        match &self.node {
            Node::Column(_) => true,
            Node::Number(_) | Node::Text(_) | Node::Null | Node::IsNull(_) | Node::If(..) => false,
            Node::And(..) | Node::Or(..) => false,
            _ => self.parts().into_iter().any(Expr::is_null_with_columns),
        }
    }
}
