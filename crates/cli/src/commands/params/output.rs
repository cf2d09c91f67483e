//! What every command of this group prints and writes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cenote::{Error, Result};
use cenote_bench::curves;
use cenote_bench::plot::Plot;
use serde::Serialize;

use crate::console::{print, print_json};

/// Where answers go.
#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(super) json: bool,
    /// Also draw a plot, as .svg or .png by the file's name
    #[arg(long, value_name = "FILE", value_parser = plot_file)]
    pub(super) plot: Option<PathBuf>,
}

fn plot_file(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match extension(&path).as_deref() {
        Some("svg" | "png") => Ok(path),
        _ => Err("a plot's file name ends in .svg or .png".into()),
    }
}

fn extension(path: &Path) -> Option<String> {
    path.extension().map(|e| e.to_string_lossy().to_lowercase())
}

impl Output {
    /// Writes the plot, if one is wanted, and prints the answer.
    pub(super) fn answer(
        &self,
        json: &impl Serialize,
        table: &Table,
        plot: impl FnOnce() -> Result<Plot>,
    ) -> Result<()> {
        if let Some(path) = &self.plot {
            write_plot(&plot()?, path)?;
            eprintln!("wrote the plot to {}", path.display());
        }
        if self.json {
            print_json(json)
        } else {
            print(&table.text())
        }
    }
}

fn write_plot(plot: &Plot, path: &Path) -> Result<()> {
    let bytes = if extension(path).as_deref() == Some("png") {
        plot.to_png()
    } else {
        Ok(plot.to_svg().into_bytes())
    };
    bytes
        .and_then(|bytes| std::fs::write(path, bytes))
        .map_err(|source| Error::Local {
            what: format!("writing {}", path.display()),
            source,
        })
}

/// Sizes for a curve at least from `from` to `to`, `chosen` among them.
pub(super) fn sizes_through(chosen: u64, from: u64, to: u64) -> Vec<u64> {
    let mut sizes = curves::sizes(chosen.min(from), chosen.max(to), 24);
    sizes.push(chosen);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Name, value and meaning, line by line.
pub(super) struct Table {
    title: String,
    rows: Vec<[String; 3]>,
}

impl Table {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Table {
            title: title.into(),
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, name: &str, value: impl Into<String>, meaning: impl Into<String>) {
        self.rows.push([name.into(), value.into(), meaning.into()]);
    }

    fn text(&self) -> String {
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let (names, values) = (width(0), width(1));
        let mut text = format!("{}\n\n", self.title);
        for [name, value, meaning] in &self.rows {
            let _ = writeln!(text, "  {name:<names$}  {value:>values$}  {meaning}");
        }
        text
    }
}
