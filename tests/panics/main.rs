//! A panic in a body stops the loop, reaches the loop's caller with the first payload, and leaves
//! the pool whole; and what a body borrows or owns is let go when the loop returns.

mod letting_go;
mod other_closures;
#[path = "../support/mod.rs"]
mod support;

use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use support::{
    assert_whole, counters, for_each_setting, panic_with, payload_of, pool_of, yield_until,
    DISPATCHES,
};

/// A payload that counts how often one was dropped.
struct Counted {
    lane: usize,
    dropped: Arc<AtomicUsize>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// A payload whose drop counts and panics, with another one as the payload.
struct Hostile(Arc<AtomicUsize>);

impl Drop for Hostile {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        if !thread::panicking() {
            panic_with(Hostile(Arc::clone(&self.0)));
        }
    }
}

/// One body of a thousand panics, at any index: the caller gets its payload, no index runs twice,
/// the pool is whole. Catches a panic that is swallowed, and claims that are lost to the count of
/// the end.
#[test]
fn one_body_of_many() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        for bad in [0, 1, 371, 998, 999] {
            let runs = counters(1000);
            let payload = payload_of(|| {
                pool.parallel_for(0..1000).dispatch(dispatch).for_each(|i| {
                    runs[i].fetch_add(1, Ordering::Relaxed);
                    if i == bad {
                        panic_with(bad);
                    }
                });
            });
            assert_eq!(*payload.downcast::<usize>().unwrap(), bad);
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) <= 1));
            assert_eq!(runs[bad].load(Ordering::Relaxed), 1);
            assert_whole(&pool);
        }
    });
}

/// With all lanes inside, one of them panics, the caller's or another: its payload reaches the
/// caller. Catches a payload that stays on the worker, and a caller that leaves while others are
/// inside.
#[test]
fn in_the_callers_lane_and_in_another() {
    for_each_setting(|dispatch, threads| {
        for by_caller in [true, false] {
            let pool = pool_of(threads);
            let (all, after) = (Barrier::new(threads), AtomicUsize::new(0));
            let caller = thread::current().id();
            let payload = payload_of(|| {
                pool.parallel_for(0..threads)
                    .dispatch(dispatch)
                    .for_each_lane(|lane, i| {
                        let is_caller = thread::current().id() == caller;
                        assert_eq!(lane == 0, is_caller);
                        all.wait();
                        let panics = if by_caller {
                            is_caller
                        } else {
                            i == threads - 1
                        };
                        if panics {
                            panic_with(lane);
                        }
                        // The others are still at work when the panic is on its way.
                        (0..10).for_each(|_| thread::yield_now());
                        after.fetch_add(1, Ordering::Relaxed);
                    });
            });
            let lane = *payload.downcast::<usize>().unwrap();
            assert_eq!(lane == 0, by_caller, "lane {lane} panicked");
            assert_eq!(after.load(Ordering::Relaxed), threads - 1);
            assert_whole(&pool);
        }
    });
}

/// All lanes panic at once: the caller gets one payload, the others have been dropped, once each.
/// Catches a later payload that is leaked, or dropped twice.
#[test]
fn in_all_lanes_at_once() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        let (all, dropped) = (Barrier::new(threads), Arc::new(AtomicUsize::new(0)));
        let payload = payload_of(|| {
            pool.parallel_for(0..threads)
                .dispatch(dispatch)
                .for_each_lane(|lane, _| {
                    let dropped = Arc::clone(&dropped);
                    all.wait();
                    panic_with(Counted { lane, dropped });
                });
        });
        assert_eq!(dropped.load(Ordering::Relaxed), threads - 1);
        let first = payload.downcast::<Counted>().unwrap();
        assert!(first.lane < threads);
        drop(first);
        assert_eq!(dropped.load(Ordering::Relaxed), threads);
        assert_eq!(Arc::strong_count(&dropped), 1);
        assert_whole(&pool);
    });
}

/// All workers' lanes have panicked and left before the caller's own body panics: the payload is
/// one of theirs. Catches a later payload that replaces the first one.
#[test]
fn the_first_payload_wins() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        let (all, dropped) = (Barrier::new(threads), Arc::new(AtomicUsize::new(0)));
        let payload = payload_of(|| {
            pool.parallel_for(0..threads)
                .dispatch(dispatch)
                .for_each_lane(|lane, _| {
                    all.wait();
                    if lane == 0 {
                        // As many tasks as workers meet when no worker is in the loop any more.
                        let together = Arc::new(Barrier::new(threads));
                        for _ in 1..threads {
                            let together = Arc::clone(&together);
                            pool.add_task(move || {
                                together.wait();
                            });
                        }
                        together.wait();
                    }
                    let dropped = Arc::clone(&dropped);
                    panic_with(Counted { lane, dropped });
                });
        });
        assert_ne!(payload.downcast::<Counted>().unwrap().lane, 0);
        assert_eq!(dropped.load(Ordering::Relaxed), threads);
        assert_whole(&pool);
    });
}

/// All lanes panic with payloads whose drop panics with such a payload again: the loop ends, the
/// pool is whole. Catches a worker that dies of a payload's drop and takes its claim with it.
#[test]
fn payloads_whose_drop_panics() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        let (all, dropped) = (Barrier::new(threads), Arc::new(AtomicUsize::new(0)));
        let payload = payload_of(|| {
            pool.parallel_for(0..threads)
                .dispatch(dispatch)
                .for_each(|_| {
                    all.wait();
                    panic_with(Hostile(Arc::clone(&dropped)));
                });
        });
        assert!(payload.is::<Hostile>());
        std::mem::forget(payload);
        assert_eq!(dropped.load(Ordering::Relaxed), threads - 1);
        assert_whole(&pool);
    });
}

/// After a panic no lane begins another claim: exact where one lane has seen the panic of another,
/// and where the caller is alone. Catches a loop that runs on to its end before it reports.
#[test]
fn claiming_stops() {
    for_each_setting(|dispatch, threads| {
        let alone = pool_of(1);
        let calls = AtomicUsize::new(0);
        let body = |_: Range<usize>| {
            calls.fetch_add(1, Ordering::Relaxed);
            panic_with(());
        };
        payload_of(|| {
            alone
                .parallel_for(0..1000)
                .num_threads(threads)
                .dispatch(dispatch)
                .for_each_range(body);
        });
        assert_eq!(calls.load(Ordering::Relaxed), 1);

        // Two lanes panic; the later one's payload is dropped when both have stopped the loop,
        // which the third lane waits for.
        let pool = pool_of(threads.max(3));
        let (all, dropped) = (Barrier::new(3), Arc::new(AtomicUsize::new(0)));
        let calls = AtomicUsize::new(0);
        payload_of(|| {
            pool.parallel_for(0..12_000)
                .num_threads(3)
                .dispatch(dispatch)
                .for_each_lane_range(|lane, _| {
                    calls.fetch_add(1, Ordering::Relaxed);
                    all.wait();
                    if lane != threads % 3 {
                        let dropped = Arc::clone(&dropped);
                        panic_with(Counted { lane, dropped });
                    }
                    yield_until(|| dropped.load(Ordering::Relaxed) == 1);
                });
        });
        assert_eq!(calls.load(Ordering::Relaxed), 3);
        assert_whole(&pool);
    });
}

/// A panic in a nested loop goes through the outer body to the outer caller, or is caught in the
/// outer body, which goes on. Catches an inner loop's slot that is not given back, and payloads
/// that are mixed up.
#[test]
fn in_a_nested_loop() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        let all = Barrier::new(threads);
        let inner = |outer: usize, bad: Option<usize>| {
            pool.parallel_for(0..100).dispatch(dispatch).for_each(|i| {
                if Some(i) == bad {
                    panic_with((outer, i));
                }
            });
        };
        let payload = payload_of(|| {
            pool.parallel_for(0..threads)
                .dispatch(dispatch)
                .for_each(|outer| {
                    all.wait();
                    inner(outer, (outer == threads - 1).then_some(37));
                });
        });
        assert_eq!(
            *payload.downcast::<(usize, usize)>().unwrap(),
            (threads - 1, 37)
        );
        assert_whole(&pool);

        let caught = AtomicUsize::new(0);
        pool.parallel_for(0..100)
            .dispatch(dispatch)
            .for_each(|outer| {
                let bad = Some(outer).filter(|outer| outer % 3 == 0);
                let result = catch_unwind(AssertUnwindSafe(|| inner(outer, bad)));
                assert_eq!(result.is_err(), bad.is_some());
                if let Err(payload) = result {
                    assert_eq!(
                        *payload.downcast::<(usize, usize)>().unwrap(),
                        (outer, outer)
                    );
                    caught.fetch_add(1, Ordering::Relaxed);
                }
            });
        assert_eq!(caught.load(Ordering::Relaxed), 34);
        assert_whole(&pool);
    });
}

/// Panics from many threads at once, each with its own loops on one pool: each gets its own
/// payload. Catches a payload that is kept by the pool instead of the loop.
#[test]
fn from_many_callers_at_once() {
    for_each_setting(|_, threads| {
        let pool = pool_of(threads);
        thread::scope(|scope| {
            for caller in 0..4 {
                let pool = &pool;
                scope.spawn(move || {
                    for round in 0..200 {
                        let dispatch = DISPATCHES[(caller + round) % 3];
                        let payload = payload_of(|| {
                            pool.parallel_for(0..50).dispatch(dispatch).for_each(|i| {
                                if i % 10 == round % 10 {
                                    panic_with((caller, round));
                                }
                            });
                        });
                        let payload = payload.downcast::<(usize, usize)>().unwrap();
                        assert_eq!(*payload, (caller, round));
                    }
                });
            }
        });
        assert_whole(&pool);
    });
}
