//! Ceres's `partition_range_for_parallel_for.h`: the cost-guided partition of a range, with the
//! names and the order of arguments that it has there.
//!
//! The algorithm is `conga`'s own cost partition. What differs from C++: costs are `u64`, hence not
//! negative, and the resulting boundaries are returned where Ceres writes them through a pointer.

use crate::partition;

/// Whether the range can be cut into at most `max_num_partitions` parts, none of which costs more
/// than `max_partition_cost`, and the boundaries if so: `MaxPartitionCostIsFeasible`.
///
/// - `start..end`: the range.
/// - `cumulative_cost_offset`: the cumulative cost of all indices before `start`.
/// - `cumulative_cost_fun(&cumulative_cost_data[i])`: the cost of all indices up to and including `i`,
///   counted from index 0; not decreasing.
///
/// The first boundary is `start`, the last is `end`, and part `p` goes from boundary `p` to
/// boundary `p + 1`. No part is empty; indices without cost belong to the part on their left. An
/// empty range has no parts and one boundary.
///
/// Complexity: `O(parts * log(end - start))` calls of `cumulative_cost_fun`.
///
/// # Panics
///
/// If `start > end`, if `end` exceeds the length of `cumulative_cost_data`, or if
/// `max_num_partitions` is zero.
///
/// # Examples
///
/// ```
/// use conga::ceres::max_partition_cost_is_feasible;
///
/// // The indices cost 1, 2, 3, 5, 0 and 7.
/// let cumulative = [1, 3, 6, 11, 11, 18];
/// let cut = |max_cost| max_partition_cost_is_feasible(0, 6, 3, max_cost, 0, &cumulative, |&c| c);
/// assert_eq!(cut(7), Some(vec![0, 3, 5, 6]));
/// assert_eq!(cut(6), None);
/// ```
pub fn max_partition_cost_is_feasible<T>(
    start: usize,
    end: usize,
    max_num_partitions: usize,
    max_partition_cost: u64,
    cumulative_cost_offset: u64,
    cumulative_cost_data: &[T],
    cumulative_cost_fun: impl Fn(&T) -> u64,
) -> Option<Vec<usize>> {
    check_data(end, cumulative_cost_data.len());
    partition::max_partition_cost_is_feasible(
        start,
        end,
        max_num_partitions,
        max_partition_cost,
        cumulative_cost_offset,
        |i| cumulative_cost_fun(&cumulative_cost_data[i]),
    )
}

/// Cuts the range into at most `max_num_partitions` parts, such that the dearest part costs as
/// little as possible: `PartitionRangeForParallelFor`.
///
/// - `start..end`: the range.
/// - `cumulative_cost_fun(&cumulative_cost_data[i])`: the cost of all indices up to and including `i`,
///   counted from index 0 (not from `start`); not decreasing.
///
/// Returns the boundaries: the first is `start`, the last is `end`, and part `p` goes from boundary
/// `p` to boundary `p + 1`. No part is empty; there may be fewer parts than allowed, one if nothing
/// costs anything; indices without cost belong to the part on their left. An empty range has no
/// parts and one boundary.
///
/// Complexity: `O(parts * log(end - start) * log(total cost))` calls of `cumulative_cost_fun`.
/// Callers whose costs do not change keep the result and pass it to a loop as its partitions.
///
/// # Panics
///
/// If `start > end`, if `end` exceeds the length of `cumulative_cost_data`, or if
/// `max_num_partitions` is zero.
///
/// # Examples
///
/// ```
/// use conga::ceres::partition_range_for_parallel_for;
///
/// // The indices cost 1, 1, 5, 3, 1 and 4.
/// let cumulative = [1, 2, 7, 10, 11, 15];
/// let bounds = partition_range_for_parallel_for(0, 6, 4, &cumulative, |&c| c);
/// assert_eq!(bounds, [0, 2, 3, 5, 6]);
/// ```
pub fn partition_range_for_parallel_for<T>(
    start: usize,
    end: usize,
    max_num_partitions: usize,
    cumulative_cost_data: &[T],
    cumulative_cost_fun: impl Fn(&T) -> u64,
) -> Vec<usize> {
    check_data(end, cumulative_cost_data.len());
    partition::partition_range(start, end, max_num_partitions, |i| {
        cumulative_cost_fun(&cumulative_cost_data[i])
    })
}

fn check_data(end: usize, len: usize) {
    assert!(
        end <= len,
        "the range ends at {end}, but there are cumulative costs of {len} indices only"
    );
}
