//! Bodies over mutable slices: elements, slices of any length, chunks, ragged parts.

use super::{Cut, ParallelFor};
use crate::disjoint::DisjointSlice;

impl<C: Cut> ParallelFor<'_, C> {
    /// Calls `f(i, &mut x[i])` once for every index of the loop's range.
    ///
    /// # Panics
    ///
    /// If the range goes beyond the slice.
    #[inline]
    pub fn for_each_mut<T: Send>(self, x: &mut [T], f: impl Fn(usize, &mut T) + Sync) {
        check("for_each_mut", "elements", self.range.end, x.len());
        self.in_slices(x, |start, elements| {
            for (offset, element) in elements.iter_mut().enumerate() {
                f(start + offset, element);
            }
        });
    }

    /// Calls `f(i, &mut x[i..j])` for slices that together are the loop's range of `x`: for bodies that
    /// do better with many elements at a time. Where it is cut is not specified, and may differ from
    /// call to call: what is done to an element should not depend on it.
    ///
    /// ```
    /// # let pool = conga::ThreadPool::new(2)?;
    /// let (x, mut y) = (vec![1.0; 1000], vec![2.0; 1000]);
    /// pool.parallel_for(0..y.len()).for_each_slice_mut(&mut y, |start, y| {
    ///     for (y, x) in y.iter_mut().zip(&x[start..]) {
    ///         *y += 0.5 * x;
    ///     }
    /// });
    /// assert_eq!(y, [2.5; 1000]);
    /// # Ok::<(), conga::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the range goes beyond the slice.
    #[inline]
    pub fn for_each_slice_mut<T: Send>(self, x: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
        check("for_each_slice_mut", "elements", self.range.end, x.len());
        self.in_slices(x, f);
    }

    #[inline]
    fn in_slices<T: Send>(self, x: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
        let x = DisjointSlice::new(x);
        self.unseen().for_each_range(|range| {
            // SAFETY: a loop gives each index to one call of its body, so ranges of different calls
            // have no element in common; `x` is used for nothing else.
            f(range.start, unsafe { x.slice_mut(range) });
        });
    }

    /// Cuts the slice into chunks of `len` elements, the last of which may be shorter, and calls
    /// `f(c, chunk)` once for every chunk of the loop's range, which counts chunks.
    ///
    /// # Panics
    ///
    /// If `len` is 0, or the range goes beyond the chunks.
    #[inline]
    pub fn for_each_chunk_mut<T: Send>(
        self,
        x: &mut [T],
        len: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        assert!(len != 0, "for_each_chunk_mut: chunks of 0 elements");
        check(
            "for_each_chunk_mut",
            "chunks",
            self.range.end,
            x.len().div_ceil(len),
        );
        let x = DisjointSlice::new(x);
        self.for_each(|c| {
            let end = x.len().min((c + 1).saturating_mul(len));
            // SAFETY: chunks of different indices have no element in common, and a loop gives each
            // index to one call of its body; `x` is used for nothing else.
            f(c, unsafe { x.slice_mut(c * len..end) });
        });
    }

    /// Calls `f(p, &mut x[bounds[p]..bounds[p + 1]])` once for every part of the loop's range,
    /// which counts parts: residual blocks, rows of a sparse matrix.
    ///
    /// # Panics
    ///
    /// If the bounds decrease or go beyond the slice, which takes one look at each of them, or the
    /// range goes beyond the parts.
    #[inline]
    pub fn for_each_part_mut<T: Send>(
        self,
        x: &mut [T],
        bounds: &[usize],
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        check(
            "for_each_part_mut",
            "parts",
            self.range.end,
            bounds.len().saturating_sub(1),
        );
        if let Some(p) = (1..bounds.len()).find(|&p| bounds[p - 1] > bounds[p]) {
            panic!(
                "for_each_part_mut: bounds[{}] is {}, more than bounds[{p}], which is {}: bounds must not decrease",
                p - 1,
                bounds[p - 1],
                bounds[p]
            );
        }
        check(
            "for_each_part_mut",
            "elements",
            bounds.last().copied().unwrap_or(0),
            x.len(),
        );
        let x = DisjointSlice::new(x);
        self.for_each(|p| {
            // SAFETY: the bounds do not decrease, so parts of different indices have no element in
            // common, and a loop gives each index to one call of its body; `x` is used for nothing
            // else.
            f(p, unsafe { x.slice_mut(bounds[p]..bounds[p + 1]) });
        });
    }
}

#[track_caller]
fn check(method: &str, what: &str, end: usize, have: usize) {
    assert!(
        end <= have,
        "{method}: the loop goes to {end}, but there are {have} {what}"
    );
}
