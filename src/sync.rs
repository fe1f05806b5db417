//! The one door to shared memory: every atomic, cell, lock, thread-local and hint of the crate comes from here.
//!
//! An ordinary build gets the standard library's; a build with `--cfg loom` gets loom's, so that
//! the model checker runs the code that ships. `--cfg loom` is not a feature, because features add
//! up.
//!
//! Loom treats `SeqCst` *accesses* as `AcqRel`. The crate therefore never relies on one: wherever
//! two threads each write one place and then read the other's (announce and look again), both put a
//! `fence(SeqCst)` between the two.

#[cfg(not(loom))]
mod imp {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic;
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::thread::yield_now;
    pub(crate) use std::thread_local as per_thread;

    /// Memory that one thread writes while no other looks at it, and that many may read in between.
    /// The closures get a raw pointer, as loom's cell gives, so that both builds share one source.
    #[derive(Debug, Default)]
    pub(crate) struct Cell<T>(std::cell::UnsafeCell<T>);

    impl<T> Cell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Cell(std::cell::UnsafeCell::new(value))
        }

        /// Calls `f` with a pointer for reading.
        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with a pointer for writing.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(loom)]
mod imp {
    #[allow(clippy::unsafe_removed_from_name)] // The other build's `Cell` has no such name.
    pub(crate) use loom::cell::UnsafeCell as Cell;
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic;
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use loom::thread::yield_now;

    /// Loom's has no initial values that are constants.
    macro_rules! per_thread {
        (static $name:ident: $t:ty = const $init:block $(;)?) => {
            loom::thread_local! { static $name: $t = $init; }
        };
    }
    pub(crate) use per_thread;
}

pub(crate) use imp::*;

/// Locks `mutex` whether or not a thread panicked while it held it: no lock of the crate guards
/// data that a panic can leave half written.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
