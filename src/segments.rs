//! `Segments`: an array that grows while others read it, and whose elements never move.

use std::sync::OnceLock;

/// Segment `s` holds `2^s` elements, so 24 of them hold 16,777,215.
const SEGMENTS: usize = 24;

/// An array of up to `2^24 - 1` elements, made in segments of 1, 2, 4, ... as they are asked for.
///
/// An index is found in constant time; elements are made by `T::default` and stay where they are
/// until the array is dropped.
#[derive(Debug)]
pub(crate) struct Segments<T> {
    segments: [OnceLock<Box<[T]>>; SEGMENTS],
}

impl<T: Default> Segments<T> {
    pub(crate) const fn new() -> Self {
        Segments {
            segments: [const { OnceLock::new() }; SEGMENTS],
        }
    }

    /// Which segment holds `index`, and where in it.
    fn place(index: usize) -> (usize, usize) {
        let segment = (index + 1).ilog2() as usize;
        (segment, index + 1 - (1 << segment))
    }

    /// The element, if its segment has been made.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let (segment, offset) = Self::place(index);
        Some(&self.segments.get(segment)?.get()?[offset])
    }

    /// The element; makes its segment, which allocates, where nobody has yet.
    pub(crate) fn get_or_make(&self, index: usize) -> &T {
        let (segment, offset) = Self::place(index);
        &self.segments[segment].get_or_init(|| (0..1 << segment).map(|_| T::default()).collect())
            [offset]
    }

    /// Makes the segments of `0..len`.
    pub(crate) fn reserve(&self, len: usize) {
        if let Some(last) = len.checked_sub(1) {
            for segment in 0..=Self::place(last).0 {
                self.get_or_make((1 << segment) - 1);
            }
        }
    }

    /// Every element made so far, in order of index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.segments
            .iter()
            .filter_map(OnceLock::get)
            .flat_map(|segment| segment.iter())
    }

    /// Every element made so far, in order of index, to write to.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.segments
            .iter_mut()
            .filter_map(OnceLock::get_mut)
            .flat_map(|segment| segment.iter_mut())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Every index has a place of its own; catches an offset that runs into the next segment.
    #[test]
    fn places_are_distinct_and_stay() {
        let array = Segments::<AtomicUsize>::new();
        assert!(array.get(5).is_none());
        let early = array.get_or_make(5) as *const _;
        array.reserve(1000);
        for i in 0..1000 {
            array.get(i).unwrap().store(i, Relaxed);
        }
        assert!((0..1000).all(|i| array.get(i).unwrap().load(Relaxed) == i));
        assert_eq!(early, array.get(5).unwrap() as *const _);
        assert_eq!(
            array
                .iter()
                .take(1000)
                .map(|x| x.load(Relaxed))
                .sum::<usize>(),
            999 * 1000 / 2
        );
    }
}
