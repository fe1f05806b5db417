//! Guests: a call from outside the pool that need not hop to a worker and back.
//!
//! The calling thread takes over the identity of a worker that sleeps, runs the call itself, and gives the
//! identity back. The worker sleeps on meanwhile: to lend an identity is to claim that worker and to owe
//! it a call; to give it back is to announce the worker again in its stead, or to make the call.
//!
//! # Whom this may not surprise
//!
//! * Lent are only identities of workers that sleep at the top of their lives: those that wait inside a
//!   job are announced elsewhere, since their frames go by the index.
//! * The worker on watch is not lent, because somebody has to look: it sleeps with a limit.
//! * Only a thread that holds no identity in any pool becomes a guest: else two pools of one worker each
//!   that call each other would wait for each other.
//! * Nobody is a guest where a difference could show: see [`Shared::may_have_guests`].
//!
//! # What it is worth
//!
//! A guest's call is priced as a loop is: the pool remembers what it took by its code. As long as it is
//! taken for light nobody is woken for it and nobody looks at its deque but the worker on watch.

use std::cell::Cell;
use std::panic::Location;

use super::chain::Calls;
use super::member::{Kind, Member};
use super::shared::Shared;
use crate::clock;
use crate::price::{Decision, Helper, Key, Memory, Subject};
use crate::sync::atomic::{fence, Ordering};

/// What a thread remembers of the calls that it made as a guest.
#[derive(Default)]
struct Notes {
    /// When the last one was over.
    last: Cell<u64>,
    memory: Memory,
}

thread_local! {
    static NOTES: Notes = Notes::default();
}

impl Shared {
    /// Runs `f` on this thread as the holder of a borrowed identity, or gives it back to be run elsewhere.
    /// The thread holds no identity. `f` is told that it has moved.
    pub(crate) fn as_guest<F, R>(&self, f: F) -> Result<R, F>
    where
        F: FnOnce(&Member, bool) -> R,
    {
        /// Gives it back, whether or not the call panicked.
        struct Borrowed<'a>(&'a Shared, usize);
        impl Drop for Borrowed<'_> {
            fn drop(&mut self) {
                self.0.take_back(self.1);
            }
        }

        let is_ample = cfg!(loom) || stack::is_ample(self.config.stack());
        if !self.may_have_guests() || !is_ample {
            return Err(f);
        }
        let Some(index) = self.sleepers.borrow(Calls::LOOK_AROUND) else {
            return Err(f);
        };
        let _borrowed = Borrowed(self, index);
        // Relaxed: a number of its own.
        let call = self.jobs.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let code = Self::as_guest::<F, R> as *const () as usize;
        let run = |me: &Member| match self.workers() {
            // There is nobody to bring in.
            1 => f(me, true),
            _ => self.priced(me, Key::new(code, Location::caller(), 1), || f(me, true)),
        };
        // SAFETY: it was claimed, so its worker sleeps until it gets the call that is owed to it.
        Ok(unsafe { Member::be(self, index, Kind::Guest, call, run) })
    }

    /// Runs a guest's call, for which others are brought in if it is worth it.
    fn priced<R>(&self, me: &Member, key: Key, f: impl FnOnce() -> R) -> R {
        let subject = Subject {
            costs: &self.costs,
            market: &self.market,
            key,
            len: 1,
        };
        let since = clock::now();
        let helper = if self.sleepers.someone_spins() {
            Helper::Spins
        } else if self.sleepers.someone_is_awake() {
            Helper::IsAwake
        } else {
            Helper::Sleeps
        };
        let (decision, gap) = NOTES.with(|notes| {
            let gap = clock::between(notes.last.get(), since);
            (subject.decide(|| helper, || gap, &notes.memory), gap)
        });
        match decision {
            // Relaxed: a hint.
            Decision::BringIn { more_follow, .. } => {
                self.jobs.more_follow.store(more_follow, Ordering::Relaxed);
            }
            Decision::Alone { expected, .. } => {
                me.take_for_light(since, subject.patience(expected))
            }
            Decision::Probe => me.take_for_light(since, subject.patience(0)),
        }
        let result = f();
        let (was_light, came) = (me.was_light(), me.was_helped());
        let now = clock::now();
        let took = clock::between(since, now);
        match decision {
            Decision::Alone { expected, gaps } => {
                subject.after_alone(expected, gaps, took, Some(gap))
            }
            // With others about it took less than it would have alone.
            Decision::Probe if came && !was_light => subject.after_probe(2 * took),
            Decision::Probe => subject.after_probe(took),
            Decision::BringIn { .. } => subject.after_help(took, helper == Helper::Spins, came),
        }
        NOTES.with(|notes| notes.last.set(now));
        result
    }

    /// Whether a guest could not be told from a worker: the workers have the names and stacks that threads
    /// have anyway, nobody has asked to be told when they start or end, and none has had a broadcast,
    /// which may have set up their thread-locals.
    fn may_have_guests(&self) -> bool {
        self.config.guests && !self.jobs.had_broadcast.load(Ordering::Relaxed) && !self.is_closing()
    }

    /// The identity goes back to its worker, who sleeps on if there is nothing to do.
    fn take_back(&self, index: usize) {
        self.sleepers.announce_again(index);
        // Partner: the fence that whoever publishes something puts before it looks for idle workers. What
        // was published while the worker could not be called is seen here, or the worker is seen there.
        fence(Ordering::SeqCst);
        // The worker on watch finds what has been waiting for long.
        let sees_pushes = self.watch.is_kept() || self.sees_pushes();
        if !sees_pushes || self.anything_to_do(index) {
            self.sleepers.call_this(index, Calls::LOOK_AROUND);
        }
    }
}

/// How much stack the calling thread has left.
mod stack {
    use std::cell::Cell;

    thread_local! {
        /// The lowest address of this thread's stack; 0 before it was looked up, `usize::MAX` where it is
        /// not known.
        static LOWEST: Cell<usize> = const { Cell::new(0) };
    }

    /// Whether at least half of `bytes` are left.
    pub(super) fn is_ample(bytes: usize) -> bool {
        let here = std::ptr::from_ref(&bytes) as usize;
        let lowest = LOWEST.try_with(|lowest| {
            if lowest.get() == 0 {
                lowest.set(imp::lowest().unwrap_or(usize::MAX));
            }
            lowest.get()
        });
        here.saturating_sub(lowest.unwrap_or(usize::MAX)) >= bytes / 2
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    mod imp {
        use std::mem::MaybeUninit;
        use std::ptr;

        pub(super) fn lowest() -> Option<usize> {
            let mut attributes = MaybeUninit::uninit();
            // SAFETY: always possible.
            let me = unsafe { libc::pthread_self() };
            // SAFETY: the memory is live and of the type asked for.
            if unsafe { libc::pthread_getattr_np(me, attributes.as_mut_ptr()) } != 0 {
                return None;
            }
            let (mut lowest, mut size) = (ptr::null_mut(), 0);
            // SAFETY: the attributes have been initialised, and both places are live.
            let error =
                unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut size) };
            // SAFETY: they have been initialised, and are not used any more.
            unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
            (error == 0).then_some(lowest as usize)
        }
    }

    #[cfg(target_vendor = "apple")]
    mod imp {
        pub(super) fn lowest() -> Option<usize> {
            // SAFETY: always possible.
            let me = unsafe { libc::pthread_self() };
            // SAFETY: it names the calling thread.
            let highest = unsafe { libc::pthread_get_stackaddr_np(me) };
            // SAFETY: the same.
            let size = unsafe { libc::pthread_get_stacksize_np(me) };
            (highest as usize).checked_sub(size)
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    mod imp {
        pub(super) fn lowest() -> Option<usize> {
            None
        }
    }
}
