//! Telling a forked child from its parent, without a system call.
//!
//! `fork` copies the memory of a process but only the thread that called it: the child's pools have
//! workers on paper that do not exist. A handler that the C library runs in the child bumps a
//! number; each pool knows the number of its making.

use std::sync::atomic::{AtomicUsize, Ordering};

static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// How many forks lie between the first process and this one (or a number that differs as that
/// does).
#[inline]
pub(crate) fn generation() -> usize {
    // Relaxed: it changes only while the process has one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Whether this process was forked since forks are counted.
#[cfg(unix)]
pub(crate) fn is_child() -> bool {
    generation() != 0
}

/// Makes sure that forks are counted from now on, and that `before` runs before each.
#[cfg(unix)]
pub(crate) fn count_forks(before: extern "C" fn()) {
    use std::sync::atomic::AtomicBool;

    static COUNTED: AtomicBool = AtomicBool::new(false);

    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }

    // Not a `Once`: a fork in the middle of one would leave it locked in the child for good. Two
    // threads that get here at the same time both register, and each fork counts twice, which does
    // no harm.
    if !COUNTED.load(Ordering::Relaxed) {
        // SAFETY: the handlers are functions without arguments or captures that live as long as the
        // program. The one for the child does what is allowed there: one atomic addition.
        let error = unsafe { libc::pthread_atfork(Some(before), None, Some(in_child)) };
        COUNTED.store(error == 0, Ordering::Relaxed);
    }
}

/// There is no fork here.
#[cfg(not(unix))]
pub(crate) fn count_forks(_: extern "C" fn()) {}
