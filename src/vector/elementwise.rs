//! Operations that write one element per element.

use std::ops::Range;

use super::{check_lengths, kernels, Real, MIN_BLOCK_SIZE};
use crate::ThreadPool;

/// Runs `body(block, &mut y[block])` for blocks that make up `y`, on the lanes of the pool.
#[inline]
fn for_each_block<R: Real>(
    pool: &ThreadPool,
    y: &mut [R],
    body: impl Fn(Range<usize>, &mut [R]) + Sync,
) {
    pool.parallel_for(0..y.len())
        .min_block_size(MIN_BLOCK_SIZE)
        .for_each_slice_mut(y, |start, part| body(start..start + part.len(), part));
}

/// `x = a`: writes `a` to every element.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut x = [1.0; 4];
/// conga::vector::fill(&pool, 0.0, &mut x);
/// assert_eq!(x, [0.0; 4]);
/// ```
pub fn fill<R: Real>(pool: &ThreadPool, a: R, x: &mut [R]) {
    for_each_block(pool, x, |_, x| x.fill(a));
}

/// `y = x`.
///
/// # Panics
///
/// If the lengths of `x` and `y` differ.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut y = [0.0; 3];
/// conga::vector::copy(&pool, &[1.0, 2.0, 3.0], &mut y);
/// assert_eq!(y, [1.0, 2.0, 3.0]);
/// ```
#[track_caller]
pub fn copy<R: Real>(pool: &ThreadPool, x: &[R], y: &mut [R]) {
    check_lengths("copy", ("x", x.len()), ("y", y.len()));
    for_each_block(pool, y, |block, y| y.copy_from_slice(&x[block]));
}

/// `x = a * x`.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut x = [1.0, 2.0, 3.0];
/// conga::vector::scale(&pool, -2.0, &mut x);
/// assert_eq!(x, [-2.0, -4.0, -6.0]);
/// ```
pub fn scale<R: Real>(pool: &ThreadPool, a: R, x: &mut [R]) {
    for_each_block(pool, x, |_, x| kernels::scale(a, x));
}

/// `y = y + a * x`: the step along a search direction.
///
/// # Panics
///
/// If the lengths of `x` and `y` differ.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut y = [10.0, 20.0];
/// conga::vector::axpy(&pool, 2.0, &[1.0, 2.0], &mut y);
/// assert_eq!(y, [12.0, 24.0]);
/// ```
#[track_caller]
pub fn axpy<R: Real>(pool: &ThreadPool, a: R, x: &[R], y: &mut [R]) {
    check_lengths("axpy", ("x", x.len()), ("y", y.len()));
    for_each_block(pool, y, |block, y| kernels::axpy(a, &x[block], y));
}

/// `z = a * x + b * y`: a residual, or a trial point. Ceres's `Axpby`, for a `z` that is neither
/// `x` nor `y`; where it is `y`, use [`axpby_assign`].
///
/// # Panics
///
/// If the length of `x` or `y` differs from that of `z`.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut residual = [0.0; 2];
/// conga::vector::axpby(&pool, 1.0, &[3.0, 4.0], -1.0, &[1.0, 1.0], &mut residual);
/// assert_eq!(residual, [2.0, 3.0]);
/// ```
#[track_caller]
pub fn axpby<R: Real>(pool: &ThreadPool, a: R, x: &[R], b: R, y: &[R], z: &mut [R]) {
    check_lengths("axpby", ("x", x.len()), ("z", z.len()));
    check_lengths("axpby", ("y", y.len()), ("z", z.len()));
    for_each_block(pool, z, |block, z| {
        kernels::axpby(a, &x[block.clone()], b, &y[block], z)
    });
}

/// `y = a * x + b * y`: the next search direction of conjugate gradients is
/// `axpby_assign(pool, 1.0, &z, beta, &mut p)`.
///
/// # Panics
///
/// If the lengths of `x` and `y` differ.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut direction = [2.0, 4.0];
/// conga::vector::axpby_assign(&pool, 1.0, &[1.0, 1.0], 0.5, &mut direction);
/// assert_eq!(direction, [2.0, 3.0]);
/// ```
#[track_caller]
pub fn axpby_assign<R: Real>(pool: &ThreadPool, a: R, x: &[R], b: R, y: &mut [R]) {
    check_lengths("axpby_assign", ("x", x.len()), ("y", y.len()));
    for_each_block(pool, y, |block, y| {
        kernels::axpby_assign(a, &x[block], b, y)
    });
}

/// `z = x * y`, element by element: a product with a diagonal matrix.
///
/// # Panics
///
/// If the length of `x` or `y` differs from that of `z`.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut z = [0.0; 2];
/// conga::vector::multiply(&pool, &[2.0, 3.0], &[5.0, 7.0], &mut z);
/// assert_eq!(z, [10.0, 21.0]);
/// ```
#[track_caller]
pub fn multiply<R: Real>(pool: &ThreadPool, x: &[R], y: &[R], z: &mut [R]) {
    check_lengths("multiply", ("x", x.len()), ("z", z.len()));
    check_lengths("multiply", ("y", y.len()), ("z", z.len()));
    for_each_block(pool, z, |block, z| {
        kernels::multiply(&x[block.clone()], &y[block], z)
    });
}

/// `y = x * y`, element by element.
///
/// # Panics
///
/// If the lengths of `x` and `y` differ.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut step = [5.0, 7.0];
/// conga::vector::multiply_assign(&pool, &[2.0, 3.0], &mut step);
/// assert_eq!(step, [10.0, 21.0]);
/// ```
#[track_caller]
pub fn multiply_assign<R: Real>(pool: &ThreadPool, x: &[R], y: &mut [R]) {
    check_lengths("multiply_assign", ("x", x.len()), ("y", y.len()));
    for_each_block(pool, y, |block, y| kernels::multiply_assign(&x[block], y));
}

/// `y = d * d * x`, element by element: a product with the squared damping of Levenberg-Marquardt.
///
/// # Panics
///
/// If the length of `d` or `x` differs from that of `y`.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut y = [0.0; 2];
/// conga::vector::multiply_squared(&pool, &[2.0, 3.0], &[1.0, 10.0], &mut y);
/// assert_eq!(y, [4.0, 90.0]);
/// ```
#[track_caller]
pub fn multiply_squared<R: Real>(pool: &ThreadPool, d: &[R], x: &[R], y: &mut [R]) {
    check_lengths("multiply_squared", ("d", d.len()), ("y", y.len()));
    check_lengths("multiply_squared", ("x", x.len()), ("y", y.len()));
    for_each_block(pool, y, |block, y| {
        kernels::multiply_squared(&d[block.clone()], &x[block], y)
    });
}

/// `z = x / y`, element by element. A zero in `y` gives what the division of floating point numbers
/// gives: an infinity or NaN, no panic.
///
/// # Panics
///
/// If the length of `x` or `y` differs from that of `z`.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut z = [0.0; 2];
/// conga::vector::divide(&pool, &[1.0, 9.0], &[2.0, 3.0], &mut z);
/// assert_eq!(z, [0.5, 3.0]);
/// ```
#[track_caller]
pub fn divide<R: Real>(pool: &ThreadPool, x: &[R], y: &[R], z: &mut [R]) {
    check_lengths("divide", ("x", x.len()), ("z", z.len()));
    check_lengths("divide", ("y", y.len()), ("z", z.len()));
    for_each_block(pool, z, |block, z| {
        kernels::divide(&x[block.clone()], &y[block], z)
    });
}

/// `y = y / x`, element by element. A zero in `x` gives an infinity or NaN, no panic.
///
/// # Panics
///
/// If the lengths of `x` and `y` differ.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut y = [1.0, 9.0];
/// conga::vector::divide_assign(&pool, &[2.0, 3.0], &mut y);
/// assert_eq!(y, [0.5, 3.0]);
/// ```
#[track_caller]
pub fn divide_assign<R: Real>(pool: &ThreadPool, x: &[R], y: &mut [R]) {
    check_lengths("divide_assign", ("x", x.len()), ("y", y.len()));
    for_each_block(pool, y, |block, y| kernels::divide_assign(&x[block], y));
}

/// Raises the elements of `x` that are below `low` to `low`, and lowers those above `high` to
/// `high`. NaN stays NaN.
///
/// # Panics
///
/// If `low > high`, or one of them is NaN.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut diagonal = [1e-9, 1.0, 1e99];
/// conga::vector::clamp(&pool, 1e-6, 1e32, &mut diagonal);
/// assert_eq!(diagonal, [1e-6, 1.0, 1e32]);
/// ```
#[track_caller]
pub fn clamp<R: Real>(pool: &ThreadPool, low: R, high: R, x: &mut [R]) {
    assert!(
        low <= high,
        "vector::clamp: low is {low:?} and high is {high:?}; low must not be above high"
    );
    for_each_block(pool, x, |_, x| kernels::clamp(low, high, x));
}

/// `y = sqrt(x / a)`, element by element: the damping of Levenberg-Marquardt from a diagonal and
/// the radius of the trust region. Where `x / a` is negative the result is NaN.
///
/// # Panics
///
/// If the lengths of `x` and `y` differ.
///
/// # Examples
///
/// ```
/// let pool = conga::ThreadPool::new(2).unwrap();
/// let mut damping = [0.0; 2];
/// conga::vector::sqrt_divide(&pool, &[2.0, 8.0], 0.5, &mut damping);
/// assert_eq!(damping, [2.0, 4.0]);
/// ```
#[track_caller]
pub fn sqrt_divide<R: Real>(pool: &ThreadPool, x: &[R], a: R, y: &mut [R]) {
    check_lengths("sqrt_divide", ("x", x.len()), ("y", y.len()));
    for_each_block(pool, y, |block, y| kernels::sqrt_divide(&x[block], a, y));
}
