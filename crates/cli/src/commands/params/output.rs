//! What the commands of this group print, and have drawn.

use std::fmt::Display;
use std::path::PathBuf;

use cenote::Result;
use cenote::text::{Table, bytes};
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
        lines.print(&self.form, json)
    }
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

    /// What a job sends.
    pub(super) fn sent(&mut self, bits_per_and: f64, bytes_sent: u64) {
        self.row(
            "job's bits",
            format!("{bits_per_and:.3}"),
            format!("sent per AND by each party, {} in all", bytes(bytes_sent as f64)),
        );
    }

    /// Prints these, or the answer for machines.
    pub(super) fn print(&self, form: &Form, json: &impl Serialize) -> Result<()> {
        form.print(json, || format!("{}\n\n{}", self.title, self.table))
    }

    pub(super) fn row(&mut self, name: &str, value: impl Display, meaning: impl Display) {
        self.table.row(&[&format_args!("  {name}"), &value, &meaning]);
    }
}

/// A probability as a percentage.
pub(super) fn percent(probability: f64) -> String {
    format!("{:.3}%", 100.0 * probability)
}
