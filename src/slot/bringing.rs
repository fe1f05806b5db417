//! Bringing in: how many lanes have been asked for, and how many are on the way.

use super::shape::Claims;
use super::{Slot, Stay};
use crate::sync::atomic::{fence, AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// How much somebody is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// For speed, of whoever is awake: to wake somebody would cost more than he saves.
    Ease,
    /// For speed: nobody is woken for whom there is no processor.
    Speed,
    /// Because the loop has been open for long: bodies may wait for each other.
    Progress,
}

/// Set in `invitations` when the loop has been open for long.
const URGENT: usize = 1 << (usize::BITS - 1);

/// Who has been brought in.
pub(super) struct Bringing {
    /// Invitations of the current loop, of a loop with runs; and [`URGENT`].
    pub(super) invitations: AtomicUsize,
    /// Who is on the way to this slot: places in the pool's queue and workers that were woken, left
    /// over ones of earlier loops included.
    coming: AtomicI32,
    /// Whether the owner woke somebody for the loops that follow, more than for this one.
    more_follow: AtomicBool,
}

impl Bringing {
    pub(super) fn new() -> Self {
        Bringing {
            invitations: AtomicUsize::new(0),
            coming: AtomicI32::new(0),
            more_follow: AtomicBool::new(false),
        }
    }
}

impl Slot {
    /// Whether this lane, which has claimed its first units, should bring in the next one: fewer
    /// than all lanes have been asked for, and something is left. If so, how much it is wanted.
    pub(crate) fn wants_more(&self, stay: &Stay) -> Option<Urgency> {
        match stay.shape.claims {
            Claims::InLine { chain } => {
                let more = chain && stay.lane + 1 < stay.shape.lanes && self.is_open();
                more.then_some(Urgency::Progress)
            }
            Claims::InRuns { runs, .. } => {
                // Relaxed: a budget. It belongs to the current loop, because a claim of it is held.
                let invitations = &self.bringing.invitations;
                let wanted = |invitations: usize| {
                    let urgency = if invitations & URGENT == 0 {
                        Urgency::Speed
                    } else {
                        Urgency::Progress
                    };
                    (invitations & !URGENT < stay.shape.lanes - 1).then_some(urgency)
                };
                wanted(invitations.load(Ordering::Relaxed))?;
                if !self.anything_left(stay, runs) {
                    return None;
                }
                wanted(invitations.fetch_add(1, Ordering::Relaxed))
            }
        }
    }

    /// The loop of which this lane holds a claim has been open for long: from now on whoever comes
    /// in brings in the next one, whether or not there is a processor for it.
    pub(crate) fn make_urgent(&self) {
        self.bringing
            .invitations
            .fetch_or(URGENT, Ordering::Relaxed);
    }

    /// Whether anybody is on the way to this slot, who will then see the units that the caller of
    /// this has made visible before.
    pub(crate) fn someone_comes(&self) -> bool {
        // Partner: the fence in `arrived`. Either the one on the way sees the units, or this sees
        // that it has arrived.
        fence(Ordering::SeqCst);
        self.bringing.coming.load(Ordering::Relaxed) > 0
    }

    /// Counts one that was woken for this slot. It is counted after the call, so that nobody relies
    /// on a call that then finds nobody idle; where it arrives before that, the count is low for a
    /// moment, and one more may be called.
    pub(crate) fn called(&self) {
        self.bringing.coming.fetch_add(1, Ordering::Relaxed);
    }

    /// Says whether a worker that is called now is woken for the loops that follow.
    pub(crate) fn announce_more(&self, more: bool) {
        // Relaxed: a hint, for whether it pays to spin afterwards.
        self.bringing.more_follow.store(more, Ordering::Relaxed);
    }

    /// Whether the owner has said so.
    pub(crate) fn more_follow(&self) -> bool {
        self.bringing.more_follow.load(Ordering::Relaxed)
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
