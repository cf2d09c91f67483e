//! Rows put together into one secret.

use cenote_circuit::library;
use cenote_circuit::{Bit, Builder};

use super::Secret;
use crate::function::call;
use crate::op::{Called, Op};
use crate::value::Value;
use crate::word::{Integer, Word};

/// Bits that are counted in one circuit: 2^7 - 1 take 120 ANDs.
const COUNTED: usize = 127;

impl<T: Word> Secret<T> {
    /// All secrets of the row put together by `combine`, which is associative and commutative: as many calls as there are secrets but one, in
    /// as few steps one after another as possible.
    #[track_caller]
    pub fn fold(&self, combine: impl Fn(&Self, &Self) -> Self) -> Self {
        let combine = |x: &Value, y: &Value| {
            let (x, y) = (Secret::of(x.clone()), Secret::of(y.clone()));
            combine(&x, &y).value().clone()
        };
        Secret::of(self.value().folded(1, combine, |left, _| left.clone()))
    }
}

impl<T: Integer> Secret<T> {
    /// The sum of the row, modulo 2 to the number of bits.
    #[track_caller]
    pub fn sum(&self) -> Self {
        self.fold(|x, y| x + y)
    }

    /// The least of the row.
    #[track_caller]
    pub fn least(&self) -> Self {
        self.fold(|x, y| x.min(y))
    }

    /// The greatest of the row.
    #[track_caller]
    pub fn greatest(&self) -> Self {
        self.fold(|x, y| x.max(y))
    }
}

impl Secret<bool> {
    /// Whether all of the row are true.
    #[track_caller]
    pub fn all(&self) -> Self {
        self.fold(|x, y| x & y)
    }

    /// Whether any of the row is true.
    #[track_caller]
    pub fn any(&self) -> Self {
        !(!self).all()
    }

    /// How many of the row are true: about one AND for each.
    #[track_caller]
    pub fn count(&self) -> Secret<u32> {
        let count = self.len();
        if count == 1 {
            return self.to_integer();
        }
        // Every so many places in one circuit, side by side; places that are left are counted in circuits with zeros.
        let lanes = count.div_ceil(COUNTED);
        let parts: Vec<Value> = (0..count)
            .step_by(lanes)
            .map(|from| {
                let here = lanes.min(count - from);
                let part = self.value().slice(from, here);
                match lanes - here {
                    0 => part,
                    missing => {
                        let zeros = self.session().constant(1, 0).repeated(missing);
                        Value::concat(&[&part, &zeros])
                    }
                }
            })
            .collect();
        let width = parts.len().ilog2() + 1;
        let name = format!("count of {} bits", parts.len());
        let counter = Called::new(
            name,
            parts.len() as u64,
            |b: &mut Builder, operands: &[&[Bit]], _| library::popcount(b, &operands.concat()),
        );
        let counts = call(&counter, &parts.iter().collect::<Vec<_>>(), &[width]).remove(0);
        Secret::of(summed(counts))
    }
}

/// The sum of a row of numbers, as 32 bits: sums get wider as they grow.
fn summed(row: Value) -> Value {
    let wide = |part: &Value, width| Value::apply(Op::Resize { signed: false }, &[part], width);
    let add = |x: &Value, y: &Value| {
        let width = (x.width() + 1).min(32);
        Value::apply(Op::Add, &[&wide(x, width), &wide(y, width)], width)
    };
    wide(&row.folded(1, add, wide), 32)
}
