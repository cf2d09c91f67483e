//! Values that are kept and taken over every protocol.

use std::time::Duration;

use super::*;
use crate::{Protocol, runner};

/// Runs the first `lanes` of a job over its protocol, with the bytes of each party's shares. Gives what each party learns of the first output, and
/// has in the end.
fn over_protocol(
    job: &Job,
    lanes: usize,
    given: &[BitMatrix],
    shares: &[Vec<Vec<u8>>],
) -> Vec<Result<(Option<BitMatrix>, Vec<Share>)>> {
    let (program, protocol) = (job.program(lanes).unwrap(), job.protocol());
    let connections = runner::Connections::in_memory(&protocol.topology(), Duration::from_secs(60));
    let ended = runner::as_threads(connections, &mut |_, _| (), |me, connections, progress| {
        let own = program.owners().iter().zip(given);
        let own = own.map(|(&owner, bits)| {
            (owner == me).then(|| BitMatrix::from_fn(bits.rows(), lanes, |row, lane| bits.get(row, lane)))
        });
        let shares = shares.get(usize::from(me.0)).into_iter().flatten();
        let shares: Vec<Share> = shares
            .enumerate()
            .map(|(number, bytes)| job.keeping().share(number, lanes, bytes).unwrap())
            .collect();
        let (held, fresh) = job.keeping().inputs(me, lanes, shares)?;
        let inputs: Vec<_> = own.chain(held).collect();
        let party = runner::Party {
            me,
            protocol,
            program: &program,
            inputs: &inputs,
            also_agree: &(),
            transport: runner::Transport::Memory,
            phase_timeout: None,
        };
        // What a party fails with is looked at, too.
        Ok((|| {
            let outcome = party.run(|| Ok(connections), progress)?;
            assert_eq!(
                outcome.report.outputs.len(),
                job.keeping().opened(),
                "shares are not told"
            );
            let learnt = outcome
                .outputs
                .first()
                .cloned()
                .flatten()
                .filter(|_| job.keeping().opened() > 0);
            Ok((learnt, job.keeping().finish(me, fresh, outcome.outputs)?))
        })())
    });
    ended.unwrap()
}

fn bytes_of(ended: Vec<Result<(Option<BitMatrix>, Vec<Share>)>>) -> Vec<Vec<Vec<u8>>> {
    let party = |end: Result<(Option<BitMatrix>, Vec<Share>)>| {
        let shares = end.unwrap().1;
        shares.iter().map(|share| share.to_bytes().to_vec()).collect()
    };
    ended.into_iter().map(party).collect()
}

#[test]
fn every_protocol_keeps_and_takes() {
    for name in Protocol::names() {
        let width = 3;
        let (first, second) = (keeps(name, width), takes(name, width));
        let given = [value(width, 1), value(width, 2)];
        let shares = bytes_of(over_protocol(&first, LANES, &given, &[]));
        assert_eq!(
            shares[0][0].len() as u64,
            first.keeping().share_bytes(LANES),
            "{name}"
        );
        for (me, end) in over_protocol(&second, LANES, &[value(width, 3)], &shares)
            .into_iter()
            .enumerate()
        {
            let (learnt, kept) = end.unwrap();
            assert!(kept.is_empty(), "{name}");
            match me {
                0 => assert_sums(width, LANES, &learnt.unwrap()),
                _ => assert!(learnt.is_none(), "{name}"),
            }
        }
    }
}

#[test]
fn a_share_that_was_changed_is_caught_by_every_protocol() {
    for name in Protocol::names() {
        let width = 8;
        let (first, second) = (keeps(name, width), takes(name, width));
        let kept = bytes_of(over_protocol(
            &first,
            FEW,
            &[value(width, 1), value(width, 2)],
            &[],
        ));
        for cheater in 0..kept.len() {
            let mut shares = kept.clone();
            shares[cheater][0][SHAPE] ^= 2;
            // The cheater runs honest code, so it may be the first to see that it and another differ.
            let mut found = 0;
            for (me, end) in over_protocol(&second, FEW, &[value(width, 3)], &shares)
                .into_iter()
                .enumerate()
            {
                let Error::Protocol { error } = end.map(drop).unwrap_err() else {
                    panic!("{name}: another error")
                };
                assert_eq!(
                    error.check().map(|check| check.name),
                    Some("kept value"),
                    "{name}: {error}"
                );
                if let EngineError::Aborted { peer, .. } = error {
                    found += 1;
                    assert!(me == cheater || peer == Some(PartyId(cheater as u8)), "{name}");
                }
            }
            assert!(found > 0, "{name}: somebody saw it");
        }
    }
}

#[test]
fn protocols_whose_shares_outlive_a_session_need_no_gates_for_it() {
    for name in Protocol::names() {
        let (plain, kept) = (
            job(
                name,
                "lib:add64",
                "[[input]]\nparty = 0\n[[input]]\nparty = 1\n[[output]]\nto = [0]\n",
            ),
            keeps(name, 64),
        );
        let ands = |job: &Job| job.program(LANES).unwrap().plan().and_count();
        assert_eq!(
            ands(&plain) == ands(&kept),
            kept.protocol().kept_rows().is_some(),
            "{name}"
        );
    }
    assert!(keeps("three", 64).protocol().kept_rows().is_some());
}
