//! Set-up and generate, both parties on this machine: `cargo bench -p cenote-two --bench generate [-- COPIES...]`.
//!
//! For each number of copies of AES-128 what they need: 6400 ANDs, 128 inputs of each party, 128 masks, 256 ports; over loopback
//! TCP, each party on a thread of its own, freshly set up.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use cenote_engine::Result;
use cenote_net::{
    Channel, ChannelOptions, Label, Listen, MeshConfig, PartyId, PeerAddress, Transport, connect,
};
use cenote_two::lego::{Config, EvaluatorKeys, GarblerKeys, Order};

/// What one copy needs.
const COPY: Order = Order {
    ands: 6400,
    garbler_inputs: 128,
    evaluator_inputs: 128,
    anchors: 0,
    masks: 128,
    ports: 256,
};

fn main() -> Result<()> {
    let mut copies: Vec<u64> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    if copies.is_empty() {
        copies = vec![1, 8, 128];
    }
    println!("copies  setup ms  generate ms  ms/copy  MB to evaluator  MB to garbler");
    for copies in copies {
        let order = COPY.times(copies);
        let [a, b] = channels();
        let evaluator = std::thread::Builder::new().name("evaluator".into());
        let evaluator = evaluator.spawn(move || evaluate(b, order)).expect("a thread");
        let (setup, generate, sent, received) = garble(a, order)?;
        evaluator.join().expect("no panic")?;
        let (ms, mb) = (
            |time: Duration| time.as_secs_f64() * 1e3,
            |bytes: u64| bytes as f64 / 1e6,
        );
        println!(
            "{copies:6}  {:8.1}  {:11.1}  {:7.2}  {:15.2}  {:13.3}",
            ms(setup),
            ms(generate),
            ms(generate) / copies as f64,
            mb(sent),
            mb(received),
        );
    }
    Ok(())
}

fn garble(mut channel: Box<dyn Channel>, order: Order) -> Result<(Duration, Duration, u64, u64)> {
    let mut config = Config::new("bench");
    let start = Instant::now();
    let mut keys = GarblerKeys::setup(&mut *channel, &mut config)?;
    let setup = start.elapsed();
    let before = channel.meter();
    let mut stock = keys.stock();
    let start = Instant::now();
    keys.generate(
        std::slice::from_mut(&mut channel),
        &mut config,
        &order,
        &mut |epoch| {
            stock.push(epoch);
            Ok(())
        },
    )?;
    let generate = start.elapsed();
    let after = channel.meter();
    channel.close()?;
    let sent = after.payload_sent - before.payload_sent;
    Ok((
        setup,
        generate,
        sent,
        after.payload_received - before.payload_received,
    ))
}

fn evaluate(mut channel: Box<dyn Channel>, order: Order) -> Result<()> {
    let mut config = Config::new("bench");
    let mut keys = EvaluatorKeys::setup(&mut *channel, &mut config)?;
    let mut stock = keys.stock();
    let start = Instant::now();
    keys.generate(
        std::slice::from_mut(&mut channel),
        &mut config,
        &order,
        &mut |epoch| {
            stock.push(epoch);
            Ok(())
        },
    )?;
    println!("        evaluator: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    channel.close()?;
    Ok(())
}

/// A connection over loopback TCP: the garbler's end, the evaluator's.
fn channels() -> [Box<dyn Channel>; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let parties: Vec<PeerAddress> = listeners
        .iter()
        .map(|listener| PeerAddress {
            address: listener.local_addr().expect("a bound address").to_string(),
            fingerprint: None,
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
        std::thread::spawn(move || connect(config, &[Label::from("main")]).expect("the parties meet"))
    });
    let mut peer = 2;
    threads.map(|thread| {
        peer -= 1;
        let mut mesh = thread.join().expect("no panic");
        mesh.take(PartyId(peer), &Label::from("main")).expect("a channel")
    })
}
