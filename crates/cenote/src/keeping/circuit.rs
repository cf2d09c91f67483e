//! The circuit of a job that takes or keeps values.

use cenote_circuit::library::{GF64_BITS, GF64_PRODUCT, all, equal, polynomial_mac, xor};
use cenote_circuit::{Bit, BitOrder, Builder, Circuit};
use cenote_net::PartyId;

use super::{Keep, Keeping, PAIR, SECRETS, TAGS, Take};
use crate::{Error, Result};

impl Keeping {
    /// The circuit with the inputs that `takes` says taken and the outputs that `keeps` says kept, one entry for each of its inputs and outputs, and
    /// where they are in it. Inputs that parties give and outputs that are opened come first, in their order. If the protocol's own shares are kept,
    /// they have so many `rows` for each wire.
    ///
    /// # Errors
    /// [`Error::Usage`] if it comes to more than `most` gates while it is built.
    pub(crate) fn new(
        circuit: &Circuit,
        takes: Vec<Option<Take>>,
        keeps: Vec<Option<Keep>>,
        rows: Option<usize>,
        most: usize,
    ) -> Result<(Circuit, Keeping)> {
        let in_parts = rows.is_none();
        let widths = takes.iter().flatten().map(|take| take.width);
        let widths = widths.chain(keeps.iter().flatten().map(|keep| keep.width));
        let products: u64 = widths.map(|width| 2 * (u64::from(width.div_ceil(64)) + 1)).sum();
        if in_parts && products * GF64_PRODUCT > most as u64 {
            return Err(too_large(most));
        }
        let mut b = Builder::within(most);
        let (wires, right) = put_in(&mut b, circuit, &takes, in_parts);
        let fresh: Vec<[Vec<Bit>; 2]> = match in_parts {
            true => keeps.iter().flatten().map(|keep| fresh(&mut b, keep)).collect(),
            false => Vec::new(),
        };
        let outputs = b.embed(circuit, &wires.concat());
        let valid = all(&mut b, &right);
        let kept = open(&mut b, circuit, &keeps, &outputs, valid);
        if !in_parts {
            for (keep, bits) in &kept {
                b.output(&keep.name, bits, BitOrder::Lsb);
            }
        }
        for ((keep, bits), fresh) in kept.into_iter().zip(&fresh) {
            put_out(&mut b, keep, &bits, fresh);
        }
        if !right.is_empty() {
            b.output("kept values are right", &[valid], BitOrder::Lsb);
        }
        let wrapped = b.finish_within().ok_or_else(|| too_large(most))?;
        let keeping = Keeping {
            opened: keeps.iter().filter(|keep| keep.is_none()).count(),
            takes: takes.into_iter().flatten().collect(),
            keeps: keeps.into_iter().flatten().collect(),
            rows,
        };
        Ok((wrapped, keeping))
    }
}

/// The inputs of the circuit, those that parties give first; and where values that are taken come in parts, whether the tags of each part are right.
fn put_in(
    b: &mut Builder,
    circuit: &Circuit,
    takes: &[Option<Take>],
    in_parts: bool,
) -> (Vec<Vec<Bit>>, Vec<Bit>) {
    let mut wires: Vec<Vec<Bit>> = vec![Vec::new(); takes.len()];
    for ((value, take), wires) in circuit.inputs().iter().zip(takes).zip(&mut wires) {
        if take.is_none() {
            *wires = b.input(&value.name, value.width, value.order);
        }
    }
    let mut right = Vec::new();
    for ((value, take), wires) in circuit.inputs().iter().zip(takes).zip(&mut wires) {
        let Some(take) = take else { continue };
        if !in_parts {
            *wires = ordered(b.input(&take.name, take.width, BitOrder::Lsb), value.order);
            continue;
        }
        let both = PAIR.map(|party| {
            let width = take.width + (SECRETS + TAGS) as u32;
            let bits = b.input(&of(&take.name, party), width, BitOrder::Lsb);
            Held::new(take.width as usize, bits)
        });
        let [first, second] = &both;
        right.extend([first.is_right(b, second), second.is_right(b, first)]);
        *wires = ordered(xor(b, &first.share, &second.share), value.order);
    }
    (wires, right)
}

/// What each party chooses for a value that is kept: party 0 its mask, and both their secrets.
fn fresh(b: &mut Builder, keep: &Keep) -> [Vec<Bit>; 2] {
    PAIR.map(|party| {
        let mask = if party == PAIR[0] { keep.width } else { 0 };
        b.input(&of(&keep.name, party), mask + SECRETS as u32, BitOrder::Lsb)
    })
}

/// Opens the outputs that are not kept, or zeros unless all is `valid`. Gives those that are, least significant bit first.
fn open<'a>(
    b: &mut Builder,
    circuit: &Circuit,
    keeps: &'a [Option<Keep>],
    mut outputs: &[Bit],
    valid: Bit,
) -> Vec<(&'a Keep, Vec<Bit>)> {
    let mut kept = Vec::new();
    for (value, keep) in circuit.outputs().iter().zip(keeps) {
        let (bits, rest) = outputs.split_at(value.width as usize);
        outputs = rest;
        match keep {
            Some(keep) => kept.push((keep, ordered(bits.to_vec(), value.order))),
            None => {
                let bits: Vec<Bit> = bits.iter().map(|&bit| b.and(bit, valid)).collect();
                b.output(&value.name, &bits, value.order);
            }
        }
    }
    kept
}

/// What the parties learn of a value of these `bits` that they keep: party 0 its tags, party 1 its share and its tags.
fn put_out(b: &mut Builder, keep: &Keep, bits: &[Bit], [first, second]: &[Vec<Bit>; 2]) {
    let (mask, secrets) = first.split_at(keep.width as usize);
    let share = xor(b, bits, mask);
    let (first, second) = (Secrets::of(secrets), Secrets::of(second));
    let tags = second.tags(b, mask, first.key);
    b.output(&of(&keep.name, PAIR[0]), &tags, BitOrder::Lsb);
    let tags = first.tags(b, &share, second.key);
    b.output(&of(&keep.name, PAIR[1]), &[share, tags].concat(), BitOrder::Lsb);
}

pub(crate) fn too_large(most: usize) -> Error {
    Error::Usage(format!(
        "with what is kept the circuit comes to more than {most} gates; use a smaller one and more lanes"
    ))
}

/// What a party's part of a value is called.
fn of(name: &str, party: PartyId) -> String {
    format!("{party} of kept {name}")
}

/// The bits of a value, least significant first, whichever comes first in it; or the other way round.
fn ordered(mut bits: Vec<Bit>, order: BitOrder) -> Vec<Bit> {
    if order == BitOrder::Msb {
        bits.reverse();
    }
    bits
}

/// What a holder chooses for a value.
struct Secrets<'a> {
    key: &'a [Bit],
    pad: &'a [Bit],
    outer_key: &'a [Bit],
    outer_pad: &'a [Bit],
}

impl<'a> Secrets<'a> {
    fn of(bits: &'a [Bit]) -> Self {
        let part = |place: usize| &bits[place * GF64_BITS..][..GF64_BITS];
        Secrets {
            key: part(0),
            pad: part(1),
            outer_key: part(2),
            outer_pad: part(3),
        }
    }

    /// The tags under them of the other holder's share and key.
    fn tags(&self, b: &mut Builder, share: &[Bit], key: &[Bit]) -> Vec<Bit> {
        let mut tags = polynomial_mac(b, self.key, self.pad, share);
        tags.extend(polynomial_mac(b, self.outer_key, self.outer_pad, key));
        tags
    }
}

/// What a holder puts in of a value that is taken.
struct Held {
    share: Vec<Bit>,
    secrets: Vec<Bit>,
    tags: Vec<Bit>,
}

impl Held {
    fn new(width: usize, mut bits: Vec<Bit>) -> Self {
        let mut secrets = bits.split_off(width);
        let tags = secrets.split_off(SECRETS);
        Held {
            share: bits,
            secrets,
            tags,
        }
    }

    /// Whether this holder's tags are right under the other's secrets.
    fn is_right(&self, b: &mut Builder, other: &Held) -> Bit {
        let key = Secrets::of(&self.secrets).key;
        let tags = Secrets::of(&other.secrets).tags(b, &self.share, key);
        equal(b, &tags, &self.tags)
    }
}
