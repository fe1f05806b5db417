//! Jobs: what tasks are made of. A closure that waits in a queue, the queues where it waits, and how
//! its end is told.
//!
//! | file | what |
//! |---|---|
//! | `job` | a closure with its type erased |
//! | `identity` | an index and what belongs to it: a deque, and two queues beside it |
//! | `latch` | how one thread learns that something is done |
//!
//! A job waits in one of four places:
//!
//! | place | who puts it there | who takes it out |
//! |---|---|---|
//! | a deque | the holder of the identity, at the back | the holder at the back, anybody else at the front |
//! | a line beside a deque | the holder, for what is to start in order | whoever gets a place in it from the deque |
//! | letters to an identity | anybody | its holder |
//! | the injector | threads without an identity in this pool | anybody with one |

mod identity;
mod job;
mod latch;

use std::sync::OnceLock;

use crate::queue::ConcurrentQueue;
use crate::segments::Segments;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(crate) use self::identity::Identity;
pub(crate) use self::job::Job;
pub(crate) use self::latch::Latch;

/// The queues of a pool, and who looks for what is in them.
pub(crate) struct Jobs {
    /// One for each index, made when it is first used: loops need none.
    identities: Segments<OnceLock<Box<Identity>>>,
    /// How many of them have been made.
    made: AtomicUsize,
    pub(crate) injector: ConcurrentQueue<Job>,
    /// Whether somebody has been woken to look for jobs and has not found any yet. While there is,
    /// nobody else is woken: whoever finds one wakes the next, if there are more.
    searching: AtomicBool,
    /// Whether there was ever a broadcast.
    pub(crate) had_broadcast: AtomicBool,
    /// Tasks that nobody waits for and that have not ended yet: the workers stay for them.
    pub(crate) unfinished: AtomicUsize,
}

impl Jobs {
    pub(crate) fn new() -> Self {
        Jobs {
            identities: Segments::new(),
            made: AtomicUsize::new(0),
            injector: ConcurrentQueue::new(),
            searching: AtomicBool::new(false),
            had_broadcast: AtomicBool::new(false),
            unfinished: AtomicUsize::new(0),
        }
    }

    /// What belongs to an index.
    pub(crate) fn identity(&self, index: usize) -> &Identity {
        self.identities.get_or_make(index).get_or_init(|| {
            // Relaxed: whoever looks for jobs puts a fence before.
            self.made.fetch_add(1, Ordering::Relaxed);
            Box::default()
        })
    }

    /// Takes the oldest job of an identity's deque.
    pub(crate) fn steal(&self, victim: usize) -> Option<Job> {
        self.identities.get(victim)?.get()?.steal()
    }

    /// Whether a job waits that any worker may take, of `workers`.
    pub(crate) fn any(&self, workers: usize) -> bool {
        if !self.injector.is_empty() {
            return true;
        }
        if self.made.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let deques = (0..workers).filter_map(|index| self.identities.get(index)?.get());
        deques.into_iter().any(|identity| !identity.is_empty())
    }

    /// Whether a letter waits for the holder of an identity.
    pub(crate) fn has_letters(&self, index: usize) -> bool {
        let identity = self.identities.get(index).and_then(OnceLock::get);
        identity.is_some_and(|identity| !identity.letters.is_empty())
    }

    /// Whether somebody has been woken to look.
    #[inline]
    pub(crate) fn is_searched(&self) -> bool {
        self.searching.load(Ordering::Relaxed)
    }

    /// Tries to become the one who wakes somebody to look.
    pub(crate) fn begin_search(&self) -> bool {
        // Relaxed: who sees what is ordered by the fences of those who push and of those who go idle.
        !self.searching.swap(true, Ordering::Relaxed)
    }

    /// Nobody could be woken, or the one who was has looked.
    pub(crate) fn end_search(&self) {
        self.searching.store(false, Ordering::Relaxed);
    }
}
