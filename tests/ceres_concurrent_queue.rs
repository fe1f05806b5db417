//! Ceres Solver's `concurrent_queue_test.cc`. `EnsureWaitBlocks`, which needs a look inside, is among the
//! unit tests of the queue.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use common::{deadline, wait_until};
use conga::ceres::ConcurrentQueue;

// Ceres's ConcurrentQueue.PushPop: what is pushed comes out, first in, first out, then nothing.
// Catches a stack.
#[test]
fn push_pop() {
    let queue = ConcurrentQueue::new();
    assert!(queue.is_empty());
    (0..10).for_each(|i| queue.push(i));
    assert!(!queue.is_empty());
    for i in 0..10 {
        assert_eq!(queue.pop(), Some(i));
    }
    assert_eq!((queue.pop(), queue.is_empty()), (None, true));
}

// Ceres's ConcurrentQueue.PushPopAfterStopWaiters: `push` and `pop` take no notice of the state, before
// or after items came: catches a stopped queue that refuses or drops items.
#[test]
fn push_pop_after_stop_waiters() {
    let queue = ConcurrentQueue::new();
    assert_eq!(queue.pop(), None);
    queue.stop_waiters();
    assert_eq!(queue.pop(), None);
    queue.push(1);
    queue.push(2);
    assert_eq!(queue.pop(), Some(1));
    queue.stop_waiters();
    queue.push(3);
    assert_eq!(
        (queue.pop(), queue.pop(), queue.pop()),
        (Some(2), Some(3), None)
    );
}

// Ceres's ConcurrentQueue.PushPopStopAndStart: items survive stopping and starting, in order: catches a
// queue that is emptied by either.
#[test]
fn push_pop_stop_and_start() {
    let queue = ConcurrentQueue::new();
    queue.push(13);
    queue.push(256);
    queue.stop_waiters();
    assert_eq!(queue.pop(), Some(13));
    queue.enable_waiters();
    queue.enable_waiters();
    queue.push(73);
    assert_eq!(
        (queue.pop(), queue.pop(), queue.pop()),
        (Some(256), Some(73), None)
    );
}

// Ceres's ConcurrentQueue.Wait: `wait` returns an item that is there; on a stopped queue it returns what
// is there, also what was pushed after the stop, and `None` as often as it is asked when nothing is.
// Catches a stop that hides items, and one that lasts for a single call.
#[test]
fn wait() {
    deadline(60, || {
        let queue = ConcurrentQueue::new();
        queue.push(13);
        queue.push(256);
        assert_eq!(queue.wait(), Some(13));
        queue.stop_waiters();
        assert_eq!(queue.wait(), Some(256));
        for _ in 0..3 {
            assert_eq!(queue.wait(), None);
        }
        queue.push(73);
        queue.push(8);
        assert_eq!(
            (queue.wait(), queue.wait(), queue.wait()),
            (Some(73), Some(8), None)
        );
    });
}

// Ceres's ConcurrentQueue.EnsureWaitBlocks, seen from outside: a thread that waits on an empty queue
// gets the item that is pushed later, not nothing: catches a `wait` that gives up.
#[test]
fn a_waiter_gets_what_is_pushed_later() {
    deadline(60, || {
        for i in 0..500 {
            let queue = ConcurrentQueue::new();
            let waiting = AtomicBool::new(false);
            thread::scope(|s| {
                let waiter = s.spawn(|| {
                    waiting.store(true, Ordering::Relaxed);
                    queue.wait()
                });
                wait_until(|| waiting.load(Ordering::Relaxed));
                queue.push(i);
                assert_eq!(waiter.join().unwrap(), Some(i));
            });
        }
    });
}

// Ceres's ConcurrentQueue.StopAndEnableWaiters: stopping lets a blocked waiter go empty-handed; once waiters
// are enabled again the next one blocks, and a push lets it go with the item. Catches a stop that reaches
// only later callers, and one that cannot be taken back.
#[test]
fn stop_and_enable_waiters() {
    deadline(60, || {
        let queue = ConcurrentQueue::new();
        for i in 0..200 {
            thread::scope(|s| {
                let waiter = s.spawn(|| queue.wait());
                queue.stop_waiters();
                assert_eq!(waiter.join().unwrap(), None);
                queue.enable_waiters();
                let waiter = s.spawn(|| queue.wait());
                thread::yield_now();
                queue.push(i);
                assert_eq!(waiter.join().unwrap(), Some(i));
            });
        }
    });
}

// Stopping lets all waiters go, not one: catches a `notify_one`.
#[test]
fn stopping_lets_every_waiter_go() {
    deadline(60, || {
        for _ in 0..50 {
            let queue = ConcurrentQueue::<u8>::new();
            thread::scope(|s| {
                let waiters: Vec<_> = (0..8).map(|_| s.spawn(|| queue.wait())).collect();
                thread::yield_now();
                queue.stop_waiters();
                for waiter in waiters {
                    assert_eq!(waiter.join().unwrap(), None);
                }
            });
        }
    });
}

// Four producers and four consumers that wait: every item comes out once, those of one producer in order
// for each consumer. Catches a wake-up that is lost between the look and the sleep, and an item
// that two get.
#[test]
fn many_producers_and_many_consumers() {
    const EACH: usize = 5_000;
    deadline(60, || {
        let queue = ConcurrentQueue::<(usize, usize)>::new();
        let got: Vec<_> = (0..4 * EACH).map(|_| AtomicUsize::new(0)).collect();
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    let mut last = [None; 4];
                    while let Some((producer, i)) = queue.wait() {
                        assert!(last[producer] < Some(i), "out of order");
                        last[producer] = Some(i);
                        got[producer * EACH + i].fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            thread::scope(|s| {
                for producer in 0..4 {
                    let queue = &queue;
                    s.spawn(move || (0..EACH).for_each(|i| queue.push((producer, i))));
                }
            });
            queue.stop_waiters();
        });
        assert!(got.into_iter().all(|n| n.into_inner() == 1));
    });
}

// Items that are still in the queue when it is dropped are dropped, once: catches a leak.
#[test]
fn what_is_left_is_dropped() {
    let item = Arc::new(());
    let queue = ConcurrentQueue::new();
    (0..100).for_each(|_| queue.push(Arc::clone(&item)));
    drop(queue.pop());
    assert_eq!(Arc::strong_count(&item), 100);
    drop(queue);
    assert_eq!(Arc::strong_count(&item), 1);
}
