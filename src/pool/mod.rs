//! The pool: its handle, its builder, its workers, and what they share.
//!
//! | file | what |
//! |---|---|
//! | `builder` | how a pool is set up, and what makes no sense |
//! | `global` | the pool that the program shares |
//! | `shared` | what the handle and the workers have in common: board, sleepers, queue, threads |
//! | `worker` | the life of a worker |
//! | `chain` | how a loop brings in one worker, and each of them the next, or the next two |
//! | `seat` | a caller's hold on a slot, kept from loop to loop |
//! | `member` | a thread that holds an identity, and what it does while it waits |
//! | `hosted` | pools whose threads somebody else starts |
//! | `guest` | a thread from outside that takes over the identity of a worker that sleeps |
//! | `watch` | one idle worker looks now and then whether a loop that called nobody got stuck |
//! | `window` | whether it pays for an idle worker to spin |
//! | `fork` | telling a forked child from its parent |
//! | `thread` | a worker's thread, of the standard library or of the system |
//! | `processors` | how many there are for this process |

mod builder;
mod chain;
mod fork;
mod global;
mod guest;
mod hosted;
mod member;
mod processors;
mod seat;
mod shared;
mod thread;
pub(crate) mod watch;
mod window;
mod worker;

use std::fmt;
use std::mem;
use std::sync::Arc;

pub use self::builder::{BuildError, ThreadPoolBuilder};
pub(crate) use self::chain::Calls;
pub use self::hosted::{HostError, HostedThread};
pub(crate) use self::member::{Member, Taker};
pub(crate) use self::processors::processors;
pub(crate) use self::seat::Seat;
pub(crate) use self::shared::Shared;

use self::builder::Config;
use self::chain::Task;
use crate::dispatch::Dispatch;
use crate::slot::Urgency;
use crate::stats::Stats;
// Not a model's: the handle is not modelled.
use std::sync::atomic::{AtomicPtr, Ordering};

/// Most lanes of a pool.
pub(crate) const MAX_THREADS: usize = if cfg!(loom) { 64 } else { 1 << 16 };

/// Parked worker threads that take part in loops and run tasks.
///
/// A pool of `n` threads counts *lanes*: the thread that calls a loop is one, so there are `n - 1`
/// workers, and a pool of one starts no thread before it is given a task. Any number of threads may use a pool at once, and
/// loops may be nested to any depth: no loop waits for another one, and none takes extra threads.
///
/// ```
/// let pool = conga::ThreadPool::new(4)?;
/// let mut x = vec![0.0; 1000];
/// pool.for_each_mut(&mut x, |i, x| *x = (i as f64).sqrt());
/// let sum = pool.parallel_for(0..x.len()).map_reduce(|r| x[r].iter().sum::<f64>(), |a, b| a + b);
/// assert!((sum - 21_065.8).abs() < 0.1);
/// # Ok::<(), conga::BuildError>(())
/// ```
///
/// Dropping the pool lets the workers finish what is queued, and joins them; dropped on one of its
/// own workers it leaves them to end by themselves.
///
/// After `fork()` the child's first use of a pool gives it new workers. The parent's are not there,
/// and what the parent had queued is left to the parent. A child that was forked *inside* a body or
/// task may only call `exec` or `_exit`.
pub struct ThreadPool {
    /// From `Arc::into_raw`. Replaced only in a forked child; what was there before is never freed.
    shared: AtomicPtr<Shared>,
}

impl ThreadPool {
    /// A pool of `num_threads` lanes: the caller and `num_threads - 1` workers. 0 means as many as
    /// there are processors for this process. See [`ThreadPoolBuilder`] for more.
    ///
    /// # Errors
    ///
    /// If `num_threads` is above 65,536. That the system refuses a thread is no error: see
    /// [`num_threads`](Self::num_threads).
    pub fn new(num_threads: usize) -> Result<Self, BuildError> {
        Self::builder().num_threads(num_threads).build()
    }

    /// Sets a pool up in detail.
    pub fn builder() -> ThreadPoolBuilder {
        ThreadPoolBuilder::new()
    }

    /// The pool that the whole program shares, made when it is first asked for: `CONGA_NUM_THREADS`
    /// lanes, or as many as there are processors; its workers spin for `CONGA_SPIN_US` microseconds
    /// (0 to 200, default 100) before they sleep, see [`ThreadPoolBuilder::spin`]. A value that makes no sense is reported once on standard error
    /// and ignored. Its workers are never joined, and nothing is destroyed when the program ends.
    pub fn global() -> &'static ThreadPool {
        global::global()
    }

    pub(crate) fn from_config(config: Arc<Config>) -> Self {
        ThreadPool {
            shared: AtomicPtr::new(Arc::into_raw(Shared::new(config, worker::main)).cast_mut()),
        }
    }

    /// How many lanes a loop can have: the caller and the workers that there are. Less than what
    /// was asked for where the system has refused a thread.
    pub fn num_threads(&self) -> usize {
        let shared = self.shared();
        // Relaxed: a number.
        let most = shared.lanes.load(Ordering::Relaxed);
        most.min(shared.workers() + 1)
    }

    /// Starts workers until a loop can have `lanes` lanes, at most 65,536; never stops one. Returns
    /// how many it can have now: fewer where the system refuses a thread. Loops may be running
    /// meanwhile.
    pub fn ensure_threads(&self, lanes: usize) -> usize {
        let shared = self.shared_arc();
        let lanes = lanes.clamp(1, MAX_THREADS);
        shared.lanes.fetch_max(lanes, Ordering::Relaxed);
        shared.grow(lanes - 1);
        self.num_threads()
    }

    /// Starts workers until there are `workers`, at most 65,535, for tasks; loops get no more lanes by it.
    /// Returns how many there are now.
    pub fn ensure_workers(&self, workers: usize) -> usize {
        self.shared_arc().grow(workers);
        self.num_workers()
    }

    /// How many workers there are, which is how many tasks can run at the same time.
    pub fn num_workers(&self) -> usize {
        self.shared().workers()
    }

    /// Runs `task` on a worker, some time. Tasks start in the order in which they were added.
    /// Without workers the task runs at once, on the caller. A task that panics goes to the
    /// [`panic_handler`](ThreadPoolBuilder::panic_handler), or aborts the process.
    ///
    /// A task may add tasks and run loops. Dropping the pool runs what is queued; a forked child
    /// forgets it.
    pub fn add_task(&self, task: impl FnOnce() + Send + 'static) {
        if self.shared().workers() == 0 {
            self.shared().run_task(task);
        } else {
            self.enqueue(Box::new(task));
        }
    }

    /// Puts a task into the queue, workers or not.
    pub(crate) fn enqueue(&self, task: Box<dyn FnOnce() + Send>) {
        let shared = self.shared();
        if shared.submit(Task::Run(task), Urgency::Progress).somebody() {
            shared.count_outside(|stats| stats.wake_ups += 1);
        }
    }

    /// Sends the workers that spin to sleep: a program that knows it has no loop for a while saves
    /// their time. They come back at the next loop that calls them.
    pub fn park_now(&self) {
        self.shared().sleepers.park_spinners();
    }

    /// What the pool has done so far.
    pub fn stats(&self) -> Stats {
        self.shared().stats()
    }

    /// The strategy of loops that do not choose one.
    pub fn dispatch(&self) -> Dispatch {
        self.shared().config.dispatch
    }

    /// The pool's memory, of this process.
    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        // Acquire: partner is the Release in `rebuild`.
        let shared = self.shared.load(Ordering::Acquire);
        // SAFETY: the pointer came from `Arc::into_raw`, and that count is given back only in
        // `drop`; what a rebuild replaces is leaked.
        let shared = unsafe { &*shared };
        if shared.generation == fork::generation() {
            shared
        } else {
            self.rebuild(shared)
        }
    }

    /// The first use in a forked child: makes new memory and new workers.
    #[cold]
    fn rebuild(&self, parents: &Shared) -> &Shared {
        // As many as were meant, if the parent had not started them yet; as many as there were, if
        // it had more.
        let workers = parents
            .workers()
            .max(parents.config.lanes.saturating_sub(1));
        let new = Arc::into_raw(Shared::new(Arc::clone(&parents.config), worker::main)).cast_mut();
        let old = std::ptr::from_ref(parents).cast_mut();
        // Release: partner is the Acquire in `shared`; Acquire: the same, where another thread was
        // first.
        match self
            .shared
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => {
                let shared = self.shared_arc();
                let lanes = parents.lanes.load(Ordering::Relaxed);
                shared
                    .lanes
                    .store(lanes.max(parents.config.lanes), Ordering::Relaxed);
                shared.grow(workers);
            }
            // SAFETY: `new` came from `Arc::into_raw` above and nobody else has seen it.
            Err(_) => drop(unsafe { Arc::from_raw(new) }),
        }
        self.shared()
    }

    /// One more count of the pool's memory.
    fn shared_arc(&self) -> Arc<Shared> {
        self.shared()
            .weak()
            .upgrade()
            .expect("the handle holds one count")
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Arc::into_raw`, and nobody else gives its count back.
        let shared = unsafe { Arc::from_raw(*self.shared.get_mut()) };
        if shared.generation == fork::generation() {
            shared.close();
        } else {
            // The parent's, in a forked child that never used it: its threads are not here to be
            // joined and its locks may be taken.
            mem::forget(shared);
        }
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.num_threads())
            .field("dispatch", &self.dispatch())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A fork between the making of the global pool and the start of its workers: the child has the
    /// workers that were meant. Catches a child that counts the parent's.
    #[test]
    fn a_child_starts_what_the_parent_had_not_yet() {
        let pool = ThreadPool::builder().num_threads(3).build_without_workers();
        let pool = pool.unwrap();
        assert_eq!(pool.num_threads(), 1);
        pool.rebuild(pool.shared());
        assert_eq!(pool.num_threads(), 3);
    }
}
