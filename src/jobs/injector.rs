//! `Injector`: where threads without an identity put their jobs.

use super::Job;

#[cfg(not(loom))]
use crossbeam_deque::{Injector as Queue, Steal};
#[cfg(loom)]
use stand_in::{Queue, Steal};

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

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Takes crossbeam's place in a model.
#[cfg(loom)]
mod stand_in {
    use std::collections::VecDeque;

    use crate::sync::{lock, Mutex};

    #[allow(dead_code)] // Nobody has to try again here.
    pub(super) enum Steal<T> {
        Success(T),
        Empty,
        Retry,
    }

    pub(super) struct Queue<T>(Mutex<VecDeque<T>>);

    impl<T> Queue<T> {
        pub(super) fn new() -> Self {
            Queue(Mutex::new(VecDeque::new()))
        }

        pub(super) fn push(&self, item: T) {
            lock(&self.0).push_back(item);
        }

        pub(super) fn steal(&self) -> Steal<T> {
            let item = lock(&self.0).pop_front();
            item.map_or(Steal::Empty, Steal::Success)
        }

        pub(super) fn is_empty(&self) -> bool {
            lock(&self.0).is_empty()
        }
    }
}
