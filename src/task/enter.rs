//! How a call gets onto a thread of the pool.

use super::latches::{Abroad, Outside};
use super::stack_job::StackJob;
use crate::pool::{Member, Shared, ThreadPool};

/// Runs `f` on a thread that holds an identity of `shared`, and tells it whether that is another thread
/// than the calling one, or a guest, who counts as one.
pub(super) fn enter<F, R>(shared: &Shared, f: F) -> R
where
    F: FnOnce(&Member, bool) -> R + Send,
    R: Send,
{
    Member::current(|me| match me {
        Some(me) if me.is_of(shared) => f(me, false),
        Some(me) => from_another_pool(shared, me, f),
        None => shared
            .as_guest(f)
            .unwrap_or_else(|f| from_outside(shared, f)),
    })
}

/// The same in the pool that the calling thread is of, or else in the global one.
#[inline]
pub(super) fn enter_current<F, R>(f: F) -> R
where
    F: FnOnce(&Member, bool) -> R + Send,
    R: Send,
{
    Member::current(|me| match me {
        Some(me) => f(me, false),
        None => enter(ThreadPool::global().shared(), f),
    })
}

/// Calls `f` with the pool that the calling thread is of, or else with the global one.
pub(super) fn with_current<R>(f: impl FnOnce(&Shared) -> R) -> R {
    Member::current(|me| match me {
        Some(me) => f(me.shared),
        None => f(ThreadPool::global().shared()),
    })
}

/// Sends the call to a worker. The calling thread waits as a member of its own pool.
#[cold]
fn from_another_pool<F, R>(shared: &Shared, me: &Member, f: F) -> R
where
    F: FnOnce(&Member, bool) -> R + Send,
    R: Send,
{
    shared.workers_for_tasks();
    let job = StackJob::new(on_member(f), Abroad::new(me));
    // SAFETY: it stays in this frame until the latch has told: `wait_for_other_pool` does not unwind.
    let queued = unsafe { job.as_job(0) };
    shared.inject(queued);
    me.wait_for_other_pool(&job.latch.latch);
    job.into_result()
}

/// Sends the call to a worker. The calling thread sleeps.
#[cold]
fn from_outside<F, R>(shared: &Shared, f: F) -> R
where
    F: FnOnce(&Member, bool) -> R + Send,
    R: Send,
{
    shared.workers_for_tasks();
    let job = StackJob::new(on_member(f), Outside::default());
    // SAFETY: it stays in this frame until the latch has told: `wait` does not unwind.
    let queued = unsafe { job.as_job(0) };
    shared.inject(queued);
    job.latch.wait();
    job.into_result()
}

/// `f` as a job that has moved to a member.
fn on_member<F, R>(f: F) -> impl FnOnce(bool) -> R + Send
where
    F: FnOnce(&Member, bool) -> R + Send,
{
    |_| Member::current(|me| f(me.expect("a job runs on a member of its pool"), true))
}
