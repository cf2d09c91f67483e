//! Values of the polynomials of a proof at its challenges.

use std::sync::OnceLock;

use cenote_primitives::gf128::{ONE, inverse, mul};
use cenote_primitives::{Block, sumcheck::QUARTER_POINTS};

/// Points at which the polynomial of the last step is told: 0 has the masks, 1 and 2 the last two elements.
pub(super) const LAST_POINTS: usize = 5;

/// What is told of them: the value at 1 follows from the claim.
pub(super) const LAST_VALUES: usize = LAST_POINTS - 1;

/// The element whose bits are those of `number`.
fn element(number: u64) -> Block {
    Block([number.to_le(), 0])
}

/// For each point of `{0, 1, ∞}^n`, the first coordinate slowest, its weight in the value at `challenge`, and whether it has no ∞.
fn point_weights(challenge: &[Block]) -> Vec<(Block, bool)> {
    let mut weights = vec![(ONE, true)];
    for &at in challenge {
        let at_infinity = mul(at, at) ^ at;
        weights = weights
            .into_iter()
            .flat_map(|(weight, is_node)| {
                let at_one = mul(weight, at);
                [
                    (weight ^ at_one, is_node),
                    (at_one, is_node),
                    (mul(weight, at_infinity), false),
                ]
            })
            .collect();
    }
    weights
}

/// A verifier's share of the value at `challenge` of the polynomial of the first message: at the points without ∞ its shares are the sums of its `rows`, at
/// the others what it was told.
pub(super) fn first_claim(challenge: &[Block], rows: &[Block], told: &[Block]) -> Block {
    let (mut rows, mut told) = (rows.iter().copied(), told.iter().copied());
    let mut claim = Block::ZERO;
    for (weight, is_node) in point_weights(challenge) {
        let share = if is_node { rows.next() } else { told.next() };
        claim ^= mul(weight, share.expect("a share of each point"));
    }
    claim
}

/// The same for a step of the tail: `claim` is the share of the sum over the points without ∞, from which the value at (0, 0) follows.
pub(super) fn next_claim(challenge: [Block; 2], claim: Block, told: &[Block; QUARTER_POINTS]) -> Block {
    let first = claim ^ told[0] ^ told[2] ^ told[3];
    let shares = std::iter::once(first).chain(*told);
    let weights = point_weights(&challenge);
    weights
        .into_iter()
        .zip(shares)
        .fold(Block::ZERO, |sum, ((weight, _), share)| sum ^ mul(weight, share))
}

/// The prover's values of the last step's polynomial at 0, 2, 3 and 4: the product of those through its masks and elements.
pub(super) fn last_values(u: &[Block; 3], v: &[Block; 3]) -> [Block; LAST_VALUES] {
    let at = |point: u64| mul(through(u, element(point)), through(v, element(point)));
    [mul(u[0], v[0]), mul(u[2], v[2]), at(3), at(4)]
}

/// A verifier's share of the last polynomial at `challenge`.
pub(super) fn last_claim(challenge: Block, claim: Block, told: &[Block; LAST_VALUES]) -> Block {
    let shares = [told[0], claim ^ told[1], told[1], told[2], told[3]];
    let weights = lagrange::<LAST_POINTS>(challenge);
    weights
        .into_iter()
        .zip(shares)
        .fold(Block::ZERO, |sum, (weight, share)| sum ^ mul(weight, share))
}

/// The value at `at` of the polynomial of degree two with these values at 0, 1 and 2.
pub(super) fn through(values: &[Block; 3], at: Block) -> Block {
    let weights = lagrange::<3>(at);
    weights
        .into_iter()
        .zip(values)
        .fold(Block::ZERO, |sum, (weight, &value)| sum ^ mul(weight, value))
}

/// Whether the masks count at `challenge`: not where they would be multiplied by 0.
pub(super) fn is_masked(challenge: Block) -> bool {
    challenge != element(1) && challenge != element(2)
}

/// The weights of the values at 0, 1, …, `N - 1` in the value at `at` of a polynomial of degree `N - 1`.
fn lagrange<const N: usize>(at: Block) -> [Block; N] {
    static INVERSES: OnceLock<[Block; 8]> = OnceLock::new();
    // Of sums of points.
    let inverses = INVERSES.get_or_init(|| std::array::from_fn(|number| inverse(element(number as u64))));
    std::array::from_fn(|own| {
        (0..N).filter(|&other| other != own).fold(ONE, |weight, other| {
            mul(weight, mul(at ^ element(other as u64), inverses[own ^ other]))
        })
    })
}

#[cfg(test)]
mod tests {
    use cenote_primitives::gf128::inner_product;
    use cenote_primitives::sumcheck::fold_weights;

    use super::*;

    fn elements<const N: usize>(seed: u64) -> [Block; N] {
        std::array::from_fn(|i| {
            Block([
                seed.wrapping_mul(0x9e37_79b9_7f4a_7c15 + i as u64),
                seed ^ i as u64,
            ])
        })
    }

    /// The value of a product of two multilinear polynomials, from the products at the points of the grid.
    #[test]
    fn claims_are_values_of_products() {
        let (challenge, f, h) = (elements::<2>(1), elements::<4>(2), elements::<4>(5));
        let weights = fold_weights(&challenge);
        let expected = mul(inner_product(&weights, &f), inner_product(&weights, &h));
        let at = |v: &[Block; 4]| {
            let [a, b, c, d] = *v;
            [b, a ^ b, c, d, c ^ d, a ^ c, b ^ d, a ^ b ^ c ^ d]
        };
        let (of_f, of_h) = (at(&f), at(&h));
        let told: [Block; QUARTER_POINTS] = std::array::from_fn(|i| mul(of_f[i], of_h[i]));
        let rows: [Block; 4] = std::array::from_fn(|i| mul(f[i], h[i]));
        let claim = rows.iter().fold(Block::ZERO, |sum, &row| sum ^ row);
        assert!(next_claim(challenge, claim, &told) == expected);
        let others = [told[1], told[4], told[5], told[6], told[7]];
        assert!(first_claim(&challenge, &rows, &others) == expected);
    }

    #[test]
    fn the_last_claim_is_the_product() {
        let (u, v, [at]) = (elements::<3>(7), elements::<3>(8), elements::<1>(9));
        let told = last_values(&u, &v);
        let claim = mul(u[1], v[1]) ^ mul(u[2], v[2]);
        assert!(last_claim(at, claim, &told) == mul(through(&u, at), through(&v, at)));
        for (point, value) in u.iter().enumerate() {
            assert!(through(&u, element(point as u64)) == *value);
        }
        assert!(is_masked(at) && is_masked(Block::ZERO) && !is_masked(element(1)) && !is_masked(element(2)));
    }
}
