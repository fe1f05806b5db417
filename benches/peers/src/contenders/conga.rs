//! conga, with a given strategy and no hint about the loop.

use std::ops::Range;

use conga::{Dispatch, ThreadPool};

use super::{Cost, Loops, Pool};
use crate::turn::{Figure, Turn};

/// Gives conga its turn.
///
/// # Panics
///
/// If the system refuses a thread: the figures would be those of a smaller pool.
pub fn run(pool: Pool, threads: usize, turn: &Turn) -> Figure {
    let dispatch = match pool {
        Pool::CongaPerThread => Dispatch::PerThread,
        Pool::CongaChained => Dispatch::Chained,
        _ => Dispatch::Adaptive,
    };
    let pool = ThreadPool::builder()
        .num_threads(threads)
        .dispatch(dispatch)
        .build()
        .expect("a pool of the grid's size can be built");
    assert_eq!(pool.num_threads(), threads, "the system refused a thread");
    turn.run(&mut Conga(pool))
}

struct Conga(ThreadPool);

impl Loops for Conga {
    #[inline]
    fn for_each_part(&mut self, y: &mut [f64], _: Cost, body: impl Fn(usize, &mut [f64]) + Sync) {
        self.0.for_each_slice_mut(y, body);
    }

    fn sum(&mut self, n: usize, term: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        self.0.parallel_for(0..n).map_reduce(term, |a, b| a + b)
    }

    /// The one with the same bits on any number of threads.
    #[inline]
    fn inner_product(&mut self, x: &[f64], y: &[f64]) -> f64 {
        conga::vector::dot(&self.0, x, y)
    }
}
