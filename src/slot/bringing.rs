//! Bringing in: how many lanes have been asked for, and how many places are in the queue.

use super::shape::Claims;
use super::{Slot, Stay};
use crate::sync::atomic::{fence, AtomicU32, AtomicUsize, Ordering};

/// Who has been brought in.
pub(super) struct Bringing {
    /// Invitations of the current loop, of a loop with runs.
    pub(super) invitations: AtomicUsize,
    /// Tasks in the pool's queue that name this slot, left over ones of earlier loops included.
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

    /// Counts one more task in the queue that names this slot, unless `most` are there.
    pub(crate) fn post(&self, most: u32) -> bool {
        // Partner: the fence in `unpost`. Either the one who took a left-over task sees this loop,
        // or this sees that the task is gone.
        fence(Ordering::SeqCst);
        let posted = &self.bringing.posted;
        posted
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                (n < most).then_some(n + 1)
            })
            .is_ok()
    }

    /// A task that named this slot has been taken from the queue; its taker looks at the slot next.
    pub(crate) fn unpost(&self) {
        self.bringing.posted.fetch_sub(1, Ordering::Relaxed);
        // Partner: the fence in `post`.
        fence(Ordering::SeqCst);
    }
}
