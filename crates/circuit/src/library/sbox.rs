//! The S-box of AES: inversion in GF(2^8) through the tower GF(2) ⊂ GF(2^2) ⊂ GF(2^4) ⊂ GF(2^8), then an affine map. Its
//! inverse is the inverse of that map, then the inversion.
//!
//! Write `x = a·u + b·u^16` with `a`, `b` in GF(2^4) and `(u, u^16)` a normal basis. The norm `N = x^17` lies in
//! GF(2^4), and `x^-1 = x^16 / N = (b/N)·u + (a/N)·u^16` (0 for `x = 0`). A product in GF(2^4) takes 9 ANDs, by Karatsuba twice, so
//! that `a·b` in `N`, `b/N` and `a/N` take 27; the rest is one inversion in GF(2^4), whose circuit is found by search
//! (`synthesis`). This is the structure of Boyar and Peralta ("A new combinational logic minimization technique with
//! applications to cryptology", 2010), whose 32 ANDs have depth 6. Every linear map between two layers of ANDs, changes of
//! basis included, is worked out here from field arithmetic and made small by `linear`.
//!
//! The basis is the normal tower for which the circuit of 32 ANDs takes fewest XORs, 88, and 91 for the inverse; the others
//! share it.

use std::sync::OnceLock;

use super::field::{coordinates, multiply, power};
use super::goal::Goal;
use super::linear::LinearMap;
use super::synthesis::{self, Program};
use crate::{Bit, Builder};

/// Which circuit stands for the S-box of AES. All compute the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AesSbox {
    /// 32 ANDs at depth 5.
    FewestAnds,
    /// 33 ANDs at depth 4.
    Balanced,
    /// 49 ANDs at depth 3, the least there is: the outputs have degree 7.
    LeastDepth,
}

impl From<Goal> for AesSbox {
    fn from(goal: Goal) -> Self {
        match goal {
            Goal::FewestAnds => AesSbox::FewestAnds,
            Goal::LeastDepth => AesSbox::LeastDepth,
        }
    }
}

/// The S-box of AES on one byte, least significant bit first.
///
/// # Panics
/// If `byte` is not 8 bits.
pub fn aes_sbox(b: &mut Builder, byte: &[Bit], kind: AesSbox) -> Vec<Bit> {
    static DESIGNS: [OnceLock<Design>; 3] = [const { OnceLock::new() }; 3];
    let design = DESIGNS[kind as usize].get_or_init(|| Design::new(&FORWARD_BASIS, kind, Direction::Forward));
    let linear = design.apply(b, byte);
    flip(&linear, AFFINE_CONSTANT)
}

/// The inverse of [`aes_sbox`], with as many ANDs and of the same depth.
///
/// # Panics
/// If `byte` is not 8 bits.
pub fn aes_inverse_sbox(b: &mut Builder, byte: &[Bit], kind: AesSbox) -> Vec<Bit> {
    static DESIGNS: [OnceLock<Design>; 3] = [const { OnceLock::new() }; 3];
    let design = DESIGNS[kind as usize].get_or_init(|| Design::new(&INVERSE_BASIS, kind, Direction::Inverse));
    design.apply(b, &flip(byte, AFFINE_CONSTANT))
}

/// The constant of the affine map.
const AFFINE_CONSTANT: u8 = 0x63;

fn flip(byte: &[Bit], mask: u8) -> Vec<Bit> {
    let flip = |(i, &bit): (usize, &Bit)| if mask >> i & 1 == 1 { !bit } else { bit };
    byte.iter().enumerate().map(flip).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Inverse,
}

/// A tower of normal bases: `(u, u^16)` over GF(2^4), `(z, z^4)` over GF(2^2), `(w, w^2)` over GF(2).
#[derive(Clone, Copy, Debug)]
struct Basis {
    u: u8,
    z: u8,
    w: u8,
}

const FORWARD_BASIS: Basis = Basis {
    u: 0x0a,
    z: 0x0c,
    w: 0xbc,
};

const INVERSE_BASIS: Basis = Basis {
    u: 0x37,
    z: 0x0c,
    w: 0xbc,
};

/// A linear form of a nibble, and the element of GF(2^4) that the product of two such forms stands for.
struct Form {
    mask: u8,
    element: u8,
}

impl Basis {
    /// The basis of GF(2^4) over GF(2).
    fn nibble(&self) -> [u8; 4] {
        let (z, w) = (self.z, self.w);
        let (z4, w2) = (power(z, 4), power(w, 2));
        [multiply(z, w), multiply(z, w2), multiply(z4, w), multiply(z4, w2)]
    }

    /// The basis of GF(2^8) over GF(2): the nibble `a`, then `b`.
    fn byte(&self) -> [u8; 8] {
        let (e, u16th) = (self.nibble(), power(self.u, 16));
        std::array::from_fn(|i| multiply(e[i % 4], if i < 4 { self.u } else { u16th }))
    }

    /// Element of GF(2^4) with the given coordinates.
    fn element(&self, nibble: usize) -> u8 {
        let e = self.nibble();
        (0..4)
            .filter(|i| nibble >> i & 1 == 1)
            .fold(0, |sum, i| sum ^ e[i])
    }

    /// Coordinates of an element of GF(2^4).
    fn nibble_of(&self, element: u8) -> u64 {
        let found = (0..16).find(|&c| self.element(c) == element);
        found.expect("an element of GF(2^4)") as u64
    }

    /// Karatsuba in a normal basis, `(c1·t + c0·t')(d1·t + d0·t') = p1·(t² + tt') + p0·(t'² + tt') + p10·tt'` with
    /// `p10 = (c1 + c0)(d1 + d0)`, once over GF(2^2) and once over GF(2): the product of two nibbles is
    /// `Σ_k (form_k of the one ∧ form_k of the other) · element_k`.
    fn karatsuba(&self) -> Vec<Form> {
        let parts = |t: u8, conjugate: u8| {
            let cross = multiply(t, conjugate);
            let (square, conjugate_square) = (power(t, 2), power(conjugate, 2));
            [
                (0b01, square ^ cross),
                (0b10, conjugate_square ^ cross),
                (0b11, cross),
            ]
        };
        let inner = parts(self.w, power(self.w, 2));
        let outer = parts(self.z, power(self.z, 4));
        let mut forms = Vec::new();
        for (halves, outer_element) in outer {
            for (bits, inner_element) in inner {
                let mask = (0..2)
                    .filter(|h| halves >> h & 1 == 1)
                    .fold(0, |mask, h| mask | bits << (2 * h));
                forms.push(Form {
                    mask,
                    element: multiply(outer_element, inner_element),
                });
            }
        }
        forms
    }

    /// Truth tables of `n ↦ n^exponent` on GF(2^4), in coordinates.
    fn power_tables(&self, exponent: u32) -> [u16; 4] {
        let mut tables = [0; 4];
        for nibble in 0..16 {
            let image = self.nibble_of(power(self.element(nibble), exponent));
            for (i, table) in tables.iter_mut().enumerate() {
                *table |= ((image >> i & 1) as u16) << nibble;
            }
        }
        tables
    }

    /// Rows of the linear map on nibbles given by `f`, which is linear.
    fn nibble_map(&self, f: impl Fn(u8) -> u8) -> [u64; 4] {
        let images: [u64; 4] = std::array::from_fn(|i| self.nibble_of(f(self.element(1 << i))));
        std::array::from_fn(|row| transpose_row(&images, row))
    }
}

/// Row `row` of the matrix with the given columns.
fn transpose_row(columns: &[u64], row: usize) -> u64 {
    let bits = columns.iter().enumerate();
    bits.fold(0, |mask, (i, column)| mask | (column >> row & 1) << i)
}

/// XOR of the rows that `mask` picks: a linear form of the outputs of a map, as a form of its inputs.
fn pull_back(mask: u8, rows: &[u64]) -> u64 {
    let picked = rows.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
    picked.fold(0, |sum, (_, row)| sum ^ row)
}

/// The affine map of FIPS 197, section 5.1.1, without its constant.
fn affine(x: u8) -> u8 {
    x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4)
}

fn affine_inverse(x: u8) -> u8 {
    x.rotate_left(1) ^ x.rotate_left(3) ^ x.rotate_left(6)
}

/// The layers of an S-box or its inverse, on bytes without the constant of the affine map.
struct Design {
    /// From the byte: nine forms of `a`, nine of `b`, then the linear part of `N`.
    top: LinearMap,
    /// From the linear part of `N` and the nine products of `a·b`: `N`.
    norm: LinearMap,
    middle: Middle,
    /// From 18 products: the output, without the constant of the affine map.
    bottom: LinearMap,
}

/// How `N` becomes the factor of the last products.
enum Middle {
    /// `1/N`, then its nine forms; the last products are with the forms of `a` and `b`.
    Inverse(Steps),
    /// `x^16 / N = (x^16 · N^8) · N^6`, whose factors have degree 3 and 4 and depth 2.
    Split {
        /// Nine forms of `N^8`.
        eighth: LinearMap,
        /// Nine forms of `a·N^8` from its nine products; the same for `b`.
        forms: LinearMap,
        /// Nine forms of `N^6`.
        sixth: Steps,
    },
}

/// A [`Program`] followed by linear forms of its outputs.
struct Steps {
    program: Program,
    forms: LinearMap,
}

impl Steps {
    fn new(program: Program, forms: &[Form]) -> Self {
        let outputs = program.outputs.map(u64::from);
        let rows: Vec<u64> = forms.iter().map(|f| pull_back(f.mask, &outputs)).collect();
        let forms = LinearMap::new(4 + program.ands.len(), &rows);
        Self { program, forms }
    }

    fn apply(&self, b: &mut Builder, nibble: &[Bit]) -> Vec<Bit> {
        let mut signals = nibble.to_vec();
        for &(x, y) in &self.program.ands {
            let (x, y) = (pick(b, &signals, x), pick(b, &signals, y));
            signals.push(b.and(x, y));
        }
        self.forms.apply(b, &signals)
    }
}

fn pick(b: &mut Builder, signals: &[Bit], mask: u32) -> Bit {
    let picked = signals.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
    picked.fold(Bit::FALSE, |sum, (_, &bit)| b.xor(sum, bit))
}

fn and_all(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
    x.iter().zip(y).map(|(&x, &y)| b.and(x, y)).collect()
}

impl Design {
    fn new(basis: &Basis, kind: AesSbox, direction: Direction) -> Self {
        let forms = basis.karatsuba();
        let u16th = power(basis.u, 16);

        // Coordinates of what is to be inverted, as rows over the bits of the byte.
        let units = coordinates(basis.byte()).map(u64::from);
        let columns: [u64; 8] = std::array::from_fn(|i| match direction {
            Direction::Forward => units[i],
            Direction::Inverse => pull_back(affine_inverse(1 << i), &units),
        });
        let byte: Vec<u64> = (0..8).map(|row| transpose_row(&columns, row)).collect();
        let (a, b) = byte.split_at(4);
        let mut top: Vec<u64> = forms.iter().map(|f| pull_back(f.mask, a)).collect();
        top.extend(forms.iter().map(|f| pull_back(f.mask, b)));

        // N = (a + b)^2 · u^17 + a·b · (u + u^16)^2.
        let square = basis.nibble_map(|n| multiply(multiply(n, n), power(basis.u, 17)));
        let sum: Vec<u64> = a.iter().zip(b).map(|(a, b)| a ^ b).collect();
        top.extend(square.iter().map(|&row| pull_back(row as u8, &sum)));
        let trace_squared = power(basis.u ^ u16th, 2);
        let products: Vec<u64> = forms
            .iter()
            .map(|f| basis.nibble_of(multiply(f.element, trace_squared)))
            .collect();
        let norm: Vec<u64> = (0..4)
            .map(|row| 1 << row | transpose_row(&products, row) << 4)
            .collect();

        let inverse = |ands, depth| {
            let program = synthesis::search(basis.power_tables(14), ands, depth);
            Middle::Inverse(Steps::new(program.expect("found for every basis"), &forms))
        };
        let middle = match kind {
            AesSbox::FewestAnds => inverse(5, 3),
            AesSbox::Balanced => inverse(6, 2),
            AesSbox::LeastDepth => {
                let rows_of =
                    |rows: &[u64]| -> Vec<u64> { forms.iter().map(|f| pull_back(f.mask, rows)).collect() };
                let eighth = basis.nibble_map(|n| power(n, 8));
                let products: Vec<u64> = forms.iter().map(|f| basis.nibble_of(f.element)).collect();
                let product: Vec<u64> = (0..4).map(|row| transpose_row(&products, row)).collect();
                let sixth = synthesis::search(basis.power_tables(6), 4, 1);
                Middle::Split {
                    eighth: LinearMap::new(4, &rows_of(&eighth)),
                    forms: LinearMap::new(9, &rows_of(&product)),
                    sixth: Steps::new(sixth.expect("found for every basis"), &forms),
                }
            }
        };

        // a/N · u^16 + b/N · u, forward through the affine map.
        let image = |element: u8| match direction {
            Direction::Forward => affine(element),
            Direction::Inverse => element,
        };
        let ends = [u16th, basis.u];
        let bottom: Vec<u64> = ends
            .iter()
            .flat_map(|&end| {
                forms
                    .iter()
                    .map(move |f| u64::from(image(multiply(f.element, end))))
            })
            .collect();
        let bottom: Vec<u64> = (0..8).map(|row| transpose_row(&bottom, row)).collect();
        Self {
            top: LinearMap::new(8, &top),
            norm: LinearMap::new(13, &norm),
            middle,
            bottom: LinearMap::new(18, &bottom),
        }
    }

    fn apply(&self, b: &mut Builder, byte: &[Bit]) -> Vec<Bit> {
        let top = self.top.apply(b, byte);
        let (a_forms, b_forms, linear) = (&top[..9], &top[9..18], &top[18..]);
        let mut terms = linear.to_vec();
        terms.extend(and_all(b, a_forms, b_forms));
        let norm = self.norm.apply(b, &terms);
        let mut products = Vec::with_capacity(18);
        match &self.middle {
            Middle::Inverse(steps) => {
                let inverse = steps.apply(b, &norm);
                for forms in [a_forms, b_forms] {
                    products.extend(and_all(b, forms, &inverse));
                }
            }
            Middle::Split { eighth, forms, sixth } => {
                let (eighth, sixth) = (eighth.apply(b, &norm), sixth.apply(b, &norm));
                for half in [a_forms, b_forms] {
                    let lifted = and_all(b, half, &eighth);
                    let lifted = forms.apply(b, &lifted);
                    products.extend(and_all(b, &lifted, &sixth));
                }
            }
        }
        self.bottom.apply(b, &products)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BitOrder, Gate};

    fn xors(basis: &Basis, direction: Direction) -> usize {
        let mut b = Builder::new();
        let byte = b.input("byte", 8, BitOrder::Lsb);
        let image = Design::new(basis, AesSbox::FewestAnds, direction).apply(&mut b, &byte);
        b.output("image", &image, BitOrder::Lsb);
        let circuit = b.finish();
        circuit
            .gates()
            .iter()
            .filter(|g| matches!(g, Gate::Xor(..)))
            .count()
    }

    #[test]
    fn no_normal_tower_needs_fewer_xors() {
        let subfield = |exponent: u32| (2..=255u8).filter(move |&x| power(x, exponent) == x);
        for (basis, direction, least) in [
            (FORWARD_BASIS, Direction::Forward, 88),
            (INVERSE_BASIS, Direction::Inverse, 91),
        ] {
            assert_eq!(xors(&basis, direction), least);
            for w in subfield(4) {
                for z in subfield(16).filter(|&z| power(z, 4) != z) {
                    for u in (0..=255u8).filter(|&u| power(u, 16) != u) {
                        let other = xors(&Basis { u, z, w }, direction);
                        assert!(least <= other, "{direction:?} {u:#x} {z:#x} {w:#x}");
                    }
                }
            }
        }
    }
}
