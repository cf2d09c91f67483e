//! Which code, and the sizes that follow from it.

use std::sync::Arc;

use cenote_params::ihash::{InteractiveHash, LABEL_SYMBOL_BITS, LABEL_UNIT, LONGEST_LABEL_CODE};
use cenote_params::{Refusal, Setting};
use cenote_primitives::reed_solomon::ReedSolomon;
use cenote_primitives::{Block, Block512};

use super::batch::Batch;

/// The code of a set-up: how long labels, hashes and messages are. Copies share their memory.
#[derive(Clone)]
pub struct Code {
    parameters: InteractiveHash,
    pub(super) code: Arc<ReedSolomon>,
}

impl Code {
    /// The code with these parameters, such as [`cenote_params::ihash::for_labels`] finds.
    ///
    /// # Errors
    /// If symbols are not bytes, labels or hashes not whole blocks, or the code is too long, with parameters that will do.
    pub fn new(parameters: InteractiveHash) -> Result<Self, Refusal> {
        let (n, k, w) = (parameters.length(), parameters.message(), parameters.watched());
        let mut refusal = Refusal::new("i-hash of labels");
        if parameters.symbol_bits() != LABEL_SYMBOL_BITS {
            let found = format!("symbol bits = {}", parameters.symbol_bits());
            refusal = refusal.because("symbols are bytes", found);
        }
        if !(k.is_multiple_of(LABEL_UNIT) && w.is_multiple_of(LABEL_UNIT)) {
            refusal = refusal.because("labels and hashes are whole blocks", format!("k = {k}, w = {w}"));
        }
        if n > LONGEST_LABEL_CODE {
            refusal = refusal.because(format!("n <= {LONGEST_LABEL_CODE}"), format!("n = {n}"));
        }
        if refusal.violated.is_empty() {
            return Ok(Self {
                parameters,
                code: Arc::new(ReedSolomon::new(n as usize, k as usize)),
            });
        }
        let w = w.next_multiple_of(LABEL_UNIT).clamp(LABEL_UNIT, 224);
        let k = k.next_multiple_of(LABEL_UNIT).clamp(w + LABEL_UNIT, 240);
        let settings = [
            ("n", n.clamp(k + 1, LONGEST_LABEL_CODE)),
            ("k", k),
            ("w", w),
            ("symbol bits", LABEL_SYMBOL_BITS),
        ];
        Err(refusal.nearest(settings.map(|(name, v)| Setting::new(name, f64::from(v))).into()))
    }

    /// The parameters that it was made from.
    pub fn parameters(&self) -> InteractiveHash {
        self.parameters
    }

    /// `n`: symbols of a codeword.
    pub fn length(&self) -> usize {
        self.code.length()
    }

    /// `k`: symbols, and so bytes, of a label.
    pub fn message(&self) -> usize {
        self.code.message()
    }

    /// `w`: watched positions, and so bytes of a hash.
    pub fn watched(&self) -> usize {
        self.parameters.watched() as usize
    }

    /// Blocks of a label.
    pub fn label_blocks(&self) -> usize {
        self.message() / size_of::<Block>()
    }

    /// Blocks of a hash.
    pub fn hash_blocks(&self) -> usize {
        self.watched() / size_of::<Block>()
    }

    /// Bytes of the message of a batch of random labels: for each unit `n - k` rows of a symbol for each label.
    pub fn random_bytes(&self, batch: Batch) -> usize {
        batch.units() * (self.length() - self.message()) * size_of::<Block512>()
    }

    /// Bytes of the message of a batch of chosen labels: for each unit `n` rows of a symbol for each label.
    pub fn chosen_bytes(&self, batch: Batch) -> usize {
        batch.units() * self.length() * size_of::<Block512>()
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (n, k, w) = (self.length(), self.message(), self.watched());
        write!(f, "Code([{n}, {k}], {w} watched)")
    }
}
