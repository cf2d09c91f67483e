//! What the choices inside a worker are worth, each beside the alternative it replaced:
//! `cargo bench -p cenote-three --bench kernels`. Rates are of AND gates, or triples, of one thread.
//!
//! Everything runs on the instruction set that is detected, or on the one that `CENOTE_SIMD` names (`portable`, `avx2`,
//! `avx512`); only the group `levels` runs on all that there are.

use std::hint::black_box;
use std::time::Duration;

use cenote_primitives::{
    BLOCK_BITS, Block, Block512, PolyMac, Position, Prg, Sampler, Simd, as_bytes, as_words, as_words_mut,
    kernels,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sha2::{Digest, Sha256};

/// Checks in a message.
const WINDOW: usize = 1024;
/// Checks whose operands stay in the first-level cache together.
const TILE: usize = 32;
/// Triples in an array that does not fit into caches: 32 MiB for both components.
const N: usize = 1 << 18;
const SUBARRAYS: usize = 128;

type Pair = [Vec<Block512>; 2];

fn prg(number: u64) -> Prg {
    Prg::new(Block([number, 77]))
}

fn zeros(blocks: usize) -> Pair {
    [(); 2].map(|()| vec![Block512::ZERO; blocks])
}

fn random(number: u64, blocks: usize) -> Pair {
    [0, 1].map(|component| {
        let mut out = vec![Block512::ZERO; blocks];
        prg(2 * number + component).fill(Position { stream: 0, index: 0 }, &mut out);
        out
    })
}

fn gates(blocks: usize) -> Throughput {
    Throughput::Elements((blocks * BLOCK_BITS) as u64)
}

fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .sample_size(30)
}

/// A window of checks: everything between its two messages and the views.
struct Check {
    keys: [Prg; 2],
    names: Vec<Position>,
    x: Pair,
    y: Pair,
    z: Pair,
    c: Pair,
    a: Pair,
    b: Pair,
    /// What was sent, and then what came from the next party.
    sent: Pair,
    opened: Pair,
    words: Pair,
    views: [PolyMac; 4],
}

impl Check {
    fn new() -> Self {
        let mut sampler = Sampler::new(Block([5, 6]));
        let name = |_| Position {
            stream: 1,
            index: u64::from(sampler.below(N as u32)),
        };
        Self {
            keys: [prg(1), prg(2)],
            names: (0..WINDOW).map(name).collect(),
            x: random(10, WINDOW),
            y: random(11, WINDOW),
            z: random(12, WINDOW),
            c: random(13, WINDOW),
            a: zeros(WINDOW),
            b: zeros(WINDOW),
            sent: zeros(WINDOW),
            opened: zeros(WINDOW),
            words: zeros(WINDOW),
            views: [21, 22, 23, 24].map(|key| PolyMac::new(Block([key, 3]))),
        }
    }

    /// Derives the spent triples' factors of a part of the window into the first places of `a` and `b`.
    fn derive(&mut self, from: usize, count: usize, to: usize) {
        let at = &self.names[from..from + count];
        let second: Vec<_> = at.iter().map(|at| Position { stream: 2, ..*at }).collect();
        for (component, prg) in self.keys.iter().enumerate() {
            prg.gather(at, &mut self.a[component][to..to + count]);
            prg.gather(&second, &mut self.b[component][to..to + count]);
        }
    }

    /// Masks the factors of a part of the window, whose spent triples' factors are at `factors`.
    fn mask(&mut self, from: usize, count: usize, factors: usize) {
        let (part, spent) = (from..from + count, factors..factors + count);
        let operands = [(&self.x, &self.a), (&self.y, &self.b)];
        for (index, (operand, spent_factor)) in operands.into_iter().enumerate() {
            kernels::mask(
                &operand[0][part.clone()],
                &operand[1][part.clone()],
                &spent_factor[0][spent.clone()],
                &spent_factor[1][spent.clone()],
                &mut self.sent[index][part.clone()],
                &mut self.opened[index][part.clone()],
            );
        }
    }

    /// Checks the products of a part of the window, and adds to the views.
    fn check(&mut self, from: usize, count: usize, factors: usize) {
        let (part, spent) = (from..from + count, factors..factors + count);
        let [next, previous] = &mut self.words;
        let (next, previous) = (&mut next[part.clone()], &mut previous[part.clone()]);
        let operands = kernels::ProductCheck {
            z: self.z.each_ref().map(|component| &component[part.clone()]),
            a: self.a.each_ref().map(|component| &component[spent.clone()]),
            b: self.b.each_ref().map(|component| &component[spent.clone()]),
            c: self.c.each_ref().map(|component| &component[part.clone()]),
            rho: &self.opened[0][part.clone()],
            sigma: &self.opened[1][part.clone()],
            constant: [true, false],
        };
        kernels::check_product(&operands, next, previous);
        let [first, second, to_previous, to_next] = &mut self.views;
        for opened in [&self.opened[0][part.clone()], &self.opened[1][part]] {
            first.update(opened);
            second.update(opened);
        }
        to_previous.update(previous);
        to_next.update(next);
    }
}

/// Checking gates: what stays in the first-level cache, and what is kept or derived again.
fn check(c: &mut Criterion) {
    let mut group = c.benchmark_group("check");
    group.throughput(gates(WINDOW));
    let mut window = Check::new();
    let tiles = || (0..WINDOW).step_by(TILE);
    group.bench_function("tiles, factors derived twice", |b| {
        b.iter(|| {
            for from in tiles() {
                window.derive(from, TILE, 0);
                window.mask(from, TILE, 0);
            }
            for from in tiles() {
                window.derive(from, TILE, 0);
                window.check(from, TILE, 0);
            }
        });
    });
    group.bench_function("tiles, factors kept", |b| {
        b.iter(|| {
            for from in tiles() {
                window.derive(from, TILE, from);
                window.mask(from, TILE, from);
            }
            for from in tiles() {
                window.check(from, TILE, from);
            }
        });
    });
    group.bench_function("whole window, factors kept", |b| {
        b.iter(|| {
            window.derive(0, WINDOW, 0);
            window.mask(0, WINDOW, 0);
            window.check(0, WINDOW, 0);
        });
    });
    group.finish();
}

/// The local part of a multiplication: over words, compiled for each instruction set, and over blocks, for the oldest one.
fn multiply(c: &mut Criterion) {
    fn over_blocks(x: &Pair, y: &Pair, z: &mut [Block512]) {
        for (i, z) in z.iter_mut().enumerate() {
            *z ^= x[0][i] & y[0][i] ^ x[0][i] & y[1][i] ^ x[1][i] & y[0][i];
        }
    }
    let mut group = c.benchmark_group("multiply");
    let (x, y) = (random(1, TILE), random(2, TILE));
    let mut z = vec![Block512::ZERO; TILE];
    group.throughput(gates(TILE));
    group.bench_function("over words", |b| {
        b.iter(|| {
            let [x0, x1, y0, y1] = [&x[0], &x[1], &y[0], &y[1]].map(|component| as_words(component));
            kernels::multiply_into(black_box(x0), x1, y0, y1, as_words_mut(&mut z));
        });
    });
    group.bench_function("over blocks", |b| {
        b.iter(|| over_blocks(black_box(&x), &y, &mut z));
    });
    group.finish();
}

/// The order in which a partner array's products are read: in order, shuffled within subarrays that fit into caches (S&P
/// 2017, Section III-A), shuffled as a whole (Section II).
fn shuffle(c: &mut Criterion) {
    let mut group = c.benchmark_group("shuffle");
    group.throughput(gates(N));
    let products = random(1, N);
    let mut out = zeros(WINDOW);
    let mut sampler = Sampler::new(Block([9, 9]));
    let each = N / SUBARRAYS;
    let in_order: Vec<u32> = (0..N as u32).collect();
    let mut full = vec![0u32; N];
    sampler.permutation(&mut full);
    let mut subarrays = vec![0u32; SUBARRAYS];
    sampler.permutation(&mut subarrays);
    let mut two_levels = Vec::with_capacity(N);
    for subarray in subarrays {
        let mut within = vec![0u32; each];
        sampler.permutation(&mut within);
        two_levels.extend(within.iter().map(|index| subarray * each as u32 + index));
    }
    for (name, order) in [
        ("in order", in_order),
        ("in two levels", two_levels),
        ("as a whole", full),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                for window in order.chunks(WINDOW) {
                    for (out, products) in out.iter_mut().zip(&products) {
                        for (out, &index) in out.iter_mut().zip(window) {
                            *out = products[index as usize];
                        }
                    }
                    black_box(&mut out);
                }
            });
        });
    }
    group.finish();
}

/// Drawing triples on demand, each replaced at once (Protocol 3.9).
fn draws(c: &mut Criterion) {
    let mut group = c.benchmark_group("draws");
    group.throughput(gates(WINDOW));
    let mut sampler = Sampler::new(Block([4, 9]));
    let mut names: Vec<Position> = (0..N as u64).map(|index| Position { stream: 1, index }).collect();
    let mut together = vec![Block512::ZERO; 2 * N];
    let mut apart = zeros(N);
    let fresh = random(3, WINDOW);
    let fresh_names: Vec<_> = names[..WINDOW].to_vec();
    let (mut out_names, mut out) = (fresh_names.clone(), zeros(WINDOW));
    let mut draws = vec![0u32; WINDOW];
    group.bench_function("one array, prefetched", |b| {
        b.iter(|| {
            sampler.fill_below(N as u32, &mut draws);
            let [first, second] = &mut out;
            kernels::take_and_replace(
                (&mut names, &mut together),
                &draws,
                (&fresh_names, &fresh[0], &fresh[1]),
                (&mut out_names, first, second),
            );
        });
    });
    group.bench_function("three arrays", |b| {
        b.iter(|| {
            sampler.fill_below(N as u32, &mut draws);
            for (k, &draw) in draws.iter().enumerate() {
                let draw = draw as usize;
                out_names[k] = std::mem::replace(&mut names[draw], fresh_names[k]);
                for component in 0..2 {
                    out[component][k] = std::mem::replace(&mut apart[component][draw], fresh[component][k]);
                }
            }
        });
    });
    group.finish();
}

/// Comparing views: by gate, two opened values towards both peers and a word towards each.
fn views(c: &mut Criterion) {
    let mut group = c.benchmark_group("views");
    group.throughput(gates(TILE));
    let data = random(7, TILE);
    let mut macs = [1, 2, 3, 4].map(|key| PolyMac::new(Block([key, 8])));
    group.bench_function("mac", |b| {
        b.iter(|| {
            for mac in &mut macs[..2] {
                data.iter().for_each(|opened| mac.update(black_box(opened)));
            }
            macs[2].update(black_box(&data[0]));
            macs[3].update(black_box(&data[1]));
        });
    });
    // Opened values are the same towards both peers, so they are hashed once.
    let mut hashes = [(); 3].map(|()| Sha256::new());
    group.bench_function("sha256", |b| {
        b.iter(|| {
            data.iter()
                .for_each(|opened| hashes[0].update(as_bytes(black_box(opened))));
            hashes[1].update(as_bytes(black_box(&data[0])));
            hashes[2].update(as_bytes(black_box(&data[1])));
        });
    });
    group.finish();
}

/// What is written by hand for each instruction set, on a tile. The other kernels are compiled for each from one body: for
/// them, run the groups above with `CENOTE_SIMD`.
fn levels(c: &mut Criterion) {
    let mut group = c.benchmark_group("levels");
    group.throughput(gates(TILE));
    let mut z = vec![Block512::ZERO; TILE];
    for &level in Simd::supported() {
        let prg = Prg::with_simd(Block([1, 1]), level);
        let at = Position { stream: 1, index: 5 };
        group.bench_function(BenchmarkId::new("randomness", level), |b| {
            b.iter(|| prg.fill(black_box(at), &mut z));
        });
        let mut mac = PolyMac::with_simd(Block([2, 3]), level);
        group.bench_function(BenchmarkId::new("mac", level), |b| {
            b.iter(|| mac.update(black_box(&z)))
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = criterion();
    targets = check, multiply, shuffle, draws, views, levels
}
criterion_main!(benches);
