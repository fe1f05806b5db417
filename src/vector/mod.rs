//! The vector operations of a numerical solver, for slices of `f64` or `f32`.
//!
//! Each takes the pool first, then scalars and inputs, and last what it writes. An operation that
//! updates its last argument in place and has a form that writes elsewhere too is named `_assign`.
//!
//! | | |
//! |---|---|
//! | [`fill`] | `x = a` |
//! | [`copy`] | `y = x` |
//! | [`scale`] | `x = a * x` |
//! | [`axpy`] | `y = y + a * x` |
//! | [`axpby`] | `z = a * x + b * y` |
//! | [`axpby_assign`] | `y = a * x + b * y` |
//! | [`multiply`], [`multiply_assign`] | `z = x * y`, `y = x * y`, element by element |
//! | [`multiply_squared`] | `y = d * d * x`, element by element |
//! | [`divide`], [`divide_assign`] | `z = x / y`, `y = y / x`, element by element |
//! | [`clamp`] | `x = x`, but at least `low` and at most `high` |
//! | [`sqrt_divide`] | `y = sqrt(x / a)` |
//! | [`dot`], [`norm2`], [`sum`] | `x · y`, `sqrt(x · x)`, the sum of all elements |
//! | [`max`], [`min`] | the largest, the smallest element |
//!
//! These are what an iteration of conjugate gradients or Levenberg-Marquardt needs between its
//! products:
//!
//! ```
//! use conga::{vector, ThreadPool};
//!
//! # fn main() -> Result<(), conga::BuildError> {
//! let pool = ThreadPool::new(2)?;
//! let n = 10_000;
//! // Solves diag(2) * x = (1, ..., 1).
//! let b = vec![1.0; n];
//! let (mut x, mut r, mut p, mut q) = (vec![0.0; n], b.clone(), b.clone(), vec![0.0; n]);
//! let mut rho = vector::dot(&pool, &r, &r);
//! while rho > 1e-20 {
//!     vector::axpby(&pool, 2.0, &p, 0.0, &p, &mut q); // stands for the product with the matrix
//!     let alpha = rho / vector::dot(&pool, &p, &q);
//!     vector::axpy(&pool, alpha, &p, &mut x);
//!     vector::axpy(&pool, -alpha, &q, &mut r);
//!     let last = rho;
//!     rho = vector::dot(&pool, &r, &r);
//!     vector::axpby_assign(&pool, 1.0, &r, rho / last, &mut p);
//! }
//! assert!(x.iter().all(|&x| x == 0.5));
//! # Ok(())
//! # }
//! ```
//!
//! # The same bits everywhere
//!
//! The result depends on the arguments alone: not on the number of threads, not on the strategy,
//! not on which thread did what. Elementwise operations compute each element by the formula above,
//! left to right, each step rounded, never fused. Reductions combine the results of fixed blocks,
//! at most 256 of at least 1024 elements, from the left to the right; inside a block several
//! running results are kept side by side ([16 for `f64`, 32 for `f32`](Real)) and combined in a
//! fixed order at its end. As a side effect the rounding error of a sum grows with the length of
//! such a run, not with the length of the vector.
//!
//! # Lengths and cost
//!
//! Slices that belong together must have equal lengths; a panic names both otherwise, before
//! anything is written. Empty slices are allowed. Every operation reads and writes each element
//! once, allocates nothing, and shares its work out in blocks of 1024 elements or more: below 2048
//! it is a plain loop on the caller.

mod elementwise;
mod kernels;
mod reductions;

pub use elementwise::{
    axpby, axpby_assign, axpy, clamp, copy, divide, divide_assign, fill, multiply, multiply_assign,
    multiply_squared, scale, sqrt_divide,
};
pub use kernels::Real;
pub use reductions::{dot, max, min, norm2, sum};

/// Elements in the smallest block of an operation. In cache that many `f64` take 95 ns (`sum`) to
/// 220 ns (`axpy`) on a Xeon of 2026, several times what it costs to claim them; and they fill two
/// pages of memory, so that lanes seldom write beside each other. The bits of reductions depend on
/// it.
const MIN_BLOCK_SIZE: usize = 1024;

/// Panics unless the two named slices have equal lengths.
#[inline]
#[track_caller]
fn check_lengths(operation: &str, (a, a_len): (&str, usize), (b, b_len): (&str, usize)) {
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn differ(operation: &str, (a, a_len): (&str, usize), (b, b_len): (&str, usize)) -> ! {
        panic!(
            "vector::{operation}: {a} has {a_len} elements and {b} has {b_len}; \
             both need the same length"
        );
    }
    if a_len != b_len {
        differ(operation, (a, a_len), (b, b_len));
    }
}
