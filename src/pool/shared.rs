//! `Shared`: what a pool's handle and its workers have in common.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering as Std};
use std::sync::{Arc, Mutex, Weak};

use crossbeam_utils::CachePadded;

use super::builder::Config;
use super::chain::{Calls, Task};
use super::processors::processors;
use super::thread::Thread;
use super::watch::Watch;
use super::{fork, MAX_THREADS};
use crate::barrier;
use crate::board::Board;
use crate::count::Count;
use crate::jobs::{Job, Jobs};
use crate::parking::{Call, Reached, Sleepers, Stage};
use crate::price::{Market, Table};
use crate::queue::ConcurrentQueue;
use crate::segments::Segments;
use crate::slot::Urgency;
use crate::stats::{Counts, Stats};
use crate::sync::atomic::{fence, AtomicBool, Ordering};

/// A pool's memory. It lives as long as its handle, or its last worker.
pub(crate) struct Shared {
    /// Unique in the process and its forks: a thread's kept slot is known by it.
    pub(crate) id: u64,
    /// See [`fork`].
    pub(crate) generation: usize,
    pub(crate) config: Arc<Config>,
    /// How many lanes a loop may have, if there are so many workers.
    pub(crate) lanes: AtomicUsize,
    pub(crate) board: Board,
    pub(crate) sleepers: Sleepers,
    pub(crate) watch: Watch,
    pub(crate) queue: ConcurrentQueue<Task>,
    pub(crate) jobs: Jobs,
    /// What each loop costs.
    pub(crate) costs: Table,
    /// What bringing somebody in costs.
    pub(crate) market: CachePadded<Market>,
    /// What each worker counts.
    pub(crate) worker_counts: Segments<CachePadded<Counts>>,
    /// What threads count that own neither a slot nor a worker's number: shared, so never on a
    /// loop's path.
    outside: Mutex<Stats>,
    /// What each worker does.
    life: fn(&Shared, usize),
    crew: Mutex<Crew>,
    closing: AtomicBool,
    me: Weak<Shared>,
}

/// The threads.
#[derive(Default)]
struct Crew {
    threads: Vec<Thread>,
    started: Count,
    refused: Count,
}

impl Shared {
    pub(crate) fn new(config: Arc<Config>, life: fn(&Shared, usize)) -> Arc<Self> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let processors = config.processors.unwrap_or_else(processors);
        barrier::prepare();
        Arc::new_cyclic(|me| Shared {
            id: IDS.fetch_add(1, Std::Relaxed),
            generation: fork::generation(),
            lanes: AtomicUsize::new(1),
            config,
            board: Board::new(),
            sleepers: Sleepers::new(MAX_THREADS - 1, processors),
            watch: Watch::new(),
            queue: ConcurrentQueue::new(),
            jobs: Jobs::new(),
            costs: Table::new(),
            market: CachePadded::default(),
            worker_counts: Segments::new(),
            outside: Mutex::new(Stats::default()),
            life,
            crew: Mutex::new(Crew::default()),
            closing: AtomicBool::new(false),
            me: me.clone(),
        })
    }

    /// For those that outlive a borrow.
    pub(crate) fn weak(&self) -> Weak<Shared> {
        self.me.clone()
    }

    /// How many workers there are.
    #[inline]
    pub(crate) fn workers(&self) -> usize {
        self.sleepers.workers()
    }

    /// The same for who gives tasks to them: at least one. A pool for loops alone needs none.
    ///
    /// # Panics
    ///
    /// If the system refuses that one.
    pub(crate) fn workers_for_tasks(&self) -> usize {
        match self.workers() {
            0 => self.start_first(),
            workers => workers,
        }
    }

    #[cold]
    fn start_first(&self) -> usize {
        self.weak().upgrade().expect("the pool is there").grow(1);
        let workers = self.workers();
        assert!(
            workers > 0,
            "conga: a task was given to a pool without workers, and the system refuses a thread that would \
             run it: stop other threads, raise the limit, or run the task without a pool"
        );
        workers
    }

    /// Starts workers until there are `workers`, or the system refuses one.
    pub(crate) fn grow(self: &Arc<Self>, workers: usize) {
        let life = self.life;
        let mut crew = self
            .crew
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        while self.workers() < workers.min(MAX_THREADS - 1) {
            let next = self.workers();
            let name = self
                .config
                .name
                .as_ref()
                .map_or_else(|| format!("conga-{next}"), |name| name(next))
                // A thread's name ends at the first one, and the standard library panics.
                .replace('\0', "");
            let me = self.sleepers.prepare();
            self.worker_counts.get_or_make(me);
            let shared = Arc::clone(self);
            match Thread::start(name, self.config.stack_size, move || life(&shared, me)) {
                Ok(thread) => {
                    crew.threads.push(thread);
                    crew.started.add(1);
                    // Only now: nothing may be queued for a worker that the system then refuses.
                    self.admit(me);
                }
                Err(_refused) => {
                    crew.refused.add(1);
                    return;
                }
            }
        }
    }

    /// Counts a worker that was prepared and now has a thread, or will have one.
    pub(crate) fn admit(&self, worker: usize) {
        self.sleepers.admit(worker);
        // Partner: the fence that each publisher puts before it counts the workers.
        fence(Ordering::SeqCst);
        if self.work_waits() {
            self.sleepers.call_one(Calls::LOOK_AROUND);
        }
    }

    /// Puts a task into the queue and calls an idle worker, if there is one.
    pub(crate) fn submit(&self, task: Task, urgency: Urgency) -> Reached {
        self.queue.push(task);
        // Partner: the fence that a worker puts after it has announced that it is idle.
        fence(Ordering::SeqCst);
        self.call(Calls::LOOK_AROUND, urgency)
    }

    /// Puts a job where any member takes it. There are [`workers_for_tasks`](Self::workers_for_tasks).
    pub(crate) fn inject(&self, job: Job) {
        debug_assert_ne!(self.workers(), 0, "nobody takes it");
        self.jobs.injector.push(job);
        // Partner: the fence that a member puts after it has announced that it is idle.
        fence(Ordering::SeqCst);
        if !self.jobs.is_searched() && self.sleepers.someone_is_idle() {
            self.call_to_search(Calls::LOOK_FOR_INJECTED);
        }
    }

    /// Puts a letter to each of the first `workers` members where it finds it.
    pub(crate) fn post_to_all(&self, mut letter: impl FnMut(usize) -> Job, workers: usize) {
        self.jobs.had_broadcast.store(true, Ordering::Relaxed);
        for index in 0..workers {
            self.jobs.identity(index).letters.push(letter(index));
        }
        // Partner: the fence that a member puts after it has announced that it is idle.
        fence(Ordering::SeqCst);
        for index in 0..workers {
            self.sleepers.call_this(index, Calls::BY_NAME);
        }
    }

    /// A job was put where others may take it, with a [`light`](barrier::light) barrier or more after it:
    /// somebody is woken who looks for it, unless somebody is awake who will.
    #[inline]
    pub(crate) fn tell_of_jobs(&self) {
        if !self.jobs.is_searched() && self.sleepers.only_sleepers_are_idle() {
            self.call_to_search(Calls::LOOK_FOR_JOBS);
        }
    }

    #[cold]
    fn call_to_search(&self, call: Call) {
        while self.jobs.begin_search() {
            let reached = self.sleepers.call_for_jobs(call);
            if let Reached::Parked { took } = reached {
                self.market.woke(took);
            }
            if reached.somebody() {
                return;
            }
            // Whoever put a job meanwhile has left it to this search, and whoever has become idle may not
            // have seen that job.
            self.jobs.end_search();
            // Partner: the same fences.
            fence(Ordering::SeqCst);
            if !self.jobs.any(self.workers()) || !self.sleepers.only_sleepers_are_idle() {
                return;
            }
        }
    }

    /// Whoever was called to look for jobs has looked, and has not yet begun with what was found. If there
    /// are more, the next one is called.
    pub(crate) fn search_ends(&self) {
        self.jobs.end_search();
        // Partner: the fence of whoever has put a job and found that somebody looks.
        fence(Ordering::SeqCst);
        if self.jobs.any(self.workers()) && self.sleepers.only_sleepers_are_idle() {
            self.call_to_search(Calls::LOOK_FOR_JOBS);
        }
    }

    /// A task is queued that nobody waits for.
    pub(crate) fn begin_task(&self) {
        self.jobs.unfinished.fetch_add(1, Ordering::Relaxed);
    }

    /// It has ended.
    pub(crate) fn end_task(&self) {
        // Release: partner is the Acquire in `is_over`.
        if self.jobs.unfinished.fetch_sub(1, Ordering::Release) == 1 {
            // Partner: the fence that a worker puts after it has announced that it is idle.
            fence(Ordering::SeqCst);
            if self.is_closing() {
                self.call_all();
            }
        }
    }

    /// Whether the workers may end: nobody will queue anything, and nothing is left.
    pub(crate) fn is_over(&self) -> bool {
        // Acquire: partner is the Release in `end_task`.
        self.is_closing()
            && self.queue.is_empty()
            && self.jobs.unfinished.load(Ordering::Acquire) == 0
    }

    fn call_all(&self) {
        while self.sleepers.call_one(Calls::LOOK_AROUND).somebody() {}
    }

    /// Runs a task; its panic goes to the handler.
    pub(crate) fn run_task(&self, task: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(task)) {
            self.report_panic(payload, "a task");
        }
    }

    /// Gives a panic that no caller waits for to the panic handler, or aborts.
    pub(crate) fn report_panic(&self, payload: Box<dyn Any + Send>, of: &str) {
        let Some(handler) = &self.config.on_panic else {
            eprintln!("conga: {of} panicked and the pool has no panic_handler: aborting");
            std::process::abort();
        };
        if catch_unwind(AssertUnwindSafe(|| handler(payload))).is_err() {
            eprintln!("conga: the pool's panic_handler panicked: aborting");
            std::process::abort();
        }
    }

    /// Whether worker `me`, which is idle, should look around instead.
    pub(crate) fn work_in_sight(&self, me: usize, stage: Stage) -> bool {
        match stage {
            // Others need not call it to look for jobs, because it looks by itself.
            Stage::Spinning => self.jobs.any(self.workers()),
            Stage::BeforeSpinning => self.anything_to_do(me),
            // Where the system refuses, it looks around, and asks again as a fence.
            Stage::BeforeSleeping => !self.sees_pushes() || self.anything_to_do(me),
        }
    }

    /// For whoever has announced that a worker is idle and put a `fence(SeqCst)`: from now on every push to a
    /// deque is seen here, or the worker by who pushes, who puts no fence. False: the system refuses.
    pub(super) fn sees_pushes(&self) -> bool {
        // Partner: the light barrier between a push and the look for those that are idle. It is not needed
        // where nobody works who could push.
        !self.jobs.are_in_use() || !self.sleepers.someone_works() || barrier::heavy()
    }

    /// Whether there is anything to do for worker `me`.
    pub(super) fn anything_to_do(&self, me: usize) -> bool {
        self.jobs.has_letters(me) || self.work_waits()
    }

    /// Whether there is anything to do for any worker.
    fn work_waits(&self) -> bool {
        self.board.any_marked()
            || !self.queue.is_empty()
            || self.watch.is_wanted()
            || self.jobs.any(self.workers())
            || self.is_over()
    }

    pub(crate) fn is_closing(&self) -> bool {
        // Acquire: partner is the Release in `close`: what was queued before is visible.
        self.closing.load(Ordering::Acquire)
    }

    /// Lets the workers end when the queue is empty, and waits for them, unless this is one of
    /// them.
    pub(crate) fn close(&self) {
        // Release: partner is the Acquire in `is_closing`.
        self.closing.store(true, Ordering::Release);
        // Partner: the fence that a worker puts after it has announced that it is idle.
        fence(Ordering::SeqCst);
        self.call_all();
        let threads = {
            let mut crew = self
                .crew
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            std::mem::take(&mut crew.threads)
        };
        if !threads.iter().any(Thread::is_current) {
            threads.into_iter().for_each(Thread::join);
        }
    }

    /// Counts something that has no counter of one writer.
    pub(crate) fn count_outside(&self, count: impl FnOnce(&mut Stats)) {
        count(
            &mut self
                .outside
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
        );
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = *self
            .outside
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        self.board
            .slots()
            .for_each(|slot| stats.add_owner(&slot.counts));
        self.worker_counts
            .iter()
            .for_each(|counts| stats.add_worker(counts));
        let crew = self
            .crew
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        stats.threads_started = crew.started.get();
        stats.threads_refused = crew.refused.get();
        stats
    }
}
