//! Models of `Waiters` and of the queue that stands on it.

use std::sync::Arc;

use loom::thread;

use super::harness::check;
use crate::parking::Waiters;
use crate::queue::ConcurrentQueue;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// Waiters for pieces of something that others make, by relaxed accesses.
struct Counter {
    waiters: Waiters,
    pieces: AtomicUsize,
}

impl Counter {
    fn new() -> Arc<Self> {
        Arc::new(Counter {
            waiters: Waiters::new(),
            pieces: AtomicUsize::new(0),
        })
    }

    fn waiter(self: &Arc<Self>) -> thread::JoinHandle<()> {
        let counter = Arc::clone(self);
        thread::spawn(move || {
            counter.waiters.wait_for(|| {
                counter
                    .pieces
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                    .ok()
            });
        })
    }

    fn make(&self) {
        self.pieces.fetch_add(1, Ordering::Relaxed);
        self.waiters.notify_one();
    }
}

/// A waiter that is about to sleep and a notifier do not miss each other. Catches: no fence on
/// either side, a notifier that does not take the lock, the count after the question.
#[test]
fn a_waiter_is_not_missed() {
    check(3, || {
        let counter = Counter::new();
        let waiter = counter.waiter();
        counter.make();
        waiter.join().unwrap();
    });
}

/// Two waiters, and two pieces made by two threads, each with one notification: both waiters go.
/// Catches: a waiter that does not ask again when it is woken.
#[test]
fn two_waiters_are_not_missed() {
    check(2, || {
        let counter = Counter::new();
        let waiters = [counter.waiter(), counter.waiter()];
        let other = {
            let counter = Arc::clone(&counter);
            thread::spawn(move || counter.make())
        };
        counter.make();
        other.join().unwrap();
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

/// Takes items until there are none and waiters are stopped.
fn drain(queue: &Arc<ConcurrentQueue<u32>>) -> thread::JoinHandle<u32> {
    let queue = Arc::clone(queue);
    thread::spawn(move || std::iter::from_fn(|| queue.wait()).sum())
}

/// What is pushed before the stop is drained, by one consumer or the other, and both end. Catches:
/// `wait` that does not look again after it has seen the stop, a stop that notifies one, a push
/// that does not notify.
#[test]
fn a_stopped_queue_is_drained() {
    check(2, || {
        let queue = Arc::new(ConcurrentQueue::new());
        let consumers = [drain(&queue), drain(&queue)];
        queue.push(1);
        queue.push(2);
        queue.stop_waiters();
        assert_eq!(
            consumers
                .map(|consumer| consumer.join().unwrap())
                .iter()
                .sum::<u32>(),
            3
        );
        assert!(queue.is_empty());
    });
}

/// An item that was seen in the queue before it was stopped is handed out, though its push has not
/// returned yet. Catches: `wait` that does not look again after it has seen the stop.
#[test]
fn an_item_seen_before_the_stop_is_not_lost() {
    check(3, || {
        let queue = Arc::new(ConcurrentQueue::new());
        let consumer = drain(&queue);
        let producer = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push(1))
        };
        let mut producer = Some(producer);
        if queue.is_empty() {
            producer.take().unwrap().join().unwrap();
        }
        queue.stop_waiters();
        assert_eq!(consumer.join().unwrap(), 1);
        producer.map(|producer| producer.join().unwrap());
    });
}

/// Each of two items that are pushed by two threads wakes a consumer, though nobody stops the
/// queue. Catches: a notification that is left out where another is on its way.
#[test]
fn every_push_wakes() {
    check(2, || {
        let queue = Arc::new(ConcurrentQueue::new());
        let consumers = [(); 2].map(|()| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.wait().unwrap())
        });
        let other = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push(1))
        };
        queue.push(2);
        other.join().unwrap();
        assert_eq!(
            consumers
                .map(|consumer| consumer.join().unwrap())
                .iter()
                .sum::<u32>(),
            3
        );
    });
}
