//! paralight: the fixed strategy for indices of equal cost, work stealing where they differ, as its
//! documentation has it. It has no chunks, so light loops run over parts: its items one by one
//! would hide the array from the vectoriser.

use std::ops::Range;

use conga::DisjointSlice;
use paralight::prelude::*;

use super::{part, Cost, Loops};

/// The pool is made when the first loop says which strategy it needs: the strategy belongs to the
/// pool.
pub struct Paralight {
    threads: usize,
    pool: Option<ThreadPool>,
}

impl Paralight {
    pub fn new(threads: usize) -> Paralight {
        Paralight {
            threads,
            pool: None,
        }
    }
}

/// The pool. `strategy` counts at the first call: a contender has one workload in its life.
#[inline]
fn pool(pool: &mut Option<ThreadPool>, threads: usize, strategy: RangeStrategy) -> &mut ThreadPool {
    pool.get_or_insert_with(|| {
        ThreadPoolBuilder {
            num_threads: ThreadCount::try_from(threads).expect("the grid has no 0 threads"),
            range_strategy: strategy,
            cpu_pinning: CpuPinningPolicy::No,
        }
        .build()
    })
}

impl Loops for Paralight {
    #[inline]
    fn for_each_part(
        &mut self,
        y: &mut [f64],
        cost: Cost,
        body: impl Fn(usize, &mut [f64]) + Sync,
    ) {
        let n = y.len();
        let (strategy, parts) = match cost {
            Cost::Light | Cost::Heavy => (RangeStrategy::Fixed, n.min(self.threads)),
            Cost::Rising => (RangeStrategy::WorkStealing, n),
        };
        let y = DisjointSlice::new(y);
        (0..parts)
            .into_par_iter()
            .with_thread_pool(pool(&mut self.pool, self.threads, strategy))
            .for_each(|p| {
                let range = part(n, p, parts);
                // SAFETY: the parts are disjoint and make up `0..n`, and each comes once.
                body(range.start, unsafe { y.slice_mut(range) });
            });
    }

    #[inline]
    fn sum(&mut self, n: usize, term: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        let parts = n.min(self.threads);
        (0..parts)
            .into_par_iter()
            .with_thread_pool(pool(&mut self.pool, self.threads, RangeStrategy::Fixed))
            .map(|p| term(part(n, p, parts)))
            .reduce(|| 0.0, |a, b| a + b)
    }
}
