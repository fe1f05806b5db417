//! What the tests of panics, pools, forks and tasks have in common.

// Each test binary uses a part of it.
#![allow(dead_code)]

#[cfg(unix)]
pub mod process;

use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use conga::{Dispatch, ThreadPool};

/// Every strategy.
pub const DISPATCHES: [Dispatch; 3] = [Dispatch::PerThread, Dispatch::Chained, Dispatch::Adaptive];

/// Long after a test should be over, also on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Runs `test` on a thread of its own. Panics if it panics, or has not ended by the deadline: then
/// its threads are left where they hang.
pub fn in_time<R: Send + 'static>(what: &str, test: impl FnOnce() -> R + Send + 'static) -> R {
    in_time_of(DEADLINE, what, test)
}

/// As [`in_time`], with a deadline of one's own.
pub fn in_time_of<R: Send + 'static>(
    deadline: Duration,
    what: &str,
    test: impl FnOnce() -> R + Send + 'static,
) -> R {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        // The receiver is gone where the deadline has passed.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(test)));
    });
    match receiver.recv_timeout(deadline) {
        Ok(result) => {
            thread.join().expect("the panic was caught");
            result.unwrap_or_else(|payload| {
                eprintln!("failed: {what}");
                resume_unwind(payload)
            })
        }
        Err(RecvTimeoutError::Timeout) => panic!("{what}: hangs (not over after {deadline:?})"),
        Err(RecvTimeoutError::Disconnected) => panic!("{what}: ended without a result"),
    }
}

/// Runs `test` for every strategy and 2, 3 and 8 threads, each in time.
pub fn for_each_setting(test: impl Fn(Dispatch, usize) + Copy + Send + 'static) {
    for dispatch in DISPATCHES {
        for threads in [2, 3, 8] {
            in_time(&format!("{dispatch:?}, {threads} threads"), move || {
                test(dispatch, threads)
            });
        }
    }
}

/// A pool that has all the threads it was asked for.
pub fn pool_of(threads: usize) -> ThreadPool {
    let pool = ThreadPool::new(threads).unwrap();
    assert_eq!(pool.num_threads(), threads, "the system refused a thread");
    pool
}

/// Counters, all zero.
pub fn counters(len: usize) -> Vec<AtomicUsize> {
    (0..len).map(|_| AtomicUsize::new(0)).collect()
}

/// Gives its processor away until `ready`: for what only a deadline can end otherwise.
pub fn yield_until(ready: impl Fn() -> bool) {
    while !ready() {
        thread::yield_now();
    }
}

/// As [`yield_until`], on a thread that nobody watches.
pub fn yield_until_or_fail(what: &str, ready: impl Fn() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < DEADLINE, "{what}: still not so");
        thread::yield_now();
    }
}

/// Checks that a pool on which nothing runs is whole: every index of a loop runs once, and the
/// workers come. Two bodies meet under every strategy, all lanes' under those that promise it again
/// and again.
pub fn assert_whole(pool: &ThreadPool) {
    for dispatch in DISPATCHES {
        for len in [1, 2, 7, 1000] {
            let runs = counters(len);
            pool.parallel_for(0..len).dispatch(dispatch).for_each(|i| {
                runs[i].fetch_add(1, Ordering::Relaxed);
            });
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
        }
        let lanes = pool.num_threads();
        if lanes >= 2 {
            meet(pool, dispatch, 2);
            if dispatch != Dispatch::Adaptive {
                meet(pool, dispatch, lanes);
            }
        }
    }
}

/// As many bodies wait for each other.
pub fn meet(pool: &ThreadPool, dispatch: Dispatch, bodies: usize) {
    let all = Barrier::new(bodies);
    pool.parallel_for(0..bodies)
        .num_threads(bodies)
        .dispatch(dispatch)
        .for_each(|_| {
            all.wait();
        });
}

/// Runs `f`, which must panic, and gives the payload.
pub fn payload_of(f: impl FnOnce()) -> Box<dyn Any + Send> {
    catch_unwind(AssertUnwindSafe(f)).expect_err("the panic did not arrive")
}

/// Panics with `payload`, without a message on standard error.
pub fn panic_with<T: Any + Send>(payload: T) -> ! {
    resume_unwind(Box::new(payload))
}

/// A seeded generator of numbers, good enough to mix cases (Knuth's MMIX constants).
pub struct Random(pub u64);

impl Random {
    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end as u64) as usize
    }
}
