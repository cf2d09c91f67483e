//! Programs that are useful in themselves, and show how programs are written.

mod card_fraud;
mod edit_distance;
mod hospitals;

pub use card_fraud::{Spent, joint_spending};
pub use edit_distance::edit_distance;
pub use hospitals::{Stay, Stays, joint_stays};

use crate::secret::Secret;

/// In how many places two rows of bits differ (Hamming distance): about one AND for each place.
#[track_caller]
pub fn hamming_distance(x: &Secret<bool>, y: &Secret<bool>) -> Secret<u32> {
    (x ^ y).count()
}
