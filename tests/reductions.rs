//! Reductions: the same result, to the bit, for every strategy and number of threads.

mod common;

use std::ops::Range;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::thread;

use common::{for_each_pool, for_every_strategy, pool};
use conga::{Blocks, Dispatch, ThreadPool};

for_every_strategy! {
    a_left_fold_over_the_blocks,
    the_same_bits_everywhere,
    an_empty_range_is_mapped_once,
    partials_are_made_and_dropped_once,
    large_partials,
    reduce_runs_on_the_caller,
}

const LENGTHS: [usize; 8] = [1, 2, 3, 7, 64, 255, 1000, 4097];

/// The blocks, as text, with a bracket for each combination.
fn told(pool: &ThreadPool, range: Range<usize>, min: usize, threads: usize) -> String {
    pool.parallel_for(range)
        .min_block_size(min)
        .num_threads(threads)
        .map_reduce(|range| format!("{range:?}"), |a, b| format!("({a} {b})"))
}

// `reduce` is called as a fold from the left over the fixed blocks: text shows operands that are swapped,
// grouped by lane, or combined as they come, where a sum would hide it.
fn a_left_fold_over_the_blocks(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        for len in LENGTHS {
            for min in [1, 2, 100] {
                let blocks = Blocks::for_reduction(len, min);
                let expected = (0..blocks.count())
                    .map(|b| format!("{:?}", 9 + blocks.start(b)..9 + blocks.start(b + 1)))
                    .reduce(|a, b| format!("({a} {b})"))
                    .unwrap();
                for lanes in [1, 2, threads, 1_000_000] {
                    assert_eq!(
                        told(pool, 9..9 + len, min, lanes),
                        expected,
                        "{lanes} lanes"
                    );
                }
            }
        }
    });
}

// A sum whose bits depend on every bracket: one number for all threads, lanes and repetitions, the
// serial one of a pool of one thread. Catches blocks that follow the threads.
fn the_same_bits_everywhere(dispatch: Dispatch) {
    let x: Vec<f64> = (0..50_000)
        .map(|i| (f64::from(i) * 0.7).sin() * 10_f64.powi(i % 31 - 15))
        .collect();
    let sum = |pool: &ThreadPool, lanes: usize| {
        let l = pool.parallel_for(0..x.len()).num_threads(lanes);
        l.map_reduce(|range| x[range].iter().sum::<f64>(), |a, b| a + b)
    };
    let expected = sum(&pool(1, Dispatch::Chained), 1);
    for_each_pool(dispatch, |pool, threads| {
        for lanes in [1, 2, threads, 2 * threads, 64] {
            for _ in 0..20 {
                let sum = sum(pool, lanes);
                assert_eq!(
                    sum.to_bits(),
                    expected.to_bits(),
                    "{lanes} lanes on {threads}"
                );
            }
        }
    });
}

// An empty range is mapped once, as an empty range, so that there is a result, and nothing is combined:
// catches an identity that would have to be asked for, and an empty result.
fn an_empty_range_is_mapped_once(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        for min in [1, 100] {
            let l = pool.parallel_for(7..7).min_block_size(min);
            let got = l.map_reduce(|range| vec![range], |_, _| unreachable!("one partial"));
            assert_eq!(got, [Range { start: 7, end: 7 }], "{threads} threads");
        }
        let backwards = Range { start: 9, end: 4 };
        let got = pool
            .parallel_for(backwards)
            .map_reduce(|range| range.len(), |_, _| unreachable!("one partial"));
        assert_eq!(got, 0);
    });
}

/// Counts how many of its kind there are.
struct Counted<'a, const SIZE: usize> {
    alive: &'a AtomicIsize,
    sum: usize,
    _weight: [u8; SIZE],
}

impl<'a, const SIZE: usize> Counted<'a, SIZE> {
    fn new(alive: &'a AtomicIsize, sum: usize) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Counted {
            alive,
            sum,
            _weight: [0; SIZE],
        }
    }
}

impl<const SIZE: usize> Drop for Counted<'_, SIZE> {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reduces counted partials of every number; all are gone afterwards but the result.
fn check_drops<const SIZE: usize>(pool: &ThreadPool, lengths: &[usize]) {
    for &len in lengths {
        let (alive, maps) = (AtomicIsize::new(0), AtomicUsize::new(0));
        let result = pool.parallel_for(0..len).map_reduce(
            |range| {
                maps.fetch_add(1, Ordering::Relaxed);
                Counted::<SIZE>::new(&alive, range.len())
            },
            |a, b| Counted::new(&alive, a.sum + b.sum),
        );
        let blocks = Blocks::for_reduction(len, 1).count();
        assert_eq!((result.sum, maps.into_inner()), (len, blocks));
        assert_eq!(alive.load(Ordering::Relaxed), 1, "{blocks} partials");
        drop(result);
        assert_eq!(alive.load(Ordering::Relaxed), 0, "{blocks} partials");
    }
}

// Each block is mapped once and each partial dropped once, for every number of partials up to the most:
// catches a partial that is forgotten, dropped twice, or mapped again.
fn partials_are_made_and_dropped_once(dispatch: Dispatch) {
    let lengths: Vec<_> = (0..=260).chain([1000]).collect();
    for threads in [1, 2, 4] {
        check_drops::<0>(&pool(threads, dispatch), &lengths);
    }
}

// The same with partials too large for the caller's stack, 4 KiB each: catches room for too few.
fn large_partials(dispatch: Dispatch) {
    for threads in [1, 2, 4] {
        check_drops::<4096>(&pool(threads, dispatch), &[0, 1, 2, 3, 4, 5, 33, 256, 1000]);
    }
}

// `reduce` may have a state of its own, because it only runs on the caller: catches partials that
// lanes combine.
fn reduce_runs_on_the_caller(dispatch: Dispatch) {
    let caller = thread::current().id();
    for_each_pool(dispatch, |pool, threads| {
        let mut combined = 0;
        let sum = pool.parallel_for(0..4097).map_reduce(
            |range| range.sum::<usize>(),
            |a, b| {
                assert_eq!(thread::current().id(), caller);
                combined += 1;
                a + b
            },
        );
        assert_eq!((sum, combined), (4096 * 4097 / 2, 255), "{threads} threads");
    });
}
