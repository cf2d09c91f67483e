//! What planning goes by.

use cenote_net::PartyId;

use crate::error::{Place, Result};
use crate::expr::Expr;
use crate::relation::{Operation, Relation};
use crate::schema::Schema;
use crate::work::{Extent, Work, within};

/// Makes steps of the operations of a query.
pub(crate) struct Planner<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) work: &'a Work,
}

impl Planner<'_> {
    /// Whether all tables of a relation are of one party, which then does all of it.
    pub(super) fn is_of_one(&self, relation: &Relation) -> bool {
        self.party_of(relation).is_some()
    }

    /// The most rows of a join in which keys come several times on both sides, if there may be such. With `min_group` a row must not count several times.
    pub(super) fn most_joined(&self) -> Option<usize> {
        let most = self.schema.max_join_rows;
        most.filter(|_| self.schema.answer.min_group < 2)
    }

    /// The party whose tables all of a relation are of, which then does all of it.
    pub(super) fn party_of(&self, relation: &Relation) -> Option<PartyId> {
        if let Operation::Scan(table) = relation.operation {
            let own = self.schema.tables[table].party;
            return (!self.schema.secret_only).then_some(own);
        }
        let mut parties = relation.inputs().into_iter().map(|input| self.party_of(input));
        let first = parties.next()??;
        parties.all(|party| party == Some(first)).then_some(first)
    }

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
