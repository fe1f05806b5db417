//! Loops whose bodies may fail: they end early, and with the first error.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use common::{for_each_pool, for_every_strategy, pool, wait_until};
use conga::{Dispatch, ParallelFor, Scratch, ThreadPool};

for_every_strategy! {
    the_error_comes_back,
    one_lane_stops_at_the_error,
    no_range_begins_after_the_error,
    no_index_begins_after_the_error,
    the_first_error_comes_back,
    failed_loops_leave_the_pool_whole,
}

/// A way to run a body that may fail for each index.
type Fallible =
    fn(ParallelFor<'_>, &(dyn Fn(usize) -> Result<(), usize> + Sync)) -> Result<(), usize>;

const FALLIBLE: [Fallible; 3] = [
    |l, f| l.try_for_each(f),
    |l, f| l.try_for_each_range(|mut range| range.try_for_each(f)),
    |l, f| l.try_for_each_with(&mut Scratch::new(|| ()), |(), i| f(i)),
];

// Wherever the one index that fails is, its error comes back, each index is visited at most once, and
// a loop without one is `Ok`: catches an error that is lost where another lane than the caller's meets it.
fn the_error_comes_back(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        for try_each in FALLIBLE {
            for len in [1, 2, 3, 64, 1000] {
                for bad in [0, 1, len / 2, len - 1, len] {
                    let visits: Vec<_> = (0..len).map(|_| AtomicUsize::new(0)).collect();
                    let result = try_each(pool.parallel_for(0..len), &|i| {
                        visits[i].fetch_add(1, Ordering::Relaxed);
                        if i == bad {
                            Err(i)
                        } else {
                            Ok(())
                        }
                    });
                    let expected = if bad < len { Err(bad) } else { Ok(()) };
                    assert_eq!(result, expected, "{len} on {threads} threads");
                    let least = if bad < len { 0 } else { 1 };
                    for visited in visits {
                        assert!((least..=1).contains(&visited.into_inner()));
                    }
                }
            }
        }
    });
}

// A loop of one lane runs up to the first index that fails and no further, as `Iterator::try_for_each`
// does: catches a lane that goes on in its own block.
fn one_lane_stops_at_the_error(dispatch: Dispatch) {
    for threads in [1, 4] {
        let pool = pool(threads, dispatch);
        for try_each in FALLIBLE {
            for bad in [0, 1, 500, 999] {
                let visited = AtomicUsize::new(0);
                let result = try_each(pool.parallel_for(0..1000).num_threads(1), &|i| {
                    assert_eq!(visited.fetch_add(1, Ordering::Relaxed), i);
                    if i >= bad {
                        Err(i)
                    } else {
                        Ok(())
                    }
                });
                assert_eq!((result, visited.into_inner()), (Err(bad), bad + 1));
            }
        }
    }
}

/// Runs a loop on a pool of two in which the worker fails, with error 1, in its first body, while the
/// caller is in its own first one, with what `then` gives, and stays there until the worker has left the loop. Returns
/// the result and how many bodies were begun: one by each, if nobody goes on.
///
/// That the worker has left is seen by a task: the only worker takes it after the loop.
fn fail_on_the_worker(
    pool: &ThreadPool,
    then: Result<(), usize>,
    run: impl FnOnce(&(dyn Fn() -> Result<(), usize> + Sync)) -> Result<(), usize>,
) -> (Result<(), usize>, usize) {
    let caller = thread::current().id();
    let left = Arc::new(AtomicBool::new(false));
    let (inside, begun) = (AtomicBool::new(false), AtomicUsize::new(0));
    let result = run(&|| {
        begun.fetch_add(1, Ordering::Relaxed);
        if thread::current().id() == caller {
            inside.store(true, Ordering::Relaxed);
            wait_until(|| left.load(Ordering::Acquire));
            return then;
        }
        wait_until(|| inside.load(Ordering::Relaxed));
        let left = Arc::clone(&left);
        pool.add_task(move || left.store(true, Ordering::Release));
        Err(1)
    });
    (result, begun.into_inner())
}

// Once a lane has failed and left, no other lane begins another range: catches a claim that does not
// look whether the loop has been stopped.
fn no_range_begins_after_the_error(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    for len in [2, 3, 64, 1000] {
        for lanes in [2, 16] {
            let (result, begun) = fail_on_the_worker(&pool, Ok(()), |f| {
                let l = pool.parallel_for(0..len).num_threads(lanes);
                l.try_for_each_range(|_| f())
            });
            assert_eq!((result, begun), (Err(1), 2), "{len} with {lanes} lanes");
        }
    }
}

// Nor does another lane begin another *index*, wherever it is in its range: catches a body by index
// that looks for a stop only between ranges.
fn no_index_begins_after_the_error(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    for len in [2, 64, 1000] {
        for try_each in [FALLIBLE[0], FALLIBLE[2]] {
            let (result, begun) = fail_on_the_worker(&pool, Ok(()), |f| {
                try_each(pool.parallel_for(0..len), &|_| f())
            });
            assert_eq!((result, begun), (Err(1), 2), "{len}");
        }
    }
}

// Of several errors the one that came first in time comes back: catches a later one, or the caller's
// own, that overwrites it.
fn the_first_error_comes_back(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    for try_each in FALLIBLE {
        for _ in 0..50 {
            let (result, begun) = fail_on_the_worker(&pool, Err(2), |f| {
                try_each(pool.parallel_for(0..2), &|_| f())
            });
            assert_eq!((result, begun), (Err(1), 2));
        }
    }
}

// After a failed loop the next one on the same pool is whole: catches a stop that outlives its loop.
fn failed_loops_leave_the_pool_whole(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        for bad in 0..64 {
            let result =
                pool.parallel_for(0..64)
                    .try_for_each(|i| if i == bad { Err(i) } else { Ok(()) });
            assert_eq!(result, Err(bad));
            let visited = AtomicUsize::new(0);
            pool.parallel_for(0..64).for_each(|_| {
                visited.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(visited.into_inner(), 64, "{threads} threads");
        }
    });
}
