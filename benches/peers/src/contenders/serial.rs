//! The plain loop.

use std::ops::Range;

use super::{Cost, Loops};

/// No pool at all: the whole range in one call of the body.
pub struct PlainLoop;

impl Loops for PlainLoop {
    #[inline]
    fn for_each_part(&mut self, y: &mut [f64], _: Cost, body: impl Fn(usize, &mut [f64]) + Sync) {
        body(0, y);
    }

    #[inline]
    fn sum(&mut self, n: usize, term: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        term(0..n)
    }
}
