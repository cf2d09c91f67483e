//! Set-up and generate, both parties on this machine: `cargo bench -p cenote-lego --bench generate [-- COPIES[xWORKERS]...]`.
//!
//! For each number of copies of AES-128 what they need: 6400 ANDs, 128 inputs of each party, 128 masks, 256 ports; over loopback
//! TCP, each party on threads of its own, freshly set up. Times are of the party that takes longer.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use cenote_lego::{Config, EvaluatorKeys, GarblerKeys, Order, Stock};
use cenote_net::{
    Channel, ChannelOptions, Label, Listen, MeshConfig, Meter, PartyId, PeerAddress, Transport, connect,
};
use cenote_session::Result;

/// What one copy needs.
const COPY: Order = Order {
    ands: 6400,
    garbler_inputs: 128,
    evaluator_inputs: 128,
    anchors: 0,
    masks: 128,
    ports: 256,
};

type Channels = Vec<Box<dyn Channel>>;

/// What one party measures: the times of set-up and generate, and the bytes that it sent in the latter.
type Measured = (Duration, Duration, u64);

fn main() -> Result<()> {
    let parse = |word: String| match word.split_once('x') {
        Some((copies, workers)) => Some((copies.parse().ok()?, workers.parse().ok()?)),
        None => Some((word.parse().ok()?, 1)),
    };
    let mut runs: Vec<(u64, usize)> = std::env::args().filter_map(parse).collect();
    if runs.is_empty() {
        runs = vec![(1, 1), (8, 1), (128, 1)];
    }
    println!("copies  workers  setup ms  generate ms  ms/copy  MB to evaluator  MB to garbler");
    for (copies, workers) in runs {
        let order = COPY.times(copies);
        let [a, b] = channels(workers);
        let evaluator = std::thread::Builder::new().name("evaluator".into());
        let evaluator = evaluator.spawn(move || evaluate(b, order)).expect("a thread");
        let (setup, generate, sent) = garble(a, order)?;
        let (evaluators_setup, evaluators_generate, received) = evaluator.join().expect("no panic")?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let generate = ms(generate.max(evaluators_generate));
        println!(
            "{copies:6}  {workers:7}  {:8.1}  {generate:11.1}  {:7.2}  {:15.2}  {:13.3}",
            ms(setup.max(evaluators_setup)),
            generate / copies as f64,
            sent as f64 / 1e6,
            received as f64 / 1e6,
        );
    }
    Ok(())
}

fn sent(channels: &Channels) -> u64 {
    let meters = channels.iter().map(|channel| channel.meter());
    meters.sum::<Meter>().payload_sent
}

fn garble(mut channels: Channels, order: Order) -> Result<Measured> {
    let mut config = Config::new("bench");
    let start = Instant::now();
    let mut keys = GarblerKeys::setup(&mut *channels[0], &mut config)?;
    let (setup, before) = (start.elapsed(), sent(&channels));
    let mut stock = Stock::default();
    let start = Instant::now();
    keys.generate(&mut channels, &mut config, &order, &mut |epoch| {
        stock.push(epoch);
        Ok(())
    })?;
    let measured = (setup, start.elapsed(), sent(&channels) - before);
    channels.iter_mut().try_for_each(|channel| channel.close())?;
    Ok(measured)
}

fn evaluate(mut channels: Channels, order: Order) -> Result<Measured> {
    let mut config = Config::new("bench");
    let start = Instant::now();
    let mut keys = EvaluatorKeys::setup(&mut *channels[0], &mut config)?;
    let (setup, before) = (start.elapsed(), sent(&channels));
    let mut stock = Stock::default();
    let start = Instant::now();
    keys.generate(&mut channels, &mut config, &order, &mut |epoch| {
        stock.push(epoch);
        Ok(())
    })?;
    let measured = (setup, start.elapsed(), sent(&channels) - before);
    channels.iter_mut().try_for_each(|channel| channel.close())?;
    Ok(measured)
}

/// Connections over loopback TCP: the garbler's ends, the evaluator's.
fn channels(workers: usize) -> [Channels; 2] {
    let labels: Vec<Label> = (0..workers)
        .map(|worker| Label::new(format!("worker {worker}")))
        .collect();
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let parties: Vec<PeerAddress> = listeners
        .iter()
        .map(|listener| PeerAddress {
            address: listener.local_addr().expect("a bound address").to_string(),
            fingerprint: None,
            relayed: false,
        })
        .collect();
    let mut me = 0;
    let threads = listeners.map(|listener| {
        let config = MeshConfig {
            me: PartyId(me),
            parties: parties.clone(),
            listen: Listen::Bound(listener),
            transport: Transport::Plain,
            session: "bench".into(),
            connect_timeout: Duration::from_secs(10),
            options: ChannelOptions::default(),
        };
        me += 1;
        let labels = labels.clone();
        std::thread::spawn(move || connect(config, &labels).expect("the parties meet"))
    });
    let mut peer = 2;
    threads.map(|thread| {
        peer -= 1;
        let mut mesh = thread.join().expect("no panic");
        labels
            .iter()
            .map(|label| mesh.take(PartyId(peer), label).expect("a channel"))
            .collect()
    })
}
