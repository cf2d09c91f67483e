//! Programs in Rust between parties that have a party file each.

use std::net::TcpListener;
use std::time::Duration;

use cenote::programs::{Run, Session, apps};
use cenote::{Error, Identity, OnWait, PartyConfig, PartyId, Peer, Protocol};

/// Party files of so many parties on this machine, and the folder with their identities.
fn parties(count: u8) -> (tempfile::TempDir, Vec<PartyConfig>) {
    let folder = tempfile::tempdir().unwrap();
    let ports: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind((cenote_testkit::own_host(), 0)).unwrap())
        .collect();
    let addresses: Vec<String> = ports
        .iter()
        .map(|port| port.local_addr().unwrap().to_string())
        .collect();
    let identities: Vec<Identity> = (0..count).map(|_| Identity::generate().unwrap()).collect();
    let config = |me: u8| {
        let identity = folder.path().join(format!("{me}.pem"));
        identities[usize::from(me)].save(&identity).unwrap();
        let peer = |party: u8| Peer {
            party: PartyId(party),
            address: Some(addresses[usize::from(party)].clone()),
            fingerprint: identities[usize::from(party)].fingerprint(),
        };
        PartyConfig {
            me: PartyId(me),
            identity,
            listen: Some(addresses[usize::from(me)].clone()),
            peers: (0..count).filter(|&party| party != me).map(peer).collect(),
            timeout: Duration::from_secs(20),
            connect_timeout: Duration::from_secs(20),
            phase_timeout: None,
            memory: None,
            stock: None,
            policy: None,
            shards: "".into(),
            shards_store: None,
            scratch: std::env::temp_dir(),
            service: None,
            on_wait: OnWait::default(),
        }
    };
    let configs = (0..count).map(config).collect();
    (folder, configs)
}

/// Runs `program` at all parties; `names` is what each calls it.
fn run<T: Send>(
    protocol: &str,
    names: &[&str],
    program: impl Fn(&Session) -> cenote::programs::Result<T> + Sync,
) -> Vec<cenote::Result<T>> {
    let protocol = Protocol::named(protocol).unwrap();
    let (_folder, configs) = parties(protocol.parties());
    std::thread::scope(|scope| {
        let threads: Vec<_> = configs
            .iter()
            .zip(names)
            .map(|(config, &name)| {
                let (program, protocol) = (&program, protocol.clone());
                let run = Run {
                    protocol,
                    name,
                    and_gates: 10_000,
                };
                scope.spawn(move || run.between(config, program))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn the_same_program_runs_with_two_and_with_three() {
    for (protocol, count) in [("lego", 2), ("jimu", 2), ("authenticated", 2), ("three", 3)] {
        let found = run(protocol, &["edits"; 3][..count], |session| {
            let [x, y] = [(0, b"kitten"), (1, b"sitten")].map(|(owner, word)| {
                let owner = PartyId(owner);
                session.input(owner, 6, (session.me() == owner).then_some(&word[..]))
            });
            let distance = apps::edit_distance(&x, &y)?;
            Ok(session.open(&distance)?[0])
        });
        for result in found {
            assert_eq!(result.unwrap(), 1, "{protocol}");
        }
    }
}

#[test]
fn different_programs_are_refused_by_name() {
    let refused = run("lego", &["sum", "difference"], |_| Ok(()));
    for result in refused {
        let error = result.unwrap_err().to_string();
        assert!(
            error.contains("sum") && error.contains("difference") && error.contains("program"),
            "{error}"
        );
    }
}

#[test]
fn misuse_is_told_with_its_place() {
    let told = run("lego", &["misuse"; 2], |session| {
        let (x, y) = (session.public_row(&[1u8, 2]), session.public_row(&[1u8, 2, 3]));
        session.open(&(x + y))
    });
    for result in told {
        match result {
            Err(Error::Usage(text)) => {
                assert!(
                    text.contains("programs.rs") && text.contains("a row of 2 secrets meets a row of 3"),
                    "{text}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}
