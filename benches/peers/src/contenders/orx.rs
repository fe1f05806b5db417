//! orx-parallel: its persistent pool; the fixed runner over one part for each thread where indices
//! are light, its default, the adaptive runner, over the indices where they are not.
//!
//! It never starts more threads than there are processors, whatever the cell says.

use std::ops::Range;

use conga::DisjointSlice;
use orx_parallel::{BasicPool, IntoParIter, Par, Pool, Runner};

use super::{part, Cost, Loops};

pub struct Orx {
    threads: usize,
    pool: BasicPool,
}

impl Orx {
    pub fn new(threads: usize) -> Orx {
        Orx {
            threads,
            pool: Pool::basic(threads),
        }
    }
}

impl Loops for Orx {
    #[inline]
    fn for_each_part(
        &mut self,
        y: &mut [f64],
        cost: Cost,
        body: impl Fn(usize, &mut [f64]) + Sync,
    ) {
        let n = y.len();
        let y = DisjointSlice::new(y);
        let parts = match cost {
            Cost::Light => n.min(self.threads),
            Cost::Heavy | Cost::Rising => n,
        };
        let run = |p| {
            let range = part(n, p, parts);
            // SAFETY: the parts are disjoint and make up `0..n`, and each comes once.
            body(range.start, unsafe { y.slice_mut(range) });
        };
        match cost {
            Cost::Light => (0..parts)
                .into_par()
                .runner(Runner::fixed_with_pool(&self.pool))
                .num_threads(parts)
                .chunk_size(1)
                .for_each(run),
            Cost::Heavy | Cost::Rising => (0..parts)
                .into_par()
                .runner(Runner::adaptive_with_pool(&self.pool))
                .num_threads(n.min(self.threads))
                .for_each(run),
        }
    }

    #[inline]
    fn sum(&mut self, n: usize, term: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        let parts = n.min(self.threads);
        (0..parts)
            .into_par()
            .runner(Runner::fixed_with_pool(&self.pool))
            .num_threads(parts)
            .chunk_size(1)
            .map(|p| term(part(n, p, parts)))
            .reduce(|a, b| a + b)
            .unwrap_or(0.0)
    }
}
