//! The papers' curves as data, and as plots of that data.

use serde::Serialize;

use crate::plot::{Axis, Plot, Scale, Series, Style};
use cenote_params::lego;
use cenote_params::pool;
use cenote_params::three::{self, Variant, Workload};
use cenote_params::{LogProb, Refusal};

/// Whole numbers from `from` to `to`, both included, `per_decade` for each factor of ten, evenly spaced by logarithm.
#[must_use]
pub fn sizes(from: u64, to: u64, per_decade: u32) -> Vec<u64> {
    let (from, to) = (from.max(1), to.max(1));
    let steps = ((to as f64 / from as f64).log10() * f64::from(per_decade))
        .ceil()
        .max(0.0) as u32;
    let at = |i: u32| (from as f64 * 10f64.powf(f64::from(i) / f64::from(per_decade.max(1)))).round() as u64;
    let mut list: Vec<u64> = (0..=steps).map(at).filter(|&n| n <= to).chain([to]).collect();
    list.sort_unstable();
    list.dedup();
    list
}

/// The pool's best parameters for every size: what Figures 5a and 6 of the pool paper draw. Sizes too small for the request
/// are left out.
///
/// # Errors
/// If no size can meet the request.
pub fn pools(request: &pool::Request, sizes: &[u64]) -> Result<Vec<pool::Parameters>, Refusal> {
    let mut refusal = None;
    let with = |&pool_size: &u64| {
        pool::search(&pool::Request {
            pool_size,
            ..*request
        })
        .map_err(|r| refusal = Some(r))
        .ok()
    };
    let found: Vec<_> = sizes.iter().filter_map(with).collect();
    match refusal {
        Some(refusal) if found.is_empty() => Err(refusal),
        _ => Ok(found),
    }
}

/// Figure 5a: gadgets generated per bucket against pool size, one line per name.
#[must_use]
pub fn plot_pool_cost(lines: &[(String, Vec<pool::Parameters>)]) -> Plot {
    let series = lines.iter().map(|(name, pools)| {
        let points = pools.iter().map(|p| (p.pool_size() as f64, p.gates_per_and()));
        Series::new(name.as_str(), Style::Line, points)
    });
    Plot {
        title: "Cost against pool size".into(),
        x: Axis::new("pool size n (gadgets)", Scale::Log10),
        y: Axis::new("gadgets generated per gate, B/(1 - r_c)", Scale::Linear),
        right: None,
        series: series.collect(),
    }
}

/// Figure 6: bucket size and check rate against pool size.
#[must_use]
pub fn plot_pool_parameters(pools: &[pool::Parameters]) -> Plot {
    let buckets = pools
        .iter()
        .map(|p| (p.pool_size() as f64, f64::from(p.bucket())))
        .collect();
    let rates = pools
        .iter()
        .map(|p| (p.pool_size() as f64, 100.0 * p.check_rate()))
        .collect();
    Plot {
        title: "Bucket size and check rate against pool size".into(),
        x: Axis::new("pool size n (gadgets)", Scale::Log10),
        y: Axis::new("bucket size B", Scale::Linear),
        right: Some(Axis::new("check rate r_c (%)", Scale::Linear)),
        series: vec![
            Series {
                name: "bucket size".into(),
                points: buckets,
                style: Style::Steps,
                right: false,
            },
            Series {
                name: "check rate".into(),
                points: rates,
                style: Style::Line,
                right: true,
            },
        ],
    }
}

/// The error of one variant at one batch size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorPoint {
    #[serde(rename = "N")]
    pub n: u64,
    /// The error with the preferred shape for this `N`.
    #[serde(rename = "error_log2")]
    pub error: LogProb,
    /// The theorem's bound.
    #[serde(rename = "theorem_log2")]
    pub theorem: LogProb,
}

/// The error of a variant with bucket size `b` against `N`, at powers of two; sizes below the variant's least are left out.
#[must_use]
pub fn errors(variant: Variant, b: u32, log2_sizes: std::ops::RangeInclusive<u32>) -> Vec<ErrorPoint> {
    let sizes = log2_sizes.filter(|&i| i < 47).map(|i| 1u64 << i);
    let sets = sizes.filter_map(|n| three::preferred(variant, n, b).filter(|p| p.n() == n));
    sets.map(|p| ErrorPoint {
        n: p.n(),
        error: p.error(),
        theorem: p.theorem_bound(),
    })
    .collect()
}

/// The error against `N`, one line per name.
#[must_use]
pub fn plot_errors(lines: &[(String, Vec<ErrorPoint>)]) -> Plot {
    let series = lines.iter().map(|(name, points)| Series {
        name: name.clone(),
        points: points.iter().map(|p| (p.n as f64, p.error.log2())).collect(),
        style: Style::Line,
        right: false,
    });
    Plot {
        title: "Cheating probability against batch size".into(),
        x: Axis::new("batch size N (blocks)", Scale::Log2),
        y: Axis::new("log2 of the error", Scale::Linear),
        right: None,
        series: series.collect(),
    }
}

/// The cost of one job with the cheapest parameters of a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobPoint {
    /// Blocks of ANDs in the job.
    pub blocks: u64,
    /// Payload bits per AND and party for that job, unused triples included.
    pub bits_per_and: f64,
    pub parameters: three::Parameters,
}

/// The cheapest parameters for jobs of every size.
///
/// # Errors
/// As [`three::search`], for the first job that has none.
pub fn jobs(variant: Variant, workload: &Workload, blocks: &[u64]) -> Result<Vec<JobPoint>, Refusal> {
    let point = |&blocks: &u64| {
        let parameters = three::search(
            variant,
            &Workload {
                blocks: Some(blocks),
                ..workload.clone()
            },
        )?;
        Ok(JobPoint {
            blocks,
            bits_per_and: parameters.job_cost(blocks).bits_per_and,
            parameters,
        })
    };
    blocks.iter().map(point).collect()
}

/// Bits per AND against the size of the job, one line per name.
#[must_use]
pub fn plot_jobs(lines: &[(String, Vec<JobPoint>)]) -> Plot {
    let series = lines.iter().map(|(name, points)| Series {
        name: name.clone(),
        points: points.iter().map(|p| (p.blocks as f64, p.bits_per_and)).collect(),
        style: Style::Line,
        right: false,
    });
    Plot {
        title: "Cost against size of the job".into(),
        x: Axis::new("size of the job (blocks of ANDs)", Scale::Log10),
        y: Axis::new("bits sent per AND and party", Scale::Log10),
        right: None,
        series: series.collect(),
    }
}

/// The best LEGO parameters for every number of gates, with inputs in proportion.
///
/// # Errors
/// As [`lego::search`], for the first number that has none.
pub fn legos(request: &lego::Request, gates: &[u64]) -> Result<Vec<lego::Parameters>, Refusal> {
    let with = |&gates: &u64| {
        let scale = gates as f64 / request.gates.max(1) as f64;
        let scaled = |count: u64| (count as f64 * scale).round() as u64;
        lego::search(&lego::Request {
            gates,
            inputs: scaled(request.inputs).max(1),
            input_buckets: scaled(request.input_buckets),
            ..*request
        })
    };
    gates.iter().map(with).collect()
}

/// Bytes per gate and bucket size against the number of gates.
#[must_use]
pub fn plot_legos(parameters: &[lego::Parameters]) -> Plot {
    let at = |p: &lego::Parameters| p.buckets().gates as f64;
    let bytes = parameters.iter().map(|p| (at(p), p.bytes() / at(p))).collect();
    let buckets = parameters
        .iter()
        .map(|p| (at(p), f64::from(p.buckets().beta)))
        .collect();
    Plot {
        title: "LEGO preprocessing against number of gates".into(),
        x: Axis::new("AND gates q", Scale::Log10),
        y: Axis::new("bytes per AND gate", Scale::Linear),
        right: Some(Axis::new("bucket size beta", Scale::Linear)),
        series: vec![
            Series {
                name: "bytes per gate".into(),
                points: bytes,
                style: Style::Line,
                right: false,
            },
            Series {
                name: "bucket size".into(),
                points: buckets,
                style: Style::Steps,
                right: true,
            },
        ],
    }
}

/// The smallest bucket of authenticated triples for every pool size; sizes too small for the level are left out.
///
/// # Errors
/// If no size can meet the level.
pub fn triple_buckets(security: u32, sizes: &[u64]) -> Result<Vec<pool::TripleParameters>, Refusal> {
    let mut refusal = None;
    let with = |&size: &u64| pool::triples(security, size).map_err(|r| refusal = Some(r)).ok();
    let found: Vec<_> = sizes.iter().filter_map(with).collect();
    match refusal {
        Some(refusal) if found.is_empty() => Err(refusal),
        _ => Ok(found),
    }
}

/// Figure 8: bucket size of authenticated triples against pool size, one line per name.
#[must_use]
pub fn plot_triple_buckets(lines: &[(String, Vec<pool::TripleParameters>)]) -> Plot {
    let series = lines.iter().map(|(name, found)| {
        let points = found.iter().map(|p| (p.pool_size as f64, f64::from(p.bucket)));
        Series::new(name.as_str(), Style::Steps, points)
    });
    Plot {
        title: "Bucket size of authenticated triples against pool size".into(),
        x: Axis::new("pool size n (leaky triples)", Scale::Log10),
        y: Axis::new("bucket size B", Scale::Linear),
        right: None,
        series: series.collect(),
    }
}
