//! Bodies by index and by range, with lane id, with scratch, fallible.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use super::{Cut, ParallelFor};
use crate::scratch::Scratch;
use crate::slot::body::Flow;

impl<C: Cut> ParallelFor<'_, C> {
    /// Calls `f(i)` once for every index; what a lane claims at once in increasing order.
    #[inline]
    pub fn for_each(self, f: impl Fn(usize) + Sync) {
        self.unseen().for_each_range(|range| range.for_each(&f));
    }

    /// Calls `f(range)` for disjoint ranges that cover the loop's range.
    #[inline]
    pub fn for_each_range(self, f: impl Fn(Range<usize>) + Sync) {
        self.for_each_lane_range(|_, range| f(range));
    }

    /// Calls `f(lane, i)` once for every index. The lane id is below the loop's `num_threads`, and
    /// no two lanes that are active at the same time have the same one; the caller's is 0.
    #[inline]
    pub fn for_each_lane(self, f: impl Fn(usize, usize) + Sync) {
        self.unseen()
            .for_each_lane_range(|lane, range| range.for_each(|i| f(lane, i)));
    }

    /// Calls `f(lane, range)` for disjoint ranges that cover the loop's range.
    #[inline]
    pub fn for_each_lane_range(self, f: impl Fn(usize, Range<usize>) + Sync) {
        self.run(|lane, range| {
            f(lane, range);
            Flow::GoOn
        });
    }

    /// Calls `f(s, i)` once for every index, where `s` is the scratch of the lane that runs it.
    #[inline]
    pub fn for_each_with<S, I>(self, scratch: &mut Scratch<S, I>, f: impl Fn(&mut S, usize) + Sync)
    where
        S: Send,
        I: Fn() -> S + Sync,
    {
        self.unseen()
            .for_each_range_with(scratch, |s, range| range.for_each(|i| f(s, i)));
    }

    /// Calls `f(s, range)` for disjoint ranges that cover the loop's range, where `s` is the
    /// scratch of the lane that runs it.
    #[inline]
    pub fn for_each_range_with<S, I>(
        self,
        scratch: &mut Scratch<S, I>,
        f: impl Fn(&mut S, Range<usize>) + Sync,
    ) where
        S: Send,
        I: Fn() -> S + Sync,
    {
        let scratch = &*scratch;
        self.for_each_lane_range(|lane, range| f(scratch_of(scratch, lane), range));
    }

    /// Calls `f(i)` for every index until one call fails. After that no lane begins another index,
    /// and the error comes back; of several, the one that came first in time.
    ///
    /// # Errors
    ///
    /// The first error of `f`.
    #[inline]
    pub fn try_for_each<E: Send>(self, f: impl Fn(usize) -> Result<(), E> + Sync) -> Result<(), E> {
        self.unseen()
            .try_lanes(|failed, _, range| failed.each(range, &f))
    }

    /// Calls `f(range)` for disjoint ranges that cover the loop's range until one call fails; see
    /// [`try_for_each`](Self::try_for_each). A range that has begun is not interrupted.
    ///
    /// # Errors
    ///
    /// The first error of `f`.
    #[inline]
    pub fn try_for_each_range<E: Send>(
        self,
        f: impl Fn(Range<usize>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        self.try_lanes(|_, _, range| f(range))
    }

    /// Calls `f(s, i)` for every index, where `s` is the scratch of the lane that runs it, until
    /// one call fails; see [`try_for_each`](Self::try_for_each).
    ///
    /// # Errors
    ///
    /// The first error of `f`.
    #[inline]
    pub fn try_for_each_with<S, I, E>(
        self,
        scratch: &mut Scratch<S, I>,
        f: impl Fn(&mut S, usize) -> Result<(), E> + Sync,
    ) -> Result<(), E>
    where
        S: Send,
        I: Fn() -> S + Sync,
        E: Send,
    {
        let scratch = &*scratch;
        self.unseen().try_lanes(|failed, lane, range| {
            let s = scratch_of(scratch, lane);
            failed.each(range, |i| f(s, i))
        })
    }

    fn try_lanes<E: Send>(
        self,
        f: impl Fn(&Failed, usize, Range<usize>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let failed = Failed(AtomicBool::new(false));
        let first = Mutex::new(None);
        self.run(|lane, range| match f(&failed, lane, range) {
            Ok(()) => Flow::GoOn,
            Err(error) => {
                failed.0.store(true, Ordering::Relaxed);
                // A panic while the lock is held can only be that of dropping a later error, which
                // the loop passes on.
                first
                    .lock()
                    .unwrap_or_else(|poisoned| poisoned.into_inner())
                    .get_or_insert(error);
                Flow::Stop
            }
        });
        let first = first
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        first.map_or(Ok(()), Err)
    }
}

/// Whether a call of a fallible body has failed. It says only when to stop: the error itself comes
/// through a lock.
struct Failed(AtomicBool);

impl Failed {
    /// Calls `f` for each index until it fails, here or elsewhere. What failed elsewhere is not an
    /// error here.
    #[inline]
    fn each<E>(&self, range: Range<usize>, f: impl FnMut(usize) -> Result<(), E>) -> Result<(), E> {
        let all_is_well = |_: &usize| !self.0.load(Ordering::Relaxed);
        range.take_while(all_is_well).try_for_each(f)
    }
}

/// The scratch of `lane` in a running loop.
#[allow(clippy::mut_from_ref)]
fn scratch_of<S: Send, I: Fn() -> S>(scratch: &Scratch<S, I>, lane: usize) -> &mut S {
    // SAFETY: called from a loop's body with the lane that runs it, for the duration of one call of
    // the body; the loop has exclusive use of `scratch`. No two threads are active as one lane, and
    // a lane's id is handed on with Release and Acquire, so calls for one lane are ordered. A
    // nested loop's body cannot get here with the same scratch, which the outer loop borrows
    // mutably.
    unsafe { scratch.lane(lane) }
}
