//! A worker: looks for something to do, does it, goes idle.

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

use super::builder::Handler;
use super::chain::{Calls, Place, Task};
use super::member::{Kind, Member};
use super::shared::Shared;
use super::watch::{self, Look, Tasks};
use super::window::Window;
use crate::affinity::{current_processor, leave, pin_current_thread};
use crate::jobs::Job;
use crate::parking::{Call, Stage, Waited};
use crate::price::Start;
use crate::slot::Slot;
use crate::stats::Counts;
use crate::sync::atomic::{fence, Ordering};
use crate::sync::yield_now;

/// The life of worker `number`.
pub(crate) fn main(shared: &Shared, number: usize) {
    if shared.config.pin {
        pin_current_thread(number + 1);
    }
    let worker = Worker {
        shared,
        number,
        counts: shared.worker_counts.get_or_make(number),
        on_watch: Cell::new(false),
        period: Cell::new(watch::PERIOD),
        more_follow: Cell::new(false),
        called: Cell::new(None),
        is_new: Cell::new(true),
        queue_first: Cell::new(false),
    };
    // SAFETY: the number was prepared for this worker, and is lent only while it sleeps.
    unsafe {
        Member::be(shared, number, Kind::Worker, 0, |me| {
            worker.handle(&shared.config.on_start, "a start_handler");
            worker.work(me);
            worker.handle(&shared.config.on_exit, "an exit_handler");
        });
    }
}

struct Worker<'a> {
    shared: &'a Shared,
    number: usize,
    counts: &'a Counts,
    /// Whether this worker is the sentinel of the [`watch`](super::watch).
    on_watch: Cell<bool>,
    /// How long it sleeps until its next look, on watch.
    period: Cell<Duration>,
    /// Whether it was woken for loops that follow.
    more_follow: Cell<bool>,
    /// How and when this worker was called for what it does next, if it was.
    called: Cell<Option<(Start, u64)>>,
    /// Whether it has never been called: how long the first time takes says nothing, because the thread
    /// may still have been on its way to its first sleep.
    is_new: Cell<bool>,
    /// Whether the queue comes before the marked slots at the next look: they take turns, so that
    /// neither holds the other back.
    queue_first: Cell<bool>,
}

/// What leads a worker to a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// A call to it, or a place in the queue.
    Called,
    /// Its mark.
    Marked,
    /// Its loop has been open for long.
    Stuck,
}

impl Worker<'_> {
    fn handle(&self, handler: &Option<Handler>, of: &str) {
        let Some(handler) = handler else { return };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| handler(self.number))) {
            self.shared.report_panic(payload, of);
        }
    }

    /// Works until the pool closes and nothing is left.
    fn work(&self, me: &Member) {
        let mut window = Window::new(self.shared.config.spin);
        // A worker that has done something may soon be wanted again, and so may one that was called
        // too late to do anything; one that has woken up by itself sleeps on.
        let mut wanted = false;
        let mut idle_since = Instant::now();
        // Whether it saw something to do before, and then found nothing.
        let seen_before = Cell::new(false);
        loop {
            while self.look_around(me) {
                seen_before.set(false);
                wanted = true;
                idle_since = Instant::now();
            }
            if self.shared.is_over() {
                return;
            }
            if !self.on_watch.get() {
                self.on_watch.set(self.shared.watch.take());
            }
            let spin = if wanted {
                window.spin()
            } else {
                Duration::ZERO
            };
            let limit = self.on_watch.get().then_some(self.period.get());
            // Jobs that are begun within half a microsecond are not worth taking.
            let seen = Cell::new(false);
            let in_sight = |stage| {
                let in_sight = self.shared.work_in_sight(self.number, stage);
                match stage {
                    Stage::Spinning => seen.replace(in_sight) && in_sight,
                    _ => in_sight,
                }
            };
            let waited = self
                .shared
                .sleepers
                .wait(self.number, spin, limit, in_sight);
            let in_vain = seen_before.replace(waited == Waited::InSight);
            wanted = match waited {
                Waited::InSight => {
                    if in_vain {
                        // Whoever is about to take it, or to put it there, may need this processor.
                        yield_now();
                    }
                    wanted
                }
                Waited::TimedOut => self.look_at_the_board(me),
                Waited::Called { call, .. } if call == Calls::WATCH => {
                    let taken = self.shared.watch.take();
                    self.on_watch.set(taken || self.on_watch.get());
                    false
                }
                Waited::Called {
                    call,
                    parked,
                    at,
                    from,
                } => {
                    if call != Calls::LOOK_FOR_INJECTED {
                        self.step_aside(from);
                    }
                    let start = if parked {
                        window.called_after(idle_since.elapsed());
                        Start::Parked
                    } else {
                        // Within its spin.
                        window.called_after(Duration::ZERO);
                        Start::Spinning
                    };
                    if !self.answer(me, call, start, at) {
                        // A worker that comes too late is too slow to come from its sleep.
                        window.called_after(Duration::ZERO);
                    }
                    if self.more_follow.take() {
                        window.more_follow();
                    }
                    idle_since = Instant::now();
                    true
                }
            };
        }
    }

    /// Leaves the processor of whoever woke this worker: that thread works on, and one of the two would
    /// have to wait, until the system finds out, for a few milliseconds. Most systems wake a thread
    /// where it ran last, so this is seldom called for.
    fn step_aside(&self, from: Option<usize>) {
        if from.is_some() && from == current_processor() && !self.shared.config.pin {
            from.into_iter().for_each(leave);
        }
    }

    /// Does what it was called for, if there is still something to do.
    fn answer(&self, me: &Member, call: Call, start: Start, at: u64) -> bool {
        let met = match start {
            Start::Parked => &self.counts.parks,
            Start::Spinning => &self.counts.spins_met_work,
        };
        met.add(1);
        self.called.set(Some((start, at)));
        let found = match Calls::slot(call) {
            Some(index) => self.follow(&Place::Board(index), start == Start::Parked),
            None if Calls::is_search(call) => {
                if let Some((start, at)) = self.called.take() {
                    if !self.is_new.take() {
                        self.shared.market.started(start, at);
                    }
                }
                // Relaxed: a hint.
                self.more_follow
                    .set(self.shared.jobs.more_follow.load(Ordering::Relaxed));
                let job = me.find_patiently();
                self.shared.search_ends();
                self.run(me, job)
            }
            None => self.look_around(me),
        };
        self.called.set(None);
        if !found {
            self.counts.wake_ups_found_nothing.add(1);
        }
        found
    }

    /// Before a worker that is on watch runs anything, it calls another.
    fn give_watch_away(&self) {
        if self.on_watch.take() {
            self.period.set(watch::PERIOD);
            self.shared.watch.give_away();
            // Partner: the fence that a worker puts after it has announced that it is idle.
            fence(Ordering::SeqCst);
            if self.shared.sleepers.call_one(Calls::WATCH).somebody() {
                self.counts.watch_calls.add(1);
            }
        }
    }

    /// On watch: enters a loop that has been open for long.
    fn look_at_the_board(&self, me: &Member) -> bool {
        self.counts.watch_looks.add(1);
        let (watch, jobs) = (&self.shared.watch, &self.shared.jobs);
        let job_waits = || jobs.any_at_all(self.shared.workers());
        let tasks = Tasks {
            calls: jobs.calls.load(Ordering::Relaxed),
            job_waits: job_waits(),
        };
        match watch.look(&self.shared.board, tasks, self.period.get()) {
            Look::Well(period) => {
                self.period.set(period);
                false
            }
            Look::Idle => {
                self.on_watch
                    .set(!watch.lapse(&self.shared.board, job_waits));
                false
            }
            Look::JobWaits => {
                jobs.all_are_worth_a_look();
                let job = me.find_patiently();
                self.shared.search_ends();
                let found = self.run(me, job);
                self.counts.watch_entries.add(u64::from(found));
                found
            }
            Look::Stuck(slots) => {
                let visit = |index| self.visit(&Place::Board(index), Reason::Stuck);
                let found = slots.iter().any(visit);
                self.counts.watch_entries.add(u64::from(found));
                found
            }
        }
    }

    /// Does one thing that nobody called this worker for: a loop that marked itself, because
    /// somebody waits for it, or the oldest task.
    fn look_around(&self, me: &Member) -> bool {
        let queue_first = self.queue_first.get();
        self.queue_first.set(!queue_first);
        (queue_first && self.take_a_task())
            || self.visit_a_marked_slot()
            || (!queue_first && self.take_a_task())
            || (self.sees_jobs() && self.run(me, me.find_patiently()))
    }

    fn sees_jobs(&self) -> bool {
        let jobs = &self.shared.jobs;
        jobs.any(self.shared.workers()) || jobs.has_letters(self.number)
    }

    fn run(&self, me: &Member, job: Option<Job>) -> bool {
        let Some(job) = job else { return false };
        self.give_watch_away();
        me.run(job);
        true
    }

    fn visit_a_marked_slot(&self) -> bool {
        self.shared.board.marked().any(|index| {
            let place = Place::Board(index);
            self.visit(&place, Reason::Marked) || {
                self.shared.board.unmark(index);
                self.visit(&place, Reason::Marked)
            }
        })
    }

    fn take_a_task(&self) -> bool {
        match self.shared.queue.pop() {
            None => false,
            Some(Task::Run(task)) => {
                self.give_watch_away();
                self.shared.run_task(task);
                self.counts.tasks.add(1);
                true
            }
            Some(Task::Visit(place)) => self.follow(&place, true),
        }
    }

    /// Before a worker goes elsewhere that may have been called for something in the queue, it calls
    /// another.
    fn call_for_the_queue(&self) {
        if !self.shared.queue.is_empty() {
            // Partner: the fence that a worker puts after it has announced that it is idle.
            fence(Ordering::SeqCst);
            if self.shared.sleepers.call_one(Calls::LOOK_AROUND).somebody() {
                self.counts.wake_ups.add(1);
            }
        }
    }

    /// Goes where a call or a place in the queue leads. `counted`: as on its way.
    fn follow(&self, place: &Place, counted: bool) -> bool {
        let slot = place.slot(self.shared);
        slot.approach();
        if let Some((start, at)) = self.called.take() {
            if !self.is_new.take() {
                self.shared.market.started(start, at);
            }
            self.more_follow.set(slot.more_follow());
        }
        if counted {
            slot.arrived();
        }
        self.visit(place, Reason::Called)
    }

    /// Takes part in the loop of a slot. False: there was nothing to do.
    fn visit(&self, place: &Place, reason: Reason) -> bool {
        let slot: &Slot = place.slot(self.shared);
        while let Some(mut stay) = slot.enter(self.number) {
            let mut units = 0;
            self.give_watch_away();
            if reason != Reason::Called {
                self.call_for_the_queue();
            }
            if let Some(first) = slot.claim(&mut stay) {
                if reason == Reason::Stuck {
                    slot.make_urgent();
                }
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
