//! Bringing in: how many lanes have been asked for, and how many are on the way.

use super::shape::Claims;
use super::{Slot, Stay};
use crate::sync::atomic::{fence, AtomicI32, AtomicUsize, Ordering};

/// Who has been brought in.
pub(super) struct Bringing {
    /// Invitations of the current loop, of a loop with runs.
    pub(super) invitations: AtomicUsize,
    /// Who is on the way to this slot: places in the pool's queue and workers that were called,
    /// left over ones of earlier loops included.
    coming: AtomicI32,
}

impl Bringing {
    pub(super) fn new() -> Self {
        Bringing {
            invitations: AtomicUsize::new(0),
            coming: AtomicI32::new(0),
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

    /// Whether anybody is on the way to this slot, who will then see the units that the caller of
    /// this has made visible before.
    pub(crate) fn someone_comes(&self) -> bool {
        // Partner: the fence in `arrived`. Either the one on the way sees the units, or this sees
        // that it has arrived.
        fence(Ordering::SeqCst);
        self.bringing.coming.load(Ordering::Relaxed) > 0
    }

    /// Counts one that was called to this slot. It is counted after the call, so that nobody relies
    /// on a call that then finds nobody idle; where it arrives before that, the count is low for a
    /// moment, and one more may be called.
    pub(crate) fn called(&self) {
        self.bringing.coming.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one more place in the queue, unless `most` are on the way.
    pub(crate) fn post(&self, most: u32) -> bool {
        // Partner: the fence in `arrived`, as above.
        fence(Ordering::SeqCst);
        let most = i32::try_from(most).unwrap_or(i32::MAX);
        self.bringing
            .coming
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                (n < most).then_some(n + 1)
            })
            .is_ok()
    }

    /// One who was on the way is here, and looks at the slot next.
    pub(crate) fn arrived(&self) {
        self.bringing.coming.fetch_sub(1, Ordering::Relaxed);
        // Partner: the fences in `someone_comes` and `post`.
        fence(Ordering::SeqCst);
    }
}
