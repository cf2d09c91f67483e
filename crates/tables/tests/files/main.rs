//! Tables in files: what comes back, and what is said of a file that is wrong.

mod csv;
mod damage;
mod foreign;
mod inferred;
mod numbers;
mod parquet;
mod pieces;
mod round;
mod sizes;
mod time;
mod types;

use std::path::{Path, PathBuf};

use cenote_tables::{Field, Table, cell};

use self::pieces::read_in_pieces;

/// A field such as `owed decimal(12,2)`, with a `?` behind it if it is nullable.
fn field(text: &str) -> Field {
    let (name, kind) = text.split_once(' ').expect("a name and a type");
    Field {
        name: name.into(),
        kind: kind.trim_end_matches('?').parse().expect("a type"),
        nullable: kind.ends_with('?'),
    }
}

fn fields(texts: &[&str]) -> Vec<Field> {
    texts.iter().map(|text| field(text)).collect()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, contents).expect("a file");
        path
    }
}

/// The cells of a table, row after row.
fn cells(table: &Table) -> Vec<Vec<String>> {
    let row = |row| {
        let columns = table.fields.iter().zip(&table.columns);
        columns.map(|(field, column)| cell(column, field, row)).collect()
    };
    (0..table.rows).map(row).collect()
}

/// What is said of a file, without its path, which comes first. The same is said where rows are read one at a time.
fn message(path: &Path, fields: &[Field], max_rows: usize) -> String {
    let error = cenote_tables::read(path, fields, max_rows).expect_err("the file is wrong");
    let message = error.to_string();
    let in_pieces = read_in_pieces(path, fields, max_rows, 1).expect_err("the file is wrong");
    assert_eq!(in_pieces.to_string(), message);
    let start = format!("{}: ", path.display());
    message
        .strip_prefix(&start)
        .expect("the path comes first")
        .to_owned()
}
