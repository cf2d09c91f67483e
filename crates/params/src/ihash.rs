//! Interactive hashes (Zhu, Huang, ASIACRYPT 2017): code length and watched symbols.
//!
//! A value is `k` symbols, encoded by a Reed–Solomon code of length `n`; the verifier knows `w` of the `n` symbols of every
//! codeword, which ones the prover does not know. Two values agree in at most `k - 1` symbols, so a wrong value passes with
//! probability at most `C(k-1,w)/C(n,w)`; the `k - w` symbols that are left hide the value.

use serde::Serialize;
use serde::ser::SerializeStruct;

use crate::combinatorics::log2_binomial;
use crate::{LogProb, Refusal, Setting};

/// A code and how much of it is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InteractiveHash {
    length: u32,
    message: u32,
    watched: u32,
    symbol_bits: u32,
}

impl InteractiveHash {
    /// The hash with code length `length`, `message` message symbols of `symbol_bits` bits, and `watched` watched symbols.
    ///
    /// # Errors
    /// Unless `1 <= watched < message < length <= 2^symbol_bits` and `2 <= symbol_bits <= 16`.
    pub fn new(length: u32, message: u32, watched: u32, symbol_bits: u32) -> Result<Self, Refusal> {
        let mut refusal = Refusal::new("i-hash");
        let bits = symbol_bits.clamp(2, 16);
        if bits != symbol_bits {
            refusal = refusal.because("2 <= symbol bits <= 16", format!("symbol bits = {symbol_bits}"));
        }
        if !(watched >= 1 && watched < message && message < length && length <= 1 << bits) {
            let found = format!("w = {watched}, k = {message}, n = {length}, field of 2^{bits}");
            refusal = refusal.because("1 <= w < k < n <= field size", found);
        }
        if refusal.violated.is_empty() {
            return Ok(Self {
                length,
                message,
                watched,
                symbol_bits,
            });
        }
        let length = length.clamp(3, 1 << bits);
        let message = message.clamp(2, length - 1);
        let settings = [
            ("n", length),
            ("k", message),
            ("w", watched.clamp(1, message - 1)),
            ("symbol bits", bits),
        ];
        Err(refusal.nearest(settings.map(|(name, v)| Setting::new(name, f64::from(v))).into()))
    }

    /// `n`: symbols of a codeword, and seeds of which the verifier gets some.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.length
    }

    /// `k`: symbols of a value. The prover sends `n - k` per value.
    #[must_use]
    pub fn message(&self) -> u32 {
        self.message
    }

    /// `w`: seeds that the verifier gets.
    #[must_use]
    pub fn watched(&self) -> u32 {
        self.watched
    }

    /// Bits of a symbol.
    #[must_use]
    pub fn symbol_bits(&self) -> u32 {
        self.symbol_bits
    }

    /// Bits of a value that the verifier does not know: `(k - w)` symbols.
    #[must_use]
    pub fn hidden_bits(&self) -> u32 {
        (self.message - self.watched) * self.symbol_bits
    }

    /// The probability that a wrong value passes, at most.
    #[must_use]
    pub fn error(&self) -> LogProb {
        let (n, k, w) = (
            u64::from(self.length),
            u64::from(self.message),
            u64::from(self.watched),
        );
        LogProb::from_log2(log2_binomial(k - 1, w) - log2_binomial(n, w))
    }
}

impl Serialize for InteractiveHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("InteractiveHash", 6)?;
        s.serialize_field("length", &self.length)?;
        s.serialize_field("message", &self.message)?;
        s.serialize_field("watched", &self.watched)?;
        s.serialize_field("symbol_bits", &self.symbol_bits)?;
        s.serialize_field("hidden_bits", &self.hidden_bits())?;
        s.serialize_field("error_log2", &self.error())?;
        s.end()
    }
}

/// The shortest code with error at most `2^-security` that leaves `hidden_bits` bits unknown; among those, the shortest value.
///
/// # Errors
/// A security level outside 1 to 128, no hidden bits, or a field too small for any code, with the smallest field that does.
pub fn search(security: u32, hidden_bits: u32, symbol_bits: u32) -> Result<InteractiveHash, Refusal> {
    let refusal = Refusal::new("i-hash");
    if !(1..=128).contains(&security)
        || !(1..=4096).contains(&hidden_bits)
        || !(2..=16).contains(&symbol_bits)
    {
        let found =
            format!("security = {security}, hidden bits = {hidden_bits}, symbol bits = {symbol_bits}");
        return Err(refusal
            .because(
                "1 <= security <= 128, 1 <= hidden bits <= 4096, 2 <= symbol bits <= 16",
                found,
            )
            .nearest(vec![
                Setting::new("security", f64::from(security.clamp(1, 128))),
                Setting::new("hidden bits", f64::from(hidden_bits.clamp(1, 4096))),
                Setting::new("symbol bits", f64::from(symbol_bits.clamp(2, 16))),
            ]));
    }
    if let Some(found) = shortest(security, hidden_bits, symbol_bits) {
        return Ok(found);
    }
    let field = (symbol_bits + 1..=16).find(|&bits| shortest(security, hidden_bits, bits).is_some());
    let settings = field.map(|bits| Setting::new("symbol bits", f64::from(bits)));
    Err(refusal
        .because(
            format!("a code over the field reaches 2^-{security}"),
            format!("{hidden_bits} hidden bits, field of 2^{symbol_bits}"),
        )
        .nearest(settings.into_iter().collect()))
}

fn shortest(security: u32, hidden_bits: u32, symbol_bits: u32) -> Option<InteractiveHash> {
    let unknown = hidden_bits.div_ceil(symbol_bits);
    let longest = (1u32 << symbol_bits).min(4096);
    let mut best: Option<InteractiveHash> = None;
    for watched in 1..longest {
        let message = watched + unknown;
        let end = best.map_or(longest, |b| b.length - 1);
        if message >= end {
            break;
        }
        let hash = |length| InteractiveHash {
            length,
            message,
            watched,
            symbol_bits,
        };
        if !hash(end).error().meets(security) {
            continue;
        }
        let (mut low, mut high) = (message, end);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if hash(middle).error().meets(security) {
                high = middle
            } else {
                low = middle
            }
        }
        best = Some(hash(high));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_of_the_protocol() {
        let labels = InteractiveHash::new(88, 48, 32, 8).unwrap();
        assert_eq!(labels.hidden_bits(), 128);
        assert_eq!(format!("{:.2}", labels.error()), "2^-40.26");
        let bits = InteractiveHash::new(44, 21, 20, 6).unwrap();
        assert_eq!(format!("{:.2}", bits.error()), "2^-40.68");
    }

    #[test]
    fn what_the_search_finds_is_shortest() {
        for (s, hidden, symbol) in [
            (40, 128, 8),
            (40, 1, 6),
            (64, 128, 8),
            (80, 128, 8),
            (128, 256, 10),
        ] {
            let found = search(s, hidden, symbol).unwrap();
            eprintln!("{s} {hidden} {symbol}: {found:?} {:.2}", found.error());
            assert!(found.error().meets(s) && found.hidden_bits() >= hidden);
            let shorter = (1..found.length).map(|w| (w, w + hidden.div_ceil(symbol)));
            for (w, k) in shorter.filter(|&(_, k)| k < found.length - 1) {
                assert!(
                    !InteractiveHash::new(found.length - 1, k, w, symbol)
                        .unwrap()
                        .error()
                        .meets(s)
                );
            }
        }
    }

    #[test]
    fn a_small_field_is_refused_with_one_that_does() {
        let refusal = search(128, 128, 4).unwrap_err();
        let bits = refusal.nearest_value("symbol bits").unwrap() as u32;
        assert!(search(128, 128, bits).is_ok());
        for (security, bits, why) in [
            (128, bits - 1, "a code over the field reaches"),
            (0, 8, "1 <= security"),
        ] {
            let refusal = search(security, 128, bits).unwrap_err();
            assert!(refusal.to_string().contains(why), "{refusal}");
        }
        for (n, k, w, m) in [
            (48, 48, 32, 8),
            (300, 48, 32, 8),
            (88, 48, 0, 8),
            (88, 48, 32, 1),
            (0, 0, 0, 0),
        ] {
            let near = InteractiveHash::new(n, k, w, m).unwrap_err();
            let get = |name| near.nearest_value(name).unwrap() as u32;
            assert!(
                InteractiveHash::new(get("n"), get("k"), get("w"), get("symbol bits")).is_ok(),
                "{near}"
            );
        }
    }
}
