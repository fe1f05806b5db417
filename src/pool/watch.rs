//! The watch: while light loops run, one worker looks now and then whether one has got stuck.
//!
//! A light loop calls nobody. So that a second lane starts all the same when its body turns out to
//! be long, or waits for another one, one idle worker, the *sentinel*, sleeps with a timeout. Where
//! it finds the same loop open at two looks, it enters; before that it gives the watch away. The same
//! goes for jobs of calls that are taken for light.
//!
//! | state | meaning | next |
//! |---|---|---|
//! | nobody | no light loop has been run for a while | the next one wants it, and calls an idle worker |
//! | wanted | the worker that was called, or the next one that becomes idle, takes it | on |
//! | on | a worker sleeps with a timeout, or is about to | wanted, when it goes to work; nobody, when it lapses |
//!
//! # Why no loop is left alone
//!
//! Who opens a light loop opens its slot and then looks at the state; with the watch wanted or on,
//! somebody will look at the slot, and who finds nobody on watch calls one. The sentinel lets the
//! watch lapse by taking the state down and *then* looking at all slots once more. Of these two
//! pairs, write here and read there, one read sees the other's write: the opening loop has a
//! [`barrier::light`](crate::barrier::light) in between, the sentinel a
//! [`heavy`](crate::barrier::heavy) one.
//!
//! *Wanted* is announced like work: an idle worker that sees it does not go to sleep before it has
//! taken it, and who wants it looks for an idle worker afterwards.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::board::{Board, SLOTS};
use crate::slot::door::Epoch;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{lock, Mutex};

/// How long the sentinel sleeps between two looks. A loop that got stuck is entered after one to
/// two of these.
pub(crate) const PERIOD: Duration = Duration::from_millis(1);
/// The same where loops are so rare that looking after them would cost more than they do: a timed
/// wake-up takes some 30 µs of processor time.
pub(crate) const SPARSE_PERIOD: Duration = Duration::from_millis(6);
/// Loops in a millisecond, at most, that count as rare.
const SPARSE: u64 = 2;

/// Looks without any loop in between after which the watch lapses.
const IDLE_LOOKS: u32 = 5;

const NOBODY: u32 = 0;
const WANTED: u32 = 1;
const ON: u32 = 2;

/// See the [module page](self).
pub(crate) struct Watch {
    state: CachePadded<AtomicU32>,
    /// What the sentinel saw at its last look. Only the sentinel locks it.
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Each slot's last loop, and whether it was open.
    slots: Vec<(Epoch, bool)>,
    /// How many calls from outside there had been, and whether a job waited.
    calls: u64,
    job_waited: bool,
    /// Looks since the last one that showed a loop that was open or new, or a call.
    idle_looks: u32,
}

/// What there is to see beside the board.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tasks {
    /// How many calls from outside there have been.
    pub(crate) calls: u64,
    /// Whether a job waits in a deque, worth a look or not.
    pub(crate) job_waits: bool,
}

/// What a look at the board shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// The loops in these slots were open at the last look, too. Not all of them have something left
    /// to claim or a free lane.
    Stuck(Slots),
    /// A job waited at the last look, too; perhaps another one.
    JobWaits,
    /// Loops come and go; so long may pass until the next look.
    Well(Duration),
    /// There has been none for a while.
    Idle,
}

/// A set of slots of the board.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots([u64; SLOTS / 64]);

impl Slots {
    /// The slots, lowest first.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..SLOTS).filter(move |index| self.0[index / 64] >> (index % 64) & 1 != 0)
    }
}

impl Watch {
    pub(crate) fn new() -> Self {
        Watch {
            state: CachePadded::new(AtomicU32::new(NOBODY)),
            seen: Mutex::default(),
        }
    }

    /// Whether somebody will look at the slot that was opened before, with a `barrier::light` in
    /// between.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.state.load(Ordering::Relaxed) != NOBODY
    }

    /// Wants a sentinel, if there is none. True: the caller of this, after a `fence(SeqCst)`, calls
    /// an idle worker.
    pub(crate) fn want(&self) -> bool {
        self.change(NOBODY, WANTED)
    }

    /// Whether somebody should take the watch.
    pub(crate) fn is_wanted(&self) -> bool {
        self.state.load(Ordering::Relaxed) == WANTED
    }

    /// Takes the watch, if it is wanted: the calling worker is the sentinel.
    pub(crate) fn take(&self) -> bool {
        let taken = self.is_wanted() && self.change(WANTED, ON);
        if taken {
            lock(&self.seen).idle_looks = 0;
        }
        taken
    }

    /// The sentinel goes to work. It calls an idle worker, after a `fence(SeqCst)`.
    pub(crate) fn give_away(&self) {
        self.state.store(WANTED, Ordering::Relaxed);
    }

    /// The sentinel lets the watch lapse. False: it has seen a loop all the same and goes on.
    pub(crate) fn lapse(&self, board: &Board, job_waits: impl FnOnce() -> bool) -> bool {
        self.state.store(NOBODY, Ordering::Relaxed);
        // Partner: the light barrier between the opening of a light loop and its look at the
        // state.
        let nothing_open =
            crate::barrier::heavy() && board.slots().all(|slot| !slot.is_open()) && !job_waits();
        // Where another has wanted the watch meanwhile, it is no longer the caller's.
        nothing_open || !self.change(NOBODY, ON)
    }

    /// The sentinel looks at all slots, so long after its last look.
    pub(crate) fn look(&self, board: &Board, tasks: Tasks, period: Duration) -> Look {
        let seen = &mut *lock(&self.seen);
        let (mut stuck, mut quiet, mut loops) = (Slots::default(), true, 0);
        for (index, slot) in board.slots().enumerate() {
            let now = slot.glance();
            let before = seen.slots.get(index).copied();
            if now.1 && before == Some(now) {
                stuck.0[index / 64] |= 1 << (index % 64);
            }
            quiet &= !now.1 && before == Some(now);
            loops += now.0.since(before.map_or(now.0, |before| before.0));
            match before {
                Some(_) => seen.slots[index] = now,
                None => seen.slots.push(now),
            }
        }
        let calls = tasks.calls.wrapping_sub(seen.calls);
        seen.calls = tasks.calls;
        quiet &= calls == 0 && !tasks.job_waits;
        loops += calls;
        let job_waited = std::mem::replace(&mut seen.job_waited, tasks.job_waits);
        seen.idle_looks = if quiet { seen.idle_looks + 1 } else { 0 };
        if stuck != Slots::default() {
            Look::Stuck(stuck)
        } else if job_waited && tasks.job_waits {
            Look::JobWaits
        } else if seen.idle_looks >= IDLE_LOOKS {
            Look::Idle
        } else if loops <= SPARSE * period.as_millis() as u64 {
            Look::Well(SPARSE_PERIOD)
        } else {
            Look::Well(PERIOD)
        }
    }

    fn change(&self, from: u32, to: u32) -> bool {
        // Relaxed: the state is about who looks, and what there is to see is ordered by barriers.
        self.state
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}
