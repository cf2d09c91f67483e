//! Meetings over sockets of this machine.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use cenote::PartyConfig;

use super::code::{Nonce, code, commitment, nonce};
use super::inviter::greet;
use super::met::conclude;
use super::words::{AllShown, Answer, Told, say};
use super::*;
use crate::founding::{Founding, Member};

const PATIENCE: Duration = Duration::from_secs(60);

fn inviter(folder: &std::path::Path, parties: u8) -> Inviter {
    let founding = Founding {
        name: "first".into(),
        party: 0,
        parties,
    };
    founding.make(folder).expect("made");
    Inviter::new(folder, "127.0.0.1:0").expect("listens")
}

#[test]
fn parties_that_meet_have_one_code_and_files_that_fit() {
    for parties in [2u8, 3] {
        let place = tempfile::tempdir().expect("a folder");
        let folder = |party: u8| place.path().join(party.to_string());
        let inviter = inviter(&folder(0), parties);
        let invitations = inviter.invitations().to_vec();
        let first = std::thread::spawn(move || inviter.wait(PATIENCE, |_| ()));
        let others: Vec<_> = invitations
            .into_iter()
            .map(|invitation| {
                let folder = folder(invitation.party);
                let again: Invitation = invitation.text().parse().expect("an invitation");
                assert_eq!(again, invitation);
                std::thread::spawn(move || {
                    let name = format!("other {}", again.party);
                    let address = format!("127.0.0.1:{}", 7200 + u16::from(again.party));
                    join(&again, &folder, &name, Some(&address))
                })
            })
            .collect();
        let mut met = vec![first.join().expect("no panic").expect("met")];
        met.extend(
            others
                .into_iter()
                .map(|other| other.join().expect("no panic").expect("met")),
        );
        let codes: Vec<&str> = met.iter().map(|met| met.code.as_str()).collect();
        assert!(
            codes.iter().all(|code| *code == codes[0] && code.len() == 14),
            "{codes:?}"
        );
        let configs: Vec<PartyConfig> = met
            .iter()
            .map(|met| PartyConfig::load(&met.file).expect("a party file"))
            .collect();
        for config in &configs {
            assert_eq!(config.peers.len(), usize::from(parties) - 1);
            for peer in &config.peers {
                let theirs = &configs[usize::from(peer.party.0)];
                let key = cenote::remote::load_identity(&theirs.identity).expect("a key");
                assert_eq!(key.fingerprint(), peer.fingerprint);
            }
        }
    }
}

#[test]
fn strangers_and_used_invitations_are_refused_and_hold_nobody_up() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = |name: &str| place.path().join(name);
    let inviter = inviter(&folder("0"), 2);
    let invitation = inviter.invitations()[0].clone();
    let first = std::thread::spawn(move || inviter.wait(PATIENCE, |_| ()));
    // Somebody who says nothing, and leaves.
    drop(std::net::TcpStream::connect(&invitation.address).expect("connects"));
    let wrong = Invitation {
        secret: [0; 16],
        ..invitation.clone()
    };
    let refused = join(&wrong, &folder("wrong"), "wrong", None)
        .expect_err("refused")
        .to_string();
    assert!(refused.contains("not one of this meeting"), "{refused}");
    let same = join(&invitation, &folder("same"), "first", None)
        .expect_err("refused")
        .to_string();
    assert!(same.contains("another party has this name"), "{same}");
    // One whose invitation was changed speaks to nobody else than the key that it names.
    let stranger = Invitation {
        fingerprint: cenote::Identity::generate().expect("a key").fingerprint(),
        ..invitation.clone()
    };
    join(&stranger, &folder("stranger"), "stranger", None).expect_err("another key");
    join(&invitation, &folder("1"), "second", None).expect("joins");
    first.join().expect("no panic").expect("met");
    join(&invitation, &folder("again"), "again", None).expect_err("nobody waits any more");

    for text in [
        "",
        "cenote-invitation-2.",
        "cenote-invitation-2.7b7d",
        &invitation.text()[1..],
    ] {
        assert!(text.parse::<Invitation>().is_err(), "{text}");
    }
    assert!(!format!("{invitation:?}").contains(&hex::encode(invitation.secret)));
}

/// Sends the beginning of a long record, and then a byte from time to time, as long as somebody listens.
fn trickle(address: &str) -> std::thread::JoinHandle<()> {
    let mut stream = TcpStream::connect(address).expect("connects");
    std::thread::spawn(move || {
        let mut bytes = [22, 3, 1, 64, 0].into_iter().chain(std::iter::repeat(0));
        while bytes.next().is_some_and(|byte| stream.write_all(&[byte]).is_ok()) {
            std::thread::sleep(Duration::from_millis(20));
        }
    })
}

#[test]
fn those_who_trickle_keep_nobody_out_and_are_shut_out_themselves() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = |name: &str| place.path().join(name);
    let first = inviter(&folder("0"), 2);
    let invitation = first.invitations()[0].clone();
    let strangers: Vec<_> = (0..5).map(|_| trickle(&invitation.address)).collect();
    let (tell, met) = std::sync::mpsc::channel();
    std::thread::spawn({
        let tell = tell.clone();
        move || tell.send(first.wait(PATIENCE, |_| ()))
    });
    let joins = folder("1");
    std::thread::spawn(move || tell.send(join(&invitation, &joins, "second", None)));
    for _ in 0..2 {
        let met = met.recv_timeout(PATIENCE).expect("strangers keep it up");
        met.expect("met");
    }
    for stranger in strangers {
        stranger.join().expect("no panic");
    }
    // The time of a meeting is kept, too.
    let first = inviter(&folder("alone"), 2);
    let stranger = trickle(&first.invitations()[0].address);
    let (tell, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(first.wait(Duration::from_secs(1), |_| ())));
    let ended = ended.recv_timeout(PATIENCE).expect("strangers keep it up");
    let error = ended.expect_err("nobody came").to_string();
    assert!(error.contains("not all parties have joined"), "{error}");
    stranger.join().expect("no panic");
}

#[test]
fn an_inviter_that_tells_of_others_than_have_met_is_not_believed() {
    let place = tempfile::tempdir().expect("a folder");
    let identity = cenote::Identity::generate().expect("a key");
    let config = cenote_net::https_server(&identity).expect("a key");
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let invitation = Invitation {
        address: listener.local_addr().expect("bound").to_string(),
        fingerprint: identity.fingerprint(),
        name: "first".into(),
        party: 1,
        parties: 2,
        secret: [1; 16],
    };
    let joins = |name: &str, change: fn(&mut Vec<Told>)| {
        std::thread::scope(|scope| {
            let folder = place.path().join(name);
            let invitation = &invitation;
            let joins = scope.spawn(move || join(invitation, &folder, "second", Some("second:7101")));
            let (stream, _) = listener.accept().expect("comes");
            let by = Instant::now() + PATIENCE;
            let (mut line, joining) = greet(config.clone(), stream, by).expect("greets");
            let fingerprint = identity.fingerprint();
            let mut all = vec![
                Told {
                    name: "first".into(),
                    address: Some(invitation.address.clone()),
                    fingerprint: fingerprint.to_string(),
                    commitment: hex::encode(commitment(&fingerprint, &[1; 16])),
                },
                Told {
                    name: joining.name,
                    address: joining.address,
                    fingerprint: joining.fingerprint,
                    commitment: joining.commitment,
                },
            ];
            change(&mut all);
            say(line.get_mut(), &Answer::All(all)).expect("told");
            drop(line);
            joins.join().expect("no panic").expect_err("gone").to_string()
        })
    };
    let swap_names: fn(&mut Vec<Told>) = |all| {
        let name = std::mem::replace(&mut all[0].name, "second".into());
        all[1].name = name;
    };
    let changes: [fn(&mut Vec<Told>); 5] = [
        swap_names,
        |all| all[0].name = "another".into(),
        |all| all[1].name = "another".into(),
        |all| all[0].address = Some("another:1".into()),
        |all| all[1].address = None,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let error = joins(&number.to_string(), change);
        assert!(
            error.contains("of other parties than have met"),
            "{number}: {error}"
        );
    }
    let error = joins("honest", |_| ());
    assert!(!error.contains("of other parties"), "{error}");
}

type Parties = [(Member, Nonce); 3];

#[test]
fn the_code_tells_whatever_parties_were_told_differently() {
    let member = |name: &str| Member {
        name: name.into(),
        address: Some(format!("{name}:7100")),
        fingerprint: cenote::Identity::generate().expect("a key").fingerprint(),
    };
    let parties = ["north", "south", "west"].map(|name| (member(name), nonce().expect("random")));
    let known = code(&parties);
    let changed = |change: fn(&mut Parties)| {
        let mut parties = parties.clone();
        change(&mut parties);
        code(&parties)
    };
    let swap: fn(&mut Parties) = |all| {
        let name = std::mem::replace(&mut all[0].0.name, "south".into());
        all[1].0.name = name;
    };
    assert_eq!(changed(|_| ()), known);
    let changes: [fn(&mut Parties); 6] = [
        swap,
        |all| all.swap(0, 1),
        |all| all[2].0.address = None,
        |all| all[0].0.address = Some("elsewhere:7100".into()),
        |all| all[1].0.fingerprint = all[0].0.fingerprint,
        |all| all[1].1 = [0; 16],
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert_ne!(changed(change), known, "{number}");
    }
}

#[test]
fn a_number_other_than_the_one_committed_to_ends_the_meeting() {
    let parties: Vec<_> = (0..2)
        .map(|_| {
            (
                cenote::Identity::generate().expect("a key").fingerprint(),
                nonce().expect("random"),
            )
        })
        .collect();
    let all: Vec<Told> = parties
        .iter()
        .map(|(fingerprint, nonce)| Told {
            name: "somebody".into(),
            address: None,
            fingerprint: fingerprint.to_string(),
            commitment: hex::encode(commitment(fingerprint, nonce)),
        })
        .collect();
    let shown = |nonces: [&[u8; 16]; 2]| AllShown {
        nonces: nonces.map(hex::encode).to_vec(),
    };
    conclude(&all, &shown([&parties[0].1, &parties[1].1])).expect("as committed");
    let error = conclude(&all, &shown([&parties[0].1, &[0; 16]]))
        .expect_err("another")
        .to_string();
    assert!(error.contains("somebody stands between you"), "{error}");
}

#[test]
fn a_meeting_that_has_ended_is_told_of_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let founding = crate::founding::Founding {
        name: "north".into(),
        party: 0,
        parties: 2,
    };
    founding.make(&folder.path().join("north")).expect("made");
    let inviter = Inviter::new(&folder.path().join("north"), "127.0.0.1:0").expect("listens");
    let invitation = inviter.invitations()[0].clone();
    drop(inviter);
    let told = |name: &str| {
        let error = join(&invitation, &folder.path().join(name), name, None).expect_err("ended");
        error.to_string()
    };
    let gone = told("south");
    assert!(
        gone.contains(&invitation.address) && gone.contains("ask for a new invitation"),
        "{gone}"
    );
    // Something else has the address by now, and closes what it is sent.
    let other = std::net::TcpListener::bind(&invitation.address).expect("free");
    let closing = std::thread::spawn(move || other.accept().map(drop));
    let closed = told("south");
    assert!(
        closed.contains(&invitation.address) && closed.contains("run `cenote invite` again"),
        "{closed}"
    );
    closing.join().expect("ended").expect("connected");
}

#[test]
fn an_invitation_is_read_from_a_line() {
    let fingerprint = cenote::Identity::generate().expect("a key").fingerprint();
    let invitation = Invitation {
        address: "north:7100".into(),
        fingerprint,
        name: "north".into(),
        party: 1,
        parties: 2,
        secret: [7; 16],
    };
    let text = format!("\n  {}\nmore", invitation.text());
    assert!(Invitation::read(text.as_bytes()).is_ok_and(|read| read == invitation));
    for wrong in [
        "",
        "\n\n",
        "something else\n",
        &"\n".repeat(10_000),
        &"x".repeat(10_000),
    ] {
        let error = Invitation::read(wrong.as_bytes()).expect_err("none").to_string();
        assert!(error.contains("no invitation"), "{error}");
    }
}
