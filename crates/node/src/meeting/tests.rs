//! Meetings over sockets of this machine.

use std::time::Duration;

use cenote::PartyConfig;

use super::code::{code, commitment, nonce};
use super::inviter::conclude;
use super::words::{AllShown, Told};
use super::*;
use crate::founding::Founding;

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
        "cenote-invitation-1.",
        "cenote-invitation-1.7b7d",
        &invitation.text()[1..],
    ] {
        assert!(text.parse::<Invitation>().is_err(), "{text}");
    }
    assert!(!format!("{invitation:?}").contains(&hex::encode(invitation.secret)));
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
    let (_, known) = conclude(&all, &shown([&parties[0].1, &parties[1].1])).expect("as committed");
    assert_eq!(known, code(&parties));
    let error = conclude(&all, &shown([&parties[0].1, &[0; 16]]))
        .expect_err("another")
        .to_string();
    assert!(error.contains("somebody stands between you"), "{error}");
    let mut other = parties.clone();
    other[1].0 = other[0].0;
    assert_ne!(code(&other), known);
}
