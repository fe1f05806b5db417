//! Scratch: one for each lane, made when it is first needed, kept for the next loop.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::{for_each_pool, for_every_strategy, pool, Meeting};
use conga::{Dispatch, Scratch};

for_every_strategy! {
    at_most_one_for_each_lane,
    one_for_each_lane_that_comes,
    made_lazily_and_reused,
    a_scratch_holds_still_during_a_nested_loop,
}

// However many loops use a scratch, no more are made than a loop has lanes, and each index is counted in
// one of them: catches a scratch that is made anew for each loop, thread or block, and one that two
// lanes write at once.
fn at_most_one_for_each_lane(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        for lanes in [1, 2, threads, 3 * threads] {
            let made = AtomicUsize::new(0);
            let mut scratch = Scratch::new(|| {
                made.fetch_add(1, Ordering::Relaxed);
                0
            });
            for _ in 0..20 {
                let l = || pool.parallel_for(0..500).num_threads(lanes);
                l().for_each_with(&mut scratch, |visited, _| *visited += 1);
                l().for_each_range_with(&mut scratch, |visited, range| *visited += range.len());
                l().try_for_each_with(&mut scratch, |visited, _| {
                    *visited += 1;
                    Ok::<_, ()>(())
                })
                .unwrap();
            }
            let each: Vec<usize> = scratch.iter_mut().map(|n| *n).collect();
            assert_eq!(each.iter().sum::<usize>(), 20 * 3 * 500);
            assert_eq!(each.len(), made.load(Ordering::Relaxed));
            assert!((1..=lanes).contains(&each.len()), "{lanes} lanes: {each:?}");
        }
    });
}

// Bodies that are inside at the same time have a scratch each: catches a scratch that belongs to something
// that several lanes share.
fn one_for_each_lane_that_comes(dispatch: Dispatch) {
    for threads in [2, 3, 4, 8] {
        let pool = pool(threads, dispatch);
        let mut scratch = Scratch::new(|| 0);
        for round in 1..=10 {
            let meeting = Meeting::of(threads);
            pool.parallel_for(0..threads)
                .for_each_with(&mut scratch, |visited, _| {
                    meeting.attend();
                    *visited += 1;
                });
            assert!(scratch.iter_mut().all(|n| *n == round));
            assert_eq!(scratch.iter_mut().count(), threads);
        }
    }
}

// No scratch is made before a lane needs it, none by an empty loop, the caller's alone by a plain one, and
// the next loop finds it as it was left: catches an eager table, and one that is cleared in between.
fn made_lazily_and_reused(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, _| {
        let mut scratch = Scratch::new(Vec::new);
        assert_eq!(scratch.iter_mut().count(), 0);
        pool.parallel_for(7..7)
            .for_each_with(&mut scratch, |all, i| all.push(i));
        assert_eq!(scratch.iter_mut().count(), 0);
        for start in [0, 10] {
            pool.parallel_for(start..start + 10)
                .num_threads(1)
                .for_each_with(&mut scratch, |all, i| all.push(i));
        }
        let all: Vec<_> = scratch.iter_mut().map(|all| &*all).collect();
        assert_eq!(all, [&(0..20).collect::<Vec<_>>()]);
    });
}

// While a body runs a loop of its own, nobody touches the scratch that it holds, and the inner loop's
// scratch is another one: catches a lane id that the inner loop's workers take for their own.
fn a_scratch_holds_still_during_a_nested_loop(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        let mut outer = Scratch::new(|| 0);
        pool.parallel_for(0..50)
            .for_each_with(&mut outer, |mine, i| {
                *mine = i;
                let mut inner = Scratch::new(|| 0);
                pool.parallel_for(0..50)
                    .for_each_with(&mut inner, |n, _| *n += 1);
                assert_eq!(inner.iter_mut().map(|n| *n).sum::<usize>(), 50);
                assert_eq!(*mine, i, "{threads} threads");
            });
    });
}
