//! Authenticated bits of both sides, each of which has a thread: by SoftSpoken, and by the generator of millions.
//! `cargo bench -p cenote-ot`.

use std::time::{Duration, Instant};

use cenote_net::{Channel, ChannelOptions, PartyId, memory_pair};
use cenote_ot::mutual::Mutual;
use cenote_ot::pcg::{Pcg, Shape};
use cenote_primitives::{Block, Entropy};
use cenote_session::Result;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// The larger set of `cenote-params`.
const LARGE: Shape = Shape {
    secret: 15,
    block: 8,
    blocks: 2048,
};

/// Bits of a call: what a lot of 2^14 leaky ANDs and the masks of its triples take. An iteration makes those of some 9 calls.
const BITS: usize = 54_613;

/// Calls that are measured at once.
const CALLS: u64 = 64;

/// Symbols of a difference, in SoftSpoken.
const SYMBOLS: u32 = 24;

enum Side {
    Extension(Mutual),
    Generator(Box<Pcg>),
}

impl Side {
    fn new(channel: &mut dyn Channel, first: bool, generator: bool) -> Result<Self> {
        let mut entropy = Entropy::os();
        let mutual = Mutual::new(channel, &mut entropy, b"bench", first, SYMBOLS)?;
        Ok(match generator {
            true => Side::Generator(Box::new(Pcg::new(mutual, &mut entropy, LARGE, Block([1, 2])))),
            false => Side::Extension(mutual),
        })
    }

    fn extend(&mut self, channel: &mut dyn Channel, macs: &mut [Block], keys: &mut [Block]) -> Result<()> {
        match self {
            Side::Extension(mutual) => mutual.extend(channel, macs, keys),
            Side::Generator(pcg) => pcg.extend(channel, macs, keys),
        }
    }
}

/// How long so many times [`CALLS`] calls take, when one has been made.
fn calls(times: u64, generator: bool) -> Duration {
    let options = ChannelOptions::with_timeout(Duration::from_secs(60));
    let (mut first, mut second) = memory_pair(PartyId(0), PartyId(1), options);
    let side = |channel: &mut dyn Channel, first| {
        let mut side = Side::new(channel, first, generator).expect("a set-up");
        let [mut macs, mut keys] = [(); 2].map(|()| vec![Block::ZERO; BITS]);
        side.extend(channel, &mut macs, &mut keys).expect("bits");
        let start = Instant::now();
        for _ in 0..times * CALLS {
            side.extend(channel, &mut macs, &mut keys).expect("bits");
        }
        start.elapsed()
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| side(&mut first, true));
        let took = side(&mut second, false);
        took.max(other.join().expect("the other side"))
    })
}

fn authenticated_bits(c: &mut Criterion) {
    let mut group = c.benchmark_group("authenticated bits");
    group
        .throughput(Throughput::Elements(BITS as u64 * CALLS))
        .sample_size(10);
    for (name, generator) in [("softspoken", false), ("generator", true)] {
        group.bench_function(name, |b| b.iter_custom(|times| calls(times, generator)));
    }
    group.finish();
}

criterion_group!(benches, authenticated_bits);
criterion_main!(benches);
