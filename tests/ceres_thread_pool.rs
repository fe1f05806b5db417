//! Ceres Solver's `thread_pool_test.cc`, for `conga::ceres::ThreadPool` and, with a pool of each strategy, for
//! `conga::ThreadPool`.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

use common::{deadline, wait_until, STRATEGIES};
use conga::ceres;

/// What both kinds of pool can do, counted in workers.
trait Pool: Send + Sync {
    fn add(&self, task: Box<dyn FnOnce() + Send>);
    fn resize(&self, workers: usize);
    fn size(&self) -> usize;
    /// How many workers it has after it was asked for `workers`.
    fn granted(&self, workers: usize) -> usize;
}

impl Pool for ceres::ThreadPool {
    fn add(&self, task: Box<dyn FnOnce() + Send>) {
        self.add_task(task);
    }
    fn resize(&self, workers: usize) {
        self.resize(workers);
    }
    fn size(&self) -> usize {
        self.size()
    }
    fn granted(&self, workers: usize) -> usize {
        workers.min(Self::max_num_threads_available())
    }
}

impl Pool for conga::ThreadPool {
    fn add(&self, task: Box<dyn FnOnce() + Send>) {
        self.add_task(task);
    }
    fn resize(&self, workers: usize) {
        self.ensure_threads(workers + 1);
    }
    fn size(&self) -> usize {
        self.num_threads() - 1
    }
    fn granted(&self, workers: usize) -> usize {
        workers
    }
}

/// Runs `check` with each kind of pool, of `workers` workers, within a minute for all.
fn for_each_kind(workers: usize, check: impl Fn(Box<dyn Pool>) + Sync) {
    deadline(60, || {
        check(Box::new(ceres::ThreadPool::with_threads(workers)));
        for dispatch in STRATEGIES {
            check(Box::new(common::pool(workers + 1, dispatch)));
        }
    });
}

/// A task that waits for the lock, then counts.
fn counting(counter: &Arc<Mutex<usize>>) -> Box<dyn FnOnce() + Send> {
    let counter = Arc::clone(counter);
    Box::new(move || *counter.lock().unwrap() += 1)
}

// Ceres's ThreadPool.AddTask: 100 tasks on a pool of two all run. Catches a task that is lost when all
// workers are awake, or asleep.
#[test]
fn add_task() {
    for_each_kind(2, |pool| {
        for _ in 0..20 {
            let counter = Arc::new(Mutex::new(0));
            (0..100).for_each(|_| pool.add(counting(&counter)));
            wait_until(|| *counter.lock().unwrap() == 100);
        }
    });
}

// Ceres's ThreadPool.ResizingDuringExecution: while both workers are blocked in tasks the pool grows to
// three; what was queued before and after all runs. Catches a resize that waits for tasks, and a queue
// that is replaced.
#[test]
fn resizing_during_execution() {
    for_each_kind(2, |pool| {
        let counter = Arc::new(Mutex::new(0));
        let held = counter.lock().unwrap();
        (0..50).for_each(|_| pool.add(counting(&counter)));
        pool.resize(3);
        assert_eq!(pool.size(), pool.granted(3));
        (0..50).for_each(|_| pool.add(counting(&counter)));
        drop(held);
        wait_until(|| *counter.lock().unwrap() == 100);
    });
}

// Ceres's ThreadPool.Destructor: a pool is dropped while 100 tasks are blocked; the drop waits, and all
// have run when it returns. Catches a drop that leaves threads behind, or forgets what is queued.
#[test]
fn destructor() {
    for_each_kind(2, |pool| {
        let counter = Arc::new(Mutex::new(0));
        let held = counter.lock().unwrap();
        (0..100).for_each(|_| pool.add(counting(&counter)));
        let (dropping, dropped) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                dropping.store(true, Ordering::Relaxed);
                drop(pool);
                dropped.store(true, Ordering::Relaxed);
            });
            wait_until(|| dropping.load(Ordering::Relaxed));
            for _ in 0..100 {
                thread::yield_now();
                assert!(!dropped.load(Ordering::Relaxed), "nothing has run yet");
            }
            drop(held);
        });
        // Nobody else has a handle: the tasks are gone, too.
        assert_eq!(Arc::into_inner(counter).unwrap().into_inner().unwrap(), 100);
    });
}

// Ceres's ThreadPool.Resize: one worker, then two; a request for one keeps both. Catches a pool that shrinks,
// and a size that is the request.
#[test]
fn resize() {
    for_each_kind(1, |pool| {
        assert_eq!(pool.size(), 1);
        pool.resize(2);
        assert_eq!(pool.size(), pool.granted(2));
        pool.resize(1);
        assert_eq!(pool.size(), pool.granted(2));
        pool.resize(0);
        assert_eq!(pool.size(), pool.granted(2));
    });
}

// Tasks of one producer start in the order in which they were added: with one worker, they run so.
// Catches a queue that is a stack.
#[test]
fn tasks_start_in_order() {
    for_each_kind(1, |pool| {
        let (sender, receiver) = mpsc::channel();
        for i in 0..100 {
            let sender = sender.clone();
            pool.add(Box::new(move || sender.send(i).unwrap()));
        }
        drop(sender);
        assert!(receiver.iter().eq(0..100));
    });
}

// The destructor of a pool that is busy with loops of other threads' making is reached only when they are
// over; tasks that those loops' bodies add run all the same. Catches tasks that are lost at the end.
#[test]
fn tasks_added_by_bodies_run_before_the_end() {
    deadline(60, || {
        for dispatch in STRATEGIES {
            let ran = Arc::new(AtomicUsize::new(0));
            let pool = common::pool(3, dispatch);
            pool.parallel_for(0..100).for_each(|_| {
                let ran = Arc::clone(&ran);
                pool.add_task(move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                });
            });
            drop(pool);
            assert_eq!(ran.load(Ordering::Relaxed), 100, "{dispatch:?}");
        }
    });
}

// Ceres's pool counts workers and has no more than the hardware has: asking for more gives those.
#[test]
fn no_more_workers_than_the_hardware() {
    deadline(60, || {
        let most = ceres::ThreadPool::max_num_threads_available();
        assert!(most >= 1);
        let pool = ceres::ThreadPool::with_threads(most + 1);
        assert_eq!(pool.size(), most);
        pool.resize(usize::MAX);
        assert_eq!(pool.size(), most);
        assert_eq!(pool.as_conga().num_threads(), most + 1);

        let context = ceres::Context::new();
        assert_eq!(context.thread_pool.size(), 0);
        context.ensure_minimum_threads(1);
        assert_eq!(context.thread_pool.size(), 1);
    });
}

// A pool without workers keeps tasks until it is resized, and then runs all of them, in order: catches
// tasks that run on the caller, as those of `conga::ThreadPool` do, and ones that nobody is woken for.
#[test]
fn without_workers_tasks_wait_for_a_resize() {
    deadline(60, || {
        let pool = ceres::ThreadPool::new();
        assert_eq!(pool.size(), 0);
        let (sender, receiver) = mpsc::channel();
        for i in 0..100 {
            let sender = sender.clone();
            pool.add_task(move || sender.send(i).unwrap());
        }
        drop(sender);
        assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Empty));
        pool.resize(1);
        assert!(receiver.iter().eq(0..100));
    });
}

// Dropped without ever having had a worker, a pool drops the tasks that it holds and does not run them:
// catches a drop that waits for workers, and tasks that leak.
#[test]
fn without_workers_a_drop_forgets_the_tasks() {
    deadline(60, || {
        let ran = Arc::new(AtomicUsize::new(0));
        let pool = ceres::ThreadPool::new();
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            pool.add_task(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
        drop(pool);
        assert_eq!(Arc::into_inner(ran).unwrap().into_inner(), 0);
    });
}
