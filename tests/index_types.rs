//! Ranges of nearly all numbers, and at the very end of them: no position overflows.

mod common;

use std::ops::Range;
use std::sync::Mutex;

use common::{for_every_strategy, pool};
use conga::{ceres, Dispatch, Scratch, ThreadPool};

for_every_strategy! {
    range_bodies_cover_the_largest_ranges,
    indices_at_the_very_end,
    more_blocks_than_a_word_can_count,
    cuts_of_the_largest_ranges,
    reductions_of_the_largest_ranges,
    slices_of_elements_without_size,
}

const MAX: usize = usize::MAX;

fn largest_ranges() -> [Range<usize>; 7] {
    [
        0..MAX,
        1..MAX,
        12_345..MAX - 1,
        MAX / 2..MAX,
        0..MAX / 2 + 1,
        MAX - 10..MAX,
        MAX - 2..MAX,
    ]
}

/// What a body got; it has to cover a range.
#[derive(Default)]
struct Cover(Mutex<Vec<Range<usize>>>);

impl Cover {
    fn add(&self, part: Range<usize>) {
        self.0.lock().unwrap().push(part);
    }

    /// Panics unless the parts, in some order, are `range`, without gap or overlap.
    fn assert_is(self, range: &Range<usize>, least: usize, what: &str) {
        let mut parts = self.0.into_inner().unwrap();
        parts.sort_by_key(|part| part.start);
        let mut next = range.start;
        for part in parts {
            assert!(
                part.start == next && part.end > next,
                "{what}: {part:?} at {next}"
            );
            assert!(part.len() >= least.min(range.len()), "{what}: {part:?}");
            next = part.end;
        }
        assert_eq!(next, range.end, "{what}");
    }
}

// Every body that takes ranges covers the range once, whatever the lanes and the minimal size: catches
// `start + len`, `4 * num_threads` and `2 * min_block_size` that overflow.
fn range_bodies_cover_the_largest_ranges(dispatch: Dispatch) {
    for threads in [1, 2, 4] {
        let pool = pool(threads, dispatch);
        for range in largest_ranges() {
            for lanes in [1, 2, 16, 1000] {
                for min in [1, 7, MAX / 300, MAX / 2, MAX / 2 + 1, MAX] {
                    let what = format!("{range:?}, {lanes} lanes on {threads}, at least {min}");
                    let l = || {
                        let l = pool.parallel_for(range.clone());
                        l.num_threads(lanes).min_block_size(min)
                    };
                    let cover = Cover::default();
                    l().for_each_range(|part| cover.add(part));
                    cover.assert_is(&range, min, &what);

                    let cover = Cover::default();
                    l().for_each_lane_range(|_, part| cover.add(part));
                    cover.assert_is(&range, min, &what);

                    let cover = Cover::default();
                    l().for_each_range_with(&mut Scratch::new(|| ()), |_, part| cover.add(part));
                    cover.assert_is(&range, min, &what);

                    let cover = Cover::default();
                    let done = l().try_for_each_range(|part| {
                        cover.add(part);
                        Ok::<_, ()>(())
                    });
                    done.unwrap();
                    cover.assert_is(&range, min, &what);
                }
            }
        }
    }
}

// By index, at the very end of the numbers: catches an end that is passed before it is compared.
fn indices_at_the_very_end(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    for len in [1, 2, 10, 1000] {
        let indices = Mutex::new(Vec::new());
        pool.parallel_for(MAX - len..MAX)
            .for_each(|i| indices.lock().unwrap().push(i));
        let mut indices = indices.into_inner().unwrap();
        indices.sort();
        assert!(indices.into_iter().eq(MAX - len..MAX), "{len}");
    }
}

/// Panics unless the bodies of a loop over `0..len` with `lanes` lanes get `len` indices in all.
fn check_many_blocks(pool: &ThreadPool, len: usize, lanes: usize) {
    let sum = std::sync::atomic::AtomicUsize::new(0);
    pool.parallel_for(0..len)
        .num_threads(lanes)
        .for_each_range(|part| {
            sum.fetch_add(part.len(), std::sync::atomic::Ordering::Relaxed);
        });
    assert_eq!(sum.into_inner(), len, "{len} indices with {lanes} lanes");
}

// A loop may ask for any number of lanes, hence of blocks: catches blocks beyond what a word of the slot
// can count, which show from 2^22 blocks on.
fn more_blocks_than_a_word_can_count(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    for lanes in [1 << 18, (1 << 20) - 1, 1 << 20, MAX] {
        check_many_blocks(&pool, 4_200_000, lanes);
        if dispatch == Dispatch::Adaptive {
            check_many_blocks(&pool, MAX, lanes);
        }
    }
}

// Cuts at given bounds and by cost, over the largest ranges: catches costs that are added up.
fn cuts_of_the_largest_ranges(dispatch: Dispatch) {
    for threads in [1, 2, 4] {
        let pool = pool(threads, dispatch);
        for range in largest_ranges() {
            let what = format!("{range:?} on {threads}");
            let (start, end) = (range.start, range.end);
            let middle = start + (end - start).div_ceil(2);
            let cover = Cover::default();
            pool.parallel_for(range.clone())
                .partitions(&[start, middle, end])
                .for_each_range(|part| cover.add(part));
            cover.assert_is(&range, 1, &what);

            let cover = Cover::default();
            pool.parallel_for(range.clone())
                .cumulative_cost(|i| i as u64)
                .for_each_range(|part| cover.add(part));
            cover.assert_is(&range, 1, &what);

            let cover = Cover::default();
            let pool = ceres::ThreadPool::with_threads(threads - 1);
            let body = |part: Range<usize>| cover.add(part);
            ceres::parallel_for(&pool, start, end, threads, body, 1);
            cover.assert_is(&range, 1, &what);
        }
    }
}

// Reductions of the largest ranges add up: catches a start that is added after the length has wrapped.
fn reductions_of_the_largest_ranges(dispatch: Dispatch) {
    for threads in [1, 2, 4] {
        let pool = pool(threads, dispatch);
        for range in largest_ranges() {
            for min in [1, MAX / 3, MAX] {
                let l = pool.parallel_for(range.clone()).min_block_size(min);
                let got = l.map_reduce(
                    |part| part,
                    |a, b| {
                        assert_eq!(a.end, b.start, "{threads} threads");
                        a.start..b.end
                    },
                );
                assert_eq!(got, range, "{threads} threads, at least {min}");
            }
        }
    }
}

// Slices of nothing can be as long as an index: their chunks and parts, of which there are few, are
// found. Catches `(c + 1) * len` that overflows.
fn slices_of_elements_without_size(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    let mut nothing = vec![(); MAX];
    let lens = Mutex::new(Vec::new());
    let half = MAX / 2 + 1;
    pool.for_each_chunk_mut(&mut nothing, half, |c, chunk| {
        lens.lock().unwrap().push((c, chunk.len()));
    });
    pool.for_each_part_mut(&mut nothing, &[1, half, MAX], |p, part| {
        lens.lock().unwrap().push((p + 2, part.len()));
    });
    pool.parallel_for(MAX - 2..MAX)
        .for_each_mut(&mut nothing, |i, ()| lens.lock().unwrap().push((i, 0)));
    let mut lens = lens.into_inner().unwrap();
    lens.sort();
    let rest = MAX - half;
    let expected = [
        (0, half),
        (1, rest),
        (2, half - 1),
        (3, rest),
        (MAX - 2, 0),
        (MAX - 1, 0),
    ];
    assert_eq!(lens, expected);
}
