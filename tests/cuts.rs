//! Loops that are cut at given bounds or by cost.

mod common;

use std::ops::Range;
use std::sync::Mutex;
use std::thread;

use common::{for_each_pool, for_every_strategy, panic_message, pool};
use conga::{ceres, Cut, Dispatch, ParallelFor};

for_every_strategy! {
    parts_are_whole,
    parts_of_no_indices,
    costs_are_cut_as_the_partition_says,
    a_loop_on_the_caller_is_not_cut,
    bounds_that_do_not_fit_panic,
    bounds_that_decrease_panic,
}

/// What the body of a loop gets, in ascending order.
fn ranges<C: Cut>(l: ParallelFor<'_, C>) -> Vec<Range<usize>> {
    let ranges = Mutex::new(Vec::new());
    l.for_each_range(|range| ranges.lock().unwrap().push(range));
    let mut ranges = ranges.into_inner().unwrap();
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges
}

/// That `got` covers `bounds` from end to end in unions of adjacent whole parts; in single parts, if `single`.
fn assert_whole_parts(got: &[Range<usize>], bounds: &[usize], single: bool, what: &str) {
    let mut next = bounds[0];
    for range in got {
        assert_eq!(range.start, next, "{what}: {got:?}");
        assert!(bounds.contains(&range.end), "{what}: {range:?}");
        next = range.end;
    }
    assert_eq!(next, bounds[bounds.len() - 1], "{what}: {got:?}");
    if single {
        assert_eq!(got.len(), bounds.len() - 1, "{what}: {got:?}");
    }
}

// Range bodies get whole parts, each index once; single ones under `Chained` and `PerThread` where there
// are no more than blocks: catches bounds taken for indices of something else, and parts that are cut.
fn parts_are_whole(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        for bounds in [
            &[3, 4][..],
            &[3, 103],
            &[3, 4, 1000],
            &[3, 500, 501, 502, 503, 504, 505, 506, 1003],
            &[3, 13, 20, 21, 40, 4000],
        ] {
            let l = pool.parallel_for(3..bounds[bounds.len() - 1]);
            let got = ranges(l.partitions(bounds));
            let single = threads > 1 && dispatch != Dispatch::Adaptive;
            let single = single && bounds.len() - 1 <= 4 * threads;
            assert_whole_parts(
                &got,
                bounds,
                single,
                &format!("{threads} threads, {bounds:?}"),
            );
        }
        // More parts than blocks: unions of them.
        let bounds: Vec<_> = (0..=1000).map(|p| 10 * p).collect();
        let got = ranges(pool.parallel_for(0..10_000).partitions(&bounds));
        assert_whole_parts(&got, &bounds, false, &format!("{threads} threads"));
        assert!(got.len() <= 4 * threads, "{threads} threads: {}", got.len());
    });
}

// Parts without indices do no harm, at either end or between: catches bounds that must rise strictly.
fn parts_of_no_indices(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        let bounds = [0, 0, 0, 5, 5, 5, 9, 10, 10];
        let got = ranges(pool.parallel_for(0..10).partitions(&bounds));
        let indices = got.iter().cloned().flatten();
        assert!(indices.eq(0..10), "{threads} threads: {got:?}");
        // Nothing at all: no body is called, whatever the bounds.
        assert!(ranges(pool.parallel_for(4..4).partitions(&[4, 4, 4])).is_empty());
    });
}

// A loop cut by cost gets unions of the parts that `partition_range_for_parallel_for` makes for four per
// thread, also where it starts above 0: catches costs that are taken relative to the range, and a
// number of parts that follows the pool's size.
fn costs_are_cut_as_the_partition_says(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        let cumulative: Vec<u64> = (0..2000_u64).map(|i| i * i * i).collect();
        for range in [0..2000, 700..1500, 0..2, 5..7] {
            for lanes in [2, threads.max(2), 16] {
                let most = 4 * lanes;
                let (start, end) = (range.start, range.end);
                let bounds =
                    ceres::partition_range_for_parallel_for(start, end, most, &cumulative, |&c| c);
                let l = pool.parallel_for(range.clone()).num_threads(lanes);
                let got = ranges(l.cumulative_cost(|i| cumulative[i]));
                let single = dispatch != Dispatch::Adaptive;
                assert_whole_parts(
                    &got,
                    &bounds,
                    single,
                    &format!("{range:?} with {lanes} lanes"),
                );
            }
        }
    });
}

// Where a loop runs on its caller alone, its cut does not matter: one call, over the whole range.
// Catches a cut that keeps a small loop from being plain.
fn a_loop_on_the_caller_is_not_cut(dispatch: Dispatch) {
    let pool = pool(4, dispatch);
    let caller = thread::current().id();
    let check = |got: Vec<Range<usize>>| assert_eq!(got, [Range { start: 2, end: 10 }]);
    let l = || pool.parallel_for(2..10);
    check(ranges(l().num_threads(1).partitions(&[2, 4, 10])));
    check(ranges(l().min_block_size(5).partitions(&[2, 4, 10])));
    check(ranges(l().partitions(&[2, 10])));
    check(ranges(l().num_threads(1).cumulative_cost(|i| i as u64)));
    check(ranges(l().min_block_size(5).cumulative_cost(|i| i as u64)));
    check(ranges(l().cumulative_cost(|_| 0)));
    l().cumulative_cost(|_| 0)
        .for_each_lane(|lane, _| assert_eq!((lane, thread::current().id()), (0, caller)));
}

// Bounds that do not start and end where the range does are refused before any body is called, by a
// message that says what was given; also where the loop would run on the caller alone. Catches a check
// that only the parallel path makes, and indices that nobody runs.
fn bounds_that_do_not_fit_panic(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, _| {
        for bounds in [
            &[][..],
            &[0],
            &[0, 5],
            &[1, 10],
            &[0, 5, 11],
            &[5, 5],
            &[0, 10, 10, 9],
        ] {
            for lanes in [1, 2, 16] {
                let message = panic_message(|| {
                    pool.parallel_for(0..10)
                        .num_threads(lanes)
                        .partitions(bounds)
                        .for_each(|_| unreachable!("bounds that do not fit"));
                });
                assert!(message.contains("partitions of 0..10"), "{message}");
                let last = format!("{:?}", bounds.last());
                assert!(message.contains(&last), "{message}");
            }
        }
    });
}

// Bounds that decrease would give an index to two bodies, hence two mutable references to one element:
// they are refused in every build. Catches a check that only debug builds make.
fn bounds_that_decrease_panic(dispatch: Dispatch) {
    for threads in [2, 4] {
        let pool = pool(threads, dispatch);
        let mut x = [0; 10];
        let message = panic_message(|| {
            pool.parallel_for(0..10)
                .partitions(&[0, 8, 4, 10])
                .for_each_mut(&mut x, |_, x| *x += 1);
        });
        assert!(message.contains("partitions of 0..10"), "{message}");
        assert_eq!(x, [0; 10]);
    }
}
