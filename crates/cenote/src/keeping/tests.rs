use std::collections::BTreeMap;
use std::time::Duration;

use cenote_circuit::library;

use super::*;
use crate::{Bundle, Job, Program, Protocol, runner};

const LANES: usize = 67;

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
    let bundle = text("three", "lib:add8", values);
    Job::from_bundle(&bundle).map(drop).unwrap_err().to_string()
}

fn value(width: u32, seed: u64) -> BitMatrix {
    let mut entropy = Entropy::for_tests(seed);
    let mut bits = BitMatrix::zeros(width as usize, LANES);
    entropy.fill(as_bytes_mut(bits.words_mut()));
    bits.mask_padding();
    bits
}

/// The outputs of each party, in the clear.
fn evaluate(program: &Program, inputs: &[BitMatrix]) -> Vec<Vec<Option<BitMatrix>>> {
    let circuit = program.circuit();
    let mut all = BitMatrix::zeros(circuit.input_wires() as usize, LANES);
    for (index, bits) in inputs.iter().enumerate() {
        for (from, to) in circuit.input_range(index).enumerate() {
            all.row_mut(to).copy_from_slice(bits.row(from));
        }
    }
    let out = circuit.evaluate(&all).unwrap();
    let learnt = |party| {
        let values = program.receivers().iter().enumerate();
        let value = |(index, to): (usize, &Parties)| {
            let range = circuit.output_range(index);
            to.contains(party)
                .then(|| BitMatrix::from_fn(range.len(), LANES, |row, lane| out.get(range.start + row, lane)))
        };
        values.map(value).collect()
    };
    (0..3).map(|party| learnt(PartyId(party))).collect()
}

/// What `run` gives for the inputs that parties give and those of holders with these shares.
fn together(
    job: &Job,
    given: &[BitMatrix],
    shares: [&[Share]; 2],
    run: &dyn Fn(&Program, &[BitMatrix]) -> Vec<Vec<Option<BitMatrix>>>,
) -> (Vec<Vec<Option<BitMatrix>>>, Vec<Result<Vec<Option<Share>>>>) {
    let (mut inputs, mut fresh) = (given.to_vec(), Vec::new());
    let mut hidden: Vec<Option<BitMatrix>> = Vec::new();
    for (party, shares) in (0..).map(PartyId).zip(shares) {
        let (own, mine) = job.keeping().inputs(party, LANES, shares).unwrap();
        hidden.resize(own.len(), None);
        for (place, own) in hidden.iter_mut().zip(own) {
            *place = own.or(place.take());
        }
        fresh.push(mine);
    }
    let (none, idle) = job.keeping().inputs(PartyId(2), LANES, &[]).unwrap();
    assert!(none.iter().all(Option::is_none));
    fresh.push(idle);
    inputs.extend(hidden.into_iter().map(|bits| bits.expect("each has a holder")));
    let outputs = run(&job.program(LANES).unwrap(), &inputs);
    let parties = outputs.len();
    let ends = fresh.into_iter().zip(&outputs).zip((0..).map(PartyId));
    let ends = ends.map(|((fresh, outputs), me)| job.keeping().finish(me, fresh, outputs.clone()));
    let ends = ends.collect();
    assert!(parties <= 3);
    (outputs, ends)
}

fn in_the_clear(
    job: &Job,
    given: &[BitMatrix],
    shares: [&[Share]; 2],
) -> (BitMatrix, Vec<Result<Vec<Option<Share>>>>) {
    let (outputs, ends) = together(job, given, shares, &evaluate);
    (
        outputs[0][0]
            .clone()
            .unwrap_or_else(|| BitMatrix::zeros(0, LANES)),
        ends,
    )
}

/// The shares of the one value that was kept, of both holders.
fn pair(ends: Vec<Result<Vec<Option<Share>>>>) -> [Share; 2] {
    let mut ends = ends.into_iter().map(|end| end.unwrap().pop().unwrap());
    let shares = [ends.next().flatten().unwrap(), ends.next().flatten().unwrap()];
    assert!(ends.flatten().next().is_none(), "a third party holds nothing");
    shares
}

/// The shares of the sum of two values, of both holders.
fn kept(width: u32) -> [Share; 2] {
    let given = [value(width, 1), value(width, 2)];
    let (_, ends) = in_the_clear(&keeps("three", width), &given, [&[], &[]]);
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

fn assert_sums(width: u32, out: &BitMatrix) {
    for lane in 0..LANES {
        let found = (0..width as usize).fold(0u64, |sum, row| sum | u64::from(out.get(row, lane)) << row);
        assert_eq!(found, sum(width, lane), "lane {lane}");
    }
}

#[test]
fn a_kept_value_is_taken_in_another_job() {
    for width in [1, 8, 64] {
        let shares = kept(width);
        let bytes = shares.each_ref().map(Share::to_bytes);
        assert_eq!(bytes[0].len() as u64, share_bytes(width, LANES));
        let read = bytes
            .each_ref()
            .map(|bytes| Share::from_bytes(width, LANES, bytes).unwrap());
        for _ in 0..2 {
            let given = [value(width, 3)];
            let shares = read.each_ref().map(copy);
            let (out, ends) = in_the_clear(&takes("three", width), &given, [&shares[..1], &shares[1..]]);
            ends.into_iter().for_each(|end| assert!(end.unwrap().is_empty()));
            assert_sums(width, &out);
        }
        assert!(Share::from_bytes(width, LANES, &bytes[0][1..]).is_none());
        assert!(Share::from_bytes(width + 1, LANES, &bytes[0]).is_none());
        assert!(Share::from_bytes(width, 0, &[]).is_none());
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
        assert_eq!(ands(keeps("three", width)), sum + products(shares));
        assert_eq!(
            ands(takes("three", width)),
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
    let job = takes("three", width);
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
            for (me, end) in (0..).map(PartyId).zip(ends) {
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
                let blamed = match me.0 {
                    0 => Some(PartyId(1)),
                    1 => Some(PartyId(0)),
                    _ => None,
                };
                assert_eq!(peer, blamed, "{what}");
                assert!(detail.contains("\"sum\""), "{detail}");
            }
            assert!((0..8).all(|row| !out.get(row, lane)), "{what}");
        }
    }
}

/// What parties see of the check: one bit of each lane.
fn seen(shares: &[Share; 2]) -> Vec<bool> {
    let job = takes("three", 8);
    let (outputs, _) = together(&job, &[value(8, 3)], [&shares[..1], &shares[1..]], &evaluate);
    let check = outputs[2].last().unwrap().clone().unwrap();
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
fn tags_are_those_of_the_polynomial() {
    let clear = |x: u64, y: u64| {
        (0..64).rev().fold(0u64, |sum, place| {
            let doubled = (sum << 1) ^ if sum >> 63 == 1 { 0b11011 } else { 0 };
            doubled ^ if y >> place & 1 == 1 { x } else { 0 }
        })
    };
    for bits in [1, 63, 64, 65, 128, 129, 300, 320] {
        let mut b = Builder::new();
        let (key, pad) = (
            b.input("key", 64, BitOrder::Lsb),
            b.input("pad", 64, BitOrder::Lsb),
        );
        let message = b.input("message", bits, BitOrder::Lsb);
        let tag = authenticate(&mut b, &key, &pad, &message);
        b.output("tag", &tag, BitOrder::Lsb);
        let circuit = b.finish();
        let inputs = {
            let mut entropy = Entropy::for_tests(u64::from(bits));
            let mut inputs = BitMatrix::zeros(128 + bits as usize, 1);
            entropy.fill(as_bytes_mut(inputs.words_mut()));
            inputs.mask_padding();
            inputs
        };
        let word = |range: std::ops::Range<usize>| {
            range.clone().fold(0u64, |word, row| {
                word | u64::from(inputs.get(row, 0)) << (row - range.start)
            })
        };
        let (key, mut expected, mut power) = (word(0..64), word(64..128), 1);
        for start in (128..128 + bits as usize).step_by(64) {
            power = clear(power, key);
            expected ^= clear(word(start..inputs.rows().min(start + 64)), power);
        }
        let tag = circuit.evaluate(&inputs).unwrap();
        let tag = (0..64).fold(0u64, |word, row| word | u64::from(tag.get(row, 0)) << row);
        assert_eq!(tag, expected, "{bits} bits");
        let blocks = (bits as usize).div_ceil(64);
        assert!(circuit.statistics().ands <= 729 * blocks);
        assert!(circuit.statistics().and_depth <= 1 + blocks.next_power_of_two().trailing_zeros() as usize);
    }
}

#[test]
fn every_protocol_keeps_and_takes() {
    for name in Protocol::names() {
        let width = 8;
        let (first, second) = (keeps(name, width), takes(name, width));
        let run = |protocol: Protocol| {
            move |program: &Program, inputs: &[BitMatrix]| {
                let timeout = Duration::from_secs(60);
                let outcomes =
                    runner::run_in_memory(&protocol, program, inputs, timeout, &mut |_, _| ()).unwrap();
                for outcome in &outcomes {
                    assert_eq!(
                        outcome.report.outputs.len(),
                        program.opened(),
                        "shares are not told"
                    );
                }
                outcomes.into_iter().map(|outcome| outcome.outputs).collect()
            }
        };
        let given = [value(width, 1), value(width, 2)];
        let (_, ends) = together(&first, &given, [&[], &[]], &run(first.protocol().clone()));
        let mut ends = ends.into_iter().map(|end| end.unwrap().pop().unwrap());
        let shares = [ends.next().flatten().unwrap(), ends.next().flatten().unwrap()];
        let given = [value(width, 3)];
        let (outputs, ends) = together(
            &second,
            &given,
            [&shares[..1], &shares[1..]],
            &run(second.protocol().clone()),
        );
        ends.into_iter().for_each(|end| assert!(end.is_ok(), "{name}"));
        assert_sums(width, outputs[0][0].as_ref().unwrap());
        assert!(outputs[1][0].is_none(), "{name}");
    }
}

#[test]
fn values_are_kept_whichever_bit_comes_first() {
    let ordered = |order: &str| {
        job(
            "three",
            "lib:add8",
            &format!(
                "[[input]]\nparty = 0\n[[input]]\nparty = 1\n[[output]]\nkeep = \"sum\"\norder = \"{order}\"\n"
            ),
        )
    };
    let (_, lsb) = in_the_clear(&ordered("lsb"), &[value(8, 1), value(8, 2)], [&[], &[]]);
    let (_, msb) = in_the_clear(&ordered("msb"), &[value(8, 1), value(8, 2)], [&[], &[]]);
    let bits = |ends: Vec<Result<Vec<Option<Share>>>>| {
        let mut ends = ends.into_iter().map(|end| end.unwrap().pop().flatten());
        let (first, second) = (ends.next().flatten().unwrap(), ends.next().flatten().unwrap());
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
fn job_files_say_what_is_kept() {
    let given = "[[input]]\nparty = 0\n[[input]]\nparty = 1\n";
    let job = job(
        "three",
        "lib:add8",
        &format!("{given}[[output]]\nkeep = \"a.b-c\"\ndays = 3\n"),
    );
    let keep = &job.keeping().keeps()[0];
    assert_eq!((keep.name.as_str(), keep.days, keep.width), ("a.b-c", 3, 8));
    assert_eq!(job.keeping().opened(), 0);
    let text = job
        .read_inputs(PartyId(0), LANES)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(text.contains("cenote job submit"), "{text}");

    let open = "[[output]]\nto = [0]\n";
    for (values, part) in [
        (
            format!("{given}[[output]]\nkeep = \"x\"\nto = [0]\n"),
            "opened or kept, not both",
        ),
        (
            format!("{given}[[output]]\nkeep = \"../x\"\n"),
            "the name of a kept value",
        ),
        (
            format!("{given}[[output]]\nkeep = \".x\"\n"),
            "the name of a kept value",
        ),
        (
            format!("{given}[[output]]\nkeep = \"x\"\ndays = 0\n"),
            "1 to 366 days",
        ),
        (format!("{given}[[output]]\nto = [0]\ndays = 1\n"), "write `keep"),
        (format!("{given}[[output]]\n"), "nobody would learn this output"),
        (
            format!("[[input]]\n[[input]]\nparty = 1\n{open}"),
            "nobody gives this input",
        ),
        (
            format!("[[input]]\nkept = \"x\"\nparty = 0\n[[input]]\nparty = 1\n{open}"),
            "comes from no party",
        ),
        (
            format!("[[input]]\nparty = 0\nof = \"x\"\n[[input]]\nparty = 1\n{open}"),
            "write `kept",
        ),
    ] {
        let text = refusal(&values);
        assert!(text.contains(part), "{values}: {text}");
    }
}

#[test]
fn what_is_less_safe_than_the_job_is_refused() {
    // 2 blocks in 67 instances.
    let program = |security: u32| {
        let values = format!(
            "security = {security}\n[[input]]\nparty = 0\n[[input]]\nparty = 1\n[[output]]\nkeep = \"x\"\n"
        );
        job("three", "lib:add8", &values).program(LANES)
    };
    let text = program(57).map(drop).unwrap_err().to_string();
    assert!(
        text.contains("safe up to 2^-56.9") && text.contains("57 bits"),
        "{text}"
    );
    assert!(program(56).is_ok());
}

#[test]
fn a_value_of_several_blocks_is_taken_twice_and_kept_again() {
    let (width, order) = (200, "order = \"msb\"\n");
    let circuit = format!("lib:add{width}");
    let given = "[[input]]\nparty = 0\n[[input]]\nparty = 1\n";
    let first = job("three", &circuit, &format!("{given}[[output]]\nkeep = \"sum\"\n"));
    let (_, ends) = in_the_clear(&first, &[value(width, 1), value(width, 2)], [&[], &[]]);
    let shares = pair(ends);
    let take = format!("[[input]]\nkept = \"sum\"\n{order}");
    let twice = job(
        "three",
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

#[test]
fn so_many_values_are_taken_and_kept_at_most() {
    let circuit = |values: usize| {
        let mut b = Builder::new();
        for _ in 0..values {
            let x = b.input("x", 1, BitOrder::Lsb);
            b.output("y", &x, BitOrder::Lsb);
        }
        let mut text = Vec::new();
        let fashion = cenote_circuit::format::Format::Fashion;
        cenote_circuit::format::write(&b.finish(), fashion, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    for (count, fits) in [(64, true), (65, false)] {
        let take = "[[input]]\nkept = \"x\"\n".repeat(count);
        let keep: String = (0..count)
            .map(|at| format!("[[output]]\nkeep = \"y{at}\"\n"))
            .collect();
        let (give, open) = (
            "[[input]]\nparty = 0\n".repeat(count),
            "[[output]]\nto = [0]\n".repeat(count),
        );
        for values in [take + &open, give + &keep] {
            let mut bundle = text("three", "many.txt", &values);
            bundle.files.insert("many.txt".into(), circuit(count));
            let read = Job::from_bundle(&bundle).map(drop);
            assert_eq!(read.is_ok(), fits, "{read:?}");
            if let Err(error) = read {
                assert!(error.to_string().contains("at most 64 kept values"), "{error}");
            }
        }
    }
}

#[test]
fn the_parts_of_a_circuit_are_bounded() {
    let circuit = library::by_name("add4096").unwrap();
    let keep = Keep {
        output: "z".into(),
        name: "z".into(),
        days: 1,
        width: 4096,
    };
    let text = Keeping::new(&circuit, vec![None; 2], vec![Some(keep)], 100_000)
        .map(drop)
        .unwrap_err();
    assert!(text.to_string().contains("more than 100000 gates"), "{text}");
}
