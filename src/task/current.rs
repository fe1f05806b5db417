//! Where the calling thread is.

use super::enter::{enter, with_current};
use crate::pool::{Member, Shared, ThreadPool};

/// The number of the worker that the calling thread is, or whose place it has taken, in the pool that it is
/// of. No two threads have one number in one pool at the same time. `None` on a thread that is of no pool.
///
/// ```
/// assert_eq!(conga::worker_index(), None);
/// let pool = conga::ThreadPool::new(3)?; // the caller and two workers
/// assert!(pool.install(conga::worker_index).unwrap() < 2);
/// # Ok::<(), conga::BuildError>(())
/// ```
#[inline]
pub fn worker_index() -> Option<usize> {
    Member::current(|me| me.map(|me| me.index))
}

/// How many workers there are in the pool that the calling thread is of, or else in
/// [`ThreadPool::global`]. At least 1: a pool without workers starts one.
pub fn current_num_workers() -> usize {
    with_current(Shared::workers_for_tasks)
}

/// Whether the calling thread has spawned or joined what nobody has begun yet. `None` on a thread that is
/// of no pool.
pub fn has_pending_tasks() -> Option<bool> {
    Member::current(|me| me.map(Member::has_own))
}

impl ThreadPool {
    /// Runs `op` on a thread of this pool, so that what it calls of [`join`](crate::join),
    /// [`scope`](crate::scope) and the like runs in this pool. The calling thread waits; if it is of another
    /// pool it runs that one's tasks meanwhile.
    ///
    /// # Panics
    ///
    /// If `op` panics.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        enter(self.shared(), |_, _| op())
    }

    /// [`worker_index`] in this pool.
    pub fn worker_index(&self) -> Option<usize> {
        self.as_member(|me| me.index)
    }

    /// [`has_pending_tasks`] in this pool.
    pub fn has_pending_tasks(&self) -> Option<bool> {
        self.as_member(|me| me.has_own())
    }
}
