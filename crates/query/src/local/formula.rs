//! Formulas of numbers in the clear.

use std::cmp::Ordering;

use super::column::{Column, Values};
use super::expr::{Failed, Input, Result, either, matters, numbers};
use super::wide::Wide;
use crate::expr::{Expr, ValueKind, kinds};
use crate::formula::{Divisor, Formula};

impl Input<'_> {
    pub(super) fn formula(self, formula: Formula, parts: &[Expr], kind: ValueKind) -> Result<Column> {
        let arguments = parts
            .iter()
            .map(|part| self.evaluate(part))
            .collect::<Result<Vec<Column>>>()?;
        let mut nulls = arguments
            .iter()
            .fold(None, |nulls, argument| either(&nulls, &argument.nulls));
        let unit = formula.unit(kind, &kinds(parts));
        let mut results = vec![0; self.rows];
        let mut row_of = Vec::with_capacity(parts.len());
        for (row, result) in results.iter_mut().enumerate() {
            if !matters(row, nulls.as_deref(), self.active) {
                continue;
            }
            row_of.clear();
            row_of.extend(
                arguments
                    .iter()
                    .map(|argument| Wide::from(numbers(argument)[row])),
            );
            match found(formula, &row_of, Wide::of(unit)).ok_or(Failed)? {
                Some(found) => {
                    *result = found.narrow().filter(|value| fits(kind, *value)).ok_or(Failed)?;
                }
                None => nulls.get_or_insert_with(|| vec![false; self.rows])[row] = true,
            }
        }
        Ok(Column {
            values: Values::Numbers(results),
            nulls,
        })
    }
}

fn fits(kind: ValueKind, value: i128) -> bool {
    // As many bits as the kind has, as where it is computed secretly.
    ValueKind::exactly(value, 0).width() <= kind.width() && (value >= 0 || kind.is_signed())
}

/// The result, `None` if there is none, and null as SQL has it.
fn found(formula: Formula, of: &[Wide], unit: Wide) -> Option<Option<Wide>> {
    let four = Wide::from(4);
    match formula {
        Formula::Root => match of[0].is_negative() {
            true => None,
            false => Some(Some(of[0].times(&unit)?.times(&four)?.half_root()?)),
        },
        Formula::Variance(divisor) | Formula::Deviation(divisor) => {
            let excess = excess(&of[0], [&of[1], &of[1]], &of[2])?;
            let by = by(&of[0], divisor)?;
            match (by.is_zero(), excess.is_negative(), formula) {
                (true, ..) => Some(None),
                (_, true, _) => None,
                (.., Formula::Variance(_)) => Some(Some(excess.times(&unit)?.rounded(&by)?)),
                _ => Some(Some(excess.times(&unit)?.times(&four)?.over(&by)?.half_root()?)),
            }
        }
        Formula::Covariance(divisor) => {
            let excess = excess(&of[0], [&of[1], &of[2]], &of[3])?;
            let by = by(&of[0], divisor)?;
            match by.is_zero() {
                true => Some(None),
                false => Some(Some(excess.times(&unit)?.rounded(&by)?)),
            }
        }
        Formula::Correlation => {
            let (excess, spreads) = (excess(&of[0], [&of[1], &of[2]], &of[3])?, spreads(of)?);
            match (is_possible(of)?, spreads.is_zero()) {
                (_, true) => Some(None),
                (false, _) => None,
                _ => {
                    let square = excess.times(&excess)?.times(&unit)?.times(&four)?;
                    let value = square.over(&spreads)?.half_root()?;
                    Some(Some(value.with_sign_of(&excess)))
                }
            }
        }
        Formula::Possible => Some(Some(Wide::from(i128::from(is_possible(of)?)))),
    }
}

/// n Σxy - Σx Σy.
fn excess(count: &Wide, sums: [&Wide; 2], products: &Wide) -> Option<Wide> {
    count.times(products)?.minus(&sums[0].times(sums[1])?)
}

fn by(count: &Wide, divisor: Divisor) -> Option<Wide> {
    match divisor {
        Divisor::All => count.times(count),
        Divisor::Sample => count.times(&count.minus(&Wide::from(1))?),
    }
}

/// The product of n Σx² - (Σx)² and n Σy² - (Σy)².
fn spreads(of: &[Wide]) -> Option<Wide> {
    let one = excess(&of[0], [&of[1], &of[1]], &of[4])?;
    one.times(&excess(&of[0], [&of[2], &of[2]], &of[5])?)
}

/// Whether any values have such sums.
fn is_possible(of: &[Wide]) -> Option<bool> {
    if of.len() == 3 {
        return Some(!excess(&of[0], [&of[1], &of[1]], &of[2])?.is_negative());
    }
    let one = excess(&of[0], [&of[1], &of[1]], &of[4])?;
    let other = excess(&of[0], [&of[2], &of[2]], &of[5])?;
    let both = excess(&of[0], [&of[1], &of[2]], &of[3])?;
    let (square, spreads) = (both.times(&both)?, one.times(&other)?);
    Some(!one.is_negative() && !other.is_negative() && square.size(&spreads) != Ordering::Greater)
}
