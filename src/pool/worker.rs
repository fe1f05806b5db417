//! A worker: looks for something to do, does it, goes idle.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;

use super::affinity::pin_current_thread;
use super::builder::Handler;
use super::chain::{Calls, Place, Task};
use super::shared::Shared;
use crate::parking::Waited;
use crate::slot::Slot;
use crate::stats::Counts;

/// The life of worker `number`.
pub(crate) fn main(shared: &Shared, number: usize) {
    if shared.config.pin {
        pin_current_thread(number + 1);
    }
    let worker = Worker {
        shared,
        number,
        counts: shared.worker_counts.get_or_make(number),
    };
    worker.handle(&shared.config.on_start, "a start_handler");
    worker.work();
    worker.handle(&shared.config.on_exit, "an exit_handler");
}

struct Worker<'a> {
    shared: &'a Shared,
    number: usize,
    counts: &'a Counts,
}

impl Worker<'_> {
    fn handle(&self, handler: &Option<Handler>, of: &str) {
        let Some(handler) = handler else { return };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| handler(self.number))) {
            self.shared.report_panic(payload, of);
        }
    }

    /// Works until the pool closes and nothing is left.
    fn work(&self) {
        // A worker that has done something may soon be wanted again; one that has not sleeps at
        // once.
        let mut useful = false;
        loop {
            while self.look_around() {
                useful = true;
            }
            if self.shared.is_closing() && self.shared.queue.is_empty() {
                return;
            }
            let spin = if useful {
                self.shared.config.spin
            } else {
                Duration::ZERO
            };
            let waited = self
                .shared
                .sleepers
                .wait(self.number, spin, || self.shared.work_in_sight());
            useful = match waited {
                Waited::InSight => useful,
                Waited::Called { call, parked } => {
                    let met = if parked {
                        &self.counts.parks
                    } else {
                        &self.counts.spins_met_work
                    };
                    met.add(1);
                    let found = match Calls::slot(call) {
                        Some(index) => self.follow(&Place::Board(index)),
                        None => self.look_around(),
                    };
                    if !found {
                        self.counts.wake_ups_found_nothing.add(1);
                    }
                    found
                }
            };
        }
    }

    /// Does one thing that nobody called this worker for: a loop that marked itself, because
    /// somebody waits for it, or the oldest task.
    fn look_around(&self) -> bool {
        self.visit_a_marked_slot() || self.take_a_task()
    }

    fn visit_a_marked_slot(&self) -> bool {
        self.shared.board.marked().any(|index| {
            let place = Place::Board(index);
            self.visit(&place) || {
                self.shared.board.unmark(index);
                self.visit(&place)
            }
        })
    }

    fn take_a_task(&self) -> bool {
        match self.shared.queue.pop() {
            None => false,
            Some(Task::Run(task)) => {
                self.shared.run_task(task);
                self.counts.tasks.add(1);
                true
            }
            Some(Task::Visit(place)) => self.follow(&place),
        }
    }

    /// Goes where a call or a place in the queue leads, which was counted as on its way.
    fn follow(&self, place: &Place) -> bool {
        place.slot(self.shared).arrived();
        self.visit(place)
    }

    /// Takes part in the loop of a slot. False: there was nothing to do.
    fn visit(&self, place: &Place) -> bool {
        let slot: &Slot = place.slot(self.shared);
        while let Some(mut stay) = slot.enter(self.number) {
            let mut units = 0;
            if let Some(first) = slot.claim(&mut stay) {
                // The chain: whoever starts brings in the next one, before its first block.
                self.shared.pass_on(place, &stay, self.counts);
                let ran = slot.work(&mut stay, first);
                ran.add_to(self.counts);
                units = ran.units;
            }
            if !slot.leave(stay, units) {
                return units != 0;
            }
        }
        false
    }
}
