//! forkunion: slices for indices of equal cost, `for_n_dynamic` where they differ.

use std::ops::Range;

use conga::DisjointSlice;
use forkunion::{CacheAligned, ThreadPool, Topology};

use super::{Cost, Loops};

pub struct ForkUnion {
    pool: ThreadPool,
    /// One for each thread, as forkunion's reductions have it.
    sums: Vec<CacheAligned<f64>>,
}

impl ForkUnion {
    pub fn new(threads: usize) -> ForkUnion {
        let topology = Topology::new().expect("forkunion can read the machine's topology");
        ForkUnion {
            pool: forkunion::spawn(&topology, threads),
            sums: vec![CacheAligned(0.0); threads],
        }
    }
}

impl Loops for ForkUnion {
    #[inline]
    fn for_each_part(
        &mut self,
        y: &mut [f64],
        cost: Cost,
        body: impl Fn(usize, &mut [f64]) + Sync,
    ) {
        let n = y.len();
        let y = DisjointSlice::new(y);
        // Both run when what they return is dropped.
        match cost {
            Cost::Light | Cost::Heavy => drop(self.pool.for_slices(n, |first, count| {
                let start = first.task_index;
                // SAFETY: the slices are disjoint and lie in `0..n`.
                body(start, unsafe { y.slice_mut(start..start + count) });
            })),
            Cost::Rising => drop(self.pool.for_n_dynamic(n, |index| {
                let i = index.task_index;
                // SAFETY: each index below `n` comes once.
                body(i, unsafe { y.slice_mut(i..i + 1) });
            })),
        }
    }

    #[inline]
    fn sum(&mut self, n: usize, term: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        self.sums.fill(CacheAligned(0.0));
        let sums = DisjointSlice::new(&mut self.sums);
        drop(self.pool.for_slices(n, |first, count| {
            let start = first.task_index;
            let thread = first.thread_index;
            // SAFETY: a thread's slices come one after the other, and `thread` is below the number
            // of threads.
            let sum = unsafe { sums.slice_mut(thread..thread + 1) };
            sum[0].0 += term(start..start + count);
        }));
        self.sums.iter().map(|sum| sum.0).sum()
    }
}
