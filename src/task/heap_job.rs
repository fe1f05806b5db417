//! A closure as a job of its own, in a box.

use crate::jobs::Job;

/// A job that runs `f`, which must not unwind. If nobody runs it, it is leaked.
///
/// # Safety
///
/// What `f` borrows stays borrowed until it has run.
pub(super) unsafe fn heap_job<F: FnOnce() + Send>(f: F, call: u64) -> Job {
    /// # Safety
    ///
    /// `data` came from `Box::into_raw` of a box of an `F`, and this is called once.
    unsafe fn run<F: FnOnce()>(data: *const ()) {
        // SAFETY: the caller's promise.
        let f = unsafe { Box::from_raw(data.cast_mut().cast::<F>()) };
        (*f)();
    }
    let data = Box::into_raw(Box::new(f)).cast_const().cast();
    // SAFETY: a job is run once; `F` is `Send`, and what it borrows is there, by the caller's promise.
    unsafe { Job::new(data, run::<F>, call) }
}
