//! `Meeting`: bodies that wait for each other, without sleeping.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::yield_now;

/// A place where a number of bodies wait until all of them are inside at the same time.
pub struct Meeting {
    expected: usize,
    arrived: AtomicUsize,
}

impl Meeting {
    /// Of `expected` bodies.
    pub fn of(expected: usize) -> Self {
        Meeting {
            expected,
            arrived: AtomicUsize::new(0),
        }
    }

    /// Waits until the others are here, too.
    pub fn attend(&self) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        wait_until(|| self.is_complete());
    }

    /// Whether all were inside at the same time.
    pub fn is_complete(&self) -> bool {
        self.arrived.load(Ordering::Acquire) >= self.expected
    }
}

/// Spins a little, then gives the core away, until `condition` holds.
pub fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..64 {
        if condition() {
            return;
        }
        spin_loop();
    }
    while !condition() {
        yield_now();
    }
}
