//! A pool is made, grows while it works, and leaves no thread behind; and works with one thread and
//! with a thousand.

#[path = "../common/mod.rs"]
mod common;
mod growth;
#[cfg(target_os = "linux")]
mod refused;
mod settings;
#[path = "../support/mod.rs"]
mod support;

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Barrier, Mutex};
use std::thread;

use conga::{Dispatch, ThreadPool};
use support::{
    assert_whole, counters, for_each_setting, in_time, meet, pool_of, yield_until,
    yield_until_or_fail, DISPATCHES,
};

/// How many of the process's threads have a name that starts with `prefix`, where the system tells.
#[cfg(target_os = "linux")]
fn threads_named(prefix: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    // A thread may end between the listing and the reading of its name.
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .filter(|name| name.starts_with(prefix))
        .count()
}

/// How many there are is not known here.
#[cfg(not(target_os = "linux"))]
fn threads_named(_: &str) -> usize {
    0
}

/// Waits until no thread of this name is left. One that has been joined may be listed for a moment.
fn assert_none_left(prefix: &str) {
    yield_until_or_fail("threads are left", || threads_named(prefix) == 0);
}

/// A pool whose workers are named `prefix-0` and on, and the number of workers that have ended.
fn named_pool(threads: usize, prefix: &'static str) -> (ThreadPool, Arc<AtomicUsize>) {
    let ended = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ended);
    let pool = ThreadPool::builder()
        .num_threads(threads)
        .thread_name(move |worker| format!("{prefix}-{worker}"))
        .exit_handler(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    (pool, ended)
}

/// A hundred pools are made, used and dropped: after each drop all its workers have ended. Catches
/// a drop that does not join, and workers that miss the end.
#[test]
fn dropped_pools_leave_no_thread() {
    in_time("100 pools", || {
        for round in 0..100 {
            let threads = 2 + round % 7;
            let (pool, ended) = named_pool(threads, "w-dropped");
            assert_eq!(pool.num_threads(), threads);
            if round % 4 != 0 {
                let dispatch = DISPATCHES[round % 3];
                let sum = AtomicUsize::new(0);
                pool.parallel_for(0..100).dispatch(dispatch).for_each(|i| {
                    sum.fetch_add(i, Ordering::Relaxed);
                });
                assert_eq!(sum.into_inner(), 4950);
            }
            if cfg!(target_os = "linux") && round % 10 == 5 {
                meet(&pool, Dispatch::Chained, threads);
                assert_eq!(threads_named("w-dropped"), threads - 1);
            }
            drop(pool);
            assert_eq!(ended.load(Ordering::Relaxed), threads - 1);
            assert_none_left("w-dropped");
        }
    });
}

/// Tasks that are queued when the pool is dropped have all run when the drop returns. Catches a
/// worker that ends before the queue is empty.
#[test]
fn drop_runs_what_is_queued() {
    for_each_setting(|_, threads| {
        let (pool, ended) = named_pool(threads, "w-queued");
        let (started, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (open, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        for _ in 0..threads - 1 {
            let (started, gate) = (Arc::clone(&started), Arc::clone(&gate));
            pool.add_task(move || {
                started.fetch_add(1, Ordering::Relaxed);
                gate.lock().unwrap().recv().unwrap();
            });
        }
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            pool.add_task(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
        yield_until(|| started.load(Ordering::Relaxed) == threads - 1);
        assert_eq!(ran.load(Ordering::Relaxed), 0);
        thread::scope(|scope| {
            scope.spawn(|| (1..threads).for_each(|_| open.send(()).unwrap()));
            drop(pool);
            assert_eq!(ran.load(Ordering::Relaxed), 100);
        });
        assert_eq!(ended.load(Ordering::Relaxed), threads - 1);
        assert_none_left("w-queued");
    });
}

/// A pool whose last handle is dropped in a task of its own runs what else is queued and ends.
/// Catches a worker that waits for itself, and workers that stay for ever.
#[test]
fn dropped_on_a_worker_of_its_own() {
    for_each_setting(|dispatch, threads| {
        let (pool, ended) = named_pool(threads, "w-detached");
        let pool = Arc::new(pool);
        let (open, gate) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let last = Arc::clone(&pool);
        pool.add_task(move || {
            gate.recv().unwrap();
            let sum = AtomicUsize::new(0);
            last.parallel_for(0..100).dispatch(dispatch).for_each(|i| {
                sum.fetch_add(i, Ordering::Relaxed);
            });
            drop(last);
            tell.send(sum.into_inner()).unwrap();
        });
        let later = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let later = Arc::clone(&later);
            pool.add_task(move || {
                later.fetch_add(1, Ordering::Relaxed);
            });
        }
        drop(pool);
        open.send(()).unwrap();
        assert_eq!(told.recv().unwrap(), 4950);
        yield_until(|| ended.load(Ordering::Relaxed) == threads - 1);
        assert_eq!(later.load(Ordering::Relaxed), 10);
        assert_none_left("w-detached");
    });
}

/// A pool that lives in a thread-local variable ends with its thread, after loops that kept a slot.
/// Catches a drop, or a slot's return, that needs thread-local variables which are gone.
#[test]
fn dropped_at_the_end_of_a_thread() {
    thread_local! {
        static POOL: (ThreadPool, Arc<AtomicUsize>) = named_pool(3, "w-local");
    }
    in_time("a pool in a thread-local variable", || {
        for use_other_first in [false, true] {
            let other = pool_of(2);
            let ended = thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    if use_other_first {
                        assert_whole(&other);
                    }
                    POOL.with(|(pool, ended)| {
                        assert_whole(pool);
                        Arc::clone(ended)
                    })
                });
                thread.join().unwrap()
            });
            assert_eq!(ended.load(Ordering::Relaxed), 2);
            assert_none_left("w-local");
        }
    });
}

/// A pool of one has no thread, runs loops with any limit, and starts none for them. Catches an
/// extra worker.
#[test]
fn a_pool_of_one_starts_no_thread() {
    in_time("a pool of one", || {
        let (pool, ended) = named_pool(1, "w-lonely");
        assert_eq!(pool.num_threads(), 1);
        assert_whole(&pool);
        let caller = thread::current().id();
        for dispatch in DISPATCHES {
            for limit in [1, 2, 16, 1_000_000] {
                pool.parallel_for(0..1000)
                    .num_threads(limit)
                    .dispatch(dispatch)
                    .for_each_lane(|lane, _| {
                        assert_eq!((lane, thread::current().id()), (0, caller));
                    });
            }
        }
        assert_eq!(threads_named("w-lonely"), 0);
        assert_eq!(pool.stats().threads_started, 0);
        drop(pool);
        assert_eq!(ended.load(Ordering::Relaxed), 0);
    });
}

/// A pool of 1,024: all lanes of a loop meet, under every strategy. Catches a lane id, a worker's
/// number or a count that has no room for as many.
#[test]
fn a_thousand_threads() {
    const THREADS: usize = 1024;
    in_time("1,024 threads", || {
        for dispatch in DISPATCHES {
            let (pool, ended) = named_pool(THREADS, "w-many");
            let stats = pool.stats();
            assert_eq!(stats.threads_started + 1, pool.num_threads() as u64);
            if pool.num_threads() < THREADS {
                assert_eq!(stats.threads_refused, 1);
                println!("left out: the system has {} threads", pool.num_threads());
                return;
            }
            let (all, runs) = (Barrier::new(THREADS), counters(THREADS));
            pool.parallel_for(0..THREADS)
                .dispatch(dispatch)
                .for_each_lane(|lane, _| {
                    runs[lane].fetch_add(1, Ordering::Relaxed);
                    all.wait();
                });
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
            let sum = pool
                .parallel_for(0..100_000)
                .dispatch(dispatch)
                .map_reduce(|range| range.sum::<usize>(), |a, b| a + b);
            assert_eq!(sum, 99_999 * 50_000);
            drop(pool);
            assert_eq!(ended.load(Ordering::Relaxed), THREADS - 1);
        }
        assert_none_left("w-many");
    });
}

/// More loops are open at once than a board has slots: the innermost of 600 nested ones is right,
/// and its two bodies meet. Catches a loop without a slot that nobody is called to.
#[test]
fn more_open_loops_than_slots() {
    fn nest(pool: &ThreadPool, dispatch: Dispatch, depth: usize, innermost: &AtomicUsize) {
        if depth == 0 {
            // Also where the loop was light until now.
            let both = |meeting: Option<&Barrier>| {
                pool.parallel_for(0..2).dispatch(dispatch).for_each(|_| {
                    if let Some(meeting) = meeting {
                        meeting.wait();
                    }
                });
            };
            (0..1000).for_each(|_| both(None));
            both(Some(&Barrier::new(2)));
            pool.parallel_for(0..100).dispatch(dispatch).for_each(|i| {
                innermost.fetch_add(i, Ordering::Relaxed);
            });
            return;
        }
        pool.parallel_for(0..2).dispatch(dispatch).for_each(|i| {
            if i == 0 {
                nest(pool, dispatch, depth - 1, innermost);
            }
        });
    }
    for_each_setting(|dispatch, threads| {
        let pool = Arc::new(pool_of(threads));
        // So that the pool knows its prices, and light loops for what they are.
        (0..50).for_each(|_| meet(&pool, dispatch, 2));
        let nested = {
            let pool = Arc::clone(&pool);
            thread::Builder::new()
                .stack_size(64 << 20)
                .spawn(move || {
                    let innermost = AtomicUsize::new(0);
                    nest(&pool, dispatch, 600, &innermost);
                    innermost.into_inner()
                })
                .unwrap()
        };
        assert_eq!(nested.join().unwrap(), 4950);
        assert_eq!(pool.stats().loops, 50 + 600 + 1001 + 1);
        assert_whole(&pool);
    });
}

/// What a pool counts fits what it did. Catches a block or a loop that is counted twice, or not
/// before the loop returns.
#[test]
fn counters_fit() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        assert_eq!(pool.stats().threads_started, threads as u64 - 1);
        for round in 1..500 {
            pool.parallel_for(0..1000)
                .num_threads(threads)
                .dispatch(dispatch)
                .for_each_range(|range| {
                    black_box(range);
                });
            // Alone, by definition: these do not count.
            pool.parallel_for(0..1000).num_threads(1).for_each(|_| {});
            pool.parallel_for(0..7).min_block_size(4).for_each(|_| {});
            let stats = pool.stats();
            assert_eq!(stats.loops, round);
            let blocks = 4 * threads as u64 * round;
            assert_eq!(stats.blocks_by_caller + stats.blocks_by_others, blocks);
            assert!(stats.blocks_from_other_runs <= blocks);
            assert!(stats.loops_brought_in <= round);
            assert!(stats.loops_brought_in <= stats.blocks_by_others);
        }
        let (tell, told) = mpsc::channel();
        for _ in 0..20 {
            let tell = tell.clone();
            pool.add_task(move || tell.send(()).unwrap());
        }
        drop(tell);
        assert_eq!(told.iter().count(), 20);
        // A task is counted when it is over, which is after it has told.
        yield_until(|| pool.stats().tasks == 20);
        let stats = pool.stats();
        assert!(stats.wake_ups_found_nothing <= stats.wake_ups);
        assert_eq!(stats.threads_refused, 0);
    });
}
