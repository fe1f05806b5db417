//! `ParallelFor`: a loop, from its options to its body.
//!
//! | file | what |
//! |---|---|
//! | `mod` | options |
//! | `cut` | how the range is cut: evenly, at given bounds, by cost |
//! | `bodies` | bodies by index and by range, with lane id, with scratch, fallible |
//! | `slices` | bodies over mutable slices |
//! | `reduce` | reductions |

mod bodies;
mod cut;
mod reduce;
mod slices;

use std::ops::Range;
use std::panic::Location;

pub use self::cut::{ByCost, Cut, Even, Given};
use crate::blocks::Blocks;
use crate::dispatch::Dispatch;
use crate::pool::ThreadPool;
use crate::slot::body::{Body, Flow};
use crate::slot::shape::MAX_LANES;
use crate::strategy;

/// A loop over a range of indices: options first, then one call of a body, which runs it.
///
/// The calling thread takes part, as lane 0, and returns when all is done; it waits for the blocks
/// of this loop and for nothing else, and runs nothing else meanwhile. So it may hold a lock, and
/// bodies may run loops.
///
/// The range is cut into `min(len / min_block_size, 4 * num_threads)` blocks whose sizes differ by
/// at most one, larger ones first. A range body gets unions of adjacent blocks under
/// [`Dispatch::Adaptive`], single blocks under the other strategies. Under `Adaptive`, bodies that do
/// not see ranges may be cut finer, though not below `min_block_size`. With one thread, or fewer than
/// `2 * min_block_size` indices, the body runs once on the caller, over the whole range.
///
/// # Panics
///
/// If a body panics, no lane begins another block; when all have left, the first panic goes on on
/// the caller. The pool stays whole. A body that waits for one that has panicked waits for ever.
///
/// ```
/// # let pool = conga::ThreadPool::new(2)?;
/// let (a, b) = (vec![1.0; 1000], vec![2.0; 1000]);
/// let dot = pool
///     .parallel_for(0..a.len())
///     .min_block_size(64)
///     .map_reduce(|r| r.map(|i| a[i] * b[i]).sum::<f64>(), |x, y| x + y);
/// assert_eq!(dot, 2000.0);
/// # Ok::<(), conga::BuildError>(())
/// ```
#[must_use = "a loop runs when it is given a body"]
#[derive(Debug)]
pub struct ParallelFor<'p, C = Even> {
    pool: &'p ThreadPool,
    range: Range<usize>,
    num_threads: Option<usize>,
    min_block_size: usize,
    dispatch: Option<Dispatch>,
    blocks_are_seen: bool,
    site: &'static Location<'static>,
    cut: C,
}

impl ThreadPool {
    /// A loop over `range`, to be told how and with which body. See [`ParallelFor`].
    #[inline]
    #[track_caller]
    pub fn parallel_for(&self, range: Range<usize>) -> ParallelFor<'_> {
        ParallelFor::new(self, range)
    }

    /// Calls `f(i, &mut x[i])` for every element. Shorthand for [`ParallelFor::for_each_mut`].
    #[track_caller]
    pub fn for_each_mut<T: Send>(&self, x: &mut [T], f: impl Fn(usize, &mut T) + Sync) {
        self.parallel_for(0..x.len()).for_each_mut(x, f);
    }

    /// Calls `f(i, &mut x[i..j])` for slices that together are `x`, cut as suits the pool. Shorthand
    /// for [`ParallelFor::for_each_slice_mut`].
    #[track_caller]
    pub fn for_each_slice_mut<T: Send>(&self, x: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
        self.parallel_for(0..x.len()).for_each_slice_mut(x, f);
    }

    /// Calls `f(c, chunk)` for every chunk of `len` elements; the last one may be shorter.
    /// Shorthand for [`ParallelFor::for_each_chunk_mut`].
    ///
    /// # Panics
    ///
    /// If `len` is 0.
    #[track_caller]
    pub fn for_each_chunk_mut<T: Send>(
        &self,
        x: &mut [T],
        len: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        assert!(len != 0, "for_each_chunk_mut: chunks of 0 elements");
        self.parallel_for(0..x.len().div_ceil(len))
            .for_each_chunk_mut(x, len, f);
    }

    /// Calls `f(p, &mut x[bounds[p]..bounds[p + 1]])` for every part. Shorthand for
    /// [`ParallelFor::for_each_part_mut`].
    ///
    /// # Panics
    ///
    /// If `bounds` decrease or go beyond the slice.
    #[track_caller]
    pub fn for_each_part_mut<T: Send>(
        &self,
        x: &mut [T],
        bounds: &[usize],
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        self.parallel_for(0..bounds.len().saturating_sub(1))
            .for_each_part_mut(x, bounds, f);
    }
}

impl<'p> ParallelFor<'p> {
    /// A loop over `range` with the pool's defaults. A range that starts at or beyond its end is
    /// empty.
    #[inline]
    #[track_caller]
    pub(crate) fn new(pool: &'p ThreadPool, range: Range<usize>) -> Self {
        ParallelFor {
            pool,
            range,
            num_threads: None,
            min_block_size: 1,
            dispatch: None,
            blocks_are_seen: true,
            site: Location::caller(),
            cut: Even,
        }
    }

    /// Cuts the range at `bounds`, which start with the range's start, end with its end and do not
    /// decrease, instead of evenly. A range body gets unions of adjacent whole parts; up to `4 *
    /// num_threads` blocks of parts are made. `min_block_size` then only decides whether the loop
    /// runs on the caller alone.
    ///
    /// # Panics
    ///
    /// When the loop runs, if the bounds do not fit.
    #[inline]
    pub fn partitions<'b>(self, bounds: &'b [usize]) -> ParallelFor<'p, Given<'b>> {
        self.with_cut(Given { bounds })
    }

    /// Cuts the range into at most `4 * num_threads` parts whose largest cost is as small as it can
    /// be, instead of evenly: for rows of very different lengths. `cumulative(i)` is the cost of
    /// the indices from 0, or any other fixed one, up to and including `i`; it must not decrease.
    /// Costs `O(parts · log(len) · log(total))` and allocates: where the costs stay the same from
    /// loop to loop, keep the bounds that
    /// [`ceres::partition_range_for_parallel_for`](crate::ceres::partition_range_for_parallel_for)
    /// gives, for [`partitions`](Self::partitions).
    #[inline]
    pub fn cumulative_cost<F: Fn(usize) -> u64>(self, cumulative: F) -> ParallelFor<'p, ByCost<F>> {
        self.with_cut(ByCost { cumulative })
    }

    #[inline]
    fn with_cut<C>(self, cut: C) -> ParallelFor<'p, C> {
        ParallelFor {
            pool: self.pool,
            range: self.range,
            num_threads: self.num_threads,
            min_block_size: self.min_block_size,
            dispatch: self.dispatch,
            blocks_are_seen: self.blocks_are_seen,
            site: self.site,
            cut,
        }
    }
}

impl<C> ParallelFor<'_, C> {
    /// How many lanes may be active at once, the caller's included; default: the pool's
    /// [`num_threads`](ThreadPool::num_threads). Lane ids are below it. It may exceed the pool's:
    /// then as many as there are take part. More than 1,048,575 counts as that.
    ///
    /// # Panics
    ///
    /// If it is 0.
    #[inline]
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        assert!(
            num_threads != 0,
            "num_threads(0): a loop has at least the caller's lane"
        );
        self.num_threads = Some(num_threads.min(MAX_LANES));
        self
    }

    /// No block is shorter than this, unless the whole range is; default 1.
    ///
    /// # Panics
    ///
    /// If it is 0.
    #[inline]
    pub fn min_block_size(mut self, min_block_size: usize) -> Self {
        assert!(
            min_block_size != 0,
            "min_block_size(0): a block has at least one index"
        );
        self.min_block_size = min_block_size;
        self
    }

    /// The body does not see where the range is cut: under `Adaptive` it is cut finer, so that lanes
    /// end together.
    #[inline]
    fn unseen(mut self) -> Self {
        self.blocks_are_seen = false;
        self
    }

    /// The strategy; default: the pool's.
    #[inline]
    pub fn dispatch(mut self, dispatch: Dispatch) -> Self {
        self.dispatch = Some(dispatch);
        self
    }
}

/// A loop without its cut and its range: what a cut needs to run blocks of anything.
#[derive(Debug, Clone, Copy)]
pub struct Runner<'p> {
    pool: &'p ThreadPool,
    num_threads: usize,
    dispatch: Dispatch,
    blocks_are_seen: bool,
    site: &'static Location<'static>,
}

impl Runner<'_> {
    /// The blocks of a loop over `len` pieces.
    #[inline]
    fn blocks(&self, len: usize, min_block_size: usize) -> Blocks {
        if self.blocks_are_seen || self.dispatch != Dispatch::Adaptive {
            Blocks::for_loop(len, self.num_threads, min_block_size)
        } else {
            Blocks::fine(len, self.num_threads, min_block_size)
        }
    }

    /// Runs `f(lane, part of the range)` over `blocks`, whose first index is `start`.
    fn run(&self, start: usize, blocks: Blocks, f: impl Fn(usize, Range<usize>) -> Flow + Sync) {
        if blocks.count() < 2 {
            f(0, start..start + blocks.len());
            return;
        }
        // SAFETY: `f` stays here, borrowed by this frame, until the call is over.
        unsafe {
            strategy::run(
                self.pool.shared(),
                self.dispatch,
                self.num_threads,
                Body::new(&f, start, blocks),
                self.site,
            )
        }
    }
}

impl<'p, C> ParallelFor<'p, C> {
    #[inline]
    fn runner(&self, num_threads: usize) -> Runner<'p> {
        let default = || self.pool.shared().config.dispatch;
        Runner {
            pool: self.pool,
            num_threads,
            dispatch: self.dispatch.unwrap_or_else(default),
            blocks_are_seen: self.blocks_are_seen,
            site: self.site,
        }
    }
}

impl<C: Cut> ParallelFor<'_, C> {
    /// What all bodies come down to: `f(lane, indices)`, each index once, until one says `Stop`.
    #[inline]
    fn run(self, f: impl Fn(usize, Range<usize>) -> Flow + Sync) {
        let len = self.range.end.saturating_sub(self.range.start);
        if len == 0 {
            return;
        }
        let num_threads = self.num_threads.unwrap_or_else(|| self.pool.num_threads());
        // Divided, because the double could overflow.
        if num_threads == 1 || len / 2 < self.min_block_size {
            self.cut.check(&self.range);
            f(0, self.range);
            return;
        }
        let runner = self.runner(num_threads);
        self.cut.run(runner, self.range, self.min_block_size, f);
    }
}
