//! GF(2^8) as AES writes it, on clear bytes: only ever used to work out the constants of a circuit.

/// `x · y` modulo `X^8 + X^4 + X^3 + X + 1`.
pub(super) fn multiply(x: u8, y: u8) -> u8 {
    (0..8).rev().fold(0, |sum, i| {
        let doubled = (sum << 1) ^ if sum & 0x80 != 0 { 0x1b } else { 0 };
        doubled ^ if y >> i & 1 == 1 { x } else { 0 }
    })
}

/// `x^exponent`.
pub(super) fn power(x: u8, exponent: u32) -> u8 {
    (0..exponent).fold(1, |product, _| multiply(product, x))
}

/// The coordinates of every unit vector of the standard basis with respect to `basis`: element `i` is `c` with
/// `2^i = Σ_j c_j · basis[j]`, bit `j` of `c` being `c_j`.
///
/// # Panics
/// If `basis` is not a basis of GF(2)^8.
pub(super) fn coordinates(basis: [u8; 8]) -> [u8; 8] {
    // Gauss–Jordan on rows (basis[j] | unit j).
    let mut rows: [(u8, u8); 8] = std::array::from_fn(|j| (basis[j], 1 << j));
    for i in 0..8 {
        let pivot = (i..8).find(|&j| rows[j].0 >> i & 1 == 1).expect("a basis");
        rows.swap(i, pivot);
        for j in 0..8 {
            if j != i && rows[j].0 >> i & 1 == 1 {
                rows[j] = (rows[j].0 ^ rows[i].0, rows[j].1 ^ rows[i].1);
            }
        }
    }
    rows.map(|(_, c)| c)
}
