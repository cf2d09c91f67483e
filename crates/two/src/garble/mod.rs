//! Half gates and wire authenticators (Zahur, Rosulek, Evans 2015; Nielsen et al. 2017).

use cenote_primitives::Block;

/// The two blocks of a garbled AND gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct GateTable {
    /// Of the garbler's half.
    pub garbler: Block,
    /// Of the evaluator's half.
    pub evaluator: Block,
}

/// `{H(K), H(K ^ Δ)}` in sorted order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Authenticator(pub [Block; 2]);

/// Garbles AND gates numbered from `first` on with 0-labels `left` and `right`: writes tables and output 0-labels.
pub fn garble(
    _delta: Block,
    _first: u64,
    _left: &[Block],
    _right: &[Block],
    _tables: &mut [GateTable],
    _outputs: &mut [Block],
) {
    unimplemented!()
}

/// Evaluates gates with the numbers `gates` on labels.
pub fn evaluate(
    _gates: &[u64],
    _left: &[Block],
    _right: &[Block],
    _tables: &[GateTable],
    _outputs: &mut [Block],
) {
    unimplemented!()
}

/// Authenticators numbered from `first` on of wires with 0-labels `wires`.
pub fn authenticate(_delta: Block, _first: u64, _wires: &[Block], _authenticators: &mut [Authenticator]) {
    unimplemented!()
}

/// Whether authenticator number `number` accepts `label`.
pub fn accepts(_number: u64, _authenticator: &Authenticator, _label: Block) -> bool {
    unimplemented!()
}

/// AND buckets of `beta` gates each, as the evaluator stores them to evaluate them.
///
/// For bucket `k`, `beta` numbers (relative to `base`) in `numbers`, and in `blocks` `5 beta - 3` blocks: the table of gate
/// 0; then for each further gate its table and the solderings of its left, right and output wire to gate 0's.
#[derive(Debug, Default)]
pub struct Buckets {
    /// Gates in a bucket.
    pub beta: usize,
    /// What the numbers are relative to.
    pub base: u64,
    /// Numbers of gates, less `base`.
    pub numbers: Vec<u32>,
    /// Tables and solderings.
    pub blocks: Vec<Block>,
}

impl Buckets {
    /// Evaluates buckets `first..first + left.len()`; returns whether in each of them all gates agreed. `outputs` has what
    /// gate 0 gave.
    pub fn evaluate(&self, _first: usize, _left: &[Block], _right: &[Block], _outputs: &mut [Block]) -> bool {
        unimplemented!()
    }

    /// What each gate of bucket `bucket` gives.
    pub fn candidates(&self, _bucket: usize, _left: Block, _right: Block) -> Vec<Block> {
        unimplemented!()
    }
}
