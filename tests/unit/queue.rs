//! What of the queue's behaviour can only be seen from inside.

#[path = "../common/deadline.rs"]
mod deadline;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use self::deadline::deadline;
use super::ConcurrentQueue;

/// Waits until `queue` has `count` waiters that have announced themselves; none may return meanwhile.
fn until_waiting<T>(queue: &ConcurrentQueue<T>, count: usize, returned: &AtomicUsize) {
    while queue.waiters.waiting() != count {
        assert_eq!(
            returned.load(Ordering::Relaxed),
            0,
            "a wait has not blocked"
        );
        thread::yield_now();
    }
}

// Ceres's ConcurrentQueue.EnsureWaitBlocks: a waiter that has announced itself has not returned before
// something is pushed, and returns with that. Catches a `wait` that comes back empty-handed, and a push
// that wakes nobody.
#[test]
fn ensure_wait_blocks() {
    deadline(60, || {
        let queue = ConcurrentQueue::new();
        for i in 0..200 {
            let returned = AtomicUsize::new(0);
            thread::scope(|s| {
                let waiter = s.spawn(|| {
                    let item = queue.wait();
                    returned.fetch_add(1, Ordering::Relaxed);
                    item
                });
                until_waiting(&queue, 1, &returned);
                thread::yield_now();
                assert_eq!(returned.load(Ordering::Relaxed), 0);
                queue.push(i);
                assert_eq!(waiter.join().unwrap(), Some(i));
            });
            assert_eq!(queue.waiters.waiting(), 0);
        }
    });
}

// Ceres's ConcurrentQueue.StopAndEnableWaiters, with waiters that are known to sleep: a stop lets all of
// them go with nothing, and once waiters are enabled again the next ones block until each is pushed an item.
// Catches a stop that wakes one of three, and an item that wakes none or more than its own.
#[test]
fn stop_and_enable_waiters() {
    deadline(60, || {
        let queue = ConcurrentQueue::new();
        for round in 0..100 {
            for expected in [None, Some(round)] {
                let returned = AtomicUsize::new(0);
                thread::scope(|s| {
                    let wait = || {
                        let item = queue.wait();
                        returned.fetch_add(1, Ordering::Relaxed);
                        item
                    };
                    let waiters = [0; 3].map(|_| s.spawn(wait));
                    until_waiting(&queue, 3, &returned);
                    match expected {
                        None => queue.stop_waiters(),
                        Some(item) => (0..3).for_each(|_| queue.push(item)),
                    }
                    for waiter in waiters {
                        assert_eq!(waiter.join().unwrap(), expected);
                    }
                });
                queue.enable_waiters();
                assert!(queue.is_empty());
            }
        }
    });
}

// One item lets one waiter go and leaves the other asleep: catches a push that sends others home, and a
// count of waiters that is not taken back.
#[test]
fn one_item_lets_one_waiter_go() {
    deadline(60, || {
        let queue = ConcurrentQueue::new();
        for _ in 0..100 {
            let returned = AtomicUsize::new(0);
            thread::scope(|s| {
                let wait = || {
                    let item = queue.wait();
                    returned.fetch_add(1, Ordering::Relaxed);
                    item
                };
                let waiters = [0; 2].map(|_| s.spawn(wait));
                until_waiting(&queue, 2, &returned);
                queue.push(1);
                while returned.load(Ordering::Relaxed) == 0 {
                    thread::yield_now();
                }
                assert_eq!(queue.waiters.waiting(), 1);
                assert_eq!(returned.load(Ordering::Relaxed), 1);
                queue.push(2);
                let sum: i32 = waiters
                    .map(|waiter| waiter.join().unwrap().unwrap())
                    .iter()
                    .sum();
                assert_eq!(sum, 3);
            });
        }
    });
}
