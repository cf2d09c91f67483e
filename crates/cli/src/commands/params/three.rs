//! `cenote params three`

use cenote::Result;
use cenote::text::{bytes, grouped, quantity};
use cenote_console::{Drawing, ThreeCurve};
use cenote_params::LogProb;
use cenote_params::three::{
    BLOCK_BITS, ErrorKind, Parameters, Variant, Workload, check_level, preferred, search,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use super::output::{Lines, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Three {
    /// Over the session's life, a wrong output passes with probability at most 2^-BITS
    #[arg(long, value_name = "BITS", default_value_t = 40)]
    security: u32,
    /// How AND gates are verified
    #[arg(long, value_parser = variants(), default_value = "on-demand")]
    variant: Variant,
    /// AND gates in one job [default: a run that never ends]
    #[arg(long, value_name = "GATES", value_parser = quantity)]
    and_gates: Option<u64>,
    /// AND gates in a block
    #[arg(long, value_name = "BITS", value_parser = block_bits, default_value_t = BLOCK_BITS)]
    block_bits: u32,
    /// The most bytes that one worker stores
    #[arg(long, value_name = "BYTES", value_parser = quantity, conflicts_with = "n")]
    memory: Option<u64>,
    /// The most blocks of triples multiplied before the first gate
    #[arg(long, value_name = "BLOCKS", value_parser = quantity, conflicts_with = "n")]
    latency: Option<u64>,
    /// Allow buckets of two sizes (baseline, cache-efficient)
    #[arg(long, conflicts_with = "n")]
    mixed: bool,
    /// Allow batches whose size is no power of two
    #[arg(long, conflicts_with = "n")]
    any_size: bool,
    /// Check given parameters instead of searching: blocks of checked triples that a batch gives
    #[arg(long, value_name = "BLOCKS", value_parser = quantity, requires = "b")]
    n: Option<u64>,
    /// With --n: bucket size
    #[arg(long, value_name = "SIZE", requires = "n")]
    b: Option<u32>,
    /// With --n: blocks opened per subarray [default: the fewest allowed]
    #[arg(long, value_name = "BLOCKS", requires = "n")]
    c: Option<u32>,
    /// With --n: subarrays per array [default: as many as fit the cache]
    #[arg(long, value_name = "COUNT", value_parser = quantity, requires = "n")]
    l: Option<u64>,
    /// With --n: how many buckets have size B; the others are one larger [default: all]
    #[arg(long, value_name = "BUCKETS", value_parser = quantity, requires = "n")]
    k: Option<u64>,
    /// The curve that --plot draws
    #[arg(long, value_enum, default_value_t = ThreeCurve::Error, requires = "plot")]
    curve: ThreeCurve,
    #[command(flatten)]
    pub(super) output: Output,
}

fn variants() -> impl TypedValueParser<Value = Variant> {
    PossibleValuesParser::new(Variant::ALL.map(Variant::name))
        .try_map(|name| name.parse::<Variant>().map_err(|refusal| refusal.to_string()))
}

fn block_bits(text: &str) -> std::result::Result<u32, String> {
    match text.parse::<u32>() {
        Ok(bits) if bits.is_multiple_of(64) && (64..=1 << 16).contains(&bits) => Ok(bits),
        _ => Err("a block has a multiple of 64 bits, from 64 to 65536".into()),
    }
}

/// The answer for machines. Memory is for blocks of `block_bits`.
#[derive(Serialize)]
struct Answer {
    variant: Variant,
    security: u32,
    #[serde(rename = "N")]
    n: u64,
    #[serde(rename = "B")]
    b: u32,
    #[serde(rename = "C")]
    c: u32,
    #[serde(rename = "L")]
    l: u64,
    #[serde(rename = "X")]
    x: u64,
    k: u64,
    bits_per_and: f64,
    error_log2: LogProb,
    error_kind: ErrorKind,
    theorem: &'static str,
    theorem_log2: LogProb,
    block_bits: u32,
    memory_bytes: u64,
    blocks_before_first_gate: u64,
    job: Option<Job>,
}

/// The cost of one job for each party.
#[derive(Serialize)]
struct Job {
    and_gates: u64,
    blocks: u64,
    batches: u64,
    bits_per_and: f64,
    bytes_sent: u64,
}

pub(super) fn run(options: &Three) -> Result<()> {
    let workload = Workload {
        security: options.security,
        blocks: options
            .and_gates
            .map(|gates| gates.div_ceil(options.block_bits.into())),
        block_bits: options.block_bits,
        memory_limit: options.memory,
        latency: options.latency,
        mixed: options.mixed,
        any_size: options.any_size,
    };
    let parameters = match (options.n, options.b) {
        (Some(n), Some(b)) => {
            let shape = preferred(options.variant, n, b);
            let c = options.c.or(shape.as_ref().map(Parameters::c)).unwrap_or(3);
            let l = options.l.or(shape.as_ref().map(Parameters::l)).unwrap_or(1);
            check_level(
                options.variant,
                (n, b, c, l, options.k.unwrap_or(n)),
                options.security,
            )?
        }
        _ => search(options.variant, &workload)?,
    };
    let answer = answer(options, &workload, &parameters);
    options
        .output
        .answer(&answer, &table(&answer), || Drawing::Three {
            curve: options.curve,
            variant: parameters.variant().name().to_owned(),
            n: parameters.n(),
            bucket: parameters.b(),
            error_log2: parameters.error().log2(),
            workload,
        })
}

fn answer(options: &Three, workload: &Workload, p: &Parameters) -> Answer {
    let job = options.and_gates.zip(workload.blocks).map(|(and_gates, blocks)| {
        let cost = p.job_cost(blocks);
        let bits = u64::from(options.block_bits);
        Job {
            and_gates,
            blocks,
            batches: cost.batches,
            bits_per_and: (cost.blocks_sent as f64) * bits as f64 / and_gates.max(1) as f64,
            bytes_sent: cost.blocks_sent.saturating_mul(bits / 8),
        }
    });
    Answer {
        variant: p.variant(),
        security: options.security,
        n: p.n(),
        b: p.b(),
        c: p.c(),
        l: p.l(),
        x: p.x(),
        k: p.k(),
        bits_per_and: p.bits_per_and(),
        error_log2: p.error(),
        error_kind: p.error_kind(),
        theorem: p.variant().theorem(),
        theorem_log2: p.theorem_bound(),
        block_bits: options.block_bits,
        memory_bytes: p.memory_bytes(options.block_bits),
        blocks_before_first_gate: p.blocks_before_first_gate(),
        job,
    }
}

fn table(a: &Answer) -> Lines {
    let mut table = Lines::new(format!(
        "Three parties, {}, at most 2^-{}; a block is {} AND gates",
        a.variant, a.security, a.block_bits
    ));
    table.row("N", grouped(a.n), "blocks of checked triples per batch");
    table.row("B", a.b.to_string(), "bucket size: triples spent per checked one");
    if a.k != a.n {
        table.row("k", grouped(a.k), "buckets of size B; the others are one larger");
    }
    table.row("C", a.c.to_string(), "blocks opened per subarray");
    table.row("L", grouped(a.l), "subarrays");
    table.row("X", grouped(a.x), "blocks per subarray, N/L + C");
    let kind = match a.error_kind {
        ErrorKind::Exact => "best adversary's chance over the session's life, exactly",
        ErrorKind::Bound => "no adversary's chance over the session's life is higher",
    };
    table.row("error", format!("{:.3}", a.error_log2), kind);
    table.row(
        "theorem",
        format!("{:.3}", a.theorem_log2),
        format!("promised by {}", a.theorem),
    );
    table.row(
        "bits per AND",
        format!("{:.3}", a.bits_per_and),
        "payload sent by each party in a long run",
    );
    table.row(
        "memory",
        bytes(a.memory_bytes as f64),
        "stored by one worker, at most",
    );
    table.row(
        "first gate after",
        grouped(a.blocks_before_first_gate),
        "blocks of triples multiplied",
    );
    if let Some(job) = &a.job {
        table.row(
            "job",
            grouped(job.and_gates),
            format!("AND gates, in {} blocks", grouped(job.blocks)),
        );
        table.row("batches", grouped(job.batches), "generated for this job");
        table.sent(job.bits_per_and, job.bytes_sent);
    }
    table
}
