//! One closure on every worker.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;

use super::enter::with_current;
use super::latches::Countdown;
use super::spawn::task_job;
use crate::jobs::Job;
use crate::pool::{Member, Shared, ThreadPool};

/// Where a closure of [`broadcast`] runs.
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    /// It speaks of the thread that it is on.
    _on_this_thread: PhantomData<&'a *mut ()>,
}

impl BroadcastContext<'_> {
    pub(super) fn with<R>(f: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        let (index, num_threads) = Member::current(|me| {
            let me = me.expect("a job runs on a member of its pool");
            (me.index, me.shared.workers())
        });
        f(BroadcastContext {
            index,
            num_threads,
            _on_this_thread: PhantomData,
        })
    }

    /// The number of this worker, below [`num_threads`](Self::num_threads).
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many workers the broadcast goes to.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index)
            .field("num_threads", &self.num_threads)
            .finish()
    }
}

/// Calls `op` once on every worker, and returns what they return, in order of their numbers: in the pool
/// that the calling thread is of, or else in [`ThreadPool::global`]. A worker that is busy comes to it when
/// it is done, or while it waits for something.
///
/// # Panics
///
/// With the first panic, in order of the workers, when all have ended.
///
/// ```
/// let numbers = conga::broadcast(|worker| worker.index());
/// assert!(numbers.iter().enumerate().all(|(i, &number)| i == number));
/// ```
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    with_current(|shared| broadcast_in(shared, op))
}

/// Calls `op` once on every worker, some time; nobody waits for that. Otherwise as [`broadcast`], and as
/// [`spawn`](crate::spawn) where it panics.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    with_current(|shared| spawn_broadcast_in(shared, op));
}

impl ThreadPool {
    /// [`broadcast`] in this pool.
    ///
    /// # Panics
    ///
    /// As [`broadcast`].
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(self.shared(), op)
    }

    /// [`spawn_broadcast`] in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(self.shared(), op);
    }
}

/// A broadcast that is waited for, in the frame that waits.
struct Broadcast<OP, R> {
    op: OP,
    /// Worker `i` writes the `i`-th.
    results: Vec<UnsafeCell<Option<thread::Result<R>>>>,
    left: Countdown,
}

impl<OP, R> Broadcast<OP, R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
{
    /// # Safety
    ///
    /// `data` is the address of a live `Self`, and the calling thread one of the workers that it went to, and
    /// comes to it for the first time.
    unsafe fn run(data: *const ()) {
        // SAFETY: it is live until the last worker has ended.
        let this = unsafe { &*data.cast::<Self>() };
        BroadcastContext::with(|context| {
            let index = context.index;
            let result = catch_unwind(AssertUnwindSafe(|| (this.op)(context)));
            // SAFETY: this worker alone writes here, and the caller reads when all have ended.
            unsafe { *this.results[index].get() = Some(result) };
        });
        let left = &raw const this.left;
        // SAFETY: this worker was counted as begun.
        unsafe { Countdown::end(left, 1) };
    }
}

fn broadcast_in<OP, R>(shared: &Shared, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let workers = shared.workers_for_tasks();
    let broadcast = Broadcast {
        op,
        results: (0..workers).map(|_| UnsafeCell::new(None)).collect(),
        left: Countdown::new(),
    };
    broadcast.left.begin(workers);
    let data = (&raw const broadcast).cast();
    // SAFETY: `run` may be called with this address, once by each worker, until the wait below is over;
    // `OP` is `Sync` and `R` is `Send`; it does not unwind.
    let letter = unsafe { Job::new(data, Broadcast::<OP, R>::run, 0) };
    shared.post_to_all(|_| letter, workers);
    // SAFETY: it is here. What began was this thread.
    unsafe { Countdown::end(&raw const broadcast.left, 1) };
    broadcast.left.wait(shared);
    let results = broadcast.results.into_iter().map(UnsafeCell::into_inner);
    results
        .map(|result| match result.expect("every worker has come") {
            Ok(result) => result,
            Err(payload) => resume_unwind(payload),
        })
        .collect()
}

fn spawn_broadcast_in<OP>(shared: &Shared, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let op = Arc::new(op);
    let letter = |_| {
        let op = Arc::clone(&op);
        task_job(
            shared,
            move || BroadcastContext::with(|context| op(context)),
            0,
        )
    };
    shared.post_to_all(letter, shared.workers_for_tasks());
}
