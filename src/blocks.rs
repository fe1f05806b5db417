//! Blocks: how a range is cut into contiguous pieces.
//!
//! A range of `len` indices cut into `count` blocks has `base = len / count` indices in every block
//! and one more in each of the first `extra = len % count`:
//!
//! ```text
//! block b  =  start(b) .. start(b + 1)        start(b)  =  b * base + min(b, extra)
//! ```
//!
//! Blocks are contiguous and disjoint, cover each index once, differ in size by at most one, and
//! the larger ones come first. 23 indices in 4 blocks: 6, 6, 6, 5.
//!
//! | for | count |
//! |---|---|
//! | a loop, [`Blocks::for_loop`] | `min(len / min_block_size, 4 * num_threads)`, at least one unless `len == 0` |
//! | one whose body does not see where it is cut, under `Adaptive` | the same with 16 for each lane instead of 4, rounded up to a power of two, and 64 at least |
//! | a reduction, [`Blocks::for_reduction`] | `min(len / min_block_size, 256)`, at least one |
//!
//! Hence no block is shorter than `min_block_size`, unless the whole range is. The count of a
//! reduction leaves the number of threads out, so that its partial results, and with them the bits
//! of the result, are the same for every number of threads.
//!
//! The formula, and the four blocks per thread of a loop, are those of Ceres Solver's
//! `ParallelInvoke` (`internal/ceres/parallel_invoke.h`).
//!
//! Making a [`Blocks`] takes two divisions at most; everything else is a handful of additions and
//! multiplications. Positions are relative to the start of the range. No intermediate result
//! overflows, for any length.

use std::ops::Range;

/// Blocks per thread of a loop, as in Ceres Solver.
const BLOCKS_PER_THREAD: usize = 4;

/// Most blocks per thread where the body does not see them and a claim takes several: so that no lane
/// waits long for the last one. Rounded up, lest there is a division,
const FINE_BLOCKS_PER_THREAD: usize = 16;
/// and never less than these
const FEWEST_FINE_BLOCKS: usize = 64;
/// nor, unless that is what a loop has anyway, more.
const MOST_FINE_BLOCKS: usize = 1024;

/// Most blocks of a reduction. A constant, because the bits of the result depend on it: enough for
/// four blocks on each of 64 lanes, and 256 partials of up to 64 bytes fit in 16 KiB of stack.
const MAX_REDUCTION_BLOCKS: usize = 256;

/// A range of `len` indices, cut into `count` contiguous blocks.
///
/// Every block has `len / count` indices, and each of the first `len % count` one more: block `b`
/// starts at `b * (len / count) + min(b, len % count)`. These are the blocks of every loop whose body
/// gets ranges and of every reduction, so that one can tell beforehand where it will be cut. Positions
/// are relative to the range's start. Nothing overflows, for any length.
///
/// # Examples
///
/// ```
/// use conga::Blocks;
///
/// let blocks = Blocks::for_loop(23, 4, 5);
/// let sizes: Vec<_> = (0..blocks.count()).map(|b| blocks.range(b).len()).collect();
/// assert_eq!(sizes, [6, 6, 6, 5]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocks {
    count: usize,
    /// Indices of the smaller blocks.
    base: usize,
    /// How many blocks, the first ones, have one index more than `base`.
    extra: usize,
}

impl Blocks {
    /// Cuts `0..len` into `count` blocks. With more blocks than indices, the last ones are empty.
    ///
    /// # Panics
    ///
    /// If `count` is zero and `len` is not.
    #[inline]
    pub const fn new(len: usize, count: usize) -> Self {
        if count <= 1 {
            assert!(
                count == 1 || len == 0,
                "a range that is not empty has a block"
            );
            return Self {
                count,
                base: len,
                extra: 0,
            };
        }
        if count == len {
            return Self {
                count,
                base: 1,
                extra: 0,
            };
        }
        if count.is_power_of_two() {
            // The usual case, and a division takes longer than all else here.
            return Self {
                count,
                base: len >> count.trailing_zeros(),
                extra: len & (count - 1),
            };
        }
        Self {
            count,
            base: len / count,
            extra: len % count,
        }
    }

    /// The blocks of a loop: `min(len / min_block_size, 4 * num_threads)`, at least one unless
    /// `len` is zero.
    ///
    /// # Panics
    ///
    /// If `min_block_size` is zero.
    #[inline]
    pub const fn for_loop(len: usize, num_threads: usize, min_block_size: usize) -> Self {
        let most = num_threads.saturating_mul(BLOCKS_PER_THREAD);
        if len == 0 {
            assert!(min_block_size != 0, "min_block_size is 0");
            return Self::new(0, 0);
        }
        Self::new(len, count(len, min_block_size, most))
    }

    /// The blocks of a loop whose body does not see them: no fewer than [`for_loop`](Self::for_loop)
    /// makes.
    #[inline]
    pub(crate) fn fine(len: usize, num_threads: usize, min_block_size: usize) -> Self {
        let fine = num_threads.saturating_mul(FINE_BLOCKS_PER_THREAD);
        let fine = fine.min(MOST_FINE_BLOCKS).next_power_of_two();
        let most = fine
            .max(FEWEST_FINE_BLOCKS)
            .max(num_threads.saturating_mul(BLOCKS_PER_THREAD));
        Self::new(len, count(len, min_block_size, most))
    }

    /// The blocks of a reduction: `min(len / min_block_size, 256)`, at least one, also of an empty
    /// range.
    ///
    /// # Panics
    ///
    /// If `min_block_size` is zero.
    #[inline]
    pub const fn for_reduction(len: usize, min_block_size: usize) -> Self {
        Self::new(len, count(len, min_block_size, MAX_REDUCTION_BLOCKS))
    }

    /// The number of indices.
    #[inline]
    pub const fn len(self) -> usize {
        // Below `usize::MAX`: this undoes the division by which it was made.
        self.count * self.base + self.extra
    }

    /// Whether there are no indices. There may still be a block, which is then empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.base == 0 && self.extra == 0
    }

    /// The number of blocks.
    #[inline]
    pub const fn count(self) -> usize {
        self.count
    }

    /// Where block `b` starts; for `b == count`, where the last one ends.
    ///
    /// `b` must not exceed [`count`](Self::count): checked in debug builds only.
    #[inline]
    pub const fn start(self, b: usize) -> usize {
        debug_assert!(b <= self.count);
        b * self.base + if b < self.extra { b } else { self.extra }
    }

    /// The indices of block `b`, which must be below [`count`](Self::count): checked in debug
    /// builds only.
    #[inline]
    pub const fn range(self, b: usize) -> Range<usize> {
        debug_assert!(b < self.count);
        let start = self.start(b);
        start..start + self.base + (b < self.extra) as usize
    }

    /// The indices of the adjacent blocks `b`, as one range. `b.start <= b.end <= count`, checked
    /// in debug builds only.
    #[inline]
    pub const fn span(self, b: Range<usize>) -> Range<usize> {
        debug_assert!(b.start <= b.end);
        self.start(b.start)..self.start(b.end)
    }
}

/// `min(len / min_block_size, most)`, at least one.
#[inline]
const fn count(len: usize, min_block_size: usize, most: usize) -> usize {
    assert!(min_block_size != 0, "min_block_size is 0");
    let whole = if min_block_size == 1 {
        len
    } else {
        len / min_block_size
    };
    let count = if whole < most { whole } else { most };
    if count == 0 {
        1
    } else {
        count
    }
}
