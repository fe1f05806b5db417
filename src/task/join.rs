//! `join`: two closures, maybe at the same time.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use super::enter::{enter, enter_current};
use super::latches::Own;
use super::stack_job::StackJob;
use crate::jobs::Popped;
use crate::pool::{Member, ThreadPool};

/// What a closure of [`join_context`] is told.
pub struct FnContext {
    migrated: bool,
    /// It speaks of the thread that it is on.
    _on_this_thread: PhantomData<*mut ()>,
}

impl FnContext {
    fn new(migrated: bool) -> Self {
        FnContext {
            migrated,
            _on_this_thread: PhantomData,
        }
    }

    /// Whether the closure runs on another thread than the one that called
    /// [`join_context`]; a caller from outside the pool counts as one.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

impl fmt::Debug for FnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnContext")
            .field("migrated", &self.migrated)
            .finish()
    }
}

/// Runs two closures, maybe at the same time, and returns what both return.
///
/// The calling thread runs `a`; `b` waits in its deque, where an idle worker may take it, and is run by
/// the calling thread after `a` if nobody has. While somebody else runs it the calling thread runs other
/// jobs of the pool. So a lock that it holds meanwhile may be asked for by one of those: hold none.
///
/// Called from outside a pool it runs in [`ThreadPool::global`].
///
/// Costs a few dozen nanoseconds where nobody takes `b`, and no allocation.
///
/// # Panics
///
/// With the panic of a closure, when both have ended; with that of `a` if both panic.
///
/// ```
/// fn sum(x: &[u64]) -> u64 {
///     if x.len() < 1000 {
///         return x.iter().sum();
///     }
///     let (left, right) = x.split_at(x.len() / 2);
///     let (left, right) = conga::join(|| sum(left), || sum(right));
///     left + right
/// }
/// assert_eq!(sum(&[1; 10_000]), 10_000);
/// ```
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context(move |_| a(), move |_| b())
}

/// The same for closures that want to know where they run, see [`FnContext::migrated`].
#[inline]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    enter_current(|me, moved| join_on(me, moved, a, b))
}

impl ThreadPool {
    /// [`join`] in this pool.
    ///
    /// # Panics
    ///
    /// As [`join`].
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        enter(self.shared(), |me, moved| {
            join_on(me, moved, move |_| a(), move |_| b())
        })
    }
}

impl ThreadPool {
    /// [`join_context`] in this pool.
    ///
    /// # Panics
    ///
    /// As [`join_context`].
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(FnContext) -> RA + Send,
        B: FnOnce(FnContext) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        enter(self.shared(), |me, moved| join_on(me, moved, a, b))
    }
}

#[inline]
fn join_on<A, B, RA, RB>(me: &Member, moved: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB + Send,
    RB: Send,
{
    let job = StackJob::new(|moved| b(FnContext::new(moved)), Own::new(me));
    // SAFETY: it stays in this frame until the latch has told, or it has been taken back: whatever `a` does
    // is caught, and `wait` does not unwind.
    let queued = unsafe { job.as_job(me.call()) };
    me.push(queued);
    let a = match catch_unwind(AssertUnwindSafe(|| a(FnContext::new(moved)))) {
        Ok(a) => a,
        Err(payload) => {
            me.wait(&job.latch.latch, &job.taker);
            resume_unwind(payload)
        }
    };
    while !job.latch.latch.is_set() {
        match me.pop_back(job.data()) {
            Popped::It => return (a, job.run_inline(moved)),
            // Something that `a` has spawned.
            Popped::Another(next) => me.run(next),
            Popped::Nothing => me.wait(&job.latch.latch, &job.taker),
        }
    }
    (a, job.into_result())
}
