//! How many processors this process may use.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::fork::count_forks;

static PROCESSORS: AtomicUsize = AtomicUsize::new(0);

/// The number of processors, asked for once: affinity and the cgroup's quota count. From the first
/// call on forks are counted.
pub(crate) fn processors() -> usize {
    if cfg!(loom) {
        // So that a model does not depend on the machine, and nobody is left out for want of one.
        return 64;
    }
    if PROCESSORS.load(Ordering::Relaxed) == 0 {
        // First, so that a fork on another thread waits for the answer: it is made behind a lock,
        // which a child could find taken for good.
        count_forks(ask);
        ask();
    }
    PROCESSORS.load(Ordering::Relaxed)
}

extern "C" fn ask() {
    PROCESSORS.store(num_cpus::get().max(1), Ordering::Relaxed);
}
