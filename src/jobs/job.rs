//! `Job`: a closure with its type erased, as it waits in a queue.

/// Something to run once: two addresses and the outside call that it is part of.
///
/// It is a copy of an address: whoever makes it answers for what is there until it has been run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    data: *const (),
    run: unsafe fn(*const ()),
    /// Which call from outside the pool this is part of, and [`ONE_OF_MANY`](Self::ONE_OF_MANY).
    tag: u64,
}

// SAFETY: `Job::new` asks for data that any one thread may run.
unsafe impl Send for Job {}

impl Job {
    /// In the tag: there may be many like this one, and nobody who waits for it in particular. So a thief
    /// may take several at once.
    const ONE_OF_MANY: u64 = 1 << 63;

    /// A job that is run by calling `run` with `data`; `call` tells which call from outside the pool it is
    /// part of, 0 for none.
    ///
    /// # Safety
    ///
    /// Until the job is run, on whatever thread and at most once, `run` may be called with `data`. It must
    /// not unwind.
    pub(crate) unsafe fn new(data: *const (), run: unsafe fn(*const ()), call: u64) -> Self {
        Job {
            data,
            run,
            tag: call,
        }
    }

    /// The same as one of many.
    pub(crate) fn one_of_many(mut self) -> Self {
        self.tag |= Self::ONE_OF_MANY;
        self
    }

    /// Whether it is one of many.
    pub(crate) fn is_one_of_many(&self) -> bool {
        self.tag & Self::ONE_OF_MANY != 0
    }

    /// Which call from outside the pool this is part of, 0 for none.
    #[inline]
    pub(crate) fn call(&self) -> u64 {
        self.tag & !Self::ONE_OF_MANY
    }

    /// What it is made from, if it is run by `run` and part of the call `call`.
    #[inline]
    pub(crate) fn data_for(&self, run: unsafe fn(*const ()), call: u64) -> Option<*const ()> {
        let is_for = self.run as usize == run as usize;
        (is_for && self.call() == call).then_some(self.data)
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
