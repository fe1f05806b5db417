//! Parts: a range cut so that the dearest part is as cheap as can be.
//!
//! The cost of the indices is told as a *cumulative* cost: `cumulative(i)` is the cost of all
//! indices up to and including `i`, counted from index 0. It must not decrease. Where it does,
//! parts are still contiguous, not empty and cover the range, but their costs are unspecified.
//!
//! Whether a limit on the cost of a part can be kept is decided greedily: each part takes as many
//! indices as the limit allows, found by binary search. If even so there are too many parts, or one
//! index alone is above the limit, it cannot. The smallest limit that can be kept is found by
//! binary search over the limits; its greedy parts are the answer. For costs 1, 1, 5, 3, 1, 4 and
//! four parts that is 5: `0..2`, `2..3`, `3..5`, `5..6`.
//!
//! Each probe of a limit tells more than yes or no, which leaves fewer limits to try:
//! - kept: the dearest part's cost is a limit that the same parts keep, since no greedy part could
//!   have taken another index under the higher limit;
//! - not kept: no higher limit makes a difference until it lets one of the parts take the index that
//!   ended it.
//!
//! Indices that cost nothing belong to the part on their left (those at the front, to the first),
//! so that they never make a part of their own.
//!
//! The algorithm is that of Ceres Solver's `PartitionRangeForParallelFor`
//! (`internal/ceres/partition_range_for_parallel_for.h`), whose answers these are: the limits that
//! are skipped cannot be the smallest. Complexity: `O(parts * log(length) * log(total cost))` calls
//! of `cumulative`, two vectors of at most `parts + 1` elements.

/// Cuts `start..end` into at most `max_partitions` parts whose costs do not exceed `max_cost`, if
/// that can be done: greedily, so with the fewest parts that do it.
///
/// `offset` is the cumulative cost before `start`. Returns the boundaries, of which the first is
/// `start` and the last is `end`; of an empty range, `start` alone.
///
/// # Panics
///
/// If `start` is above `end`, or `max_partitions` is zero.
pub fn max_partition_cost_is_feasible(
    start: usize,
    end: usize,
    max_partitions: usize,
    max_cost: u64,
    offset: u64,
    cumulative: impl Fn(usize) -> u64,
) -> Option<Vec<usize>> {
    check(start, end, max_partitions);
    let mut bounds = Vec::new();
    Search {
        start,
        end,
        max_partitions,
        offset,
        cumulative,
    }
    .probe(max_cost, &mut bounds)
    .ok()
    .map(|_| bounds)
}

/// Cuts `start..end` into at most `max_partitions` parts such that the dearest costs as little as
/// possible.
///
/// Returns the boundaries, of which the first is `start` and the last is `end`; of an empty range,
/// `start` alone. No part is empty, and there may be fewer than `max_partitions`: one, if all
/// indices together cost nothing. `cumulative` is called for `start..end`, and for `start - 1` if
/// there is such an index.
///
/// # Panics
///
/// If `start` is above `end`, or `max_partitions` is zero.
pub fn partition_range(
    start: usize,
    end: usize,
    max_partitions: usize,
    cumulative: impl Fn(usize) -> u64,
) -> Vec<usize> {
    check(start, end, max_partitions);
    if start == end {
        return vec![start];
    }
    let offset = match start.checked_sub(1) {
        Some(before) => cumulative(before),
        None => 0,
    };
    let total = cumulative(end - 1).saturating_sub(offset);
    // Both bounds are inclusive: the parts cannot all cost less than their mean, and one part of
    // everything costs the total. `best` keeps the upper bound.
    let mut lower = total.div_ceil(max_partitions as u64);
    let mut upper = total;
    let mut best = vec![start, end];
    let mut trial = Vec::new();
    let search = Search {
        start,
        end,
        max_partitions,
        offset,
        cumulative,
    };
    while lower < upper {
        let limit = lower + (upper - lower) / 2;
        match search.probe(limit, &mut trial) {
            Ok(dearest) => {
                upper = dearest;
                std::mem::swap(&mut best, &mut trial);
            }
            Err(next_limit) => lower = next_limit,
        }
    }
    best
}

fn check(start: usize, end: usize, max_partitions: usize) {
    assert!(
        start <= end,
        "a range to partition starts at {start}, above its end {end}"
    );
    assert!(
        max_partitions > 0,
        "a range cannot be cut into at most 0 partitions: allow one or more"
    );
}

/// What stays the same from probe to probe.
struct Search<C> {
    start: usize,
    end: usize,
    max_partitions: usize,
    /// The cumulative cost before `start`.
    offset: u64,
    cumulative: C,
}

impl<C: Fn(usize) -> u64> Search<C> {
    /// Cuts greedily under a `limit` on the cost of a part, and leaves the boundaries in `bounds`.
    ///
    /// `Ok` is the cost of the dearest part, which is not above the limit. `Err` means that the
    /// limit cannot be kept (`bounds` is of no use then), and holds the lowest limit that would
    /// have changed the parts made so far, which is above this one. Both comparisons have been made
    /// in [`first_above`](Self::first_above), so that they hold even where costs decrease, and a
    /// search over limits comes to its end.
    fn probe(&self, limit: u64, bounds: &mut Vec<usize>) -> Result<u64, u64> {
        bounds.clear();
        bounds.push(self.start);
        let (mut position, mut offset) = (self.start, self.offset);
        let mut dearest = 0;
        let mut next_limit = u64::MAX;
        while position < self.end {
            // As many parts as boundaries but one.
            if bounds.len() > self.max_partitions {
                return Err(next_limit);
            }
            // Saturation changes nothing: no cumulative cost exceeds the largest number.
            let next = self.first_above(position, limit.saturating_add(offset));
            if next < self.end {
                let with_next = (self.cumulative)(next) - offset;
                if next == position {
                    return Err(with_next);
                }
                next_limit = next_limit.min(with_next);
            }
            let cost_before = offset;
            offset = (self.cumulative)(next - 1);
            dearest = dearest.max(offset.saturating_sub(cost_before));
            bounds.push(next);
            position = next;
        }
        Ok(dearest)
    }

    /// The first index in `from..end` whose cumulative cost is above `cost`, or `end`.
    fn first_above(&self, from: usize, cost: u64) -> usize {
        let (mut low, mut high) = (from, self.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if (self.cumulative)(middle) > cost {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}
