//! `cenote params --plot` and `cenote plan --plot`: draws curves of parameters, and plans, for `cenote`, which says on standard input what is wanted.

use std::io::Read;
use std::path::Path;

use cenote::query::{PlanStep, share};
use cenote::text::grouped;
use cenote::{Error, Result};
use cenote_console::{Command, Drawing, Drawn, PoolCurve, ThreeCurve, write_file};
use cenote_params::three::{Variant, Workload};
use cenote_params::{lego, pool};

use crate::curves;
use crate::plot::{Branch, Plot, Series, Style, Tree};

/// A description is shorter, in bytes.
const LONGEST: u64 = 1 << 22;

#[derive(Debug, clap::Args)]
pub(super) struct Draw {}

impl Command for Draw {
    fn run(&self, _: u8) -> Result<()> {
        let wanted: Drawn =
            serde_json::from_reader(std::io::stdin().lock().take(LONGEST)).map_err(|error| {
                Error::Usage(format!(
                    "standard input does not describe a plot ({error}); `cenote params … --plot FILE` and `cenote plan … --plot FILE` do"
                ))
            })?;
        let plot = match wanted.drawing {
            Drawing::Plan { title, steps } => return draw_plan(&wanted.file, title, &steps),
            Drawing::Three {
                curve,
                variant,
                workload,
                n,
                bucket,
                error_log2,
            } => three(
                curve,
                variant.parse::<Variant>()?,
                &workload,
                (n, bucket, error_log2),
            ),
            Drawing::Lego {
                request,
                gates,
                bytes_per_gate,
            } => lego(&request, gates, bytes_per_gate),
            Drawing::Pool {
                curve,
                request,
                bucket,
                gates_per_and,
            } => pool(curve, &request, (bucket, gates_per_and)),
            Drawing::Triples {
                security,
                pool_size,
                bucket,
            } => triples(security, pool_size, bucket),
        }?;
        draw(&wanted.file, || plot.to_svg(), || plot.to_png())
    }
}

/// Writes a drawing as the name of the file says.
fn draw(
    file: &Path,
    svg: impl FnOnce() -> String,
    png: impl FnOnce() -> std::io::Result<Vec<u8>>,
) -> Result<()> {
    let is_png = file
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("png"));
    let bytes = if is_png {
        png().map_err(|source| Error::local("drawing", source))?
    } else {
        svg().into_bytes()
    };
    write_file(file, &bytes)
}

/// The steps of a query, with bars for the ANDs that each takes itself.
fn draw_plan(file: &Path, title: String, steps: &[PlanStep]) -> Result<()> {
    let parties = steps
        .iter()
        .filter_map(|step| step.owner)
        .max()
        .map_or(0, |last| last + 1);
    let mut kinds = vec!["all parties, secretly".to_owned()];
    kinds.extend((0..parties).map(|party| format!("party {party}, in the clear")));
    let all = steps.iter().map(|step| step.takes.and_gates).sum();
    let branch = |step: &PlanStep| {
        let rows = format!("{} rows of {} bits", grouped(step.rows), grouped(step.bits));
        Branch {
            depth: step.depth,
            name: step.what.clone(),
            note: match step.owner {
                Some(_) => rows,
                None => format!("{rows}; {}", share(&step.takes, all)),
            },
            kind: step.owner.map_or(0, |owner| usize::from(owner) + 1),
            size: step.takes.and_gates as f64,
        }
    };
    let tree = Tree {
        title,
        kinds,
        bars: "ANDs of the step alone".into(),
        branches: steps.iter().map(branch).collect(),
    };
    draw(file, || tree.to_svg(), || tree.to_png())
}

/// The three-party protocol: what was asked, and the batch that was chosen.
fn three(curve: ThreeCurve, variant: Variant, workload: &Workload, chosen: (u64, u32, f64)) -> Result<Plot> {
    let (n, bucket, error_log2) = chosen;
    match curve {
        ThreeCurve::Error => {
            let largest = n.next_power_of_two().ilog2().max(24);
            let lines: Vec<_> = (2..=5)
                .map(|b| (format!("B = {b}"), curves::errors(variant, b, 7..=largest)))
                .collect();
            let mut plot = curves::plot_errors(&lines);
            plot.title = format!("{}: chance of cheating against batch size", variant);
            let ends = lines
                .iter()
                .flat_map(|(_, line)| line)
                .map(|point| point.n as f64);
            let (low, high) = ends.fold((f64::INFINITY, 0.0f64), |(low, high), n| {
                (low.min(n), high.max(n))
            });
            let level = -f64::from(workload.security);
            plot.series.push(Series::new(
                format!("2^{level}"),
                Style::Dashed,
                [(low, level), (high, level)],
            ));
            plot.series.push(Series::new(
                format!("chosen, B = {}", bucket),
                Style::Dots,
                [(n as f64, error_log2)],
            ));
            Ok(plot)
        }
        ThreeCurve::Cost => {
            let sizes = curves::sizes(100, 100_000_000, 12);
            // The baseline last and dashed: it costs the same as the cache-efficient variant.
            let variants = [
                Variant::CacheEfficient,
                Variant::Reshuffle,
                Variant::OnDemand,
                Variant::Baseline,
            ];
            let mut lines = Vec::new();
            for variant in variants {
                lines.push((
                    variant.name().to_owned(),
                    curves::jobs(variant, workload, &sizes)?,
                ));
            }
            let mut plot = curves::plot_jobs(&lines);
            plot.series[3].style = Style::Dashed;
            plot.title = format!("Cost of one job at 2^-{}", workload.security);
            Ok(plot)
        }
    }
}

fn lego(request: &lego::Request, gates: u64, bytes_per_gate: f64) -> Result<Plot> {
    let sizes = sizes_through(gates, 1_000, 1_000_000_000);
    let mut plot = curves::plot_legos(&curves::legos(request, &sizes)?);
    let goal = match request.objective {
        lego::Objective::Bytes => "fewest bytes",
        lego::Objective::Bucket => "smallest buckets",
    };
    plot.title = format!("LEGO preprocessing at 2^-{}, {goal}", request.security);
    plot.series.push(Series::new(
        "chosen",
        Style::Dots,
        [(gates as f64, bytes_per_gate)],
    ));
    Ok(plot)
}

fn pool(curve: PoolCurve, request: &pool::Request, chosen: (u32, f64)) -> Result<Plot> {
    let (bucket, gates_per_and) = chosen;
    let n = request.pool_size;
    let sizes = sizes_through(n, 1_000, 1_000_000_000);
    let with = |guard| curves::pools(&pool::Request { guard, ..*request }, &sizes);
    let (mut plot, y) = match curve {
        PoolCurve::Parameters => (
            curves::plot_pool_parameters(&with(request.guard)?),
            f64::from(bucket),
        ),
        PoolCurve::Cost => {
            let lines = [
                ("paper's analysis".to_owned(), with(pool::Guard::Paper)?),
                ("against every strategy".to_owned(), with(pool::Guard::Adaptive)?),
            ];
            (curves::plot_pool_cost(&lines), gates_per_and)
        }
    };
    plot.title = format!("{} at 2^-{}", plot.title, request.security_bits);
    plot.series
        .push(Series::new("chosen", Style::Dots, [(n as f64, y)]));
    Ok(plot)
}

fn triples(security: u32, n: u64, bucket: u32) -> Result<Plot> {
    let sizes = sizes_through(n, 100, 1_000_000_000);
    let mut levels = vec![40, 64, 80, security];
    levels.sort_unstable();
    levels.dedup();
    let mut lines = Vec::new();
    for level in levels {
        lines.push((format!("2^-{level}"), curves::triple_buckets(level, &sizes)?));
    }
    let mut plot = curves::plot_triple_buckets(&lines);
    let place = (n as f64, f64::from(bucket));
    plot.series.push(Series::new("chosen", Style::Dots, [place]));
    Ok(plot)
}

/// Sizes for a curve at least from `from` to `to`, `chosen` among them.
fn sizes_through(chosen: u64, from: u64, to: u64) -> Vec<u64> {
    let mut sizes = curves::sizes(chosen.min(from), chosen.max(to), 24);
    sizes.push(chosen);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
