//! `Count`: a counter that one thread writes and any may read.

use std::sync::atomic::{AtomicU64, Ordering};

/// A statistic. It has one writer at a time, so counting is a load and a store, and its readers get
/// a value of some moment. It orders nothing, so it is no atomic of the models.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds `n`; only the one writer may.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(
            self.0.load(Ordering::Relaxed).wrapping_add(n),
            Ordering::Relaxed,
        );
    }

    /// Puts it to `n`; only the one writer may.
    #[inline]
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// The count so far.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
