mod files;
mod protocols;

use std::collections::BTreeMap;

use cenote_primitives::{Entropy, as_bytes_mut};

use super::*;
use crate::{Bundle, Job, Program};

const LANES: usize = 67;

/// Fewer of them, for what is computed over protocols again and again.
const FEW: usize = 9;

/// A job of `protocol` that adds two values and keeps the sum.
fn keeps(protocol: &str, width: u32) -> Job {
    job(
        protocol,
        &format!("lib:add{width}"),
        "[[input]]\nparty = 0\n[[input]]\nparty = 1\n[[output]]\nkeep = \"sum\"\n",
    )
}

/// A job of `protocol` that adds a value of party 1 to the sum, and opens that to party 0.
fn takes(protocol: &str, width: u32) -> Job {
    job(
        protocol,
        &format!("lib:add{width}"),
        "[[input]]\nkept = \"sum\"\n[[input]]\nparty = 1\n[[output]]\nto = [0]\n",
    )
}

fn text(protocol: &str, circuit: &str, values: &str) -> Bundle {
    Bundle {
        job: format!("protocol = \"{protocol}\"\ncircuit = \"{circuit}\"\nlanes = {LANES}\n{values}"),
        files: BTreeMap::new(),
    }
}

fn job(protocol: &str, circuit: &str, values: &str) -> Job {
    Job::from_bundle(&text(protocol, circuit, values)).unwrap()
}

fn refusal(values: &str) -> String {
    let bundle = text("authenticated", "lib:add8", values);
    Job::from_bundle(&bundle).map(drop).unwrap_err().to_string()
}

fn value(width: u32, seed: u64) -> BitMatrix {
    let mut entropy = Entropy::for_tests(seed);
    let mut bits = BitMatrix::zeros(width as usize, LANES);
    entropy.fill(as_bytes_mut(bits.words_mut()));
    bits.mask_padding();
    bits
}

/// What a party has in the end.
type End = Result<Vec<Share>>;

/// The outputs of both parties, in the clear.
fn evaluate(program: &Program, inputs: [Vec<Option<BitMatrix>>; 2]) -> Vec<Vec<Option<BitMatrix>>> {
    let circuit = program.circuit();
    let mut all = BitMatrix::zeros(circuit.input_wires() as usize, LANES);
    let [first, second] = inputs;
    for (index, bits) in first.into_iter().zip(second).enumerate() {
        let bits = bits.0.or(bits.1).expect("each has an owner");
        for (from, to) in circuit.input_range(index).enumerate() {
            all.row_mut(to).copy_from_slice(bits.row(from));
        }
    }
    let out = circuit.evaluate(&all).unwrap();
    let learnt = |party| {
        let value = |(index, to): (usize, &Parties)| {
            let range = circuit.output_range(index);
            let bits = |row, lane| out.get(range.start + row, lane);
            to.contains(party)
                .then(|| BitMatrix::from_fn(range.len(), LANES, bits))
        };
        program.receivers().iter().enumerate().map(value).collect()
    };
    PAIR.map(learnt).into()
}

/// What the parties of a job learn and have in the end, with inputs that they give and with their shares of what it takes, in the clear.
fn together(
    job: &Job,
    given: &[BitMatrix],
    shares: [&[Share]; 2],
) -> (Vec<Vec<Option<BitMatrix>>>, Vec<End>) {
    let program = job.program(LANES).unwrap();
    let put_in = PAIR.map(|me| {
        let own = program.owners().iter().zip(given);
        let own = own.map(|(&owner, bits)| (owner == me).then(|| bits.clone()));
        let (held, fresh) = job
            .keeping()
            .inputs(me, LANES, shares[usize::from(me.0)].iter().map(copy).collect())
            .unwrap();
        (own.chain(held).collect::<Vec<_>>(), fresh)
    });
    let [(first, fresh_first), (second, fresh_second)] = put_in;
    let outputs = evaluate(&program, [first, second]);
    let ends = PAIR.into_iter().zip([fresh_first, fresh_second]).zip(&outputs);
    let ends = ends.map(|((me, fresh), outputs)| job.keeping().finish(me, fresh, outputs.clone()));
    let ends = ends.collect();
    (outputs, ends)
}

/// What party 0 learns, and what both have in the end.
fn in_the_clear(job: &Job, given: &[BitMatrix], shares: [&[Share]; 2]) -> (BitMatrix, Vec<End>) {
    let (outputs, ends) = together(job, given, shares);
    let first = outputs[0].first().cloned().flatten();
    (first.unwrap_or_else(|| BitMatrix::zeros(0, LANES)), ends)
}

/// The shares of the one value that was kept.
fn pair(ends: Vec<End>) -> [Share; 2] {
    let mut ends = ends.into_iter().map(|end| end.unwrap().pop().unwrap());
    [ends.next().unwrap(), ends.next().unwrap()]
}

/// The shares of the sum of two values.
fn kept(width: u32) -> [Share; 2] {
    let given = [value(width, 1), value(width, 2)];
    let (_, ends) = in_the_clear(&keeps("authenticated", width), &given, [&[], &[]]);
    pair(ends)
}

fn copy(share: &Share) -> Share {
    Share(share.0.clone())
}

/// The sum of the three values in a lane.
fn sum(width: u32, lane: usize) -> u64 {
    let number = |seed| {
        let bits = value(width, seed);
        (0..width as usize).fold(0u64, |sum, row| sum | u64::from(bits.get(row, lane)) << row)
    };
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    number(1).wrapping_add(number(2)).wrapping_add(number(3)) & mask
}

fn assert_sums(width: u32, lanes: usize, out: &BitMatrix) {
    assert_eq!(out.lanes(), lanes);
    for lane in 0..lanes {
        let found = (0..width as usize).fold(0u64, |sum, row| sum | u64::from(out.get(row, lane)) << row);
        assert_eq!(found, sum(width, lane), "lane {lane}");
    }
}

#[test]
fn a_kept_value_is_taken_in_another_job() {
    for width in [1, 8, 64] {
        let (first, second) = (keeps("authenticated", width), takes("authenticated", width));
        let bytes = kept(width).each_ref().map(Share::to_bytes);
        assert_eq!(bytes[0].len() as u64, first.keeping().share_bytes(LANES));
        let read = |bytes: &[u8]| second.keeping().share(0, LANES, bytes);
        for _ in 0..2 {
            let shares = bytes.each_ref().map(|bytes| read(bytes).unwrap());
            let (out, ends) = in_the_clear(&second, &[value(width, 3)], [&shares[..1], &shares[1..]]);
            ends.into_iter().for_each(|end| assert!(end.unwrap().is_empty()));
            assert_sums(width, LANES, &out);
        }
        assert!(read(&bytes[0][1..]).is_none() && read(&[]).is_none());
        // As many bytes, of eight times as many instances and of one bit more.
        assert!(second.keeping().share(0, LANES + 1, &bytes[0]).is_none());
        assert!(
            takes("authenticated", width + 1)
                .keeping()
                .share(0, LANES, &bytes[0])
                .is_none()
        );
        assert!(second.keeping().share(1, LANES, &bytes[0]).is_none());
    }
}

#[test]
fn it_costs_what_the_manual_says() {
    let ands = |job: Job| job.program(1).unwrap().plan().and_count();
    let products = |shares: usize| 2 * (shares + 1) * 729;
    for (width, shares) in [(64, 1), (128, 2), (256, 4)] {
        let sum = width as usize - 1;
        let opened = width as usize;
        // Both holders compare two tags of 64 bits, and all four results are put together.
        let compared = 2 * 127 + 1;
        assert_eq!(ands(keeps("authenticated", width)), sum + products(shares));
        assert_eq!(
            ands(takes("authenticated", width)),
            sum + products(shares) + compared + opened
        );
    }
}

#[test]
fn a_share_tells_nothing_of_the_value() {
    // The same values are kept twice: neither holder has anything twice.
    let (first, second) = (kept(64), kept(64));
    for (first, second) in first.iter().zip(&second) {
        let same = (0..first.0.rows())
            .filter(|&row| first.0.row(row) == second.0.row(row))
            .count();
        assert_eq!(same, 0);
    }
}

#[test]
fn any_change_of_any_part_is_caught_and_opens_nothing() {
    let width = 8;
    let job = takes("authenticated", width);
    let shares = kept(width);
    let parts = [
        ("share", 0),
        ("key", 8),
        ("pad", 8 + 64),
        ("key of keys", 8 + 128),
        ("pad of keys", 8 + 192),
        ("tag of the share", 8 + 256),
        ("tag of the key", 8 + 320),
    ];
    for cheater in 0..2u8 {
        for (what, row) in parts {
            let mut shares = shares.each_ref().map(copy);
            let lane = 13;
            let bits = &mut shares[usize::from(cheater)].0;
            bits.set(row, lane, !bits.get(row, lane));
            let (out, ends) = in_the_clear(&job, &[value(width, 3)], [&shares[..1], &shares[1..]]);
            for (me, end) in PAIR.into_iter().zip(ends) {
                let error = end.map(drop).unwrap_err();
                let Error::Protocol {
                    error:
                        EngineError::Aborted {
                            check, peer, detail, ..
                        },
                } = error
                else {
                    panic!("{what}: {error}")
                };
                assert_eq!(check, KEPT_VALUE);
                assert_eq!(peer, Some(PartyId(1 - me.0)), "{what}");
                assert!(detail.contains("\"sum\""), "{detail}");
            }
            assert!((0..8).all(|row| !out.get(row, lane)), "{what}");
        }
    }
}

/// What parties see of the check: one bit of each lane.
fn seen(shares: &[Share; 2]) -> Vec<bool> {
    let job = takes("authenticated", 8);
    let (outputs, _) = together(&job, &[value(8, 3)], [&shares[..1], &shares[1..]]);
    let check = outputs[1].last().unwrap().clone().unwrap();
    assert_eq!(check.rows(), 1, "one bit tells of all four tags");
    (0..LANES).map(|lane| check.get(0, lane)).collect()
}

#[test]
fn a_guess_at_the_others_share_is_not_told() {
    // Party 0 puts in another key, and the pad under which the tag of party 1's share is right all the same if that share is what it guesses. It
    // guesses right.
    let mut shares = kept(8);
    let (lane, row) = (5, 8 + 3);
    let bits = &mut shares[0].0;
    bits.set(row, lane, !bits.get(row, lane));
    // The difference of the keys is X^3, and that of the tags the share times it: no bit of 8 is carried over.
    for place in 0..8 {
        let pad = 8 + 64 + 3 + place;
        let change = shares[1].0.get(place, lane);
        let bits = &mut shares[0].0;
        bits.set(pad, lane, bits.get(pad, lane) ^ change);
    }
    let right = seen(&shares);
    assert!(!right[lane], "a key is recognised, whatever is guessed");
    assert_eq!(right.iter().filter(|&&right| !right).count(), 1);
}

#[test]
fn shares_of_other_values_and_lanes_are_caught() {
    let (first, second) = (kept(8), kept(8));
    let mixed = [copy(&first[0]), copy(&second[1])];
    assert!(seen(&mixed).iter().all(|right| !right));

    let mut moved = first.each_ref().map(copy);
    let bits = &mut moved[1].0;
    for row in 0..bits.rows() {
        let (one, two) = (bits.get(row, 0), bits.get(row, 1));
        bits.set(row, 0, two);
        bits.set(row, 1, one);
    }
    let right = seen(&moved);
    assert!(!right[0] && !right[1] && right[2..].iter().all(|right| *right));
}

#[test]
fn lanes_in_several_segments_are_kept_together() {
    let lanes = 1500;
    let engine = || cenote_session::ClearEngine::new(PartyId(0), Vec::new());
    let program = |job: &Job, lanes| job.program(lanes).unwrap().in_segments(1);
    let give = |name: &str| {
        let bundle = Bundle {
            job: format!("protocol = \"three\"\ncircuit = \"lib:add8\"\nlanes = {lanes}\n{name}"),
            files: BTreeMap::new(),
        };
        Job::from_bundle(&bundle).unwrap()
    };
    let keep = give("[[input]]\nparty = 0\n[[input]]\nparty = 0\n[[output]]\nkeep = \"sum\"\n");
    let bits = |seed| {
        let mut entropy = Entropy::for_tests(seed);
        let mut bits = BitMatrix::zeros(8, lanes);
        entropy.fill(as_bytes_mut(bits.words_mut()));
        bits.mask_padding();
        bits
    };
    let inputs = [Some(bits(1)), Some(bits(2))];
    let kept = program(&keep, lanes)
        .execute(&mut engine(), &inputs, |_| ())
        .unwrap();
    let take = give("[[input]]\nkept = \"sum\"\n[[input]]\nparty = 0\n[[output]]\nto = [0]\n");
    let inputs = [Some(BitMatrix::zeros(8, lanes)), kept.outputs[0].clone()];
    let out = program(&take, lanes)
        .execute(&mut engine(), &inputs, |_| ())
        .unwrap();
    let out = out.outputs[0].clone().unwrap();
    let number =
        |bits: &BitMatrix, lane| (0..8).fold(0u8, |sum, row| sum | u8::from(bits.get(row, lane)) << row);
    for lane in 0..lanes {
        let sum = number(&bits(1), lane).wrapping_add(number(&bits(2), lane));
        assert_eq!(number(&out, lane), sum, "lane {lane}");
    }
}

#[test]
fn values_are_kept_whichever_bit_comes_first() {
    let ordered = |order: &str| {
        job(
            "authenticated",
            "lib:add8",
            &format!(
                "[[input]]\nparty = 0\n[[input]]\nparty = 1\n[[output]]\nkeep = \"sum\"\norder = \"{order}\"\n"
            ),
        )
    };
    let (_, lsb) = in_the_clear(&ordered("lsb"), &[value(8, 1), value(8, 2)], [&[], &[]]);
    let (_, msb) = in_the_clear(&ordered("msb"), &[value(8, 1), value(8, 2)], [&[], &[]]);
    let bits = |ends: Vec<End>| {
        let [first, second] = pair(ends);
        BitMatrix::from_fn(8, LANES, |row, lane| {
            first.0.get(row, lane) ^ second.0.get(row, lane)
        })
    };
    let (lsb, msb) = (bits(lsb), bits(msb));
    for row in 0..8 {
        assert_eq!(lsb.row(row), msb.row(7 - row));
    }
}

#[test]
fn a_value_of_several_blocks_is_taken_twice_and_kept_again() {
    let (width, order) = (200, "order = \"msb\"\n");
    let circuit = format!("lib:add{width}");
    let given = "[[input]]\nparty = 0\n[[input]]\nparty = 1\n";
    let first = job(
        "authenticated",
        &circuit,
        &format!("{given}[[output]]\nkeep = \"sum\"\n"),
    );
    let (_, ends) = in_the_clear(&first, &[value(width, 1), value(width, 2)], [&[], &[]]);
    let shares = pair(ends);
    let take = format!("[[input]]\nkept = \"sum\"\n{order}");
    let twice = job(
        "authenticated",
        &circuit,
        &format!("{take}{take}[[output]]\nkeep = \"sum\"\n{order}"),
    );
    let both = shares.each_ref().map(|share| [copy(share), copy(share)]);
    let (_, ends) = in_the_clear(&twice, &[], [&both[0], &both[1]]);
    let again = pair(ends);
    let clear = |shares: &[Share; 2]| {
        BitMatrix::from_fn(width as usize, LANES, |row, lane| {
            shares[0].0.get(row, lane) ^ shares[1].0.get(row, lane)
        })
    };
    let (sum, doubled) = (clear(&shares), clear(&again));
    // With the last bit first, a value and itself make the value moved by one place to the first.
    for row in 0..width as usize {
        for lane in 0..LANES {
            let expected = row + 1 < width as usize && sum.get(row + 1, lane);
            assert_eq!(doubled.get(row, lane), expected, "bit {row} of lane {lane}");
        }
    }
    // One of the two is forged: nothing new is kept.
    let mut forged = both;
    let bit = forged[1][1].0.get(150, 66);
    forged[1][1].0.set(150, 66, !bit);
    let (_, ends) = in_the_clear(&twice, &[], [&forged[0], &forged[1]]);
    assert!(ends.into_iter().all(|end| end.is_err()));
}
