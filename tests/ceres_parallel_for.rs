//! Ceres Solver's `parallel_for_test.cc` in Ceres's own terms, and, where a strategy can be chosen, for each
//! strategy of `conga::ThreadPool`. (`GuidedParallelFor`'s partitions have tests of their own.)

mod common;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

use common::{deadline, pool, ActiveLanes, Meeting, Visits, STRATEGIES};
use conga::ceres::{self, parallel_for, parallel_for_with_costs, parallel_for_with_partitions};
use conga::ThreadPool;

/// A body by range.
type RangeBody<'a> = &'a (dyn Fn(Range<usize>) + Sync);

/// A pool of two workers in Ceres's terms, and one of three lanes for each strategy.
fn pools() -> (ceres::ThreadPool, Vec<ThreadPool>) {
    let strategies = STRATEGIES.map(|dispatch| pool(3, dispatch));
    (ceres::ThreadPool::with_threads(2), strategies.into())
}

/// Panics unless `run` calls its argument so that each of 16 values is set to its index's square root.
fn assert_square_roots(run: impl FnOnce(&(dyn Fn(usize) + Sync))) {
    let values: Vec<_> = (0..16).map(|_| AtomicU64::new(0)).collect();
    let root = |i: usize| (i as f64).sqrt().to_bits();
    run(&|i| {
        let before = values[i].swap(root(i), Ordering::Relaxed);
        assert_eq!(before, 0, "index {i} twice");
    });
    for (i, value) in values.into_iter().enumerate() {
        assert_eq!(value.into_inner(), root(i), "index {i}");
    }
}

// Ceres's ParallelFor.NumThreads: 16 indices on 1 to 8 threads, more than the pool has, give what the
// serial loop gives. Catches lanes without a thread that are waited for.
#[test]
fn parallel_for_num_threads() {
    deadline(60, || {
        let (ceres, strategies) = pools();
        for threads in 1..=8 {
            assert_square_roots(|set| parallel_for(&ceres, 0, 16, threads, |i: usize| set(i), 1));
            for pool in &strategies {
                assert_square_roots(|set| {
                    pool.parallel_for(0..16).num_threads(threads).for_each(set)
                });
            }
        }
    });
}

// Ceres's ParallelForWithRange.NumThreads: the same with a body by range.
#[test]
fn parallel_for_with_range_num_threads() {
    deadline(60, || {
        let (ceres, strategies) = pools();
        for threads in 1..=8 {
            assert_square_roots(|set| {
                let body = |range: Range<usize>| range.for_each(set);
                parallel_for(&ceres, 0, 16, threads, body, 1)
            });
            for pool in &strategies {
                assert_square_roots(|set| {
                    let l = pool.parallel_for(0..16).num_threads(threads);
                    l.for_each_range(|range| range.for_each(set))
                });
            }
        }
    });
}

// Ceres's ParallelForWithThreadId.NumThreads: the same with a body that gets the thread's id, which is
// below the number of threads and nobody else's at the time; by index and by range.
#[test]
fn parallel_for_with_thread_id_num_threads() {
    deadline(60, || {
        let (ceres, strategies) = pools();
        for threads in 1..=8 {
            let active = ActiveLanes::of(threads, 16);
            assert_square_roots(|set| {
                let body = |id: usize, i: usize| active.inside(id, || set(i));
                parallel_for(&ceres, 0, 16, threads, body, 1)
            });
            assert_square_roots(|set| {
                let body = |id: usize, r: Range<usize>| active.inside(id, || r.for_each(set));
                parallel_for(&ceres, 0, 16, threads, body, 1)
            });
            for pool in &strategies {
                assert_square_roots(|set| {
                    let l = pool.parallel_for(0..16).num_threads(threads);
                    l.for_each_lane(|lane, i| active.inside(lane, || set(i)))
                });
            }
        }
    });
}

// Ceres's ParallelForWithRange.MinimalSize: four threads, at least five indices, ranges of 5 to 25: no
// range is shorter than five, and each index comes once. Catches a last block of what is left over.
#[test]
fn parallel_for_with_range_minimal_size() {
    deadline(60, || {
        let (ceres, strategies) = pools();
        for size in 5..=25 {
            let check = |run: &dyn Fn(RangeBody<'_>)| {
                let visits = Visits::of(0..size);
                run(&|range| {
                    assert!(range.len() >= 5, "{range:?} of {size}");
                    range.for_each(|i| visits.visit(i));
                });
                visits.assert_each(1, "at least 5");
            };
            check(&|body| parallel_for(&ceres, 0, size, 4, |range: Range<usize>| body(range), 5));
            for pool in &strategies {
                let l = || pool.parallel_for(0..size).num_threads(4).min_block_size(5);
                check(&|body| l().for_each_range(body));
            }
        }
    });
}

// Ceres's ParallelFor.NestedParallelForDeadlock: three loops in a loop of three, two threads each: they
// complete, and each element is incremented once. Catches workers that wait for each other.
#[test]
fn nested_parallel_for_deadlock() {
    deadline(60, || {
        let (ceres, strategies) = pools();
        let visits = Visits::of(0..9);
        let inner = |i: usize| {
            parallel_for(&ceres, 0, 3, 2, |j: usize| visits.visit(3 * i + j), 1);
        };
        parallel_for(&ceres, 0, 3, 2, inner, 1);
        visits.assert_each(1, "Ceres's");
        for pool in strategies {
            let visits = Visits::of(0..9);
            let l = || pool.parallel_for(0..3).num_threads(2);
            l().for_each(|i| l().for_each(|j| visits.visit(3 * i + j)));
            visits.assert_each(1, &format!("{:?}", pool.dispatch()));
        }
    });
}

// Ceres's ParallelForWithThreadId.NestedParallelForDeadlock: the same with bodies that get the thread's id.
#[test]
fn nested_parallel_for_with_thread_id_deadlock() {
    deadline(60, || {
        let (ceres, strategies) = pools();
        let visits = Visits::of(0..9);
        let outer = |_: usize, i: usize| {
            let inner = |_: usize, j: usize| visits.visit(3 * i + j);
            parallel_for(&ceres, 0, 3, 2, inner, 1);
        };
        parallel_for(&ceres, 0, 3, 2, outer, 1);
        visits.assert_each(1, "Ceres's");
        for pool in strategies {
            let visits = Visits::of(0..9);
            let l = || pool.parallel_for(0..3).num_threads(2);
            l().for_each_lane(|_, i| l().for_each_lane(|_, j| visits.visit(3 * i + j)));
            visits.assert_each(1, &format!("{:?}", pool.dispatch()));
        }
    });
}

/// Runs a loop of `lanes` bodies that wait for each other, `rounds` times, and after each hundredth time ten
/// loops of the same body in which nobody waits. `run` runs the loop with a body that is given the id.
fn assert_unique_thread_ids(
    what: &str,
    lanes: usize,
    rounds: usize,
    run: impl Fn(&(dyn Fn(usize) + Sync)),
) {
    let ids = Mutex::new(Vec::new());
    for round in 0..rounds {
        let meeting = Meeting::of(lanes);
        run(&|id| {
            meeting.attend();
            ids.lock().unwrap().push(id);
        });
        let mut ids = ids.lock().unwrap();
        ids.sort();
        assert!(
            ids.iter().copied().eq(0..lanes),
            "{what}, call {round}: {ids:?}"
        );
        ids.clear();
        if round % 100 == 0 {
            (0..10).for_each(|_| run(&|_| ()));
        }
    }
}

// Ceres's ParallelForWithThreadId.UniqueThreadIds: two indices on two threads, whose bodies wait for each
// other: the ids are 0 and 1, on the first call and on the 2,000th, with loops of tiny bodies in
// between; and as many as a pool has threads. Catches a wake-up that is left out, an id that is used
// twice, and a strategy that has learned that the loop is not worth a second thread.
#[test]
fn unique_thread_ids() {
    deadline(120, || {
        let ceres = ceres::ThreadPool::with_threads(2);
        for lanes in [2, ceres.size() + 1] {
            assert_unique_thread_ids("Ceres's", lanes, 1000, |body| {
                parallel_for(&ceres, 0, lanes, lanes, |id: usize, _: usize| body(id), 1)
            });
        }
        for dispatch in STRATEGIES {
            for (lanes, threads, rounds) in [(2, 2, 2000), (2, 3, 200), (3, 3, 200)] {
                let pool = pool(threads, dispatch);
                assert_unique_thread_ids(
                    &format!("{dispatch:?} on {threads}"),
                    lanes,
                    rounds,
                    |body| {
                        let l = pool.parallel_for(0..lanes).num_threads(lanes);
                        l.for_each_lane(|lane, _| body(lane))
                    },
                );
            }
        }
    });
}

// Ceres's GuidedParallelFor.NumThreads: cut by cost, which is the square of the index, on 1 to 8
// threads: what the serial loop gives. Catches costs that are taken for those of single indices.
#[test]
fn guided_parallel_for_num_threads() {
    deadline(60, || {
        let (ceres, strategies) = pools();
        let indices: Vec<_> = (0..16).collect();
        let cost = |&i: &u64| i * i;
        for threads in 1..=8 {
            assert_square_roots(|set| {
                let body = |i: usize| set(i);
                parallel_for_with_costs(&ceres, 0, 16, threads, body, &indices, cost)
            });
            for pool in &strategies {
                assert_square_roots(|set| {
                    let l = pool.parallel_for(0..16).num_threads(threads);
                    l.cumulative_cost(|i| cost(&(i as u64))).for_each(set)
                });
            }
        }
    });
}

// Ceres's ParallelAssign.D2MulX and SetZero by Ceres's names, on 1 to 8 threads: every element, and no
// other, is assigned what the right side gives for its index. Catches a range whose start is left out.
#[test]
fn parallel_assign_and_set_zero() {
    const LEN: usize = (1 << 18) + 7;
    deadline(60, || {
        let pool = ceres::ThreadPool::with_threads(2);
        let d: Vec<_> = (0..LEN).map(|i| (i as f64).sin()).collect();
        let x: Vec<_> = (0..LEN).map(|i| (i as f64).cos()).collect();
        let expected: Vec<_> = d.iter().zip(&x).map(|(d, x)| d * d * x).collect();
        for threads in 1..=8 {
            // One more at either end, so that the slice is not aligned.
            let mut y = vec![7.0; LEN + 2];
            ceres::parallel_assign(&pool, threads, &mut y[1..=LEN], |i| d[i] * d[i] * x[i]);
            assert_eq!(y[1..=LEN], expected, "{threads} threads");
            ceres::parallel_set_zero(&pool, threads, &mut y[1..=LEN]);
            assert!(y[1..=LEN].iter().all(|&y| y == 0.0), "{threads} threads");
            assert_eq!((y[0], y[LEN + 1]), (7.0, 7.0));
        }
        ceres::parallel_set_zero(None, 1, &mut [0_u8; 3]);
    });
}

// Eight threads run 100 loops each on one pool of two, of all forms: each index once. Ceres has no test
// with more than one caller. Catches a task that enters another caller's loop.
#[test]
fn concurrent_callers() {
    deadline(60, || {
        let pool = ceres::ThreadPool::with_threads(2);
        thread::scope(|s| {
            for caller in 1..=8 {
                let pool = &pool;
                s.spawn(move || {
                    for len in 1..=100 {
                        let visits = Visits::of(caller..caller + len);
                        let (end, visit) = (caller + len, |i| visits.visit(i));
                        let bounds = [caller, caller + len / 3, end];
                        let costs: Vec<_> = (0..end as u64).collect();
                        parallel_for(pool, caller, end, caller, |i: usize| visit(i), 1);
                        let by_range = |r: Range<usize>| r.for_each(visit);
                        parallel_for(pool, caller, end, 4, by_range, 3);
                        parallel_for_with_partitions(pool, caller, end, 4, by_range, &bounds);
                        parallel_for_with_costs(pool, caller, end, 4, by_range, &costs, |&c| c);
                        visits.assert_each(4, "four loops");
                    }
                });
            }
        });
    });
}

// A pool without workers runs every loop on the caller, as thread 0, block by block, and runs it again
// after it has been given a worker: catches a loop that waits for threads that are not there. (That nothing
// is left in the queue is tested where allocations are counted.)
#[test]
fn a_pool_without_workers() {
    deadline(60, || {
        let pool = ceres::ThreadPool::new();
        for _ in 0..100 {
            for threads in [1, 2, 8] {
                let seen = Mutex::new(Vec::new());
                let body = |id: usize, range: Range<usize>| seen.lock().unwrap().push((id, range));
                parallel_for(&pool, 0, 100, threads, body, 1);
                let seen = seen.into_inner().unwrap();
                assert!(seen.iter().all(|(id, _)| *id == 0));
                assert!(seen.into_iter().flat_map(|(_, range)| range).eq(0..100));
            }
        }
        pool.resize(1);
        assert_unique_thread_ids("after a resize", 2, 200, |body| {
            parallel_for(&pool, 0, 2, 2, |id: usize, _: usize| body(id), 1)
        });
    });
}

// What the contract says beside the tests: nothing is called for an empty range; with one thread, or
// less than two minimal blocks, there is one call and no pool is needed; otherwise it is, and a missing one
// is told of. Catches conditions that are one off.
#[test]
fn when_a_pool_is_needed() {
    deadline(60, || {
        let calls = AtomicUsize::new(0);
        let count = |_: Range<usize>| {
            calls.fetch_add(1, Ordering::Relaxed);
        };
        parallel_for(None, 5, 5, 4, count, 1);
        parallel_for(None, 5, 3, 4, count, 1);
        parallel_for_with_partitions(None, 5, 5, 4, count, &[]);
        parallel_for_with_costs(None, 5, 5, 4, count, &[1], |&c| c);
        assert_eq!(calls.load(Ordering::Relaxed), 0);
        parallel_for(None, 0, 9, 4, count, 5);
        parallel_for(None, 0, 9, 1, count, 1);
        parallel_for_with_partitions(None, 0, 9, 1, count, &[0, 3, 9]);
        parallel_for_with_partitions(None, 0, 9, 4, count, &[0, 9]);
        assert_eq!(calls.load(Ordering::Relaxed), 4);
        let context = ceres::Context::new();
        parallel_for(&context, 0, 10, 4, count, 5);
        assert_eq!(calls.load(Ordering::Relaxed), 6);

        let message = common::panic_message(|| parallel_for(None, 0, 10, 4, count, 5));
        assert!(message.contains("needs a thread pool"), "{message}");
        let message = common::panic_message(|| parallel_for(&context, 0, 10, 0, count, 5));
        assert!(message.contains("num_threads"), "{message}");
    });
}

// Partitions: the ends have to fit, though with one thread, or no more indices than threads, they are not
// used; otherwise a range body gets whole parts, single ones while there are four for each thread or fewer.
#[test]
fn partitions_as_in_ceres() {
    deadline(60, || {
        let pool = ceres::ThreadPool::with_threads(2);
        let ranges = |end, threads, bounds: &[usize]| {
            let ranges = Mutex::new(Vec::new());
            let body = |range: Range<usize>| ranges.lock().unwrap().push((range.start, range.end));
            parallel_for_with_partitions(&pool, 2, end, threads, body, bounds);
            let mut ranges = ranges.into_inner().unwrap();
            ranges.sort();
            ranges
        };
        assert_eq!(ranges(12, 2, &[2, 3, 9, 12]), [(2, 3), (3, 9), (9, 12)]);
        assert_eq!(ranges(12, 1, &[2, 3, 9, 12]), [(2, 12)]);
        assert_eq!(ranges(6, 4, &[2, 5, 6]), [(2, 3), (3, 4), (4, 5), (5, 6)]);
        let parts: Vec<_> = (2..=100).collect();
        assert_eq!(ranges(100, 2, &parts).len(), 8);
        for bounds in [&[][..], &[2, 11], &[3, 12]] {
            for threads in [1, 2, 20] {
                let message = common::panic_message(|| {
                    ranges(12, threads, bounds);
                });
                assert!(message.contains("partitions go from"), "{message}");
            }
        }
    });
}
