//! What resolving a query goes by, and what it gives.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use sqlparser::ast;

use super::named::TableName;
use crate::relation::{Order, Relation};
use crate::schema::Schema;
use crate::work::Work;

/// A query that makes sense.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) relation: Relation,
    /// The order of the answer, if it is one of its own columns: where each stands, and what it is ordered by.
    pub(crate) order: Vec<Order>,
    /// Whether the rows of the relation come in the order that the query wants.
    pub(crate) is_ordered: bool,
}

/// A subquery of WITH.
pub(super) struct Named<'a> {
    pub(super) name: &'a ast::Ident,
    pub(super) relation: Rc<Relation>,
}

/// Resolves a query over the tables of a schema.
pub(super) struct Resolver<'a> {
    pub(super) schema: &'a Schema,
    pub(super) work: &'a Work,
    /// Tables so far.
    pub(super) tables: Cell<usize>,
    /// A table that the query names and the schema does not have.
    pub(super) missing: RefCell<Option<TableName>>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(schema: &'a Schema, work: &'a Work) -> Self {
        Resolver {
            schema,
            work,
            tables: Cell::new(0),
            missing: RefCell::default(),
        }
    }
}
