//! Bringing in: how many lanes have been asked for, and how many are on the way.

use super::shape::Claims;
use super::{Slot, Stay};
use crate::sync::atomic::{fence, AtomicU32, AtomicUsize, Ordering};

/// Who has been brought in.
pub(super) struct Bringing {
    /// Invitations of the current loop, of a loop with runs.
    pub(super) invitations: AtomicUsize,
    /// Who is on the way to this slot: places in the pool's queue and workers that were called,
    /// left over ones of earlier loops included.
    posted: AtomicU32,
}

impl Bringing {
    pub(super) fn new() -> Self {
        Bringing {
            invitations: AtomicUsize::new(0),
            posted: AtomicU32::new(0),
        }
    }
}

impl Slot {
    /// Whether this lane, which has claimed its first units, should bring in the next one: fewer
    /// than all lanes have been asked for, and something is left.
    pub(crate) fn wants_more(&self, stay: &Stay) -> bool {
        match stay.shape.claims {
            Claims::InLine { chain } => chain && stay.lane + 1 < stay.shape.lanes && self.is_open(),
            Claims::InRuns { runs, .. } => {
                // Relaxed: a budget. It belongs to the current loop, because a claim of it is held.
                self.bringing.invitations.load(Ordering::Relaxed) < stay.shape.lanes - 1
                    && self.anything_left(stay, runs)
                    && self.bringing.invitations.fetch_add(1, Ordering::Relaxed)
                        < stay.shape.lanes - 1
            }
        }
    }

    /// Counts one more on the way to this slot, unless `most` are.
    pub(crate) fn post(&self, most: u32) -> bool {
        // Partner: the fence in `unpost`. Either the one who was on the way sees this loop, or this
        // sees that it has arrived.
        fence(Ordering::SeqCst);
        let posted = &self.bringing.posted;
        posted
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                (n < most).then_some(n + 1)
            })
            .is_ok()
    }

    /// One who was on the way has arrived, and looks at the slot next; or nobody was sent after all.
    pub(crate) fn unpost(&self) {
        self.bringing.posted.fetch_sub(1, Ordering::Relaxed);
        // Partner: the fence in `post`.
        fence(Ordering::SeqCst);
    }
}
