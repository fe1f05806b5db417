//! `Sleepers`: where the workers go when they have nothing to do, and how one of them is called.

use std::num::NonZeroU32;
use std::ptr;
use std::time::Duration;
#[cfg(not(loom))]
use std::time::Instant;

use crossbeam_utils::CachePadded;

use super::idle::IdleSet;
use super::Parker;
use crate::affinity::current_processor;
use crate::clock;
use crate::segments::Segments;
use crate::sync::atomic::{
    fence, AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use crate::sync::{spin_loop, yield_now};

/// What a sleeper is called for. The meaning is the caller's and the sleeper's affair, but for one
/// value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call(NonZeroU32);

impl Call {
    /// To a worker that spins: it announces that it sleeps, and does. Kept by [`Sleepers`] itself, never
    /// handed out, as is the next one.
    const PARK: u32 = u32::MAX;
    /// To a worker that spins: it sleeps and announces nothing, because whoever has claimed it takes its
    /// place. A later call may be written over this one.
    const LEND: u32 = u32::MAX - 1;

    /// Call number `n`, below `u32::MAX - 2`.
    pub(crate) const fn new(n: u32) -> Self {
        debug_assert!(n < Self::LEND - 1);
        Call(NonZeroU32::MIN.saturating_add(n))
    }

    /// The number that the call was made with.
    pub(crate) fn number(self) -> u32 {
        self.0.get() - 1
    }
}

/// How a worker's wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The second look found something: nobody called.
    InSight,
    /// Nobody called within the limit.
    TimedOut,
    /// Somebody called.
    Called {
        /// What for.
        call: Call,
        /// Whether the worker was parked, so that the call cost a system call.
        parked: bool,
        /// When, by the [`clock`].
        at: u64,
        /// On which processor, if the worker was parked and the system tells.
        from: Option<usize>,
    },
}

/// A worker that spins and is owed a call. Without one it goes to sleep.
pub(crate) struct Claimed<'a> {
    sleepers: &'a Sleepers,
    worker: usize,
    call: u32,
}

impl Claimed<'_> {
    /// Calls it. What the call is about must have been written before.
    #[inline]
    pub(crate) fn call(mut self, call: Call) {
        self.call = call.0.get();
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        self.sleepers.place(self.worker).tell(self.call);
    }
}

/// When a worker asks whether there is work in sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has announced that it spins, or that it spins no more.
    BeforeSpinning,
    /// It spins.
    Spinning,
    /// It has announced that it sleeps. What it does not see now it sleeps through.
    BeforeSleeping,
}

/// Whom a call reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// Nobody was idle.
    Nobody,
    /// Whoever is idle sleeps on: all processors have a thread that is awake, or nobody was to be woken.
    OnlySleepers,
    /// A worker that spun.
    Spinning,
    /// A worker that slept: the call was a system call.
    Parked {
        /// How many ticks of the [`clock`] that took.
        took: u64,
    },
}

impl Reached {
    /// Whether a worker was called.
    pub(crate) fn somebody(self) -> bool {
        matches!(self, Reached::Spinning | Reached::Parked { .. })
    }
}

const UNKNOWN: usize = usize::MAX;

/// One worker's place.
struct Place {
    /// 0, or the call that the claimer of this place's bit owes it.
    call: AtomicU32,
    /// When it was made.
    called_at: AtomicU64,
    /// On which processor a call was made to the worker while it was parked; [`UNKNOWN`].
    called_from: AtomicUsize,
    /// Whether its worker sleeps with a limit, or will. Only that worker writes it, before it announces
    /// itself.
    is_timed: AtomicBool,
    parker: Parker,
    /// Null, or the parker where its thread sleeps instead. Only that thread writes it, before it announces
    /// itself.
    elsewhere: AtomicPtr<Parker>,
}

impl Default for Place {
    fn default() -> Self {
        Place {
            call: AtomicU32::new(0),
            called_at: AtomicU64::new(0),
            called_from: AtomicUsize::new(UNKNOWN),
            is_timed: AtomicBool::new(false),
            parker: Parker::new(),
            elsewhere: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

impl Place {
    /// Waits for the call that a claimer owes: it is as far away as the opening of a loop, unless the
    /// claimer has lost its processor.
    fn take_call(&self) -> NonZeroU32 {
        let mut pauses = 0;
        loop {
            if let Some(call) = self.called() {
                return call;
            }
            pauses += 1;
            if pauses < crate::tuning::WAIT_PAUSES && cfg!(not(loom)) {
                spin_loop();
            } else {
                yield_now();
            }
        }
    }

    /// Sleeps until there is a call, and takes it. `None`: the limit was over, and nobody had claimed the
    /// sleeper, whom `withdraw` has taken out of its set.
    fn sleep(&self, limit: Option<Duration>, withdraw: impl Fn() -> bool) -> Option<NonZeroU32> {
        if let Some(limit) = limit {
            if let Some(call) = self.called() {
                return Some(call);
            }
            self.parker.park_timeout(limit);
            if withdraw() {
                return None;
            }
        }
        loop {
            if let Some(call) = self.called() {
                return Some(call);
            }
            self.parker.park();
        }
    }

    /// Takes the call, if it is there.
    fn called(&self) -> Option<NonZeroU32> {
        // Acquire: partner is the Release in `tell`; what the call is about is visible to the sleeper.
        let call = NonZeroU32::new(self.call.load(Ordering::Acquire))?;
        if call.get() == Call::LEND {
            // The place may have been given back meanwhile, and claimed for another call: whichever is
            // there is taken. Acquire: the same.
            return NonZeroU32::new(self.call.swap(0, Ordering::Acquire));
        }
        // Relaxed: the next claimer finds it empty through the sleeper's next `announce`.
        self.call.store(0, Ordering::Relaxed);
        Some(call)
    }

    /// Makes the call that the claimer of a sleeper owes. Returns when.
    fn wake(&self, call: u32) -> u64 {
        // Relaxed: the claim has acquired the announcement.
        let elsewhere = self.elsewhere.load(Ordering::Relaxed);
        if elsewhere.is_null() {
            let now = self.tell(call);
            self.parker.unpark();
            return now;
        }
        // SAFETY: its thread sleeps there, or waits for the call, which comes below.
        let parker = unsafe { &*elsewhere };
        parker.unpark();
        self.tell(call)
    }

    /// Writes the call that the claimer owes. Returns when.
    fn tell(&self, call: u32) -> u64 {
        let now = clock::now();
        // Relaxed: the call publishes it.
        self.called_at.store(now, Ordering::Relaxed);
        debug_assert!(
            matches!(self.call.load(Ordering::Relaxed), 0 | Call::LEND),
            "two calls in one stay"
        );
        // Release: partner is the Acquire in `called`.
        if cfg!(loom) {
            // A model does not know that what is written over the value that an exchange has read comes
            // after that exchange, unless it is another one.
            self.call.swap(call, Ordering::Release);
        } else {
            self.call.store(call, Ordering::Release);
        }
        now
    }
}

/// The places of all workers, and who of them is idle. See the [module page](super) for the
/// protocol.
pub(crate) struct Sleepers {
    places: Segments<CachePadded<Place>>,
    /// Where the holder of an identity sleeps inside a job: its worker may have lent it, and sleep in the
    /// other place meanwhile.
    inner_places: Segments<CachePadded<Place>>,
    /// How many workers there are: numbers below this may be in the sets.
    workers: AtomicUsize,
    spinning: IdleSet,
    parked: IdleSet,
    /// Holders of an identity who sleep inside a job, waiting for something, and would run another
    /// meanwhile,
    inside: IdleSet,
    /// and those who would not.
    aside: IdleSet,
    /// How many workers sleep on while others have taken their places.
    lent: CachePadded<AtomicUsize>,
    /// Processors that spinning workers may use beside one caller.
    spare_processors: usize,
}

impl Sleepers {
    /// Room for `capacity` workers, none there yet, on a machine with `processors`.
    pub(crate) fn new(capacity: usize, processors: usize) -> Self {
        Sleepers {
            places: Segments::new(),
            inner_places: Segments::new(),
            workers: AtomicUsize::new(0),
            spinning: IdleSet::new(capacity),
            parked: IdleSet::new(capacity),
            inside: IdleSet::new(capacity),
            aside: IdleSet::new(capacity),
            lent: CachePadded::new(AtomicUsize::new(0)),
            spare_processors: processors.saturating_sub(1),
        }
    }

    /// How many workers there are.
    #[inline]
    pub(crate) fn workers(&self) -> usize {
        // Acquire: partner is the Release in `admit`, so that the places of all numbers below are
        // there.
        self.workers.load(Ordering::Acquire)
    }

    /// Makes the place of one more worker and returns its number, which it may use from now on.
    /// Calls of `prepare` and [`admit`](Self::admit) must not overlap: the pool grows under a lock.
    pub(crate) fn prepare(&self) -> usize {
        let worker = self.workers.load(Ordering::Relaxed);
        self.places.get_or_make(worker);
        worker
    }

    /// Counts the worker that was prepared, once it exists. Who published work before may have
    /// missed it, idle as it may be already: the caller puts a `fence(SeqCst)` after this and looks
    /// for work in its stead.
    pub(crate) fn admit(&self, worker: usize) {
        // Release: partner is the Acquire in `workers`.
        self.workers.store(worker + 1, Ordering::Release);
    }

    /// Calls one idle worker, a spinning one if there is one. What the call is about must have been
    /// published, with a `fence(SeqCst)` after it.
    pub(crate) fn call_one(&self, call: Call) -> Reached {
        self.call_if(call, || true)
    }

    /// The same, but wakes no worker for which there is no processor.
    pub(crate) fn call_one_to_spare(&self, call: Call) -> Reached {
        self.call_if(call, || self.processor_to_spare())
    }

    /// The same, but wakes nobody.
    pub(crate) fn call_one_awake(&self, call: Call) -> Reached {
        self.call_if(call, || false)
    }

    /// Claims a worker that spins, if there is one, to be called shortly. Where there is none, that says
    /// nothing about those that are about to become idle, so no fence need come before this.
    #[inline]
    pub(crate) fn claim_spinning(&self) -> Option<Claimed<'_>> {
        let worker = self.spinning.claim(self.workers())?;
        Some(Claimed {
            sleepers: self,
            worker,
            call: Call::PARK,
        })
    }

    fn call_if(&self, call: Call, may_wake: impl Fn() -> bool) -> Reached {
        if let Some(claimed) = self.claim_spinning() {
            claimed.call(call);
            return Reached::Spinning;
        }
        if !may_wake() {
            return Reached::OnlySleepers;
        }
        let Some(worker) = self.parked.claim(self.workers()) else {
            return Reached::Nobody;
        };
        let from = current_processor().unwrap_or(UNKNOWN);
        // Relaxed: the call publishes it.
        self.place(worker)
            .called_from
            .store(from, Ordering::Relaxed);
        let before = self.place(worker).wake(call.0.get());
        Reached::Parked {
            took: clock::between(before, clock::now()),
        }
    }

    /// Whether a worker spins.
    #[inline]
    pub(crate) fn someone_spins(&self) -> bool {
        !self.spinning.is_empty(self.workers())
    }

    /// Whether a worker is awake: it spins, or it is busy and will look around when it is done.
    #[inline]
    pub(crate) fn someone_is_awake(&self) -> bool {
        self.workers_awake() != 0
    }

    /// For a worker: whether all others sleep, and there is no processor for another one.
    pub(crate) fn others_sleep_on(&self) -> bool {
        self.workers_awake() == 1 && !self.processor_to_spare()
    }

    /// Threads that may work at the same time: one for each processor.
    pub(crate) fn processors(&self) -> usize {
        self.spare_processors + 1
    }

    /// Whether anybody could be called to look for jobs.
    #[inline]
    pub(crate) fn someone_is_idle(&self) -> bool {
        let workers = self.workers();
        let sets = [&self.spinning, &self.parked, &self.inside];
        sets.iter().any(|set| !set.is_empty(workers))
    }

    /// Whether all who could be called sleep.
    #[inline(always)]
    pub(crate) fn only_sleepers_are_idle(&self) -> bool {
        let workers = self.workers();
        (!self.parked.is_empty(workers) || !self.inside.is_empty(workers))
            && self.spinning.is_empty(workers)
    }

    /// Calls somebody who could run a job: one that spins, one that sleeps, or one that sleeps inside
    /// another job. What the call is about must have been published, with a `fence(SeqCst)` after it.
    pub(crate) fn call_for_jobs(&self, call: Call) -> Reached {
        match self.call_one(call) {
            Reached::Nobody => {}
            reached => return reached,
        }
        let Some(worker) = self.inside.claim(self.workers()) else {
            return Reached::Nobody;
        };
        let before = self.inner_place(worker).wake(call.0.get());
        Reached::Parked {
            took: clock::between(before, clock::now()),
        }
    }

    /// Calls the holder of an identity, if it is idle in any way. The same holds for what the call is
    /// about.
    pub(crate) fn call_this(&self, worker: usize, call: Call) {
        if self.spinning.claim_this(worker) {
            self.place(worker).tell(call.0.get());
            return;
        }
        let place = if self.parked.claim_this(worker) {
            self.place(worker)
        } else if self.inside.claim_this(worker) || self.aside.claim_this(worker) {
            self.inner_place(worker)
        } else {
            return;
        };
        place.wake(call.0.get());
    }

    /// Sleeps, as the holder of an identity who waits for something inside a job, until called, unless
    /// `stay_awake` says so after the announcement. `helps`: whether it may be called to look for jobs.
    pub(crate) fn wait_inside(
        &self,
        me: usize,
        helps: bool,
        stay_awake: impl FnOnce() -> bool,
    ) -> Option<Call> {
        let place = self.inner_place(me);
        let set = if helps { &self.inside } else { &self.aside };
        set.announce(me);
        // Partner: the fence that each publisher puts before it calls.
        fence(Ordering::SeqCst);
        if stay_awake() && set.withdraw(me) {
            return None;
        }
        let call = place.sleep(None, || false).map(Call);
        // Partner: the fence before `someone_works`.
        fence(Ordering::SeqCst);
        call
    }

    /// The same in `parker`, where others give the token as well, for another reason, and where no job may
    /// be run: so it is called by its number only, and the call says no more than that.
    pub(crate) fn wait_at(&self, me: usize, parker: &Parker, stay_awake: impl FnOnce() -> bool) {
        let place = self.inner_place(me);
        let parker_there = ptr::from_ref(parker).cast_mut();
        // Relaxed, and below: the announcement publishes it.
        place.elsewhere.store(parker_there, Ordering::Relaxed);
        self.aside.announce(me);
        // Partner: the fence that each publisher puts before it calls.
        fence(Ordering::SeqCst);
        if !stay_awake() {
            parker.park();
        }
        if !self.aside.withdraw(me) {
            place.take_call();
        }
        place.elsewhere.store(ptr::null_mut(), Ordering::Relaxed);
        // Partner: the fence before `someone_works`.
        fence(Ordering::SeqCst);
    }

    /// Claims a worker that is idle, and sleeps without a limit or would, to take its place among those
    /// that work: it sleeps on, or falls asleep. Where its limit was not known before it was claimed, it
    /// gets the call `instead`.
    pub(crate) fn borrow(&self, instead: Call) -> Option<usize> {
        let workers = self.workers();
        // Relaxed: a hint, until the worker has been claimed; then the claim has acquired the announcement.
        let is_timed = |worker| self.place(worker).is_timed.load(Ordering::Relaxed);
        let (worker, sleeps) = match self.parked.claim_where(workers, |worker| !is_timed(worker)) {
            Some(worker) => (worker, true),
            None => (
                self.spinning
                    .claim_where(workers, |worker| !is_timed(worker))?,
                false,
            ),
        };
        let place = self.place(worker);
        if is_timed(worker) {
            place.wake(instead.0.get());
            return None;
        }
        if !sleeps {
            place.tell(Call::LEND);
        }
        // Relaxed: a number.
        self.lent.fetch_add(1, Ordering::Relaxed);
        // Partner: the fence before `someone_works`.
        fence(Ordering::SeqCst);
        Some(worker)
    }

    /// Announces a worker in its stead that was borrowed and not called. The
    /// caller looks for work for it after a `fence(SeqCst)`.
    pub(crate) fn announce_again(&self, worker: usize) {
        self.lent.fetch_sub(1, Ordering::Relaxed);
        self.parked.announce(worker);
    }

    /// Whether anybody may be at work, as a worker or in its place. Where this is false after an
    /// announcement and a `fence(SeqCst)`, whoever begins to work later sees the announcement.
    pub(crate) fn someone_works(&self) -> bool {
        let spinning = self.spinning.len(self.workers());
        self.workers_awake() > spinning || self.lent.load(Ordering::Relaxed) != 0
    }

    /// Sends every spinning worker to sleep.
    pub(crate) fn park_spinners(&self) {
        let workers = self.workers();
        while let Some(worker) = self.spinning.claim(workers) {
            self.place(worker).tell(Call::PARK);
        }
    }

    /// Waits, as worker `me`, until called: spins for at most `spin` where a processor is free for
    /// it, then sleeps, for at most `limit` if there is one. `work_in_sight` is asked after each
    /// announcement, and now and then while it spins.
    pub(crate) fn wait(
        &self,
        me: usize,
        spin: Duration,
        limit: Option<Duration>,
        work_in_sight: impl Fn(Stage) -> bool,
    ) -> Waited {
        // Relaxed: the announcement publishes it.
        let is_timed = &self.place(me).is_timed;
        is_timed.store(limit.is_some(), Ordering::Relaxed);
        let waited = self.spin_or_sleep(me, spin, limit, work_in_sight);
        // Partner: the fence before `someone_works`.
        fence(Ordering::SeqCst);
        waited
    }

    fn spin_or_sleep(
        &self,
        me: usize,
        spin: Duration,
        limit: Option<Duration>,
        work_in_sight: impl Fn(Stage) -> bool,
    ) -> Waited {
        // The asking worker is awake in this count, and stays so.
        let may_spin = || self.workers_awake() <= self.spare_processors;
        if !spin.is_zero() && may_spin() {
            self.spinning.announce(me);
            // Partner: the fence that each publisher puts before `call_one`.
            fence(Ordering::SeqCst);
            if !work_in_sight(Stage::BeforeSpinning) && may_spin() {
                self.spin(me, spin, || work_in_sight(Stage::Spinning));
            }
            if self.spinning.withdraw(me) {
                if work_in_sight(Stage::BeforeSpinning) {
                    return Waited::InSight;
                }
            } else {
                let place = self.place(me);
                match place.take_call() {
                    call if call.get() == Call::PARK => {}
                    call if call.get() == Call::LEND => {
                        // Asleep and claimed, as if it had been so before.
                        if let Some(call) = place.sleep(None, || false) {
                            return self.called_for(me, call, true);
                        }
                    }
                    call => return self.called_for(me, call, false),
                }
            }
        }
        self.parked.announce(me);
        // Partner: the fence that each publisher puts before `call_one`.
        fence(Ordering::SeqCst);
        if work_in_sight(Stage::BeforeSleeping) && self.parked.withdraw(me) {
            return Waited::InSight;
        }
        match self.place(me).sleep(limit, || self.parked.withdraw(me)) {
            Some(call) => self.called_for(me, call, true),
            None => Waited::TimedOut,
        }
    }

    /// What the worker makes of the call that it has taken.
    fn called_for(&self, me: usize, call: NonZeroU32, parked: bool) -> Waited {
        let place = self.place(me);
        let from = || match place.called_from.load(Ordering::Relaxed) {
            UNKNOWN => None,
            processor => Some(processor),
        };
        Waited::Called {
            call: Call(call),
            parked,
            at: place.called_at.load(Ordering::Relaxed),
            from: parked.then(from).flatten(),
        }
    }

    /// Whether one more thread could work without taking another's processor.
    fn processor_to_spare(&self) -> bool {
        self.workers_awake() < self.spare_processors
    }

    /// Workers that are not parked.
    #[inline]
    fn workers_awake(&self) -> usize {
        let workers = self.workers();
        let lent = self.lent.load(Ordering::Relaxed);
        workers.saturating_sub(self.parked.len(workers) + self.inside.len(workers) + lent)
    }

    /// Polls the call word, a line that only a claimer writes, until it is filled or `limit` is
    /// over.
    #[cfg(not(loom))]
    fn spin(&self, me: usize, limit: Duration, work_in_sight: impl Fn() -> bool) {
        let call = &self.place(me).call;
        let start = Instant::now();
        loop {
            for _ in 0..crate::tuning::PAUSES_PER_CLOCK {
                if call.load(Ordering::Relaxed) != 0 {
                    return;
                }
                spin_loop();
            }
            if work_in_sight() || start.elapsed() >= limit {
                return;
            }
        }
    }

    /// A model's spin is one look: whether it ends by a call or by the clock, both ways are
    /// explored.
    #[cfg(loom)]
    fn spin(&self, _: usize, _: Duration, _: impl Fn() -> bool) {
        yield_now();
    }

    fn inner_place(&self, worker: usize) -> &Place {
        self.inner_places.get_or_make(worker)
    }

    fn place(&self, worker: usize) -> &Place {
        self.places
            .get(worker)
            .expect("a worker's place is made before its number is known")
    }
}
