//! Small symmetric positive definite matrices.

/// Elements on and below the diagonal of a matrix of size `n`.
pub const fn packed_size(n: usize) -> usize {
    n * (n + 1) / 2
}

/// A symmetric matrix from its rows up to the diagonal, one after the other.
pub fn unpack<const N: usize>(packed: &[f64]) -> [[f64; N]; N] {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let (row, column) = (i.max(j), i.min(j));
            packed[packed_size(row) + column]
        })
    })
}

/// The inverse, by Cholesky's factorisation. All NaN if the matrix is not positive definite to
/// working precision: whoever uses it finds out where results are checked anyway.
pub fn invert<const N: usize>(matrix: &[[f64; N]; N]) -> [[f64; N]; N] {
    let mut factor = [[0.0; N]; N];
    for j in 0..N {
        for i in j..N {
            let element = matrix[i][j] - dot(&factor[i][..j], &factor[j][..j]);
            if i > j {
                factor[i][j] = element / factor[j][j];
            } else if element > 0.0 {
                factor[j][j] = element.sqrt();
            } else {
                // Zero, negative or NaN.
                return [[f64::NAN; N]; N];
            }
        }
    }

    // The transposed inverse L⁻ᵀ of the factor, then L⁻ᵀ L⁻¹.
    let mut half = [[0.0; N]; N];
    for j in 0..N {
        half[j][j] = 1.0 / factor[j][j];
        for i in j + 1..N {
            half[j][i] = -dot(&factor[i][j..i], &half[j][j..i]) / factor[i][i];
        }
    }
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let first = i.max(j);
            dot(&half[i][first..], &half[j][first..])
        })
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

/// `matrix · x`, for a symmetric matrix.
pub fn multiply<const N: usize>(matrix: &[[f64; N]; N], x: &[f64; N]) -> [f64; N] {
    let mut product = [0.0; N];
    // By columns, which are the rows: the sums are independent of each other.
    for (column, x) in matrix.iter().zip(x) {
        for (product, element) in product.iter_mut().zip(column) {
            *product += element * x;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Random;

    fn check<const N: usize>() {
        let mut random = Random::new(N as u64);
        // AᵀA + I is positive definite.
        let a: [[f64; N]; N] = std::array::from_fn(|_| std::array::from_fn(|_| random.next()));
        let matrix: [[f64; N]; N] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let dot: f64 = (0..N).map(|k| a[k][i] * a[k][j]).sum();
                dot + f64::from(u8::from(i == j))
            })
        });
        for (i, row) in invert(&matrix).iter().enumerate() {
            for (j, element) in multiply(&matrix, row).into_iter().enumerate() {
                let expected = f64::from(u8::from(i == j));
                assert!((element - expected).abs() < 1e-12, "{element} at {i}, {j}");
            }
        }
    }

    /// Catches a wrong bound of any of the loops.
    #[test]
    fn a_matrix_times_its_inverse_is_the_identity() {
        check::<1>();
        check::<2>();
        check::<3>();
        check::<9>();
    }

    /// Catches the square root of a pivot that is zero, negative or NaN.
    #[test]
    fn what_is_not_positive_definite_has_no_inverse() {
        for matrix in [
            [[0.0, 0.0], [0.0, 1.0]],
            [[1.0, 2.0], [2.0, 1.0]],
            [[1.0, 0.0], [0.0, f64::NAN]],
        ] {
            assert!(invert(&matrix).as_flattened().iter().all(|x| x.is_nan()));
        }
    }

    /// Catches rows and columns that are mixed up.
    #[test]
    fn unpacks_row_by_row() {
        let matrix = unpack::<3>(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(matrix, [[1.0, 2.0, 4.0], [2.0, 3.0, 5.0], [4.0, 5.0, 6.0]]);
        assert_eq!(packed_size(3), 6);
    }
}
