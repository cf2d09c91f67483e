//! Buckets of AND gates as the evaluator stores them to evaluate them.

use std::fmt;

use cenote_primitives::lanes::run_on;
use cenote_primitives::{Block, Block512, Simd};

use super::kernel::{EvaluateGroups, SOLDERED, TABLE, UNSOLDERED};
use super::{Base, GateTable, MAX_GATES, evaluate};

/// Buckets side by side in memory and in a register.
const GROUP: usize = 4;

/// AND buckets of `beta` gates each: tables, and solderings that move all gates of a bucket to the wires of its gate 0.
///
/// The blocks of four buckets are interleaved, so that one cache line, and one 512-bit register, has the same block of
/// each. Group `q` has buckets `4q..4q + 4`, as `5 beta - 3` lines: garbler's and evaluator's half of gate 0's table; then
/// of each further gate these two and the solderings of its left, right and output wire. Numbers of gates are
/// relative to `base`, and kept beside the blocks: of each group, gate 0 of the four buckets, then gate 1 and so on.
pub struct Buckets {
    beta: usize,
    base: Base,
    len: usize,
    numbers: Vec<u32>,
    blocks: Vec<Block512>,
}

impl Buckets {
    /// `len` buckets of `beta` gates each, all zero until [written](Buckets::writer).
    ///
    /// # Panics
    /// If `beta` is 0.
    pub fn new(beta: usize, base: Base, len: usize) -> Buckets {
        let [numbers, blocks] = Self::lengths(beta, len);
        let (numbers, blocks) = (bytemuck::zeroed_vec(numbers), bytemuck::zeroed_vec(blocks));
        Self::from_parts(beta, base, len, numbers, blocks)
    }

    /// The lengths of [`Buckets::numbers`] and [`Buckets::blocks`] for `len` buckets of `beta` gates each.
    ///
    /// # Panics
    /// If `beta` is 0.
    pub fn lengths(beta: usize, len: usize) -> [usize; 2] {
        assert!(beta > 0, "a bucket has gates");
        let groups = len.div_ceil(GROUP);
        [groups * numbers_per_group(beta), groups * blocks_per_group(beta)]
    }

    /// Buckets with the given [`Buckets::numbers`] and [`Buckets::blocks`].
    ///
    /// # Panics
    /// If `beta` is 0 or the lengths are not those of `len` buckets.
    pub fn from_parts(
        beta: usize,
        base: Base,
        len: usize,
        numbers: Vec<u32>,
        blocks: Vec<Block512>,
    ) -> Buckets {
        assert_eq!([numbers.len(), blocks.len()], Self::lengths(beta, len));
        Buckets {
            beta,
            base,
            len,
            numbers,
            blocks,
        }
    }

    /// Gates in a bucket.
    pub fn beta(&self) -> usize {
        self.beta
    }

    /// What the numbers are relative to.
    pub fn base(&self) -> Base {
        self.base
    }

    /// Number of buckets.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no bucket.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Numbers of gates, for storage.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Tables and solderings, for storage.
    pub fn blocks(&self) -> &[Block512] {
        &self.blocks
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.numbers[..]) + size_of_val(&self.blocks[..])
    }

    /// Writes gates and solderings.
    pub fn writer(&mut self) -> BucketsMut<'_> {
        BucketsMut {
            beta: self.beta,
            base: self.base,
            len: self.len,
            numbers: &mut self.numbers,
            blocks: &mut self.blocks,
        }
    }

    /// Evaluates buckets `first..first + left.len()` on labels of their inputs; returns whether in each of them all gates
    /// agreed. `outputs` has what gate 0 gave.
    ///
    /// # Panics
    /// If the lengths differ or there are fewer buckets.
    pub fn evaluate(&self, first: usize, left: &[Block], right: &[Block], outputs: &mut [Block]) -> bool {
        self.evaluate_on(Simd::detect(), first, left, right, outputs)
    }

    /// [`Buckets::evaluate`] on a given level (for tests and benchmarks).
    ///
    /// # Panics
    /// As [`Buckets::evaluate`], and if this CPU lacks the level.
    pub fn evaluate_on(
        &self,
        simd: Simd,
        first: usize,
        left: &[Block],
        right: &[Block],
        outputs: &mut [Block],
    ) -> bool {
        let count = left.len();
        assert!(right.len() == count && outputs.len() == count);
        assert!(first <= self.len && count <= self.len - first, "no such buckets");
        // Whole groups go straight from and to the slices; what is before and after them takes a detour.
        let head = (first.next_multiple_of(GROUP) - first).min(count);
        let body = (count - head) / GROUP * GROUP;
        let mut all = true;
        for (start, len) in [(0, head), (head, body), (head + body, count - head - body)] {
            let (left, right) = (&left[start..start + len], &right[start..start + len]);
            let outputs = &mut outputs[start..start + len];
            all &= match len {
                0 => true,
                _ if len % GROUP == 0 => self.groups(simd, first + start, left, right, outputs),
                _ => self.part(simd, first + start, left, right, outputs),
            };
        }
        all
    }

    /// Evaluates whole groups.
    fn groups(
        &self,
        simd: Simd,
        first: usize,
        left: &[Block],
        right: &[Block],
        outputs: &mut [Block],
    ) -> bool {
        let differences = self.run(
            simd,
            first / GROUP,
            left.as_chunks().0,
            right.as_chunks().0,
            outputs.as_chunks_mut().0,
        );
        differences == [Block::ZERO; GROUP]
    }

    /// Evaluates some buckets of one group.
    fn part(&self, simd: Simd, first: usize, left: &[Block], right: &[Block], outputs: &mut [Block]) -> bool {
        let (q, lanes) = (first / GROUP, first % GROUP..first % GROUP + left.len());
        let (mut of_left, mut of_right, mut out) =
            ([Block::ZERO; GROUP], [Block::ZERO; GROUP], [Block::ZERO; GROUP]);
        of_left[lanes.clone()].copy_from_slice(left);
        of_right[lanes.clone()].copy_from_slice(right);
        let differences = self.run(
            simd,
            q,
            std::slice::from_ref(&of_left),
            std::slice::from_ref(&of_right),
            std::slice::from_mut(&mut out),
        );
        outputs.copy_from_slice(&out[lanes.clone()]);
        differences[lanes]
            .iter()
            .fold(true, |all, lane| all & (*lane == Block::ZERO))
    }

    fn run(
        &self,
        simd: Simd,
        q: usize,
        left: &[[Block; GROUP]],
        right: &[[Block; GROUP]],
        outputs: &mut [[Block; GROUP]],
    ) -> [Block; GROUP] {
        run_on(
            simd,
            EvaluateGroups {
                beta: self.beta,
                base: self.base,
                numbers: &self.numbers[q * numbers_per_group(self.beta)..],
                blocks: &self.blocks[q * blocks_per_group(self.beta)..],
                left,
                right,
                outputs,
            },
        )
    }

    /// What each gate of bucket `bucket` gives for gate 0's output wire.
    ///
    /// # Panics
    /// If there is no such bucket, or `given` has not [`Buckets::beta`] entries.
    pub fn candidates(&self, bucket: usize, left: Block, right: Block, given: &mut [Block]) {
        assert!(bucket < self.len, "no such bucket");
        assert!(given.len() == self.beta, "a label for each gate");
        let (q, lane) = (bucket / GROUP, bucket % GROUP);
        let numbers = &self.numbers[q * numbers_per_group(self.beta)..];
        let blocks = &self.blocks[q * blocks_per_group(self.beta)..];
        let block = |i: usize| bytemuck::cast_ref::<Block512, [Block; GROUP]>(&blocks[i])[lane];
        for (gate, given) in given.iter_mut().enumerate() {
            let at = table_at(gate);
            let solderings = if gate == 0 {
                [Block::ZERO; 3]
            } else {
                [2, 3, 4].map(|i| block(at + i))
            };
            let table = GateTable {
                garbler: block(at),
                evaluator: block(at + 1),
            };
            let number = self.base.number.wrapping_add(numbers[GROUP * gate + lane].into());
            evaluate(
                self.base.start,
                &[number],
                &[left ^ solderings[0]],
                &[right ^ solderings[1]],
                &[table],
                std::slice::from_mut(given),
            );
            *given ^= solderings[2];
        }
    }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buckets({} of {} gates)", self.len, self.beta)
    }
}

/// Some buckets of [`Buckets`], writable, numbered from 0 on.
pub struct BucketsMut<'a> {
    beta: usize,
    base: Base,
    len: usize,
    numbers: &'a mut [u32],
    blocks: &'a mut [Block512],
}

impl<'a> BucketsMut<'a> {
    /// Number of buckets.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no bucket.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes gate number `number` the gate `gate` of bucket `bucket`.
    ///
    /// # Panics
    /// If there is no such bucket or gate, or the number is not one of the 2^32 from the base's on or not below [`MAX_GATES`].
    pub fn set_gate(&mut self, bucket: usize, gate: usize, number: u64, table: &GateTable) {
        assert!(bucket < self.len && gate < self.beta, "no such gate");
        assert!(number < MAX_GATES, "gates have 62-bit numbers");
        let relative = number
            .checked_sub(self.base.number)
            .and_then(|n| u32::try_from(n).ok());
        let (q, lane) = (bucket / GROUP, bucket % GROUP);
        self.numbers[q * numbers_per_group(self.beta) + GROUP * gate + lane] =
            relative.expect("a number close to the base");
        let at = q * blocks_per_group(self.beta) + table_at(gate);
        set(&mut self.blocks[at], lane, table.garbler);
        set(&mut self.blocks[at + 1], lane, table.evaluator);
    }

    /// Solders gate `gate`, not 0, of bucket `bucket` to gate 0: the sums of the two gates' 0-labels.
    ///
    /// # Panics
    /// If there is no such bucket or gate, or the gate is gate 0.
    pub fn set_soldering(&mut self, bucket: usize, gate: usize, left: Block, right: Block, output: Block) {
        assert!(
            bucket < self.len && gate > 0 && gate < self.beta,
            "no such soldering"
        );
        let at = bucket / GROUP * blocks_per_group(self.beta) + table_at(gate) + TABLE;
        for (i, block) in [left, right, output].into_iter().enumerate() {
            set(&mut self.blocks[at + i], bucket % GROUP, block);
        }
    }

    /// Parts of `len` buckets, the last with what remains, for several threads.
    ///
    /// # Panics
    /// If `len` is not a positive multiple of four.
    pub fn chunks(self, len: usize) -> impl Iterator<Item = BucketsMut<'a>> {
        assert!(len > 0 && len.is_multiple_of(GROUP), "chunks of whole groups");
        let BucketsMut {
            beta,
            base,
            len: all,
            numbers,
            blocks,
        } = self;
        let groups = len / GROUP;
        let numbers = numbers.chunks_mut(groups * numbers_per_group(beta));
        let blocks = blocks.chunks_mut(groups * blocks_per_group(beta));
        numbers
            .zip(blocks)
            .enumerate()
            .map(move |(k, (numbers, blocks))| BucketsMut {
                beta,
                base,
                len: len.min(all - k * len),
                numbers,
                blocks,
            })
    }
}

impl fmt::Debug for BucketsMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BucketsMut({} of {} gates)", self.len, self.beta)
    }
}

fn numbers_per_group(beta: usize) -> usize {
    GROUP * beta
}

fn blocks_per_group(beta: usize) -> usize {
    SOLDERED * beta - UNSOLDERED
}

/// Where in a group the table of gate `gate` begins.
fn table_at(gate: usize) -> usize {
    (SOLDERED * gate).saturating_sub(UNSOLDERED)
}

fn set(line: &mut Block512, lane: usize, block: Block) {
    bytemuck::cast_mut::<Block512, [Block; GROUP]>(line)[lane] = block;
}
