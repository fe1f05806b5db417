//! A forked child uses the pools that its parent made: they get workers of their own there, and the
//! parent's go on.

#![cfg(unix)]

mod support;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Barrier};
use std::thread;
use std::time::Duration;

use conga::{Dispatch, ThreadPool};
use support::process::fork;
use support::{assert_whole, in_time, meet, yield_until, DISPATCHES};

fn pool_with(dispatch: Dispatch, threads: usize) -> ThreadPool {
    ThreadPool::builder()
        .num_threads(threads)
        .dispatch(dispatch)
        .spin(Duration::from_micros(200))
        .build()
        .unwrap()
}

/// Loops of 1 and of 1,000, reductions, nested loops, tasks: what a child does with a pool.
fn use_pool(pool: &ThreadPool) {
    for dispatch in DISPATCHES {
        for len in [1, 1000] {
            let sum = AtomicUsize::new(0);
            pool.parallel_for(0..len).dispatch(dispatch).for_each(|i| {
                sum.fetch_add(i + 1, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), len * (len + 1) / 2);
        }
        let sum = pool
            .parallel_for(0..1000)
            .dispatch(dispatch)
            .map_reduce(|range| range.sum::<usize>(), |a, b| a + b);
        assert_eq!(sum, 499_500);
        let inner = AtomicUsize::new(0);
        pool.parallel_for(0..10).dispatch(dispatch).for_each(|_| {
            pool.parallel_for(0..10).dispatch(dispatch).for_each(|j| {
                inner.fetch_add(j, Ordering::Relaxed);
            });
        });
        assert_eq!(inner.into_inner(), 450);
    }
    let (tell, told) = mpsc::channel();
    for i in 0..10 {
        let tell = tell.clone();
        pool.add_task(move || tell.send(i).unwrap());
    }
    drop(tell);
    assert_eq!(told.iter().sum::<usize>(), 45);
}

/// What a child does with a pool of its own: it has as many threads as in the parent, all lanes
/// come, and it can be dropped.
fn use_up(pool: ThreadPool, threads: usize) {
    assert_eq!(pool.num_threads(), threads);
    use_pool(&pool);
    meet(&pool, Dispatch::Chained, threads);
    assert_whole(&pool);
    assert_eq!(pool.ensure_threads(threads + 2), threads + 2);
    meet(&pool, Dispatch::Chained, threads + 2);
    drop(pool);
}

/// Sets a flag when a test is over, however it ends.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A pipe's two ends.
fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the descriptor is open and nobody else's.
    let reader = unsafe { File::from_raw_fd(ends[0]) };
    // SAFETY: as above.
    let writer = unsafe { File::from_raw_fd(ends[1]) };
    (reader, writer)
}

/// The workers spin or sleep when the process forks: the child's pool gets new ones, at its first
/// loop, task or drop. Catches workers on paper, a drop that joins the parent's, and a slot that
/// the parent's thread keeps.
#[test]
fn while_the_workers_are_idle() {
    for dispatch in DISPATCHES {
        in_time(&format!("{dispatch:?}"), move || {
            for spinning in [false, true] {
                let pool = pool_with(dispatch, 3);
                use_pool(&pool);
                if !spinning {
                    pool.park_now();
                }
                // SAFETY: the original is not used in the child, and the copy not in the parent.
                let copy = || unsafe { std::ptr::read(&pool) };
                fork(|| use_up(copy(), 3)).assert_ends_well();
                fork(|| drop(copy())).assert_ends_well();
                fork(|| {
                    let pool = copy();
                    let (tell, told) = mpsc::channel();
                    pool.add_task(move || tell.send(5).unwrap());
                    assert_eq!(told.recv(), Ok(5));
                    drop(pool);
                })
                .assert_ends_well();
                use_up(pool, 3);
            }
        });
    }
}

/// A child that forks again: its own pool works in the grandchild, too, and goes on in the child.
/// Catches a mark of the fork that tells only parent from child.
#[test]
fn a_grandchild() {
    for dispatch in DISPATCHES {
        in_time(&format!("{dispatch:?}"), move || {
            let pool = pool_with(dispatch, 3);
            use_pool(&pool);
            let child = fork(|| {
                for use_first in [false, true] {
                    if use_first {
                        use_pool(&pool);
                    }
                    fork(|| {
                        use_pool(&pool);
                        fork(|| use_pool(&pool)).assert_ends_well();
                    })
                    .assert_ends_well();
                }
                use_pool(&pool);
                meet(&pool, Dispatch::Chained, 3);
            });
            child.assert_ends_well();
            use_up(pool, 3);
        });
    }
}

/// The shared pool works in a child, whether the parent has used it or not. Catches a pool that is
/// made behind a lock.
#[test]
fn the_global_pool() {
    in_time("the global pool", || {
        // From the first pool on the process counts its forks.
        drop(pool_with(Dispatch::Adaptive, 1));
        fork(|| use_pool(ThreadPool::global())).assert_ends_well();
        let lanes = ThreadPool::global().num_threads();
        use_pool(ThreadPool::global());
        fork(|| {
            let pool = ThreadPool::global();
            assert_eq!(pool.num_threads(), lanes);
            use_pool(pool);
            fork(|| use_pool(ThreadPool::global())).assert_ends_well();
        })
        .assert_ends_well();
        assert_whole(ThreadPool::global());
    });
}

/// Another thread's loop is open, with all its lanes inside, when the process forks: the child does
/// not wait for it. Catches a count of workers, or a mark on the board, that the child takes over.
#[test]
fn while_a_loop_runs() {
    for dispatch in DISPATCHES {
        in_time(&format!("{dispatch:?}"), move || {
            let pool = pool_with(dispatch, 3);
            let (inside, open) = (Barrier::new(4), AtomicBool::new(false));
            thread::scope(|scope| {
                scope.spawn(|| {
                    pool.parallel_for(0..3).for_each(|_| {
                        inside.wait();
                        yield_until(|| open.load(Ordering::Relaxed));
                    });
                });
                inside.wait();
                let _end = SetWhenDropped(&open);
                let child = fork(|| {
                    use_pool(&pool);
                    meet(&pool, Dispatch::Chained, 3);
                });
                child.assert_ends_well();
            });
            use_up(pool, 3);
        });
    }
}

/// Tasks run and are queued when the process forks: they run in the parent, once, and not in the
/// child, which runs its own. Catches a queue that is taken over.
#[test]
fn tasks_are_the_parents() {
    for dispatch in DISPATCHES {
        in_time(&format!("{dispatch:?}"), move || {
            let (mut reader, writer) = pipe();
            let writer = Arc::new(writer);
            let add = |pool: &ThreadPool, text: &'static [u8]| {
                let writer = Arc::clone(&writer);
                pool.add_task(move || (&*writer).write_all(text).unwrap());
            };
            let pool = pool_with(dispatch, 2);
            let (started, open) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
            let (at_start, at_gate) = (Arc::clone(&started), Arc::clone(&open));
            pool.add_task(move || {
                at_start.wait();
                yield_until(|| at_gate.load(Ordering::Relaxed));
            });
            (0..10).for_each(|_| add(&pool, b"p"));
            started.wait();
            // SAFETY: the original is not used in the child, and the copy not in the parent.
            let copy = || unsafe { std::ptr::read(&pool) };
            fork(|| {
                let pool = copy();
                use_pool(&pool);
                (0..5).for_each(|_| add(&pool, b"c"));
                drop(pool);
            })
            .assert_ends_well();
            // A child that drops the pool without having used it.
            fork(|| drop(copy())).assert_ends_well();
            open.store(true, Ordering::Relaxed);
            use_pool(&pool);
            drop(pool);
            drop(writer);
            let mut written = String::new();
            reader.read_to_string(&mut written).unwrap();
            assert_eq!(written, "cccccpppppppppp");
        });
    }
}

/// Another thread makes pools, makes them grow, runs loops on them and drops them while the process
/// forks: the child finds whole what it uses. Catches a lock of the pool that a child finds taken.
#[test]
fn while_a_pool_grows() {
    in_time("forks while a pool grows", || {
        let over = AtomicBool::new(false);
        let pool = pool_with(Dispatch::Adaptive, 1);
        let rounds = AtomicUsize::new(0);
        thread::scope(|scope| {
            // Also where a child fails.
            let _end = SetWhenDropped(&over);
            scope.spawn(|| {
                for lanes in (2..200).cycle() {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let own = pool_with(DISPATCHES[lanes % 3], 1);
                    own.ensure_threads(2 + lanes % 4);
                    use_pool(&own);
                    drop(own);
                    pool.ensure_threads(lanes / 8);
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
            for _ in 0..60 {
                let before = rounds.load(Ordering::Relaxed);
                fork(|| {
                    use_pool(&pool);
                    let lanes = pool.num_threads();
                    assert_eq!(pool.ensure_threads(lanes + 1), lanes + 1);
                    meet(&pool, Dispatch::Chained, lanes + 1);
                    use_up(pool_with(Dispatch::Chained, 4), 4);
                })
                .assert_ends_well();
                yield_until(|| rounds.load(Ordering::Relaxed) != before);
            }
        });
        assert_whole(&pool);
    });
}

/// Other threads start and end threads of their own all the time while the process forks: the
/// child's workers start nevertheless. Catches workers that need a lock of the standard library,
/// which is taken at the start and at the end of each of its threads.
#[test]
fn while_other_threads_start() {
    in_time("forks while threads start", || {
        let over = AtomicBool::new(false);
        let pool = pool_with(Dispatch::Adaptive, 2);
        thread::scope(|scope| {
            // Also where a child fails.
            let _end = SetWhenDropped(&over);
            for _ in 0..3 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        thread::spawn(|| {}).join().unwrap();
                    }
                });
            }
            for _ in 0..200 {
                fork(|| meet(&pool, Dispatch::Adaptive, 2)).assert_ends_well();
            }
        });
        use_up(pool, 2);
    });
}
