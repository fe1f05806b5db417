//! What a loop owns or borrows is let go when it returns, or unwinds.

use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use crate::support::{counters, for_each_setting, panic_with, pool_of};

/// A closure that holds the last handle of an array: the array is freed when the loop returns, or
/// unwinds. Catches a pool that keeps a body, or a worker that keeps a payload, until the next
/// loop.
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

/// Memory that bodies borrow is theirs no more when the loop returns: the caller writes over it at
/// once, and nobody writes or reads it after that. Catches a caller that does not wait for the last
/// lane.
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
