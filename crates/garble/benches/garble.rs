//! Garbling, authenticators and buckets: `cargo bench -p cenote-garble --bench garble [-- FILTER]`.
//!
//! What is evaluated out of cache is 250 MB of buckets, read once per round, as an evaluator of many copies does.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cenote_garble::{self as garble, Authenticator, Base, Buckets, GateTable};
use cenote_primitives::{Block, Block512, Simd};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Gates per call: they stay in the second-level cache.
const GATES: usize = 4096;
const AND_GATES_OF_AES: usize = 6400;

const START: Block = Block([3, 4]);

fn base(number: u64) -> Base {
    Base { start: START, number }
}

fn noise(len: usize, seed: u64) -> Vec<Block> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        state ^ state >> 33
    };
    (0..len).map(|_| Block([next(), next()])).collect()
}

/// `len` buckets of noise: they never agree, and take as long as those that do.
fn buckets(beta: usize, len: usize) -> Buckets {
    let mut buckets = Buckets::new(beta, base(1 << 40), len);
    let mut writer = buckets.writer();
    for bucket in 0..len {
        let blocks = noise(5 * beta, bucket as u64);
        for (gate, row) in blocks.chunks_exact(5).enumerate() {
            let number = (1 << 40) + (bucket * 7919 + gate * len) as u64 % (1 << 32);
            let table = GateTable {
                garbler: row[0],
                evaluator: row[1],
            };
            writer.set_gate(bucket, gate, number, &table);
            if gate > 0 {
                writer.set_soldering(bucket, gate, row[2], row[3], row[4]);
            }
        }
    }
    buckets
}

fn gates(c: &mut Criterion) {
    let mut group = c.benchmark_group("gates");
    group.throughput(Throughput::Elements(GATES as u64));
    let (left, right) = (noise(GATES, 1), noise(GATES, 2));
    let delta = Block([1, 7]);
    let mut tables = vec![GateTable::default(); GATES];
    let mut outputs = vec![Block::ZERO; GATES];
    let mut authenticators = vec![Authenticator::default(); GATES];
    let numbers: Vec<u64> = (0..GATES as u64).collect();
    let mut accepted = vec![false; GATES];
    group.bench_function("garble", |b| {
        b.iter(|| {
            garble::garble(
                delta,
                base(5),
                black_box(&left),
                &right,
                &mut tables,
                &mut outputs,
            )
        });
    });
    group.bench_function("evaluate", |b| {
        b.iter(|| garble::evaluate(START, &numbers, black_box(&left), &right, &tables, &mut outputs));
    });
    group.bench_function("authenticate", |b| {
        b.iter(|| garble::authenticate(delta, base(5), black_box(&left), &mut authenticators));
    });
    group.bench_function("accepts_each", |b| {
        b.iter(|| garble::accepts_each(START, &numbers, &authenticators, black_box(&left), &mut accepted));
    });
    group.finish();
}

fn wide(c: &mut Criterion) {
    let mut group = c.benchmark_group("wide gates");
    const GATES: usize = 1024;
    group.throughput(Throughput::Elements(GATES as u64));
    let numbers: Vec<u64> = (0..GATES as u64).collect();
    for blocks in [2, 3, 4, 5, 8] {
        let start = garble::wide::Start {
            key: START,
            map: noise(blocks, 3),
        };
        let (left, right) = (noise(GATES * blocks, 1), noise(GATES * blocks, 2));
        let mut delta = noise(blocks, 4);
        delta[0].0[0] |= 1;
        let mut tables = vec![Block::ZERO; 2 * GATES * blocks];
        let mut outputs = vec![Block::ZERO; GATES * blocks];
        group.bench_function(BenchmarkId::new("garble", blocks), |b| {
            b.iter(|| {
                garble::wide::garble(
                    &start,
                    &delta,
                    5,
                    black_box(&left),
                    &right,
                    &mut tables,
                    &mut outputs,
                )
            });
        });
        group.bench_function(BenchmarkId::new("evaluate", blocks), |b| {
            b.iter(|| {
                garble::wide::evaluate(&start, &numbers, black_box(&left), &right, &tables, &mut outputs)
            });
        });
    }
    group.finish();
}

fn in_cache(c: &mut Criterion) {
    let mut group = c.benchmark_group("buckets in cache");
    for beta in [2, 3, 4, 5, 6, 7, 9, 15] {
        let count = 2048 / beta;
        let buckets = buckets(beta, count);
        let (left, right, mut outputs) = (noise(count, 1), noise(count, 2), vec![Block::ZERO; count]);
        group.throughput(Throughput::Elements(count as u64));
        for &simd in Simd::supported() {
            group.bench_function(BenchmarkId::new(simd.to_string(), beta), |b| {
                b.iter(|| buckets.evaluate_on(simd, 0, black_box(&left), &right, &mut outputs));
            });
        }
    }
    // Levels of few gates: what one call takes.
    let buckets = buckets(4, 1024);
    let (left, right, mut outputs) = (noise(1024, 1), noise(1024, 2), vec![Block::ZERO; 1024]);
    for count in [1, 4, 100] {
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("level of 4 gates each", count), |b| {
            b.iter(|| {
                buckets.evaluate(
                    3,
                    black_box(&left[..count]),
                    &right[..count],
                    &mut outputs[..count],
                )
            });
        });
    }
    group.finish();
}

/// Evaluates `copies` AES circuits' worth of buckets, level by level as one would, on `threads` threads.
fn aes(buckets: &Buckets, copies: usize, threads: usize) -> Duration {
    let (levels, width) = (64, AND_GATES_OF_AES / 64 * copies);
    let part = width.div_ceil(threads).next_multiple_of(4);
    let (left, right) = (noise(width, 1), noise(width, 2));
    let mut outputs = vec![Block::ZERO; width];
    let work = |k: usize, left: &[Block], right: &[Block], outputs: &mut [Block]| {
        for level in 0..levels {
            black_box(buckets.evaluate(level * width + k * part, left, right, outputs));
        }
    };
    let parts = left
        .chunks(part)
        .zip(right.chunks(part))
        .zip(outputs.chunks_mut(part))
        .enumerate();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (k, ((left, right), outputs)) in parts {
            match k + 1 < threads {
                true => drop(scope.spawn(move || work(k, left, right, outputs))),
                false => work(k, left, right, outputs),
            }
        }
    });
    start.elapsed()
}

fn out_of_cache(c: &mut Criterion) {
    let mut group = c.benchmark_group("buckets out of cache");
    group.sample_size(20);
    {
        let copies = 128;
        let count = copies * AND_GATES_OF_AES;
        let buckets = buckets(4, count);
        group.throughput(Throughput::Elements(count as u64));
        for threads in [1, 2] {
            group.bench_function(format!("128 AES of 4 gates, {threads} threads"), |b| {
                b.iter_custom(|rounds| (0..rounds).map(|_| aes(&buckets, copies, threads)).sum());
            });
        }
    }
    let buckets = buckets(7, AND_GATES_OF_AES);
    let wipe = vec![Block512::ZERO; 1 << 20];
    group.throughput(Throughput::Elements(AND_GATES_OF_AES as u64));
    group.bench_function("1 AES of 7 gates, 1 thread", |b| {
        b.iter_custom(|rounds| {
            let cold = |_| {
                black_box(wipe.iter().fold(Block512::ZERO, |sum, block| sum ^ *block));
                aes(&buckets, 1, 1)
            };
            (0..rounds).map(cold).sum()
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(300));
    targets = gates, wide, in_cache, out_of_cache
}
criterion_main!(benches);
