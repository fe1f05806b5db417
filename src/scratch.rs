//! `Scratch`: working memory, one for each lane.

use std::cell::UnsafeCell;
use std::fmt;

use crossbeam_utils::CachePadded;

use crate::segments::Segments;

/// One scratch for each lane of a loop: made when the lane first needs it, on a cache line of its
/// own, and kept for the next loop, so that a loop whose scratch exists allocates nothing.
///
/// A lane may be served by two threads one after the other, so `S` must be `Send`. Which blocks a
/// lane runs depends on time: what a body leaves in its scratch must not decide a result.
///
/// ```
/// use conga::{Scratch, ThreadPool};
///
/// let pool = ThreadPool::new(2)?;
/// let mut scratch = Scratch::new(|| vec![0.0; 3]);
/// pool.parallel_for(0..100).for_each_with(&mut scratch, |row, i| row[i % 3] += 1.0);
/// let made: Vec<_> = scratch.iter_mut().collect();
/// assert!((1..=2).contains(&made.len()));
/// assert_eq!(made.iter().flat_map(|row| row.iter()).sum::<f64>(), 100.0);
/// # Ok::<(), conga::BuildError>(())
/// ```
pub struct Scratch<S, I = fn() -> S> {
    lanes: Segments<CachePadded<OfLane<S>>>,
    make: I,
}

struct OfLane<S>(UnsafeCell<Option<S>>);

impl<S> Default for OfLane<S> {
    fn default() -> Self {
        OfLane(UnsafeCell::new(None))
    }
}

// SAFETY: an `OfLane` is reached through `&Scratch` only by `lane`, whose caller promises that one
// thread at a time is at work as that lane and that one use happens before the next; so the `S`
// moves from thread to thread, which `Send` allows, and is never shared.
unsafe impl<S: Send> Sync for OfLane<S> {}

impl<S, I: Fn() -> S> Scratch<S, I> {
    /// No scratch yet; `make` will make each.
    pub fn new(make: I) -> Self {
        Scratch {
            lanes: Segments::new(),
            make,
        }
    }

    /// The scratch of `lane`.
    ///
    /// # Safety
    ///
    /// As long as the reference lives, nobody else calls this for the same lane; and earlier calls
    /// for it happened before.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn lane(&self, lane: usize) -> &mut S {
        let cell = self.lanes.get_or_make(lane).0.get();
        // SAFETY: the pointer is the cell's own; nobody else has a reference to its content, by the
        // promise.
        let scratch = unsafe { &mut *cell };
        scratch.get_or_insert_with(&self.make)
    }
}

impl<S, I> Scratch<S, I> {
    /// Every scratch made so far, in order of lane.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.lanes
            .iter_mut()
            .filter_map(|lane| lane.0.get_mut().as_mut())
    }
}

impl<S, I> fmt::Debug for Scratch<S, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}
