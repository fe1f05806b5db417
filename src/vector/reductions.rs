//! Operations that make one number of all elements.

use super::{check_lengths, kernels, Real, MIN_BLOCK_SIZE};
use crate::ThreadPool;
use std::ops::Range;

/// Combines `map(block)` of all blocks of `0..len` from the left to the right.
#[inline]
fn reduce<R: Real>(
    pool: &ThreadPool,
    len: usize,
    map: impl Fn(Range<usize>) -> R + Sync,
    combine: impl FnMut(R, R) -> R,
) -> R {
    pool.parallel_for(0..len)
        .min_block_size(MIN_BLOCK_SIZE)
        .map_reduce(map, combine)
}

/// The sum of all elements: zero of none.
///
/// The bits are [the same everywhere](super#the-same-bits-everywhere). The relative rounding error
/// is below that of a sum from the left to the right, but not compensated: where elements of both
/// signs cancel, what is left may be rounding error alone.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// assert_eq!(conga::vector::sum(&pool, &[1.0, 2.0, 3.0]), 6.0);
/// ```
pub fn sum<R: Real>(pool: &ThreadPool, x: &[R]) -> R {
    reduce(pool, x.len(), |block| R::sum(&x[block]), |a, b| a + b)
}

/// The inner product `x · y`: zero of empty vectors.
///
/// The bits are [the same everywhere](super#the-same-bits-everywhere).
///
/// # Panics
///
/// If the lengths of `x` and `y` differ.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// assert_eq!(conga::vector::dot(&pool, &[1.0, 2.0], &[3.0, 4.0]), 11.0);
/// ```
#[track_caller]
pub fn dot<R: Real>(pool: &ThreadPool, x: &[R], y: &[R]) -> R {
    check_lengths("dot", ("x", x.len()), ("y", y.len()));
    reduce(
        pool,
        x.len(),
        |block| R::dot(&x[block.clone()], &y[block]),
        |a, b| a + b,
    )
}

/// The Euclidean norm, `sqrt(x · x)`: zero of an empty vector.
///
/// Nothing is scaled, so the squares must fit: elements beyond about 1e154 (`f32`: 1e19) overflow
/// to infinity, and those below about 1e-154 (`f32`: 1e-19) lose digits, or count as zero below
/// 1e-162 (`f32`: 1e-23). The bits are [the same everywhere](super#the-same-bits-everywhere).
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// assert_eq!(conga::vector::norm2(&pool, &[3.0, 4.0]), 5.0);
/// ```
pub fn norm2<R: Real>(pool: &ThreadPool, x: &[R]) -> R {
    reduce(
        pool,
        x.len(),
        |block| R::sum_of_squares(&x[block]),
        |a, b| a + b,
    )
    .sqrt()
}

/// The largest element: negative infinity of none, NaN if one of them is NaN, so that a solver that
/// looks at the largest element of a gradient does not miss it.
///
/// Of zeros with both signs it is unspecified which one is returned, though it is
/// [the same everywhere](super#the-same-bits-everywhere). A NaN is always the same one, `NAN`.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// assert_eq!(conga::vector::max(&pool, &[1.0, 3.0, 2.0]), 3.0);
/// assert!(conga::vector::max(&pool, &[1.0, f64::NAN, 2.0]).is_nan());
/// ```
pub fn max<R: Real>(pool: &ThreadPool, x: &[R]) -> R {
    reduce(
        pool,
        x.len(),
        |block| R::max(&x[block]),
        |a, b| nan_or(a, b, kernels::greater),
    )
}

/// The smallest element: infinity of none, NaN if one of them is NaN.
///
/// Of zeros with both signs it is unspecified which one is returned, though it is
/// [the same everywhere](super#the-same-bits-everywhere). A NaN is always the same one, `NAN`.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// assert_eq!(conga::vector::min(&pool, &[2.0, 1.0, 3.0]), 1.0);
/// assert_eq!(conga::vector::min(&pool, &[] as &[f64]), f64::INFINITY);
/// ```
pub fn min<R: Real>(pool: &ThreadPool, x: &[R]) -> R {
    reduce(
        pool,
        x.len(),
        |block| R::min(&x[block]),
        |a, b| nan_or(a, b, kernels::less),
    )
}

/// NaN if `a` or `b` is, otherwise what `pick` prefers.
fn nan_or<R: Real>(a: R, b: R, pick: fn(R, R) -> R) -> R {
    if a.is_nan() || b.is_nan() {
        R::NAN
    } else {
        pick(a, b)
    }
}
