//! The outputs of a linear map over GF(2^8) are computed in groups: their size, and what is known of a group for each input.

/// Outputs computed at a time, whose sums stay in registers.
pub(super) const GROUP: usize = 8;

/// The coefficients by which an input goes into each output of a group, each in all four bytes of a word.
pub(super) type Coefficients = [u32; GROUP];

/// The products of each of a group's coefficients with the elements 0..16, and with their multiples by x^4.
pub(super) type Products = [[[u8; 16]; 2]; GROUP];
