//! `Member`: a thread that holds an identity of a pool, and what it does while it waits.

use std::cell::{Cell, OnceCell};
use std::ptr;
use std::sync::Arc;

use super::chain::Calls;
use super::shared::Shared;
use crate::barrier;
use crate::clock;
use crate::jobs::{Along, Identity, Job, Latch, Popped, Stolen};
use crate::parking::Parker;
use crate::queue::ConcurrentQueue;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{per_thread, spin_loop, yield_now};
use crate::tuning::{WAIT_PAUSES, WAIT_YIELDS};

/// Why a thread holds an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is that worker, or was made it.
    Worker,
    /// A worker that sleeps has lent it, for one call from outside the pool. This thread may hold locks
    /// and has frames that know nothing of the pool, so while it waits it runs only what is part of that
    /// call.
    Guest,
}

/// A thread that holds an identity. It lives on that thread's stack.
pub(crate) struct Member<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) index: usize,
    kind: Kind,
    /// Whether it takes the oldest of its own jobs first.
    oldest_first: bool,
    identity: Cell<Option<&'a Identity>>,
    /// Which call from outside the pool runs here; see [`Job::call`].
    call: Cell<u64>,
    random: Cell<u64>,
    guests_line: OnceCell<Arc<ConcurrentQueue<Job>>>,
    light: Cell<Option<Light>>,
    /// Whether it has waited for what another had taken.
    helped: Cell<bool>,
    /// When another was asked to hand something out; 0: not since something was stolen.
    asked: Cell<u64>,
}

/// A call that is taken for light.
#[derive(Clone, Copy)]
struct Light {
    since: u64,
    limit: u64,
    pushes: u32,
}

/// The clock is read at the first few pushes, and then at every so many.
const EVERY: u32 = 8;

per_thread! {
    static CURRENT: Cell<*const Member<'static>> = const { Cell::new(ptr::null()) };
}

/// Who has taken a job out of its owner's deque, if that is known: a hint where to look for what it is
/// made of.
pub(crate) struct Taker(AtomicUsize);

impl Taker {
    const NOBODY: usize = usize::MAX;

    pub(crate) fn nobody() -> Self {
        Taker(AtomicUsize::new(Self::NOBODY))
    }

    pub(crate) fn is(&self, index: usize) {
        // Relaxed, here and below: a hint.
        self.0.store(index, Ordering::Relaxed);
    }

    fn get(&self) -> Option<usize> {
        let index = self.0.load(Ordering::Relaxed);
        (index != Self::NOBODY).then_some(index)
    }
}

impl<'a> Member<'a> {
    /// The calling thread becomes the holder of an identity for as long as `f` runs; `call` tells what
    /// for, 0 where that is nothing in particular.
    ///
    /// # Safety
    ///
    /// Nobody else holds it.
    pub(crate) unsafe fn be<R>(
        shared: &'a Shared,
        index: usize,
        kind: Kind,
        call: u64,
        f: impl FnOnce(&Member<'a>) -> R,
    ) -> R {
        struct Restore(*const Member<'static>);
        impl Drop for Restore {
            fn drop(&mut self) {
                // In a thread that is ending nobody asks any more.
                let _ = CURRENT.try_with(|current| current.set(self.0));
            }
        }

        let member = Member::new(shared, index, kind, call);
        let this = ptr::from_ref(&member).cast::<Member<'static>>();
        let _restore = Restore(CURRENT.with(|current| current.replace(this)));
        f(&member)
    }

    /// The calling thread becomes the holder of an identity for the rest of its life, unless it holds one.
    pub(crate) fn become_for_good(shared: &Arc<Shared>, index: usize) -> bool {
        CURRENT.with(|current| {
            let is_free = current.get().is_null();
            if is_free {
                // Both are leaked: nobody knows when the thread uses them last.
                let shared: &'static Arc<Shared> = Box::leak(Box::new(Arc::clone(shared)));
                let member = Member::new(shared, index, Kind::Worker, 0);
                current.set(Box::leak(Box::new(member)));
            }
            is_free
        })
    }

    fn new(shared: &'a Shared, index: usize, kind: Kind, call: u64) -> Self {
        Member {
            shared,
            index,
            kind,
            oldest_first: shared.config.oldest_first,
            identity: Cell::new(None),
            call: Cell::new(call),
            random: Cell::new(0x9E37_79B9_7F4A_7C15 ^ (index as u64 + 1)),
            guests_line: OnceCell::new(),
            light: Cell::new(None),
            helped: Cell::new(false),
            asked: Cell::new(0),
        }
    }

    /// Calls `f` with the identity that the calling thread holds, if it holds one.
    #[inline]
    pub(crate) fn current<R>(f: impl FnOnce(Option<&Member<'_>>) -> R) -> R {
        let current = CURRENT.try_with(Cell::get).unwrap_or(ptr::null());
        // SAFETY: it is null, or was set by `be`, which is on this thread's stack below this call and
        // resets it before the member goes.
        f(unsafe { current.as_ref() })
    }

    /// Which call from outside the pool runs here.
    #[inline]
    pub(crate) fn call(&self) -> u64 {
        self.call.get()
    }

    #[inline(always)]
    fn identity(&self) -> &'a Identity {
        match self.identity.get() {
            Some(identity) => identity,
            None => self.find_identity(),
        }
    }

    #[cold]
    fn find_identity(&self) -> &'a Identity {
        let identity = self.shared.jobs.identity(self.index);
        self.identity.set(Some(identity));
        identity
    }

    /// Puts a job at the back of its own deque, where others may take it.
    // Always: a job that is passed in memory is read before what was written there has arrived.
    #[inline(always)]
    pub(crate) fn push(&self, job: Job) {
        // SAFETY: this thread is the holder: a member is never seen by another.
        unsafe { self.identity().push(job) }
        // Partner: the heavy barrier of a worker that has announced that it sleeps, and of the worker on
        // watch that lets it lapse.
        barrier::light();
        if self.light.get().is_some() {
            self.push_lightly();
        } else if self.shared.sleepers.someone_is_idle() {
            self.offer();
        }
    }

    /// Lets others have what was pushed, since somebody has nothing to do.
    #[cold]
    fn offer(&self) {
        // SAFETY: as in `push`.
        unsafe { self.identity().hand_out() };
        self.shared.tell_of_jobs();
    }

    /// After a push in a call that is taken for light: nobody is called for it, as long as somebody is on
    /// watch and it does not take much longer than it should.
    #[inline(never)]
    fn push_lightly(&self) {
        let Some(mut light) = self.light.get() else {
            return;
        };
        self.shared
            .keep_watch(self.shared.worker_counts.get_or_make(self.index));
        light.pushes = light.pushes.wrapping_add(1);
        let is_time_to_look = light.pushes <= EVERY || light.pushes % EVERY == 0;
        let goes_on = self.identity().is_light.load(Ordering::Relaxed)
            && !(is_time_to_look && clock::between(light.since, clock::now()) > light.limit);
        if goes_on {
            self.light.set(Some(light));
        } else {
            self.identity().is_light.store(false, Ordering::Relaxed);
            self.light.set(None);
            self.offer();
        }
    }

    /// What goes on here from now on, at `since`, is taken for light, until it takes more than `limit`.
    pub(super) fn take_for_light(&self, since: u64, limit: u64) {
        self.identity().is_light.store(true, Ordering::Relaxed);
        self.light.set(Some(Light {
            since,
            limit,
            pushes: 0,
        }));
    }

    /// Whether it still is. It is not any more.
    pub(super) fn was_light(&self) -> bool {
        let was_light = self.light.take().is_some();
        if was_light {
            self.identity().is_light.store(false, Ordering::Relaxed);
        }
        was_light
    }

    /// Whether anybody has taken what it waited for.
    pub(super) fn was_helped(&self) -> bool {
        self.helped.get()
    }

    /// Puts a job at the end of a line, and a place in that line at the back of its own deque: whoever
    /// takes the place runs the line's first job. The line must be there until then.
    pub(crate) fn push_in(&self, line: &ConcurrentQueue<Job>, job: Job) {
        /// # Safety
        ///
        /// `line` is the address of a live queue that holds a job for this call.
        unsafe fn run_first(line: *const ()) {
            // SAFETY: the caller's promise.
            let line = unsafe { &*line.cast::<ConcurrentQueue<Job>>() };
            let job = line.pop().expect("a line has a job for each place in it");
            // SAFETY: a queue gives a job to one taker.
            unsafe { job.run() };
        }
        line.push(job);
        // SAFETY: the job that was just put there is for this place.
        self.push(unsafe { Job::new(ptr::from_ref(line).cast(), run_first, job.call()) });
    }

    /// The same with its own line.
    pub(crate) fn push_in_line(&self, job: Job) {
        match self.kind {
            Kind::Worker => self.push_in(&self.identity().line, job),
            Kind::Guest => self.push_in_guests_line(job),
        }
    }

    /// A guest has a line of its own, because the first in the identity's may be another's. It is there
    /// as long as somebody has a place in it.
    #[cold]
    fn push_in_guests_line(&self, job: Job) {
        /// # Safety
        ///
        /// `line` came from `Arc::into_raw`, of a queue that holds a job for this call.
        unsafe fn run_first(line: *const ()) {
            // SAFETY: the caller's promise.
            let line = unsafe { Arc::from_raw(line.cast::<ConcurrentQueue<Job>>()) };
            let job = line.pop().expect("a line has a job for each place in it");
            // SAFETY: a queue gives a job to one taker.
            unsafe { job.run() };
        }
        let line = self.guests_line.get_or_init(Arc::default);
        line.push(job);
        let place = Arc::into_raw(Arc::clone(line)).cast();
        // SAFETY: the job that was just put there is for this place, which holds a count of the line.
        self.push(unsafe { Job::new(place, run_first, job.call()) });
    }

    /// Whether it is of that pool.
    #[inline]
    pub(crate) fn is_of(&self, shared: &Shared) -> bool {
        self.shared.id == shared.id
    }

    /// Takes a job of its own.
    pub(crate) fn pop(&self) -> Option<Job> {
        if self.oldest_first {
            return self.pop_oldest();
        }
        // SAFETY: as in `push`.
        unsafe { self.identity().pop() }
    }

    /// The same for whoever has pushed the job that is made from `data`.
    #[inline(always)]
    pub(crate) fn pop_back(&self, data: *const ()) -> Popped {
        if self.oldest_first {
            return match self.pop_oldest() {
                Some(job) if job.is(data) => Popped::It,
                Some(job) => Popped::Another(job),
                None => Popped::Nothing,
            };
        }
        // SAFETY: as in `push`.
        unsafe { self.identity().pop_back(data) }
    }

    /// What its own last job is made from, taken, if `run` would run it, in the same call from outside.
    #[inline]
    pub(crate) fn pop_for(&self, run: unsafe fn(*const ())) -> Option<*const ()> {
        if self.oldest_first {
            return None;
        }
        let fits = |job: &Job| job.data_for(run, self.call()).is_some();
        // SAFETY: as in `push`.
        let job = unsafe { self.identity().pop_if(fits) };
        job?.data_for(run, self.call())
    }

    #[cold]
    fn pop_oldest(&self) -> Option<Job> {
        loop {
            match self.identity().steal(true, None) {
                Stolen::Job(job) => return Some(job),
                _ if self.identity().is_empty() => return None,
                _ => yield_now(),
            }
        }
    }

    /// Whether its own deque has a job.
    pub(crate) fn has_own(&self) -> bool {
        !self.identity().is_empty()
    }

    /// Takes a job of its own, or a letter.
    pub(crate) fn own(&self) -> Option<Job> {
        self.pop().or_else(|| self.identity().letters.pop())
    }

    /// Takes a job that anybody with an identity may run: its own, another's oldest, an injected one.
    pub(crate) fn find(&self) -> Option<Job> {
        self.find_somewhere(|victim| self.steal(victim, false, None))
    }

    fn find_somewhere(&self, steal: impl Fn(usize) -> Option<Job>) -> Option<Job> {
        self.own()
            .or_else(|| self.steal_from_any(steal))
            .or_else(|| self.shared.jobs.injector.pop())
    }

    /// Takes another's oldest job, if one is there for others, or if that was asked for long ago.
    fn steal_from_any(&self, steal: impl Fn(usize) -> Option<Job>) -> Option<Job> {
        let workers = self.shared.workers();
        let start = self.next_random() as usize % workers.max(1);
        (start..workers)
            .chain(0..start)
            .filter(|&victim| victim != self.index)
            .find_map(steal)
    }

    /// Takes another's oldest job and more that are like it, which it keeps in its own deque.
    fn steal_several(&self, victim: usize) -> Option<Job> {
        let mut along = Along::default();
        let job = self.steal(victim, false, Some(&mut along))?;
        along
            .into_newest_first()
            .for_each(|another| self.push(another));
        Some(job)
    }

    fn steal(&self, victim: usize, light_ones: bool, along: Option<&mut Along>) -> Option<Job> {
        let jobs = &self.shared.jobs;
        let asked = self.asked.get();
        let at_once = asked != 0 && clock::between(asked, clock::now()) > barrier::price();
        match jobs.steal(victim, light_ones, at_once || cfg!(loom), along) {
            Stolen::Job(job) => {
                self.asked.set(0);
                Some(job)
            }
            Stolen::Asked => {
                if asked == 0 {
                    self.asked.set(clock::now());
                }
                None
            }
            Stolen::Nothing => None,
        }
    }

    /// [`find`](Self::find) for a worker that does nothing else: it may take several jobs at once, and if others
    /// have been asked for something, it waits for it as long as it would take to take it without them.
    pub(crate) fn find_patiently(&self) -> Option<Job> {
        self.asked.set(0);
        loop {
            let found = self.find_somewhere(|victim| self.steal_several(victim));
            if found.is_some()
                || self.asked.get() == 0
                || !self.shared.jobs.any(self.shared.workers())
            {
                return found;
            }
            (0..PAUSES).for_each(|_| spin_loop());
        }
    }

    /// Marsaglia's xorshift.
    fn next_random(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }

    /// Runs a job that was taken out of a queue.
    #[inline]
    pub(crate) fn run(&self, job: Job) {
        let before = self.call.replace(job.call());
        // SAFETY: a queue gives a job to one taker.
        unsafe { job.run() };
        self.call.set(before);
    }

    /// Waits until the latch is set, and runs jobs meanwhile: first its own, then what `taker` has made
    /// of the one that is waited for, then whatever there is.
    pub(crate) fn wait(&self, latch: &Latch, taker: &Taker) {
        self.wait_by(latch, || self.find_while_waiting(taker), Patience::Inside)
    }

    /// The same for what happens in another pool: there may be nobody else here to run what is injected
    /// for its sake.
    pub(crate) fn wait_for_other_pool(&self, latch: &Latch) {
        let find = || {
            self.own()
                .or_else(|| self.shared.jobs.injector.pop())
                .or_else(|| {
                    (self.kind != Kind::Guest)
                        .then(|| self.steal_from_any(|victim| self.steal(victim, false, None)))?
                })
        };
        self.wait_by(latch, find, Patience::Abroad)
    }

    /// How a thread sleeps at a loop's door: runs nothing, because it may hold locks there that other tasks
    /// ask for, but answers letters, which nobody else can.
    pub(crate) fn sleep_at_door(parker: &Parker, done: &dyn Fn() -> bool) {
        Member::current(|me| match me {
            Some(me) => me.answer_at_door(parker, done),
            None => {
                while !done() {
                    parker.park();
                }
            }
        });
    }

    fn answer_at_door(&self, parker: &Parker, done: &dyn Fn() -> bool) {
        let jobs = &self.shared.jobs;
        while !done() {
            if jobs.has_letters(self.index) {
                if let Some(letter) = self.identity().letters.pop() {
                    self.run(letter);
                }
                continue;
            }
            let stay_awake = || done() || jobs.has_letters(self.index);
            self.shared.sleepers.wait_at(self.index, parker, stay_awake);
        }
    }

    fn find_while_waiting(&self, taker: &Taker) -> Option<Job> {
        if let Some(job) = self.own() {
            return Some(job);
        }
        if let Some(job) = taker.get().and_then(|taker| self.steal(taker, true, None)) {
            if self.kind != Kind::Guest || job.call() == self.call() {
                return Some(job);
            }
            self.shared.inject(job);
        }
        if self.kind == Kind::Guest {
            return None;
        }
        self.steal_from_any(|victim| self.steal(victim, false, None))
            .or_else(|| self.shared.jobs.injector.pop())
    }

    fn wait_by(&self, latch: &Latch, find: impl Fn() -> Option<Job>, patience: Patience) {
        let (mut idle, mut searching) = (0, false);
        self.helped.set(true);
        self.asked.set(0);
        while !latch.is_set() {
            let found = find();
            if std::mem::take(&mut searching) {
                self.shared.search_ends();
            }
            if let Some(job) = found {
                self.run(job);
                idle = 0;
                continue;
            }
            idle += 1;
            if idle > LOOKS + YIELDS {
                searching = self.sleep(latch, patience);
                idle = 0;
            } else if idle > LOOKS {
                yield_now();
            } else {
                for _ in 0..PAUSES {
                    if latch.is_set() {
                        return;
                    }
                    spin_loop();
                }
            }
        }
        if searching {
            self.shared.search_ends();
        }
    }

    /// Sleeps until it is called. True: to look for jobs.
    fn sleep(&self, latch: &Latch, patience: Patience) -> bool {
        let shared = self.shared;
        let jobs = &shared.jobs;
        let helps = self.kind != Kind::Guest || patience == Patience::Abroad;
        let stay_awake = || {
            !latch.fall_asleep()
                || jobs.has_letters(self.index)
                || match self.kind {
                    Kind::Guest => helps && !jobs.injector.is_empty(),
                    // As before any sleep.
                    Kind::Worker => !shared.sees_pushes() || jobs.any(shared.workers()),
                }
        };
        let call = shared.sleepers.wait_inside(self.index, helps, stay_awake);
        latch.wake_up();
        if cfg!(loom) && call.is_none() {
            // What it stays awake for may take a while, in which a model must let others go on.
            yield_now();
        }
        call.is_some_and(Calls::is_search)
    }
}

/// Pauses between two looks at the queues.
const PAUSES: u32 = 8;
/// Looks before it gives its processor away, and how often it does that before it sleeps.
const LOOKS: u32 = if cfg!(loom) { 0 } else { WAIT_PAUSES / PAUSES };
const YIELDS: u32 = if cfg!(loom) { 0 } else { WAIT_YIELDS };

/// What a member waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// Something in its own pool.
    Inside,
    /// Something in another.
    Abroad,
}
