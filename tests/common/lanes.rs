//! `ActiveLanes`: that no lane id is used twice at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

/// Which lanes of one loop are inside a body at the moment.
pub struct ActiveLanes {
    num_threads: usize,
    caller: ThreadId,
    active: Vec<AtomicBool>,
}

impl ActiveLanes {
    /// For a loop over `len` indices that this thread is about to call. No more lanes than indices get
    /// to run a body, so ids that are drawn in order stay below `len`.
    pub fn of(num_threads: usize, len: usize) -> Self {
        ActiveLanes {
            num_threads,
            caller: thread::current().id(),
            active: (0..num_threads.min(len))
                .map(|_| AtomicBool::new(false))
                .collect(),
        }
    }

    /// Runs a body's content as `lane`: checks that the id is below the loop's number, that the caller
    /// and only the caller is 0, and that nobody else is inside with the same id.
    pub fn inside(&self, lane: usize, content: impl FnOnce()) {
        assert!(
            lane < self.num_threads,
            "lane {lane} of {}",
            self.num_threads
        );
        let on_caller = thread::current().id() == self.caller;
        assert_eq!(lane == 0, on_caller, "lane {lane}, on the caller's thread");
        // No ordering: the flag must not order what the loop itself leaves unordered.
        let active = &self.active[lane];
        assert!(
            !active.swap(true, Ordering::Relaxed),
            "two lanes {lane} at once"
        );
        content();
        active.store(false, Ordering::Relaxed);
    }
}
