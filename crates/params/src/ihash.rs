//! Interactive hashes (Zhu, Huang, ASIACRYPT 2017): code length and watched symbols.
//!
//! A value is `k` symbols, encoded by a Reed–Solomon code of length `n`; the verifier knows `w` of the `n` symbols of every
//! codeword, which ones the prover does not know. Two values agree in at most `k - 1` symbols, so a wrong value passes with
//! probability at most `C(k-1,w)/C(n,w)`; the `k - w` symbols that are left hide the value. [`search`] finds the shortest code,
//! [`for_labels`] that of wire labels, which makes gates cheapest.

use serde::Serialize;
use serde::ser::SerializeStruct;

use crate::combinatorics::log2_binomial;
use crate::{LogProb, Refusal, Setting};

/// Bits of a symbol of a wire label.
pub const LABEL_SYMBOL_BITS: u32 = 8;
/// A label's symbols are a multiple of this, so that labels are whole 128-bit blocks; and as many are not watched, so that 128
/// bits of a label are hidden.
pub const LABEL_UNIT: u32 = 16;
/// The longest code of labels.
pub const LONGEST_LABEL_CODE: u32 = 255;

/// Label differences sent for each gate of the pool: in a bucket of B gates, 2B solder the inputs and B - 1 the outputs.
const SOLDERINGS: f64 = 2.6;

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

    /// Bytes that a gate of the pool costs if its labels are hashed so: three wires with `n - k` parity symbols each, of which
    /// one is chosen and needs `k` symbols more; two table rows of `k`; and 2.6 label differences of `k` that solder it.
    #[must_use]
    pub fn bytes_per_gate(&self) -> f64 {
        let (n, k) = (f64::from(self.length), f64::from(self.message));
        let symbols = 3.0 * (n - k) + k + 2.0 * k + SOLDERINGS * k;
        symbols * f64::from(self.symbol_bits) / 8.0
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

/// The hash of wire labels: the code over GF(2^8) of at most [`LONGEST_LABEL_CODE`] symbols with error at most `2^-security` that
/// has the fewest [`InteractiveHash::bytes_per_gate`], among those in which labels are whole blocks and 16 symbols, 128 bits, are not
/// watched.
///
/// # Errors
/// A security level that no such code reaches, with the nearest that one does.
///
/// ```
/// let hash = cenote_params::ihash::for_labels(40)?;
/// assert_eq!((hash.length(), hash.message(), hash.watched()), (88, 48, 32));
/// # Ok::<(), cenote_params::Refusal>(())
/// ```
pub fn for_labels(security: u32) -> Result<InteractiveHash, Refusal> {
    let refusal = Refusal::new("i-hash of labels");
    let nearest = |security: u32| vec![Setting::new("security", f64::from(security))];
    if security == 0 {
        return Err(refusal
            .because("security >= 1", "security = 0")
            .nearest(nearest(1)));
    }
    label_codes()
        .filter_map(|longest| {
            let lengths = longest.message + 1..=longest.length;
            let mut codes = lengths.map(|length| InteractiveHash { length, ..longest });
            codes.find(|code| code.error().meets(security))
        })
        .min_by(|a, b| a.bytes_per_gate().total_cmp(&b.bytes_per_gate()))
        .ok_or_else(|| {
            let reached = |security: u32| label_codes().any(|code| code.error().meets(security));
            let highest = (1..security).take_while(|&s| reached(s)).last().unwrap_or(1);
            refusal
                .because(
                    format!("a code of at most {LONGEST_LABEL_CODE} symbols reaches 2^-security"),
                    format!("security = {security}"),
                )
                .nearest(nearest(highest))
        })
}

/// The longest code for every size of label.
fn label_codes() -> impl Iterator<Item = InteractiveHash> {
    (2..=(LONGEST_LABEL_CODE - 1) / LABEL_UNIT).map(|units| InteractiveHash {
        length: LONGEST_LABEL_CODE,
        message: units * LABEL_UNIT,
        watched: (units - 1) * LABEL_UNIT,
        symbol_bits: LABEL_SYMBOL_BITS,
    })
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

    /// Computed with exact integers: the security level; n, k and w.
    const KNOWN_LABEL_CODES: [(u32, [u32; 3]); 8] = [
        (20, [63, 32, 16]),
        (30, [74, 48, 32]),
        (40, [88, 48, 32]),
        (60, [113, 64, 48]),
        (64, [118, 64, 48]),
        (80, [142, 64, 48]),
        (128, [193, 96, 80]),
        (184, [255, 128, 112]),
    ];

    #[test]
    fn labels_have_known_codes() {
        for (s, known) in KNOWN_LABEL_CODES {
            let hash = for_labels(s).unwrap();
            assert_eq!([hash.length, hash.message, hash.watched], known, "s = {s}");
            assert_eq!(hash.hidden_bits(), 128);
        }
        let hash = for_labels(40).unwrap();
        assert_eq!(hash, InteractiveHash::new(88, 48, 32, 8).unwrap());
        assert!((hash.bytes_per_gate() - 388.8).abs() < 1e-9);
    }

    #[test]
    fn labels_have_the_cheapest_code() {
        for s in [1, 20, 33, 40, 57, 64, 80, 128] {
            let found = for_labels(s).unwrap();
            assert!(found.error().meets(s));
            for k in (32..255).step_by(16) {
                let all = (k + 1..=255).map(|n| InteractiveHash::new(n, k, k - 16, 8).unwrap());
                for other in all.filter(|code| code.error().meets(s)) {
                    assert!(
                        other.bytes_per_gate() >= found.bytes_per_gate(),
                        "{s}: {other:?} {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_no_code_of_labels_reaches_is_refused_with_what_one_does() {
        for (security, why, reached) in [
            (0, "security >= 1", 1),
            (185, "a code of at most 255 symbols", 184),
            (u32::MAX, "a code of at most 255 symbols", 184),
        ] {
            let refusal = for_labels(security).unwrap_err();
            assert!(refusal.to_string().contains(why), "{refusal}");
            assert_eq!(
                refusal.nearest_value("security"),
                Some(f64::from(reached)),
                "{refusal}"
            );
            assert!(for_labels(reached).is_ok());
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
