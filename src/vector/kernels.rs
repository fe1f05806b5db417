//! What the vector operations do inside one block: plain functions on slices that know no pool.
//!
//! Written so that the compiler turns them into packed instructions of whatever width the target
//! has. For elementwise kernels a loop over zipped slices is enough. A reduction may not be
//! reordered by the compiler, so that a plain loop is a chain of scalar additions, each waiting for
//! the one before. Therefore element `i` goes to running result `i % LANES`, and the running
//! results are combined at the end, the upper half onto the lower half until one is left. That
//! order, and with it the bits, is the same on every target.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul};

/// The numbers that vectors are made of: `f64` and `f32`. Sealed.
///
/// A reduction keeps 16 running results for `f64` and 32 for `f32`: 128 bytes, which is eight
/// registers of 16 bytes, as many as it takes to hide the latency of an addition (4 cycles, two
/// additions each cycle). The largest and the smallest element take half as many, and as many sums.
pub trait Real: sealed::Kernels {}

impl Real for f64 {}
impl Real for f32 {}

pub(super) mod sealed {
    use super::*;

    /// The arithmetic that kernels are written in, and the reductions with the number of running
    /// results that suits the type.
    pub trait Kernels:
        Copy
        + PartialOrd
        + Debug
        + Send
        + Sync
        + Add<Output = Self>
        + Mul<Output = Self>
        + Div<Output = Self>
        + 'static
    {
        const ZERO: Self;
        const INFINITY: Self;
        const NEG_INFINITY: Self;
        const NAN: Self;

        fn is_nan(self) -> bool;
        fn sqrt(self) -> Self;
        fn sum(x: &[Self]) -> Self;
        fn dot(x: &[Self], y: &[Self]) -> Self;
        fn sum_of_squares(x: &[Self]) -> Self;
        fn max(x: &[Self]) -> Self;
        fn min(x: &[Self]) -> Self;
    }

    macro_rules! kernels {
        ($real:ident, $lanes:literal) => {
            impl Kernels for $real {
                const ZERO: Self = 0.0;
                const INFINITY: Self = $real::INFINITY;
                const NEG_INFINITY: Self = $real::NEG_INFINITY;
                const NAN: Self = $real::NAN;

                #[inline]
                fn is_nan(self) -> bool {
                    self.is_nan()
                }
                #[inline]
                fn sqrt(self) -> Self {
                    self.sqrt()
                }
                fn sum(x: &[Self]) -> Self {
                    super::sum_of::<Self, $lanes>(x, |x| x)
                }
                fn dot(x: &[Self], y: &[Self]) -> Self {
                    super::dot::<Self, $lanes>(x, y)
                }
                fn sum_of_squares(x: &[Self]) -> Self {
                    super::sum_of::<Self, $lanes>(x, |x| x * x)
                }
                fn max(x: &[Self]) -> Self {
                    super::extreme::<Self, { $lanes / 2 }>(x, Self::NEG_INFINITY, greater)
                }
                fn min(x: &[Self]) -> Self {
                    super::extreme::<Self, { $lanes / 2 }>(x, Self::INFINITY, less)
                }
            }
        };
    }

    kernels!(f64, 16);
    kernels!(f32, 32);
}

/// The greater of two numbers, `b` where one is NaN.
#[inline]
pub(super) fn greater<R: Real>(a: R, b: R) -> R {
    if a > b {
        a
    } else {
        b
    }
}

/// The less of two numbers, `b` where one is NaN.
#[inline]
pub(super) fn less<R: Real>(a: R, b: R) -> R {
    if a < b {
        a
    } else {
        b
    }
}

/// Combines running results, the upper half onto the lower half until one is left. `LANES` is a
/// power of two.
#[inline]
fn combine<R: Real, const LANES: usize>(mut lanes: [R; LANES], f: impl Fn(R, R) -> R) -> R {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = f(lanes[i], lanes[i + width]);
        }
    }
    lanes[0]
}

// The loops over whole groups of `LANES` elements are functions of their own, never inlined: where
// all that happens after the loop is that the running results are stored, they are kept packed
// throughout. Inlined into code that goes on with single ones, they were seen to be unpacked and
// packed again in every round, which took twice the time.

/// `running[i % LANES] = step(running[i % LANES], x[i])` for each `i` in whole groups of `LANES`,
/// from running results that are all `start`.
#[inline(never)]
fn step_groups<R: Real, const LANES: usize>(
    x: &[R],
    start: R,
    step: impl Fn(R, R) -> R,
) -> [R; LANES] {
    let mut running = [start; LANES];
    for group in x.chunks_exact(LANES) {
        for (lane, &x) in running.iter_mut().zip(group) {
            *lane = step(*lane, x);
        }
    }
    running
}

/// The sum of `term(x)`. The elements after the last whole group go to the first lanes.
#[inline]
fn sum_of<R: Real, const LANES: usize>(x: &[R], term: impl Fn(R) -> R + Copy) -> R {
    let mut running = step_groups::<R, LANES>(x, R::ZERO, move |lane, x| lane + term(x));
    for (lane, &x) in running.iter_mut().zip(x.chunks_exact(LANES).remainder()) {
        *lane = *lane + term(x);
    }
    combine(running, |a, b| a + b)
}

/// The running results of an inner product over whole groups of `LANES` elements.
#[inline(never)]
fn dot_groups<R: Real, const LANES: usize>(x: &[R], y: &[R]) -> [R; LANES] {
    let mut running = [R::ZERO; LANES];
    for (x, y) in x.chunks_exact(LANES).zip(y.chunks_exact(LANES)) {
        for ((lane, &x), &y) in running.iter_mut().zip(x).zip(y) {
            *lane = *lane + x * y;
        }
    }
    running
}

/// The inner product of slices of equal lengths.
#[inline]
fn dot<R: Real, const LANES: usize>(x: &[R], y: &[R]) -> R {
    let mut running = dot_groups::<R, LANES>(x, y);
    let x_rest = x.chunks_exact(LANES).remainder();
    let y_rest = y.chunks_exact(LANES).remainder();
    for ((lane, &x), &y) in running.iter_mut().zip(x_rest).zip(y_rest) {
        *lane = *lane + x * y;
    }
    combine(running, |a, b| a + b)
}

/// The elements that `pick` prefers, and sums, of whole groups of `LANES` elements.
#[inline(never)]
fn extreme_groups<R: Real, const LANES: usize>(
    x: &[R],
    empty: R,
    pick: impl Fn(R, R) -> R,
) -> ([R; LANES], [R; LANES]) {
    let mut running = [empty; LANES];
    let mut sums = [R::ZERO; LANES];
    for group in x.chunks_exact(LANES) {
        for ((lane, sum), &x) in running.iter_mut().zip(&mut sums).zip(group) {
            *lane = pick(x, *lane);
            *sum = *sum + x;
        }
    }
    (running, sums)
}

/// The element that `pick` prefers to all others, `empty` if there is none, NaN if one is NaN.
///
/// `pick` passes over NaN. Sums, which cost little beside the running results, are not NaN where no
/// element is; where one is, or infinities met, a second look tells.
#[inline]
fn extreme<R: Real, const LANES: usize>(x: &[R], empty: R, pick: impl Fn(R, R) -> R + Copy) -> R {
    let (mut running, mut sums) = extreme_groups::<R, LANES>(x, empty, pick);
    let rest = x.chunks_exact(LANES).remainder();
    for ((lane, sum), &x) in running.iter_mut().zip(&mut sums).zip(rest) {
        *lane = pick(x, *lane);
        *sum = *sum + x;
    }
    if combine(sums, |a, b| a + b).is_nan() && x.iter().any(|x| x.is_nan()) {
        return R::NAN;
    }
    combine(running, pick)
}

#[inline]
pub(super) fn scale<R: Real>(a: R, x: &mut [R]) {
    for x in x {
        *x = a * *x;
    }
}

#[inline]
pub(super) fn axpy<R: Real>(a: R, x: &[R], y: &mut [R]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = *y + a * x;
    }
}

#[inline]
pub(super) fn axpby<R: Real>(a: R, x: &[R], b: R, y: &[R], z: &mut [R]) {
    for ((z, &x), &y) in z.iter_mut().zip(x).zip(y) {
        *z = a * x + b * y;
    }
}

#[inline]
pub(super) fn axpby_assign<R: Real>(a: R, x: &[R], b: R, y: &mut [R]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = a * x + b * *y;
    }
}

#[inline]
pub(super) fn multiply<R: Real>(x: &[R], y: &[R], z: &mut [R]) {
    for ((z, &x), &y) in z.iter_mut().zip(x).zip(y) {
        *z = x * y;
    }
}

#[inline]
pub(super) fn multiply_assign<R: Real>(x: &[R], y: &mut [R]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = x * *y;
    }
}

#[inline]
pub(super) fn multiply_squared<R: Real>(d: &[R], x: &[R], y: &mut [R]) {
    for ((y, &d), &x) in y.iter_mut().zip(d).zip(x) {
        *y = d * d * x;
    }
}

#[inline]
pub(super) fn divide<R: Real>(x: &[R], y: &[R], z: &mut [R]) {
    for ((z, &x), &y) in z.iter_mut().zip(x).zip(y) {
        *z = x / y;
    }
}

#[inline]
pub(super) fn divide_assign<R: Real>(x: &[R], y: &mut [R]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = *y / x;
    }
}

#[inline]
pub(super) fn clamp<R: Real>(low: R, high: R, x: &mut [R]) {
    for x in x {
        // In this form a NaN stays one, and each step is one instruction.
        let at_least = if low > *x { low } else { *x };
        *x = if high < at_least { high } else { at_least };
    }
}

#[inline]
pub(super) fn sqrt_divide<R: Real>(x: &[R], a: R, y: &mut [R]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = (x / a).sqrt();
    }
}
