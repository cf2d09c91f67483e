//! What planning goes by.

use crate::error::{Place, Result};
use crate::expr::Expr;
use crate::schema::Schema;
use crate::work::{Extent, Work, within};

/// Makes steps of the operations of a query.
pub(crate) struct Planner<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) work: &'a Work,
}

impl Planner<'_> {
    /// Expressions over the columns that a projection gives, as those over what it takes.
    pub(super) fn composed(
        &self,
        exprs: &[Expr],
        projection: &[Expr],
        at: Option<Place>,
    ) -> Result<Vec<Expr>> {
        let extents: Vec<Extent> = projection.iter().map(Expr::extent).collect();
        for expr in exprs {
            let extent = expr.extent_over(&|column| extents[column]);
            within(extent, at)?;
            self.work.make(extent.parts, at)?;
        }
        let over = |expr: &Expr| expr.over(&|column| projection[column].clone());
        Ok(exprs.iter().map(over).collect())
    }
}
