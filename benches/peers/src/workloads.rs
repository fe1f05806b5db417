//! What the loops do: the bodies, which all contenders share, and the data they work on.
//!
//! The bodies of `cpp/peers.cpp` are the same ones.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::grid::Workload;

/// The factor of `axpy`: so small that ten million calls change no number's magnitude.
pub const A: f64 = 1e-9;

/// `y = 0`.
#[inline]
pub fn zero(y: &mut [f64]) {
    for y in y {
        *y = 0.0;
    }
}

/// `y += a * x`.
#[inline]
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// `x · y`, with sixteen running sums: the compiler may not reorder a single one, which would then
/// wait for each addition. conga's own `dot` has as many.
#[inline]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = dot_groups(x, y);
    let whole = x.len() - x.len() % 16;
    let rest: f64 = x[whole..].iter().zip(&y[whole..]).map(|(x, y)| x * y).sum();
    let mut width = 16;
    while width > 1 {
        width /= 2;
        for k in 0..width {
            sums[k] += sums[k + width];
        }
    }
    sums[0] + rest
}

/// The running sums over whole groups. Inlined, they were seen to be taken out of their packed
/// registers in every round.
#[inline(never)]
fn dot_groups(x: &[f64], y: &[f64]) -> [f64; 16] {
    let mut sums = [0.0; 16];
    for (x, y) in x.chunks_exact(16).zip(y.chunks_exact(16)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    sums
}

/// `y[i]` is the end of a chain of `iterations`, for the indices from `start`.
#[inline]
pub fn work(iterations: u64, start: usize, y: &mut [f64]) {
    for (i, y) in (start..).zip(y) {
        *y = chain(i as f64, iterations);
    }
}

/// The same with `scale * (i + 1)^2` iterations for index `i`.
#[inline]
pub fn skew(scale: f64, start: usize, y: &mut [f64]) {
    for (i, y) in (start..).zip(y) {
        let k = (i + 1) as f64;
        *y = chain(i as f64, (scale * k * k) as u64);
    }
}

/// The scale at which [`skew`] over `n` indices does `n * iterations`.
pub fn skew_scale(iterations: u64, n: usize) -> f64 {
    let squares = (n * (n + 1) * (2 * n + 1) / 6) as f64;
    iterations as f64 * n as f64 / squares
}

/// Multiplications and additions, each waiting for the one before: no compiler can shorten them, no
/// memory is touched.
#[inline(never)]
pub fn chain(mut v: f64, iterations: u64) -> f64 {
    for _ in 0..iterations {
        v = v * 0.999999 + 1e-6;
    }
    v
}

/// How many iterations of [`chain`] take a microsecond. The fastest of several tries: a slow one was
/// disturbed. At least 1.
pub fn iterations_per_microsecond() -> u64 {
    const ITERATIONS: u64 = 1_000_000;
    let fastest = (0..9)
        .map(|_| {
            let start = Instant::now();
            black_box(chain(black_box(1.0), ITERATIONS));
            start.elapsed()
        })
        .min()
        .unwrap_or(Duration::MAX);
    ((ITERATIONS as f64 / (fastest.as_secs_f64() * 1e6)) as u64).max(1)
}

/// The arrays of a loop over `n` indices.
#[derive(Clone)]
pub struct Data {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Data {
    /// Numbers of which none is zero. `x` is left empty where the workload does not read it.
    pub fn new(workload: Workload, n: usize) -> Data {
        let numbers = |n: usize| (0..n).map(|i| 1.0 + i as f64 / n as f64).collect();
        let reads_x = matches!(workload, Workload::Axpy | Workload::Dot);
        Data {
            x: numbers(if reads_x { n } else { 0 }),
            y: numbers(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lost rest, or a group counted twice.
    #[test]
    fn dot_counts_each_element_once() {
        for n in [0, 1, 15, 16, 17, 47, 64] {
            let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let expected: f64 = x.iter().map(|x| 2.0 * x).sum();
            assert_eq!(dot(&x, &vec![2.0; n]), expected, "n = {n}");
        }
    }

    /// A skewed loop that is not as long as the even one.
    #[test]
    fn skew_costs_as_much_as_work() {
        for n in [1, 8, 1024] {
            let scale = skew_scale(400, n);
            let total: u64 = (1..=n).map(|k| (scale * (k * k) as f64) as u64).sum();
            let expected = 400 * n as u64;
            assert!(
                total <= expected && total + n as u64 >= expected,
                "n = {n}: {total}"
            );
        }
    }
}
