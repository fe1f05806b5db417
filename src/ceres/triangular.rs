//! Ceres's `LinearIndexToUpperTriangularIndex` (`internal/ceres/parallel_utils.h`): one loop over
//! the pairs `i <= j` of a symmetric matrix, without a square root per index.
//!
//! The triangle is folded into a rectangle, which takes one division to index. Row `r` has `n - r`
//! elements and row `n - 1 - r` has `r + 1`, together `n + 1`: for even `n` they share one row of a
//! rectangle that is `n + 1` wide and `n / 2` high. For odd `n` the longest row has no partner; with
//! it alone, and rows `r` and `n - r` together, the rectangle is `n` wide and `(n + 1) / 2` high.
//!
//! ```text
//! n = 4   00 01 02 03 33        n = 5   00 01 02 03 04
//!         11 12 13 22 23                11 12 13 14 44
//!                                       22 23 24 33 34
//! ```

/// Maps `k` in `0..n * (n + 1) / 2` one-to-one onto the pairs `(i, j)` with `i <= j < n`.
///
/// The order of the pairs is that of the folded triangle, not row by row. Takes constant time: one
/// division.
///
/// # Panics
///
/// In debug builds, if `k` is not below `n * (n + 1) / 2`, or if `n * (n + 1)` overflows. In
/// release builds the result is meaningless then (and `n == 0` may panic).
///
/// # Examples
///
/// ```
/// use conga::ceres::linear_index_to_upper_triangular_index;
///
/// let n = 3;
/// let mut pairs: Vec<_> = (0..n * (n + 1) / 2)
///     .map(|k| linear_index_to_upper_triangular_index(k, n))
///     .collect();
/// pairs.sort();
/// assert_eq!(pairs, [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]);
/// ```
#[inline]
pub fn linear_index_to_upper_triangular_index(k: usize, n: usize) -> (usize, usize) {
    debug_assert!(
        n.checked_mul(n + 1).is_some_and(|twice| k < twice / 2),
        "{k} is not below {n} * ({n} + 1) / 2"
    );
    let odd = n & 1;
    // The row of the rectangle begins with row `row` of the triangle, from its diagonal on.
    let width = n + 1 - odd;
    let (row, column) = (k / width, k % width);
    let own = n - row;
    if column < own {
        return (row, row + column);
    }
    // The rest is the partner's: row `n - 1 - row` for even n, `n - row` for odd n.
    let partner = n - 1 - row + odd;
    (partner, partner + column - own)
}

#[cfg(test)]
mod tests {
    use super::linear_index_to_upper_triangular_index;
    use std::collections::HashSet;

    // Ceres's UniqueAndValid: every pair is in range, in the upper triangle, and distinct, and
    // there are as many as there should be. Catches a wrong width, a wrong partner row, and even
    // and odd sizes mixed up.
    #[test]
    fn unique_and_valid() {
        for n in 0..100 {
            let count = n * (n + 1) / 2;
            let mut seen = HashSet::new();
            for k in 0..count {
                let (i, j) = linear_index_to_upper_triangular_index(k, n);
                assert!(i <= j && j < n, "n = {n}, k = {k}: ({i}, {j})");
                assert!(seen.insert((i, j)), "n = {n}, k = {k}: ({i}, {j}) again");
            }
            assert_eq!(seen.len(), count);
        }
    }

    // The two foldings of the module's picture, element by element: catches an order that is
    // one-to-one but no longer the documented rectangle.
    #[test]
    fn folds_as_documented() {
        let all = |n: usize| -> Vec<_> {
            (0..n * (n + 1) / 2)
                .map(|k| linear_index_to_upper_triangular_index(k, n))
                .map(|(i, j)| 10 * i + j)
                .collect()
        };
        assert_eq!(all(4), [0, 1, 2, 3, 33, 11, 12, 13, 22, 23]);
        assert_eq!(
            all(5),
            [0, 1, 2, 3, 4, 11, 12, 13, 14, 44, 22, 23, 24, 33, 34]
        );
    }

    // The largest sizes that are allowed do not overflow on the way, at both ends.
    #[test]
    fn largest_sizes() {
        let n = (1_usize << (usize::BITS / 2)) - 1;
        for n in [n, n - 1] {
            let last = n / 2 * (n + 1) + (n & 1) * n.div_ceil(2) - 1;
            assert_eq!(linear_index_to_upper_triangular_index(0, n), (0, 0));
            let (i, j) = linear_index_to_upper_triangular_index(last, n);
            assert!(i <= j && j < n, "n = {n}: ({i}, {j})");
        }
    }

    // An index past the triangle is refused in debug builds: catches a check that is off by one.
    #[test]
    #[cfg(debug_assertions)]
    fn past_the_end() {
        for (k, n) in [(0, 0), (10, 4), (15, 5), (0, usize::MAX - 1)] {
            let outcome = std::panic::catch_unwind(|| linear_index_to_upper_triangular_index(k, n));
            assert!(outcome.is_err(), "k = {k}, n = {n}");
        }
    }
}
