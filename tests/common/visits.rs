//! `Visits`: how often each index was visited.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// A counter for each index of a range.
pub struct Visits {
    range: Range<usize>,
    counts: Vec<AtomicU32>,
}

impl Visits {
    /// Of the indices in `range`, none visited yet.
    pub fn of(range: Range<usize>) -> Self {
        Visits {
            counts: range.clone().map(|_| AtomicU32::new(0)).collect(),
            range,
        }
    }

    /// Index `i` is visited; panics if it is not in the range.
    pub fn visit(&self, i: usize) {
        assert!(self.range.contains(&i), "index {i} of {:?}", self.range);
        self.counts[i - self.range.start].fetch_add(1, Ordering::Relaxed);
    }

    /// Panics unless each index was visited `times` times.
    pub fn assert_each(&self, times: u32, what: &str) {
        for (i, count) in self.range.clone().zip(&self.counts) {
            let count = count.load(Ordering::Relaxed);
            assert_eq!(
                count, times,
                "visits of index {i} of {:?}: {what}",
                self.range
            );
        }
    }
}
