//! The cost-guided partition: Ceres's tests of it, properties, and loops that use it.

use std::sync::Mutex;

use conga::ceres::{max_partition_cost_is_feasible, partition_range_for_parallel_for};
use conga::{Dispatch, ThreadPool};
use proptest::prelude::*;

/// The cumulative costs, up to and including each index.
fn cumulative(costs: &[u64]) -> Vec<u64> {
    costs
        .iter()
        .scan(0, |sum, cost| {
            *sum += cost;
            Some(*sum)
        })
        .collect()
}

/// The fewest parts of `costs` of which none is above `limit`, by trying every last part: `None` if
/// one index is.
fn fewest_parts(costs: &[u64], limit: u64) -> Option<usize> {
    let mut fewest = vec![Some(0)];
    for end in 1..=costs.len() {
        let best = (0..end)
            .filter(|&start| costs[start..end].iter().sum::<u64>() <= limit)
            .filter_map(|start| fewest[start].map(|parts| parts + 1))
            .min();
        fewest.push(best);
    }
    fewest[costs.len()]
}

/// The cost of the dearest part of the best cut into at most `parts`, by trying every last part.
fn least_dearest(costs: &[u64], parts: usize) -> u64 {
    let n = costs.len();
    // best[end]: of the first `end` costs in as many parts as rounds so far.
    let mut best: Vec<_> = (0..=n)
        .map(|end| costs[..end].iter().sum::<u64>())
        .collect();
    for _ in 1..parts {
        best = (0..=n)
            .map(|end| {
                (0..end)
                    .map(|start| best[start].max(costs[start..end].iter().sum()))
                    .min()
                    .unwrap_or(0)
            })
            .collect();
    }
    best[n]
}

/// Checks that `bounds` cut `start..end` into parts that are not empty, and returns the dearest one's cost.
fn dearest(bounds: &[usize], start: usize, end: usize, costs: &[u64]) -> u64 {
    assert_eq!((bounds.first(), bounds.last()), (Some(&start), Some(&end)));
    assert!(bounds.windows(2).all(|b| b[0] < b[1]), "{bounds:?}");
    let cost = |b: &[usize]| costs[b[0]..b[1]].iter().sum();
    bounds.windows(2).map(cost).max().unwrap_or(0)
}

/// The parts that begin with an index that costs nothing, but for the first.
fn parts_that_begin_free(bounds: &[usize], costs: &[u64]) -> usize {
    let inner = &bounds[1..bounds.len() - 1];
    inner.iter().filter(|&&first| costs[first] == 0).count()
}

/// A small generator (xorshift64*), so that a run can be repeated.
struct Random(u64);

impl Random {
    /// A number in `low..=high`.
    fn within(&mut self, low: usize, high: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        low + bits as usize % (high - low + 1)
    }
}

/// Random costs in `0..=8` and a sub-range, not empty: 1 to `max_len` indices.
fn random_case(random: &mut Random, max_len: usize) -> (Vec<u64>, usize, usize) {
    let n = random.within(1, max_len);
    let costs = (0..n).map(|_| random.within(0, 8) as u64).collect();
    let start = random.within(0, n - 1);
    (costs, start, random.within(start + 1, n))
}

// Ceres's GuidedParallelFor.MaxPartitionCostIsFeasible: a case with known answers, and every limit
// against brute force. Catches a limit taken as exclusive, one part too many, and free indices that
// get a part of their own.
#[test]
fn max_partition_cost_is_feasible_by_hand() {
    let costs = [1, 2, 3, 5, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
    let data = cumulative(&costs);
    let n = costs.len();
    let cut = |parts, limit| max_partition_cost_is_feasible(0, n, parts, limit, 0, &data, |&c| c);
    assert_eq!(cut(3, 7), Some(vec![0, 3, 10, n]));
    assert_eq!(cut(3, 18), Some(vec![0, n]));
    assert_eq!(cut(3, 6), None);
    assert_eq!(cut(2, 10), None);
    for parts in 1..=n + 1 {
        for limit in 0..=20 {
            let possible = fewest_parts(&costs, limit).is_some_and(|fewest| fewest <= parts);
            let bounds = cut(parts, limit);
            assert_eq!(bounds.is_some(), possible, "{parts} parts, limit {limit}");
            if let Some(bounds) = bounds {
                assert!(dearest(&bounds, 0, n, &costs) <= limit);
                assert_eq!(parts_that_begin_free(&bounds, &costs), 0);
            }
        }
    }
}

// Ceres's GuidedParallelFor.MaxPartitionCostIsFeasibleRandomized: any sub-range, any number of parts,
// every limit, against brute force. Catches what the case above does, in ranges that do not start at
// index 0: an offset that is forgotten or taken from the wrong index.
#[test]
fn max_partition_cost_is_feasible_randomized() {
    let mut random = Random(29);
    for _ in 0..1000 {
        let (costs, start, end) = random_case(&mut random, 32);
        let data = cumulative(&costs);
        let parts = random.within(1, 16);
        let offset = data[start] - costs[start];
        let range = &costs[start..end];
        for limit in 0..=range.iter().sum::<u64>() + 1 {
            let bounds =
                max_partition_cost_is_feasible(start, end, parts, limit, offset, &data, |&c| c);
            let fewest = fewest_parts(range, limit).filter(|&fewest| fewest <= parts);
            let Some(bounds) = bounds else {
                assert_eq!(fewest, None, "{range:?}, {parts} parts, limit {limit}");
                continue;
            };
            assert_eq!(
                Some(bounds.len() - 1),
                fewest,
                "{range:?}, limit {limit}: {bounds:?}"
            );
            assert!(dearest(&bounds, start, end, &costs) <= limit);
            assert_eq!(parts_that_begin_free(&bounds, &costs), 0);
        }
    }
}

// Ceres's GuidedParallelFor.PartitionRangeForParallelFor: as many parts as allowed or fewer, and the
// dearest costs what it does in the best cut there is. Catches a search that stops one too early, and
// a limit that is skipped though it could be kept.
#[test]
fn partition_range_for_parallel_for_is_optimal() {
    let mut random = Random(31);
    for _ in 0..1000 {
        let (costs, start, end) = random_case(&mut random, 32);
        let data = cumulative(&costs);
        let parts = random.within(1, 16);
        let bounds = partition_range_for_parallel_for(start, end, parts, &data, |&c| c);
        assert!(bounds.len() - 1 <= parts);
        assert_eq!(
            dearest(&bounds, start, end, &costs),
            least_dearest(&costs[start..end], parts),
            "{:?}, {parts} parts: {bounds:?}",
            &costs[start..end]
        );
    }
}

// The example that the documentation gives, and the same costs behind others that are left out.
#[test]
fn documented_example() {
    let data = cumulative(&[1, 1, 5, 3, 1, 4]);
    let bounds = partition_range_for_parallel_for(0, 6, 4, &data, |&c| c);
    assert_eq!(bounds, [0, 2, 3, 5, 6]);
    let data = cumulative(&[9, 0, 1, 1, 5, 3, 1, 4, 100]);
    let bounds = partition_range_for_parallel_for(2, 8, 4, &data, |&c| c);
    assert_eq!(bounds, [2, 4, 5, 7, 8]);
}

// Ranges without indices, without costs, and with one index: catches a lower bound below zero, and a
// read before the start or past the end.
#[test]
fn degenerate_ranges() {
    let data = cumulative(&[5, 0, 0, 0, 2]);
    let cut =
        |start, end, parts| partition_range_for_parallel_for(start, end, parts, &data, |&c| c);
    assert_eq!(cut(0, 0, 3), [0]);
    assert_eq!(cut(5, 5, 3), [5]);
    assert_eq!(cut(1, 4, 3), [1, 4]);
    assert_eq!(cut(1, 4, usize::MAX), [1, 4]);
    assert_eq!(cut(0, 1, 4), [0, 1]);
    assert_eq!(cut(0, 5, 1), [0, 5]);
    assert_eq!(cut(0, 5, usize::MAX), [0, 4, 5]);
    let empty = max_partition_cost_is_feasible(2, 2, 1, 0, 5, &data, |&c| c);
    assert_eq!(empty, Some(vec![2]));
}

// Costs whose sum is the largest number: catches a sum of a limit and an offset that overflows.
#[test]
fn largest_costs() {
    const MAX: u64 = u64::MAX;
    let cut = |costs: &[u64], start, parts| {
        let end = costs.len();
        partition_range_for_parallel_for(start, end, parts, &cumulative(costs), |&c| c)
    };
    assert_eq!(cut(&[MAX], 0, 2), [0, 1]);
    assert_eq!(cut(&[MAX, 0, 0], 0, 3), [0, 3]);
    assert_eq!(cut(&[MAX / 2, MAX / 2, 1], 0, 2), [0, 1, 3]);
    assert_eq!(cut(&[MAX - 7, 3, 3, 1], 1, 2), [1, 2, 4]);
    assert_eq!(cut(&[MAX - 7, 3, 3, 1], 0, 2), [0, 1, 4]);
    let data = [MAX - 1, MAX];
    let bounds = max_partition_cost_is_feasible(1, 2, 1, MAX, MAX - 1, &data, |&c| c);
    assert_eq!(bounds, Some(vec![1, 2]));
}

// What makes no sense is refused with a message that says what.
#[test]
fn senseless_arguments_panic() {
    let message = |start, end, parts| {
        let payload = std::panic::catch_unwind(|| {
            partition_range_for_parallel_for(start, end, parts, &[1, 2, 3], |&c| c)
        })
        .unwrap_err();
        payload.downcast::<String>().map_or_else(
            |payload| (*payload.downcast::<&str>().unwrap()).to_owned(),
            |message| *message,
        )
    };
    assert!(message(0, 3, 0).contains("0 partitions"));
    assert!(message(2, 1, 1).contains("starts at 2"));
    assert!(message(0, 4, 1).contains("ends at 4"));
}

// Costs that decrease, against the contract, still cut the range into contiguous parts, so that a loop
// over them visits each index once: catches a search that does not end or steps back.
#[test]
fn decreasing_costs_still_give_parts() {
    let mut random = Random(37);
    for _ in 0..1000 {
        let n = random.within(1, 32);
        let costs = vec![0; n];
        let data: Vec<_> = (0..n).map(|_| random.within(0, 50) as u64).collect();
        let start = random.within(0, n - 1);
        let parts = random.within(1, 8);
        let bounds = partition_range_for_parallel_for(start, n, parts, &data, |&c| c);
        dearest(&bounds, start, n, &costs);
        assert!(bounds.len() - 1 <= parts);
    }
}

proptest! {
    // Any costs, any sub-range: the cut is the best there is, made of parts that are not empty and do
    // not begin with a free index, and every limit below the dearest part's cost is refused.
    #[test]
    fn cuts_are_optimal(
        costs in prop::collection::vec(prop_oneof![Just(0), 0..4_u64, 0..1_000_000_u64], 1..40),
        parts in 1..20_usize,
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        let (a, b) = (from.index(costs.len()), to.index(costs.len()));
        let (start, end) = (a.min(b), a.max(b) + 1);
        let data = cumulative(&costs);
        let bounds = partition_range_for_parallel_for(start, end, parts, &data, |&c| c);
        let dearest = dearest(&bounds, start, end, &costs);
        prop_assert!(bounds.len() - 1 <= parts);
        prop_assert_eq!(dearest, least_dearest(&costs[start..end], parts));
        prop_assert_eq!(parts_that_begin_free(&bounds, &costs), 0);
        if let Some(lower) = dearest.checked_sub(1) {
            let offset = data[start] - costs[start];
            let refused =
                max_partition_cost_is_feasible(start, end, parts, lower, offset, &data, |&c| c);
            prop_assert_eq!(refused, None);
        }
    }

    // The number of times that the costs are read stays near parts * log(length) * log(total): catches
    // a search that has become linear in the length or the total.
    #[test]
    fn few_costs_are_read(scale in 1..1_000_000_u64, parts in 1..20_usize) {
        let data: Vec<u64> = (1..=4096).map(|i| i * i * scale).collect();
        let reads = std::cell::Cell::new(0_usize);
        partition_range_for_parallel_for(0, data.len(), parts, &data, |&c| {
            reads.set(reads.get() + 1);
            c
        });
        let log_total = 64 - data[data.len() - 1].leading_zeros() as usize;
        prop_assert!(reads.get() <= (parts + 1) * (12 + 3) * log_total);
    }
}

// A loop guided by costs visits each index once, and under `Chained` its bodies get unions of whole
// parts of the partition, also in a range that does not start at index 0. Catches costs that are
// taken from the start of the range, and part ids handed out in place of indices.
#[test]
fn loops_guided_by_costs() {
    let pool = ThreadPool::new(4).unwrap();
    let mut random = Random(41);
    for _ in 0..100 {
        let (costs, start, end) = random_case(&mut random, 200);
        let data = cumulative(&costs);
        for threads in [2, 3, 8] {
            let bounds = partition_range_for_parallel_for(start, end, 4 * threads, &data, |&c| c);
            for dispatch in [Dispatch::Chained, Dispatch::Adaptive] {
                let ranges = Mutex::new(Vec::new());
                pool.parallel_for(start..end)
                    .num_threads(threads)
                    .dispatch(dispatch)
                    .cumulative_cost(|i| data[i])
                    .for_each_range(|range| ranges.lock().unwrap().push(range));
                let mut ranges = ranges.into_inner().unwrap();
                ranges.sort_by_key(|range| range.start);
                let mut next = start;
                for range in ranges {
                    assert!(range.start == next && range.end > next);
                    // With no more indices than threads, costs are ignored, as in Ceres.
                    assert!(end - start <= threads || bounds.contains(&range.end));
                    next = range.end;
                }
                assert_eq!(next, end);
            }
        }
    }
}
