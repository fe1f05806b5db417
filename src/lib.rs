//! A thread pool for fork-join loops with *chained task scheduling*: the task that starts schedules the
//! next one, until enough of them run or no work is left.
//!
//! The public surface is the list below; `README.md` has the map of the source.

mod blocks;
mod board;
mod chain;
mod count;
mod disjoint;
mod dispatch;
mod parallel_for;
mod parking;
mod partition;
mod pool;
mod queue;
mod scratch;
mod segments;
mod slot;
mod stats;
mod sync;
mod tuning;

pub mod ceres;
pub mod vector;

pub use crate::blocks::Blocks;
pub use crate::disjoint::DisjointSlice;
pub use crate::dispatch::Dispatch;
pub use crate::parallel_for::{ByCost, Cut, Even, Given, ParallelFor};
pub use crate::pool::{BuildError, ThreadPool, ThreadPoolBuilder};
pub use crate::queue::ConcurrentQueue;
pub use crate::scratch::Scratch;
pub use crate::stats::Stats;
