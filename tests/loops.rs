//! What every loop promises, for every strategy, number of threads and form of a body.

mod common;

use std::ops::Range;
use std::sync::Mutex;
use std::thread;

use common::{for_each_pool, for_every_strategy, pool, ActiveLanes, Visits, FORMS};
use conga::{Blocks, Dispatch, ParallelFor, ThreadPool};

const LENGTHS: [usize; 8] = [0, 1, 2, 3, 7, 64, 1000, 4097];

for_every_strategy! {
    each_index_once,
    more_lanes_than_threads,
    lane_ids_are_unique,
    lane_ids_with_more_lanes_than_threads,
    range_bodies_get_whole_blocks,
    bodies_that_see_no_blocks_are_cut_finer,
    plain_loops_run_on_the_caller,
    the_smallest_loop_that_is_shared_out,
    indices_of_a_block_ascend,
    the_strategy_of_a_loop_goes_before_the_pools,
}

/// Runs every form of a body over ranges of every length, at 0 and above, as loops with these options.
fn visit_everything(
    pool: &ThreadPool,
    what: &str,
    options: impl Fn(ParallelFor<'_>) -> ParallelFor<'_>,
) {
    for form in FORMS {
        for len in LENGTHS {
            for start in [0, 5] {
                let range = start..start + len;
                let visits = Visits::of(range.clone());
                let visit = |i| visits.visit(i);
                (form.run)(options(pool.parallel_for(range.clone())), range, &visit);
                visits.assert_each(1, &format!("{}, {what}", form.name));
            }
        }
    }
}

// Every form visits each index once, and slices are written where the indices say: catches a block that
// two lanes claim or nobody does, and a start of the range that is lost or added twice.
fn each_index_once(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        visit_everything(pool, &format!("{threads} threads"), |l| l);
        visit_everything(pool, &format!("{threads} threads, at least 5"), |l| {
            l.min_block_size(5)
        });
    });
}

// The same with more lanes than the pool has threads, up to a million, and with fewer: catches lanes
// that are waited for though nobody serves them, and tables that are made for the wrong number.
fn more_lanes_than_threads(dispatch: Dispatch) {
    for threads in [1, 2, 3] {
        let pool = pool(threads, dispatch);
        for lanes in [2, 5, 8, 70, 1_000_000] {
            visit_everything(&pool, &format!("{lanes} lanes on {threads} threads"), |l| {
                l.num_threads(lanes)
            });
        }
    }
    let pool = pool(8, dispatch);
    for lanes in [1, 2, 3] {
        visit_everything(&pool, &format!("{lanes} lanes on 8 threads"), |l| {
            l.num_threads(lanes)
        });
    }
}

/// Checks the lane ids of loops with `lanes` lanes, each of which is inside for a while.
fn check_lane_ids(pool: &ThreadPool, lanes: usize, repetitions: usize) {
    for len in [1, 2, 3, 64, 1000] {
        for _ in 0..repetitions {
            let active = ActiveLanes::of(lanes, len);
            pool.parallel_for(0..len)
                .num_threads(lanes)
                .for_each_lane(|lane, i| {
                    active.inside(lane, || {
                        if i % 16 == 0 {
                            thread::yield_now();
                        }
                    })
                });
            pool.parallel_for(0..len)
                .num_threads(lanes)
                .for_each_lane_range(|lane, _| active.inside(lane, thread::yield_now));
        }
    }
}

// Lane ids are below the number of threads, the caller and nobody else is lane 0, and no two lanes are
// inside with the same id: catches an id that is given out again before its last holder has left.
fn lane_ids_are_unique(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| check_lane_ids(pool, threads, 20));
}

// The same where one thread serves several ids one after the other, and where ids are asked for by the
// million: catches ids that are counted modulo the pool's threads.
fn lane_ids_with_more_lanes_than_threads(dispatch: Dispatch) {
    for threads in [2, 4] {
        let pool = pool(threads, dispatch);
        for lanes in [3, 8, 65, 1_000_000] {
            check_lane_ids(&pool, lanes, 5);
        }
    }
}

// Under `Adaptive` the last claims of a body that does not see ranges are small, though not below the
// minimal size: catches lanes that wait for the last quarter of a run.
fn bodies_that_see_no_blocks_are_cut_finer(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    let mut x = vec![0; 6400];
    for (min, fine) in [(1, 100), (640, 640)] {
        for _ in 0..200 {
            let shortest = Mutex::new(usize::MAX);
            let l = pool.parallel_for(0..x.len()).min_block_size(min);
            l.for_each_slice_mut(&mut x, |_, slice| {
                let mut shortest = shortest.lock().unwrap();
                *shortest = (*shortest).min(slice.len());
            });
            let expected = match dispatch {
                Dispatch::Adaptive => fine,
                _ => 800,
            };
            assert_eq!(shortest.into_inner().unwrap(), expected, "at least {min}");
        }
    }
}

/// The ranges that the body of a loop with these options gets, in ascending order.
fn ranges(l: ParallelFor<'_>) -> Vec<Range<usize>> {
    let ranges = Mutex::new(Vec::new());
    l.for_each_range(|range| ranges.lock().unwrap().push(range));
    let mut ranges = ranges.into_inner().unwrap();
    ranges.sort_by_key(|range| range.start);
    ranges
}

// A range body gets single blocks of the formula under `Chained` and `PerThread`, unions of whole blocks
// under `Adaptive`, and never less than the minimal size: catches blocks that follow the pool's
// threads instead of the loop's, and a claim that cuts a block.
fn range_bodies_get_whole_blocks(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        for (len, lanes, min) in [
            (2, threads, 1),
            (64, threads, 1),
            (1000, threads, 7),
            (4097, threads, 64),
            (4097, 16, 1000),
            (23, 4, 5),
            (1000, 1_000_000, 3),
        ] {
            let blocks = Blocks::for_loop(len, lanes, min);
            let expected: Vec<_> = if lanes == 1 {
                std::iter::once(10..10 + len).collect()
            } else {
                (0..blocks.count())
                    .map(|b| 10 + blocks.start(b)..10 + blocks.start(b + 1))
                    .collect()
            };
            let l = pool.parallel_for(10..10 + len);
            let got = ranges(l.num_threads(lanes).min_block_size(min));
            let what = format!("{len} with {lanes} lanes on {threads} threads, at least {min}");
            if dispatch != Dispatch::Adaptive {
                assert_eq!(got, expected, "{what}");
                continue;
            }
            assert!(
                got.iter().all(|range| range.len() >= min),
                "{what}: {got:?}"
            );
            let mut whole = expected.iter();
            for range in got {
                let first = whole.next().expect("a block for every range");
                assert_eq!(range.start, first.start, "{what}");
                let last = if first.end == range.end {
                    Some(first)
                } else {
                    whole.find(|block| block.end == range.end)
                };
                assert!(last.is_some(), "{what}: {range:?} ends inside a block");
            }
            assert!(whole.next().is_none(), "{what}: a block is left over");
        }
    });
}

// With one thread, nothing to do, or less than two minimal blocks the body runs once, on the caller, as
// lane 0, over the whole range, and no loop is opened to the workers: catches a small loop that is shared out.
fn plain_loops_run_on_the_caller(dispatch: Dispatch) {
    let caller = thread::current().id();
    for_each_pool(dispatch, |pool, threads| {
        let before = pool.stats().loops;
        let check = |l: ParallelFor<'_>, range: Range<usize>| {
            let calls = Mutex::new(Vec::new());
            l.for_each_lane_range(|lane, range| {
                assert_eq!(thread::current().id(), caller);
                calls.lock().unwrap().push((lane, range));
            });
            let expected: Vec<_> = (!range.is_empty())
                .then_some((0, range))
                .into_iter()
                .collect();
            assert_eq!(calls.into_inner().unwrap(), expected, "{threads} threads");
        };
        let l = |range: Range<usize>| pool.parallel_for(range);
        check(l(3..1003).num_threads(1), 3..1003);
        check(l(3..1003).num_threads(1).min_block_size(7), 3..1003);
        check(l(0..1), 0..1);
        check(l(5..5), 5..5);
        let backwards = Range { start: 9, end: 4 };
        check(l(backwards.clone()), backwards);
        for min in [2, 50, usize::MAX] {
            check(l(3..3 + 3).min_block_size(min), 3..6);
            let len = (2 * min.min(50)) - 1;
            check(l(0..len).min_block_size(min), 0..len);
            check(l(0..len).min_block_size(min).num_threads(1000), 0..len);
        }
        if threads == 1 {
            check(l(0..1000), 0..1000);
        }
        assert_eq!(pool.stats().loops, before, "{threads} threads");
    });
}

// At twice the minimal size there are two blocks, and nobody fuses them: catches the boundary of the
// rule above that is one off, and a last block that is not claimed alone.
fn the_smallest_loop_that_is_shared_out(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        for min in [1, 2, 50] {
            let got = ranges(pool.parallel_for(0..2 * min).min_block_size(min));
            let two = [0..min, min..2 * min];
            let one = Range {
                start: 0,
                end: 2 * min,
            };
            let expected = if threads == 1 { &[one][..] } else { &two[..] };
            assert_eq!(got, expected, "{threads} threads, at least {min}");
        }
    });
}

// Within one lane's turn on a block the indices ascend: catches a body by index that runs them in
// another order than the serial loop.
fn indices_of_a_block_ascend(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        let blocks = match dispatch {
            // However fine it cuts for so few threads, these are not cut.
            Dispatch::Adaptive => Blocks::new(1024, 256),
            _ => Blocks::for_loop(1024, threads, 1),
        };
        let order = Mutex::new(Vec::new());
        pool.parallel_for(0..1024)
            .for_each(|i| order.lock().unwrap().push(i));
        let order = order.into_inner().unwrap();
        for b in 0..blocks.count() {
            let block = blocks.range(b);
            let got = order.iter().copied().filter(|i| block.contains(i));
            assert!(got.eq(block.clone()), "{threads} threads, block {b}");
        }
    });
}

// A loop's own `dispatch` holds, whatever the pool's is: catches an option that is dropped on the way,
// here seen by single blocks of `Chained` and `PerThread`.
fn the_strategy_of_a_loop_goes_before_the_pools(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    assert_eq!(pool.dispatch(), dispatch);
    let blocks = |l: ParallelFor<'_>| ranges(l.dispatch(Dispatch::Chained)).len();
    assert_eq!(blocks(pool.parallel_for(0..64).num_threads(16)), 64);
    // The caller's first claim in a loop of many blocks is more than one of them.
    let adaptive = ranges(
        pool.parallel_for(0..64)
            .num_threads(16)
            .dispatch(Dispatch::Adaptive),
    );
    assert!(adaptive.len() < 64);
}
