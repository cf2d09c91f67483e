//! Linear maps over GF(2) applied to rows of bits: encoders of linear codes, extractors.

use crate::cpu::multiversion;
use crate::{BitMatrix, Block512, Simd};

/// Inputs in a group, of whose sums there is a table.
pub(super) const GROUP: usize = 4;
/// Inputs taken at a time.
pub(super) const PASS: usize = 128;
/// Groups taken at a time.
pub(super) const GROUPS: usize = PASS / GROUP;

/// The sums of each group.
pub(super) type Tables = [[Block512; 1 << GROUP]; GROUPS];

/// Blocks of scratch that [`add_image`] needs.
pub const LINEAR_SCRATCH: usize = GROUPS << GROUP;

/// A public linear map over GF(2), from `inputs` rows of bits to `outputs` rows.
///
/// It is applied by the method of the four Russians (Arlazarov, Dinic, Kronrod, Faradzhev 1970): whole rows are added, and
/// of each four inputs all sums are tabulated, so that an output needs one addition for four inputs. Which sum is taken
/// depends on the map only, never on the rows.
#[derive(Debug)]
pub struct LinearMap {
    inputs: usize,
    outputs: usize,
    /// For each pass, for each output, the number of the sum taken from each group.
    choices: Vec<[u8; GROUPS]>,
}

impl LinearMap {
    /// The map whose matrix has an output for every row and an input for every lane.
    pub fn new(matrix: &BitMatrix) -> Self {
        let (inputs, outputs) = (matrix.lanes(), matrix.rows());
        let mut choices = Vec::with_capacity(inputs.div_ceil(PASS) * outputs);
        for first in (0..inputs).step_by(PASS) {
            choices.extend((0..outputs).map(|output| {
                std::array::from_fn(|group| {
                    let first = first + GROUP * group;
                    let chosen = (0..GROUP).filter(|i| first + i < inputs && matrix.get(output, first + i));
                    chosen.fold(0, |choice, i| choice | 1 << i)
                })
            }));
        }
        Self {
            inputs,
            outputs,
            choices,
        }
    }
}

/// Adds (XOR) the image of `inputs` under `map` to `outputs`. The scratch, which may hold anything before, holds sums of
/// inputs afterwards.
///
/// # Panics
/// If the numbers of rows are not those of the map.
pub fn add_image(
    map: &LinearMap,
    inputs: &[Block512],
    outputs: &mut [Block512],
    scratch: &mut [Block512; LINEAR_SCRATCH],
) {
    add_image_on(Simd::detect(), map, inputs, outputs, scratch);
}

/// [`add_image`] on a given level.
pub(super) fn add_image_on(
    level: Simd,
    map: &LinearMap,
    inputs: &[Block512],
    outputs: &mut [Block512],
    scratch: &mut [Block512; LINEAR_SCRATCH],
) {
    assert_eq!(
        (inputs.len(), outputs.len()),
        (map.inputs, map.outputs),
        "rows of the map"
    );
    if outputs.is_empty() {
        return;
    }
    let tables = bytemuck::cast_mut(scratch);
    for (inputs, choices) in inputs.chunks(PASS).zip(map.choices.chunks(outputs.len())) {
        match level.assert_supported() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AVX-512 F.
            Simd::Avx512 => unsafe { super::avx512::add_chosen(inputs, choices, outputs, tables) },
            _ => add_chosen::on(level, inputs, choices, outputs, tables),
        }
    }
}

multiversion! {
    #[allow(dead_code, reason = "called for a given level only")]
    /// One pass: at most [`PASS`] inputs, and for each output the sum taken from each table.
    fn add_chosen(
        inputs: &[Block512],
        choices: &[[u8; GROUPS]],
        outputs: &mut [Block512],
        tables: &mut Tables,
    ) {
        for (group, table) in tables.iter_mut().enumerate() {
            table[0] = Block512::ZERO;
            for i in 0..GROUP {
                let input = inputs.get(GROUP * group + i).copied().unwrap_or(Block512::ZERO);
                for sum in 0..1 << i {
                    table[1 << i | sum] = table[sum] ^ input;
                }
            }
        }
        for (output, choices) in outputs.iter_mut().zip(choices) {
            let mut sum = *output;
            for (table, &choice) in tables.iter().zip(choices) {
                sum ^= table[usize::from(choice) % (1 << GROUP)];
            }
            *output = sum;
        }
    }
}
