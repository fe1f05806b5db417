//! A panic in a body stops the loop, reaches the loop's caller with the first payload, and leaves the
//! pool whole; and what a body borrows or owns is let go when the loop returns.

mod support;

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use conga::{Dispatch, Scratch};
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

/// A partial result that counts how many there are.
struct Partial<'a, const N: usize> {
    living: &'a AtomicUsize,
    _bulk: [u8; N],
}

impl<'a, const N: usize> Partial<'a, N> {
    fn new(living: &'a AtomicUsize) -> Self {
        living.fetch_add(1, Ordering::Relaxed);
        Partial {
            living,
            _bulk: [0; N],
        }
    }
}

impl<const N: usize> Drop for Partial<'_, N> {
    fn drop(&mut self) {
        self.living.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One body of a thousand panics, at any index: the caller gets its payload, no index runs twice, the pool
/// is whole. Catches a panic that is swallowed, and claims that are lost to the count of the end.
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

/// With all lanes inside, one of them panics, the caller's or another: its payload reaches the caller.
/// Catches a payload that stays on the worker, and a caller that leaves while others are inside.
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

/// All lanes panic at once: the caller gets one payload, the others have been dropped, once each. Catches a
/// later payload that replaces the first one, is leaked, or is dropped twice.
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

/// All lanes panic with payloads whose drop panics with such a payload again: the loop ends, the pool is
/// whole. Catches a worker that dies of a payload's drop and takes its claim with it.
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

/// After a panic no lane begins another claim: exact where one lane has seen the panic of another, and
/// where the caller is alone. Catches a loop that runs on to its end before it reports.
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

        // Two lanes panic; the later one's payload is dropped when both have stopped the loop, which the
        // third lane waits for.
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
/// outer body, which goes on. Catches an inner loop's slot that is not given back, and payloads that are mixed up.
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

/// The closure that makes a lane's scratch panics: as a body's panic, and the scratch is made later by a
/// loop that can. Catches a half-made scratch, and a lock that stays poisoned.
#[test]
fn in_the_making_of_a_scratch() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        let refuse = AtomicBool::new(true);
        let mut scratch = Scratch::new(|| {
            if refuse.load(Ordering::Relaxed) {
                panic_with("no scratch");
            }
            vec![0]
        });
        let payload = payload_of(|| {
            pool.parallel_for(0..1000)
                .dispatch(dispatch)
                .for_each_with(&mut scratch, |s, _| s[0] += 1);
        });
        assert_eq!(*payload.downcast::<&str>().unwrap(), "no scratch");
        assert_eq!(scratch.iter_mut().count(), 0);
        refuse.store(false, Ordering::Relaxed);
        pool.parallel_for(0..1000)
            .dispatch(dispatch)
            .for_each_with(&mut scratch, |s, _| s[0] += 1);
        assert_eq!(scratch.iter_mut().map(|s| s[0]).sum::<i32>(), 1000);
        assert_whole(&pool);
    });
}

/// A panic in `map`, or in `reduce`, leaves no partial result alive, on the stack or allocated. Catches
/// partials in memory that nobody drops.
#[test]
fn in_a_reduction() {
    fn check<const N: usize>(dispatch: Dispatch, threads: usize) {
        let pool = pool_of(threads);
        for len in [1, 7, 30, 1000] {
            for num_threads in [1, threads] {
                let living = AtomicUsize::new(0);
                let reduce = |bad_map: usize, bad_reduce: usize| {
                    let mut reductions = 0;
                    pool.parallel_for(0..len)
                        .num_threads(num_threads)
                        .dispatch(dispatch)
                        .map_reduce(
                            |range| {
                                if range.contains(&bad_map) {
                                    panic_with("map");
                                }
                                Partial::<N>::new(&living)
                            },
                            |a, _| {
                                reductions += 1;
                                if reductions == bad_reduce {
                                    panic_with("reduce");
                                }
                                a
                            },
                        );
                };
                for bad in [0, len / 2, len - 1] {
                    let payload = payload_of(|| reduce(bad, 0));
                    assert_eq!(*payload.downcast::<&str>().unwrap(), "map");
                    assert_eq!(living.load(Ordering::Relaxed), 0);
                }
                for bad in [1, len / 4, len.min(256) - 1] {
                    if (1..len.min(256)).contains(&bad) {
                        let payload = payload_of(|| reduce(len, bad));
                        assert_eq!(*payload.downcast::<&str>().unwrap(), "reduce");
                        assert_eq!(living.load(Ordering::Relaxed), 0);
                    }
                }
                reduce(len, 0);
                assert_eq!(living.load(Ordering::Relaxed), 0);
            }
        }
        assert_whole(&pool);
    }
    for_each_setting(check::<1>);
    for_each_setting(check::<1024>);
}

/// A panic in a fallible body, in a cost function and in a body over slices is as one in any other
/// body. Catches a form of loop that has a way of its own around the catch.
#[test]
fn in_other_forms_of_loops() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        let start = || pool.parallel_for(0..100).dispatch(dispatch);
        let mut x = [0; 100];
        let bounds: Vec<usize> = (0..=100).collect();
        let bad = |i: usize| {
            if i == 63 {
                panic_with(i);
            }
        };
        let mut payloads = Vec::new();
        payloads.push(payload_of(|| {
            let _: Result<(), ()> = start().try_for_each(|i| {
                bad(i);
                Ok(())
            });
        }));
        payloads.push(payload_of(|| start().partitions(&bounds).for_each(bad)));
        payloads.push(payload_of(|| {
            start()
                .cumulative_cost(|i| {
                    bad(i);
                    i as u64
                })
                .for_each(|_| {});
            // Whether the search asks for this index is its own affair.
            bad(63);
        }));
        payloads.push(payload_of(|| start().for_each_mut(&mut x, |i, _| bad(i))));
        payloads.push(payload_of(|| {
            start().for_each_part_mut(&mut x, &bounds, |i, _| bad(i));
        }));
        for payload in payloads {
            assert_eq!(*payload.downcast::<usize>().unwrap(), 63);
        }
        assert_whole(&pool);
    });
}

/// A closure that holds the last handle of an array: the array is freed when the loop returns, or unwinds.
/// Catches a pool that keeps a body, or a worker that keeps a payload, until the next loop.
#[test]
fn what_a_body_owns_is_freed_with_the_loop() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        for panics in [false, true] {
            let array = Arc::new(vec![1_u64; 100_000]);
            let weak = Arc::downgrade(&array);
            let sum = AtomicUsize::new(0);
            let run = || {
                let body = move |i: usize| {
                    sum.fetch_add(array[i] as usize, Ordering::Relaxed);
                    if panics && i % 1000 == 999 {
                        panic_with(Arc::clone(&array));
                    }
                };
                pool.parallel_for(0..100_000)
                    .dispatch(dispatch)
                    .for_each(body);
            };
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(()) => assert!(!panics),
                Err(payload) => {
                    assert!(panics && payload.is::<Arc<Vec<u64>>>());
                    assert_eq!(weak.strong_count(), 1);
                }
            }
            assert!(weak.upgrade().is_none());
        }
    });
}

/// Memory that bodies borrow is theirs no more when the loop returns: the caller writes over it at once, and nobody
/// writes or reads it after that. Catches a caller that does not wait for the last lane.
#[test]
fn nobody_uses_a_frame_that_is_gone() {
    const STALE: usize = usize::MAX / 2;
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        let stale_reads = AtomicUsize::new(0);
        let mut gone = VecDeque::new();
        for round in 0..3000 {
            let len = 2 + round % 61;
            let frame = (Box::new(AtomicUsize::new(round)), counters(len));
            let (seal, places) = (&frame.0, &frame.1);
            let stale_reads = &stale_reads;
            let body = move |i: usize| {
                if i % 3 == 1 {
                    // A lane that lags behind the others.
                    thread::yield_now();
                }
                if seal.load(Ordering::Relaxed) != round {
                    stale_reads.fetch_add(1, Ordering::Relaxed);
                }
                places[i].fetch_add(1, Ordering::Relaxed);
            };
            pool.parallel_for(0..len).dispatch(dispatch).for_each(body);
            seal.store(STALE, Ordering::Relaxed);
            for place in places {
                assert_eq!(place.swap(STALE, Ordering::Relaxed), 1);
            }
            gone.push_back(frame);
            if gone.len() > 32 {
                let (_, places) = gone.pop_front().unwrap();
                assert!(places
                    .iter()
                    .all(|place| place.load(Ordering::Relaxed) == STALE));
            }
        }
        assert_eq!(stale_reads.load(Ordering::Relaxed), 0);
    });
}

/// Panics from many threads at once, each with its own loops on one pool: each gets its own payload. Catches
/// a payload that is kept by the pool instead of the loop.
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
