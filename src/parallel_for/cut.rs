//! How a loop's range is cut: evenly, at given bounds, by cost.

use std::ops::Range;

use super::Runner;
use crate::partition::partition_range;
use crate::slot::body::Flow;

/// How a loop's range is cut into blocks. Sealed: [`Even`], [`Given`] and [`ByCost`] are all there
/// are.
pub trait Cut: private::Cut {}

/// Into blocks of the same size, but for one index.
#[derive(Debug, Clone, Copy)]
pub struct Even;

/// At bounds that the caller keeps. See
/// [`ParallelFor::partitions`](super::ParallelFor::partitions).
#[derive(Debug, Clone, Copy)]
pub struct Given<'b> {
    pub(super) bounds: &'b [usize],
}

/// So that the dearest part is as cheap as it can be. See
/// [`ParallelFor::cumulative_cost`](super::ParallelFor::cumulative_cost).
#[derive(Debug, Clone, Copy)]
pub struct ByCost<F> {
    pub(super) cumulative: F,
}

impl Cut for Even {}
impl Cut for Given<'_> {}
impl<F: Fn(usize) -> u64> Cut for ByCost<F> {}

mod private {
    use super::{Flow, Range, Runner};

    pub trait Cut {
        /// Panics if the cut does not fit `range`.
        fn check(&self, range: &Range<usize>);

        /// Runs `f` over blocks of `range`, which is not empty.
        fn run<F>(self, runner: Runner<'_>, range: Range<usize>, min_block_size: usize, f: F)
        where
            F: Fn(usize, Range<usize>) -> Flow + Sync;
    }
}

impl private::Cut for Even {
    fn check(&self, _: &Range<usize>) {}

    #[inline]
    fn run<F>(self, runner: Runner<'_>, range: Range<usize>, min_block_size: usize, f: F)
    where
        F: Fn(usize, Range<usize>) -> Flow + Sync,
    {
        let blocks = runner.blocks(range.len(), min_block_size);
        runner.run(range.start, blocks, f);
    }
}

impl private::Cut for Given<'_> {
    fn check(&self, range: &Range<usize>) {
        let (first, last) = (self.bounds.first(), self.bounds.last());
        assert!(
            first == Some(&range.start) && last == Some(&range.end),
            "partitions of {range:?} go from {first:?} to {last:?}: they must start and end where the range does"
        );
        // Not only in debug builds: overlapping parts would lend an element of a slice twice.
        assert!(
            self.bounds.windows(2).all(|pair| pair[0] <= pair[1]),
            "partitions of {range:?} are not in order: each bound must be at least the one before it"
        );
    }

    fn run<F>(self, runner: Runner<'_>, range: Range<usize>, _: usize, f: F)
    where
        F: Fn(usize, Range<usize>) -> Flow + Sync,
    {
        self.check(&range);
        let bounds = self.bounds;
        let parts = runner.blocks(bounds.len() - 1, 1);
        runner.run(0, parts, |lane, parts| {
            f(lane, bounds[parts.start]..bounds[parts.end])
        });
    }
}

impl<C: Fn(usize) -> u64> private::Cut for ByCost<C> {
    fn check(&self, _: &Range<usize>) {}

    fn run<F>(self, runner: Runner<'_>, range: Range<usize>, min_block_size: usize, f: F)
    where
        F: Fn(usize, Range<usize>) -> Flow + Sync,
    {
        let most = runner.num_threads.saturating_mul(4);
        let bounds = partition_range(range.start, range.end, most, self.cumulative);
        Given { bounds: &bounds }.run(runner, range, min_block_size, f);
    }
}
