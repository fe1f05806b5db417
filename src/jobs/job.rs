//! `Job`: a closure with its type erased, as it waits in a queue.

/// Something to run once: two addresses and the outside call that it is part of.
///
/// It is a copy of an address: whoever makes it answers for what is there until it has been run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    data: *const (),
    run: unsafe fn(*const ()),
    /// Which call from outside the pool this is part of, 0 for none.
    pub(crate) call: u64,
}

// SAFETY: `Job::new` asks for data that any one thread may run.
unsafe impl Send for Job {}

impl Job {
    /// A job that is run by calling `run` with `data`.
    ///
    /// # Safety
    ///
    /// Until the job is run, on whatever thread and at most once, `run` may be called with `data`. It must
    /// not unwind.
    pub(crate) unsafe fn new(data: *const (), run: unsafe fn(*const ()), call: u64) -> Self {
        Job { data, run, call }
    }

    /// Whether that is the job that is made from `data`.
    #[inline]
    pub(crate) fn is(&self, data: *const ()) -> bool {
        std::ptr::eq(self.data, data)
    }

    /// Runs it.
    ///
    /// # Safety
    ///
    /// It has not been run before; nor has a copy.
    #[inline]
    pub(crate) unsafe fn run(self) {
        // SAFETY: the maker's promise and the caller's.
        unsafe { (self.run)(self.data) }
    }
}
