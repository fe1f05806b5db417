//! The chain: how a loop brings in one worker, and each of them the next one, or the next two where
//! the loop is large.

use std::sync::Arc;

use super::Shared;
use crate::parking::{Call, Claimed, Reached};
use crate::slot::{Slot, Stay, Urgency};
use crate::stats::Counts;
use crate::sync::atomic::{fence, Ordering};

/// What is in a pool's queue.
pub(crate) enum Task {
    /// A task of the user.
    Run(Box<dyn FnOnce() + Send>),
    /// A place in a loop's chain: look at that slot.
    Visit(Place),
}

/// Where a loop's slot is.
#[derive(Clone)]
pub(crate) enum Place {
    /// On the pool's board, at this index.
    Board(usize),
    /// Nowhere: the board was full. Workers learn of it through the queue.
    Loose(Arc<Slot>),
}

impl Place {
    /// The slot.
    #[inline]
    pub(crate) fn slot<'a>(&'a self, shared: &'a Shared) -> &'a Slot {
        match self {
            Place::Board(index) => shared.board.slot(*index),
            Place::Loose(slot) => slot,
        }
    }
}

/// What workers are called for.
pub(crate) struct Calls;

impl Calls {
    /// Look at the marked slots and at the queue.
    pub(crate) const LOOK_AROUND: Call = Call::new(0);
    /// Take the watch.
    pub(crate) const WATCH: Call = Call::new(1);
    /// Look for a job, and tell who else should. Who calls works on.
    pub(crate) const LOOK_FOR_JOBS: Call = Call::new(2);
    /// The same, of a thread that is not of the pool, and may well sleep next.
    pub(crate) const LOOK_FOR_INJECTED: Call = Call::new(3);
    /// Something that this one waits for has happened, or there is a letter for it.
    pub(crate) const BY_NAME: Call = Call::new(4);
    /// Calls with this number and above lead to slots.
    const SLOTS: u32 = 5;

    /// Look at slot `index` of the board.
    fn to_slot(index: usize) -> Call {
        Call::new(Self::SLOTS + index as u32)
    }

    /// The slot that the call names.
    pub(crate) fn slot(call: Call) -> Option<usize> {
        Some(call.number().checked_sub(Self::SLOTS)? as usize)
    }

    /// Whether it says to look for a job.
    pub(crate) fn is_search(call: Call) -> bool {
        call == Self::LOOK_FOR_JOBS || call == Self::LOOK_FOR_INJECTED
    }
}

impl Shared {
    /// A worker that has claimed its first units brings in the next one, or two, if so many more may
    /// come and something is left for them. A loop with one line passes on through the queue, as it
    /// began.
    pub(crate) fn pass_on(&self, place: &Place, stay: &Stay, counts: &Counts) {
        for _ in 0..stay.successors() {
            let Some(urgency) = place.slot(self).wants_more(stay) else {
                return;
            };
            if stay.is_in_line() {
                self.post(place, 1, Urgency::Progress, counts);
            } else if urgency == Urgency::Speed && self.sleepers.others_sleep_on() {
                return self.keep_watch(counts);
            } else if stay.successors() == 1 {
                self.invite(place, urgency, counts, None);
            } else {
                // Those on the way are of this loop: there are two for each lane that has started.
                self.invite_another(place, urgency, counts);
            }
        }
    }

    /// Calls one idle worker to the slot: one that spins; or wakes one, unless one is on its way there,
    /// who was called for an earlier loop or by another lane: it will look at this loop as well.
    ///
    /// `claimed` is a worker that was claimed for this. Returns whom the call reached.
    pub(crate) fn invite(
        &self,
        place: &Place,
        urgency: Urgency,
        counts: &Counts,
        claimed: Option<Claimed>,
    ) -> Reached {
        let &Place::Board(index) = place else {
            return self.post(place, 1, Urgency::Progress, counts);
        };
        if let Some(claimed) = claimed.or_else(|| self.sleepers.claim_spinning()) {
            claimed.call(Calls::to_slot(index));
            // It is here before anybody would have counted it.
            counts.wake_ups.add(1);
            return Reached::Spinning;
        }
        if place.slot(self).someone_comes() {
            return Reached::Nobody;
        }
        self.invite_another(place, urgency, counts)
    }

    /// Calls one idle worker to the slot. If nobody can be called, the slot is marked, so that the next
    /// worker that becomes idle comes; and if somebody was left asleep, the watch is kept, because the
    /// threads that are awake may wait for those that were not called.
    fn invite_another(&self, place: &Place, urgency: Urgency, counts: &Counts) -> Reached {
        let &Place::Board(index) = place else {
            return self.post(place, 1, Urgency::Progress, counts);
        };
        let call = || {
            // Partner: the fence that a worker puts after it has announced that it is idle.
            fence(Ordering::SeqCst);
            self.call(Calls::to_slot(index), urgency)
        };
        let mut reached = call();
        if !reached.somebody() {
            self.board.mark(index);
            reached = call();
        }
        match reached {
            Reached::Nobody => return reached,
            Reached::OnlySleepers => {
                self.keep_watch(counts);
                return reached;
            }
            Reached::Spinning => {}
            Reached::Parked { took } => {
                place.slot(self).called();
                self.market.woke(took);
            }
        }
        counts.wake_ups.add(1);
        reached
    }

    /// Calls one idle worker, if it is wanted as much as that takes.
    pub(super) fn call(&self, call: Call, urgency: Urgency) -> Reached {
        match urgency {
            Urgency::Ease => self.sleepers.call_one_awake(call),
            Urgency::Speed => self.sleepers.call_one_to_spare(call),
            Urgency::Progress => self.sleepers.call_one(call),
        }
    }

    /// Puts up to `places` places in the slot's chain into the queue, each with a call. What is
    /// left over of an earlier loop counts, because it leads to the same slot: so the queue never
    /// holds more places of a slot than one loop asks for, however late the workers come.
    /// Returns whom the last call reached.
    pub(crate) fn post(
        &self,
        place: &Place,
        places: u32,
        urgency: Urgency,
        counts: &Counts,
    ) -> Reached {
        let mut reached = Reached::Nobody;
        if self.workers() == 0 {
            // Nothing is queued that nobody would take out. A worker that is started meanwhile sees
            // the mark, or has announced itself before.
            if let Place::Board(_) = place {
                reached = self.invite(place, urgency, counts, None);
            }
            return reached;
        }
        let slot = place.slot(self);
        for _ in 0..places {
            if !slot.post(places) {
                break;
            }
            reached = self.submit(Task::Visit(place.clone()), urgency);
            if reached.somebody() {
                counts.wake_ups.add(1);
            }
            match reached {
                Reached::Parked { took } => self.market.woke(took),
                // The threads that are awake may wait for those that were not called.
                Reached::OnlySleepers => self.keep_watch(counts),
                Reached::Spinning | Reached::Nobody => {}
            }
        }
        reached
    }

    /// Sees to it that somebody will look at the slot that was opened before, with a
    /// [`barrier::light`](crate::barrier::light) or more in between, if its loop stays open for
    /// long.
    #[inline]
    pub(crate) fn keep_watch(&self, counts: &Counts) {
        if !self.watch.is_kept() {
            self.want_watch(counts);
        }
    }

    #[cold]
    fn want_watch(&self, counts: &Counts) {
        if self.watch.want() {
            // Partner: the fence that a worker puts after it has announced that it is idle.
            fence(Ordering::SeqCst);
            if self.sleepers.call_one(Calls::WATCH).somebody() {
                counts.watch_calls.add(1);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ops::Range;
    use std::sync::atomic::AtomicUsize;
    use std::thread::yield_now;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::blocks::Blocks;
    use crate::pool::{Member, Seat, ThreadPoolBuilder};
    use crate::slot::body::{Body, Flow};
    use crate::slot::shape::Shape;
    use crate::slot::Begin;

    /// Yields until `condition` holds. A hang fails here.
    fn wait_until(condition: impl Fn() -> bool) {
        let begun = Instant::now();
        while !condition() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it hangs");
            yield_now();
        }
    }

    /// Whom the caller and each worker woke in a loop whose bodies, one for each lane, wait for each
    /// other, on a pool that takes the machine for large.
    fn wake_ups(lanes: usize, fan: bool) -> (u64, Vec<u64>) {
        let mut builder = ThreadPoolBuilder::new().num_threads(lanes);
        builder.reckon_with(lanes);
        let pool = builder.build().expect("a pool");
        let shared = pool.shared();
        assert_eq!(shared.workers(), lanes - 1);
        wait_until(|| !shared.sleepers.someone_is_awake());
        let arrived = AtomicUsize::new(0);
        let meet = |_: usize, blocks: Range<usize>| {
            arrived.fetch_add(blocks.len(), Ordering::Relaxed);
            wait_until(|| arrived.load(Ordering::Relaxed) == lanes);
            Flow::GoOn
        };
        let seat = Seat::take(shared);
        let slot = seat.slot();
        let body = Body::new(&meet, 0, Blocks::new(lanes, lanes));
        let shape = Shape::in_runs(lanes, lanes, lanes - 1).in_a_fan(fan);
        // SAFETY: this thread holds the slot, in which no loop is open; the loop is closed below, before
        // what the body borrows goes.
        let (mut stay, first) = unsafe { slot.open(body, shape, Begin::Together) };
        shared.invite(seat.place(), Urgency::Speed, &slot.counts, None);
        let ran = slot.work(&mut stay, first);
        let panic = slot.close(stay, ran.units, Member::sleep_at_door);
        assert!(panic.is_none(), "the lanes did not meet");
        let of_worker = |w| shared.worker_counts.get(w).map_or(0, |c| c.wake_ups.get());
        let by_workers = (0..lanes - 1).map(of_worker).collect();
        (slot.counts.wake_ups.get(), by_workers)
    }

    /// The trees of the model in `benches/ramp.rs`: in a chain each lane wakes one, in a fan the caller
    /// wakes one and each other lane two, until all are there. Catches a lane that wakes nobody, or
    /// everybody, and one that is woken twice.
    #[test]
    fn lanes_start_as_modelled() {
        for lanes in [2, 3, 4, 9, 16] {
            for (fan, most) in [(false, 1), (true, 2)] {
                let (by_caller, by_workers) = wake_ups(lanes, fan);
                let what = format!("{lanes} lanes, fan {fan}: {by_caller} and {by_workers:?}");
                assert_eq!(by_caller, 1, "{what}");
                assert!(by_workers.iter().all(|&n| n <= most), "{what}");
                let all = by_caller + by_workers.iter().sum::<u64>();
                assert_eq!(all, lanes as u64 - 1, "{what}");
                // Half of the lanes wake the others, and one may be left with one.
                let wake = by_workers.iter().filter(|&&n| n > 0).count() as u64;
                let fewest = (lanes as u64 - 2).div_ceil(most);
                assert!(wake >= fewest, "{what}");
            }
        }
    }
}
