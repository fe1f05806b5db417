//! The grid, the contenders, and the loop that each of them runs.

use std::hint::black_box;

use conga::{Dispatch, ThreadPool};

/// The lengths of Ceres's `SchedulerBenchmark`.
pub const LENGTHS: [usize; 4] = [128, 256, 1024, 4096];

/// The thread counts of Ceres's `SchedulerBenchmark`, the calling thread included.
pub const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

/// The strategies, in the order of the table's cells.
pub const STRATEGIES: [Dispatch; 3] = [Dispatch::PerThread, Dispatch::Chained, Dispatch::Adaptive];

/// The strategy's name in `scheduler.csv` and in criterion's identifiers.
///
/// # Panics
///
/// For a strategy that is not in [`STRATEGIES`].
pub fn strategy_name(dispatch: Dispatch) -> &'static str {
    match dispatch {
        Dispatch::PerThread => "per_thread",
        Dispatch::Chained => "chained",
        Dispatch::Adaptive => "adaptive",
        other => panic!("{other:?} is not part of this benchmark"),
    }
}

/// A pool of exactly `threads` lanes.
///
/// # Panics
///
/// If the system refuses a thread: the figures would be those of a smaller pool.
pub fn pool(threads: usize) -> ThreadPool {
    let pool = ThreadPool::new(threads).expect("a pool of the benchmark's size can be built");
    assert_eq!(
        pool.num_threads(),
        threads,
        "the system started fewer threads than the benchmark asks for"
    );
    pool
}

/// An array of `n` numbers, none of them zero.
pub fn array(n: usize) -> Vec<f64> {
    (0..n).map(|i| i as f64 + 0.5).collect()
}

/// Stores zero in every element, in a plain loop.
///
/// `black_box` hides the array, and with it the length and what becomes of the stores, so that none
/// of them can be left out.
#[inline]
pub fn zero_serially(x: &mut [f64]) {
    for x in black_box(x) {
        *x = 0.0;
    }
}

/// Stores zero in every element, on as many lanes as the pool has.
#[inline]
pub fn zero_on_pool(pool: &ThreadPool, dispatch: Dispatch, x: &mut [f64]) {
    let x = black_box(x);
    pool.parallel_for(0..x.len())
        .dispatch(dispatch)
        .for_each_mut(x, |_, x| *x = 0.0);
}
