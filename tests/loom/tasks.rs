//! Models of tasks: a pool as users have it, whose workers are loom's threads.

use std::sync::Arc;
use std::time::Duration;

use super::harness::check;
use crate::parking::Parker;
use crate::sync::Cell;
use crate::ThreadPool;

/// A pool with `workers` workers that never spin.
fn pool_with(workers: usize, guests: bool) -> ThreadPool {
    let pool = ThreadPool::builder()
        .num_threads(1)
        .spin(Duration::ZERO)
        .guests(guests)
        .build()
        .unwrap();
    // Loom does not see the `OnceLock`s behind which the queues are made.
    for worker in 0..workers {
        pool.shared().jobs.identity(worker);
    }
    pool.ensure_workers(workers);
    pool
}

/// A worker that is about to sleep finds what is spawned from outside, and the pool ends. Catches: no fence in
/// `inject`, no look at the injector before a worker sleeps.
#[test]
fn an_injected_task_is_not_missed() {
    check(3, || {
        let pool = pool_with(1, false);
        let ran = Arc::new(Parker::new());
        let run = Arc::clone(&ran);
        pool.spawn(move || run.unpark());
        ran.park();
    });
}

/// A pool that is dropped runs what was spawned before, and both workers end. Catches: workers that end while a task
/// is unfinished, and ones that are not called for the last one's end.
#[test]
fn a_dropped_pool_runs_what_was_spawned() {
    check(1, || {
        let pool = pool_with(2, false);
        let ran = Arc::new(Parker::new());
        let run = Arc::clone(&ran);
        pool.spawn(move || spawns_another(run));
        drop(pool);
        ran.park();
    });
}

/// A task that spawns another.
fn spawns_another(run: Arc<Parker>) {
    crate::spawn(move || run.unpark());
}

/// A caller from outside sleeps until its call has been run. Catches: a latch that is told before the result
/// is there, and a waiter that does not look again.
#[test]
fn a_call_from_outside_returns() {
    check(3, || assert_eq!(pool_with(1, false).install(|| 3), 3));
}

/// Two closures meet: the second is taken by a worker that was about to sleep, or is woken for it, and the one that
/// waits for it sleeps until it has ended. Catches: no barrier between a push and the look for sleepers, a worker
/// that does not look at deques before it sleeps, a latch that is set without calling who sleeps at it.
#[test]
fn two_closures_meet() {
    check(1, || {
        let pool = pool_with(2, false);
        let (first, second) = (Parker::new(), Parker::new());
        pool.install(|| {
            crate::join(
                || {
                    first.park();
                    second.unpark();
                },
                || {
                    first.unpark();
                    second.park();
                },
            )
        });
    });
}

/// A guest takes the place of the only worker, spawns, and gives the place back: the worker runs the task. Catches:
/// no look for work after the place was given back, and a worker that is called while its place is lent.
#[test]
fn a_guest_leaves_nothing_behind() {
    check(2, || {
        let pool = pool_with(1, true);
        let ran = Arc::new(Parker::new());
        let run = Arc::clone(&ran);
        pool.install(move || spawns_another(run));
        ran.park();
    });
}

/// A scope that is made outside the pool waits for its task, and for what that one has spawned. Catches: a count that
/// begins after the task is queued, and an end that is told before what was done is visible.
#[test]
fn a_scope_waits_for_its_tasks() {
    check(2, || {
        let pool = pool_with(1, false);
        let written = Cell::new(0);
        let written = Seen(&written);
        pool.in_place_scope(|s| {
            s.spawn(|s| {
                let written = &written;
                s.spawn(move |_| written.add());
            });
        });
        written.add();
    });
}

/// What loom watches: each access must be ordered with the one before.
struct Seen<'a>(&'a Cell<u32>);

// SAFETY: that nobody writes meanwhile is what loom checks.
unsafe impl Sync for Seen<'_> {}

impl Seen<'_> {
    fn add(&self) {
        // SAFETY: the same.
        self.0.with_mut(|n| unsafe { *n += 1 });
    }
}

/// Each of two pools of one worker waits for a call in the other, which calls back: each runs what the other sends
/// while it waits. Catches: a wait for another pool that runs nothing, or is not called for what is injected.
#[test]
fn two_pools_call_each_other() {
    check(1, || {
        let (one, other) = (pool_with(1, false), pool_with(1, false));
        assert_eq!(one.install(|| other.install(|| one.install(|| 3))), 3);
    });
}

/// A broadcast reaches all workers, of which one waits for it. Catches: no look for letters before a worker sleeps.
#[test]
fn a_broadcast_reaches_all() {
    check(1, || {
        let pool = pool_with(2, false);
        let count = pool.install(|| pool.broadcast(|_| ()).len());
        assert_eq!(count, 2);
    });
}

/// A broadcast reaches a worker that waits inside a job for another pool. Catches: no look for letters before that sleep.
#[test]
fn a_broadcast_reaches_who_waits_abroad() {
    check(2, || {
        let (home, abroad) = (pool_with(1, false), Arc::new(pool_with(1, false)));
        let reached = Arc::new(Parker::new());
        let (there, waits) = (Arc::clone(&abroad), Arc::clone(&reached));
        home.spawn(move || there.install(|| waits.park()));
        home.broadcast(|_| reached.unpark());
        drop(home);
    });
}
