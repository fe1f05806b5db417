//! `Parker`: where one thread at a time sleeps until another gives it a token.

use std::time::Duration;

/// One sleeping place. A token given before the sleep makes the sleep return at once; tokens do not
/// add up.
///
/// What happened before [`unpark`](Parker::unpark) is visible after the [`park`](Parker::park) that
/// took its token.
pub(crate) struct Parker {
    imp: imp::Parker,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Parker {
            imp: imp::Parker::new(),
        }
    }

    /// Sleeps until there is a token, and takes it. May return without one.
    /// Only the one thread whose sleeping place this is at the moment may call it.
    pub(crate) fn park(&self) {
        self.imp.park();
    }

    /// As [`park`](Parker::park), for at most `limit`.
    pub(crate) fn park_timeout(&self, limit: Duration) {
        self.imp.park_timeout(limit);
    }

    /// Gives the token. No system call unless somebody sleeps here.
    pub(crate) fn unpark(&self) {
        self.imp.unpark();
    }
}

/// How a thread sleeps in a parker until something holds that others see to before they give the token.
pub(crate) type Sleep = fn(&Parker, &dyn Fn() -> bool);

#[cfg(not(loom))]
mod imp {
    use crossbeam_utils::sync::{self, Unparker};
    use std::time::Duration;

    /// crossbeam's parker behind a shared reference.
    pub(super) struct Parker {
        parker: sync::Parker,
        unparker: Unparker,
    }

    // SAFETY: crossbeam's `Parker` is `Send` but not `Sync`, so that no two threads sleep in one;
    // its state is atomics, a mutex and a condition variable behind an `Arc`, so that two sleepers
    // would lose a token, not memory. The slot and the worker that own a `Parker` let one thread
    // sleep in it.
    unsafe impl Sync for Parker {}

    impl Parker {
        pub(super) fn new() -> Self {
            let parker = sync::Parker::new();
            let unparker = parker.unparker().clone();
            Parker { parker, unparker }
        }

        pub(super) fn park(&self) {
            self.parker.park();
        }

        pub(super) fn park_timeout(&self, limit: Duration) {
            self.parker.park_timeout(limit);
        }

        pub(super) fn unpark(&self) {
            self.unparker.unpark();
        }
    }
}

#[cfg(loom)]
mod imp {
    use crate::sync::{Condvar, Mutex};
    use std::time::Duration;

    /// The same contract in loom's terms.
    pub(super) struct Parker {
        token: Mutex<bool>,
        given: Condvar,
    }

    impl Parker {
        pub(super) fn new() -> Self {
            Parker {
                token: Mutex::new(false),
                given: Condvar::new(),
            }
        }

        pub(super) fn park(&self) {
            let mut token = self.token.lock().unwrap();
            while !*token {
                token = self.given.wait(token).unwrap();
            }
            *token = false;
        }

        /// In a model the limit may be over at once.
        pub(super) fn park_timeout(&self, _: Duration) {
            crate::sync::yield_now();
            *self.token.lock().unwrap() = false;
        }

        pub(super) fn unpark(&self) {
            *self.token.lock().unwrap() = true;
            self.given.notify_one();
        }
    }
}
