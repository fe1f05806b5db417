//! How many processors this process may use.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::fork;

static PROCESSORS: AtomicUsize = AtomicUsize::new(0);

/// The number of processors, asked for once: affinity and the cgroup's quota count.
pub(crate) fn processors() -> usize {
    let known = PROCESSORS.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    // First, so that a fork on another thread waits until the question is answered: the answer is kept
    // behind a lock of its own, which a child could find taken for good.
    fork::count_forks();
    let processors = num_cpus::get().max(1);
    PROCESSORS.store(processors, Ordering::Relaxed);
    processors
}
