//! Draws of three records of 96 bytes from a pool, beside what the memory of this machine allows: random reads that are asked for ahead, and the same with writes.
//! `cargo bench -p cenote-pool`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cenote_pool::{Drawn, Pool};
use cenote_primitives::{Block, Sampler, prefer_huge_pages, prefetch};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use zeroize::Zeroizing;

type Record = [Block; 6];

/// Records of a draw.
const TOGETHER: usize = 3;
/// Draws that are measured at a time.
const DRAWS: usize = 1 << 16;
/// Draws whose records are asked for before the first of them is read.
const AHEAD: [usize; 3] = [8, 16, 32];

fn record(number: usize) -> Record {
    [Block([number as u64, 3]); 6]
}

/// Records that take the places of those drawn, in `room`.
fn fresh(mut room: Zeroizing<Vec<Record>>) -> Zeroizing<Vec<Record>> {
    room.extend((0..DRAWS * TOGETHER).map(record));
    room
}

/// The sum of a record's items, so that all of it is read.
fn read(sum: &mut Record, record: &Record) {
    sum.iter_mut().zip(record).for_each(|(sum, &item)| *sum ^= item);
}

fn draws(c: &mut Criterion) {
    let mut group = c.benchmark_group("draws");
    group
        .throughput(Throughput::Elements(DRAWS as u64))
        .sample_size(20);
    for size in [1usize << 19, 1 << 22] {
        let mut records: Vec<Record> = Vec::with_capacity(size);
        prefer_huge_pages(records.spare_capacity_mut());
        records.extend((0..size).map(record));
        let mut places = vec![0; DRAWS * TOGETHER];
        Sampler::new(Block([1, 2])).fill_below(size as u32, &mut places);
        for ahead in AHEAD {
            let far = ahead * TOGETHER;
            group.bench_function(BenchmarkId::new(format!("reads, {ahead} ahead"), size), |b| {
                b.iter(|| {
                    let mut sum = [Block::ZERO; 6];
                    for (at, &place) in places.iter().enumerate() {
                        if let Some(&next) = places.get(at + far) {
                            prefetch(&records, next as usize);
                        }
                        read(&mut sum, &records[place as usize]);
                    }
                    black_box(sum)
                });
            });
            let new = fresh(Zeroizing::default());
            group.bench_function(
                BenchmarkId::new(format!("reads and writes, {ahead} ahead"), size),
                |b| {
                    b.iter(|| {
                        let mut sum = [Block::ZERO; 6];
                        for (at, (&place, new)) in places.iter().zip(&*new).enumerate() {
                            if let Some(&next) = places.get(at + far) {
                                prefetch(&records, next as usize);
                            }
                            read(&mut sum, &records[place as usize]);
                            records[place as usize] = *new;
                        }
                        black_box(sum)
                    });
                },
            );
        }
        let mut pool: Pool<Record> = Pool::with_room([size, 1, TOGETHER], "a pool").expect("there is room");
        pool.refill(Zeroizing::new(records), (0..size as u32).collect(), Block([1, 1]));
        let mut coin = 0;
        group.bench_function(BenchmarkId::new("pool", size), |b| {
            b.iter_custom(|times| {
                let mut took = Duration::ZERO;
                for _ in 0..times {
                    coin += 1;
                    // What was used up is there again, as in a session.
                    let records = fresh(pool.room());
                    pool.refill(
                        records,
                        (0..(DRAWS * TOGETHER) as u32).collect(),
                        Block([coin, 7]),
                    );
                    let start = Instant::now();
                    let mut sum = [Block::ZERO; 6];
                    let each = |_: usize, drawn: Drawn<'_, Record>| {
                        drawn.records().for_each(|record| read(&mut sum, &record[0]));
                    };
                    pool.draw_each(DRAWS, each).expect("it was refilled");
                    black_box(sum);
                    took += start.elapsed();
                }
                took
            });
        });
    }
    group.finish();
}

criterion_group!(benches, draws);
criterion_main!(benches);
