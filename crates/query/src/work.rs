//! What planning a query may take. All of it is counted and not timed, so that every party finds the same.

use std::cell::Cell;

use crate::error::{Error, Place, Result};
use crate::expr::Expr;

/// Most columns of a table, a subquery, or what is joined.
pub(crate) const MAX_COLUMNS: usize = 1000;
/// Most parts of an expression.
pub(crate) const MAX_PARTS: usize = 1 << 16;
/// How many parts of an expression may stand within one another.
pub(crate) const MAX_LEVELS: usize = 200;
/// Most parts of all expressions together that are made.
const MAX_MADE: usize = 1 << 19;
/// How often a part or a column may be looked at.
const MAX_LOOKS: usize = 1 << 26;

/// What the planning of a query has taken so far.
#[derive(Debug, Default)]
pub(crate) struct Work {
    made: Cell<usize>,
    looks: Cell<usize>,
}

impl Work {
    /// Counts so many parts of expressions, or columns, that are to be made.
    pub(crate) fn make(&self, parts: usize, at: Option<Place>) -> Result<()> {
        let made = self.made.get().saturating_add(parts);
        self.made.set(made);
        if made <= MAX_MADE {
            return Ok(());
        }
        let what = format!(
            "with its subqueries written out, it has more than {MAX_MADE} columns and parts of expressions; ask for less at once"
        );
        Err(Error::query(at, what))
    }

    /// Whether there is room for other plans than the first: half of all.
    pub(crate) fn has_room(&self) -> bool {
        self.made.get() < MAX_MADE / 2
    }

    /// Counts so many looks at parts of expressions, or columns.
    pub(crate) fn look(&self, times: usize, at: Option<Place>) -> Result<()> {
        let looks = self.looks.get().saturating_add(times);
        self.looks.set(looks);
        if looks <= MAX_LOOKS {
            return Ok(());
        }
        let what = format!(
            "planning it would take more than {MAX_LOOKS} comparisons of columns and expressions; ask for fewer columns and conditions at once"
        );
        Err(Error::query(at, what))
    }

    /// Counts expressions that are to be made or kept, none of which may be too deep.
    pub(crate) fn keep<'a>(
        &self,
        exprs: impl IntoIterator<Item = &'a Expr>,
        at: Option<Place>,
    ) -> Result<()> {
        for expr in exprs {
            let extent = expr.extent();
            within(extent, at)?;
            self.make(extent.parts, at)?;
        }
        Ok(())
    }
}

/// How large an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// How many expressions it is made of, itself too.
    pub(crate) parts: usize,
    /// How many of them stand within one another.
    pub(crate) levels: usize,
}

/// Sees that an expression is not larger than any may be.
pub(crate) fn within(extent: Extent, at: Option<Place>) -> Result<()> {
    let what = match extent {
        Extent { parts, .. } if parts > MAX_PARTS => {
            format!(
                "with its subqueries written out, this has more than {MAX_PARTS} parts; ask for less at once"
            )
        }
        Extent { levels, .. } if levels > MAX_LEVELS => {
            format!(
                "with its subqueries written out, this takes more than {MAX_LEVELS} calculations one inside the other; use fewer subqueries"
            )
        }
        _ => return Ok(()),
    };
    Err(Error::query(at, what))
}

/// Sees that there are not more columns than there may be.
pub(crate) fn few_columns(count: usize, at: Option<Place>) -> Result<()> {
    if count <= MAX_COLUMNS {
        return Ok(());
    }
    let what = format!(
        "this has {count} columns, more than the limit of {MAX_COLUMNS}; list only those that you need"
    );
    Err(Error::query(at, what))
}
