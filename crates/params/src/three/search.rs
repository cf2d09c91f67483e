//! The cheapest parameters for a workload.

use serde::{Deserialize, Serialize};

use super::shape::{preferred, settings, smallest, validate_security};
use super::{BLOCK_BITS, Parameters, Variant, check_mixed};
use crate::{Refusal, Remembered, Setting};

/// Without a memory limit, batches of more blocks than this are not considered: they cost memory and save nothing visible.
const DEFAULT_MAX_N: u64 = 1 << 22;

/// Bucket sizes that are tried; the largest is needed by a baseline of one block at 2^-128.
const MAX_B: u32 = 130;

/// Sets within this factor of the cheapest count as equally cheap; the one that needs least memory is taken.
const TOLERANCE: f64 = 1.005;

/// What is asked of the three-party protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The error must be at most `2^-security`, over the whole session; 1 to 128.
    pub security: u32,
    /// Blocks of AND gates wanted in one job; `None` for a service that never ends.
    pub blocks: Option<u64>,
    /// Bits in a block (a multiple of 64); decides memory only.
    pub block_bits: u32,
    /// Bytes of triple storage that one worker may use ([`Parameters::memory_bytes`]).
    pub memory_limit: Option<u64>,
    /// Most blocks of triples that may be multiplied before the first gate can be verified
    /// ([`Parameters::blocks_before_first_gate`]); divide by the rate of multiplication for a time.
    pub latency: Option<u64>,
    /// Whether buckets of two sizes may be used ([`Parameters::k`]); for the baseline and the cache-efficient variant.
    pub mixed: bool,
    /// Whether `N` may be other than a power of two.
    pub any_size: bool,
}

impl Default for Workload {
    /// Security 40, for ever, blocks of [`BLOCK_BITS`], no limits, equal buckets, `N` a power of two.
    fn default() -> Self {
        Self {
            security: 40,
            blocks: None,
            block_bits: BLOCK_BITS,
            memory_limit: None,
            latency: None,
            mixed: false,
            any_size: false,
        }
    }
}

impl Workload {
    fn cost(&self, p: &Parameters) -> f64 {
        match self.blocks {
            Some(blocks) => p.job_cost(blocks).bits_per_and,
            None => p.bits_per_and(),
        }
    }

    fn fits_memory(&self, p: &Parameters) -> bool {
        match self.memory_limit {
            Some(limit) => p.memory_bytes(self.block_bits) <= limit,
            None => p.n() <= DEFAULT_MAX_N,
        }
    }

    fn fits_latency(&self, p: &Parameters) -> bool {
        self.latency
            .is_none_or(|limit| p.blocks_before_first_gate() <= limit)
    }
}

/// The cheapest parameters for `workload`: fewest payload bits per AND, and of those within half a percent of the fewest, least
/// memory.
///
/// # Errors
/// A security level outside 1 to 128, or limits that no set meets; then the settings that come nearest to the limits.
pub fn search(variant: Variant, workload: &Workload) -> Result<Parameters, Refusal> {
    static FOUND: Remembered<(Variant, Workload), Result<Parameters, Refusal>> = Remembered::new();
    FOUND.get((variant, workload.clone()), || search_anew(variant, workload))
}

fn search_anew(variant: Variant, workload: &Workload) -> Result<Parameters, Refusal> {
    validate_security(variant, workload.security)?;
    let all = candidates(variant, workload);
    let fitting: Vec<_> = all
        .iter()
        .filter(|p| workload.fits_memory(p) && workload.fits_latency(p))
        .collect();
    let cheapest = fitting
        .iter()
        .map(|p| workload.cost(p))
        .fold(f64::INFINITY, f64::min);
    fitting
        .into_iter()
        .filter(|p| workload.cost(p) <= cheapest * TOLERANCE)
        .min_by_key(|p| p.memory_bytes(workload.block_bits))
        .cloned()
        .ok_or_else(|| refuse(variant, workload, &all))
}

/// Every set worth considering that reaches the security level.
fn candidates(variant: Variant, workload: &Workload) -> Vec<Parameters> {
    let mut found = Vec::new();
    for b in 2..=MAX_B {
        let Some(least) = smallest(variant, b, workload.security, !workload.any_size) else {
            continue;
        };
        let mut sizes = vec![least.n()];
        // Larger batches: up to the first that does a job at once, or to the largest that memory might allow.
        let enough = workload
            .blocks
            .map_or(1 << 34, |blocks| blocks.min(1 << 34).next_power_of_two());
        let mut n = least.n().next_power_of_two();
        while n < enough.min(1 << 34) {
            n *= 2;
            sizes.push(n);
        }
        if let (true, Some(blocks)) = (workload.any_size, workload.blocks) {
            sizes.extend(
                (1..=64)
                    .map(|parts| blocks.div_ceil(parts))
                    .filter(|&n| n > least.n()),
            );
        }
        found.extend(sizes.into_iter().filter_map(|n| preferred(variant, n, b)));
        if workload.mixed && matches!(variant, Variant::Baseline | Variant::CacheEfficient) {
            let smaller = (0..63).map(|i| least.n() >> i).take_while(|&n| n >= 1);
            found.extend(smaller.filter_map(|n| mix(preferred(variant, n, b)?, workload.security)));
        }
        // One block per batch, or the theorem's least: no larger bucket can be needed.
        if least.n() <= preferred(variant, 1, b).map_or(1, |p| p.n()) {
            break;
        }
    }
    found.retain(|p| p.error().meets(workload.security));
    found
}

/// The most small buckets with which `p` reaches the level, if mixing is what it takes.
fn mix(p: Parameters, security: u32) -> Option<Parameters> {
    let unit = if p.variant() == Variant::Baseline {
        1
    } else {
        p.x() - u64::from(p.c())
    };
    let with = |units: u64| {
        check_mixed(p.variant(), p.n(), p.b(), p.c(), p.l(), units * unit)
            .ok()
            .filter(|q| q.error().meets(security))
    };
    let (mut low, mut high) = (0, p.n() / unit);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if with(middle).is_some() {
            low = middle
        } else {
            high = middle
        }
    }
    if low == 0 { None } else { with(low) }
}

fn refuse(variant: Variant, workload: &Workload, all: &[Parameters]) -> Refusal {
    let memory = |p: &&Parameters| p.memory_bytes(workload.block_bits);
    let least_memory = all.iter().min_by_key(memory);
    let least_latency = all.iter().min_by_key(|p| p.blocks_before_first_gate());
    let mut refusal = Refusal::new(variant.name());
    let (Some(small), Some(quick)) = (least_memory, least_latency) else {
        return refusal.because(
            format!("error <= 2^-{}", workload.security),
            "no bucket size reaches it",
        );
    };
    let memory_fits = all.iter().any(|p| workload.fits_memory(p));
    let latency_fits = all.iter().any(|p| workload.fits_latency(p));
    let together = if memory_fits && latency_fits {
        ", both at once"
    } else {
        ""
    };
    if let (true, Some(limit)) = (!memory_fits || latency_fits, workload.memory_limit) {
        let condition = format!("triple storage <= {limit} bytes per worker{together}");
        refusal = refusal.because(condition, format!("at least {} bytes", memory(&small)));
    }
    if let (true, Some(limit)) = (!latency_fits || memory_fits, workload.latency) {
        let condition = format!("blocks before the first gate <= {limit}{together}");
        refusal = refusal.because(
            condition,
            format!("at least {} blocks", quick.blocks_before_first_gate()),
        );
    }
    if refusal.violated.is_empty() {
        let condition = format!("N <= {DEFAULT_MAX_N} (the default where no memory limit is given)");
        refusal = refusal.because(condition, format!("at least N = {}", small.n()));
    }
    let nearest = if latency_fits || !memory_fits {
        small
    } else {
        quick
    };
    let mut list = settings(nearest);
    list.push(Setting::new(
        "memory_limit",
        nearest.memory_bytes(workload.block_bits) as f64,
    ));
    list.push(Setting::new("latency", nearest.blocks_before_first_gate() as f64));
    refusal.nearest(list)
}
