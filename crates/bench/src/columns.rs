//! Tables for people, column by column.

use std::fmt::Display;

use cenote::text::Table;

/// What stands above the column's name, its name, and its cell of a row. Of columns that belong together the first has what stands above all.
pub(crate) type Column<R> = (&'static str, &'static str, fn(&R) -> String);

/// The table, its first column to the left.
pub(crate) fn table<R>(columns: &[Column<R>], rows: impl IntoIterator<Item = R>) -> Table {
    let mut table = Table::new("lr");
    let mut line = |cells: Vec<String>| {
        let cells: Vec<&dyn Display> = cells.iter().map(|cell| cell as &dyn Display).collect();
        table.row(&cells);
    };
    if columns.iter().any(|(above, ..)| !above.is_empty()) {
        line(columns.iter().map(|(above, ..)| above.to_string()).collect());
    }
    line(columns.iter().map(|(_, name, _)| name.to_string()).collect());
    for row in rows {
        line(columns.iter().map(|(.., cell)| cell(&row)).collect());
    }
    table
}

/// With so many places behind the point.
pub(crate) fn fixed(number: f64, places: usize) -> String {
    format!("{number:.places$}")
}
