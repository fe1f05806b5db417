//! Reductions whose bits do not depend on threads.

use std::mem::size_of;
use std::ops::Range;

use super::{Even, ParallelFor, Runner};
use crate::blocks::Blocks;
use crate::disjoint::DisjointSlice;
use crate::slot::body::Flow;

/// Partials of up to this many bytes in all live on the caller's stack.
const STACK_BYTES: usize = 16 * 1024;

impl ParallelFor<'_, Even> {
    /// Reduces the range: `map` gives a partial result for each of `min(len / min_block_size, 256)`
    /// fixed blocks (at least one; an empty range is mapped once), and `reduce` combines them from
    /// the first to the last, on the caller.
    ///
    /// The result has the same bits for every number of threads, one included, every strategy and
    /// every run: it depends only on the range's length and `min_block_size`. Partials of more than
    /// 16 KiB in all are allocated.
    ///
    /// # Panics
    ///
    /// As every loop does when `map` panics, or when `reduce` does; the partials made so far are
    /// dropped.
    pub fn map_reduce<T: Send>(
        self,
        map: impl Fn(Range<usize>) -> T + Sync,
        reduce: impl FnMut(T, T) -> T,
    ) -> T {
        let start = self.range.start;
        let len = self.range.end.saturating_sub(start);
        let blocks = Blocks::for_reduction(len, self.min_block_size);
        let map = |block: usize| {
            let indices = blocks.range(block);
            map(start + indices.start..start + indices.end)
        };
        let num_threads = self.num_threads.unwrap_or_else(|| self.pool.num_threads());
        if num_threads == 1 || blocks.count() == 1 {
            let partials = (0..blocks.count()).map(map);
            return partials.reduce(reduce).expect("a reduction has a block");
        }
        let runner = self.unseen().runner(num_threads);
        let fits = size_of::<T>().saturating_mul(blocks.count()) <= STACK_BYTES;
        match blocks.count() {
            count @ 0..=8 if fits => on_stack::<T, 8>(count, runner, map, reduce),
            count @ 9..=32 if fits => on_stack::<T, 32>(count, runner, map, reduce),
            count @ 33..=64 if fits => on_stack::<T, 64>(count, runner, map, reduce),
            count @ 65..=128 if fits => on_stack::<T, 128>(count, runner, map, reduce),
            count @ 129..=256 if fits => on_stack::<T, 256>(count, runner, map, reduce),
            count => {
                let mut partials: Vec<_> = (0..count).map(|_| None).collect();
                reduce_in(&mut partials, runner, map, reduce)
            }
        }
    }
}

/// With room for `N` partials in its frame: a frame for each size, so that a small reduction has a
/// small one.
#[inline(never)]
fn on_stack<T: Send, const N: usize>(
    count: usize,
    runner: Runner<'_>,
    map: impl Fn(usize) -> T + Sync,
    reduce: impl FnMut(T, T) -> T,
) -> T {
    let mut partials = [const { None }; N];
    reduce_in(&mut partials[..count], runner, map, reduce)
}

/// Maps every block into its place, then takes them out in order.
fn reduce_in<T: Send>(
    partials: &mut [Option<T>],
    runner: Runner<'_>,
    map: impl Fn(usize) -> T + Sync,
    reduce: impl FnMut(T, T) -> T,
) -> T {
    let count = partials.len();
    let blocks = runner.blocks(count, 1);
    let places = DisjointSlice::new(partials);
    runner.run(0, blocks, |_, of| {
        for block in of {
            // SAFETY: a loop gives each index to one call of its body, and nobody else uses the
            // places before it is over.
            *unsafe { places.get_mut(block) } = Some(map(block));
        }
        Flow::GoOn
    });
    let made = partials
        .iter_mut()
        .map(|partial| partial.take().expect("every block was mapped"));
    made.reduce(reduce).expect("a reduction has a block")
}
