//! What stands after SELECT: columns, expressions, and *.

use sqlparser::ast::{self, SelectItem, SelectItemQualifiedWildcardKind, Spanned, WildcardAdditionalOptions};
use sqlparser::tokenizer::Span;

use super::expression::Context;
use super::resolver::Resolver;
use super::scope::{place, short};
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::schema::MAX_NAME;
use crate::work::few_columns;

/// Columns and their names.
type Columns = Vec<(String, Expr)>;

impl Resolver<'_> {
    /// The columns that `items` ask for.
    pub(super) fn projection(&self, items: &[SelectItem], context: &mut Context<'_>) -> Result<Columns> {
        let mut columns = Columns::new();
        for item in items {
            self.item(item, context, &mut columns)?;
        }
        Ok(columns)
    }

    fn item(&self, item: &SelectItem, context: &mut Context<'_>, columns: &mut Columns) -> Result<()> {
        few_columns(columns.len() + 1, place(item.span()))?;
        match item {
            SelectItem::UnnamedExpr(expr) => {
                // Before its name is written: it may be too deep for that.
                let column = context.expression(expr)?;
                columns.push((name_of(expr), column));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                short(alias)?;
                columns.push((alias.value.clone(), context.expression(expr)?));
            }
            SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)
                if *options != WildcardAdditionalOptions::default() =>
            {
                let what = "nothing may follow *; list the columns instead";
                return Err(Error::query(place(item.span()), what));
            }
            SelectItem::Wildcard(options) => {
                self.all_of(context, None, options.wildcard_token.0.span, columns)?;
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let table = name.0.last().and_then(|part| part.as_ident());
                self.all_of(context, table, name.span(), columns)?;
            }
            other => {
                return Err(Error::query(
                    place(other.span()),
                    "write columns or expressions after SELECT",
                ));
            }
        }
        Ok(())
    }

    /// Adds all columns, or those of one table.
    fn all_of(
        &self,
        context: &Context<'_>,
        table: Option<&ast::Ident>,
        span: Span,
        columns: &mut Columns,
    ) -> Result<()> {
        let at = place(span);
        if context.grouping.is_some() {
            return Err(Error::query(at, "with GROUP BY, list the columns instead of *"));
        }
        let found: Columns = context
            .scope()
            .of_table(table)
            .map(|visible| (visible.name.clone(), visible.expr()))
            .collect();
        if let (true, Some(table)) = (found.is_empty(), table) {
            return Err(Error::query(at, format!("there is no table {table} in FROM")));
        }
        few_columns(columns.len() + found.len(), at)?;
        self.work.make(found.len(), at)?;
        columns.extend(found);
        Ok(())
    }
}

/// What a column is called that has no alias.
fn name_of(expr: &ast::Expr) -> String {
    match expr {
        ast::Expr::Identifier(name) => name.value.clone(),
        ast::Expr::CompoundIdentifier(names) => {
            names.last().map_or_else(String::new, |name| name.value.clone())
        }
        other => other.to_string().to_lowercase().chars().take(MAX_NAME).collect(),
    }
}
