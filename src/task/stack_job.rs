//! `StackJob`: a closure as a job, in the frame of whoever waits for it.

use std::cell::UnsafeCell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::thread;

use super::latches::Tell;
use crate::jobs::Job;
use crate::pool::{Member, Taker};

/// A closure, who waits for it, and what came of it. The closure is told whether it has moved: runs on
/// another thread than the one that waits.
pub(super) struct StackJob<L, F, R> {
    pub(super) latch: L,
    pub(super) taker: Taker,
    f: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<thread::Result<R>>>,
}

impl<L: Tell, F: FnOnce(bool) -> R, R> StackJob<L, F, R> {
    pub(super) fn new(f: F, latch: L) -> Self {
        StackJob {
            latch,
            taker: Taker::nobody(),
            f: UnsafeCell::new(Some(f)),
            result: UnsafeCell::new(None),
        }
    }

    /// Where it is.
    pub(super) fn data(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    /// The job.
    ///
    /// # Safety
    ///
    /// This stays where it is until the latch has told, or [`run_inline`](Self::run_inline) has returned.
    pub(super) unsafe fn as_job(&self, call: u64) -> Job
    where
        F: Send,
        R: Send,
    {
        // SAFETY: `run` may be called once with this address, by the caller's promise, on any thread, as `F`
        // and `R` are `Send`, and what the latch needs to tell is `Sync`; it aborts rather than unwind.
        unsafe { Job::new(self.data(), Self::run, call) }
    }

    /// # Safety
    ///
    /// `data` came from [`data`](Self::data) of a live job, which nobody else runs.
    unsafe fn run(data: *const ()) {
        let this = data.cast::<Self>();
        // SAFETY: it is live until the latch has told.
        let job = unsafe { &*this };
        let moved = Member::current(|me| {
            let me = me.expect("a job runs on a member of its pool");
            job.taker.is(me.index);
            !job.latch.waits(me)
        });
        // SAFETY: nobody else runs it, and the owner does not look until the latch has told.
        let f = unsafe { (*job.f.get()).take() };
        let f = f.expect("a job runs once");
        // What it holds is dropped in here.
        let result = catch_unwind(AssertUnwindSafe(|| f(moved)));
        // SAFETY: the same.
        unsafe { *job.result.get() = Some(result) };
        let latch = &raw const job.latch;
        // SAFETY: it is live until it has told, and this thread holds an identity of the pool.
        unsafe { L::tell(latch) };
    }

    /// Runs it here, after it was taken back.
    pub(super) fn run_inline(self, moved: bool) -> R {
        let f = self.f.into_inner();
        f.expect("a job that was taken back has not run")(moved)
    }

    /// What came of it; its panic goes on.
    pub(super) fn into_result(self) -> R {
        match self.result.into_inner() {
            Some(Ok(result)) => result,
            Some(Err(payload)) => resume_unwind(payload),
            None => unreachable!("the latch has told"),
        }
    }
}
