//! `ConcurrentQueue`: a first-in-first-out queue on which consumers may wait.

#[cfg(not(loom))]
use crossbeam_channel::{Receiver, Sender};

use crate::parking::Waiters;
use crate::sync::atomic::{AtomicBool, Ordering};
#[cfg(loom)]
use crate::sync::{atomic::AtomicUsize, lock, Mutex};

/// A queue for many producers and many consumers: first in, first out, without a bound.
///
/// The queue is in one of two states. While *waiters are enabled*, as at first,
/// [`wait`](Self::wait) blocks on an empty queue. After [`stop_waiters`](Self::stop_waiters) it
/// does not, but still hands out what is there, until [`enable_waiters`](Self::enable_waiters).
/// [`push`](Self::push) and [`pop`](Self::pop) work the same in both. The semantics are those of
/// Ceres Solver's `ConcurrentQueue`.
///
/// | | on an item | empty, waiters enabled | empty, waiters stopped |
/// |---|---|---|---|
/// | `pop` | the oldest item | `None` at once | `None` at once |
/// | `wait` | the oldest item | blocks | `None` at once |
///
/// `push` and `pop` take no lock and make no system call unless somebody waits; `push` allocates a
/// block for every few dozen items.
///
/// ```
/// let queue = conga::ConcurrentQueue::new();
/// std::thread::scope(|s| {
///     let consumer = s.spawn(|| std::iter::from_fn(|| queue.wait()).sum::<u32>());
///     (1..=4).for_each(|i| queue.push(i));
///     queue.stop_waiters(); // the consumer drains what is left, then gets None
///     assert_eq!(consumer.join().unwrap(), 10);
/// });
/// ```
pub struct ConcurrentQueue<T> {
    items: Items<T>,
    stopped: AtomicBool,
    waiters: Waiters,
}

impl<T> ConcurrentQueue<T> {
    /// An empty queue with waiters enabled.
    pub fn new() -> Self {
        ConcurrentQueue {
            items: Items::new(),
            stopped: AtomicBool::new(false),
            waiters: Waiters::new(),
        }
    }

    /// Appends `item` and wakes one waiter, if there is one.
    pub fn push(&self, item: T) {
        self.items.push(item);
        self.waiters.notify_one();
    }

    /// The oldest item, or `None` at once where there is none.
    pub fn pop(&self) -> Option<T> {
        self.items.pop()
    }

    /// The oldest item. Blocks while the queue is empty and waiters are enabled; `None` when it is
    /// empty and waiters are stopped.
    pub fn wait(&self) -> Option<T> {
        if let Some(item) = self.items.pop() {
            return Some(item);
        }
        self.waiters.wait_for(|| match self.items.pop() {
            Some(item) => Some(Some(item)),
            // Acquire: partner is the Release in `stop_waiters`. What was pushed before the stop is
            // visible now, so one more look decides.
            None if self.stopped.load(Ordering::Acquire) => Some(self.items.pop()),
            None => None,
        })
    }

    /// Lets every waiter go, now and until [`enable_waiters`](Self::enable_waiters). Idempotent.
    pub fn stop_waiters(&self) {
        // Release: partner is the Acquire in `wait`.
        self.stopped.store(true, Ordering::Release);
        self.waiters.notify_all();
    }

    /// Makes [`wait`](Self::wait) block again on an empty queue. Idempotent.
    pub fn enable_waiters(&self) {
        self.stopped.store(false, Ordering::Release);
    }

    /// Whether nothing was in the queue at some moment during the call.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<T> Default for ConcurrentQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> std::fmt::Debug for ConcurrentQueue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stopped = self.stopped.load(Ordering::Relaxed);
        f.debug_struct("ConcurrentQueue")
            .field("waiters_enabled", &!stopped)
            .finish_non_exhaustive()
    }
}

/// The items: a crossbeam channel of which both ends stay here.
#[cfg(not(loom))]
struct Items<T> {
    back: Sender<T>,
    front: Receiver<T>,
}

#[cfg(not(loom))]
impl<T> Items<T> {
    fn new() -> Self {
        let (back, front) = crossbeam_channel::unbounded();
        Items { back, front }
    }

    fn push(&self, item: T) {
        let sent = self.back.send(item);
        debug_assert!(sent.is_ok(), "the receiving end lives as long as the queue");
    }

    fn pop(&self) -> Option<T> {
        self.front.try_recv().ok()
    }

    fn is_empty(&self) -> bool {
        self.front.is_empty()
    }
}

/// Stands in for the channel in a model, and promises less: who finds it empty is ordered with nobody.
#[cfg(loom)]
pub(crate) struct Items<T> {
    items: Mutex<std::collections::VecDeque<T>>,
    len: AtomicUsize,
}

#[cfg(loom)]
impl<T> Items<T> {
    pub(crate) fn new() -> Self {
        Items {
            items: Mutex::new(std::collections::VecDeque::new()),
            len: AtomicUsize::new(0),
        }
    }

    pub(crate) fn push(&self, item: T) {
        let mut items = lock(&self.items);
        items.push_back(item);
        self.len.store(items.len(), Ordering::Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut items = lock(&self.items);
        let item = items.pop_front();
        self.len.store(items.len(), Ordering::Relaxed);
        item
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../tests/unit/queue.rs"]
mod tests;
