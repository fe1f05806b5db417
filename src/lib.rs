#![doc = include_str!("../README.md")]

mod affinity;
mod barrier;
mod blocks;
mod board;
mod clock;
mod count;
mod disjoint;
mod dispatch;
mod jobs;
#[cfg(all(loom, test))]
#[path = "../tests/loom/mod.rs"]
mod loom_models;
mod parallel_for;
mod parking;
mod partition;
mod pool;
mod price;
mod queue;
mod scratch;
mod segments;
mod slot;
mod stats;
mod strategy;
mod sync;
mod task;
mod tuning;

pub mod ceres;
pub mod vector;

pub use crate::blocks::Blocks;
pub use crate::disjoint::DisjointSlice;
pub use crate::dispatch::Dispatch;
pub use crate::parallel_for::{ByCost, Cut, Even, Given, ParallelFor};
pub use crate::pool::{BuildError, HostError, HostedThread, ThreadPool, ThreadPoolBuilder};
pub use crate::queue::ConcurrentQueue;
pub use crate::scratch::Scratch;
pub use crate::stats::Stats;
pub use crate::task::{
    broadcast, current_num_workers, has_pending_tasks, in_place_scope, in_place_scope_fifo, join,
    join_context, scope, scope_fifo, spawn, spawn_broadcast, spawn_fifo, worker_index, yield_local,
    yield_now, BroadcastContext, FnContext, Scope, ScopeFifo, Yield,
};
