//! `Waiters`: threads that wait for something which others make happen without a lock.

use crate::sync::atomic::{fence, AtomicUsize, Ordering};
use crate::sync::{lock, Condvar, Mutex};

/// An event count: whoever waits announces itself and looks again before it sleeps; whoever makes
/// something happen looks for waiters afterwards, and pays a lock only if there are any.
///
/// The waiter counts itself in, puts a `fence(SeqCst)`, then asks its condition under the lock. The
/// other side makes the condition true, puts a `fence(SeqCst)`, then reads the count. One of the
/// two sees the other. If it is the notifier, it takes the lock before it notifies, so it cannot
/// slip in between the waiter's question and its sleep.
pub(crate) struct Waiters {
    waiting: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Waiters {
    pub(crate) fn new() -> Self {
        Waiters {
            waiting: AtomicUsize::new(0),
            lock: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    /// Blocks until `ready` gives a value. `ready` runs under a lock: it must be short and must not
    /// wait.
    pub(crate) fn wait_for<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        let mut guard = lock(&self.lock);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Partner: the fences in `notify_one` and `notify_all`.
        fence(Ordering::SeqCst);
        let value = loop {
            if let Some(value) = ready() {
                break value;
            }
            guard = self
                .changed
                .wait(guard)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        value
    }

    /// Wakes one waiter, if there is any, after something happened that one waiter can use.
    pub(crate) fn notify_one(&self) {
        if self.anyone() {
            drop(lock(&self.lock));
            self.changed.notify_one();
        }
    }

    /// Wakes all waiters, if there are any.
    pub(crate) fn notify_all(&self) {
        if self.anyone() {
            drop(lock(&self.lock));
            self.changed.notify_all();
        }
    }

    /// How many threads are inside [`wait_for`](Self::wait_for) at the moment.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn anyone(&self) -> bool {
        // Partner: the fence in `wait_for`.
        fence(Ordering::SeqCst);
        self.waiting.load(Ordering::Relaxed) != 0
    }
}
