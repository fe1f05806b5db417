//! `ThreadPool`, counted as Ceres counts.

use std::fmt;

use crate::dispatch::Dispatch;
use crate::pool::processors;

/// A pool that counts *workers*, as Ceres's does, where [`conga::ThreadPool`](crate::ThreadPool)
/// counts lanes: for loops with `num_threads` lanes it needs `num_threads - 1` workers, because the
/// caller takes part.
///
/// Without workers, tasks are queued until [`resize`](Self::resize) starts some; dropped without
/// workers, it forgets them. Otherwise dropping it runs what is queued and joins the workers.
///
/// ```
/// use conga::ceres::{parallel_for, ThreadPool};
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let pool = ThreadPool::new();
/// pool.resize(1);
/// let sum = AtomicUsize::new(0);
/// parallel_for(&pool, 0, 10, 2, |i: usize| { sum.fetch_add(i, Ordering::Relaxed); }, 1);
/// assert_eq!(sum.into_inner(), 45);
/// ```
pub struct ThreadPool {
    pool: crate::ThreadPool,
}

impl ThreadPool {
    /// A pool without workers.
    pub fn new() -> Self {
        let builder = crate::ThreadPool::builder()
            .num_threads(1)
            .dispatch(Dispatch::Chained);
        ThreadPool {
            pool: builder.build().expect("a pool of one thread can be built"),
        }
    }

    /// A pool with `num_threads` workers, at most one per processor: `new` and
    /// [`resize`](Self::resize).
    pub fn with_threads(num_threads: usize) -> Self {
        let pool = Self::new();
        pool.resize(num_threads);
        pool
    }

    /// As many threads as there are processors for this process.
    pub fn max_num_threads_available() -> usize {
        processors()
    }

    /// Starts workers until there are `num_threads`, or one per processor, whichever is less. Never
    /// stops one. Tasks may be running meanwhile.
    pub fn resize(&self, num_threads: usize) {
        let workers = num_threads.min(Self::max_num_threads_available());
        self.pool.ensure_threads(workers + 1);
    }

    /// How many workers there are.
    pub fn size(&self) -> usize {
        self.pool.num_threads() - 1
    }

    /// Queues `task`; tasks start in the order in which they were added. A task that panics aborts
    /// the process.
    pub fn add_task(&self, task: impl FnOnce() + Send + 'static) {
        self.pool.enqueue(Box::new(task));
    }

    /// The pool of lanes inside, of one lane more than there are workers.
    pub fn as_conga(&self) -> &crate::ThreadPool {
        &self.pool
    }
}

impl Default for ThreadPool {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ceres::ThreadPool")
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

/// What Ceres's solver passes around: the pool of the loops to come.
#[derive(Debug, Default)]
pub struct Context {
    /// The pool.
    pub thread_pool: ThreadPool,
}

impl Context {
    /// A context whose pool has no workers yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes sure that the pool has `num_threads` workers, at most one per processor. Ceres's
    /// solver asks for one less than the threads of its loops, because the caller takes part.
    pub fn ensure_minimum_threads(&self, num_threads: usize) {
        self.thread_pool.resize(num_threads);
    }
}

impl<'a> From<&'a Context> for Option<&'a ThreadPool> {
    fn from(context: &'a Context) -> Self {
        Some(&context.thread_pool)
    }
}
