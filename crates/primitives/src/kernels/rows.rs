//! Kernels over rows of words: the free gates of a circuit, for all lanes of a row at once.

use crate::cpu::multiversion;

/// A gate that needs no communication, on slots: rows of an array.
///
/// In plans of circuits `dst` is never one of the operands, and there are no copies, since a copied wire shares its
/// slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalOp {
    /// `dst = a ⊕ b`.
    Xor {
        /// Slot written.
        dst: u32,
        /// First operand's slot.
        a: u32,
        /// Second operand's slot.
        b: u32,
    },
    /// `dst = ¬a`.
    Not {
        /// Slot written.
        dst: u32,
        /// Operand's slot.
        a: u32,
    },
    /// `dst` is a constant in every lane.
    Const {
        /// Slot written.
        dst: u32,
        /// The constant.
        bit: bool,
    },
    /// `dst = a`.
    Copy {
        /// Slot written.
        dst: u32,
        /// Operand's slot.
        a: u32,
    },
}

multiversion! {
    /// Executes `ops` in order on `slots`, an array of rows of `stride` words each. Public constants, and with them
    /// negations, take effect only if `constants` is set: of a shared value, one component alone carries them.
    ///
    /// # Panics
    /// If an operation names a slot beyond the array.
    pub fn run_local_ops(slots: &mut [u64], stride: usize, ops: &[LocalOp], constants: bool) {
        match stride {
            1 => return narrow::<1>(slots, ops, constants),
            2 => return narrow::<2>(slots, ops, constants),
            4 => return narrow::<4>(slots, ops, constants),
            8 => return narrow::<8>(slots, ops, constants),
            _ => {}
        }
        let ones = if constants { u64::MAX } else { 0 };
        for &op in ops {
            match op {
                LocalOp::Xor { dst, a, b } => {
                    let [dst, a, b] = [dst, a, b].map(|slot| slot as usize * stride);
                    if a == b {
                        slots[dst..dst + stride].fill(0);
                    } else if dst == a || dst == b {
                        let other = if dst == a { b } else { a };
                        let [dst, other] = slots
                            .get_disjoint_mut([dst..dst + stride, other..other + stride])
                            .expect("operations name slots within the array");
                        for (dst, other) in dst.iter_mut().zip(&*other) {
                            *dst ^= *other;
                        }
                    } else {
                        let [dst, a, b] = slots
                            .get_disjoint_mut([dst..dst + stride, a..a + stride, b..b + stride])
                            .expect("operations name slots within the array");
                        for ((dst, a), b) in dst.iter_mut().zip(&*a).zip(&*b) {
                            *dst = *a ^ *b;
                        }
                    }
                }
                LocalOp::Not { dst, a } | LocalOp::Copy { dst, a } => {
                    let mask = if matches!(op, LocalOp::Not { .. }) { ones } else { 0 };
                    let [dst, a] = [dst, a].map(|slot| slot as usize * stride);
                    slots.copy_within(a..a + stride, dst);
                    for word in &mut slots[dst..dst + stride] {
                        *word ^= mask;
                    }
                }
                LocalOp::Const { dst, bit } => {
                    let dst = dst as usize * stride;
                    slots[dst..dst + stride].fill(if bit { ones } else { 0 });
                }
            }
        }
    }
}

/// The same for rows so short that finding them would take longer than the operation: they are copied to registers.
#[inline(always)]
fn narrow<const STRIDE: usize>(slots: &mut [u64], ops: &[LocalOp], constants: bool) {
    let ones = if constants { u64::MAX } else { 0 };
    let rows = slots.as_chunks_mut::<STRIDE>().0;
    for &op in ops {
        let (dst, row) = match op {
            LocalOp::Xor { dst, a, b } => {
                let [a, b] = [a, b].map(|slot| rows[slot as usize]);
                (dst, std::array::from_fn(|word| a[word] ^ b[word]))
            }
            LocalOp::Not { dst, a } => (dst, rows[a as usize].map(|word| word ^ ones)),
            LocalOp::Copy { dst, a } => (dst, rows[a as usize]),
            LocalOp::Const { dst, bit } => (dst, [if bit { ones } else { 0 }; STRIDE]),
        };
        rows[dst as usize] = row;
    }
}
