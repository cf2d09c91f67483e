//! What `cenote params --plot` and `cenote plan --plot` have drawn by their sibling, which alone can draw.

use std::path::PathBuf;

use cenote::query::PlanStep;
use cenote::{Error, Result};
use cenote_params::three::Workload;
use cenote_params::{lego, pool};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::Sibling;

/// A drawing and the file that it goes to, whose name ends in `.svg` or `.png`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Drawn {
    /// The file.
    pub file: PathBuf,
    /// What is drawn.
    pub drawing: Drawing,
}

impl Drawn {
    /// Has it drawn, and says so.
    ///
    /// # Errors
    /// If there is no `cenote-bench` beside this program, or it fails.
    pub fn draw(&self) -> Result<()> {
        let text =
            serde_json::to_vec(self).map_err(|error| Error::local("describing the plot", error.into()))?;
        Sibling::Bench.ask("draw", &text)?;
        eprintln!("wrote the plot to {}", self.file.display());
        Ok(())
    }
}

/// The name of a file to which a plot is written.
///
/// # Errors
/// What is wrong with it.
pub fn plot_file(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(end) if end.eq_ignore_ascii_case("svg") || end.eq_ignore_ascii_case("png") => Ok(path),
        _ => Err("a plot's file name ends in .svg or .png".into()),
    }
}

/// A curve of parameters, and a dot for the ones that were chosen; or the steps of a query.
#[derive(Debug, Serialize, Deserialize)]
pub enum Drawing {
    /// The steps of a query, the last one first, each before those whose rows it takes.
    Plan {
        /// What stands above them.
        title: String,
        /// The steps.
        steps: Vec<PlanStep>,
    },
    /// Of the three-party protocol.
    Three {
        /// Which curve.
        curve: ThreeCurve,
        /// The name of the variant.
        variant: String,
        /// What was asked.
        workload: Workload,
        /// The chosen batch, in blocks.
        n: u64,
        /// The chosen bucket size.
        bucket: u32,
        /// The logarithm of the chosen error.
        error_log2: f64,
    },
    /// Of LEGO's preprocessing.
    Lego {
        /// What was asked.
        request: lego::Request,
        /// AND gates.
        gates: u64,
        /// The chosen cost of one.
        bytes_per_gate: f64,
    },
    /// Of a pool of gadgets.
    Pool {
        /// Which curve.
        curve: PoolCurve,
        /// What was asked.
        request: pool::Request,
        /// The chosen bucket size.
        bucket: u32,
        /// Gadgets that are generated for one gate then.
        gates_per_and: f64,
    },
    /// Of a pool of leaky triples.
    Triples {
        /// The level, in bits.
        security: u32,
        /// The chosen pool.
        pool_size: u64,
        /// The chosen bucket size.
        bucket: u32,
    },
}

/// Curves of the three-party protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum ThreeCurve {
    /// Error against batch size, for bucket sizes 2 to 5
    Error,
    /// Bits sent per AND against the size of the job, for every variant
    Cost,
}

/// Curves of a pool of gadgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum PoolCurve {
    /// Bucket size and check rate against pool size (the paper's Figure 6)
    Parameters,
    /// Gadgets generated per gate against pool size (Figure 5a), for both analyses
    Cost,
}
