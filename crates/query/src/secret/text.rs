//! Secret text: UTF-8, filled up with zero bytes.
//!
//! Places are between bytes: the place `j` is before the byte `j`, and the last is the length. A set of places has a bit for each.

use std::collections::BTreeMap;

use cenote_program::Bits;

use super::cell::number;
use crate::call::Wanted;
use crate::expr::balanced;

/// The bytes of a text, and which of them are what.
struct Bytes {
    length: u32,
    /// Of each two bits of a byte, from the lowest on, where they are 0, 1, 2 and 3.
    pairs: [[Bits; 4]; 4],
    /// Where the lower or the upper four bits are a number, as far as was asked.
    halves: BTreeMap<(usize, u8), Bits>,
    known: BTreeMap<u8, Bits>,
}

impl Bytes {
    fn of(text: &Bits) -> Self {
        let length = text.width() / 8;
        let pair = |at: u32| {
            let [low, high] = [2 * at, 2 * at + 1].map(|bit| {
                let places: Vec<u32> = (0..length).rev().map(|byte| 8 * byte + bit).collect();
                text.picked(&places)
            });
            let both = low.and(&high);
            let none = low.xor(&high).xor(&both).not();
            [none, low.xor(&both), high.xor(&both), both]
        };
        Bytes {
            length,
            pairs: [0, 1, 2, 3].map(pair),
            halves: BTreeMap::new(),
            known: BTreeMap::new(),
        }
    }

    /// Which of them are `byte`.
    fn are(&mut self, byte: u8) -> Bits {
        if let Some(known) = self.known.get(&byte) {
            return known.clone();
        }
        let [low, high] = [(0, byte & 15), (1, byte >> 4)].map(|(half, number)| {
            let of_pairs = |at: usize, number: u8| &self.pairs[2 * half + at][usize::from(number)];
            let found = || of_pairs(0, number & 3).and(of_pairs(1, number >> 2));
            self.halves.entry((half, number)).or_insert_with(found).clone()
        });
        let found = low.and(&high);
        self.known.insert(byte, found.clone());
        found
    }

    /// Which continue the character of the byte before.
    fn continue_characters(&self) -> &Bits {
        &self.pairs[3][2]
    }

    /// Places that are reached from those of `reached` by these bytes.
    fn after(&mut self, reached: &Bits, bytes: &[u8]) -> Bits {
        let places = self.length + 1;
        let Some(from) = places.checked_sub(bytes.len() as u32).filter(|&from| from > 0) else {
            return number(reached.session(), places, 0);
        };
        let here = (0..).zip(bytes).map(|(at, &byte)| self.are(byte).part(at, from));
        let all = balanced(here.collect(), &|one: Bits, other| one.and(&other));
        let all = all.expect("there is a byte");
        moved(&reached.part(0, from).and(&all), bytes.len() as u32)
    }

    /// Places that are reached by one character. No place of `reached` is within one.
    fn after_character(&self, reached: &Bits) -> Bits {
        let length = self.length;
        // A character has four bytes at most.
        (0..3).fold(moved(&reached.part(0, length), 1), |reached, _| {
            let within = reached.part(0, length).and(self.continue_characters());
            let whole = reached.xor(&within.resized(length + 1, false));
            whole.xor(&moved(&within, 1))
        })
    }

    /// Which begin characters of the text.
    fn begin_characters(&mut self) -> Bits {
        self.are(0).or(self.continue_characters()).not()
    }

    /// The place behind the text.
    fn end(&mut self) -> Bits {
        let zero = self.are(0);
        let one = number(zero.session(), 1, 1);
        Bits::join(&[&zero, &one]).xor(&moved(&zero, 1))
    }
}

/// Whether a text is like a pattern.
pub(super) fn like(text: &Bits, pattern: &[Wanted]) -> Bits {
    let last = pattern.iter().rposition(|wanted| *wanted != Wanted::Anything);
    let (closed, open) = pattern.split_at(last.map_or(0, |last| last + 1));
    let mut bytes = Bytes::of(text);
    let nothing = number(text.session(), bytes.length + 1, 0);
    // All places up to which the text is like the pattern so far: what leads to them does not matter.
    let mut reached = number(text.session(), bytes.length + 1, 1);
    let together = |one: &Wanted, next: &Wanted| {
        use Wanted::{Anything, Exactly};
        matches!((one, next), (Exactly(_), Exactly(_)) | (Anything, Anything))
    };
    for wanted in closed.chunk_by(together) {
        reached = match wanted[0] {
            Wanted::Anything => reached.prefix_or(),
            Wanted::Any => {
                let characters = bytes.begin_characters().resized(bytes.length + 1, false);
                bytes.after_character(&reached.and(&characters))
            }
            Wanted::Exactly(_) => {
                let text: String = wanted.iter().filter_map(|wanted| wanted.character()).collect();
                bytes.after(&reached, text.as_bytes())
            }
        };
    }
    if open.is_empty() {
        reached = reached.and(&bytes.end());
    }
    reached.equal(&nothing).not()
}

/// The characters of a text from the place `skipped` on, and no more than `count`, in `width` bits, which hold them.
pub(super) fn characters(text: &Bits, skipped: u32, count: Option<u32>, width: u32) -> Bits {
    let found = without(text, skipped, width);
    let Some(count) = count else {
        return found;
    };
    let length = width / 8;
    if count >= length {
        return found;
    }
    if count == 0 {
        return number(text.session(), width, 0);
    }
    let ended = after_characters(&found, count).prefix_or().part(0, length).not();
    let kept: Vec<u32> = (0..width).rev().map(|bit| bit / 8).collect();
    found.and(&ended.picked(&kept))
}

/// The text without the first `skipped` characters, as far as `width` bits hold it.
fn without(text: &Bits, skipped: u32, width: u32) -> Bits {
    // The first byte is the highest.
    let from = |place: u32| {
        let left = text.part(0, text.width() - 8 * place);
        let cut = left.width().saturating_sub(width);
        let part = left.part(cut, left.width() - cut);
        match width - part.width() {
            0 => part,
            missing => Bits::join(&[&number(text.session(), missing, 0), &part]),
        }
    };
    if skipped == 0 {
        return from(0);
    }
    let none = number(text.session(), width, 0);
    let length = text.width() / 8;
    if skipped >= length {
        return none;
    }
    let begins = after_characters(text, skipped);
    (skipped..length.min(4 * skipped + 1)).fold(none, |found, place| {
        found.xor(&from(place).where_chosen(&begins.part(place, 1)))
    })
}

/// The place behind so many characters, of which zero bytes are some; none if there are not as many.
fn after_characters(text: &Bits, count: u32) -> Bits {
    let bytes = Bytes::of(text);
    let first = number(text.session(), bytes.length + 1, 1);
    (0..count).fold(first, |reached, _| bytes.after_character(&reached))
}

/// All places that many further.
fn moved(places: &Bits, by: u32) -> Bits {
    Bits::join(&[&number(places.session(), by, 0), places])
}
