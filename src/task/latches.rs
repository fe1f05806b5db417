//! Latches: who is told that something is done.

use std::sync::Arc;

use crate::jobs::Latch;
use crate::pool::{Calls, Member, Shared, Taker};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{lock, Condvar, Mutex};

/// Somebody who waits and can be told.
pub(super) trait Tell {
    /// Tells them. `this` may be gone as soon as they know.
    ///
    /// # Safety
    ///
    /// `this` points to a live latch that has not been told yet, and the calling thread holds an identity
    /// of the pool where the job was queued.
    unsafe fn tell(this: *const Self);

    /// Whether `member` is who waits.
    fn waits(&self, member: &Member) -> bool;
}

/// For a member that waits for a job in its own pool.
pub(super) struct Own {
    pub(super) latch: Latch,
    index: usize,
}

impl Own {
    pub(super) fn new(member: &Member) -> Self {
        Own {
            latch: Latch::new(),
            index: member.index,
        }
    }
}

impl Tell for Own {
    #[inline]
    unsafe fn tell(this: *const Self) {
        // SAFETY: it is live, because it has not been told.
        let index = unsafe { (*this).index };
        // SAFETY: the same; the pointer to a field is in bounds.
        let latch = unsafe { &raw const (*this).latch };
        // SAFETY: the latch is live until it is set.
        if unsafe { Latch::set(latch) } {
            Member::current(|me| {
                let me = me.expect("a job runs on a member of its pool");
                me.shared.sleepers.call_this(index, Calls::BY_NAME);
            });
        }
    }

    #[inline]
    fn waits(&self, member: &Member) -> bool {
        // The job is in this pool's queues, so its runner is of this pool.
        member.index == self.index
    }
}

/// For a member that waits for a job in another pool, or for a scope.
pub(super) struct Abroad {
    pub(super) latch: Latch,
    home: Arc<Shared>,
    index: usize,
}

impl Abroad {
    pub(super) fn new(member: &Member) -> Self {
        let home = member.shared.weak().upgrade();
        Abroad {
            latch: Latch::new(),
            home: home.expect("a member's pool is there"),
            index: member.index,
        }
    }
}

impl Tell for Abroad {
    unsafe fn tell(this: *const Self) {
        // SAFETY: it is live, because it has not been told.
        let home = unsafe { Arc::clone(&(*this).home) };
        // SAFETY: the same.
        let index = unsafe { (*this).index };
        // SAFETY: the same; the pointer to a field is in bounds.
        let latch = unsafe { &raw const (*this).latch };
        // SAFETY: the latch is live until it is set.
        if unsafe { Latch::set(latch) } {
            home.sleepers.call_this(index, Calls::BY_NAME);
        }
    }

    fn waits(&self, _: &Member) -> bool {
        false
    }
}

/// For a thread that holds no identity.
#[derive(Default)]
pub(super) struct Outside(Arc<(Mutex<bool>, Condvar)>);

impl Outside {
    /// Waits until it is told.
    pub(super) fn wait(&self) {
        let (told, changed) = &*self.0;
        let mut told = lock(told);
        while !*told {
            told = changed.wait(told).unwrap_or_else(|e| e.into_inner());
        }
    }
}

impl Tell for Outside {
    unsafe fn tell(this: *const Self) {
        // SAFETY: it is live, because it has not been told.
        let shared = unsafe { Arc::clone(&(*this).0) };
        let (told, changed) = &*shared;
        *lock(told) = true;
        changed.notify_all();
    }

    fn waits(&self, _: &Member) -> bool {
        false
    }
}

/// The calling thread, whoever it is.
enum Waiter {
    Member(Abroad),
    Outside(Outside),
}

/// Waited for by the thread that made it, until as many have ended as were begun: itself, to begin with.
pub(super) struct Countdown {
    left: AtomicUsize,
    waiter: Waiter,
}

impl Countdown {
    pub(super) fn new() -> Self {
        Countdown {
            left: AtomicUsize::new(1),
            waiter: Member::current(|me| match me {
                Some(me) => Waiter::Member(Abroad::new(me)),
                None => Waiter::Outside(Outside::default()),
            }),
        }
    }

    /// So many more are begun, by one that has not been told of.
    pub(super) fn begin(&self, more: usize) {
        // Relaxed: whoever begins one has not ended itself.
        self.left.fetch_add(more, Ordering::Relaxed);
    }

    /// So many have ended. Where they are the last, `this` may be gone.
    ///
    /// # Safety
    ///
    /// `this` is live: so many have begun that have not been told of yet.
    pub(super) unsafe fn end(this: *const Self, ended: usize) {
        // SAFETY: it is live until the last one has been told of.
        let left = unsafe { &(*this).left };
        // Release: partner is the Acquire here, by which the last one passes on what all have done.
        if left.fetch_sub(ended, Ordering::AcqRel) != ended {
            return;
        }
        // SAFETY: it is live until the waiter has been told, which only the last one does.
        match unsafe { &(*this).waiter } {
            // SAFETY: the same.
            Waiter::Member(waiter) => unsafe { Abroad::tell(waiter) },
            // SAFETY: the same.
            Waiter::Outside(waiter) => unsafe { Outside::tell(waiter) },
        }
    }

    /// The thread that made it waits for what goes on in `shared`.
    pub(super) fn wait(&self, shared: &Shared) {
        match &self.waiter {
            Waiter::Outside(outside) => outside.wait(),
            Waiter::Member(waiter) => Member::current(|me| {
                let me = me.expect("a member does not stop being one inside a call");
                if me.is_of(shared) {
                    me.wait(&waiter.latch, &Taker::nobody());
                } else {
                    me.wait_for_other_pool(&waiter.latch);
                }
            }),
        }
    }
}
