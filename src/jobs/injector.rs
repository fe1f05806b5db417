//! `Injector`: where threads without an identity put their jobs.

#[cfg(not(loom))]
use crossbeam_deque::{Injector as Queue, Steal};

use super::Job;
#[cfg(loom)]
use crate::queue::Items as Queue;

/// First in, first out; anybody puts jobs in and takes them out.
pub(crate) struct Injector(Queue<Job>);

impl Injector {
    pub(super) fn new() -> Self {
        Injector(Queue::new())
    }

    pub(crate) fn push(&self, job: Job) {
        self.0.push(job);
    }

    /// Takes the oldest job.
    #[cfg(not(loom))]
    pub(crate) fn pop(&self) -> Option<Job> {
        loop {
            match self.0.steal() {
                Steal::Success(job) => return Some(job),
                Steal::Empty => return None,
                // Somebody else has got one.
                Steal::Retry => {}
            }
        }
    }

    /// The same in a model.
    #[cfg(loom)]
    pub(crate) fn pop(&self) -> Option<Job> {
        self.0.pop()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
