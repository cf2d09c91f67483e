//! What the commands of this group print and write.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use cenote::text::Table;
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
        lines: &Lines,
        plot: impl FnOnce() -> Result<Plot>,
    ) -> Result<()> {
        if let Some(path) = &self.plot {
            write_plot(&plot()?, path)?;
            eprintln!("wrote the plot to {}", path.display());
        }
        if self.json {
            print_json(json)
        } else {
            print(&format!("{}\n\n{}", lines.title, lines.table))
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
pub(super) struct Lines {
    title: String,
    table: Table,
}

impl Lines {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Lines {
            title: title.into(),
            table: Table::new("lrl"),
        }
    }

    pub(super) fn row(&mut self, name: &str, value: impl Display, meaning: impl Display) {
        self.table.row(&[&format_args!("  {name}"), &value, &meaning]);
    }
}

/// A probability as a percentage.
pub(super) fn percent(probability: f64) -> String {
    format!("{:.3}%", 100.0 * probability)
}
