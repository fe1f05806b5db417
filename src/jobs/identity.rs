//! `Identity`: an index and what belongs to it.

use super::deque::{Along, Deque, Popped, Stolen};
use super::Job;
use crate::queue::ConcurrentQueue;
use crate::sync::atomic::{AtomicBool, Ordering};

/// A deque, and two queues beside it. One thread at a time is the *holder*, and it alone pushes to the
/// deque and pops from it; anybody may steal.
pub(crate) struct Identity {
    deque: Deque,
    /// Jobs that are to start in the order in which they were put here: each has a place in the deque.
    pub(crate) line: ConcurrentQueue<Job>,
    /// Jobs for the holder and nobody else.
    pub(crate) letters: ConcurrentQueue<Job>,
    /// Whether its jobs are not worth stealing: only the worker on watch looks here.
    pub(crate) is_light: AtomicBool,
}

impl Default for Identity {
    fn default() -> Self {
        Identity {
            deque: Deque::new(),
            line: ConcurrentQueue::new(),
            letters: ConcurrentQueue::new(),
            is_light: AtomicBool::new(false),
        }
    }
}

impl Identity {
    /// Puts a job at the back.
    ///
    /// # Safety
    ///
    /// The calling thread is the holder.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, job: Job) {
        // SAFETY: the caller's promise.
        unsafe { self.deque.push(job) }
    }

    /// Takes the job at the back.
    ///
    /// # Safety
    ///
    /// The calling thread is the holder.
    #[inline]
    pub(crate) unsafe fn pop(&self) -> Option<Job> {
        // SAFETY: the caller's promise.
        unsafe { self.deque.pop() }
    }

    /// The same if the job `fits`.
    ///
    /// # Safety
    ///
    /// The calling thread is the holder.
    #[inline]
    pub(crate) unsafe fn pop_if(&self, fits: impl FnOnce(&Job) -> bool) -> Option<Job> {
        // SAFETY: the caller's promise.
        unsafe { self.deque.pop_if(fits) }
    }

    /// The same for whoever has pushed the job that is made from `data`.
    ///
    /// # Safety
    ///
    /// The calling thread is the holder.
    #[inline(always)]
    pub(crate) unsafe fn pop_back(&self, data: *const ()) -> Popped {
        // SAFETY: the caller's promise.
        unsafe { self.deque.pop_back(data) }
    }

    /// Lets others have some of the jobs without asking for them.
    ///
    /// # Safety
    ///
    /// The calling thread is the holder.
    pub(crate) unsafe fn hand_out(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.deque.offer() }
    }

    /// Takes the job at the front; see [`Deque::steal`].
    pub(crate) fn steal(&self, at_once: bool, along: Option<&mut Along>) -> Stolen {
        self.deque.steal(at_once, along)
    }

    /// Whether others should look here.
    pub(crate) fn is_worth_a_look(&self) -> bool {
        // Relaxed: about speed only.
        !self.is_light.load(Ordering::Relaxed) && !self.is_empty()
    }

    /// Whether the deque is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.deque.is_empty()
    }
}
