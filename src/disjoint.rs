//! `DisjointSlice`: a slice of which many lanes write different places.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// A mutable slice shared by the lanes of a loop that scatters: each index is written by at most
/// one of them, which the caller knows and the compiler cannot. Where the pieces are contiguous and
/// in order, [`for_each_mut`](crate::ParallelFor::for_each_mut),
/// [`for_each_slice_mut`](crate::ParallelFor::for_each_slice_mut),
/// [`for_each_chunk_mut`](crate::ParallelFor::for_each_chunk_mut) and
/// [`for_each_part_mut`](crate::ParallelFor::for_each_part_mut) need no `unsafe`.
///
/// ```
/// use conga::{DisjointSlice, ThreadPool};
///
/// let pool = ThreadPool::new(2)?;
/// let permutation = [2, 0, 3, 1];
/// let mut inverse = [0; 4];
/// let scattered = DisjointSlice::new(&mut inverse);
/// pool.parallel_for(0..4).for_each(|i| {
///     // SAFETY: a permutation names each place once, and nobody else reads or writes them meanwhile.
///     *unsafe { scattered.get_mut(permutation[i]) } = i;
/// });
/// assert_eq!(inverse, [1, 3, 0, 2]);
/// # Ok::<(), conga::BuildError>(())
/// ```
pub struct DisjointSlice<'a, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: it is a `&mut [T]` of which several threads use different elements: each `T` is used by
// one thread, by the promise that `get_mut` and `slice_mut` ask for, so `T: Send` is enough.
unsafe impl<T: Send> Send for DisjointSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for DisjointSlice<'_, T> {}

impl<'a, T> DisjointSlice<'a, T> {
    /// Borrows `slice` until the last use of the result.
    pub fn new(slice: &'a mut [T]) -> Self {
        DisjointSlice {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            slice: PhantomData,
        }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Element `index`.
    ///
    /// # Safety
    ///
    /// As long as the reference lives, no other reference to this element is made or used, by this
    /// thread or another; and uses on different threads are ordered, as different calls of a loop's
    /// body with the same lane, or different loops, are.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`len`](Self::len).
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn get_mut(&self, index: usize) -> &mut T {
        assert!(index < self.len, "index {index} of a slice of {}", self.len);
        // SAFETY: the index was checked, so the sum stays inside the borrowed slice.
        let element = unsafe { self.start.add(index) };
        // SAFETY: the element is live and exclusively borrowed by `self`; that no other reference
        // to it is in use is the caller's promise.
        unsafe { &mut *element }
    }

    /// Elements `range`.
    ///
    /// # Safety
    ///
    /// As [`get_mut`](Self::get_mut), for every element of the range.
    ///
    /// # Panics
    ///
    /// If the range decreases or goes beyond [`len`](Self::len).
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn slice_mut(&self, range: Range<usize>) -> &mut [T] {
        let in_bounds = range.start <= range.end && range.end <= self.len;
        assert!(in_bounds, "range {range:?} of a slice of {}", self.len);
        // SAFETY: the range was checked, so the sum stays inside the borrowed slice or at its end.
        let start = unsafe { self.start.add(range.start) };
        // SAFETY: all elements are live, inside one borrowed slice; that no other reference to them
        // is in use is the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(start, range.end - range.start) }
    }
}

impl<T> fmt::Debug for DisjointSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DisjointSlice")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
