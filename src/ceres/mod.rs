//! Ceres Solver's names, argument order and semantics, for whoever ports one of its routines line
//! by line.
//!
//! | Ceres | here |
//! |---|---|
//! | `ContextImpl`, `EnsureMinimumThreads` | [`Context`], [`ensure_minimum_threads`](Context::ensure_minimum_threads) |
//! | `ThreadPool`: `Resize`, `Size`, `AddTask`, `MaxNumThreadsAvailable` | [`ThreadPool`]: `resize`, `size`, `add_task`, `max_num_threads_available` |
//! | `ConcurrentQueue` | [`ConcurrentQueue`] |
//! | `ParallelFor` | [`parallel_for()`], [`parallel_for_with_partitions`], [`parallel_for_with_costs`] |
//! | `ParallelInvoke` | [`parallel_invoke`] |
//! | `PartitionRangeForParallelFor`, `MaxPartitionCostIsFeasible` | [`partition_range_for_parallel_for`], [`max_partition_cost_is_feasible`] |
//! | `ParallelAssign`, `ParallelSetZero` | [`parallel_assign`], [`parallel_set_zero`] |
//! | `Norm`, `Dot`, `Axpby`, ... | [`vector`](crate::vector) |
//! | `LinearIndexToUpperTriangularIndex` | [`linear_index_to_upper_triangular_index`] |
//!
//! What differs, on purpose: a panic of a body reaches the caller, where an exception ends Ceres; a
//! forked child's pools work; a loop leaves no task behind that nobody takes out; reductions have
//! the same bits for every number of threads.

mod body;
mod parallel_for;
mod partition;
mod thread_pool;
mod triangular;

pub use self::body::Body;
pub use self::parallel_for::{
    parallel_assign, parallel_for, parallel_for_with_costs, parallel_for_with_partitions,
    parallel_invoke, parallel_set_zero,
};
pub use self::partition::{max_partition_cost_is_feasible, partition_range_for_parallel_for};
pub use self::thread_pool::{Context, ThreadPool};
pub use self::triangular::linear_index_to_upper_triangular_index;
pub use crate::queue::ConcurrentQueue;
