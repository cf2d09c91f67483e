//! Plans on clear bits.

use cenote_primitives::BitMatrix;

use super::{LocalOp, Plan};
use crate::eval::InputShape;

/// Bytes of slots evaluated at a time, so that they stay in the cache nearest to the core that holds them all.
const WORKING_SET: usize = 512 << 10;

impl Plan {
    /// Executes the plan in the clear: row `i` of `inputs` is input wire `i`, row `i` of the result output wire `i`,
    /// and each lane is an instance of its own.
    ///
    /// # Errors
    /// [`InputShape`] if `inputs` does not have one row per input wire.
    pub fn evaluate(&self, inputs: &BitMatrix) -> Result<BitMatrix, InputShape> {
        InputShape::check(inputs, self.input_wires())?;
        let mut outputs = BitMatrix::zeros(self.output_wires(), inputs.lanes());
        let width = (WORKING_SET / 8 / self.slots.max(1)).clamp(1, inputs.stride().max(1));
        let mut slots = Slots {
            width,
            words: vec![0; self.slots * width],
            products: vec![0; self.max_level_ands * width],
        };
        for start in (0..inputs.stride()).step_by(width) {
            let columns = start..inputs.stride().min(start + width);
            for (row, &slot) in self.input_slots.iter().enumerate() {
                slots.slot_mut(slot)[..columns.len()].copy_from_slice(&inputs.row(row)[columns.clone()]);
            }
            self.run(&mut slots);
            for (row, &slot) in self.output_slots.iter().enumerate() {
                outputs.row_mut(row)[columns.clone()].copy_from_slice(&slots.slot(slot)[..columns.len()]);
            }
        }
        outputs.mask_padding();
        Ok(outputs)
    }

    fn run(&self, slots: &mut Slots) {
        let width = slots.width;
        for level in &self.levels {
            for op in &self.local_ops[level.local.clone()] {
                match *op {
                    LocalOp::Xor { dst, a, b } => {
                        for i in 0..width {
                            slots.slot_mut(dst)[i] = slots.slot(a)[i] ^ slots.slot(b)[i];
                        }
                    }
                    LocalOp::Not { dst, a } => {
                        for i in 0..width {
                            slots.slot_mut(dst)[i] = !slots.slot(a)[i];
                        }
                    }
                    LocalOp::Const { dst, bit } => slots.slot_mut(dst).fill(if bit { u64::MAX } else { 0 }),
                    LocalOp::Copy { dst, a } => {
                        let a = a as usize * width;
                        slots.words.copy_within(a..a + width, dst as usize * width);
                    }
                }
            }
            let ands = &self.and_ops[level.ands.clone()];
            let Slots { words, products, .. } = slots;
            for (product, op) in products.chunks_exact_mut(width).zip(ands) {
                let a = &words[op.a as usize * width..][..width];
                let b = &words[op.b as usize * width..][..width];
                for ((product, a), b) in product.iter_mut().zip(a).zip(b) {
                    *product = a & b;
                }
            }
            for (product, op) in products.chunks_exact(width).zip(ands) {
                words[op.dst as usize * width..][..width].copy_from_slice(product);
            }
        }
    }
}

struct Slots {
    /// Words of a slot.
    width: usize,
    words: Vec<u64>,
    /// Results of the ANDs of one level until all their operands have been read.
    products: Vec<u64>,
}

impl Slots {
    fn slot(&self, slot: u32) -> &[u64] {
        &self.words[slot as usize * self.width..][..self.width]
    }

    fn slot_mut(&mut self, slot: u32) -> &mut [u64] {
        &mut self.words[slot as usize * self.width..][..self.width]
    }
}
