//! A pool of one lane has no worker until it is given a task, and from then on one.

mod common;

use std::sync::mpsc;

use common::deadline;
use conga::ThreadPool;

/// A pool of one lane, with nothing started, is given a task as `give` does. Afterwards one worker is there,
/// and loops still have one lane.
fn starts_one(give: impl FnOnce(&ThreadPool) + Send + 'static) {
    deadline(120, || {
        let pool = ThreadPool::new(1).unwrap();
        assert_eq!(pool.stats().threads_started, 0);
        give(&pool);
        assert_eq!((pool.num_workers(), pool.num_threads()), (1, 1));
        assert_eq!(pool.stats().threads_started, 1);
    });
}

/// Catches a call that waits for a worker that nobody starts.
#[test]
fn for_an_installed_call() {
    starts_one(|pool| assert_eq!(pool.install(conga::worker_index), Some(0)));
}

#[test]
fn for_a_join() {
    starts_one(|pool| assert_eq!(pool.join(|| 1, || 2), (1, 2)));
}

#[test]
fn for_a_scope() {
    starts_one(|pool| {
        let mut done = [false; 100];
        pool.scope(|s| {
            done.iter_mut()
                .for_each(|done| s.spawn(move |_| *done = true));
        });
        assert_eq!(done, [true; 100]);
    });
}

/// Catches lines that were counted before the worker was there: the task would get none.
#[test]
fn for_a_scope_in_place() {
    starts_one(|pool| {
        let (send, order) = mpsc::channel();
        pool.in_place_scope_fifo(|s| {
            s.spawn_fifo(|s| {
                (0..10).for_each(|i| {
                    let send = send.clone();
                    s.spawn_fifo(move |_| send.send(i).unwrap());
                });
            });
        });
        assert!(order.try_iter().eq(0..10));
    });
}

#[test]
fn for_a_spawn() {
    starts_one(|pool| {
        let (send, receive) = mpsc::channel();
        pool.spawn(move || send.send(conga::worker_index()).unwrap());
        assert_eq!(receive.recv(), Ok(Some(0)));
    });
}

/// Catches a broadcast to nobody.
#[test]
fn for_a_broadcast() {
    starts_one(|pool| assert_eq!(pool.broadcast(|worker| worker.num_threads()), [1]));
}

/// Catches a broadcast to nobody, of which nobody hears.
#[test]
fn for_a_spawned_broadcast() {
    starts_one(|pool| {
        let (send, receive) = mpsc::channel();
        pool.spawn_broadcast(move |worker| send.send(worker.index()).unwrap());
        assert!(receive.iter().eq([0]));
    });
}

/// A worker of one pool calls another, which has none. Catches the way that only members take.
#[test]
fn for_a_call_from_another_pool() {
    starts_one(|pool| {
        let other = ThreadPool::new(2).unwrap();
        assert_eq!(other.install(|| pool.install(|| 3)), 3);
    });
}

/// Loops need no worker: catches one that is started for them.
#[test]
fn none_for_loops() {
    deadline(120, || {
        let pool = ThreadPool::new(1).unwrap();
        let mut x = vec![0; 100_000];
        pool.for_each_mut(&mut x, |i, x| *x = i);
        assert!(x.iter().copied().eq(0..100_000));
        assert_eq!((pool.num_workers(), pool.stats().threads_started), (0, 0));
    });
}
