//! `Identity`: an index and what belongs to it.

use crossbeam_deque::{Steal, Stealer, Worker};

use super::Job;
use crate::queue::ConcurrentQueue;
use crate::sync::atomic::{AtomicBool, Ordering};

/// A deque, and two queues beside it. One thread at a time is the *holder*, and it alone pushes to the
/// deque and pops from it; anybody may steal.
pub(crate) struct Identity {
    deque: Worker<Job>,
    front: Stealer<Job>,
    /// Jobs that are to start in the order in which they were put here: each has a place in the deque.
    pub(crate) line: ConcurrentQueue<Job>,
    /// Jobs for the holder and nobody else.
    pub(crate) letters: ConcurrentQueue<Job>,
    /// Whether its jobs are not worth stealing: only the worker on watch looks here.
    pub(crate) is_light: AtomicBool,
}

// SAFETY: all but `deque` is `Sync`. `deque` is used only by the holder, as `push` and `pop` ask for, and
// an identity passes from holder to holder by operations that order what they did.
unsafe impl Sync for Identity {}

impl Default for Identity {
    fn default() -> Self {
        let deque = Worker::new_lifo();
        let front = deque.stealer();
        Identity {
            deque,
            front,
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
    #[inline]
    pub(crate) unsafe fn push(&self, job: Job) {
        self.deque.push(job);
    }

    /// Takes the job at the back.
    ///
    /// # Safety
    ///
    /// The calling thread is the holder.
    #[inline]
    pub(crate) unsafe fn pop(&self) -> Option<Job> {
        self.deque.pop()
    }

    /// Takes the job at the front.
    pub(crate) fn steal(&self) -> Option<Job> {
        loop {
            match self.front.steal() {
                Steal::Success(job) => return Some(job),
                Steal::Empty => return None,
                Steal::Retry => std::hint::spin_loop(),
            }
        }
    }

    /// Whether others should look here.
    pub(crate) fn is_worth_a_look(&self) -> bool {
        // Relaxed: about speed only.
        !self.is_light.load(Ordering::Relaxed) && !self.is_empty()
    }

    /// Whether the deque is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.front.is_empty()
    }
}
