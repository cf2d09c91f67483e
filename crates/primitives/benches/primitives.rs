//! Throughput of the generator, the MAC, the samplers, the transpose and Reed–Solomon codes on every level that this CPU has:
//! `cargo bench -p cenote-primitives`.

use std::hint::black_box;
use std::time::Duration;

use cenote_primitives::kernels::rows_to_columns;
use cenote_primitives::kernels::{rows_to_vectors, vectors_to_rows};
use cenote_primitives::reed_solomon::ReedSolomon;
use cenote_primitives::sumcheck::{
    self, Fold, GridSums, QUARTER, TileMut, add_grid, add_quarter_grid, fold_quarters, quarters, weigh,
};
use cenote_primitives::{
    BitMatrix, Block, Block512, LaneRun, PolyMac, Position, Prg, Sampler, Simd, pack_bits, transpose64,
    unpack_bits,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const KEY: Block = Block([1, 2]);
/// 4 KiB, 64 KiB and 1 MiB.
const SIZES: [usize; 3] = [64, 1024, 16384];

fn prg(c: &mut Criterion) {
    let mut group = c.benchmark_group("prg");
    for &simd in Simd::supported() {
        let prg = Prg::with_simd(KEY, simd);
        for size in SIZES {
            let mut out = vec![Block512::ZERO; size];
            let mut sampler = Sampler::new(KEY);
            let places: Vec<Position> = (0..size)
                .map(|_| Position {
                    stream: u64::from(sampler.below(8)),
                    index: u64::from(sampler.next_u32()),
                })
                .collect();
            let at = Position {
                stream: 3,
                index: 12345,
            };
            group.throughput(Throughput::Bytes(64 * size as u64));
            let kib = format!("{simd}/{}KiB", size / 16);
            group.bench_function(BenchmarkId::new("fill", &kib), |b| {
                b.iter(|| prg.fill(black_box(at), &mut out))
            });
            group.bench_function(BenchmarkId::new("xor", &kib), |b| {
                b.iter(|| prg.xor_into(black_box(at), &mut out))
            });
            group.bench_function(BenchmarkId::new("gather", &kib), |b| {
                b.iter(|| prg.gather(black_box(&places), &mut out));
            });
        }
    }
}

/// What a proof of 2^23 gates takes, in gates: all passes of a prover, of whom there are three for one and each of whom verifies two proofs.
fn sumcheck(c: &mut Criterion) {
    const GATES: usize = 1 << 23;
    let mut group = c.benchmark_group("sumcheck");
    group.throughput(Throughput::Elements(GATES as u64));
    let operands: [Vec<Block512>; 4] = [3, 5, 6, 9].map(|seed| {
        let mut rows = vec![Block512::ZERO; GATES / 512];
        let at = Position {
            stream: seed,
            index: 0,
        };
        Prg::new(KEY).fill(at, &mut rows);
        rows
    });
    let operands = operands.each_ref().map(Vec::as_slice);
    for variables in [5, 6, 7, 8] {
        let rows = 1 << variables;
        let weights = &operands[0][..GATES / 512 / rows];
        let mut sums = GridSums::new(variables);
        group.bench_function(BenchmarkId::new("grid", rows), |b| {
            b.iter(|| add_grid(black_box(operands), weights, &mut sums));
        });
        let fold = Fold::new(sumcheck::fold_weights(&vec![KEY; variables as usize]));
        let mut elements = [(); 4].map(|()| vec![Block::ZERO; GATES / rows]);
        group.bench_function(BenchmarkId::new("fold all four", rows), |b| {
            b.iter(|| {
                for (operand, elements) in operands.iter().zip(&mut elements) {
                    for (rows, elements) in operand.chunks_exact(rows).zip(elements.chunks_exact_mut(512)) {
                        fold.apply(black_box(rows), tile(elements));
                    }
                }
            });
        });
        let [u, v, ..] = &mut elements;
        group.bench_function(BenchmarkId::new("weigh one of four", rows), |b| {
            b.iter(|| {
                for (elements, weights) in u.chunks_exact_mut(512).zip(weights) {
                    weigh(tile(black_box(elements)), weights);
                }
            });
        });
        let mut sums = [Block::ZERO; sumcheck::QUARTER_POINTS];
        group.bench_function(BenchmarkId::new("half of a message", rows), |b| {
            b.iter(|| add_quarter_grid(quarters(black_box(u)), quarters(v), &mut sums));
        });
        group.bench_function(BenchmarkId::new("fold quarters of one of four", rows), |b| {
            b.iter(|| fold_quarters(black_box(u), &[KEY; 4]));
        });
    }
}

/// The quarters of a tile's elements.
fn tile(elements: &mut [Block]) -> TileMut<'_> {
    let (quarters, _) = elements.as_chunks_mut::<QUARTER>();
    let quarters: &mut [_; 4] = quarters.try_into().expect("four quarters");
    quarters.each_mut()
}

fn mac(c: &mut Criterion) {
    let mut group = c.benchmark_group("mac");
    for &simd in Simd::supported() {
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("key", simd), |b| {
            b.iter(|| PolyMac::with_simd(black_box(KEY), simd))
        });
        let mut mac = PolyMac::with_simd(KEY, simd);
        for size in [1, 64, 1024, 16384] {
            let data = vec![Block512([5; 8]); size];
            group.throughput(Throughput::Bytes(64 * size as u64));
            group.bench_function(
                BenchmarkId::new("update", format!("{simd}/{}B", 64 * size)),
                |b| {
                    b.iter(|| mac.update(black_box(&data)));
                },
            );
        }
        black_box(mac.finish());
    }
}

fn sample(c: &mut Criterion) {
    let mut group = c.benchmark_group("sample");
    let mut sampler = Sampler::new(KEY);
    let mut items = vec![0u32; 4096];
    group.throughput(Throughput::Elements(4096));
    group.bench_function("shuffle 4096 u32", |b| {
        b.iter(|| sampler.shuffle(black_box(&mut items)))
    });
    let mut small = vec![0u16; 512];
    group.throughput(Throughput::Elements(512));
    group.bench_function("permutation 512 u16", |b| {
        b.iter(|| sampler.permutation(black_box(&mut small)))
    });
    group.throughput(Throughput::Elements(4096));
    group.bench_function("fill_below 1000", |b| {
        b.iter(|| sampler.fill_below(black_box(1000), &mut items))
    });
}

fn bits(c: &mut Criterion) {
    let mut group = c.benchmark_group("bits");
    let mut tile = [7; 64];
    group.throughput(Throughput::Bytes(512));
    group.bench_function("transpose64", |b| b.iter(|| transpose64(black_box(&mut tile))));
    let matrix = BitMatrix::from_fn(1024, 16384, |row, lane| row * lane % 3 == 0);
    group.throughput(Throughput::Bytes(1024 * 16384 / 8));
    group.bench_function("transpose 1024 × 16384", |b| {
        b.iter(|| black_box(&matrix).transpose())
    });
    let rows = vec![Block512([0x1234_5678_9abc_def1; 8]); 128];
    let mut columns = vec![[0; 2]; 512];
    group.throughput(Throughput::Bytes(8192));
    group.bench_function("128 rows to columns", |b| {
        b.iter(|| rows_to_columns::<2>(black_box(&rows), &mut columns));
    });
    let row = vec![0x1234_5678_9abc_def1u64; 512];
    for at in [64, 13] {
        let mut buffer = vec![0; 514];
        let mut back = vec![0; 512];
        group.throughput(Throughput::Bytes(4096));
        group.bench_function(format!("pack 4 KiB at {at}"), |b| {
            b.iter(|| pack_bits(&mut buffer, at, black_box(&row), 512 * 64 - 5));
        });
        group.bench_function(format!("unpack 4 KiB at {at}"), |b| {
            b.iter(|| unpack_bits(&mut back, black_box(&buffer), at, 512 * 64 - 5));
        });
    }
}

/// 2^18 lanes of 84 bits in random order, and in the order of a sort's step: runs of one to three lanes.
fn lanes(c: &mut Criterion) {
    const LANES: usize = 1 << 18;
    let mut group = c.benchmark_group("lanes");
    group.throughput(Throughput::Elements(LANES as u64));
    let matrix = BitMatrix::from_fn(84, LANES, |row, lane| row * lane % 3 == 0);
    let mut sampler = Sampler::new(KEY);
    let mut places = vec![0u32; LANES];
    sampler.permutation(&mut places);
    let single = places.iter().map(|&place| LaneRun::new(0, place, 1));
    let mut at = 0;
    let mut short = Vec::new();
    while at < LANES as u32 {
        let len = (1 + sampler.below(3)).min(LANES as u32 - at);
        short.push(LaneRun::new(0, at, len));
        at += len;
    }
    sampler.shuffle(&mut short);
    for (name, runs) in [("one by one", single.collect()), ("short runs", short)] {
        group.bench_function(name, |b| {
            b.iter(|| BitMatrix::arrange(&[black_box(&matrix)], &runs))
        });
    }
}

/// 64 labels of 48 symbols in a code of length 88, of which 32 symbols are watched.
fn symbols(c: &mut Criterion) {
    let mut group = c.benchmark_group("symbols");
    group.throughput(Throughput::Elements(64));
    let code = ReedSolomon::new(88, 48);
    let watched: Vec<usize> = (0..32).map(|i| 2 * i + 20).collect();
    let rows = vec![Block512([3; 8]); 48];
    for (name, map) in [("parity", code.parity()), ("watched", code.symbols(&watched))] {
        let mut out = vec![Block512::ZERO; map.outputs()];
        for &simd in Simd::supported() {
            group.bench_function(BenchmarkId::new(name, simd), |b| {
                b.iter(|| map.add_on(simd, black_box(&rows), &mut out));
            });
        }
    }
    let (mut rows, mut vectors) = (rows, vec![Block::ZERO; 64 * 3]);
    group.bench_function("vectors to rows", |b| {
        b.iter(|| vectors_to_rows(black_box(&vectors), &mut rows))
    });
    group.bench_function("rows to vectors", |b| {
        b.iter(|| rows_to_vectors(black_box(&rows), &mut vectors))
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(300));
    targets = prg, mac, sumcheck, sample, bits, lanes, symbols
}
criterion_main!(benches);
