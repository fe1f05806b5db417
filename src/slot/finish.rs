//! `Finish`: how the caller learns that the others are done.

use crate::parking::{Parker, Sleep};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{spin_loop, yield_now};
use crate::tuning::{WAIT_PAUSES, WAIT_YIELDS};

/// A balance of units that others claimed: they subtract what they have finished, the caller adds
/// what it did not claim itself, once, when nothing is left to claim. Before the caller's addition
/// the balance is below zero or zero, after it above zero or zero; it is zero exactly when all are
/// done, and only a subtraction that makes it zero can be the last. So it needs no reset from loop
/// to loop, and a loop in which only the caller claimed does not touch it.
///
/// Whoever subtracts last wakes the caller. The caller may be gone the moment the balance is zero,
/// so all that is touched after it is the sleeping place, which belongs to the slot. If the slot's
/// next caller is by then asleep there, it gets a token too many and looks again.
pub(crate) struct Finish {
    balance: AtomicU64,
    parker: Parker,
}

impl Finish {
    pub(crate) fn new() -> Self {
        Finish {
            balance: AtomicU64::new(0),
            parker: Parker::new(),
        }
    }

    /// Another lane than the caller's has finished `units` units and will not touch the loop any
    /// more.
    pub(crate) fn subtract(&self, units: usize) {
        // Release: partner is the Acquire in `add_and_wait`; what the bodies did is visible to the
        // caller. Acquire: so that the last one passes on what the ones before it released.
        let before = self.balance.fetch_sub(units as u64, Ordering::AcqRel);
        if before == units as u64 {
            self.parker.unpark();
        }
    }

    /// The caller waits until others have finished `units` units: spins, gives its core away,
    /// sleeps by `sleep`.
    pub(crate) fn add_and_wait(&self, units: usize, sleep: Sleep) {
        // Acquire: partner is the Release in `subtract`, where the others have finished already.
        let before = self.balance.fetch_add(units as u64, Ordering::Acquire);
        if before.wrapping_add(units as u64) == 0 {
            return;
        }
        // Acquire: the same partner. A chain of subtractions is one release sequence.
        let done = || self.balance.load(Ordering::Acquire) == 0;
        if cfg!(not(loom)) {
            for _ in 0..WAIT_PAUSES {
                if done() {
                    return;
                }
                spin_loop();
            }
            for _ in 0..WAIT_YIELDS {
                if done() {
                    return;
                }
                yield_now();
            }
        }
        sleep(&self.parker, &done);
    }
}
