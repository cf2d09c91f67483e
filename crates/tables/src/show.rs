//! Tables for a screen.

use crate::error::printable;
use crate::table::Table;
use crate::text::cell;
use crate::types::Type;

/// What stands between two columns.
const GAP: &str = "  ";

/// The table as lines for a screen: a header, a rule, and at most `rows` rows, then how many more there are. Numbers stand to the right, all
/// else to the left; a null is `null`. Characters that would steer the screen are replaced.
pub fn show(table: &Table, rows: usize) -> String {
    let shown = rows.min(table.rows);
    let columns: Vec<Vec<String>> = table
        .fields
        .iter()
        .zip(&table.columns)
        .map(|(field, column)| {
            let text = |row| match column.is_null(row) {
                true => "null".to_owned(),
                false => cell(column, field, row).chars().map(printable).collect(),
            };
            let name = field.name.chars().map(printable).collect();
            std::iter::once(name).chain((0..shown).map(text)).collect()
        })
        .collect();
    let width = |cells: &Vec<String>| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(width).collect();
    let line = |line: usize| {
        let cells =
            table
                .fields
                .iter()
                .zip(&columns)
                .zip(&widths)
                .map(|((field, cells), &width)| match field.kind {
                    Type::Int { .. } | Type::Decimal { .. } => format!("{:>width$}", cells[line]),
                    _ => format!("{:<width$}", cells[line]),
                });
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned() + "\n"
    };
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    let mut text = line(0) + &rule.join(GAP) + "\n";
    text.extend((1..=shown).map(line));
    if shown < table.rows {
        text += &format!("… {} more\n", table.rows - shown);
    }
    text
}
