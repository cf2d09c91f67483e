//! How large circuits for expressions are.

use super::{Arithmetic, Expr, Node, kinds};

impl Expr {
    /// About how many gates a circuit for it has.
    pub(crate) fn gates(&self) -> u64 {
        let width = |expr: &Expr| u64::from(expr.kind.width());
        let own = match &self.node {
            Node::Column(_) | Node::Number(_) | Node::Text(_) | Node::Null => 0,
            Node::Call(call, _, parts) => call.gates(parts),
            Node::Formula(formula, parts) => formula.gates(&kinds(parts)),
            Node::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, ..) => width(self),
            Node::Arithmetic(Arithmetic::Multiply, x, y) => width(x).max(width(y)).pow(2),
            Node::Arithmetic(Arithmetic::Divide { .. } | Arithmetic::Remainder, x, y) => {
                2 * width(x).max(width(y)).pow(2)
            }
            Node::As(x) if x.kind.scale() != self.kind.scale() => width(self).pow(2),
            Node::Compare(_, x, y) => width(x).max(width(y)),
            Node::Listed(x, list) => list.values().len() as u64 * (width(x) + width(self)),
            _ => width(self),
        };
        self.parts()
            .into_iter()
            .map(Expr::gates)
            .fold(own, u64::saturating_add)
    }
}
