//! How ranges are cut into blocks, and that loops and reductions keep to it.

use std::ops::Range;
use std::sync::Mutex;

use conga::{Blocks, Dispatch, ThreadPool};

/// The block sizes that the formula gives: the first `len % count` are one longer than the others.
fn expected_sizes(len: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |b| len / count + usize::from(b < len % count))
}

/// `blocks` has `count` blocks of `0..len` with the sizes of the formula, one after the other.
fn assert_cut(blocks: Blocks, len: usize, count: usize) {
    assert_eq!((blocks.len(), blocks.count()), (len, count));
    assert_eq!(blocks.is_empty(), len == 0);
    let mut next = 0;
    for (b, size) in expected_sizes(len, count).enumerate() {
        let range = blocks.range(b);
        assert_eq!(
            (range.start, range.len()),
            (next, size),
            "block {b} of {count} of {len}"
        );
        next = range.end;
    }
    assert_eq!(next, len, "{count} blocks of {len}");
}

// Every length up to 4,097 and every thread count up to 64, cut by the formula: sizes differ by at
// most one, the larger first, each index once, no gap. Catches a start that is computed by another
// formula than the size, and a remainder that is dropped or given to the last block.
#[test]
fn loops_of_every_length_and_thread_count() {
    for len in 0..=4097 {
        for threads in 1..=64 {
            assert_cut(Blocks::for_loop(len, threads, 1), len, len.min(4 * threads));
        }
    }
}

// No block is below the minimal size unless the whole range is, and there are as many as that allows:
// catches a division that rounds up, and a minimum applied to the number of threads.
#[test]
fn minimal_block_sizes() {
    for min in [2, 3, 5, 7, 64, 1000, 4097, 5000] {
        for len in 0..=4097 {
            for threads in [1, 2, 3, 4, 7, 16, 64] {
                let blocks = Blocks::for_loop(len, threads, min);
                let count = (len / min).min(4 * threads).max(usize::from(len > 0));
                assert_cut(blocks, len, count);
                assert!((0..count).all(|b| blocks.range(b).len() >= min.min(len)));
            }
        }
    }
}

// Reductions: at most 256 blocks, at least one, whatever the number of threads. Catches a count of
// zero for the empty range, and a maximum that is off.
#[test]
fn reductions_of_every_length() {
    for min in [1, 3, 16, 1024] {
        for len in (0..=4097).chain([255 * 1024, 256 * 1024 - 1, 256 * 1024, 1 << 20]) {
            let count = (len / min).clamp(1, 256);
            assert_cut(Blocks::for_reduction(len, min), len, count);
        }
    }
}

// Adjacent blocks make one range, none make an empty one: catches an end taken from the wrong block.
#[test]
fn spans_are_unions_of_blocks() {
    for len in [0, 1, 9, 100, 103] {
        for count in 1..=12 {
            let blocks = Blocks::new(len, count);
            for first in 0..=count {
                assert!(blocks.span(first..first).is_empty());
                for end in first + 1..=count {
                    let span = blocks.span(first..end);
                    assert_eq!(span, blocks.range(first).start..blocks.range(end - 1).end);
                }
            }
        }
    }
}

// Lengths and counts near the largest number: nothing overflows, blocks are adjacent and of the right
// size at both ends and where the sizes change.
#[test]
fn largest_lengths() {
    const MAX: usize = usize::MAX;
    for len in [MAX, MAX - 1, MAX - 255, MAX / 2 + 1] {
        for count in [1, 2, 3, 255, 256, MAX / 3, MAX / 2, MAX - 1, MAX] {
            let blocks = Blocks::new(len, count);
            assert_eq!((blocks.len(), blocks.count()), (len, count));
            assert_eq!(blocks.range(0).start, 0);
            assert_eq!(blocks.range(count - 1).end, len);
            assert_eq!(blocks.span(0..count), 0..len);
            let extra = len % count;
            for b in [0, 1, extra.saturating_sub(1), extra, extra + 1, count - 1] {
                if b < count {
                    let range = blocks.range(b);
                    assert_eq!(range.len(), len / count + usize::from(b < extra));
                    assert_eq!(range.end, blocks.start(b + 1));
                }
            }
        }
    }
    assert_eq!(Blocks::for_loop(MAX, MAX, 1).count(), MAX);
    assert_eq!(Blocks::for_loop(MAX, MAX / 2, 1).count(), MAX);
    assert_eq!(Blocks::for_loop(MAX, MAX, MAX).count(), 1);
    assert_eq!(Blocks::for_loop(MAX, 16, MAX / 3).count(), 3);
    assert_eq!(Blocks::for_loop(100, MAX, 1).count(), 100);
    assert_eq!(Blocks::for_reduction(MAX, 1).count(), 256);
}

// What makes no sense is refused, not divided by.
#[test]
fn senseless_arguments_panic() {
    for senseless in [
        || Blocks::new(1, 0),
        || Blocks::for_loop(1, 1, 0),
        || Blocks::for_loop(0, 1, 0),
        || Blocks::for_reduction(0, 0),
    ] {
        assert!(std::panic::catch_unwind(senseless).is_err());
    }
    assert_eq!(Blocks::new(0, 0).count(), 0);
    assert_eq!(Blocks::for_loop(1, 0, 1).count(), 1);
}

const STRATEGIES: [Dispatch; 3] = [Dispatch::PerThread, Dispatch::Chained, Dispatch::Adaptive];

/// The ranges that a loop's body got, in ascending order.
fn ranges_of_loop(
    pool: &ThreadPool,
    dispatch: Dispatch,
    range: Range<usize>,
    threads: usize,
    min: usize,
) -> Vec<Range<usize>> {
    let ranges = Mutex::new(Vec::new());
    pool.parallel_for(range)
        .num_threads(threads)
        .min_block_size(min)
        .dispatch(dispatch)
        .for_each_range(|range| ranges.lock().unwrap().push(range));
    let mut ranges = ranges.into_inner().unwrap();
    ranges.sort_by_key(|range| range.start);
    ranges
}

/// Checks the ranges that a loop's body gets under every strategy.
fn assert_loop(pool: &ThreadPool, range: Range<usize>, threads: usize, min: usize) {
    let len = range.len();
    let blocks = Blocks::for_loop(len, threads, min);
    let moved = |r: Range<usize>| range.start + r.start..range.start + r.end;
    let expected: Vec<_> = if len == 0 {
        vec![]
    } else if threads == 1 || len / 2 < min {
        vec![range.clone()]
    } else {
        (0..blocks.count())
            .map(|b| moved(blocks.range(b)))
            .collect()
    };
    for dispatch in STRATEGIES {
        let what = format!("{range:?}, {threads} threads, at least {min}, {dispatch:?}");
        let got = ranges_of_loop(pool, dispatch, range.clone(), threads, min);
        if dispatch != Dispatch::Adaptive {
            assert_eq!(got, expected, "{what}");
            continue;
        }
        let mut next = range.start;
        for got in got {
            assert!(got.start == next && got.end > next, "{what}: {got:?}");
            assert!(
                expected.iter().any(|block| block.end == got.end),
                "{what}: {got:?} is no union of whole blocks"
            );
            next = got.end;
        }
        assert_eq!(next, range.end.max(range.start), "{what}");
    }
}

// The bodies of real loops get the blocks of the formula, one each under `PerThread` and `Chained`,
// unions of whole ones under `Adaptive`, each index once, wherever the range starts. Catches blocks
// that depend on the pool's size or on who comes, a start of the range that is lost, and claims that
// overlap or skip.
#[test]
fn loops_hand_out_the_blocks() {
    let pool = ThreadPool::new(4).unwrap();
    let lengths = (0..=40).chain([63, 64, 65, 127, 128, 129, 1000, 4095, 4096, 4097]);
    for len in lengths {
        for threads in [1, 2, 3, 4, 5, 8, 16, 64] {
            for min in [1, 5] {
                for start in [0, 1000] {
                    assert_loop(&pool, start..start + len, threads, min);
                }
            }
        }
    }
}

// Ranges of nearly all numbers, and at the very end of them: catches positions that overflow.
#[test]
fn loops_over_the_largest_ranges() {
    const MAX: usize = usize::MAX;
    let pool = ThreadPool::new(4).unwrap();
    for range in [0..MAX, 1..MAX, 12_345..MAX - 1, MAX - 10..MAX, MAX..MAX] {
        for threads in [1, 2, 4, 16] {
            assert_loop(&pool, range.clone(), threads, 1);
            assert_loop(&pool, range.clone(), threads, 5);
        }
        if !range.is_empty() {
            assert_loop(&pool, range.clone(), 4, MAX / 3);
            assert_loop(&pool, range, 4, MAX);
        }
    }
    assert_loop(&pool, MAX - 100..MAX, MAX, 1);
}

// A reduction maps the fixed blocks, each once, and combines them from the left to the right, for any
// number of threads and any strategy. An empty range is mapped once, as an empty range. Catches blocks
// that follow the number of threads, partials combined as they come, and a mapped union of blocks.
#[test]
fn reductions_map_the_blocks_in_order() {
    for threads in [1, 2, 3, 4, 8] {
        for dispatch in STRATEGIES {
            let pool = ThreadPool::builder()
                .num_threads(threads)
                .dispatch(dispatch)
                .build()
                .unwrap();
            for (len, min) in [
                (0, 1),
                (1, 1),
                (7, 10),
                (255, 1),
                (257, 1),
                (4097, 1),
                (4097, 16),
                (4097, 1024),
                (usize::MAX - 3, 1),
            ] {
                let blocks = Blocks::for_reduction(len, min);
                let got = pool
                    .parallel_for(3..3 + len)
                    .min_block_size(min)
                    .map_reduce(
                        |range| vec![(range.start - 3, range.end - 3)],
                        |mut left, right| {
                            left.extend(right);
                            left
                        },
                    );
                let expected: Vec<_> = (0..blocks.count())
                    .map(|b| (blocks.range(b).start, blocks.range(b).end))
                    .collect();
                assert_eq!(
                    got, expected,
                    "{len}, at least {min}, {threads} threads, {dispatch:?}"
                );
            }
        }
    }
}
