//! Jobs: what tasks are made of. A closure that waits in a queue, the queues where it waits, and how
//! its end is told.
//!
//! | file | what |
//! |---|---|
//! | `job` | a closure with its type erased |
//! | `deque` | where a thread keeps its jobs, and others take the oldest |
//! | `identity` | an index and what belongs to it: a deque, and two queues beside it |
//! | `injector` | where threads from outside put their jobs |
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

mod deque;
mod identity;
mod injector;
mod job;
mod latch;

use std::sync::OnceLock;

use crate::segments::Segments;
use crate::sync::atomic::{fence, AtomicBool, AtomicU64, AtomicUsize, Ordering};

#[cfg(all(loom, test))]
pub(crate) use self::deque::Deque;
pub(crate) use self::deque::{Along, Popped, Stolen};
pub(crate) use self::identity::Identity;
use self::injector::Injector;
pub(crate) use self::job::Job;
pub(crate) use self::latch::Latch;

/// The queues of a pool, and who looks for what is in them.
pub(crate) struct Jobs {
    /// One for each index, made when it is first used: loops need none.
    identities: Segments<OnceLock<Box<Identity>>>,
    /// How many of them have been made.
    made: AtomicUsize,
    pub(crate) injector: Injector,
    /// Whether somebody has been woken to look for jobs and has not found any yet. While there is,
    /// nobody else is woken: whoever finds one wakes the next, if there are more.
    searching: AtomicBool,
    /// Whether somebody was woken for the calls that follow, more than for the one that is there.
    pub(crate) more_follow: AtomicBool,
    /// How many calls from outside there have been.
    pub(crate) calls: AtomicU64,
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
            injector: Injector::new(),
            searching: AtomicBool::new(false),
            more_follow: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            had_broadcast: AtomicBool::new(false),
            unfinished: AtomicUsize::new(0),
        }
    }

    /// What belongs to an index.
    pub(crate) fn identity(&self, index: usize) -> &Identity {
        self.identities.get_or_make(index).get_or_init(|| {
            self.made.fetch_add(1, Ordering::Relaxed);
            // Partner: the fence that a worker puts after it has announced that it sleeps. Either it sees
            // that there is a deque, and from then on puts a heavy barrier, or whoever pushes sees it.
            fence(Ordering::SeqCst);
            Box::default()
        })
    }

    /// Whether there is a deque.
    pub(crate) fn are_in_use(&self) -> bool {
        // Relaxed: the fences order it.
        self.made.load(Ordering::Relaxed) != 0
    }

    /// Takes the oldest job of an identity's deque, if it is worth it or `light_ones` are to be taken. See
    /// [`Deque::steal`](deque::Deque::steal).
    pub(crate) fn steal(
        &self,
        victim: usize,
        light_ones: bool,
        at_once: bool,
        along: Option<&mut Along>,
    ) -> Stolen {
        let identity = self.identities.get(victim).and_then(OnceLock::get);
        match identity.filter(|identity| light_ones || identity.is_worth_a_look()) {
            Some(identity) => identity.steal(at_once, along),
            None => Stolen::Nothing,
        }
    }

    /// Whether a job waits that any worker may take, of `workers`, and should.
    pub(crate) fn any(&self, workers: usize) -> bool {
        !self.injector.is_empty() || self.any_deque(workers, Identity::is_worth_a_look)
    }

    /// Whether a job waits in any deque, worth a look or not.
    pub(crate) fn any_at_all(&self, workers: usize) -> bool {
        self.any_deque(workers, |identity| !identity.is_empty())
    }

    fn any_deque(&self, workers: usize, is_of_use: impl Fn(&Identity) -> bool) -> bool {
        if !self.are_in_use() {
            return false;
        }
        let mut deques = (0..workers).filter_map(|index| self.identities.get(index)?.get());
        deques.any(|identity| is_of_use(identity))
    }

    /// A job has waited for long: nothing is light any more.
    pub(crate) fn all_are_worth_a_look(&self) {
        let identities = self.identities.iter().filter_map(OnceLock::get);
        identities.for_each(|identity| identity.is_light.store(false, Ordering::Relaxed));
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
