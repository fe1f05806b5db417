//! Ceres's loops: `ParallelFor` in its three overloads, and `ParallelInvoke`.

use std::ops::Range;

use super::body::Body;
use super::{partition_range_for_parallel_for, ThreadPool};
use crate::dispatch::Dispatch;

/// Ceres's `ParallelFor(context, start, end, num_threads, function, min_block_size)`.
///
/// `context` is a [`&ThreadPool`](ThreadPool), a [`&Context`](super::Context), or `None` where the
/// loop runs on the caller anyway: with one thread, or fewer than `2 * min_block_size` indices.
/// Then the body runs once, as thread 0, over the whole range. Otherwise the range is cut into
/// `min((end - start) / min_block_size, 4 * num_threads)` blocks, which are claimed one at a time,
/// in order, under [`Dispatch::Chained`]; the caller is thread 0. An empty range calls nothing.
///
/// Rust has no overloads: the four forms of a body are told apart by the types of the closure's
/// parameters, which must be written down.
///
/// ```
/// use conga::ceres::{parallel_for, ThreadPool};
/// use std::ops::Range;
///
/// let pool = ThreadPool::with_threads(1);
/// parallel_for(&pool, 0, 100, 2, |i: usize| assert!(i < 100), 1);
/// parallel_for(&pool, 0, 100, 2, |thread_id: usize, i: usize| assert!(thread_id < 2 && i < 100), 1);
/// parallel_for(&pool, 0, 100, 2, |range: Range<usize>| assert!(range.len() >= 10), 10);
/// parallel_for(None, 0, 100, 1, |thread_id: usize, range: Range<usize>| assert_eq!((thread_id, range), (0, 0..100)), 1);
/// ```
///
/// # Panics
///
/// If `num_threads` or `min_block_size` is 0, or a pool is needed and `context` is `None`; and as
/// every loop does, if the body does.
pub fn parallel_for<'a, Form>(
    context: impl Into<Option<&'a ThreadPool>>,
    start: usize,
    end: usize,
    num_threads: usize,
    function: impl Body<Form>,
    min_block_size: usize,
) {
    assert!(
        num_threads != 0,
        "parallel_for: num_threads is 0, it must be at least 1"
    );
    assert!(
        min_block_size != 0,
        "parallel_for: min_block_size is 0, it must be at least 1"
    );
    if start >= end {
        return;
    }
    if num_threads == 1 || (end - start) / 2 < min_block_size {
        function.run(0, start..end);
        return;
    }
    parallel_invoke(context, start, end, num_threads, function, min_block_size);
}

/// Ceres's `ParallelFor(context, start, end, num_threads, function, partitions)`: cut at given
/// bounds, which start with `start` and end with `end`. A range body gets whole parts, adjacent
/// ones fused into one range.
///
/// With one thread, or no more indices than threads, the partitions are ignored, as in Ceres.
///
/// # Panics
///
/// If the partitions do not start and end where the range does; and as [`parallel_for`].
pub fn parallel_for_with_partitions<'a, Form>(
    context: impl Into<Option<&'a ThreadPool>>,
    start: usize,
    end: usize,
    num_threads: usize,
    function: impl Body<Form>,
    partitions: &[usize],
) {
    assert!(
        num_threads != 0,
        "parallel_for_with_partitions: num_threads is 0, it must be at least 1"
    );
    if start >= end {
        return;
    }
    let (first, last) = (partitions.first(), partitions.last());
    assert!(
        first == Some(&start) && last == Some(&end),
        "parallel_for_with_partitions: the partitions go from {first:?} to {last:?}, the range from {start} to {end}"
    );
    if num_threads == 1 || end - start <= num_threads {
        return parallel_for(context, start, end, num_threads, function, 1);
    }
    let parts = |thread_id: usize, parts: Range<usize>| {
        function.run(thread_id, partitions[parts.start]..partitions[parts.end])
    };
    parallel_for(context, 0, partitions.len() - 1, num_threads, parts, 1);
}

/// Ceres's `ParallelFor(context, start, end, num_threads, function, cumulative_cost_data,
/// cumulative_cost_fun)`: cut so that the dearest of at most `4 * num_threads` parts is as cheap as
/// it can be. `cumulative_cost_fun(&cumulative_cost_data[i])` is the cost of the indices up to and
/// including `i`; it must not decrease.
///
/// With one thread, or no more indices than threads, the costs are ignored, as in Ceres.
///
/// # Panics
///
/// If the data end before the range does; and as [`parallel_for`].
pub fn parallel_for_with_costs<'a, Form, T>(
    context: impl Into<Option<&'a ThreadPool>>,
    start: usize,
    end: usize,
    num_threads: usize,
    function: impl Body<Form>,
    cumulative_cost_data: &[T],
    cumulative_cost_fun: impl Fn(&T) -> u64,
) {
    assert!(
        num_threads != 0,
        "parallel_for_with_costs: num_threads is 0, it must be at least 1"
    );
    if start >= end {
        return;
    }
    if num_threads == 1 || end - start <= num_threads {
        return parallel_for(context, start, end, num_threads, function, 1);
    }
    let most = num_threads.saturating_mul(4);
    let partitions = partition_range_for_parallel_for(
        start,
        end,
        most,
        cumulative_cost_data,
        cumulative_cost_fun,
    );
    parallel_for_with_partitions(context, start, end, num_threads, function, &partitions);
}

/// Ceres's `ParallelInvoke`: the part of [`parallel_for`] that needs a pool. Always cut into
/// blocks, always with lanes.
///
/// # Panics
///
/// If `context` is `None`; and as [`parallel_for`].
pub fn parallel_invoke<'a, Form>(
    context: impl Into<Option<&'a ThreadPool>>,
    start: usize,
    end: usize,
    num_threads: usize,
    function: impl Body<Form>,
    min_block_size: usize,
) {
    let Some(pool) = context.into() else {
        panic!("a loop over {start}..{end} with {num_threads} threads needs a thread pool, but the context is None");
    };
    pool.as_conga()
        .parallel_for(start..end)
        .num_threads(num_threads)
        .min_block_size(min_block_size)
        .dispatch(Dispatch::Chained)
        .for_each_lane_range(|thread_id, range| function.run(thread_id, range));
}

/// Smallest block of the two below: Ceres's figure, under which a second thread did not pay there.
const MIN_BLOCK_SIZE: usize = 1 << 16;

/// Ceres's `ParallelAssign`: `lhs[i] = rhs(i)` for every element. The right side is a function of
/// the index, where Ceres takes an expression that is not evaluated yet.
///
/// # Panics
///
/// As [`parallel_for`].
pub fn parallel_assign<'a, T: Send>(
    context: impl Into<Option<&'a ThreadPool>>,
    num_threads: usize,
    lhs: &mut [T],
    rhs: impl Fn(usize) -> T + Sync,
) {
    let len = lhs.len();
    let lhs = crate::DisjointSlice::new(lhs);
    let assign = |range: Range<usize>| {
        let start = range.start;
        // SAFETY: a loop gives each index to one call of its body; `lhs` is used for nothing else.
        let part = unsafe { lhs.slice_mut(range) };
        part.iter_mut()
            .enumerate()
            .for_each(|(offset, x)| *x = rhs(start + offset));
    };
    parallel_for(context, 0, len, num_threads, assign, MIN_BLOCK_SIZE);
}

/// Ceres's `ParallelSetZero`: every element becomes `T::default()`.
///
/// # Panics
///
/// As [`parallel_for`].
pub fn parallel_set_zero<'a, T: Send + Default>(
    context: impl Into<Option<&'a ThreadPool>>,
    num_threads: usize,
    values: &mut [T],
) {
    parallel_assign(context, num_threads, values, |_| T::default());
}
