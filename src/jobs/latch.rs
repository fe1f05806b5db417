//! `Latch`: how the holder of an identity learns that something is done.

use crate::sync::atomic::{AtomicUsize, Ordering};

const UNSET: usize = 0;
const ASLEEP: usize = 1;
const SET: usize = 2;

/// Set once, by anybody; waited for by one thread.
///
/// | state | meaning | who changes it |
/// |---|---|---|
/// | unset | not done; the waiter is awake | the waiter to asleep, the setter to set |
/// | asleep | not done; the waiter sleeps, or is about to | the same, the waiter to unset |
/// | set | done | nobody |
///
/// The waiter puts itself among those who can be called, says that it is asleep, then sleeps. Whoever
/// sets it learns by the same operation whether the waiter was asleep, and calls it. If somebody else
/// has called the waiter for another reason, it looks at the latch before it sleeps again. So the end is
/// not slept through, and setting a latch that nobody sleeps at is one exchange.
///
/// The waiter may go, and the latch with it, as soon as it is set: all that is needed to call the waiter
/// must be at hand before.
#[derive(Debug)]
pub(crate) struct Latch(AtomicUsize);

impl Latch {
    pub(crate) fn new() -> Self {
        Latch(AtomicUsize::new(UNSET))
    }

    /// Whether it is set. What was done before that is visible then.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: partner is the Release in `set`.
        self.0.load(Ordering::Acquire) == SET
    }

    /// The waiter is about to sleep. False: it is set.
    pub(crate) fn fall_asleep(&self) -> bool {
        // Release: partner is the Acquire in `set`, so that the setter finds the waiter among those who
        // can be called.
        self.0
            .compare_exchange(UNSET, ASLEEP, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// The waiter is awake again.
    pub(crate) fn wake_up(&self) {
        // Where this fails, it is set. Relaxed: nothing depends on it.
        let _ = self
            .0
            .compare_exchange(ASLEEP, UNSET, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Sets it. True: the waiter is asleep, and must be called. The latch may be gone.
    ///
    /// # Safety
    ///
    /// The latch is there when this is called.
    #[inline]
    pub(crate) unsafe fn set(this: *const Self) -> bool {
        // SAFETY: it is there, until the exchange below has happened, and is not touched after that.
        let state = unsafe { &(*this).0 };
        // Release: partner is the Acquire in `is_set`. Acquire: partner is the Release in
        // `fall_asleep`.
        state.swap(SET, Ordering::AcqRel) == ASLEEP
    }
}
