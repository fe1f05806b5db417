//! Pools that grow while loops run, and limits that change from loop to loop.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Barrier;
use std::thread;

use crate::support::{
    assert_whole, counters, for_each_setting, in_time, meet, pool_of, DISPATCHES,
};

/// A body of a loop on a pool without workers asks for one and waits for the next body: it comes.
/// So does each further one. Catches workers that start and do not look for a loop that is open.
#[test]
fn a_body_that_makes_the_pool_grow() {
    for dispatch in DISPATCHES {
        for from in [1, 2] {
            for lanes in [2, 5] {
                in_time(&format!("{dispatch:?}, {from} to {lanes}"), move || {
                    let pool = pool_of(from);
                    let all = Barrier::new(lanes);
                    pool.parallel_for(0..lanes)
                        .num_threads(lanes)
                        .dispatch(dispatch)
                        .for_each(|i| {
                            assert!(pool.ensure_threads(i + 2) >= i + 2);
                            all.wait();
                        });
                    assert_eq!(pool.num_threads(), lanes + 1);
                    assert_whole(&pool);
                });
            }
        }
    }
}

/// Another thread makes the pool grow at the moment when a loop opens whose two bodies wait for
/// each other. Catches a worker that starts between the look for workers and the loop's mark, and a
/// loop that opens after the worker has looked for one and before it is counted.
#[test]
fn growth_while_a_loop_opens() {
    for dispatch in DISPATCHES {
        in_time(&format!("{dispatch:?}"), move || {
            for round in 0..300 {
                let pool = pool_of(1);
                let together = Barrier::new(2);
                thread::scope(|scope| {
                    scope.spawn(|| {
                        together.wait();
                        pool.ensure_threads(2 + round % 2);
                    });
                    together.wait();
                    // Some loops open before the worker starts, some after, some in between.
                    (0..round % 50 * 20).for_each(|_| thread::yield_now());
                    meet(&pool, dispatch, 2);
                });
            }
        });
    }
}

/// A pool grows while four threads run loops on it: every index runs once, every lane id is below
/// the loop's limit, and all asked for are there in the end. Catches places that move when the pool
/// grows.
#[test]
fn growth_under_load() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(1);
        thread::scope(|scope| {
            for caller in 0..4 {
                let pool = &pool;
                scope.spawn(move || {
                    for round in 0..300 {
                        let limit = 1 + (caller + round) % 9;
                        let runs = counters(200);
                        pool.parallel_for(0..200)
                            .num_threads(limit)
                            .dispatch(dispatch)
                            .for_each_lane(|lane, i| {
                                assert!(lane < limit);
                                runs[i].fetch_add(1, Ordering::Relaxed);
                            });
                        assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
                    }
                });
            }
            for lanes in 2..=threads {
                assert!(pool.ensure_threads(lanes) >= lanes);
            }
            assert_eq!(pool.ensure_threads(1), threads);
        });
        assert_eq!(pool.stats().threads_started, threads as u64 - 1);
        assert_whole(&pool);
    });
}

/// The limit alternates between 2 and 3 from call to call: right results, lane ids below the limit.
/// Catches a slot that keeps something of the shape of its last loop.
#[test]
fn alternating_limits() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        for round in 0..5000 {
            let limit = 2 + round % 2;
            let mut x = [0_u8; 24];
            let lanes = AtomicUsize::new(0);
            let places = conga::DisjointSlice::new(&mut x);
            pool.parallel_for(0..24)
                .num_threads(limit)
                .dispatch(dispatch)
                .for_each_lane(|lane, i| {
                    lanes.fetch_max(lane, Ordering::Relaxed);
                    // SAFETY: a loop gives each index to one call of its body, and the slice is
                    // used for nothing else meanwhile.
                    *unsafe { places.get_mut(i) } += 1;
                });
            assert_eq!(x, [1; 24]);
            assert!(lanes.into_inner() < limit);
        }
    });
}
