//! What the commands of this group print, and have drawn.

use std::fmt::Display;
use std::path::PathBuf;

use cenote::Result;
use cenote::text::Table;
use cenote_console::args::Form;
use cenote_console::{Drawing, Drawn, plot_file};
use serde::Serialize;

/// Where answers go.
#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    #[command(flatten)]
    pub(super) form: Form,
    /// Also draw a plot, as .svg or .png by the file's name; this needs the program cenote-bench
    #[arg(long, value_name = "FILE", value_parser = plot_file)]
    pub(super) plot: Option<PathBuf>,
}

impl Output {
    /// Has the plot drawn, if one is wanted, and prints the answer.
    pub(super) fn answer(
        &self,
        json: &impl Serialize,
        lines: &Lines,
        drawing: impl FnOnce() -> Drawing,
    ) -> Result<()> {
        if let Some(file) = &self.plot {
            let drawn = Drawn {
                file: file.clone(),
                drawing: drawing(),
            };
            drawn.draw()?;
        }
        self.form
            .print(json, || format!("{}\n\n{}", lines.title, lines.table))
    }
}

/// Name, value and meaning, line by line.
pub(super) struct Lines {
    pub(super) title: String,
    pub(super) table: Table,
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
